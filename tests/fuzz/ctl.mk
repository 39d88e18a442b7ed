fuzz_targets += fuzz_ctl
fuzz_ctl_libs := ctl routing partitions fabric conf text wire base
