unit_tests += test_ctl
test_ctl_libs := ctl routing fabric conf text wire base
test_ctl_extra := -lcmocka
# It runs the real client, which lies beside it.
$(BUILD)/test_ctl: | $(BUILD)/weft
