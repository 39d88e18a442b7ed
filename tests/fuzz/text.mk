fuzz_targets += fuzz_ibnet fuzz_lfts fuzz_mfts fuzz_paths fuzz_sl2vl
fuzz_ibnet_libs := text base
fuzz_lfts_libs := text base
fuzz_mfts_libs := text base
fuzz_sl2vl_libs := text base
fuzz_paths_libs := text base
