programs += weft-offline
offline_src := \
	offline/check.c \
	offline/dump.c \
	offline/lanes.c \
	offline/lids.c \
	offline/main.c \
	offline/route.c \
	offline/trees.c
offline_pkgs :=
weft-offline_main := $(offline_src)
weft-offline_libs := routing fabric conf text base
