store_src := \
	sm/store/store.c \
	sm/store/store_memory.c \
	sm/store/store_owed.c \
	sm/store/store_sqlite.c
store_public := sm/store/store.h
store_pkgs := sqlite3
