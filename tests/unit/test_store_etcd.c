/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store that managers share, before an etcd that answers, does not, or answers badly: what is
 * called back and when, what either side has in the end, and who is right where they differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/store/etcd_diff.h"
#include "sm/store/etcd_unsent.h"
#include "sm/store/store.h"
#include "tests/unit/fake_etcd.h"

#define PATIENCE SEC(30)
#define TIMEOUT_MS 500

struct bed {
	struct loop *loop;
	struct fake_etcd *etcd[2];
	struct store *store;
	char dir[64], path[96];
	const char *urls[2];
	struct store_etcd options;
	struct buf changed;	/* "TABLE KEY=VALUE;" or "TABLE KEY;" of each row that came */
	unsigned warnings, notices;
	unsigned done;		/* commits called back */
};

/* What is put from within is not to come back as a change of ours. */
static void
on_changed(void *arg, enum store_table table, const char *key, const char *value)
{
	struct bed *b = arg;

	store_put(b->store, table, key, "echo");
	store_delete(b->store, table, "s another");
	buf_printf(&b->changed, value ? "%u %s=%s;" : "%u %s;", table, key, value);
}

static void
on_tell(void *arg, bool warning, const char *text)
{
	struct bed *b = arg;

	(void)text;
	b->warnings += warning;
	b->notices += !warning;
}

static void
open_store(struct bed *b)
{
	struct store_follower f = { on_changed, on_tell, b };
	struct error e = { 0 };

	b->store = store_open_etcd(b->loop, b->path, &b->options, &e);
	assert_string_equal(e.text, "");
	assert_non_null(b->store);
	store_follow(b->store, &f);
}

static void
bed_open(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	snprintf(b->dir, sizeof(b->dir), "/tmp/weft-etcd-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/weft.db", b->dir);
	b->loop = loop_new_event();
	for (unsigned i = 0; i < 2; i++)
		b->etcd[i] = fake_etcd_new();
	b->urls[0] = fake_etcd_url(b->etcd[0]);
	b->urls[1] = fake_etcd_url(b->etcd[1]);
	b->options = (struct store_etcd){
		.endpoints = b->urls, .nendpoints = 1, .prefix = "/weft/t",
		.timeout_ms = TIMEOUT_MS,
	};
	open_store(b);
}

static void
bed_close(struct bed *b)
{
	char cmd[128];

	store_close(b->store);
	for (unsigned i = 0; i < 2; i++)
		fake_etcd_free(b->etcd[i]);
	loop_free(b->loop);
	buf_free(&b->changed);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", b->dir);
	assert_int_equal(system(cmd), 0);
}

static void
on_done(void *arg, int error, const char *why)
{
	struct bed *b = arg;

	assert_int_equal(error, 0);
	assert_null(why);
	b->done++;
}

/* Until it holds, or for too long. */
#define WAIT_FOR(b, condition) \
	do { \
		monotime end_ = loop_now((b)->loop) + PATIENCE; \
		while (!(condition)) { \
			assert_true(loop_now((b)->loop) < end_); \
			loop_run_until((b)->loop, loop_now((b)->loop) + MSEC(2), NULL); \
		} \
	} while (0)

static bool
is_safe(struct bed *b)
{
	struct store_beyond st;

	assert_true(store_beyond(b->store, &st));
	assert_true(st.safe == !st.why[0]);
	return st.safe;
}

static bool
is_away(struct bed *b)
{
	struct store_beyond st;

	store_beyond(b->store, &st);
	return st.away;
}

static unsigned
unsent(struct bed *b)
{
	struct store_beyond st;

	store_beyond(b->store, &st);
	return st.unsent;
}

static bool
etcd_has(struct bed *b, const char *key, const char *value)
{
	char *got = fake_etcd_get(b->etcd[0], key);
	bool same = got && value ? !strcmp(got, value) : !got && !value;

	mem_free(got);
	return same;
}

static void
put(struct bed *b, const char *key, const char *value)
{
	unsigned done = b->done;

	if (value)
		store_put(b->store, STORE_CLIENTS, key, value);
	else
		store_delete(b->store, STORE_CLIENTS, key);
	store_commit(b->store, on_done, b);
	assert_int_equal(b->done, done);
	WAIT_FOR(b, b->done == done + 1);
}

static void
add_row(void *arg, const char *key, const char *value)
{
	buf_printf(arg, "%s=%s;", key, value);
}

static void
assert_rows(struct bed *b, enum store_table table, const char *want)
{
	struct buf got = { 0 };
	struct error e = { 0 };

	assert_int_equal(store_scan(b->store, table, add_row, &got, &e), 0);
	assert_string_equal(got.data ? got.data : "", want);
	buf_free(&got);
}

/* Whatever was put to the file has to be there. */
static void
settle(struct bed *b)
{
	unsigned done = b->done;

	store_commit(b->store, on_done, b);
	WAIT_FOR(b, b->done == done + 1);
}

static void
lead(struct bed *b)
{
	store_lead(b->store, "s", true);
	WAIT_FOR(b, is_safe(b));
}

/* ---- While it answers ---- */

/* Both have it when it is called back; what is this manager's own stays with it. */
static void
test_both(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	put(&b, "s service 1", "one");
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", "one"));
	assert_true(is_safe(&b));
	assert_int_equal(unsent(&b), 0);
	store_put(b.store, STORE_META, "master s", "0x1 1");
	store_put(b.store, STORE_META, "drained s", "0x2=manual");
	store_put(b.store, STORE_EVENTS, "00000000000000000001", "{}");
	store_delete(b.store, STORE_CLIENTS, "s service 1");
	store_commit(b.store, on_done, &b);
	WAIT_FOR(&b, b.done == 2);
	assert_true(etcd_has(&b, "/weft/t/meta/drained s", "0x2=manual"));
	assert_true(etcd_has(&b, "/weft/t/meta/master s", NULL));
	assert_true(etcd_has(&b, "/weft/t/events/00000000000000000001", NULL));
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", NULL));
	assert_rows(&b, STORE_CLIENTS, "");
	settle(&b);
	assert_rows(&b, STORE_UNSENT, "");
	assert_int_equal(b.changed.len, 0);
	assert_int_equal(b.warnings, 0);
	bed_close(&b);
}

/* More than a transaction takes, and a value of its own size. */
static void
test_many(void **state)
{
	char key[40], *big = mem_alloc(900001);
	struct bed b;

	(void)state;
	memset(big, 'v', 900000);
	big[900000] = '\0';
	bed_open(&b);
	store_close(b.store);
	b.options.timeout_ms = 10000;
	open_store(&b);
	lead(&b);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "s 0x%016x", i + 1);
		store_put(b.store, STORE_LIDS, key, "7 0 1");
		if (i % 10 == 9)
			store_commit(b.store, on_done, &b);
	}
	store_put(b.store, STORE_PARTITIONS, "s/names/a/b", big);
	store_put(b.store, STORE_PARTITIONS, "s/names/a/c", big);
	store_commit(b.store, on_done, &b);
	WAIT_FOR(&b, b.done == 101 && unsent(&b) == 0);
	assert_true(etcd_has(&b, "/weft/t/lids/s 0x00000000000003e8", "7 0 1"));
	assert_true(etcd_has(&b, "/weft/t/partitions/s/names/a/c", big));
	mem_free(big);
	bed_close(&b);
}

/* ---- While it does not ---- */

/* In each way in which it may not: the file alone suffices, nothing is forgotten, and when it is
 * back it gets the newest of each row. */
static void
test_away(void **state)
{
	(void)state;
	for (enum fake_mood mood = FAKE_SILENT; mood < FAKE_MOODS; mood++) {
		struct bed b;
		monotime began;

		if (mood == FAKE_SLOW)
			continue;
		bed_open(&b);
		lead(&b);
		fake_etcd_mood(b.etcd[0], mood);
		began = loop_now(b.loop);
		put(&b, "s service 1", "one");
		assert_true(loop_now(b.loop) - began < SEC(10));
		assert_false(is_safe(&b));
		WAIT_FOR(&b, is_away(&b));
		put(&b, "s service 1", "newer");
		put(&b, "s service 2", "two");
		assert_int_equal(unsent(&b), 2);
		assert_int_equal(b.warnings, 1);
		fake_etcd_mood(b.etcd[0], FAKE_WELL);
		WAIT_FOR(&b, is_safe(&b));
		assert_false(is_away(&b));
		assert_int_equal(unsent(&b), 0);
		assert_int_equal(b.warnings, 1);
		assert_true(etcd_has(&b, "/weft/t/clients/s service 1", "newer"));
		assert_true(etcd_has(&b, "/weft/t/clients/s service 2", "two"));
		assert_int_equal(b.changed.len, 0);
		bed_close(&b);
	}
}

/* A slow one is waited for, as long as it answers within the time-out. */
static void
test_slow(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	fake_etcd_mood(b.etcd[0], FAKE_SLOW);
	put(&b, "s service 1", "one");
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", "one"));
	assert_int_equal(b.warnings, 0);
	bed_close(&b);
}

/* What was not sent survives the daemon. */
static void
test_restart(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	put(&b, "s service 1", "one");
	fake_etcd_mood(b.etcd[0], FAKE_SILENT);
	put(&b, "s service 1", NULL);
	put(&b, "s service 2", "two");
	store_close(b.store);
	fake_etcd_mood(b.etcd[0], FAKE_WELL);
	open_store(&b);
	assert_int_equal(unsent(&b), 2);
	assert_false(is_safe(&b));
	WAIT_FOR(&b, is_safe(&b));
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", NULL));
	assert_true(etcd_has(&b, "/weft/t/clients/s service 2", "two"));
	assert_int_equal(b.changed.len, 0);
	bed_close(&b);
}

/* The second endpoint answers within the time-out when the first does not. */
static void
test_endpoints(void **state)
{
	struct store_beyond st;
	struct bed b;

	(void)state;
	bed_open(&b);
	store_close(b.store);
	b.options.nendpoints = 2;
	b.urls[0] = "http://127.0.0.1:1";
	b.urls[1] = fake_etcd_url(b.etcd[0]);
	open_store(&b);
	lead(&b);
	put(&b, "s service 1", "one");
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", "one"));
	assert_int_equal(b.warnings, 0);
	store_beyond(b.store, &st);
	assert_int_equal(st.nendpoints, 2);
	assert_int_equal(st.endpoints[0].state, STORE_ENDPOINT_FAILED);
	assert_int_equal(st.endpoints[1].state, STORE_ENDPOINT_ANSWERS);
	bed_close(&b);
}

/* A transaction that is carried out though nobody hears of it changes nothing later. */
static void
test_deaf(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	fake_etcd_mood(b.etcd[0], FAKE_DEAF);
	put(&b, "s service 1", "one");
	WAIT_FOR(&b, etcd_has(&b, "/weft/t/clients/s service 1", "one") && is_away(&b));
	put(&b, "s service 1", "two");
	fake_etcd_mood(b.etcd[0], FAKE_WELL);
	WAIT_FOR(&b, is_safe(&b));
	assert_true(etcd_has(&b, "/weft/t/clients/s service 1", "two"));
	assert_rows(&b, STORE_CLIENTS, "s service 1=two;");
	bed_close(&b);
}

static void
test_user(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	store_close(b.store);
	fake_etcd_lock(b.etcd[0]);
	b.options.user = "weft";
	b.options.password = "se\"cret";
	open_store(&b);
	lead(&b);
	assert_int_equal(fake_etcd_logins(b.etcd[0]), 2);
	put(&b, "s service 1", "one");
	assert_int_equal(fake_etcd_logins(b.etcd[0]), 2);
	fake_etcd_lock(b.etcd[0]);	/* the token is not valid any more */
	put(&b, "s service 2", "two");
	assert_true(etcd_has(&b, "/weft/t/clients/s service 2", "two"));
	assert_int_equal(b.warnings, 0);
	store_close(b.store);
	b.options.password = "wrong";
	open_store(&b);
	WAIT_FOR(&b, is_away(&b));
	bed_close(&b);
}

/* ---- Following ---- */

static void
test_follow(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s service 1", "one");
	WAIT_FOR(&b, is_safe(&b));
	fake_etcd_put(b.etcd[0], "/weft/t/lids/s 0x1", "1 0 1");
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s service 1", NULL);
	fake_etcd_put(b.etcd[0], "/weft/t/meta/master s", "not ours");
	fake_etcd_put(b.etcd[0], "/weft/t/nothing/s", "x");
	fake_etcd_put(b.etcd[0], "/weft/t/groups/s 1", "g");
	WAIT_FOR(&b, b.changed.len && strstr(b.changed.data, "s 1=g"));
	assert_string_equal(b.changed.data, "3 s service 1=one;1 s 0x1=1 0 1;3 s service 1;"
			    "4 s 1=g;");
	settle(&b);
	assert_rows(&b, STORE_LIDS, "s 0x1=1 0 1;");
	assert_rows(&b, STORE_CLIENTS, "");
	assert_rows(&b, STORE_UNSENT, "");
	bed_close(&b);
}

/* Who stands by takes what another changed, also of a row of his own that is not sent. */
static void
check_conflict(bool leads)
{
	struct bed b;

	bed_open(&b);
	lead(&b);
	put(&b, "s a", "0");
	put(&b, "s b", "0");
	fake_etcd_mood(b.etcd[0], FAKE_SILENT);
	put(&b, "s a", "ours");
	put(&b, "s c", "ours");
	if (!leads)
		store_lead(b.store, "s", false);
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s a", "theirs");
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s b", NULL);
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s d", "theirs");
	fake_etcd_mood(b.etcd[0], FAKE_WELL);
	WAIT_FOR(&b, is_safe(&b));
	settle(&b);
	assert_rows(&b, STORE_CLIENTS, leads ? "s a=ours;s c=ours;s d=theirs;" :
		    "s a=theirs;s c=ours;s d=theirs;");
	assert_true(etcd_has(&b, "/weft/t/clients/s a", leads ? "ours" : "theirs"));
	assert_true(etcd_has(&b, "/weft/t/clients/s b", NULL));
	assert_true(etcd_has(&b, "/weft/t/clients/s c", "ours"));
	assert_rows(&b, STORE_UNSENT, "");
	bed_close(&b);
}

static void
test_conflict(void **state)
{
	(void)state;
	check_conflict(true);
	check_conflict(false);
}

/* What changed is compacted: everything is read, and what is gone there goes here. */
static void
test_compacted(void **state)
{
	char key[60];
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	put(&b, "s a", "0");
	put(&b, "s b", "0");
	fake_etcd_mood(b.etcd[0], FAKE_SILENT);
	store_lead(b.store, "s", false);
	put(&b, "s c", "ours");
	fake_etcd_put(b.etcd[0], "/weft/t/clients/s a", NULL);
	for (unsigned i = 0; i < 700; i++) {
		snprintf(key, sizeof(key), "/weft/t/lids/s 0x%016x", i + 1);
		fake_etcd_put(b.etcd[0], key, "1 0 1");
	}
	fake_etcd_compact(b.etcd[0]);
	fake_etcd_mood(b.etcd[0], FAKE_WELL);
	WAIT_FOR(&b, is_safe(&b));
	settle(&b);
	assert_rows(&b, STORE_CLIENTS, "s b=0;s c=ours;");
	assert_true(etcd_has(&b, "/weft/t/clients/s c", "ours"));
	assert_non_null(strstr(b.changed.data, "3 s a;"));
	assert_non_null(strstr(b.changed.data, "1 s 0x00000000000002bc=1 0 1;"));
	bed_close(&b);
}

/* ---- Another etcd ---- */

/* An empty one is filled by who leads; who stands by keeps what he has and waits for that. */
static void
test_wiped(void **state)
{
	struct bed b;
	char *epoch, *epoch2;

	(void)state;
	bed_open(&b);
	lead(&b);
	put(&b, "s a", "0");
	epoch = fake_etcd_get(b.etcd[0], "/weft/t/writer");
	store_lead(b.store, "s", false);
	fake_etcd_wipe(b.etcd[0]);
	WAIT_FOR(&b, b.warnings == 1);
	assert_false(is_safe(&b));
	put(&b, "s b", "1");
	assert_true(etcd_has(&b, "/weft/t/writer", NULL));
	assert_rows(&b, STORE_CLIENTS, "s a=0;s b=1;");
	lead(&b);
	assert_true(etcd_has(&b, "/weft/t/clients/s a", "0"));
	assert_true(etcd_has(&b, "/weft/t/clients/s b", "1"));
	assert_rows(&b, STORE_CLIENTS, "s a=0;s b=1;");
	assert_int_equal(b.changed.len, 0);
	assert_int_equal(b.warnings, 1);
	epoch2 = fake_etcd_get(b.etcd[0], "/weft/t/writer");
	assert_memory_not_equal(epoch, epoch2, 16);
	mem_free(epoch);
	mem_free(epoch2);
	bed_close(&b);
}

/* One that went back in time gets what it lost, and loses what was deleted since. */
static void
test_restored(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	lead(&b);
	put(&b, "s a", "0");
	put(&b, "s b", "0");
	fake_etcd_save(b.etcd[0]);
	put(&b, "s a", NULL);
	put(&b, "s b", "1");
	put(&b, "s c", "2");
	fake_etcd_restore(b.etcd[0]);
	WAIT_FOR(&b, b.warnings == 1);
	WAIT_FOR(&b, is_safe(&b));
	assert_true(etcd_has(&b, "/weft/t/clients/s a", NULL));
	assert_true(etcd_has(&b, "/weft/t/clients/s b", "1"));
	assert_true(etcd_has(&b, "/weft/t/clients/s c", "2"));
	assert_rows(&b, STORE_CLIENTS, "s b=1;s c=2;");
	assert_int_equal(b.changed.len, 0);
	bed_close(&b);
}

/* Two managers: one leads and fills, the other has it all, also after a change of roles. */
static void
test_two(void **state)
{
	struct bed a, b;
	char *path;

	(void)state;
	bed_open(&a);
	lead(&a);
	put(&a, "s 1", "a");
	bed_open(&b);
	store_close(b.store);
	b.urls[0] = fake_etcd_url(a.etcd[0]);
	open_store(&b);
	WAIT_FOR(&b, is_safe(&b));
	settle(&b);
	assert_rows(&b, STORE_CLIENTS, "s 1=a;");
	put(&a, "s 2", "a");
	WAIT_FOR(&b, b.changed.len && strstr(b.changed.data, "s 2"));
	store_lead(a.store, "s", false);
	lead(&b);
	put(&b, "s 2", NULL);
	put(&b, "s 3", "b");
	WAIT_FOR(&a, a.changed.len && strstr(a.changed.data, "s 3"));
	settle(&a);
	assert_rows(&a, STORE_CLIENTS, "s 1=a;s 3=b;");
	fake_etcd_wipe(a.etcd[0]);
	WAIT_FOR(&b, b.warnings);
	WAIT_FOR(&b, is_safe(&b));
	WAIT_FOR(&a, is_safe(&a));
	settle(&a);
	assert_rows(&a, STORE_CLIENTS, "s 1=a;s 3=b;");
	path = fake_etcd_get(a.etcd[0], "/weft/t/clients/s 3");
	assert_string_equal(path, "b");
	mem_free(path);
	bed_close(&b);
	bed_close(&a);
}

/* ---- The parts ---- */

static void
test_judge(void **state)
{
	static const struct {
		enum etcd_meeting meeting;
		bool leads, unsent;
		const char *there, *here;
		enum etcd_verdict want;
	} cases[] = {
		{ ETCD_MEET_FIRST, true, false, "1", "1", ETCD_KEEP },
		{ ETCD_MEET_FIRST, true, false, "1", NULL, ETCD_TAKE },
		{ ETCD_MEET_FIRST, true, true, "1", NULL, ETCD_SEND },
		{ ETCD_MEET_FIRST, true, false, "1", "2", ETCD_SEND },
		{ ETCD_MEET_FIRST, true, false, NULL, "2", ETCD_SEND },
		{ ETCD_MEET_FIRST, false, false, "1", "2", ETCD_TAKE },
		{ ETCD_MEET_FIRST, false, false, NULL, "2", ETCD_KEEP },
		{ ETCD_MEET_FIRST, false, true, NULL, "2", ETCD_SEND },
		{ ETCD_MEET_OTHER, true, false, "1", NULL, ETCD_SEND },
		{ ETCD_MEET_OTHER, false, false, "1", NULL, ETCD_TAKE },
		{ ETCD_MEET_OTHER, false, false, NULL, "2", ETCD_KEEP },
		{ ETCD_MEET_SAME, true, false, NULL, "2", ETCD_TAKE },
		{ ETCD_MEET_SAME, true, true, "1", "2", ETCD_SEND },
		{ ETCD_MEET_SAME, false, true, "1", "2", ETCD_TAKE },
		{ ETCD_MEET_SAME, false, true, NULL, "2", ETCD_SEND },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(etcd_judge(cases[i].meeting, cases[i].leads, cases[i].unsent,
					    cases[i].there, cases[i].here), cases[i].want);
}

static void
test_unsent(void **state)
{
	struct etcd_unsent u;
	struct etcd_change *c;

	(void)state;
	unsent_init(&u);
	assert_true(unsent_has_all(&u, 9));
	unsent_set(&u, "a", "1", 1);
	unsent_set(&u, "b", "1", 2);
	unsent_set(&u, "a", "2", 3);
	assert_int_equal(u.len, 2);
	c = unsent_find(&u, "a");
	assert_string_equal(c->value, "2");
	unsent_fly(&u, c);
	unsent_set(&u, "a", NULL, 4);
	unsent_set(&u, "c", "1", 5);
	assert_false(unsent_has_all(&u, 1));
	assert_false(unsent_arrived(&u, c));
	assert_true(unsent_has_all(&u, 1));
	assert_false(unsent_has_all(&u, 2));
	c = unsent_find(&u, "b");
	unsent_fly(&u, c);
	unsent_lost(&u);
	assert_false(unsent_has_all(&u, 2));
	unsent_fly(&u, c);
	assert_true(unsent_arrived(&u, c));
	assert_true(unsent_has_all(&u, 3));
	assert_false(unsent_has_all(&u, 4));
	unsent_clear(&u);
	assert_int_equal(u.len, 0);
}

static void
test_share(void **state)
{
	(void)state;
	assert_true(store_is_shared(STORE_LIDS, "s 0x1"));
	assert_true(store_is_shared(STORE_META, "sls s"));
	assert_false(store_is_shared(STORE_META, "master s"));
	assert_false(store_is_shared(STORE_META, "etcd /weft/t"));
	assert_false(store_is_shared(STORE_EVENTS, "1"));
	assert_false(store_is_shared(STORE_UNSENT, "lids/s 0x1"));
	assert_true(store_is_of(STORE_LIDS, "s 0x1", "s"));
	assert_false(store_is_of(STORE_LIDS, "st 0x1", "s"));
	assert_true(store_is_of(STORE_META, "drained s", "s"));
	assert_false(store_is_of(STORE_META, "drained st", "s"));
	assert_true(store_is_of(STORE_PARTITIONS, "s/partition/a", "s"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_conflict),
		cmocka_unit_test(test_compacted),
		cmocka_unit_test(test_wiped),
		cmocka_unit_test(test_restored),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_unsent),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
