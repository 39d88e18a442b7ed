unit_tests += test_core_rivals
test_core_rivals_libs := $(core_bed_libs)
test_core_rivals_extra := -lcmocka
