fuzz_targets += fuzz_command
fuzz_command_libs := sim text wire base
