unit_tests += test_fattree test_fattree_fault test_fabric test_plan test_check test_engines \
	test_roots test_silent test_repair test_quality
tsan_tests += test_engines test_check test_repair test_quality test_fattree_fault
unit_tests += test_mtree
test_mtree_libs := routing fabric sim text wire base
test_mtree_extra := -lcmocka
test_fabric_libs := fabric sim text wire base
test_fabric_extra := -lcmocka
unit_tests += test_plan_row
test_plan_row_libs := fabric base
test_plan_row_extra := -lcmocka
test_plan_libs := fabric sim text wire base
test_plan_extra := -lcmocka
test_fattree_libs := routing fabric sim text wire base
test_fattree_extra := -lcmocka
test_fattree_fault_limit := 300
test_fattree_fault_libs := routing fabric sim text wire base
test_fattree_fault_extra := -lcmocka
test_engines_libs := routing fabric sim text wire base
test_engines_extra := -lcmocka
test_roots_libs := routing fabric sim text wire base
test_roots_extra := -lcmocka
test_silent_libs := routing fabric sim text wire base
test_silent_extra := -lcmocka
test_quality_libs := routing fabric sim text wire base
test_quality_extra := -lcmocka
test_repair_limit := 300
test_repair_libs := routing fabric sim text wire base
test_repair_extra := -lcmocka
test_check_libs := routing fabric sim text wire base
test_check_extra := -lcmocka

# Not a test: times and quality of the engines, see the top of the source.
bench_route_libs := routing fabric sim text wire base
$(BUILD)/bench_route: $(BUILD)/obj/tests/bench/bench_route.o \
		$(bench_route_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_route_libs)) -lm
# What adaptive switches gain on their tables.
$(BUILD)/bench_adaptive: $(BUILD)/obj/tests/bench/bench_adaptive.o \
		$(bench_route_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_route_libs)) -lm

# And what their groups cost.
$(BUILD)/bench_regroup: $(BUILD)/obj/tests/bench/bench_regroup.o \
		$(bench_route_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_route_libs)) -lm

# And what faults do to them.
$(BUILD)/bench_layers: $(BUILD)/obj/tests/bench/bench_layers.o \
		$(bench_route_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_route_libs)) -lm

$(BUILD)/bench_fault: $(BUILD)/obj/tests/bench/bench_fault.o \
		$(bench_route_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_route_libs)) -lm
unit_tests += test_nominal
test_nominal_libs := routing fabric sim text wire base
test_nominal_extra := -lcmocka
unit_tests += test_classes
test_classes_libs := routing fabric conf sim text wire base
test_classes_extra := -lcmocka
unit_tests += test_tree_order
test_tree_order_libs := routing fabric sim text wire base
test_tree_order_extra := -lcmocka
unit_tests += test_depend
tsan_tests += test_depend
test_depend_libs := qos routing fabric sim text wire base
test_depend_extra := -lcmocka
