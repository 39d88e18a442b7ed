unit_tests += test_core_repair
test_core_repair_libs := $(core_bed_libs)
test_core_repair_extra := -lcmocka
unit_tests += test_core_stages
test_core_stages_libs := core routing port fabric store conf sim text wire base
test_core_stages_extra := -lcmocka
