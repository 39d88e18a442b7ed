unit_tests += test_import
test_import_libs := offline store conf text base
test_import_extra := -lcmocka
unit_tests += test_import_qos
test_import_qos_libs := offline store conf text base
test_import_qos_extra := -lcmocka
