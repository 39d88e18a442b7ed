unit_tests += test_transact test_window
test_transact_libs := port wire base
test_transact_extra := -lcmocka
test_window_libs := port wire base
test_window_extra := -lcmocka
unit_tests += test_umad
test_umad_libs := port wire base
test_umad_extra := -lcmocka
