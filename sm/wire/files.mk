wire_src := \
	sm/wire/ar.c \
	sm/wire/ar_layout.c \
	sm/wire/attr.c \
	sm/wire/cursor.c \
	sm/wire/mad.c \
	sm/wire/notice.c \
	sm/wire/portinfo.c
wire_public := sm/wire/ar.h sm/wire/attr.h sm/wire/cursor.h sm/wire/mad.h
wire_pkgs :=
