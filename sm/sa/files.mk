sa_src := \
	sm/sa/absent.c \
	sm/sa/alias.c \
	sm/sa/ask.c \
	sm/sa/class.c \
	sm/sa/copy.c \
	sm/sa/group.c \
	sm/sa/group_copy.c \
	sm/sa/group_rows.c \
	sm/sa/guid.c \
	sm/sa/inform.c \
	sm/sa/kept.c \
	sm/sa/lft.c \
	sm/sa/link.c \
	sm/sa/member.c \
	sm/sa/mft.c \
	sm/sa/multipath.c \
	sm/sa/node.c \
	sm/sa/path.c \
	sm/sa/pkeys.c \
	sm/sa/port.c \
	sm/sa/queue.c \
	sm/sa/sa.c \
	sm/sa/report.c \
	sm/sa/service.c \
	sm/sa/slots.c \
	sm/sa/sl2vl.c \
	sm/sa/sm.c \
	sm/sa/switch.c \
	sm/sa/trace.c \
	sm/sa/vlarb.c \
	sm/sa/way.c
sa_public := sm/sa/sa.h sm/sa/copy.h sm/sa/group.h
sa_pkgs :=
