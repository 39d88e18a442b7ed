unit_tests += test_core_ha
test_core_ha_libs := $(core_bed_libs)
test_core_ha_extra := -lcmocka
unit_tests += test_core_managers
test_core_managers_libs := $(core_bed_libs)
test_core_managers_extra := -lcmocka
test_core_managers_limit := 400
unit_tests += test_core_copies
test_core_copies_libs := $(core_bed_libs)
test_core_copies_extra := -lcmocka

unit_tests += test_core_beyond
test_core_beyond_libs := $(core_bed_libs)
test_core_beyond_extra := -lcmocka
