unit_tests += test_kernel
test_kernel_libs := sim text wire base
test_kernel_extra := -lcmocka
unit_tests += test_rmpp
test_rmpp_libs := sim text wire base
test_rmpp_extra := -lcmocka
bench_direct_libs := sim text wire base
$(BUILD)/bench_direct: $(BUILD)/obj/tests/bench/bench_direct.o $(bench_direct_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_direct_libs)) -lm
