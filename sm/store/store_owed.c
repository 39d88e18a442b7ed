/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/store/store_owed.h"

#include <stdlib.h>
#include <string.h>

/*
 * Changes that could not be written, in the order in which they were made. Those who made them go
 * on with them in memory, so the file is to have them as soon as it takes any.
 *
 * While a disk is full they become many, but of each row only the newest counts: when they have
 * doubled they are put in order of rows, and all but the last of each row go; of a table that is
 * trimmed only as many rows as it is to keep. So they are bounded by what the tables hold.
 */
#define SQUEEZE_FIRST 4096u

void
owed_init(struct store_owed *w)
{
	list_init(&w->batches);
	w->len = 0;
	w->squeeze_at = SQUEEZE_FIRST;
}

static void
batch_free(struct store_batch *b)
{
	region_free(b->region);
	mem_free(b->ops);
	mem_free(b);
}

void
owed_clear(struct store_owed *w)
{
	struct list *it;

	while ((it = list_pop(&w->batches)))
		batch_free(list_entry(it, struct store_batch, link));
	owed_init(w);
}

/* ---- The newest of each row ---- */

/* An operation and its place among all. */
struct aged {
	struct store_op op;
	unsigned age;
};

/* By table and key, older ones first; a trim stands before its table's rows. */
static int
compare(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;
	int rc;

	if (x->op.table != y->op.table)
		return x->op.table > y->op.table ? 1 : -1;
	if (!x->op.key != !y->op.key)
		return x->op.key ? 1 : -1;
	rc = x->op.key ? strcmp(x->op.key, y->op.key) : 0;
	return rc ? rc : (x->age > y->age) - (x->age < y->age);
}

static bool
is_same_row(const struct store_op *a, const struct store_op *b)
{
	return a->table == b->table && !a->key == !b->key && (!a->key || !strcmp(a->key, b->key));
}

static struct aged *
collect(const struct store_owed *w)
{
	struct aged *all = mem_array(w->len + 1u, sizeof(*all));
	unsigned n = 0;

	list_each(it, &w->batches) {
		const struct store_batch *b = list_entry(it, struct store_batch, link);

		for (unsigned i = 0; i < b->len; i++, n++)
			all[n] = (struct aged){ b->ops[i], n };
	}
	if (n)
		qsort(all, n, sizeof(*all), compare);
	return all;
}

static void
copy_op(struct store_batch *b, const struct store_op *op)
{
	struct store_op *to = &b->ops[b->len++];

	*to = *op;
	to->key = op->key ? region_strdup(b->region, op->key) : NULL;
	to->value = op->value ? region_strdup(b->region, op->value) : NULL;
}

/* The newest that is said of its row. */
static bool
is_last(const struct aged *all, unsigned len, unsigned i)
{
	return i + 1 == len || !is_same_row(&all[i].op, &all[i + 1].op);
}

/* How many rows its table is to get from this place on. */
static unsigned
rows_put(const struct aged *all, unsigned len, unsigned at)
{
	unsigned n = 0;

	for (unsigned i = at; i < len && all[i].op.table == all[at].op.table; i++)
		n += all[i].op.kind == STORE_PUT && is_last(all, len, i);
	return n;
}

/* Of rows that a trim would take at once none is copied. Trims come last. */
static struct store_batch *
newest(const struct aged *all, unsigned len)
{
	struct store_batch *b = mem_zalloc(sizeof(*b));
	struct store_op trims[STORE_TABLES];
	unsigned ntrims = 0, rows = 0, keep = UINT32_MAX;

	list_init(&b->link);
	b->region = region_new();
	b->ops = mem_array(len + 1u, sizeof(*b->ops));
	for (unsigned i = 0; i < len; i++) {
		const struct store_op *op = &all[i].op;

		if (!i || op->table != all[i - 1].op.table) {
			keep = UINT32_MAX;
			rows = rows_put(all, len, i);
		}
		if (!is_last(all, len, i))
			continue;
		if (op->kind == STORE_TRIM) {
			trims[ntrims++] = *op;
			keep = op->keep;
		} else if (op->kind == STORE_DELETE || rows-- <= keep) {
			copy_op(b, op);
		}
	}
	for (unsigned i = 0; i < ntrims; i++)
		copy_op(b, &trims[i]);
	return b;
}

static void
squeeze(struct store_owed *w)
{
	struct aged *all = collect(w);
	struct store_batch *b = newest(all, w->len);

	mem_free(all);
	owed_clear(w);
	list_append(&w->batches, &b->link);
	w->len = b->len;
	w->squeeze_at = 2 * b->len > SQUEEZE_FIRST ? 2 * b->len : SQUEEZE_FIRST;
}

void
owed_take(struct store_owed *w, struct store_batch *from)
{
	struct store_batch *b = mem_zalloc(sizeof(*b));

	list_init(&b->link);
	b->region = from->region;
	b->ops = from->ops;
	b->len = from->len;
	from->region = NULL;
	from->ops = NULL;
	from->len = from->size = 0;
	list_append(&w->batches, &b->link);
	w->len += b->len;
	if (w->len > w->squeeze_at)
		squeeze(w);
}
