unit_tests += test_conf test_conf_files test_select
test_conf_libs := conf base
test_conf_extra := -lcmocka
test_conf_files_libs := conf base
test_conf_files_extra := -lcmocka
test_select_libs := conf base
test_select_extra := -lcmocka
