# The commands for people: demo, check, bench, soak, fuzz, lint, help. Each works on a machine that
# has only make: `deps` installs the rest, and what needs the packages runs in a second make.
jobs ?= $(shell nproc)
FUZZ_SECONDS ?= 30
SOAK_SECONDS ?= 600
BENCH_SIZES ?= 128 1024 3456 8192
BENCH_REPEATS ?= 3
BENCH_TREES ?= 1024 8192
BENCH_SEEDS ?= 3
BENCH_ANY ?= torus-8-8-8-4 dfly-8-4-4-33 ft3-16 random-200-10-8-1
SOAK_SEEDS ?= 20
SOAK_SCHEDULES ?= 1000000
SOAK_FIRST ?= 1
SOAK_PATIENCE ?= 43200
BENCH_SA ?= 1024 8192
submake := $(MAKE) --no-print-directory -j$(jobs)
logs := $(BUILD)/test-logs
list := $(BUILD)/check.list
export PYTHONDONTWRITEBYTECODE := 1

help:
	@printf '%s\n' \
	'make                programs into $(BUILD)/' \
	'make demo           a simulated fabric of 128 hosts: brought up, checked, broken, mended' \
	'make check          every test' \
	'make install        DESTDIR= PREFIX=/usr/local SYSCONFDIR=' \
	'make bench          against OpenSM: time, MADs, memory (BENCH_SIZES="128 1024", BENCH_REPEATS=3)' \
	'                    and routing of fat trees (BENCH_TREES="27648 43904", BENCH_SEEDS=20)' \
	'                    and answers of the subnet administrator (BENCH_SA="1024 8192 43904")' \
	'make soak           links fail and return for SOAK_SECONDS=600, the tables proved all along;' \
	'                    SOAK_SCHEDULES=1000000 of faults in virtual time, from SOAK_FIRST=1 on,' \
	'                    for SOAK_PATIENCE=43200 seconds at most: the end says where to go on;' \
	'                    all that osmtest has, from two hosts; the subnet administrator of' \
	'                    8,192 hosts under load; a pair of which the master is killed at 60' \
	'                    points of a sweep; 72 hours of flapping cables, and one in ten cables' \
	'                    lost one after another, at 1,024 hosts in virtual time' \
	'make fuzz           libFuzzer on every decoder and parser, FUZZ_SECONDS=30 each' \
	'make lint           gcc and clang with warnings as errors, layers, looks, manual pages' \
	'make unit           unit tests only; make check K=word runs the tests whose names have it' \
	'make deps           install the Debian packages that are missing' \
	'make clean          remove $(BUILD)/' \
	'Variables: BUILD CC SAN=address|thread OPT V=1 CFLAGS LDFLAGS'

deps:
	@tests/deps.sh

demo: deps
	@$(submake) -s programs
	@BUILD=$(BUILD) tests/demo.sh

bench_programs := $(patsubst tests/bench/%.c,%,$(wildcard tests/bench/bench_*.c))
# End-to-end cases count MADs under a sanitiser too.
test-programs: $(addprefix $(BUILD)/,$(test_programs) madcount.so)
bench-programs: $(addprefix $(BUILD)/,$(bench_programs) madcount.so)
tsan-programs: $(tsan_tests:%=$(BUILD)/%)
fuzz-programs: $(fuzz_targets:%=$(BUILD)/%)
# Everything compiled, nothing linked: what a second compiler has to say, which it says without
# optimising too.
objects: $(call obj,$(sort $(preload_src) $(foreach l,$(libs),$($(l)_src)) \
	$(foreach p,$(programs) $(test_programs),$($(p)_main))))
unit: $(unit_tests:%=$(BUILD)/%)
	@for t in $^; do echo "== $$t"; $$t || exit 1; done
print-public:
	@echo $(foreach l,$(libs) cli,$($(l)_public))

limit = $(or $($(1)_limit),120)
corpus = $(wildcard tests/fuzz/corpus/$(1:fuzz_%=%))
# gcc's ThreadSanitizer wants its memory where a randomised layout may not put it.
tsan_run := setarch $(shell uname -m) -R

$(list): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '# NAME SECONDS WEIGHT COMMAND' \
	'lint.includes 60 1 python3 tests/lint/includes.py' \
	'lint.includes-self-test 60 1 python3 tests/lint/includes.py --self-test' \
	'lint.looks 60 1 python3 tests/lint/looks.py' \
	'lint.reported 60 1 python3 tests/lint/reported.py' \
	'lint.manual 60 1 tests/lint/manual.sh' \
	'lint.units 60 1 tests/lint/units.sh' \
	'lint.clang 600 2 $(MAKE) --no-print-directory -k -j$(jobs) BUILD=$(BUILD)/clang CC=clang OPT=-O0 CFLAGS=-g0 objects' \
	$(foreach t,$(unit_tests),'unit.$(t) $(call limit,$(t)) 1 $(BUILD)/$(t)') \
	$(foreach t,$(unit_tests),'asan.$(t) $(call limit,$(t)) 1 $(BUILD)/asan/$(t)') \
	$(foreach t,$(tsan_tests),'tsan.$(t) $(call limit,$(t)) 1 $(tsan_run) $(BUILD)/tsan/$(t)') \
	$(foreach t,$(fuzz_targets),'replay.$(t) 60 1 $(BUILD)/asan/$(t) $(call corpus,$(t))') > $@

check: deps
	@$(submake) programs test-programs bench-programs
	@$(submake) BUILD=$(BUILD)/asan SAN=address OPT=-O1 programs test-programs
	@$(submake) BUILD=$(BUILD)/tsan SAN=thread OPT=-O1 tsan-programs
	@$(submake) $(list)
	@BUILD=$(BUILD) MAKEFLAGS= tests/run.py -j $(jobs) -l $(logs) $(if $(K),-k $(K)) \
		$(list) tests/e2e/list

lint: deps
	@$(submake) objects
	@$(submake) -k BUILD=$(BUILD)/clang CC=clang OPT=-O0 CFLAGS=-g0 objects
	@python3 tests/lint/includes.py && python3 tests/lint/includes.py --self-test
	@python3 tests/lint/looks.py -v
	@tests/lint/manual.sh
	@python3 tests/lint/reported.py

fuzz: deps
	@$(submake) BUILD=$(BUILD)/fuzz CC=clang SAN=fuzzer OPT=-O1 fuzz-programs
	@set -e; for t in $(fuzz_targets); do tests/fuzz/run.sh $(BUILD)/fuzz $$t $(FUZZ_SECONDS); done

bench: deps
	@$(submake) programs $(BUILD)/madcount.so $(bench_programs:%=$(BUILD)/%)
	@BUILD=$(BUILD) python3 tests/bench/simulator.py -r $(BENCH_REPEATS)
	@BUILD=$(BUILD) python3 tests/bench/opensm.py -r $(BENCH_REPEATS)
	@BUILD=$(BUILD) python3 tests/e2e/daemon.py osm_large
	@BUILD=$(BUILD) python3 tests/bench/compare.py -r $(BENCH_REPEATS) $(BENCH_SIZES)
	@BUILD=$(BUILD) python3 tests/bench/trees.py -r $(BENCH_REPEATS) $(BENCH_TREES)
	@BUILD=$(BUILD) python3 tests/bench/directs.py -r $(BENCH_REPEATS)
	@BUILD=$(BUILD) python3 tests/bench/directs.py -g -r $(BENCH_REPEATS)
	@BUILD=$(BUILD) python3 tests/bench/directs.py -u -r $(BENCH_REPEATS) $(BENCH_ANY)
	@BUILD=$(BUILD) python3 tests/bench/faults.py -n $(BENCH_SEEDS)
	@BUILD=$(BUILD) python3 tests/bench/repairs.py
	@$(BUILD)/bench_adaptive "ft3 16" fattree 0 1 6 5
	@set -e; for s in 1 2 3; do $(BUILD)/bench_adaptive "ft3 16" fattree 10 $$s 6 5; done
	@set -e; for r in "ft3 16" "ft3 32" "ft3 48"; do $(BUILD)/bench_regroup "$$r" fattree; done
	@BUILD=$(BUILD) python3 tests/bench/joins.py -r $(BENCH_REPEATS)
	@BUILD=$(BUILD) python3 tests/bench/sa.py -r $(BENCH_REPEATS) $(BENCH_SA)
	@$(BUILD)/bench_sa "ft3 16"
	@$(BUILD)/bench_sa "ft3 32"
	@$(BUILD)/bench_partition "ft3 32"

soak: deps
	@$(submake) programs $(BUILD)/umad_load $(BUILD)/test_core_sequences $(BUILD)/test_nue \
		$(BUILD)/test_core_partition_faults $(BUILD)/test_core_flapping $(BUILD)/test_core_losses \
		$(BUILD)/test_losses $(BUILD)/test_harness $(BUILD)/bench_fault $(BUILD)/bench_adaptive
	@$(submake) BUILD=$(BUILD)/asan SAN=address OPT=-O1 programs
	@BUILD=$(BUILD) python3 tests/e2e/soak.py $(SOAK_SECONDS)
	@BUILD=$(BUILD) python3 tests/e2e/daemon.py osmtest_weftd_soak
	@BUILD=$(BUILD) POINTS=60 python3 tests/e2e/daemon.py ha_killed
	@BUILD=$(BUILD) POINTS=60 python3 tests/e2e/daemon.py ha_killed_ibsim
	@BUILD=$(BUILD)/asan SAN=address python3 tests/e2e/daemon.py qos_reloads
	@timeout 1200 $(BUILD)/test_core_sequences 1000
	@timeout 14400 $(BUILD)/test_core_flapping 72 "ft3 16"
	@for s in 1 2 3; do timeout 1200 $(BUILD)/test_core_losses "ft3 16" $$s 121 || exit 1; done
	@for s in 1 2 3 4; do timeout 1200 $(BUILD)/test_core_partition_faults 10000 $$s || exit 1; done
	@BUILD=$(BUILD) ISOLATION_ROUNDS=100 python3 tests/e2e/daemon.py isolation_killed
	@timeout 86400 $(BUILD)/test_harness -f $(SOAK_FIRST) -n $(SOAK_SCHEDULES) -p $(SOAK_PATIENCE)
	@timeout 1200 $(BUILD)/bench_adaptive "ft3 16" fattree 0 1 6 5
	@for s in 1 2 3; do timeout 1200 $(BUILD)/bench_adaptive "ft3 16" fattree 10 $$s 6 5 || exit 1; done
	@WEFT_SEEDS=50 timeout 1200 $(BUILD)/test_nue
	@WEFT_SEEDS=50 timeout 7200 $(BUILD)/test_losses
	@BUILD=$(BUILD) python3 tests/e2e/daemon.py lanes_large
	@BUILD=$(BUILD) python3 tests/bench/faults.py -j -l 11 -n $(SOAK_SEEDS)
	@for c in mixed flood reroute; do \
		BUILD=$(BUILD) LOAD_FABRIC=ft3-32 LOAD_SECONDS=20 python3 tests/e2e/daemon.py load_$$c \
		|| exit 1; done

$(BUILD)/madcount.so: tests/bench/madcount.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -fPIC -shared $(warn) -o $@ $<

FORCE:
.PHONY: help deps demo test-programs bench-programs tsan-programs fuzz-programs objects unit \
	print-public check lint fuzz bench soak FORCE
