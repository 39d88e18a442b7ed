store_src := \
	sm/store/etcd_client.c \
	sm/store/etcd_diff.c \
	sm/store/etcd_sync.c \
	sm/store/etcd_text.c \
	sm/store/etcd_unsent.c \
	sm/store/store.c \
	sm/store/store_etcd.c \
	sm/store/store_memory.c \
	sm/store/store_owed.c \
	sm/store/store_share.c \
	sm/store/store_sqlite.c
store_public := sm/store/store.h
store_pkgs := jansson libcrypto libcurl sqlite3
