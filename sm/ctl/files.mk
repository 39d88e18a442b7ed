ctl_src := \
	sm/ctl/ctl.c
ctl_public := sm/ctl/ctl.h
ctl_pkgs := jansson
