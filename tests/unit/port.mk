unit_tests += test_transact test_window
test_transact_libs := port wire base
test_transact_extra := -lcmocka
test_window_libs := port wire base
test_window_extra := -lcmocka
unit_tests += test_umad test_umad_select test_umad_send
tsan_tests += test_umad test_umad_send
test_umad_libs := port wire base
test_umad_extra := -lcmocka
test_umad_select_libs := port wire base
test_umad_select_extra := -lcmocka
test_umad_send_libs := port wire base
test_umad_send_extra := -lcmocka
# By hand, attached to a simulated fabric: build/bench_umad HOPS WINDOW[/MAX].
bench_umad_libs := port wire base
$(BUILD)/bench_umad: $(BUILD)/obj/tests/bench/bench_umad.o $(bench_umad_libs:%=$(BUILD)/lib%.a)
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(bench_umad_libs)) -lm
