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
				 * sm/core/drain.c;
				 * "etcd PREFIX" -> what is known of etcd, see store_etcd.c */
	STORE_LIDS,		/* "SUBNET 0xPORTGUID" -> "LID LMC LAST_SEEN_UNIX_SECONDS" */
	STORE_EVENTS,		/* "%020u sequence" -> JSON of one event */
	STORE_CLIENTS,		/* "SUBNET KIND HEX" -> what a client left with the subnet
				 * administrator; see sm/sa/kept.h */
	STORE_GROUPS,		/* multicast groups and members: see sm/sa/group.c */
	STORE_PARTITIONS,	/* what commands and names say of partitions: see
				 * sm/core/part_store.c */
	STORE_UNSENT,		/* "TABLE/KEY" -> "": rows that etcd has not, see store_etcd.c */
	STORE_TABLES,		/* number of tables */
};

struct store *
store_open_sqlite(struct loop *l, const char *path, struct error *e);
struct store *
store_open_memory(struct loop *l);

/* etcd, and how it is reached. */
struct store_etcd {
	const char *const *endpoints;	/* "http://HOST:PORT", "https://..."; at least one */
	unsigned nendpoints;		/* at most STORE_ENDPOINTS */
	const char *prefix;		/* of all keys: "/weft/SITE" */
	const char *ca, *cert, *key;	/* files for TLS; NULL */
	const char *user, *password;	/* NULL */
	unsigned timeout_ms;		/* of a request; a commit waits no longer than that */
};

/*
 * A store that several managers share: the SQLite file, which is as it would be alone, and behind
 * it etcd. A commit is called back when both have it; while etcd is away, when the file has it. See
 * store_etcd.c.
 */
struct store *
store_open_etcd(struct loop *l, const char *path, const struct store_etcd *o, struct error *e);

/* What happens to a store that several share; called on the loop. */
struct store_follower {
	/* Another manager changed a row, or (value NULL) deleted it. The store has it: what is put
	 * or deleted from within is dropped. */
	void (*changed)(void *arg, enum store_table table, const char *key, const char *value);
	/* One sentence for the log: etcd is away, back, or not what it was. */
	void (*tell)(void *arg, bool warning, const char *text);
	void *arg;
};
void
store_follow(struct store *s, const struct store_follower *f);
/* Whether this manager leads a subnet: then it is right where it and etcd differ. */
void
store_lead(struct store *s, const char *subnet, bool leads);

#define STORE_ENDPOINTS 16

enum store_endpoint_state {
	STORE_ENDPOINT_UNTRIED,
	STORE_ENDPOINT_ANSWERS,
	STORE_ENDPOINT_FAILED,
};

struct store_endpoint {
	char url[256];
	enum store_endpoint_state state;	/* when it was asked last */
	char why[200];			/* it failed; "" */
};

struct store_beyond {
	bool safe;		/* all that was acknowledged is in etcd */
	bool away;		/* it does not answer */
	int64_t since;		/* wall microseconds: that; 0: it never did in this run */
	unsigned unsent;	/* rows that it has not */
	uint64_t revision;	/* of etcd, as the file knows it */
	char why[300];		/* not safe; "" */
	unsigned nendpoints;
	struct store_endpoint endpoints[STORE_ENDPOINTS];
};

/* False: the store is this host's alone. */
bool
store_beyond(struct store *s, struct store_beyond *st);

/* Shared among managers, or this one's own; and of which subnet a shared row is: store_share.c. */
bool
store_is_shared(enum store_table table, const char *key);
bool
store_is_of(enum store_table table, const char *key, const char *subnet);
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
