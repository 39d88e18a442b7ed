unit_tests += test_core_push test_core_change test_core_peers test_core_reroute
test_core_push_libs := $(core_bed_libs)
test_core_push_extra := -lcmocka
test_core_change_libs := $(core_bed_libs)
test_core_change_extra := -lcmocka
test_core_peers_libs := $(core_bed_libs)
test_core_peers_extra := -lcmocka
test_core_reroute_libs := $(core_bed_libs)
test_core_reroute_extra := -lcmocka
unit_tests += test_core_lanes
test_core_lanes_libs := $(core_bed_libs)
test_core_lanes_extra := -lcmocka
test_core_lanes_limit := 400
unit_tests += test_core_partition
test_core_partition_libs := $(core_bed_libs)
test_core_partition_extra := -lcmocka
unit_tests += test_core_isolation
test_core_isolation_libs := $(core_bed_libs)
test_core_isolation_extra := -lcmocka
unit_tests += test_core_partition_faults
test_core_partition_faults_libs := $(core_bed_libs)
test_core_partition_faults_extra := -lcmocka
$(BUILD)/bench_partition: $(BUILD)/obj/tests/bench/bench_partition.o \
		$(core_bed_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(core_bed_libs)) -lcmocka -lm
