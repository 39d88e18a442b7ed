unit_tests += test_ibnet
test_ibnet_libs := text base
test_ibnet_extra := -lcmocka
