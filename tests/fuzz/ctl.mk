fuzz_targets += fuzz_ctl
fuzz_ctl_libs := ctl routing fabric conf text wire base
