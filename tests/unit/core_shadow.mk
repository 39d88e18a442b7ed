unit_tests += test_core_shadow
test_core_shadow_libs := $(core_bed_libs)
test_core_shadow_extra := -lcmocka
