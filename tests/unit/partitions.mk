unit_tests += test_partitions
test_partitions_libs := partitions routing fabric conf sim text wire base
test_partitions_extra := -lcmocka
