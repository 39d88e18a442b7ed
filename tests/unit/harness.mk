# The harness of schedules of faults is a library too.
harness_objs := $(patsubst %,$(BUILD)/obj/tests/unit/harness_%.o,schedule run fault adaptive judge client query rest frugal)
$(BUILD)/libharness.a: $(harness_objs)
	$(call say,AR,$@)
	$(q)rm -f $@ && ar rcs $@ $^

unit_tests += test_harness
test_harness_libs := harness $(core_bed_libs)
test_harness_extra := -lcmocka
test_harness_limit := 1200
