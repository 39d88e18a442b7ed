fuzz_targets += fuzz_admin
fuzz_admin_libs := sa fabric port store conf text wire base
