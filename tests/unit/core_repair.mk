unit_tests += test_core_repair
test_core_repair_libs := $(core_bed_libs)
test_core_repair_extra := -lcmocka
