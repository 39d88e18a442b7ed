unit_tests += test_compose
test_compose_libs := qos routing fabric sim text wire base
test_compose_extra := -lcmocka
