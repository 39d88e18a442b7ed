fuzz_targets += fuzz_etcd
fuzz_etcd_libs := store base
