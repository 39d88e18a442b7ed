plugins_src := \
	plugins/about.c \
	plugins/child.c \
	plugins/consumer.c \
	plugins/input.c \
	plugins/layout.c \
	plugins/memory.c \
	plugins/load.c \
	plugins/result.c \
	plugins/run.c \
	plugins/set.c
plugins_public := plugins/consumer.h plugins/plugins.h plugins/set.h
plugins_pkgs :=

# The process that plugins run in: found as weft-offline is.
programs += weft-plugin-host
weft-plugin-host_main := \
	plugins/layout.c \
	plugins/host/consume.c \
	plugins/host/describe.c \
	plugins/host/guard.c \
	plugins/host/load.c \
	plugins/host/main.c \
	plugins/host/route.c \
	plugins/host/table.c
weft-plugin-host_libs := base
weft-plugin-host_extra := -ldl -lseccomp
