/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LAYERS_H
#define ROUTING_LAYERS_H

#include <stdbool.h>
#include "routing/links.h"

/*
 * Layers: a lane of every link, and in each layer the turns, from a link to the next, that packets
 * may take there. The links of a layer keep an order in which every turn goes forward, so that no
 * circle of links, each waiting for the next, can come to be: a turn that would close one is not
 * let in.
 */
#define LAYERS_MAX 15u

struct layers_turn {
	uint32_t in;			/* link */
	uint32_t out;			/* link */
	unsigned layer;			/* where it was let in */
};

/* A link in the order of its layer. */
struct layers_seat {
	uint64_t label;			/* ascending in the order, with gaps */
	uint32_t before;		/* the link before it; the number of links: none */
	uint32_t after;			/* the link after it; likewise */
};

/* Links that one search has found, in the order found. */
struct layers_search {
	uint32_t *found;		/* by number */
	uint32_t len;			/* how many */
	uint32_t done;			/* how many of them were gone on from */
};

struct layers {
	const struct links *l;		/* borrowed */
	unsigned len;			/* layers, 1..LAYERS_MAX */
	uint32_t *first;		/* by link, len + 1: turns to it, by the links before */
	uint8_t *slot;			/* by link: its place among those turns of any next link */
	uint16_t *used;			/* by turn: bit n: let in to layer n */
	uint16_t *barred;		/* by turn: bit n: known to close a circle in layer n */
	struct layers_seat *seat;	/* by layer, then link; one more a layer, for both ends */
	struct layers_turn *log;	/* turns let in since layers_begin() */
	uint32_t nlog;			/* how many */
	uint32_t room;			/* that there is room for */
	uint32_t *mark;			/* by link: search that saw it last */
	uint32_t search;		/* number of the last one */
	struct layers_search ahead;	/* scratch: from the far end of a turn on */
	struct layers_search behind;	/* scratch: back from its near end */
};

void
layers_init(struct layers *y, const struct links *l, unsigned len);
void
layers_free(struct layers *y);
/* Before any turn is let in: links with lower keys come first in a layer, those with the same key
 * by number. That decides nothing, but saves time where most turns go from lower keys to higher. */
void
layers_arrange(struct layers *y, unsigned layer, const uint32_t *key);
/* By link: its place in the order of a layer, from 0 on; len of struct links of them. */
void
layers_places(const struct layers *y, unsigned layer, uint32_t *place);
/* From here on turns can be taken back. */
void
layers_begin(struct layers *y);
/* Let a turn in; false, with nothing changed, if it would close a circle. `out` leaves the switch
 * that `in` leads to. */
bool
layers_enter(struct layers *y, unsigned layer, uint32_t in, uint32_t out);
/* Take back all since layers_begin(). */
void
layers_undo(struct layers *y);
/* Let in whatever goes forward in the orders as they are. */
void
layers_fill(struct layers *y);

static inline uint32_t
layers_turn(const struct layers *y, uint32_t in, uint32_t out)
{
	return y->first[out] + y->slot[in];
}

/* The layers that a turn was let in to. */
static inline unsigned
layers_of(const struct layers *y, uint32_t in, uint32_t out)
{
	return y->used[layers_turn(y, in, out)];
}

#endif
