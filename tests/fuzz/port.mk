fuzz_targets += fuzz_receive
fuzz_receive_libs := port wire base
