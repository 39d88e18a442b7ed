base_src := \
	sm/base/buf.c \
	sm/base/clock.c \
	sm/base/error.c \
	sm/base/folder.c \
	sm/base/intern.c \
	sm/base/json.c \
	sm/base/lockfile.c \
	sm/base/log.c \
	sm/base/loop.c \
	sm/base/loop_event.c \
	sm/base/loop_timers.c \
	sm/base/loop_virtual.c \
	sm/base/map.c \
	sm/base/mem.c \
	sm/base/parallel.c \
	sm/base/table.c \
	sm/base/text.c
base_public := $(addprefix sm/base/,buf.h clock.h error.h folder.h frame.h intern.h json.h list.h lockfile.h \
	log.h loop.h map.h mem.h parallel.h table.h text.h version.h)
base_pkgs := libevent_core
