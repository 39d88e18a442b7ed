text_src := \
	sm/text/ibnet.c \
	sm/text/ibnet_parse.c \
	sm/text/ibnet_write.c \
	sm/text/lfts.c \
	sm/text/lines.c \
	sm/text/mfts.c \
	sm/text/paths.c \
	sm/text/sl2vl.c
text_public := sm/text/ibnet.h sm/text/lfts.h sm/text/lines.h sm/text/mfts.h sm/text/paths.h sm/text/sl2vl.h
text_pkgs :=
