plugin_libs := plugins routing fabric sim text wire base
$(BUILD)/bench_plugin: $(BUILD)/obj/tests/bench/bench_plugin.o $(plugin_libs:%=$(BUILD)/lib%.a) \
		| $(BUILD)/plugins/fill.so $(BUILD)/weft-plugin-host
	$(call say,LD,$@)
	$(q)$(CC) $(ldflags) -o $@ $^ $(call pkg_libs,$(plugin_libs)) -lm

unit_tests += test_plugins
test_plugins_libs := $(plugin_libs)
test_plugins_extra := -lcmocka
$(BUILD)/test_plugins: | $(BUILD)/weft-plugin-host $(odd_plugins) $(BUILD)/plugins/hostile.so \
	$(if $(SAN),,$(builtin_engines:%=$(BUILD)/plugins/builtin-%.so))

unit_tests += test_plugin_abi
test_plugin_abi_libs := $(plugin_libs)
test_plugin_abi_extra := -lcmocka
$(BUILD)/test_plugin_abi: | $(BUILD)/weft-plugin-host $(BUILD)/grown/weft-plugin-host \
	$(BUILD)/plugins/frozen.so $(BUILD)/plugins/odd-minor.so
