unit_tests += test_kernel
test_kernel_libs := sim text wire base
test_kernel_extra := -lcmocka
unit_tests += test_rmpp
test_rmpp_libs := sim text wire base
test_rmpp_extra := -lcmocka
