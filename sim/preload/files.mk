# The library that is loaded into other people's programs. It stands alone (no project header but
# sim/attach.h), shows only the functions that it stands in front of, and is never built with a
# sanitizer's run-time, for its programs seldom have one: undefined behaviour traps instead.
preload_src := \
	sim/preload/calls.c \
	sim/preload/fds.c \
	sim/preload/link.c \
	sim/preload/names.c \
	sim/preload/path.c \
	sim/preload/real.c \
	sim/preload/umad.c \
	sim/preload/umad_agent.c \
	sim/preload/umad_mad.c
preload_lib := libweftsim-umad.so

preload_trap := -fsanitize=undefined -fsanitize-undefined-trap-on-error
$(BUILD)/obj/sim/preload/%.o: san_address := $(preload_trap)
$(BUILD)/obj/sim/preload/%.o: san_thread :=
$(BUILD)/obj/sim/preload/%.o: san_fuzzer :=
$(BUILD)/obj/sim/preload/%.o: preload_flags := -fvisibility=hidden -U_FORTIFY_SOURCE

$(BUILD)/$(preload_lib): $(preload_src:%.c=$(BUILD)/obj/%.o)
	$(call say,LD,$@)
	$(q)$(CC) -shared -pthread -Wl,-z,defs $(LDFLAGS) -o $@ $^
