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

/* ways_grow.c, about the way at work */
void
ways_open(struct ways *w, uint32_t way);	/* nobody has hops, but at[] is left */
/* Who has hops, by these: into ring[] and seat[]; returns the most hops, *len gets how many. */
uint32_t
ways_sort(struct ways *w, uint32_t *len);
/* A switch whose link is in at[] goes on so, if its class allows it. */
bool
ways_stay(struct ways *w, uint32_t sw);
/* From those who have hops to all others; `move`: pairs may change their class. */
void
ways_grow(struct ways *w, bool move);
bool
ways_complete(const struct ways *w);		/* have all a way, as far as they answer? */
/* Who has none yet gets one; then the way is made. */
void
ways_finish(struct ways *w, uint32_t way);
void
ways_make(struct ways *w, uint32_t way);	/* from nothing */
/* Make a way anew; it is kept if it is shorter, or if it is as long and crosses links with less
 * load. */
void
ways_mend(struct ways *w, uint32_t way);
/* What passes each switch, into flow[]; returns the sum over all links. */
uint64_t
ways_count(struct ways *w);
/* Add that to the loads, or take it away (-1). */
void
ways_load(struct ways *w, uint32_t way, int sign);

#endif
