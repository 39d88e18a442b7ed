fuzz_targets += fuzz_smp
fuzz_smp_libs := wire base
fuzz_targets += fuzz_sa
fuzz_sa_libs := wire base
fuzz_targets += fuzz_congestion
fuzz_congestion_libs := wire base
fuzz_targets += fuzz_perf
fuzz_perf_libs := wire base
