unit_tests += test_cursor test_wire test_wire_oracle
test_cursor_libs := wire base
test_cursor_extra := -lcmocka
test_wire_libs := wire base
test_wire_extra := -lcmocka
test_wire_oracle_libs := wire base
test_wire_oracle_extra := -libmad -lcmocka
