unit_tests += test_kernel
test_kernel_libs := sim text wire base
test_kernel_extra := -lcmocka
