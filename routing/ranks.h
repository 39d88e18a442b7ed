/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_RANKS_H
#define ROUTING_RANKS_H

#include "routing/balance.h"

/* The total order of switches behind up*-down* routing: by rank, then by GUID. */
#define RANKS_MAX 250u		/* deepest rank */

struct ranks {
	const struct fabric *f;	/* whose switches */
	uint16_t *rank;		/* by switch: 0 on top */
	uint32_t *down;		/* by switch: where its edges that lead down start */
	uint32_t *edge;		/* edge indices: of each switch those up, then those down */
	uint32_t *to;		/* by place in edge[]: the switch behind */
};

/* Does the way from switch `a` to its neighbour `b` lead up? */
static inline bool
ranks_up(const struct ranks *r, uint32_t a, uint32_t b)
{
	return r->rank[b] != r->rank[a] ? r->rank[b] < r->rank[a] : b < a;
}

/* Find an order in which each connected part of the fabric has one top, as near to that of the
 * previous plan as can be; `note` gets a remark of `size` bytes. The caller calls ranks_free(),
 * also after an error. */
int
ranks_choose(const struct engine_input *in, struct ranks *r, char *note, size_t size,
	     struct error *e);
void
ranks_free(struct ranks *r);
/* The steps of that, for those who take them by themselves. Ranks by distance from the switches
 * that are marked in root[]; parts of the fabric without one hang on their first switch. */
void
ranks_spread(const struct fabric *f, const uint8_t *root, uint16_t *rank);
/* Lift switches until each connected part has one top; *nlifted: how many it took. Of `r` only f
 * and rank are used. ERR_UNSUPPORTED beyond RANKS_MAX. */
int
ranks_join(const struct ranks *r, uint32_t *nlifted, struct error *e);
/* Fill down, edge and to from f and rank. */
void
ranks_split(struct ranks *r);
/* For engine_output.ranks. */
uint8_t *
ranks_copy(const struct ranks *r);
/* A balance_tree_fn (arg: struct ranks): shortest ways that climb and then descend. */
void
ranks_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t);

#endif
