/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BEYOND_H
#define CORE_BEYOND_H

#include "sm/conf/config.h"
#include "sm/core/subnet.h"
#include "sm/fabric/event.h"
#include "sm/store/store.h"

/*
 * State beyond this host: the store as the configuration wants it, and what other managers that
 * share it change. See beyond.c.
 */
struct beyond;

/* The store in the state file, with etcd behind it where that is configured. */
struct store *
beyond_store(struct loop *l, const struct config *c, struct error *e);
/* Tell `events` of etcd, and the subnets of rows that others change; all are borrowed. NULL where
 * the store is this host's alone. */
struct beyond *
beyond_new(struct store *store, struct loop *l, struct event_ring *events, struct subnet **subnets,
	   unsigned len);
void
beyond_free(struct beyond *b);	/* before the subnets; NULL is allowed */

#endif
