/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Durable state, the part that all backends share.
 *
 * Changes are copied into the pending batch; a commit gives the batch, in order, to the backend,
 * which owns it until it is durable and then hands it to store_batch_done() on the loop.
 */
#include "sm/store/store.h"

#include <string.h>
#include "sm/base/log.h"
#include "sm/store/store_impl.h"

const char *
store_table_name(enum store_table table)
{
	static const char *const names[STORE_TABLES] = {
		[STORE_META] = "meta",
		[STORE_LIDS] = "lids",
		[STORE_EVENTS] = "events",
		[STORE_CLIENTS] = "clients",
		[STORE_GROUPS] = "groups",
		[STORE_PARTITIONS] = "partitions",
		[STORE_UNSENT] = "unsent",
	};

	return names[table];
}

static struct store_batch *
pending(struct store *s)
{
	if (!s->pending) {
		s->pending = mem_zalloc(sizeof(*s->pending));
		s->pending->region = region_new();
		list_init(&s->pending->link);
	}
	return s->pending;
}

static struct store_op *
add_op(struct store_batch *b, enum store_kind kind, enum store_table table)
{
	struct store_op *op;

	if (b->len == b->size) {
		b->size = b->size ? 2 * b->size : 8;
		b->ops = mem_realloc(b->ops, b->size, sizeof(*b->ops));
	}
	op = &b->ops[b->len++];
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->table = table;
	return op;
}

void
store_batch_put(struct store_batch *b, enum store_table table, const char *key, const char *value)
{
	struct store_op *op = add_op(b, STORE_PUT, table);

	op->key = region_strdup(b->region, key);
	op->value = region_strdup(b->region, value);
}

void
store_put(struct store *s, enum store_table table, const char *key, const char *value)
{
	if (!s->deaf)
		store_batch_put(pending(s), table, key, value);
}

void
store_delete(struct store *s, enum store_table table, const char *key)
{
	struct store_batch *b = pending(s);

	if (!s->deaf)
		add_op(b, STORE_DELETE, table)->key = region_strdup(b->region, key);
}

void
store_trim(struct store *s, enum store_table table, unsigned keep)
{
	add_op(pending(s), STORE_TRIM, table)->keep = keep;
}

void
store_commit(struct store *s, store_done_fn fn, void *arg)
{
	struct store_batch *b = pending(s);

	b->fn = fn;
	b->arg = arg;
	s->pending = NULL;
	s->ops->commit(s, b);
}

void
store_batch_done(struct store_batch *b)
{
	static struct log_limit limit;

	if (b->error)
		log_limited(&limit, LOG_L_ERROR, "%s", b->why);
	if (b->fn)
		b->fn(b->arg, b->error, b->error ? b->why : NULL);
	region_free(b->region);
	mem_free(b->ops);
	mem_free(b);
}

int
store_scan(struct store *s, enum store_table table, store_row_fn fn, void *arg, struct error *e)
{
	return s->ops->scan(s, table, fn, arg, e);
}

void
store_follow(struct store *s, const struct store_follower *f)
{
	if (s->ops->follow)
		s->ops->follow(s, f);
}

void
store_lead(struct store *s, const char *subnet, bool leads)
{
	if (s->ops->lead)
		s->ops->lead(s, subnet, leads);
}

bool
store_beyond(struct store *s, struct store_beyond *st)
{
	*st = (struct store_beyond){ 0 };
	if (!s->ops->beyond)
		return false;
	s->ops->beyond(s, st);
	return true;
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	if (s->pending)
		store_commit(s, NULL, NULL);
	s->ops->close(s);
}
