unit_tests += test_transact
test_transact_libs := port wire base
test_transact_extra := -lcmocka
