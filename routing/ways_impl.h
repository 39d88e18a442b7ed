/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_WAYS_IMPL_H
#define ROUTING_WAYS_IMPL_H

#include "routing/ways.h"

/* Between the files of ways.h. */
#define WAYS_FAR UINT16_MAX		/* hops of who has no way */
#define WAYS_HOST 16u			/* weight of a host; a switch by itself counts 1 */

/* ways.c */
/* Choose the spanning tree and let its turns in to all layers; links marked in `kept` (NULL: none)
 * belong to it first. */
void
ways_allow_tree(struct ways *w, const bool *kept);
/* Let in to a layer whatever leads away from hosts and then to them, as far as it can be. */
void
ways_allow_climbs(struct ways *w, unsigned layer);
/* Of some layers the one with the fewest pairs. */
unsigned
ways_emptiest(const struct ways *w, unsigned mask);
/* Enter the way at[] from a switch that leaves it by a link. False if that closes a circle; what
 * was entered since layers_begin() is taken back then. */
bool
ways_enter(struct ways *w, const uint8_t *at, uint32_t home, uint32_t link, unsigned layer);
/* False if that is certain to fail. */
bool
ways_may_enter(const struct ways *w, const uint8_t *at, uint32_t home, uint32_t link,
	       unsigned layer);
/* The same for all ways from `a` to `b` that are made. */
bool
ways_enter_done(struct ways *w, uint32_t a, uint32_t b, unsigned layer);
bool
ways_may_enter_done(const struct ways *w, uint32_t a, uint32_t b, unsigned layer);

/* How much is tried for a switch that the layers as they are give no way. */
enum ways_effort {
	WAYS_ALLOWED,			/* nothing: it has none */
	WAYS_SEARCH,			/* new turns */
	WAYS_MOVE,			/* another class too */
};

/* ways_around.c, about the way at work where lanes are by turn */
/* Turn from a link to the way that goes on from its far end; false: no lane is left for that. */
bool
ways_turn(struct ways *w, uint32_t link);
/* Of links of a switch, in this order, the one to take, which has its turn then; LINKS_NONE. */
uint32_t
ways_choose(struct ways *w, uint32_t sw, const uint32_t *links, unsigned len);
/* In layers behind the first: ways around what earlier layers take, for some switches. */
void
ways_grow_around(struct ways *w, uint32_t way);
/* A way of a layer behind the first becomes that of the first; false: it is of the first. */
bool
ways_repeat(struct ways *w, uint32_t way);
/* In the first layer: how long it is. */
void
ways_measure(struct ways *w, uint32_t way);
/* Turns of the spanning tree stay on one lane, and the first way to its root is the tree. */
void
ways_fix_tree(struct ways *w);

/* Is it a way of the first layer, as all are where there is one? */
static inline bool
ways_in_first(const struct ways *w, uint32_t way)
{
	return way % w->variants < w->variants / w->layers;
}

/* ways_find.c */
/* Ways go on from what is kept of them. */
void
ways_find_left(struct ways *w, const struct ways_kept *kept);
/* One of all ways by their first variants, then by the second, and so on. */
static inline uint32_t
ways_nth(const struct ways *w, uint32_t i)
{
	return i % w->n * w->variants + i / w->n;
}

/* ways_grow.c, about the way at work */
/* Who has hops, by these, into ring[]. */
void
ways_sort(struct ways *w);
/* A switch whose link is in at[] goes on so, if its class allows it. */
bool
ways_stay(struct ways *w, uint32_t sw);
/* From those in ring[] to all others. */
void
ways_grow(struct ways *w, enum ways_effort effort);

/* ways_make.c */
void
ways_open(struct ways *w, uint32_t way);	/* only its home has hops, but at[] is left */
bool
ways_complete(const struct ways *w);		/* have all a way, as far as they answer? */
/* Who has none yet gets one; then the way is made. */
void
ways_finish(struct ways *w, uint32_t way);
void
ways_make(struct ways *w, uint32_t way);	/* from nothing */
/* The first way to a home becomes the spanning tree; whom that joins is known. */
void
ways_take_tree(struct ways *w, uint32_t home, bool *known);
/* The same with turns and classes as they are; who finds none goes, with all others, on the first
 * way to that home. */
void
ways_add(struct ways *w, uint32_t way);
/* Make a way anew; it is kept if it is shorter, or if it is as long and crosses links with less
 * load. */
void
ways_mend(struct ways *w, uint32_t way, enum ways_effort effort);
/* What passes each switch, into flow[]; returns the sum over all links. */
uint64_t
ways_count(struct ways *w);
/* Add that to the loads, or take it away (-1). */
void
ways_load(struct ways *w, uint32_t way, int sign);

#endif
