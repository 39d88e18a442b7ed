unit_tests += test_command
test_command_libs := sim text wire base
test_command_extra := -lcmocka
unit_tests += test_script
test_script_libs := sim text wire base
test_script_extra := -lcmocka
