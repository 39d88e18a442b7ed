fuzz_targets += fuzz_smp
fuzz_smp_libs := wire base
