unit_tests += test_sa_records
test_sa_records_libs := $(core_bed_libs)
test_sa_records_extra := -lcmocka
