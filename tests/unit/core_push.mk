unit_tests += test_core_push test_core_change test_core_peers
test_core_push_libs := $(core_bed_libs)
test_core_push_extra := -lcmocka
test_core_change_libs := $(core_bed_libs)
test_core_change_extra := -lcmocka
test_core_peers_libs := $(core_bed_libs)
test_core_peers_extra := -lcmocka
