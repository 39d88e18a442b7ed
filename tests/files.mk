# Unit tests: tests/unit/test_x.c, each linked against the folders it names.
#   unit_tests += test_x ; test_x_libs := wire base
unit_tests :=
include $(sort $(wildcard tests/unit/*.mk))
$(foreach t,$(unit_tests),$(eval $(t)_main := tests/unit/$(t).c))
test_programs := $(unit_tests)
