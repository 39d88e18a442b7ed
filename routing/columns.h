/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_COLUMNS_H
#define ROUTING_COLUMNS_H

#include "sm/fabric/plan.h"

/*
 * Entries by LID, then switch, for those who look at one LID at a time. Rows are far apart in
 * memory, so they are read for a block of LIDs at once. LIDs stand by the switch where they are at
 * home, for most of those of one home are sent alike by all other switches: what was found of one
 * column holds for all that are the same.
 */
#define COLUMNS_LEN 128u	/* LIDs in a block at most: as many as a port can have */

/* LIDs by home, cut into blocks; constant once made. */
struct columns_order {
	uint16_t *lid;		/* by home, then ascending */
	uint32_t *first;	/* by block: its first of these; then their number */
	uint32_t nblocks;	/* no port's LIDs are in two of them */
};

/* One block; one thread's. */
struct columns {
	uint8_t *out[2];		/* by slot, then switch: its entry, of one or two tables;
					 * 0 at home if that is right */
	size_t stride;			/* from slot to slot */
	const uint16_t *lid;		/* of the order */
	uint32_t len;			/* how many */
	uint8_t slot[COLUMNS_LEN];	/* by LID of the block: slots are in order of LIDs */
	uint16_t sorted[COLUMNS_LEN];	/* by slot: its LID */
	uint8_t run[COLUMNS_LEN];	/* by slot: LIDs from there on that follow each other */
	bool delivered[COLUMNS_LEN];	/* by all tables, at home */
	uint8_t like[COLUMNS_LEN];	/* the first of the block with this home and column */
};

/* LIDs with a home; if `ports` is given, those of ports whose base LID is not 0 in it. */
void
columns_order_init(struct columns_order *o, const struct plan_lids *l, uint32_t nswitches,
		   const uint8_t *ports);
void
columns_order_free(struct columns_order *o);

/* Room for blocks of one or two tables of `nswitches` rows. */
void
columns_init(struct columns *b, uint32_t nswitches, unsigned tables);
void
columns_free(struct columns *b);
/* Read a block; `also` if there is room for two tables. */
void
columns_read(struct columns *b, const struct columns_order *o, uint32_t block,
	     const struct plan_lids *l, uint32_t nswitches, struct plan_row *const *rows,
	     struct plan_row *const *also);

static inline const uint8_t *
columns_of(const struct columns *b, unsigned table, uint32_t i)
{
	return b->out[table] + b->slot[i] * b->stride;
}

#endif
