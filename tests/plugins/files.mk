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
