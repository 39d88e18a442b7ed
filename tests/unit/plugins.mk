plugin_libs := plugins routing fabric sim text wire base
$(BUILD)/bench_plugin: $(BUILD)/obj/tests/bench/bench_plugin.o $(plugin_libs:%=$(BUILD)/lib%.a) \
		| $(BUILD)/plugins/fill.so $(BUILD)/weft-plugin-host
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(plugin_libs)) -lm
