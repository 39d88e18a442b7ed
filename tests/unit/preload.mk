# They run themselves with the library preloaded, so it must be there, but is not linked.
unit_tests += test_preload test_preload_cancel test_preload_names
test_preload_libs := base
test_preload_extra := -lcmocka
test_preload_names_libs := base
test_preload_names_extra := -lcmocka
test_preload_cancel_libs := base
test_preload_cancel_extra := -lcmocka
tsan_tests += test_preload
$(BUILD)/test_preload $(BUILD)/test_preload_cancel $(BUILD)/test_preload_names: | $(BUILD)/$(preload_lib)
# A client for end-to-end tests.
e2e_programs += umad_pair
umad_pair_main := tests/e2e/umad_pair.c
umad_pair_libs := port wire base
e2e_programs += umad_table
umad_table_main := tests/e2e/umad_table.c
umad_table_libs := port wire base
e2e_programs += umad_load
umad_load_main := tests/e2e/umad_load.c
umad_load_libs := port wire base
