/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/loop.h"

/*
 * State that must survive: small tables of text keys and text values, committed asynchronously.
 *
 * Puts and deletes collect in memory in order; store_commit() hands them over as one transaction
 * and calls back on the loop when they are durable (SQLite: WAL, synchronous=NORMAL, a thread of
 * its own that joins commits waiting together into one). Acknowledge to the outside only from that
 * callback. What cannot be written is told to the callback as an error and written when it can be,
 * in order with all later changes, so whoever made the change keeps it in memory. Tables are read
 * whole at start, before the loop runs. The store has a schema version: a newer file is refused in
 * one sentence. The memory backend completes on the next turn.
 */
struct store;

/* Tables, and the text form of their rows. */
enum store_table {
	STORE_META,		/* "master SUBNET" -> "0xPORTGUID LID": we led it last;
				 * "sls SUBNET" -> "ENGINE CLASSES SLS STALE", see qos/compose.h;
				 * "drained SUBNET" -> "0xNODEGUID=WHY 0xNODEGUID/PORT=WHY ...", see
				 * sm/core/drain.c */
	STORE_LIDS,		/* "SUBNET 0xPORTGUID" -> "LID LMC LAST_SEEN_UNIX_SECONDS" */
	STORE_EVENTS,		/* "%020u sequence" -> JSON of one event */
	STORE_CLIENTS,		/* "SUBNET KIND HEX" -> what a client left with the subnet
				 * administrator; see sm/sa/kept.h */
	STORE_GROUPS,		/* multicast groups and members: see sm/sa/group.c */
	STORE_PARTITIONS,	/* what commands and names say of partitions: see
				 * sm/core/part_store.c */
	STORE_TABLES,		/* number of tables */
};

struct store *
store_open_sqlite(struct loop *l, const char *path, struct error *e);
struct store *
store_open_memory(struct loop *l);
/* Commits what is pending, waits for it, makes the callbacks still due, closes; not to be called
 * from such a callback. NULL is allowed. */
void
store_close(struct store *s);

/* Call fn for each row of a table in key order. Before the loop runs, or on the memory backend. */
typedef void (*store_row_fn)(void *arg, const char *key, const char *value);
int
store_scan(struct store *s, enum store_table table, store_row_fn fn, void *arg, struct error *e);

void
store_put(struct store *s, enum store_table table, const char *key, const char *value);
void
store_delete(struct store *s, enum store_table table, const char *key);
/* Deletes all rows of a table but the last `keep` in key order, with the next commit. */
void
store_trim(struct store *s, enum store_table table, unsigned keep);
/* `error` is 0 or a code; `why` one sentence or NULL. fn may be NULL. */
typedef void (*store_done_fn)(void *arg, int error, const char *why);
void
store_commit(struct store *s, store_done_fn fn, void *arg);

#endif
