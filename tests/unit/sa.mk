unit_tests += test_sa_records
test_sa_records_libs := $(core_bed_libs)
test_sa_records_extra := -lcmocka
unit_tests += test_sa_path
test_sa_path_libs := $(core_bed_libs)
test_sa_path_extra := -lcmocka
