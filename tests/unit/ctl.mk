unit_tests += test_ctl test_ctl_commands test_cli
test_ctl_libs := ctl qos routing partitions fabric conf text wire base
test_ctl_extra := -lcmocka
test_ctl_commands_libs := $(test_ctl_libs)
test_ctl_commands_extra := -lcmocka
test_cli_libs := $(test_ctl_libs)
test_cli_extra := -lcmocka
# It runs the real client, which lies beside it.
$(BUILD)/test_cli: | $(BUILD)/weft
