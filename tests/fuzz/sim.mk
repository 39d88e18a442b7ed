fuzz_targets += fuzz_rmpp
fuzz_rmpp_libs := sim text wire base
