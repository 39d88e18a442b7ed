/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_ETCD_UNSENT_H
#define STORE_ETCD_UNSENT_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/list.h"

/*
 * Rows that etcd has not, each once with its newest value, in the order in which they were changed
 * first. Some of the oldest are under way at a time: a change of one of these meanwhile makes it
 * wait again afterwards.
 */
struct etcd_change {
	struct list link;	/* in `waiting` or `flying` */
	char *key;		/* "TABLE/KEY"; owned */
	char *value;		/* owned; NULL: the row is deleted */
	uint64_t no;		/* of the commit that changed it first */
	uint64_t again;		/* of the one that changed it while it was under way; 0 */
	bool flies;		/* it is under way */
};

struct etcd_unsent {
	void *tree;		/* of tsearch(), by key */
	struct list waiting;	/* struct etcd_change by `no` */
	struct list flying;	/* likewise: those under way */
	unsigned len;		/* of both */
};

void
unsent_init(struct etcd_unsent *u);
void
unsent_clear(struct etcd_unsent *u);
void
unsent_set(struct etcd_unsent *u, const char *key, const char *value, uint64_t no);
/* NULL: etcd has it. */
struct etcd_change *
unsent_find(const struct etcd_unsent *u, const char *key);
/* It is not to be sent any more; not while it is under way. */
void
unsent_drop(struct etcd_unsent *u, struct etcd_change *c);
/* The first one that waits is under way. */
void
unsent_fly(struct etcd_unsent *u, struct etcd_change *c);
/* What was under way is lost and waits again. */
void
unsent_lost(struct etcd_unsent *u);
/* One that was under way has arrived: true if it is gone, false if it waits again. */
bool
unsent_arrived(struct etcd_unsent *u, struct etcd_change *c);
/* All changes of this commit, and of those before it, have arrived. */
bool
unsent_has_all(const struct etcd_unsent *u, uint64_t no);

#endif
