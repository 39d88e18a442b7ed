unit_tests += test_adaptive
test_adaptive_libs := qos routing fabric sim text wire base
test_adaptive_extra := -lcmocka
tsan_tests += test_adaptive
