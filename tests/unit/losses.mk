unit_tests += test_losses
test_losses_libs := qos routing fabric sim text wire base
test_losses_extra := -lcmocka
