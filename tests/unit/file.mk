unit_tests += test_file
tsan_tests += test_file
test_file_libs := routing fabric sim text wire base
test_file_extra := -lcmocka
