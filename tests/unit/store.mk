unit_tests += test_store test_store_etcd
test_store_libs := store base
test_store_extra := -lcmocka

$(BUILD)/libfake_etcd.a: $(BUILD)/obj/tests/unit/fake_etcd.o
	$(call say,AR,$@)
	$(q)rm -f $@ && ar rcs $@ $^
test_store_etcd_libs := fake_etcd store base
test_store_etcd_extra := -lcmocka
test_store_etcd_limit := 300
tsan_tests += test_store_etcd
