unit_tests += test_wire_ar
test_wire_ar_libs := wire base
test_wire_ar_extra := -lcmocka
unit_tests += test_sim_ar
test_sim_ar_libs := sim text wire base
test_sim_ar_extra := -lcmocka
