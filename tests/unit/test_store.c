/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store: both backends behave alike; the SQLite one keeps what it acknowledged when its process
 * is killed, is readable by others, and refuses what it must not touch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sm/base/buf.h"
#include "sm/base/loop.h"
#include "sm/store/store.h"

/* A backend under test: a loop of its kind, and a file where it needs one. */
struct bed {
	struct loop *loop;	/* runs the callbacks */
	struct store *store;	/* open, or NULL */
	char dir[64];		/* temporary directory */
	char path[96];		/* state file in it */
	bool sqlite;		/* which backend */
	unsigned done;		/* callbacks so far */
	bool arrived;		/* the awaited one came */
	int error;		/* of the last */
};

static void
bed_open(struct bed *b, bool sqlite)
{
	struct error e = { 0 };

	memset(b, 0, sizeof(*b));
	b->sqlite = sqlite;
	snprintf(b->dir, sizeof(b->dir), "/tmp/weft-store-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/weft.db", b->dir);
	b->loop = sqlite ? loop_new_event() : loop_new_virtual(1);
	b->store = sqlite ? store_open_sqlite(b->loop, b->path, &e) : store_open_memory(b->loop);
	assert_string_equal(e.text, "");
	assert_non_null(b->store);
}

static void
bed_close(struct bed *b)
{
	char cmd[128];

	store_close(b->store);
	loop_free(b->loop);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", b->dir);
	assert_int_equal(system(cmd), 0);
}

static void
on_done(void *arg, int error, const char *why)
{
	struct bed *b = arg;

	assert_true((error == 0) == (why == NULL));
	b->done++;
	b->error = error;
	b->arrived = true;
}

static void
commit(struct bed *b)
{
	b->arrived = false;
	store_commit(b->store, on_done, b);
	assert_false(b->arrived);
	assert_true(loop_run_until(b->loop, loop_now(b->loop) + SEC(30), &b->arrived));
}

static void
add_row(void *arg, const char *key, const char *value)
{
	buf_printf(arg, "%s=%s;", key, value);
}

static void
assert_rows(struct store *s, enum store_table table, const char *want)
{
	struct buf got = { 0 };
	struct error e = { 0 };

	assert_int_equal(store_scan(s, table, add_row, &got, &e), 0);
	assert_string_equal(got.data ? got.data : "", want);
	buf_free(&got);
}

/* ---- what holds for each backend ---- */

static void
check_changes(bool sqlite)
{
	struct bed b;

	bed_open(&b, sqlite);
	assert_rows(b.store, STORE_LIDS, "");
	store_put(b.store, STORE_LIDS, "b", "2");
	store_put(b.store, STORE_LIDS, "a", "1");
	store_put(b.store, STORE_LIDS, "c", "3");
	store_put(b.store, STORE_META, "a", "other table");
	assert_rows(b.store, STORE_LIDS, "");
	commit(&b);
	assert_int_equal(b.error, 0);
	assert_rows(b.store, STORE_LIDS, "a=1;b=2;c=3;");
	assert_rows(b.store, STORE_META, "a=other table;");

	/* Order within one commit counts. */
	store_delete(b.store, STORE_LIDS, "b");
	store_put(b.store, STORE_LIDS, "b", "'; DROP TABLE lids; --");
	store_put(b.store, STORE_LIDS, "c", "33");
	store_delete(b.store, STORE_LIDS, "a");
	store_delete(b.store, STORE_LIDS, "never there");
	commit(&b);
	assert_rows(b.store, STORE_LIDS, "b='; DROP TABLE lids; --;c=33;");
	assert_int_equal(b.done, 2);
	bed_close(&b);
}

static void
check_trim(bool sqlite)
{
	struct bed b;
	char key[24];

	bed_open(&b, sqlite);
	for (unsigned i = 1; i <= 100; i++) {
		/* Not in key order. */
		snprintf(key, sizeof(key), "%020u", i * 37 % 101);
		store_put(b.store, STORE_EVENTS, key, "x");
	}
	store_trim(b.store, STORE_EVENTS, 3);
	commit(&b);
	assert_rows(b.store, STORE_EVENTS, "00000000000000000098=x;00000000000000000099=x;"
		    "00000000000000000100=x;");
	store_trim(b.store, STORE_EVENTS, 3);
	commit(&b);
	store_trim(b.store, STORE_EVENTS, 10);
	commit(&b);
	assert_rows(b.store, STORE_EVENTS, "00000000000000000098=x;00000000000000000099=x;"
		    "00000000000000000100=x;");
	store_trim(b.store, STORE_EVENTS, 0);
	commit(&b);
	assert_rows(b.store, STORE_EVENTS, "");
	bed_close(&b);
}

struct order {
	unsigned at[50];	/* position of each callback */
	unsigned len;		/* callbacks so far */
};

struct order_arg {
	struct order *order;	/* shared */
	unsigned number;	/* of the commit */
};

static void
on_ordered(void *arg, int error, const char *why)
{
	struct order_arg *a = arg;

	assert_int_equal(error, 0);
	assert_null(why);
	assert_int_equal(a->number, a->order->len);
	a->order->at[a->order->len++] = a->number;
}

/* Callbacks come in order; closing makes those that are due, and commits what has no commit. */
static void
check_order_and_close(bool sqlite)
{
	struct order order = { 0 };
	struct order_arg args[50];
	struct bed b;
	char key[24];

	bed_open(&b, sqlite);
	for (unsigned i = 0; i < 50; i++) {
		args[i] = (struct order_arg){ &order, i };
		snprintf(key, sizeof(key), "%02u", i);
		store_put(b.store, STORE_META, key, "");
		store_commit(b.store, on_ordered, &args[i]);
	}
	store_put(b.store, STORE_LIDS, "last", "words");
	store_close(b.store);
	assert_int_equal(order.len, 50);
	b.store = NULL;
	if (sqlite) {
		b.store = store_open_sqlite(b.loop, b.path, NULL);
		assert_rows(b.store, STORE_LIDS, "last=words;");
	}
	bed_close(&b);
}

static void
test_changes(void **state)
{
	(void)state;
	check_changes(false);
	check_changes(true);
}

static void
test_trim(void **state)
{
	(void)state;
	check_trim(false);
	check_trim(true);
}

static void
test_order_and_close(void **state)
{
	(void)state;
	check_order_and_close(false);
	check_order_and_close(true);
}

/* ---- SQLite alone ---- */

/* Commits for ever; writes the number of each acknowledged commit to the pipe. */
struct writer {
	struct store *store;	/* in the child */
	unsigned next;		/* number of the commit under way */
	int fd;			/* the parent listens */
};

static void
write_next(struct writer *w);

static void
on_written(void *arg, int error, const char *why)
{
	struct writer *w = arg;

	(void)why;
	if (error || write(w->fd, &w->next, sizeof(w->next)) != sizeof(w->next))
		_exit(1);
	w->next++;
	write_next(w);
}

static void
write_next(struct writer *w)
{
	char key[24];

	snprintf(key, sizeof(key), "%020u", w->next);
	store_put(w->store, STORE_EVENTS, key, "{}");
	store_put(w->store, STORE_META, "newest", key);
	store_commit(w->store, on_written, w);
}

static void
child_writes(const char *path, int fd)
{
	struct loop *loop = loop_new_event();
	struct writer w = { .fd = fd };

	w.store = store_open_sqlite(loop, path, NULL);
	if (!w.store)
		_exit(2);
	write_next(&w);
	loop_run(loop);
	_exit(3);
}

static void
count_row(void *arg, const char *key, const char *value)
{
	unsigned *n = arg;

	assert_string_equal(value, "{}");
	assert_int_equal(strtoul(key, NULL, 10), *n);
	++*n;
}

static void
kill_one(unsigned after)
{
	unsigned number = 0, acknowledged = 0, rows = 0;
	struct bed b;
	int fds[2], status;
	char newest[40];
	pid_t pid;

	bed_open(&b, true);
	store_close(b.store);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		child_writes(b.path, fds[1]);
	close(fds[1]);
	while (acknowledged < after && read(fds[0], &number, sizeof(number)) == sizeof(number))
		acknowledged = number + 1;
	assert_int_equal(acknowledged, after);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(fds[0], &number, sizeof(number)) == sizeof(number))
		acknowledged = number + 1;
	close(fds[0]);

	b.store = store_open_sqlite(b.loop, b.path, NULL);
	assert_non_null(b.store);
	assert_int_equal(store_scan(b.store, STORE_EVENTS, count_row, &rows, NULL), 0);
	assert_true(rows == acknowledged || rows == acknowledged + 1);
	snprintf(newest, sizeof(newest), "newest=%020u;", rows - 1);
	assert_rows(b.store, STORE_META, newest);
	bed_close(&b);
}

/* kill -9 at various points: every acknowledged commit is there, and the last one whole. */
static void
test_kill(void **state)
{
	(void)state;
	for (unsigned after = 1; after <= 1500; after = after * 3 + 1)
		kill_one(after);
}

static void
run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
assert_refused(struct bed *b, const char *path, int code, const char *word)
{
	struct error e = { 0 };

	assert_null(store_open_sqlite(b->loop, path, &e));
	assert_int_equal(e.code, code);
	assert_non_null(strstr(e.text, word));
	assert_non_null(strstr(e.text, path));
	assert_null(strchr(e.text, '\n'));
}

static void
test_newer_schema(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, true);
	store_put(b.store, STORE_LIDS, "k", "v");
	store_close(b.store);
	run_sql(b.path, "PRAGMA user_version = 3");
	assert_refused(&b, b.path, ERR_UNSUPPORTED, "version 3");
	run_sql(b.path, "PRAGMA user_version = 2");
	b.store = store_open_sqlite(b.loop, b.path, NULL);
	assert_rows(b.store, STORE_LIDS, "k=v;");
	bed_close(&b);
}

static void
test_readable(void **state)
{
	sqlite3_stmt *st;
	struct bed b;
	sqlite3 *db;

	(void)state;
	bed_open(&b, true);
	store_put(b.store, STORE_LIDS, "compute 0x0000000000100001", "7 0 1700000000");
	commit(&b);
	/* Another process may look while the daemon runs. */
	assert_int_equal(sqlite3_open_v2(b.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT value FROM lids WHERE key LIKE 'compute %'",
					    -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), "7 0 1700000000");
	sqlite3_finalize(st);
	sqlite3_close(db);
	bed_close(&b);
}

static void
overwrite(const char *path, long at, size_t size)
{
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	for (size_t i = 0; i < size; i++)
		fputc(0x5a, f);
	fclose(f);
}

static void
test_damaged(void **state)
{
	struct bed b;
	char key[24];

	(void)state;
	bed_open(&b, true);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%020u", i);
		store_put(b.store, STORE_EVENTS, key, "0123456789012345678901234567890123456789");
	}
	store_close(b.store);
	b.store = NULL;
	/* A page in the middle, then the header. */
	overwrite(b.path, 8 * 4096, 4096);
	assert_refused(&b, b.path, ERR_FORMAT, "damaged");
	overwrite(b.path, 0, 100);
	assert_refused(&b, b.path, ERR_FORMAT, "damaged");
	bed_close(&b);
}

static void
test_not_ours(void **state)
{
	struct bed b;
	char path[128];

	(void)state;
	bed_open(&b, true);
	snprintf(path, sizeof(path), "%s/other.db", b.dir);
	run_sql(path, "CREATE TABLE recipes (name TEXT)");
	assert_refused(&b, path, ERR_FORMAT, "another program");
	snprintf(path, sizeof(path), "%s/missing/weft.db", b.dir);
	assert_refused(&b, path, ERR_NOT_FOUND, "missing");
	assert_refused(&b, b.dir, ERR_INVALID, "is a directory");
	bed_close(&b);
}

static void
test_permission(void **state)
{
	struct bed b;
	int status;
	pid_t pid;

	(void)state;
	bed_open(&b, true);
	store_close(b.store);
	b.store = NULL;
	assert_int_equal(chmod(b.path, 0444) | chmod(b.dir, 0555), 0);
	pid = fork();
	if (pid == 0) {
		struct error e = { 0 };

		if (geteuid() == 0 && seteuid(65534))
			_exit(9);
		_exit(store_open_sqlite(b.loop, b.path, &e) || e.code != ERR_IO ||
		      !strstr(e.text, "right to write"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(b.dir, 0755), 0);
	bed_close(&b);
}

static void
assert_becomes(struct bed *b, enum store_table table, const char *want)
{
	monotime end = loop_now(b->loop) + SEC(30);
	bool never = false;
	struct buf got = { 0 };

	do {
		buf_clear(&got);
		assert_int_equal(store_scan(b->store, table, add_row, &got, NULL), 0);
		loop_run_until(b->loop, loop_now(b->loop) + MSEC(20), &never);
	} while (strcmp(got.data ? got.data : "", want) && loop_now(b->loop) < end);
	assert_string_equal(got.data ? got.data : "", want);
	buf_free(&got);
}

static void
sql(sqlite3 *db, const char *text)
{
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
}

/* What could not be written is there when it can be, in its order, also without another change: of
 * each row the newest, and no more than a table keeps. */
static void
test_owed(void **state)
{
	struct bed b;
	sqlite3 *db;
	char key[24];

	(void)state;
	bed_open(&b, true);
	assert_int_equal(sqlite3_open(b.path, &db), SQLITE_OK);
	store_put(b.store, STORE_LIDS, "gone", "0");
	commit(&b);
	sql(db, "CREATE TRIGGER no BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no'); END");
	for (unsigned i = 0; i < 300; i++) {
		for (unsigned n = 0; n < 30; n++) {
			snprintf(key, sizeof(key), "%05u", i * 30 + n);
			store_put(b.store, STORE_EVENTS, key, "{}");
			store_put(b.store, STORE_LIDS, "k", key);
		}
		store_put(b.store, STORE_META, "k", key);
		store_trim(b.store, STORE_EVENTS, 2);
		store_delete(b.store, STORE_LIDS, "gone");
		commit(&b);
		assert_int_equal(b.error, ERR_IO);
	}
	store_delete(b.store, STORE_META, "k");
	commit(&b);
	assert_rows(b.store, STORE_LIDS, "gone=0;");
	sql(db, "DROP TRIGGER no");
	assert_becomes(&b, STORE_LIDS, "k=08999;");
	assert_rows(b.store, STORE_EVENTS, "08998={};08999={};");
	assert_rows(b.store, STORE_META, "");
	/* And at the end. */
	sql(db, "CREATE TRIGGER no BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no'); END");
	store_put(b.store, STORE_META, "k", "v");
	commit(&b);
	sql(db, "DROP TRIGGER no");
	store_close(b.store);
	b.store = store_open_sqlite(b.loop, b.path, NULL);
	assert_rows(b.store, STORE_META, "k=v;");
	sqlite3_close(db);
	bed_close(&b);
}

/* A commit that cannot be written is reported as such, and later ones work again. */
static void
test_failed_commit(void **state)
{
	struct bed b;
	sqlite3 *db;

	(void)state;
	bed_open(&b, true);
	assert_int_equal(sqlite3_open(b.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TRIGGER no BEFORE INSERT ON lids BEGIN"
				      " SELECT RAISE(ABORT, 'no'); END", NULL, NULL, NULL),
			 SQLITE_OK);
	store_put(b.store, STORE_META, "with", "it");
	store_put(b.store, STORE_LIDS, "k", "v");
	commit(&b);
	assert_int_equal(b.error, ERR_IO);
	assert_rows(b.store, STORE_META, "");
	assert_int_equal(sqlite3_exec(db, "DROP TRIGGER no", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	store_put(b.store, STORE_LIDS, "k", "v");
	commit(&b);
	assert_int_equal(b.error, 0);
	assert_rows(b.store, STORE_LIDS, "k=v;");
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_order_and_close),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_newer_schema),
		cmocka_unit_test(test_readable),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_permission),
		cmocka_unit_test(test_failed_commit),
		cmocka_unit_test(test_owed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
