unit_tests += test_core_adaptive
test_core_adaptive_libs := $(core_bed_libs)
test_core_adaptive_extra := -lcmocka
unit_tests += test_core_adaptive_loss
test_core_adaptive_loss_libs := $(core_bed_libs)
test_core_adaptive_loss_extra := -lcmocka
