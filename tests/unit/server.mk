unit_tests += test_server
test_server_libs := sim text wire base
test_server_extra := -lcmocka
unit_tests += test_server_hosts
test_server_hosts_libs := sim text wire base
test_server_hosts_extra := -lcmocka
unit_tests += test_holders
test_holders_libs := sim text wire base
test_holders_extra := -lcmocka
# By hand, attached to a simulated fabric: build/weftsim exec build/bench_window WINDOW.
$(BUILD)/bench_window: $(BUILD)/obj/tests/bench/bench_window.o
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ -libumad
# The client and the echo of tests/bench/sa.py.
$(BUILD)/bench_join: $(BUILD)/obj/tests/bench/bench_join.o $(BUILD)/libwire.a $(BUILD)/libbase.a
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ -libumad
$(BUILD)/bench_ask: $(BUILD)/obj/tests/bench/bench_ask.o
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ -libumad
