unit_tests += test_partitions
test_partitions_libs := partitions routing fabric conf sim text wire base
test_partitions_extra := -lcmocka
unit_tests += test_recompile
test_recompile_limit := 300
test_recompile_libs := partitions fabric conf sim text wire base
test_recompile_extra := -lcmocka
