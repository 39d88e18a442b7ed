conf_src := \
	sm/conf/check.c \
	sm/conf/check_policy.c \
	sm/conf/config.c \
	sm/conf/diff.c \
	sm/conf/doc.c \
	sm/conf/names.c \
	sm/conf/option.c \
	sm/conf/option_list.c \
	sm/conf/option_text.c \
	sm/conf/plugins.c \
	sm/conf/print.c \
	sm/conf/schema.c \
	sm/conf/schema_adaptive.c \
	sm/conf/schema_check.c \
	sm/conf/schema_partition.c \
	sm/conf/schema_plugin.c \
	sm/conf/schema_qos.c \
	sm/conf/select.c
conf_public := sm/conf/config.h sm/conf/policy.h
conf_pkgs := yaml-0.1 libpcre2-8
