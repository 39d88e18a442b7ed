/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_STORE_IMPL_H
#define STORE_STORE_IMPL_H

#include "sm/base/list.h"
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/store/store.h"

/* What store.c and the backends share: changes in order, and who wants to hear of them. */

enum store_kind {
	STORE_PUT,
	STORE_DELETE,
	STORE_TRIM,
};

struct store_op {
	enum store_kind kind;		/* what to do */
	enum store_table table;		/* with which table */
	unsigned keep;			/* STORE_TRIM: rows that stay */
	const char *key;		/* in the batch's region; NULL for STORE_TRIM */
	const char *value;		/* STORE_PUT; in the batch's region */
};

/* One commit. */
struct store_batch {
	struct list link;		/* in a queue of the backend */
	struct region *region;		/* owns the texts */
	struct store_op *ops;		/* in order */
	unsigned len;			/* of ops */
	unsigned size;			/* allocated */
	store_done_fn fn;		/* may be NULL */
	void *arg;			/* for fn */
	int error;			/* outcome, 0 or a code */
	char why[300];			/* of an error, one sentence */
};

struct store_ops {
	/* Make the batch durable and then have store_batch_done() called on the loop, in order of
	 * submission. The batch is the backend's until then. */
	void (*commit)(struct store *s, struct store_batch *b);
	int (*scan)(struct store *s, enum store_table table, store_row_fn fn, void *arg,
		    struct error *e);
	/* NULL where the store is this host's alone. */
	void (*follow)(struct store *s, const struct store_follower *f);
	void (*lead)(struct store *s, const char *subnet, bool leads);
	void (*beyond)(struct store *s, struct store_beyond *st);
	/* Finish all commits, call store_batch_done() for those still due, free. */
	void (*close)(struct store *s);
};

/* Every backend's struct starts with this. */
struct store {
	const struct store_ops *ops;	/* the backend */
	struct loop *loop;		/* borrowed */
	struct store_batch *pending;	/* changes since the last commit; NULL: none */
	bool deaf;			/* the follower is told of a row: it puts nothing */
};

/* "meta", "lids", "events", "clients", "groups": the tables' names in files. */
const char *
store_table_name(enum store_table table);
/* One more change, behind those that the batch has. */
void
store_batch_put(struct store_batch *b, enum store_table table, const char *key, const char *value);
/* Tell the owner of the commit, log an error, free the batch. On the loop's thread. */
void
store_batch_done(struct store_batch *b);

#endif
