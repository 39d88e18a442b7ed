unit_tests += test_sa_records
test_sa_records_libs := $(core_bed_libs)
test_sa_records_extra := -lcmocka
unit_tests += test_sa_path
test_sa_path_libs := $(core_bed_libs)
test_sa_path_extra := -lcmocka
unit_tests += test_sa_service
test_sa_service_libs := $(core_bed_libs)
test_sa_service_extra := -lcmocka
unit_tests += test_sa_inform
test_sa_inform_libs := $(core_bed_libs)
test_sa_inform_extra := -lcmocka
unit_tests += test_sa_guid
test_sa_guid_libs := $(core_bed_libs)
test_sa_guid_extra := -lcmocka
unit_tests += test_sa_member
test_sa_member_libs := $(core_bed_libs)
test_sa_member_extra := -lcmocka
unit_tests += test_sa_queue
test_sa_queue_libs := $(core_bed_libs)
test_sa_queue_extra := -lcmocka
unit_tests += test_sa_group
test_sa_group_libs := $(core_bed_libs)
test_sa_group_extra := -lcmocka
unit_tests += test_mft
test_mft_libs := $(core_bed_libs)
test_mft_extra := -lcmocka

bench_sa_libs := routing sa fabric port store conf sim text wire base
$(BUILD)/bench_sa: $(BUILD)/obj/tests/bench/bench_sa.o $(bench_sa_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_sa_libs)) -lm
unit_tests += test_sa_multipath
test_sa_multipath_libs := $(core_bed_libs)
test_sa_multipath_extra := -lcmocka
unit_tests += test_sa_way
test_sa_way_libs := sa fabric port store conf text wire base
test_sa_way_extra := -lcmocka
