# Weft. Two commands matter to a newcomer: `make demo` and `make check`. `make help` lists the rest.
.DEFAULT_GOAL := all
BUILD ?= build
CC ?= gcc
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
PKG_CONFIG ?= pkg-config
SAN ?=
OPT ?= -O2
V ?=

# One files.mk a folder: <name>_src (sources), <name>_public (headers others may include),
# <name>_pkgs (pkg-config packages), and for programs <prog>_libs (folders linked, lowest last).
libs := base wire conf store text fabric port sa core ctl routing plugins partitions qos sim offline gateway
include sm/base/files.mk sm/wire/files.mk sm/conf/files.mk sm/store/files.mk sm/text/files.mk
include sm/fabric/files.mk sm/port/files.mk sm/sa/files.mk sm/core/files.mk sm/ctl/files.mk
include routing/files.mk plugins/files.mk partitions/files.mk qos/files.mk offline/files.mk cli/files.mk gateway/files.mk sim/files.mk sim/preload/files.mk
include tests/files.mk

warn := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wundef -Werror
san_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
san_thread := -fsanitize=thread -fno-omit-frame-pointer
san_fuzzer := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
# gcc links libasan statically: packaged ibsim's preload library must come after it.
san_ld_address := -fsanitize=address,undefined $(if $(findstring clang,$(CC)),,-static-libasan)
san_ld_thread := -fsanitize=thread
san_ld_fuzzer := -fsanitize=fuzzer,address,undefined
pkgs := $(sort $(foreach l,$(libs) cli,$($(l)_pkgs)))
# Deferred, so that `make deps` and `make help` work before the packages are there.
pkg_cflags = $(eval pkg_cflags := $(shell $(PKG_CONFIG) --cflags $(pkgs)))$(pkg_cflags)
pkg_libs = $(shell $(PKG_CONFIG) --libs $(sort $(foreach l,$(1),$($(l)_pkgs)))) $(foreach l,$(1),$($(l)_ldlibs))
cflags = -std=c11 -D_GNU_SOURCE -I. $(OPT) -g -pthread -fPIC $(warn) $(san_$(SAN)) $(pkg_cflags) $(CFLAGS) \
	$(preload_flags)
ldflags = -pthread $(san_ld_$(SAN)) $(LDFLAGS)
q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' "$(1)" "$(2)")

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
lib = $(patsubst %,$(BUILD)/lib%.a,$(1))

all: programs
programs: $(programs:%=$(BUILD)/%) $(BUILD)/$(preload_lib)

$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(q)$(CC) $(cflags) -MMD -MP -c -o $@ $<

define lib_rule
$(BUILD)/lib$(1).a: $$(call obj,$$($(1)_src))
	$$(call say,AR,$$@)
	$$(q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach l,$(libs),$(eval $(call lib_rule,$(l))))

define prog_rule
$(BUILD)/$(1): $$(call obj,$$($(1)_main)) $$(call lib,$$($(1)_libs))
	$$(call say,LD,$$@)
	$$(q)$$(CC) $$(ldflags) -o $$@ $$^ $$(call pkg_libs,$$($(1)_libs)) $$($(1)_extra) -lm
endef
$(foreach p,$(programs) $(test_programs),$(eval $(call prog_rule,$(p))))

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

clean:
	rm -rf $(BUILD)

# MAJOR.MINOR of the plugin ABI, as its header has them.
plugin_abi = $(shell awk '/^#define WEFT_PLUGIN_(MAJOR|MINOR) /{v = v s $$3 + 0; s = "."} END{print v}' \
	plugins/plugin.h)

# Manual pages, sample, unit and completion are taken as they stand in docs/ and etc/. A configuration
# that is there already is never touched.
install: programs
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,sbin bin lib/systemd/system lib/sysusers.d \
		share/man/man1 share/man/man5 share/man/man8 share/bash-completion/completions)
	install -d $(DESTDIR)$(SYSCONFDIR)/weft
	install -m 755 $(BUILD)/weftd $(BUILD)/weft-gateway $(DESTDIR)$(PREFIX)/sbin/
	install -d $(DESTDIR)$(PREFIX)/lib/weft
	install -m 755 $(BUILD)/$(preload_lib) $(DESTDIR)$(PREFIX)/lib/weft/
	install -m 755 $(addprefix $(BUILD)/,$(filter-out weftd weft-gateway weft-offline weft-plugin-host,$(programs))) \
		$(DESTDIR)$(PREFIX)/bin/
	install -d $(DESTDIR)$(PREFIX)/libexec/weft
	install -m 755 $(BUILD)/weft-offline $(BUILD)/weft-plugin-host $(DESTDIR)$(PREFIX)/libexec/weft/
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,include/weft lib/pkgconfig lib/weft/plugins \
		share/doc/weft/plugins)
	install -m 644 plugins/plugin.h $(DESTDIR)$(PREFIX)/include/weft/
	sed 's|@prefix@|$(PREFIX)|; s|@version@|$(plugin_abi)|' plugins/weft-plugin.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/weft-plugin.pc
	install -m 644 plugins/samples/Makefile $(wildcard plugins/samples/*.c) docs/plugins.md \
		$(DESTDIR)$(PREFIX)/share/doc/weft/plugins/
	for n in 1 5 8; do for f in docs/*.$$n; do [ ! -e $$f ] || \
		install -m 644 $$f $(DESTDIR)$(PREFIX)/share/man/man$$n/ || exit 1; done; done
	install -m 644 etc/weftd.service etc/weft-gateway.service \
		$(DESTDIR)$(PREFIX)/lib/systemd/system/
	install -m 644 etc/weft-gateway.sysusers \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/weft-gateway.conf
	install -m 644 etc/completions/weft.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/weft
	install -m 644 etc/completions/weftsim.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/weftsim
	install -m 644 etc/weft.yaml $(DESTDIR)$(SYSCONFDIR)/weft/weft.yaml.sample
	install -m 644 etc/gateway.env $(DESTDIR)$(SYSCONFDIR)/weft/gateway.env.sample
	[ -e $(DESTDIR)$(SYSCONFDIR)/weft/weft.yaml ] || \
		install -m 644 etc/weft.yaml $(DESTDIR)$(SYSCONFDIR)/weft/weft.yaml

.PHONY: all programs clean install
include tests/targets.mk
