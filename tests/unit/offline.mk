unit_tests += test_offline
test_offline_libs := offline qos routing fabric conf sim text wire base
test_offline_extra := -lcmocka
