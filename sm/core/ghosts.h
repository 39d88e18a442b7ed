/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_GHOSTS_H
#define CORE_GHOSTS_H

#include <stdint.h>
#include "sm/base/map.h"

/*
 * What devices that are gone were cabled to: for routing, which keeps to the fabric as it should
 * be, and for themselves when they are back.
 */
struct fabric_builder;
struct device;
struct ghost;
struct topo;

struct ghosts {
	struct map by_guid;	/* node GUID -> place in list */
	struct ghost **list;	/* len, in no order */
	uint32_t len;		/* how many */
	uint32_t size;		/* room */
};

void
ghosts_free(struct ghosts *g);
/* A device goes, and its ports are not linked any more. */
void
ghosts_add(struct ghosts *g, const struct device *d);
/* It is back: its ports remember again. */
void
ghosts_recall(struct ghosts *g, struct device *d);
/* Adds the cables of all to a snapshot. Forgotten are those whose other end has another cable, and
 * what has come back whole. */
void
ghosts_tell(const struct topo *t, struct ghosts *g, struct fabric_builder *b);

#endif
