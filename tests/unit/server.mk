unit_tests += test_server
test_server_libs := sim text wire base
test_server_extra := -lcmocka
unit_tests += test_server_hosts
test_server_hosts_libs := sim text wire base
test_server_hosts_extra := -lcmocka
