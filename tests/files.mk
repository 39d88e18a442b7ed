# Fragments of tests/unit and tests/fuzz name the test programs and the folders that each links:
#   unit_tests += test_x    ; test_x_libs := wire base ; test_x_extra := -lcmocka
#   fuzz_targets += fuzz_x  ; fuzz_x_libs := wire base  (seeds in tests/fuzz/corpus/x)
#   tsan_tests += test_x    a unit test with threads: it also runs under ThreadSanitizer
#   test_x_limit := 300     seconds, where 120 are not enough
unit_tests :=
fuzz_targets :=
tsan_tests :=
include $(sort $(wildcard tests/unit/*.mk))
include tests/fuzz/files.mk
$(foreach t,$(unit_tests),$(eval $(t)_main := tests/unit/$(t).c))
# Threads live in these folders; what links them is worth a run under ThreadSanitizer.
tsan_tests += $(filter test_base test_loop test_log test_parallel test_port test_umad test_store \
	test_routing test_core,$(unit_tests))
tsan_tests := $(sort $(tsan_tests))
test_programs := $(unit_tests) $(fuzz_targets)
