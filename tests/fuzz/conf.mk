fuzz_targets += fuzz_conf fuzz_names fuzz_select
fuzz_conf_libs := conf base
fuzz_names_libs := conf base
fuzz_select_libs := conf base
