fuzz_targets += fuzz_admin
fuzz_admin_libs := sa fabric port store conf text wire base
fuzz_targets += fuzz_copies
fuzz_copies_libs := sa fabric port store conf text wire base
fuzz_targets += fuzz_asks
fuzz_asks_libs := sa fabric port store conf text wire base
