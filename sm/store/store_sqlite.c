/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store in one SQLite file.
 *
 * Objects. The connection is opened and checked by the caller's thread, then used by the store's
 * own thread; a scan takes `db_lock` and so excludes it. Batches wait in `queue`; the thread takes
 * all that wait, applies them as one transaction (group commit), and moves them to `finished`; one
 * post then reports them on the loop. What could not be written is reported as such, is owed from
 * then on (store_owed.h), and goes in front of the next transaction; one is tried each RETRY_MS.
 *
 * Durability. With WAL and synchronous=NORMAL a commit survives the end of the process at once,
 * but SQLite syncs the log only at checkpoints. So the thread syncs the log itself SYNC_DELAY_MS
 * after a commit: a power loss costs at most that much.
 *
 * The file. One SQL table per store table, with the columns key and value, for people with the
 * sqlite3 shell; `application_id` marks the file as ours, `user_version` is the schema's version.
 */
#include "sm/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "sm/base/log.h"
#include "sm/store/store_impl.h"
#include "sm/store/store_owed.h"

#define SCHEMA 2			/* raised with each change that an older daemon misreads */
#define APPLICATION_ID 0x57656674	/* "Weft" */
#define BUSY_MS 5000			/* patience with a shell that reads or writes the file */
#define SYNC_DELAY_MS 100
#define RETRY_MS 1000			/* between attempts to write what is owed */
#define KINDS 3				/* of enum store_kind */

struct sqlite_store {
	struct store store;		/* common part; first */
	struct list link;		/* in `closed`, or nowhere */
	char path[400];			/* of the file */
	sqlite3 *db;			/* under db_lock */
	sqlite3_stmt *statements[STORE_TABLES][KINDS];	/* made when first needed; db_lock */
	int wal_fd;			/* the log, for syncing; -1: not open. Thread only */
	bool unsynced;			/* commits since the last sync. Thread only */
	struct timespec sync_at;	/* when they must be synced. Thread only */
	struct store_owed owed;		/* what failed. Thread only */
	struct timespec retry_at;	/* when that is tried again. Thread only */
	bool closed;			/* the owner let go; free when the post arrives */
	pthread_t thread;		/* commits */
	pthread_mutex_t db_lock;	/* of the connection */
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t more;		/* the queue has grown, or stop was set */
	struct list queue;		/* batches to commit, oldest first */
	struct list finished;		/* batches to report, oldest first */
	bool stop;			/* the thread should end when the queue is empty */
	bool posted;			/* a post is on its way */
	bool paid;			/* what was owed is written, which is to be told */
};

/* Closed stores that a post still refers to. Loop thread only. */
static struct list closed = { &closed, &closed };

/* ---- one transaction, on the thread ---- */

static sqlite3_stmt *
statement(struct sqlite_store *q, enum store_kind kind, enum store_table table)
{
	static const char *const text[KINDS] = {
		[STORE_PUT] = "INSERT OR REPLACE INTO %s (key, value) VALUES (?1, ?2)",
		[STORE_DELETE] = "DELETE FROM %s WHERE key = ?1",
		[STORE_TRIM] = ("DELETE FROM %1$s WHERE key <="
				" (SELECT key FROM %1$s ORDER BY key DESC LIMIT 1 OFFSET ?1)"),
	};
	sqlite3_stmt **st = &q->statements[table][kind];
	char sql[200];

	if (!*st) {
		snprintf(sql, sizeof(sql), text[kind], store_table_name(table));
		sqlite3_prepare_v3(q->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
	}
	return *st;
}

static int
apply(struct sqlite_store *q, const struct store_op *op)
{
	sqlite3_stmt *st = statement(q, op->kind, op->table);
	int rc;

	if (!st)
		return sqlite3_errcode(q->db);
	if (op->kind == STORE_TRIM)
		sqlite3_bind_int64(st, 1, op->keep);
	else
		sqlite3_bind_text(st, 1, op->key, -1, SQLITE_STATIC);
	if (op->kind == STORE_PUT)
		sqlite3_bind_text(st, 2, op->value, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int
run_sql(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int
apply_batches(struct sqlite_store *q, const struct list *batches)
{
	int rc = SQLITE_OK;

	list_each(it, batches) {
		const struct store_batch *b = list_entry(it, struct store_batch, link);

		for (unsigned i = 0; i < b->len && rc == SQLITE_OK; i++)
			rc = apply(q, &b->ops[i]);
	}
	return rc;
}

/* What is owed and all batches of the group in one transaction; all share its fate. */
static int
apply_group(struct sqlite_store *q, struct list *group)
{
	int rc = run_sql(q->db, "BEGIN IMMEDIATE");

	if (rc == SQLITE_OK)
		rc = apply_batches(q, &q->owed.batches);
	if (rc == SQLITE_OK)
		rc = apply_batches(q, group);
	return rc == SQLITE_OK ? run_sql(q->db, "COMMIT") : rc;
}

static void
set_deadline(struct timespec *t, unsigned ms)
{
	clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_nsec += ms * 1000000L;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

static void
fail_group(struct sqlite_store *q, struct list *group)
{
	int err = sqlite3_system_errno(q->db);
	const char *text = sqlite3_errmsg(q->db);

	list_each(it, group) {
		struct store_batch *b = list_entry(it, struct store_batch, link);

		b->error = ERR_IO;
		snprintf(b->why, sizeof(b->why), "cannot write the state file %.100s: %.80s%s%.60s;"
			 " changes since then live in memory only until it can be", q->path, text,
			 err ? ": " : "", err ? strerror(err) : "");
		owed_take(&q->owed, b);
	}
	if (!sqlite3_get_autocommit(q->db))
		run_sql(q->db, "ROLLBACK");
	set_deadline(&q->retry_at, RETRY_MS);
}

static void
owe_nothing(struct sqlite_store *q)
{
	if (!q->owed.len)
		return;
	owed_clear(&q->owed);
	pthread_mutex_lock(&q->lock);
	q->paid = true;
	pthread_mutex_unlock(&q->lock);
}

static void
commit_group(struct sqlite_store *q, struct list *group)
{
	pthread_mutex_lock(&q->db_lock);
	if (apply_group(q, group) != SQLITE_OK)
		fail_group(q, group);
	else
		owe_nothing(q);
	pthread_mutex_unlock(&q->db_lock);
	if (!q->unsynced)
		set_deadline(&q->sync_at, SYNC_DELAY_MS);
	q->unsynced = true;
}

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool
has_passed(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return !is_before(&now, t);
}

static bool
sync_due(const struct sqlite_store *q)
{
	return q->unsynced && has_passed(&q->sync_at);
}

static bool
retry_due(const struct sqlite_store *q)
{
	return q->owed.len && has_passed(&q->retry_at);
}

static void
sync_log(struct sqlite_store *q)
{
	char wal[sizeof(q->path) + 8];

	q->unsynced = false;
	if (q->wal_fd < 0) {
		snprintf(wal, sizeof(wal), "%s-wal", q->path);
		q->wal_fd = open(wal, O_RDONLY | O_CLOEXEC);
	}
	if (q->wal_fd >= 0)
		fdatasync(q->wal_fd);
}

/* ---- the thread ---- */

static void
move_all(struct list *to, struct list *from)
{
	struct list *it;

	while ((it = list_pop(from)))
		list_append(to, it);
}

static void
report(void *arg);

/* Take what waits, or wait for more; false: nothing is left and the store closes. */
static bool
take_group(struct sqlite_store *q, struct list *group)
{
	const struct timespec *until = q->unsynced ? &q->sync_at : NULL;
	bool more;

	if (q->owed.len && (!until || is_before(&q->retry_at, until)))
		until = &q->retry_at;
	pthread_mutex_lock(&q->lock);
	while (list_empty(&q->queue) && !q->stop && !(until && has_passed(until))) {
		if (until)
			pthread_cond_timedwait(&q->more, &q->lock, until);
		else
			pthread_cond_wait(&q->more, &q->lock);
	}
	move_all(group, &q->queue);
	more = !list_empty(group) || !q->stop;
	pthread_mutex_unlock(&q->lock);
	return more;
}

static void
finish_group(struct sqlite_store *q, struct list *group)
{
	bool wake;

	pthread_mutex_lock(&q->lock);
	move_all(&q->finished, group);
	wake = !q->posted;
	q->posted = true;
	pthread_mutex_unlock(&q->lock);
	if (wake)
		loop_post(q->store.loop, report, q);
}

static void *
commit_main(void *arg)
{
	struct sqlite_store *q = arg;
	struct list group;

	list_init(&group);
	while (take_group(q, &group)) {
		if (!list_empty(&group) || retry_due(q)) {
			commit_group(q, &group);
			finish_group(q, &group);
		}
		if (sync_due(q))
			sync_log(q);
	}
	if (q->owed.len)
		commit_group(q, &group);
	owed_clear(&q->owed);
	return NULL;
}

static int
start_thread(struct sqlite_store *q)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->more, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->db_lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&q->thread, NULL, commit_main, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		pthread_setname_np(q->thread, "weft-store");
	return rc;
}

/* ---- the loop's end ---- */

static void
free_store(struct sqlite_store *q)
{
	list_remove(&q->link);
	mem_free(q);
}

static void
report_finished(struct sqlite_store *q)
{
	struct list done, *it;
	bool paid;

	list_init(&done);
	pthread_mutex_lock(&q->lock);
	move_all(&done, &q->finished);
	q->posted = false;
	paid = q->paid;
	q->paid = false;
	pthread_mutex_unlock(&q->lock);
	if (paid)
		log_notice("the state file %s is written again, and nothing is missing in it",
			   q->path);
	while ((it = list_pop(&done)))
		store_batch_done(list_entry(it, struct store_batch, link));
}

static void
report(void *arg)
{
	struct sqlite_store *q = arg;

	if (q->closed)
		free_store(q);
	else
		report_finished(q);
}

static void
sqlite_commit(struct store *s, struct store_batch *b)
{
	struct sqlite_store *q = (struct sqlite_store *)s;

	pthread_mutex_lock(&q->lock);
	list_append(&q->queue, &b->link);
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
}

static int
sqlite_scan(struct store *s, enum store_table table, store_row_fn fn, void *arg, struct error *e)
{
	struct sqlite_store *q = (struct sqlite_store *)s;
	sqlite3_stmt *st = NULL;
	char sql[100];
	int rc;

	snprintf(sql, sizeof(sql), "SELECT key, value FROM %s ORDER BY key",
		 store_table_name(table));
	pthread_mutex_lock(&q->db_lock);
	rc = sqlite3_prepare_v2(q->db, sql, -1, &st, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			fn(arg, (const char *)sqlite3_column_text(st, 0),
			   (const char *)sqlite3_column_text(st, 1));
	}
	if (rc != SQLITE_DONE)
		error_set(e, ERR_IO, "cannot read table \"%s\" of the state file %s: %s",
			  store_table_name(table), q->path, sqlite3_errmsg(q->db));
	sqlite3_finalize(st);
	pthread_mutex_unlock(&q->db_lock);
	return rc == SQLITE_DONE ? 0 : ERR_IO;
}

static void
close_db(struct sqlite_store *q)
{
	for (unsigned t = 0; t < STORE_TABLES; t++)
		for (unsigned k = 0; k < KINDS; k++)
			sqlite3_finalize(q->statements[t][k]);
	sqlite3_close(q->db);
	if (q->wal_fd >= 0)
		close(q->wal_fd);
}

static void
sqlite_close(struct store *s)
{
	struct sqlite_store *q = (struct sqlite_store *)s;
	bool posted;

	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	posted = q->posted;
	report_finished(q);
	close_db(q);
	pthread_cond_destroy(&q->more);
	pthread_mutex_destroy(&q->lock);
	pthread_mutex_destroy(&q->db_lock);
	q->closed = true;
	if (posted)
		list_append(&closed, &q->link);
	else
		free_store(q);
}

/* ---- opening ---- */

/* SQLite says little of why a file cannot be opened; the file system says more. */
static int
explain_open(const char *path, struct error *e)
{
	char dir[400];
	char *slash;
	struct stat st;
	int fd;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	if (slash && stat(dir, &st))
		return error_set(e, ERR_NOT_FOUND, "state file %s: directory %s cannot be used (%s)"
				 "; create it, or name another file in \"state\"", path, dir,
				 strerror(errno));
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return error_set(e, ERR_INVALID, "state file %s is a directory; name a file in"
				 " \"state\"", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		return error_set(e, ERR_IO, "state file %s cannot be opened for writing (%s); give"
				 " the daemon's user the right to write it and its directory", path,
				 strerror(errno));
	close(fd);
	return 0;
}

static int
explain_failure(struct sqlite_store *q, struct error *e)
{
	switch (sqlite3_errcode(q->db) & 0xff) {
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return error_set(e, ERR_FORMAT, "state file %s is damaged or no state file; move it"
				 " away to begin with an empty one", q->path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(e, ERR_BUSY, "state file %s is locked by another program; end it"
				 " first", q->path);
	case SQLITE_READONLY:
		return error_set(e, ERR_IO, "state file %s cannot be written; give the daemon's"
				 " user the right to write it and its directory", q->path);
	default:
		return error_set(e, ERR_IO, "state file %s cannot be opened: %s", q->path,
				 sqlite3_errmsg(q->db));
	}
}

/* The first column of the first row as a number, -1 if there is none. */
static int64_t
query_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static int
check_schema(struct sqlite_store *q, struct error *e)
{
	int64_t version = query_number(q->db, "PRAGMA user_version");
	int64_t id = query_number(q->db, "PRAGMA application_id");
	int64_t tables = query_number(q->db, "SELECT count(*) FROM sqlite_master");

	if (version < 0 || id < 0 || tables < 0)
		return explain_failure(q, e);
	if (id != APPLICATION_ID && (id || tables || version))
		return error_set(e, ERR_FORMAT, "state file %s belongs to another program; name"
				 " another file in \"state\"", q->path);
	if (version > SCHEMA)
		return error_set(e, ERR_UNSUPPORTED, "state file %s has schema version %lld, but"
				 " this version of Weft knows only %d; upgrade Weft, or move the"
				 " file away", q->path, (long long)version, SCHEMA);
	if (tables && query_number(q->db, "SELECT quick_check <> 'ok' FROM"
				   " pragma_quick_check(1)") != 0)
		return error_set(e, ERR_FORMAT, "state file %s is damaged; move it away to begin"
				 " with an empty one", q->path);
	return 0;
}

static int
create_schema(struct sqlite_store *q, struct error *e)
{
	char sql[200];
	int rc = run_sql(q->db, "BEGIN IMMEDIATE");

	for (unsigned t = 0; t < STORE_TABLES && rc == SQLITE_OK; t++) {
		snprintf(sql, sizeof(sql), "CREATE TABLE IF NOT EXISTS %s (key TEXT PRIMARY KEY,"
			 " value TEXT NOT NULL) WITHOUT ROWID", store_table_name(t));
		rc = run_sql(q->db, sql);
	}
	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 APPLICATION_ID, SCHEMA);
	if (rc == SQLITE_OK)
		rc = run_sql(q->db, sql);
	if (rc == SQLITE_OK)
		rc = run_sql(q->db, "COMMIT");
	return rc == SQLITE_OK ? 0 : explain_failure(q, e);
}

static int
open_db(struct sqlite_store *q, struct error *e)
{
	int rc = explain_open(q->path, e);

	if (rc)
		return rc;
	if (sqlite3_open_v2(q->path, &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL))
		return explain_failure(q, e);
	sqlite3_busy_timeout(q->db, BUSY_MS);
	rc = check_schema(q, e);
	if (rc)
		return rc;
	if (run_sql(q->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"))
		return explain_failure(q, e);
	return create_schema(q, e);
}

struct store *
store_open_sqlite(struct loop *l, const char *path, struct error *e)
{
	static const struct store_ops ops = {
		.commit = sqlite_commit,
		.scan = sqlite_scan,
		.close = sqlite_close,
	};
	struct sqlite_store *q = mem_zalloc(sizeof(*q));

	q->store.ops = &ops;
	q->store.loop = l;
	q->wal_fd = -1;
	snprintf(q->path, sizeof(q->path), "%s", path);
	list_init(&q->link);
	list_init(&q->queue);
	list_init(&q->finished);
	owed_init(&q->owed);
	if (strlen(path) >= sizeof(q->path))
		error_set(e, ERR_INVALID, "state file %.100s...: the path is too long", path);
	else if (!open_db(q, e)) {
		if (!start_thread(q))
			return &q->store;
		error_set(e, ERR_NOMEM, "state file %s: cannot start a thread", path);
	}
	close_db(q);
	mem_free(q);
	return NULL;
}
