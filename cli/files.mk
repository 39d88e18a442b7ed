programs += weft
cli_src := \
	cli/commands.c \
	cli/connection.c \
	cli/main.c \
	cli/offline.c \
	cli/options.c \
	cli/print.c \
	cli/print_check.c \
	cli/print_clients.c \
	cli/print_adaptive.c \
	cli/print_congestion.c \
	cli/print_counters.c \
	cli/print_ha.c \
	cli/print_health.c \
	cli/print_lists.c \
	cli/print_partitions.c \
	cli/print_plugins.c \
	cli/print_qos.c \
	cli/print_plugin_test.c \
	cli/print_rails.c \
	cli/print_tables.c \
	cli/rows.c \
	cli/run.c
cli_pkgs := jansson
weft_main := $(cli_src)
weft_libs := base
weft_extra := $(shell $(PKG_CONFIG) --libs jansson)
