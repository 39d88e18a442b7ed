fuzz_targets += fuzz_ar
fuzz_ar_libs := wire base
