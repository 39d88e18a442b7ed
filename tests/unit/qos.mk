unit_tests += test_compose
test_compose_libs := qos routing fabric sim text wire base
test_compose_extra := -lcmocka


unit_tests += test_arbitrate
test_arbitrate_libs := qos conf fabric text wire base
test_arbitrate_extra := -lcmocka

unit_tests += test_core_qos
test_core_qos_libs := $(core_bed_libs)
test_core_qos_extra := -lcmocka

unit_tests += test_sa_level
test_sa_level_libs := $(core_bed_libs)
test_sa_level_extra := -lcmocka
unit_tests += test_congestion
test_congestion_libs := qos conf fabric text wire base
test_congestion_extra := -lcmocka
