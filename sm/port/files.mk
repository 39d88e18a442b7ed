port_src := \
	sm/port/transact.c \
	sm/port/umad.c \
	sm/port/umad_ring.c \
	sm/port/umad_select.c \
	sm/port/umad_send.c \
	sm/port/window.c
port_public := sm/port/port.h sm/port/transact.h sm/port/umad.h
port_pkgs := libibumad
