unit_tests += test_core_places
test_core_places_limit := 300
test_core_places_libs := $(core_bed_libs)
test_core_places_extra := -lcmocka
