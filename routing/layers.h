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

struct layers {
	const struct links *l;		/* borrowed */
	unsigned len;			/* layers, 1..LAYERS_MAX */
	uint32_t *first;		/* by link: its turns, in order of the next links */
	uint16_t *used;			/* by turn: bit n: let in to layer n */
	uint16_t *barred;		/* by turn: bit n: known to close a circle in layer n */
	uint32_t *place;		/* by layer, then link: in the order of the layer */
	uint32_t *order;		/* by layer, then place: the link there */
	struct layers_turn *log;	/* turns let in since layers_begin() */
	uint32_t nlog;			/* how many */
	uint32_t room;			/* that there is room for */
	uint32_t *mark;			/* by link: search that saw it last */
	uint32_t search;		/* number of the present one */
	uint32_t *after;		/* scratch: links behind a turn */
};

void
layers_init(struct layers *y, const struct links *l, unsigned len);
void
layers_free(struct layers *y);
/* Before any turn is let in: links with lower keys come first in all layers. That decides nothing,
 * but saves time where most turns go from lower keys to higher ones. */
void
layers_arrange(struct layers *y, const uint32_t *key);
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

static inline uint32_t
layers_turn(const struct layers *y, uint32_t in, uint32_t out)
{
	return y->first[in] + (out - y->l->first[y->l->to[in]]);
}

/* The layers that a turn was let in to. */
static inline unsigned
layers_of(const struct layers *y, uint32_t in, uint32_t out)
{
	return y->used[layers_turn(y, in, out)];
}

#endif
