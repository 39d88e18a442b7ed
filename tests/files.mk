# Fragments of tests/unit and tests/fuzz name the test programs and the folders that each links:
#   unit_tests += test_x    ; test_x_libs := wire base ; test_x_extra := -lcmocka
#   fuzz_targets += fuzz_x  ; fuzz_x_libs := wire base  (seeds in tests/fuzz/corpus/x)
#   tsan_tests += test_x    a unit test with threads: it also runs under ThreadSanitizer
#   test_x_limit := 300     seconds, where 120 are not enough
#   e2e_programs += x       a program for end-to-end tests; x_main := tests/e2e/x.c ; x_libs := ...
unit_tests :=
fuzz_targets :=
tsan_tests :=
e2e_programs :=
include tests/plugins/files.mk
include $(sort $(wildcard tests/unit/*.mk))
include tests/fuzz/files.mk
$(foreach t,$(unit_tests),$(eval $(t)_main := tests/unit/$(t).c))
tsan_tests := $(sort $(tsan_tests))
test_programs := $(unit_tests) $(fuzz_targets) $(e2e_programs)
