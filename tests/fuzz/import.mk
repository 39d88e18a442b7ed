fuzz_targets += fuzz_import
fuzz_import_libs := offline store conf text base
