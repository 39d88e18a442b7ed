# The bed of the scenario tests is a library, first among those that each of them links.
core_bed_libs := core_bed core sa plugins qos partitions routing port fabric store conf sim text wire base
$(BUILD)/libcore_bed.a: $(BUILD)/obj/tests/unit/core_bed.o
	$(call say,AR,$@)
	$(q)rm -f $@ && ar rcs $@ $^

unit_tests += test_core_history test_core_health test_core_keep
test_core_keep_libs := $(core_bed_libs)
test_core_keep_extra := -lcmocka
test_core_health_libs := $(core_bed_libs)
test_core_health_extra := -lcmocka
test_core_history_libs := $(core_bed_libs)
test_core_history_extra := -lcmocka

unit_tests += test_core_discovery test_core_claims test_core_lids
test_core_discovery_limit := 300
test_core_discovery_libs := $(core_bed_libs)
test_core_discovery_extra := -lcmocka
test_core_claims_limit := 300
test_core_claims_libs := $(core_bed_libs)
test_core_claims_extra := -lcmocka
test_core_lids_libs := $(core_bed_libs)
test_core_lids_extra := -lcmocka
unit_tests += test_core_reported
test_core_reported_libs := $(core_bed_libs)
test_core_reported_extra := -lcmocka
unit_tests += test_core_congestion
test_core_congestion_libs := $(core_bed_libs)
test_core_congestion_extra := -lcmocka
unit_tests += test_core_reload
tsan_tests += test_core_reload
test_core_reload_libs := core plugins qos routing fabric conf text wire base
test_core_reload_extra := -lcmocka
unit_tests += test_core_counting
test_core_counting_libs := $(core_bed_libs)
test_core_counting_extra := -lcmocka
