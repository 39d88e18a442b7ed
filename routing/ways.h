/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_WAYS_H
#define ROUTING_WAYS_H

#include "routing/engine.h"
#include "routing/layers.h"
#include "routing/turns.h"

/*
 * Ways in any fabric, for engines whose packets stay on one lane from end to end: each pair of
 * switches has a class, which is its lane both ways. A way is the tree of next links from all
 * switches to one home; a home with several hosts has several, its variants, which spread the load.
 */
#define WAYS_NONE 255u			/* no link; no class yet */

/* What is kept for the next run: classes and ways of the whole fabric, by GUID. Immutable. */
struct ways_kept {
	uint32_t refs;			/* atomic */
	uint32_t n;			/* switches */
	uint32_t nlinks;		/* as in struct links */
	unsigned variants;		/* of each home */
	unsigned layers;		/* that they are of */
	unsigned lanes;			/* that ways were made for */
	uint64_t *guid;			/* by switch, ascending */
	uint32_t *first;		/* by switch: as in struct links */
	uint32_t *to;			/* by link: switch there */
	bool *tree;			/* by link: as in struct ways */
	uint32_t *place;		/* by class, then link: as of layers_places() */
	uint8_t *class;			/* by switch, then switch: as in struct ways */
	uint8_t *next;			/* by way, then switch: as in struct ways */
	uint32_t *turn_first;		/* by link: as in struct layers; NULL: no lanes by turn */
	uint8_t *turn_lane;		/* by turn: as in struct turns */
};

struct ways {
	struct links l;			/* of the fabric */
	struct layers y;		/* what waits for what, by class */
	uint32_t n;			/* switches */
	unsigned variants;		/* ways to each home, >= 1 */
	unsigned layers;		/* >= 1: so many times as many variants as spread hosts; the
					 * ways of all but the first may be longer than need be */
	struct turns *turns;		/* lanes are by turn, on the orders of y (owned); NULL */
	uint16_t any[WAYS_NONE];	/* turns that all layers allow */
	bool *apart;			/* by switch: it does not answer, nothing passes through */
	uint8_t *class;			/* by switch, then switch: class of the pair; WAYS_NONE */
	uint8_t *next;			/* by way = home x variants + variant, then switch: place of
					 * the link among those of the switch; WAYS_NONE */
	uint32_t *heads;		/* by way: who asks for it, in sixteenths of a host */
	uint32_t *hosts;		/* by switch: those that send, likewise */
	uint64_t *load;			/* by link: what crosses it */
	double *into;			/* by link: what the same link costs that comes back */
	uint64_t pairs[LAYERS_MAX];	/* by class: pairs of switches */
	uint32_t *climb;		/* by link: lower ones lead away from hosts before higher
					 * ones lead to them; the same: neither */
	bool *tree;			/* by link: of the spanning tree that all layers allow */
	bool *done;			/* by way: it was made */
	uint32_t nfallen;		/* switches on ways that had to take the spanning tree */
	/* Of the way at work. */
	uint32_t home;			/* its home */
	uint8_t *at;			/* its part of next[] */
	uint16_t *hops;			/* by switch: links to the home; UINT16_MAX: no way yet */
	uint16_t *mask;			/* by switch: layers that allow the way from here */
	double *cost;			/* by switch: of the links on the way */
	uint8_t *prior;			/* by switch: link that waits for its far end; WAYS_NONE */
	uint16_t *may;			/* by switch without a way: layers that it may be in */
	uint32_t *ring;			/* switches that have a way before it grows, by hops */
	uint32_t nring;			/* how many */
	uint32_t *order;		/* switches that have one, by hops */
	uint32_t len;			/* how many */
	uint32_t *try;			/* scratch: switches to be tried */
	uint32_t *seen;			/* by switch: level at which it was last tried */
	uint64_t *flow;			/* by switch: what passes it on the way */
	uint8_t *was;			/* by switch: the way before it was made anew */
	uint32_t *moved;		/* switches whose class changed with this way */
	uint8_t *moved_from;		/* the classes that they had */
	uint32_t nmoves;		/* how many */
	bool loose;			/* `y` does not decide, classes come later */
	bool around;			/* some switches go around what they took before */
	bool bounded;			/* no way is much longer than those of the first layer */
	unsigned longest;		/* links of the longest way of the first layer */
	uint32_t *mark;			/* by link: search that saw it last */
	uint32_t search;		/* number of the present one */
	unsigned lanes;			/* classes that may be chosen now */
	uint32_t *branch;		/* by switch: link towards home on the spanning tree */
};

/* For a fabric; heads[] and hosts[] count what hangs on its switches. `variants` is a multiple of
 * `layers`, the first of these first. */
void
ways_init(struct ways *w, const struct fabric *f, unsigned variants, unsigned layers,
	  unsigned lanes);
void
ways_free(struct ways *w);
/* Ways and classes for all, in whatever layers there are; nobody is left without a way that the
 * spanning tree joins. `kept`: what it may keep of these is kept, and pairs keep their classes;
 * NULL. */
void
ways_find(struct ways *w, const struct ways_kept *kept);
/* Ways as short as can be, balanced, whatever waits for what; of classes there are those that were
 * kept. */
void
ways_find_shortest(struct ways *w, const struct ways_kept *kept);
/* The same with lanes by turn, two or more; ways of the layers behind the first go around what the
 * earlier ones of the same two switches take, as far as lanes allow. */
void
ways_find_around(struct ways *w, const struct ways_kept *kept);
/* Enter the ways of a pair, both directions and all variants; false, with nothing changed, if that
 * closes a circle in the layer. */
bool
ways_fit(struct ways *w, uint32_t a, uint32_t b, unsigned layer);

/* Class of a pair, both ways. */
void
ways_set_class(struct ways *w, uint32_t a, uint32_t b, unsigned class);

struct ways_kept *
ways_keep(const struct ways *w);
struct ways_kept *
ways_kept_ref(struct ways_kept *k);
void
ways_kept_unref(struct ways_kept *k);	/* NULL is allowed */
/* Take all of them as they are. */
void
ways_take(struct ways *w, const struct ways_kept *k);
/* Are these of this very fabric? */
bool
ways_kept_fits(const struct ways_kept *k, const struct ways *w);

/* The link of a switch on a way; LINKS_NONE. */
static inline uint32_t
ways_link(const struct ways *w, uint32_t way, uint32_t sw)
{
	uint8_t at = w->next[(size_t)way * w->n + sw];

	return at == WAYS_NONE ? LINKS_NONE : w->l.first[sw] + at;
}

static inline uint8_t
ways_class(const struct ways *w, uint32_t a, uint32_t b)
{
	return w->class[(size_t)a * w->n + b];
}

#endif
