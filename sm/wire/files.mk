wire_src := \
	sm/wire/ar.c \
	sm/wire/ar_layout.c \
	sm/wire/attr.c \
	sm/wire/congestion.c \
	sm/wire/cursor.c \
	sm/wire/mad.c \
	sm/wire/notice.c \
	sm/wire/perf.c \
	sm/wire/portinfo.c \
	sm/wire/sa.c \
	sm/wire/sa_client.c \
	sm/wire/sa_device.c \
	sm/wire/sa_rate.c
wire_public := sm/wire/ar.h sm/wire/attr.h sm/wire/congestion.h sm/wire/cursor.h sm/wire/mad.h \
	sm/wire/perf.h sm/wire/sa.h sm/wire/sa_rate.h sm/wire/sa_record.h
wire_pkgs :=
