/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store that forgets: for tests, virtual time, and subnets that keep nothing.
 *
 * Each table is a tree of rows in key order. A commit is applied at once; a timer reports it on
 * the loop's next turn, as a durable backend would later.
 */
#include "sm/store/store.h"

#include <search.h>
#include <string.h>
#include "sm/store/store_impl.h"

struct row {
	char *key;		/* owned */
	char *value;		/* owned */
};

struct memory_store {
	struct store store;		/* common part; first */
	struct loop_timer *timer;	/* reports `finished` */
	struct list finished;		/* applied batches, oldest first */
	void *tables[STORE_TABLES];	/* roots of tsearch() trees of struct row */
	unsigned len[STORE_TABLES];	/* rows in each */
};

struct scan {
	store_row_fn fn;	/* whom to tell */
	void *arg;		/* for fn */
};

struct oldest {
	struct row **rows;	/* filled in key order */
	unsigned len;		/* rows so far */
	unsigned size;		/* rows wanted */
};

static int
compare(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static void
free_row(void *p)
{
	struct row *r = p;

	mem_free(r->key);
	mem_free(r->value);
	mem_free(r);
}

static void
put(struct memory_store *m, enum store_table table, const char *key, const char *value)
{
	struct row *new = mem_zalloc(sizeof(*new)), *found;

	new->key = mem_strdup(key);
	found = *(struct row **)tsearch(new, &m->tables[table], compare);
	if (found == new)
		m->len[table]++;
	else
		free_row(new);
	mem_free(found->value);
	found->value = mem_strdup(value);
}

static void
delete(struct memory_store *m, enum store_table table, char *key)
{
	struct row probe = { .key = key }, *found;
	void *node = tfind(&probe, &m->tables[table], compare);

	if (!node)
		return;
	found = *(struct row **)node;
	tdelete(found, &m->tables[table], compare);
	free_row(found);
	m->len[table]--;
}

static void
collect(const void *node, VISIT visit, void *arg)
{
	struct oldest *o = arg;

	if ((visit == postorder || visit == leaf) && o->len < o->size)
		o->rows[o->len++] = *(struct row *const *)node;
}

static void
trim(struct memory_store *m, enum store_table table, unsigned keep)
{
	struct oldest o = { 0 };

	if (m->len[table] <= keep)
		return;
	o.size = m->len[table] - keep;
	o.rows = mem_array(o.size, sizeof(*o.rows));
	twalk_r(m->tables[table], collect, &o);
	for (unsigned i = 0; i < o.len; i++)
		delete(m, table, o.rows[i]->key);
	mem_free(o.rows);
}

static void
apply(struct memory_store *m, const struct store_op *op)
{
	switch (op->kind) {
	case STORE_PUT:
		put(m, op->table, op->key, op->value);
		break;
	case STORE_DELETE:
		delete(m, op->table, (char *)op->key);
		break;
	case STORE_TRIM:
		trim(m, op->table, op->keep);
		break;
	}
}

static void
memory_commit(struct store *s, struct store_batch *b)
{
	struct memory_store *m = (struct memory_store *)s;

	for (unsigned i = 0; i < b->len; i++)
		apply(m, &b->ops[i]);
	list_append(&m->finished, &b->link);
	loop_timer_set(m->timer, 0);
}

/* Only what was there at first: a callback may commit again, and hears of that next turn. */
static void
on_timer(void *arg)
{
	struct memory_store *m = arg;
	struct list *last = m->finished.prev;
	bool more = !list_empty(&m->finished);

	while (more) {
		struct list *it = list_pop(&m->finished);

		more = it != last;
		store_batch_done(list_entry(it, struct store_batch, link));
	}
}

static void
visit_row(const void *node, VISIT visit, void *arg)
{
	const struct row *r = *(struct row *const *)node;
	const struct scan *scan = arg;

	if (visit == postorder || visit == leaf)
		scan->fn(scan->arg, r->key, r->value);
}

static int
memory_scan(struct store *s, enum store_table table, store_row_fn fn, void *arg, struct error *e)
{
	struct memory_store *m = (struct memory_store *)s;
	struct scan scan = { fn, arg };

	(void)e;
	twalk_r(m->tables[table], visit_row, &scan);
	return 0;
}

static void
memory_close(struct store *s)
{
	struct memory_store *m = (struct memory_store *)s;

	while (!list_empty(&m->finished))
		on_timer(m);
	loop_timer_free(m->timer);
	for (unsigned i = 0; i < STORE_TABLES; i++)
		tdestroy(m->tables[i], free_row);
	mem_free(m);
}

struct store *
store_open_memory(struct loop *l)
{
	static const struct store_ops ops = {
		.commit = memory_commit,
		.scan = memory_scan,
		.close = memory_close,
	};
	struct memory_store *m = mem_zalloc(sizeof(*m));

	m->store.ops = &ops;
	m->store.loop = l;
	list_init(&m->finished);
	m->timer = loop_timer_new(l, on_timer, m);
	return &m->store;
}
