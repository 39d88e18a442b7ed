unit_tests += test_generate
test_generate_libs := sim text wire base
test_generate_extra := -lcmocka
unit_tests += test_sim
test_sim_libs := sim text wire base
test_sim_extra := -lcmocka
