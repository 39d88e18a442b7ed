conf_src := \
	sm/conf/config.c \
	sm/conf/doc.c \
	sm/conf/names.c \
	sm/conf/option.c \
	sm/conf/print.c \
	sm/conf/schema.c \
	sm/conf/select.c
conf_public := sm/conf/config.h sm/conf/policy.h
conf_pkgs := yaml-0.1 libpcre2-8
