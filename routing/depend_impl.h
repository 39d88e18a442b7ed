/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DEPEND_IMPL_H
#define ROUTING_DEPEND_IMPL_H

#include "routing/checker.h"

/*
 * Between depend_lanes.c, which follows packets where each switch has one port for a LID, or one by
 * each of two tables, and depend_groups.c, where groups of adaptive routing give it more.
 */
#define LANES_A_WORD 4u
#define WORDS_MAX 4u
#define CLASSES_MAX ((unsigned)SLS_LEN)

/* The same set of classes in each lane of a word. */
#define EACH_LANE UINT64_C(0x0001000100010001)

struct depend_groups;

struct depend_lanes {
	struct columns_order order;	/* all LIDs */
	unsigned words;			/* of a set: 1, 2 or WORDS_MAX */
	uint32_t *pair_first;		/* by edge: its pair with the next switch's first edge */
	uint64_t *pairs;		/* by pair: what packets take on the second link of those
					 * that came over the first; then what was seen */
	uint64_t *start;		/* by edge: what packets of hosts there, and of the switch
					 * itself, take on it */
	struct depend_work *work;	/* by thread */
	struct depend_groups *groups;	/* depend_groups.c; NULL */
};

/* What one thread follows packets with. */
struct depend_work {
	struct columns columns;		/* the block that it is at */
	uint32_t *next[2];		/* by switch: edge that the LID takes, FABRIC_NONE; the
					 * second only where it differs from the first */
	uint64_t *sets[2];		/* by switch: what packets are in on that edge */
	uint16_t *classes;		/* by switch: of the packets that start there */
	uint32_t *before;		/* by switch: others that send to it and are not done */
	uint32_t *stack;		/* of (switch, table) to hand on */
	bool *waits;			/* by switch and table: it is on the stack */
	struct depend_ways *ways;	/* depend_groups.c; NULL */
};

static inline uint64_t
depend_classes_in(const uint64_t *set, unsigned words)
{
	uint64_t all = 0;

	for (unsigned w = 0; w < words; w++)
		all |= set[w];
	all |= all >> 32;
	return (all | all >> 16) & UINT16_MAX;
}

static inline uint64_t *
depend_pair(const struct checker *c, uint32_t e, uint32_t then)
{
	const struct depend_lanes *d = c->lanes;
	uint32_t pair = d->pair_first[e] + then - c->f->edge_first[c->channels.to[e]];

	return &d->pairs[(size_t)pair * 2 * d->words];
}

static inline uint32_t
depend_edge(const struct checker *c, uint32_t sw, uint8_t out)
{
	return out <= c->hops[sw].nports ? c->hops[sw].edge_at[out] : FABRIC_NONE;
}

/* Packets start on the edge that the switch takes. */
static inline void
depend_start(const struct depend_lanes *d, uint32_t e, uint16_t classes, uint64_t *set,
	     unsigned words)
{
	for (unsigned w = 0; w < words; w++)
		set[w] |= classes * EACH_LANE & d->start[(size_t)e * words + w];
}

/* Packets that are in `from` on an edge go on by another: what they are in there. */
static inline void
depend_pass(const struct checker *c, uint32_t e, uint32_t then, const uint64_t *from, uint64_t *to,
	    unsigned words)
{
	uint64_t classes = depend_classes_in(from, words), *pair = depend_pair(c, e, then);

	for (unsigned w = 0; w < words; w++) {
		to[w] |= classes * EACH_LANE & pair[w];
		/* Nearly always it was seen before: looking first spares the bus. */
		if (from[w] & ~__atomic_load_n(&pair[words + w], __ATOMIC_RELAXED))
			__atomic_fetch_or(&pair[words + w], from[w], __ATOMIC_RELAXED);
	}
}

/* The tables, the room, and what packets take from link to link; nothing followed yet. */
void
depend_lanes_open(struct checker *c);
void
depend_lanes_close(struct checker *c);
/* Classes of the packets from each switch to a LID, into w->classes[]. */
void
depend_classes(const struct checker *c, struct depend_work *w, uint32_t lid);
/* Are they the same for all LIDs of a home? */
bool
depend_by_home(const struct checker *c);
/* LID `i` of the block that a thread is at; the classes of its packets are known. */
typedef void (*depend_fn)(const struct checker *c, unsigned thread, uint32_t i);

/* All LIDs, each once if those of a home are alike. */
void
depend_each(const struct checker *c, depend_fn fn);
/* Follow LID `i` of the block, by rows alone. */
void
depend_follow(const struct checker *c, struct depend_work *w, uint32_t i);
/* From what was seen, into the graph. */
void
depend_enter(const struct checker *c);

#endif
