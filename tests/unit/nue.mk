unit_tests += test_nue
test_nue_libs := qos routing fabric sim text wire base
test_nue_extra := -lcmocka
