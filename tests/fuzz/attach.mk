fuzz_targets += fuzz_attach
fuzz_attach_libs := sim text wire base
