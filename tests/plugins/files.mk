# Shared objects for tests: tests/plugins/X.c becomes $(BUILD)/plugins/X.so from the header alone, as
# those of others do, without a sanitiser whatever the host has.
plugin_flags := -std=c11 -D_GNU_SOURCE -I. -O2 -g -fPIC -shared -pthread -Wall -Wextra -Werror
$(BUILD)/plugins/%.so: tests/plugins/%.c plugins/plugin.h
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(q)$(CC) $(plugin_flags) -o $@ $<

# Engines that are built in, as plugins.
builtin_libs := routing fabric text wire base
builtin_engines := updn minhop nue torus
define builtin_rule
$(BUILD)/plugins/builtin-$(1).so: tests/plugins/builtin.c plugins/plugin.h \
		$(builtin_libs:%=$(BUILD)/lib%.a)
	$$(call say,SO,$$@)
	@mkdir -p $$(@D)
	$$(q)$$(CC) $$(plugin_flags) -DENGINE=$(1) -fvisibility=hidden -Wl,--exclude-libs,ALL \
		-o $$@ $$< $(builtin_libs:%=$(BUILD)/lib%.a) $$(call pkg_libs,$(builtin_libs)) -lm
endef
$(foreach e,$(builtin_engines),$(eval $(call builtin_rule,$(e))))

# One that is wrong in one way each.
odd_ways := none major minor brief both neither noroute name option twice initial crash leave nameless \
	manyoptions wildtext shortoption level missing nosymbol
define odd_rule
$(BUILD)/plugins/odd-$(1).so: tests/plugins/odd.c plugins/plugin.h
	$$(call say,SO,$$@)
	@mkdir -p $$(@D)
	$$(q)$$(CC) $$(plugin_flags) -DODD=$(1) $(2) -o $$@ $$<
endef
$(foreach w,$(filter-out missing nosymbol,$(odd_ways)),$(eval $(call odd_rule,$(w))))
$(eval $(call odd_rule,missing,-DMISSING))
$(eval $(call odd_rule,nosymbol,-DNOSYMBOL))
odd_plugins := $(odd_ways:%=$(BUILD)/plugins/odd-%.so)

# A host of the next minor version, all of whose structs have grown.
$(BUILD)/grown/plugins/plugin.h: plugins/plugin.h
	@mkdir -p $(@D)
	$(q)sed -e 's/^#define WEFT_PLUGIN_MINOR .*/#define WEFT_PLUGIN_MINOR 1u/' \
		-e '/^struct weft_/,/^};/s/^};/\tuint64_t grown[3];\n};/' $< > $@
$(BUILD)/grown/weft-plugin-host: $(BUILD)/grown/plugins/plugin.h $(weft-plugin-host_main) \
		plugins/host/host.h plugins/layout.h $(BUILD)/libbase.a
	$(call say,LD,$@)
	$(q)$(CC) -I$(BUILD)/grown $(cflags) $(ldflags) -o $@ $(weft-plugin-host_main) \
		$(BUILD)/libbase.a $(weft-plugin-host_extra)
