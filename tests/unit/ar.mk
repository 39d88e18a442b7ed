unit_tests += test_wire_ar
test_wire_ar_libs := wire base
test_wire_ar_extra := -lcmocka
