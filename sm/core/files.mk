core_src := \
	sm/core/adaptive.c \
	sm/core/adaptive_job.c \
	sm/core/adaptive_policy.c \
	sm/core/adaptive_show.c \
	sm/core/admin.c \
	sm/core/between.c \
	sm/core/beyond.c \
	sm/core/claims.c \
	sm/core/congestion.c \
	sm/core/congestion_port.c \
	sm/core/congestion_show.c \
	sm/core/copies.c \
	sm/core/counting.c \
	sm/core/counting_judge.c \
	sm/core/counting_show.c \
	sm/core/daemon.c \
	sm/core/disable.c \
	sm/core/discover.c \
	sm/core/dispatch.c \
	sm/core/drain.c \
	sm/core/forest.c \
	sm/core/found.c \
	sm/core/ghosts.c \
	sm/core/gmp.c \
	sm/core/guids.c \
	sm/core/ha.c \
	sm/core/handover.c \
	sm/core/health.c \
	sm/core/health_show.c \
	sm/core/history.c \
	sm/core/lanes.c \
	sm/core/lids.c \
	sm/core/mft.c \
	sm/core/multicast.c \
	sm/core/named.c \
	sm/core/notice.c \
	sm/core/office.c \
	sm/core/part_change.c \
	sm/core/part_groups.c \
	sm/core/part_rehearse.c \
	sm/core/part_store.c \
	sm/core/partition.c \
	sm/core/peers.c \
	sm/core/planner.c \
	sm/core/proof.c \
	sm/core/push.c \
	sm/core/push_adaptive.c \
	sm/core/push_end.c \
	sm/core/push_few.c \
	sm/core/push_lanes.c \
	sm/core/push_pkeys.c \
	sm/core/push_vlarb.c \
	sm/core/push_port.c \
	sm/core/push_seen.c \
	sm/core/push_table.c \
	sm/core/reader.c \
	sm/core/refresh.c \
	sm/core/reload.c \
	sm/core/remarks.c \
	sm/core/reroute.c \
	sm/core/route.c \
	sm/core/rules_job.c \
	sm/core/snapshot.c \
	sm/core/stages.c \
	sm/core/status.c \
	sm/core/subnet.c \
	sm/core/sweep.c \
	sm/core/tables.c \
	sm/core/topo.c \
	sm/core/trap.c \
	sm/core/verdict.c \
	sm/core/watchdog.c
core_public := sm/core/subnet.h
core_pkgs := libsystemd
programs += weftd
weftd_main := sm/core/main.c sm/core/simulate.c
weftd_libs := ctl core sa qos partitions routing port fabric store conf sim text wire base
