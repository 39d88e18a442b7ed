unit_tests += test_pma
test_pma_libs := sim text wire base
test_pma_extra := -libmad -lcmocka
