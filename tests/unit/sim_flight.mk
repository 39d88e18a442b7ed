# Not a test: MAD round trips a second in the model alone, see the top of the source.
bench_sim_libs := sim text wire base
$(BUILD)/bench_sim: $(BUILD)/obj/tests/bench/bench_sim.o $(bench_sim_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_sim_libs)) -lm
unit_tests += test_sim_flight
test_sim_flight_libs := sim text wire base
test_sim_flight_extra := -lcmocka
