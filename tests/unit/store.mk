unit_tests += test_store
test_store_libs := store base
test_store_extra := -lcmocka
