unit_tests += test_core_few
test_core_few_libs := $(core_bed_libs)
test_core_few_extra := -lcmocka

unit_tests += test_core_losses
test_core_losses_libs := $(core_bed_libs)
test_core_losses_extra := -lcmocka

unit_tests += test_core_flapping
test_core_flapping_libs := $(core_bed_libs)
test_core_flapping_extra := -lcmocka
test_core_flapping_limit := 400
