unit_tests += test_gateway_http test_gateway_ufm test_gateway_auth
test_gateway_http_libs := gateway base
test_gateway_http_extra := -lcmocka
test_gateway_ufm_libs := gateway base
test_gateway_ufm_extra := -lcmocka
test_gateway_auth_libs := gateway base
test_gateway_auth_extra := -lcmocka
