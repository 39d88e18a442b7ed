fuzz_targets += fuzz_http fuzz_ufm fuzz_credentials
fuzz_http_libs := gateway base
fuzz_ufm_libs := gateway base
fuzz_credentials_libs := gateway base
