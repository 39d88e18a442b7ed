# Plugins of tests/plugins, some in a second version, and the program that they run in.
$(BUILD)/plugins/%-2.so: tests/plugins/%.c plugins/plugin.h
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(q)$(CC) $(plugin_flags) -DVERSION='"2"' -o $@ $<
set_plugins := $(patsubst %,$(BUILD)/plugins/%.so,onetree onetree-2 trail trail-2)

unit_tests += test_plugin_set test_consumers
plugin_set_libs := plugins qos routing fabric conf text wire base
test_plugin_set_libs := $(plugin_set_libs)
test_plugin_set_extra := -lcmocka
$(BUILD)/test_plugin_set: | $(set_plugins) $(BUILD)/weft-plugin-host
test_consumers_libs := $(plugin_set_libs)
test_consumers_extra := -lcmocka
$(BUILD)/test_consumers: | $(set_plugins) $(BUILD)/weft-plugin-host
