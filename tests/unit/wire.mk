unit_tests += test_cursor test_wire test_wire_oracle
test_cursor_libs := wire base
test_cursor_extra := -lcmocka
test_wire_libs := wire base
test_wire_extra := -lcmocka
test_wire_oracle_libs := wire base
test_wire_oracle_extra := -libmad -lcmocka
unit_tests += test_sa test_sa_rate
test_sa_libs := wire base
test_sa_extra := -lcmocka
test_sa_rate_libs := wire base
test_sa_rate_extra := -lcmocka
unit_tests += test_sa_oracle
test_sa_oracle_libs := wire base
test_sa_oracle_extra := -libmad -ldl -lcmocka
# Where ib_types.h of libopensm-dev looks for headers of its own.
$(BUILD)/obj/tests/unit/test_sa_oracle.o: override CFLAGS += -isystem /usr/include/infiniband
