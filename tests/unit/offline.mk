unit_tests += test_offline
test_offline_libs := offline plugins qos partitions routing fabric conf sim text wire base
test_offline_extra := -lcmocka
