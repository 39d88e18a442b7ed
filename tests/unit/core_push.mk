unit_tests += test_core_push
test_core_push_libs := $(core_bed_libs)
test_core_push_extra := -lcmocka
