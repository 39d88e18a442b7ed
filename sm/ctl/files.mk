ctl_src := \
	sm/ctl/client.c \
	sm/ctl/cmd_adaptive.c \
	sm/ctl/cmd_admin.c \
	sm/ctl/cmd_check.c \
	sm/ctl/cmd_events.c \
	sm/ctl/cmd_clients.c \
	sm/ctl/cmd_congestion.c \
	sm/ctl/cmd_counters.c \
	sm/ctl/cmd_ha.c \
	sm/ctl/cmd_health.c \
	sm/ctl/cmd_multicast.c \
	sm/ctl/cmd_partition.c \
	sm/ctl/cmd_partitions.c \
	sm/ctl/cmd_path.c \
	sm/ctl/cmd_plugins.c \
	sm/ctl/cmd_qos.c \
	sm/ctl/cmd_rails.c \
	sm/ctl/cmd_routes.c \
	sm/ctl/cmd_show.c \
	sm/ctl/cmd_status.c \
	sm/ctl/cmd_topology.c \
	sm/ctl/command.c \
	sm/ctl/ctl.c \
	sm/ctl/find.c \
	sm/ctl/listing.c
ctl_public := sm/ctl/ctl.h
ctl_pkgs := jansson
