/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the store says to etcd, one request at a time, and what it takes from there.
 *
 * Keys in etcd are PREFIX/TABLE/KEY. Every transaction also writes PREFIX/writer, "EPOCH MANAGER
 * NUMBER", and holds only if nobody has written that since the revision that we know. So nothing
 * that another manager wrote is overwritten unseen; and a transaction that is carried out late or
 * twice, because more than one endpoint was asked, changes nothing.
 *
 * Following. That key is read each POLL_MS. When it is newer than what we know, a watch from there
 * on brings what was changed, row by row, into the file and to the follower. Of a row that was
 * changed on both sides, ours is right if we lead its subnet, theirs otherwise. etcd never says who
 * leads.
 *
 * Another etcd. The file knows id of the cluster, epoch and revision. If etcd's are others, or
 * older, it was wiped, restored or filled anew: everything is compared (etcd_diff.c). Who leads
 * fills it from his file; its epoch reads 0 meanwhile and is a new one at the end, which others
 * wait for.
 */
#include "sm/store/etcd_i.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/log.h"

#define POLL_MS 200
#define RETRY_MS 1000
#define TXN_OPS 120		/* etcd's limit is 128, and there is the writer */
#define TXN_SIZE (1u << 20)	/* etcd's limit is 1.5 MiB */
#define PAGE_ROWS 500
#define SLICE_ROWS 200		/* of a comparison, in one turn */

/* ---- Telling ---- */

static void
tell(struct etcd_store *e, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
tell(struct etcd_store *e, bool warning, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (e->follower.tell)
		e->follower.tell(e->follower.arg, warning, text);
	else
		log_write(warning ? LOG_L_WARNING : LOG_L_NOTICE, "%s", text);
}

/* ---- What is known, and rows that come ---- */

/* With what else the file is told in this turn. */
static void
save_known(struct etcd_store *e)
{
	char value[100];

	snprintf(value, sizeof(value), "%016" PRIx64 " %016" PRIx64 " %" PRIu64, e->known.cluster,
		 e->known.epoch, e->known.revision);
	store_put(e->file, STORE_META, e->state_key, value);
	store_commit(e->file, NULL, NULL);
}

void
etcd_load_known(void *arg, const char *key, const char *value)
{
	struct etcd_store *e = arg;
	struct known k;

	if (!strcmp(key, e->state_key) &&
	    sscanf(value, "%" SCNx64 " %" SCNx64 " %" SCNu64, &k.cluster, &k.epoch,
		   &k.revision) == 3)
		e->known = k;
}

/* The table of "TABLE/KEY", and where KEY begins; false: there is none that is shared. */
static bool
split(const char *key, enum store_table *table, const char **rest)
{
	const char *slash = strchr(key, '/');

	for (unsigned t = 0; slash && t < STORE_TABLES; t++) {
		const char *name = store_table_name(t);

		if (strlen(name) != (size_t)(slash - key) || strncmp(name, key, strlen(name)))
			continue;
		*table = t;
		*rest = slash + 1;
		return store_is_shared(t, slash + 1);
	}
	return false;
}

static bool
leads(const struct etcd_store *e, const char *key)
{
	enum store_table table;
	const char *rest;

	for (unsigned i = 0; i < e->nled && split(key, &table, &rest); i++)
		if (store_is_of(table, rest, e->led[i]))
			return true;
	return false;
}

static void
forget_unsent(struct etcd_store *e, const char *key)
{
	struct etcd_change *c = unsent_find(&e->unsent, key);

	store_delete(e->file, STORE_UNSENT, key);
	if (c)
		unsent_drop(&e->unsent, c);
}

/* Another manager is right about a row. */
static void
take_row(struct etcd_store *e, const char *key, const char *value)
{
	enum store_table table;
	const char *rest;

	if (!split(key, &table, &rest))
		return;
	if (unsent_find(&e->unsent, key))
		forget_unsent(e, key);
	if (value)
		store_put(e->file, table, rest, value);
	else
		store_delete(e->file, table, rest);
	e->store.deaf = true;
	if (e->follower.changed)
		e->follower.changed(e->follower.arg, table, rest, value);
	e->store.deaf = false;
}

/* ---- Away and back ---- */

static void
rest(struct etcd_store *e, unsigned ms)
{
	e->step = STEP_REST;
	loop_timer_set(e->timer, MSEC(ms));
}

static void
failed(struct etcd_store *e, const char *why)
{
	snprintf(e->why, sizeof(e->why), "%s", why);
	unsent_lost(&e->unsent);
	e->touch = false;
	if (!e->away) {
		e->away = true;
		e->since = loop_wall(e->store.loop);
		tell(e, true, "etcd is away, and what is registered is on this host alone: %s",
		     why);
	}
	etcd_release(e);
	rest(e, RETRY_MS);
}

/* It has all, and we have all. */
static void
in_touch(struct etcd_store *e)
{
	char text[DURATION_TEXT_SIZE];
	int64_t was = e->since;

	if (e->touch)
		return;
	e->touch = true;
	e->behind = false;
	e->why[0] = '\0';
	if (!e->away && e->reached)
		return;
	if (e->away)
		tell(e, false, "etcd is back after %s, and has all that is registered",
		     duration_text(text, (loop_wall(e->store.loop) - was) * 1000));
	else
		tell(e, false, "etcd has all that is registered");
	e->away = false;
	e->reached = true;
	e->since = 0;
}

static bool
reply_is_bad(struct etcd_store *e, const struct etcd_reply *r)
{
	char why[300];

	if (!r->error && r->answers[0].code != ETCD_OUT_OF_RANGE)
		return false;
	snprintf(why, sizeof(why), "%s", r->error ? r->why : "it refuses a revision");
	failed(e, why);
	return true;
}

/* ---- Sending ---- */

static void
on_sent(void *arg, const struct etcd_reply *r);

/* As many of those that wait as a transaction takes. */
static void
write_changes(struct etcd_store *e, struct buf *body)
{
	size_t size = 0;

	for (unsigned i = 0; i < TXN_OPS && !list_empty(&e->unsent.waiting); i++) {
		struct etcd_change *c = list_entry(e->unsent.waiting.next, struct etcd_change,
						   link);
		char *key;

		size += strlen(c->key) + (c->value ? strlen(c->value) : 0) + 100;
		if (i && size > TXN_SIZE)
			return;
		key = mem_alloc(strlen(e->prefix) + strlen(c->key) + 1);
		sprintf(key, "%s%s", e->prefix, c->key);
		if (c->value)
			etcd_write_txn_put(body, key, c->value);
		else
			etcd_write_txn_delete(body, key);
		mem_free(key);
		unsent_fly(&e->unsent, c);
	}
}

static void
writer_text(const struct etcd_store *e, char text[80])
{
	snprintf(text, 80, "%016" PRIx64 " %016" PRIx64 " %" PRIu64, e->sent.epoch, e->manager,
		 e->sent.no);
}

static void
send_changes(struct etcd_store *e)
{
	struct buf body = { 0 };
	char text[80];

	e->step = STEP_SEND;
	e->sent.no = ++e->txns;
	etcd_write_txn_begin(&body, e->writer, e->known.revision);
	write_changes(e, &body);
	e->sent.epoch = !e->filling ? e->known.epoch : list_empty(&e->unsent.waiting) ?
		e->filling : 0;
	writer_text(e, text);
	etcd_write_txn_put(&body, e->writer, text);
	etcd_write_txn_end(&body, e->writer);
	etcd_ask(e->client, ETCD_TXN, &body, 0, on_sent, e);
}

static void
arrived(struct etcd_store *e, uint64_t revision)
{
	list_each(it, &e->unsent.flying) {
		struct etcd_change *c = list_entry(it, struct etcd_change, link);
		char *key = mem_strdup(c->key);

		if (unsent_arrived(&e->unsent, c))
			store_delete(e->file, STORE_UNSENT, key);
		mem_free(key);
	}
	e->known.revision = revision;
	if (e->filling && e->sent.epoch) {
		e->known.epoch = e->filling;
		e->filling = 0;
		tell(e, false, "etcd was filled from the state file of this manager");
	}
	if (!e->filling)
		save_known(e);
	else
		store_commit(e->file, NULL, NULL);
	etcd_release(e);
	etcd_go_on(e);
}

static void
look_at_writer(struct etcd_store *e, const struct etcd_answer *a);

static void
on_sent(void *arg, const struct etcd_reply *r)
{
	struct etcd_store *e = arg;
	const struct etcd_answer *a;
	char text[80];

	if (reply_is_bad(e, r))
		return;
	a = r->answers;
	writer_text(e, text);
	if (a->succeeded) {
		arrived(e, a->revision);
	} else if (a->len && !strcmp(a->rows[0].value, text)) {
		arrived(e, a->rows[0].revision);	/* by another endpoint */
	} else {
		unsent_lost(&e->unsent);
		look_at_writer(e, a);
	}
}

/* ---- Following ---- */

static void
ask_writer(struct etcd_store *e);
static void
read_all(struct etcd_store *e, enum etcd_meeting meeting, const struct known *found);

/* A row that another manager changed: "TABLE/KEY". */
static void
follow_row(struct etcd_store *e, const struct etcd_row *row)
{
	size_t len = strlen(e->prefix);
	const char *key = row->key + len;

	if (strncmp(row->key, e->prefix, len))
		return;
	if (!strcmp(row->key, e->writer))
		e->known.revision = row->revision;
	else if (!unsent_find(&e->unsent, key) || !leads(e, key))
		take_row(e, key, row->value);
}

static void
on_followed(void *arg, const struct etcd_reply *r)
{
	struct etcd_store *e = arg;
	struct known found = e->known;
	const struct etcd_answer *last = r->len ? &r->answers[r->len - 1] : NULL;

	if (!r->error && (last->canceled || last->code)) {
		read_all(e, ETCD_MEET_SAME, &found);
		return;
	}
	if (reply_is_bad(e, r))
		return;
	for (unsigned i = 0; i < r->len; i++)
		for (unsigned n = 0; n < r->answers[i].len; n++)
			follow_row(e, &r->answers[i].rows[n]);
	save_known(e);
	ask_writer(e);
}

static void
follow(struct etcd_store *e, uint64_t until)
{
	struct buf body = { 0 };

	e->step = STEP_FOLLOW;
	etcd_write_watch(&body, e->prefix, e->known.revision + 1);
	etcd_ask(e->client, ETCD_WATCH, &body, until, on_followed, e);
}

/* ---- Which etcd it is ---- */

/* Nothing is to be done with it before its leader has. */
static void
wait_for_leader(struct etcd_store *e)
{
	if (!e->waits)
		snprintf(e->why, sizeof(e->why), "it is empty or another one, and waits for the "
			 "manager that leads to fill it");
	e->waits = true;
	e->touch = false;
	etcd_release(e);
	rest(e, POLL_MS);
}

static void
warn_of_other(struct etcd_store *e, const struct known *found)
{
	if (e->warned)
		return;
	e->warned = true;
	tell(e, true, "etcd is not the one that it was: it was %s; %s",
	     !found->revision ? "emptied" : found->epoch != e->known.epoch ? "filled anew" :
	     "restored or replaced",
	     e->nled ? "it is filled from the state file of this manager, which leads" :
	     "the manager that leads fills it");
}

static void
meet_other(struct etcd_store *e, const struct known *found)
{
	bool ready = found->epoch && found->epoch != e->known.epoch;

	if (e->touch)
		snprintf(e->why, sizeof(e->why), "it is not the one that it was");
	e->touch = false;
	if (e->known.cluster)
		warn_of_other(e, found);
	if (!ready && !e->nled) {
		wait_for_leader(e);
		return;
	}
	read_all(e, e->known.cluster ? ETCD_MEET_OTHER : ETCD_MEET_FIRST, found);
}

static void
look_at_writer(struct etcd_store *e, const struct etcd_answer *a)
{
	struct known found = { .cluster = a->cluster };

	if (a->len && sscanf(a->rows[0].value, "%" SCNx64, &found.epoch) == 1)
		found.revision = a->rows[0].revision;
	if (!found.epoch || found.cluster != e->known.cluster ||
	    found.epoch != e->known.epoch || found.revision < e->known.revision) {
		/* Our own filling, under way. */
		if (e->filling && found.cluster == e->known.cluster && !found.epoch &&
		    found.revision == e->known.revision)
			send_changes(e);
		else
			meet_other(e, &found);
		return;
	}
	e->waits = e->warned = false;
	if (found.revision > e->known.revision)
		follow(e, found.revision);
	else if (e->unsent.len || e->filling)
		send_changes(e);
	else {
		in_touch(e);
		etcd_release(e);
		rest(e, POLL_MS);
	}
}

static void
on_writer(void *arg, const struct etcd_reply *r)
{
	struct etcd_store *e = arg;

	if (!reply_is_bad(e, r))
		look_at_writer(e, r->answers);
}

static void
ask_writer(struct etcd_store *e)
{
	struct buf body = { 0 };

	e->step = STEP_POLL;
	e->hurry = false;
	etcd_write_get(&body, e->writer);
	etcd_ask(e->client, ETCD_RANGE, &body, 0, on_writer, e);
}

/* ---- Everything ---- */

static void
job_free(struct compare_job *j)
{
	diff_clear(&j->diff);
	pthread_mutex_destroy(&j->lock);
	mem_free(j);
}

static void
compare(void *arg)
{
	struct compare_job *j = arg;
	struct error e;

	pthread_mutex_lock(&j->lock);
	if (j->file)
		j->error = diff_make(&j->diff, j->file, &e);
	pthread_mutex_unlock(&j->lock);
}

static void
compared(void *arg)
{
	struct compare_job *j = arg;
	struct etcd_store *e = j->e;

	if (e) {
		e->look.job = NULL;
		e->look.diff = j->diff;
		j->diff = (struct etcd_diff){ 0 };
		e->look.at = 0;
		e->step = STEP_JUDGE;
		if (j->error)
			failed(e, "the state file cannot be read");
		else
			etcd_go_on(e);
	}
	job_free(j);
}

static void
begin_compare(struct etcd_store *e)
{
	struct compare_job *j = mem_zalloc(sizeof(*j));

	e->step = STEP_COMPARE;
	pthread_mutex_init(&j->lock, NULL);
	j->e = e;
	j->file = e->file;
	j->diff = e->look.diff;
	e->look.diff = (struct etcd_diff){ 0 };
	e->look.job = j;
	loop_errand(e->store.loop, compare, compared, j, 0);
}

static void
judge_row(struct etcd_store *e, const struct etcd_diff_row *r)
{
	const struct etcd_change *c = unsent_find(&e->unsent, r->key);
	const char *here = c ? c->value : r->here;

	switch (etcd_judge(e->look.meeting, leads(e, r->key), c != NULL, r->there, here)) {
	case ETCD_KEEP:
		break;
	case ETCD_TAKE:
		take_row(e, r->key, r->there);
		break;
	case ETCD_SEND:
		unsent_set(&e->unsent, r->key, here, e->commits_no);
		store_put(e->file, STORE_UNSENT, r->key, "");
		break;
	}
}

/* All is decided: what is known from now on, and whether etcd gets a new epoch. */
static void
judged(struct etcd_store *e)
{
	const struct known *found = &e->look.found;
	bool fills = e->nled && (!found->epoch || (e->look.meeting != ETCD_MEET_SAME &&
						   found->epoch == e->known.epoch));

	diff_clear(&e->look.diff);
	e->filling = 0;
	while (fills && !e->filling)
		e->filling = loop_random(e->store.loop);
	e->known = *found;
	if (e->filling)
		store_commit(e->file, NULL, NULL);
	else
		save_known(e);
	ask_writer(e);
}

static void
judge_some(struct etcd_store *e)
{
	struct etcd_diff *d = &e->look.diff;

	for (unsigned n = 0; n < SLICE_ROWS && e->look.at < d->len; n++)
		judge_row(e, &d->rows[e->look.at++]);
	if (e->look.at == d->len)
		judged(e);
	else
		loop_timer_set(e->timer, 0);
}

static void
ask_page(struct etcd_store *e, const char *from);

static void
on_page(void *arg, const struct etcd_reply *r)
{
	struct etcd_store *e = arg;
	const struct etcd_answer *a;
	size_t len = strlen(e->prefix);
	enum store_table table;
	const char *rest;

	if (reply_is_bad(e, r))
		return;
	a = r->answers;
	if (a->cluster != e->look.found.cluster) {
		ask_writer(e);
		return;
	}
	if (!e->look.revision)
		e->look.revision = a->revision;
	for (unsigned i = 0; i < a->len; i++) {
		const struct etcd_row *row = &a->rows[i];

		if (strncmp(row->key, e->prefix, len))
			continue;
		if (!strcmp(row->key, e->writer)) {
			e->look.found.revision = row->revision;
			sscanf(row->value, "%" SCNx64, &e->look.found.epoch);
		} else if (split(row->key + len, &table, &rest)) {
			diff_add(&e->look.diff, row->key + len, row->value);
		}
	}
	if (a->more && a->len)
		ask_page(e, a->rows[a->len - 1].key);
	else
		begin_compare(e);
}

/* The page that begins behind a key. */
static void
ask_page(struct etcd_store *e, const char *from)
{
	struct buf body = { 0 };
	char *next = mem_alloc(strlen(from) + 2);

	e->step = STEP_READ;
	sprintf(next, "%s%s", from, e->look.revision ? "\x01" : "");
	etcd_write_range(&body, e->prefix, next, PAGE_ROWS, e->look.revision);
	mem_free(next);
	etcd_ask(e->client, ETCD_RANGE, &body, 0, on_page, e);
}

static void
read_all(struct etcd_store *e, enum etcd_meeting meeting, const struct known *found)
{
	diff_clear(&e->look.diff);
	e->look.meeting = meeting;
	e->look.found = (struct known){ .cluster = found->cluster };
	e->look.revision = 0;
	ask_page(e, e->prefix);
}

/* ---- One thing after the other ---- */

void
etcd_go_on(void *arg)
{
	struct etcd_store *e = arg;

	switch (e->step) {
	case STEP_JUDGE:
		judge_some(e);
		break;
	case STEP_SEND:
		if (list_empty(&e->unsent.waiting) && !e->filling) {
			if (!e->hurry)
				in_touch(e);
			etcd_release(e);
			rest(e, e->hurry ? 0 : POLL_MS);
			break;
		}
		send_changes(e);
		break;
	case STEP_REST:
		if (e->touch && !e->hurry && !list_empty(&e->unsent.waiting))
			send_changes(e);
		else
			ask_writer(e);
		break;
	default:
		break;
	}
}
