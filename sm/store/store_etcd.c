/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store that several managers share: a file of this host, and behind it etcd.
 *
 * Commits. Each goes to the file at once, and its shared rows (store_share.c) into `unsent`, in
 * memory and in the file, until etcd has confirmed them. It is called back when both have it, in
 * order; when etcd is not `in touch`, or has not confirmed within the time-out, when the file has
 * it. From then on the store is not safe until etcd has everything. What is sent, and what comes
 * from others, is etcd_sync.c's.
 */
#include "sm/store/store.h"

#include <stdio.h>
#include <string.h>
#include "sm/store/etcd_i.h"

/* ---- Commits ---- */

static bool
may_go(const struct etcd_store *e, const struct waiting *w)
{
	return w->local && (!w->no || w->error || !e->touch || unsent_has_all(&e->unsent, w->no) ||
			    loop_now(e->store.loop) >= w->until);
}

void
etcd_release(void *arg)
{
	struct etcd_store *e = arg;

	while (!list_empty(&e->commits)) {
		struct waiting *w = list_entry(e->commits.next, struct waiting, link);

		if (!may_go(e, w)) {
			if (w->local)
				loop_timer_set(e->release, w->until - loop_now(e->store.loop));
			return;
		}
		if (w->no && !w->error && !unsent_has_all(&e->unsent, w->no)) {
			e->behind = true;
			if (e->touch)
				snprintf(e->why, sizeof(e->why), "it confirms too slowly");
			e->touch = false;
		}
		list_remove(&w->link);
		if (w->fn)
			w->fn(w->arg, w->error, w->error ? w->why : NULL);
		mem_free(w);
	}
}

/* The file has it. */
static void
on_local(void *arg, int error, const char *why)
{
	struct waiting *w = arg;

	w->local = true;
	w->error = error;
	snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
	w->until = loop_now(w->e->store.loop) + w->e->patience;
	etcd_release(w->e);
}

static void
etcd_key(char key[], size_t size, enum store_table table, const char *rest)
{
	snprintf(key, size, "%s/%s", store_table_name(table), rest);
}

/* A changed row is not in etcd, which the file is told with the change itself. */
static void
note_op(struct etcd_store *e, struct store_batch *b, const struct store_op *op)
{
	size_t size = strlen(op->key) + 32;
	char *key = mem_alloc(size);

	etcd_key(key, size, op->table, op->key);
	unsent_set(&e->unsent, key, op->kind == STORE_PUT ? op->value : NULL, e->commits_no);
	store_batch_put(b, STORE_UNSENT, key, "");
	mem_free(key);
}

static void
etcd_commit(struct store *s, struct store_batch *b)
{
	struct etcd_store *e = (struct etcd_store *)s;
	struct waiting *w = mem_zalloc(sizeof(*w));
	unsigned len = b->len;

	w->e = e;
	w->fn = b->fn;
	w->arg = b->arg;
	list_init(&w->link);
	list_append(&e->commits, &w->link);
	e->commits_no++;
	for (unsigned i = 0; i < len; i++) {
		struct store_op op = b->ops[i];

		if (op.kind == STORE_TRIM || !store_is_shared(op.table, op.key))
			continue;
		w->no = e->commits_no;
		note_op(e, b, &op);
	}
	b->fn = on_local;
	b->arg = w;
	e->file->ops->commit(e->file, b);
	if (w->no && e->step == STEP_REST && !e->away)
		loop_timer_set(e->timer, 0);
}

/* ---- For others ---- */

static void
etcd_follow(struct store *s, const struct store_follower *f)
{
	((struct etcd_store *)s)->follower = *f;
}

static void
etcd_lead(struct store *s, const char *subnet, bool is_led)
{
	struct etcd_store *e = (struct etcd_store *)s;
	unsigned i = 0;

	while (i < e->nled && strcmp(e->led[i], subnet))
		i++;
	if (is_led == (i < e->nled))
		return;
	if (is_led && i < SUBNETS)
		snprintf(e->led[e->nled++], sizeof(e->led[0]), "%s", subnet);
	else if (!is_led)
		memmove(&e->led[i], &e->led[i + 1], (--e->nled - i) * sizeof(e->led[0]));
	if (!e->nled)
		e->filling = 0;
	e->hurry = true;
	if (e->step == STEP_REST)
		loop_timer_set(e->timer, 0);
}

static void
etcd_beyond(struct store *s, struct store_beyond *st)
{
	struct etcd_store *e = (struct etcd_store *)s;

	st->safe = e->touch && !e->behind;
	st->away = e->away;
	st->since = e->since;
	st->unsent = e->unsent.len;
	st->revision = e->known.revision;
	snprintf(st->why, sizeof(st->why), "%s", st->safe ? "" : e->why);
	while (st->nendpoints < STORE_ENDPOINTS &&
	       etcd_client_endpoint(e->client, st->nendpoints, &st->endpoints[st->nendpoints]))
		st->nendpoints++;
}

/* ---- Life ---- */

static int
etcd_scan(struct store *s, enum store_table table, store_row_fn fn, void *arg, struct error *e)
{
	return store_scan(((struct etcd_store *)s)->file, table, fn, arg, e);
}

/* A row whose value is to be sent. */
static void
load_value(void *arg, const char *key, const char *value)
{
	struct etcd_diff *d = arg;

	(void)value;
	diff_add(d, key, "\x01");
}

static int
load_unsent(struct etcd_store *e, struct error *error)
{
	struct etcd_diff d = { 0 };
	int rc = store_scan(e->file, STORE_UNSENT, load_value, &d, error);

	if (!rc && d.len)
		rc = diff_make(&d, e->file, error);
	for (unsigned i = 0; i < d.len && !rc; i++)
		if (d.rows[i].there)
			unsent_set(&e->unsent, d.rows[i].key, d.rows[i].here, 0);
	diff_clear(&d);
	return rc ? rc : store_scan(e->file, STORE_META, etcd_load_known, e, error);
}

static void
etcd_close(struct store *s)
{
	struct etcd_store *e = (struct etcd_store *)s;

	etcd_client_free(e->client);
	e->touch = false;
	if (e->look.job) {
		pthread_mutex_lock(&e->look.job->lock);
		e->look.job->file = NULL;
		e->look.job->e = NULL;
		pthread_mutex_unlock(&e->look.job->lock);
	}
	store_close(e->file);
	etcd_release(e);
	loop_timer_free(e->release);
	loop_timer_free(e->timer);
	unsent_clear(&e->unsent);
	diff_clear(&e->look.diff);
	mem_free(e->prefix);
	mem_free(e->writer);
	mem_free(e);
}

static char *
joined(const char *a, const char *b)
{
	char *s = mem_alloc(strlen(a) + strlen(b) + 1);

	sprintf(s, "%s%s", a, b);
	return s;
}

struct store *
store_open_etcd(struct loop *l, const char *path, const struct store_etcd *o, struct error *error)
{
	static const struct store_ops ops = {
		.commit = etcd_commit, .scan = etcd_scan, .follow = etcd_follow,
		.lead = etcd_lead, .beyond = etcd_beyond, .close = etcd_close,
	};
	struct etcd_store *e;
	struct store *file = store_open_sqlite(l, path, error);

	if (!file)
		return NULL;
	e = mem_zalloc(sizeof(*e));
	e->store.ops = &ops;
	e->store.loop = l;
	e->file = file;
	e->prefix = joined(o->prefix, "/");
	e->writer = joined(e->prefix, "writer");
	snprintf(e->state_key, sizeof(e->state_key), "etcd %s", o->prefix);
	snprintf(e->why, sizeof(e->why), "it has not answered yet");
	e->patience = MSEC(o->timeout_ms);
	e->manager = loop_random(l);
	list_init(&e->commits);
	unsent_init(&e->unsent);
	e->release = loop_timer_new(l, etcd_release, e);
	e->timer = loop_timer_new(l, etcd_go_on, e);
	if (!load_unsent(e, error))
		e->client = etcd_client_new(l, o, error);
	if (!e->client) {
		etcd_close(&e->store);
		return NULL;
	}
	loop_timer_set(e->timer, 0);
	return &e->store;
}
