unit_tests += test_base
test_base_libs := base
test_base_extra := -lcmocka
