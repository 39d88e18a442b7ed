/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LADDER_H
#define ROUTING_LADDER_H

#include "sm/fabric/plan.h"

/*
 * Tables as a ladder. Switches stand in a total order (their rank, then their index, as in
 * ranks.h); where no packet ever turns from a way down to a way up, no credit loop is possible,
 * and whoever made the order does not matter. The same order lets the ways of all switches to many
 * LIDs be found in two sweeps over the tables: from the bottom those that descend, from the top
 * those that climb first.
 */
#define LADDER_LANES 128u	/* LIDs that are done side by side */

/* Places in the order: the switches follow these two. */
enum {
	LADDER_END,		/* behind a port: no switch */
	LADDER_SELF,		/* behind a port: the switch itself */
	LADDER_FIRST,		/* the lowest switch */
};

struct ladder {
	uint32_t n;		/* switches */
	uint32_t *order;	/* switches from the bottom up */
	uint16_t *place;	/* by switch: where it stands */
	uint32_t *first;	/* by switch: its part of to[] */
	uint16_t *to;		/* by port number: the place behind; LADDER_END after the last */
	uint8_t *nports;	/* by switch */
};

/* Tables as the sweeps read them. */
struct ladder_table {
	const struct plan_row *row;	/* the row; NULL: there is none */
	const uint8_t *whole;		/* plan_row_whole() of it */
	uint32_t len;			/* entries, 0 without a row */
	bool pieces;			/* some blocks of it are elsewhere */
};

/* Some LIDs, and what is found of them. One thread's. */
struct ladder_block {
	uint16_t lid[LADDER_LANES];	/* they, the first `len`; then 0 */
	uint32_t len;			/* how many */
	uint32_t home[LADDER_LANES];	/* their home switches; FABRIC_NONE: not looked at */
	uint8_t exit[LADDER_LANES];	/* ports there by which they leave */
	bool sound[LADDER_LANES];	/* all switches in reach deliver it and no way turns up */
	uint32_t hops[LADDER_LANES];	/* if sound: sum over sources of switches on the way */
	uint8_t max_hops[LADDER_LANES];	/* if sound: the longest way from a source, at least 1 */
	uint8_t *state;			/* scratch: by place and lane */
	uint8_t *out[2];		/* scratch: entries by place and lane */
	uint8_t *lane_at;		/* scratch: by place, first lane whose home it is */
	uint8_t next[LADDER_LANES];	/* scratch: the next lane of that home */
};

/* What is asked about the LIDs of a block. */
struct ladder_query {
	const struct ladder_table *rows;	/* by place, from 0 */
	const uint32_t *sources;		/* by switch: whose ways count, at most 255 */
	const uint32_t *part;			/* by switch: connected component; NULL: all one */
};

/* False if there are too many switches; then there is nothing to free. */
bool
ladder_init(struct ladder *l, const struct fabric *f, const uint8_t *ranks);
void
ladder_free(struct ladder *l);
/* Tables in the order of the ladder (mem_array). They borrow the rows. */
struct ladder_table *
ladder_rows(const struct ladder *l, struct plan_row *const *rows);

void
ladder_block_init(struct ladder_block *b, const struct ladder *l);
void
ladder_block_free(struct ladder_block *b);
/* Take LIDs first .. first + LADDER_LANES - 1, or those of a list; homes from the LID section. */
void
ladder_block_range(struct ladder_block *b, const struct plan_lids *lids, uint32_t first);
void
ladder_block_list(struct ladder_block *b, const struct plan_lids *lids, const uint16_t *list,
		  uint32_t len);
/* Find what the tables do with these LIDs. A way that is longer than 127 switches is not sound. */
void
ladder_walk(const struct ladder *l, const struct ladder_query *q, struct ladder_block *b);
/* Whether no packet to these LIDs turns up, each switch having an entry of the one tables or of
 * the other. */
bool
ladder_unites(const struct ladder *l, const struct ladder_table *one,
	      const struct ladder_table *other, struct ladder_block *b);

#endif
