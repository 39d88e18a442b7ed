programs += weft-offline
offline_src := \
	offline/answer.c \
	offline/check.c \
	offline/dump.c \
	offline/lanes.c \
	offline/lids.c \
	offline/route.c \
	offline/save.c \
	offline/trees.c
offline_public :=
offline_pkgs :=
weft-offline_main := offline/main.c
weft-offline_libs := offline qos routing fabric conf text base
