programs += weft-offline
offline_src := \
	offline/answer.c \
	offline/check.c \
	offline/dump.c \
	offline/import.c \
	offline/import_conf.c \
	offline/import_guids.c \
	offline/import_lids.c \
	offline/import_members.c \
	offline/import_options.c \
	offline/import_partitions.c \
	offline/import_policy.c \
	offline/import_ports.c \
	offline/import_qos.c \
	offline/import_tables.c \
	offline/import_text.c \
	offline/import_ulps.c \
	offline/lanes.c \
	offline/lids.c \
	offline/plugin.c \
	offline/plugin_test.c \
	offline/route.c \
	offline/save.c \
	offline/trees.c \
	offline/trial.c
offline_public :=
offline_pkgs :=
weft-offline_main := offline/main.c
weft-offline_libs := offline plugins qos partitions routing fabric store conf text base
