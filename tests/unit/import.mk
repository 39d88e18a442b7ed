unit_tests += test_import
test_import_libs := offline conf text base
test_import_extra := -lcmocka
