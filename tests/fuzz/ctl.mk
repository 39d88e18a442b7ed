fuzz_targets += fuzz_ctl
fuzz_ctl_libs := ctl qos routing partitions fabric conf text wire base
