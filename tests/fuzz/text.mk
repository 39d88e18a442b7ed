fuzz_targets += fuzz_ibnet fuzz_lfts
fuzz_ibnet_libs := text base
fuzz_lfts_libs := text base
