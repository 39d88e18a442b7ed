/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_CHECKER_H
#define ROUTING_CHECKER_H

#include "routing/channels.h"
#include "routing/columns.h"
#include "routing/ladder.h"

/*
 * Between check.c, which runs the proof, ladder.c, which finds what is sound, walk.c, which looks
 * at the rest one LID at a time, and depend.c, depend_lanes.c and depend_groups.c, which enter what
 * waits for what where the order of switches does not settle it.
 */
enum fate {
	UNKNOWN,
	WALKING,	/* on the way that is followed just now */
	ARRIVES,
	LOOPS,
	HOLE,		/* the way ends at an entry without a port */
	WRONG,		/* the way leaves at a wrong channel adapter or a dead port */
};

struct tally {
	uint64_t unreachable;	/* as in plan_check */
	uint64_t cut_off;
	uint64_t reached;
	uint64_t hops;		/* sum over reached pairs */
	uint64_t loops;
	uint64_t holes;
	uint64_t misdelivered;
	uint32_t max_hops;
	uint32_t fault_lid;	/* least LID with a fault, 0 none */
	uint32_t fault_sw;	/* least switch with a fault at that LID */
	enum fate fault;	/* which */
};

/* What one thread works with. */
struct scratch {
	struct tally sum;	/* over all LIDs that this thread did */
	uint8_t *fate;		/* by switch: enum fate of its packets to the present LID */
	uint16_t *hops;		/* by switch: switches on the way, itself included */
	uint32_t *next;		/* by switch: edge taken, FABRIC_NONE */
	uint32_t *stack;	/* switches on the way followed */
	struct columns columns;	/* entries of LIDs that are walked */
	uint8_t *lost;		/* by switch: some LID of the present port does not arrive */
	uint16_t *reach;	/* by switch: links to the present LID, LEVELS_FAR: out of reach */
	uint8_t *exits;		/* by switch: where it must send the present LID, if it is silent */
	uint32_t *queue;	/* of levels_reach() */
	uint8_t *apart;		/* by switch: it cannot reach some LID of the present port */
	bool walked;		/* some LID is to be walked by itself */
	bool hopeless;		/* the ladder found none of a whole block sound: it is left alone */
	bool turns;		/* some way turns from down to up in the order of switches */
	struct ladder_block ladder;	/* LIDs that are done side by side */
	uint8_t *sent[2];	/* entries of such LIDs, by switch; graph of one lane only */
};

/* A switch as the walk needs it. */
struct hop {
	const uint32_t *edge_at;	/* by port number: edge that leaves there */
	uint32_t part;			/* connected component */
	uint8_t nports;			/* its ports */
	bool silent;			/* it forwards as it is known to, whatever we wish */
};

struct checker {
	const struct check_input *in;	/* what is proved */
	struct hop *hops;		/* by switch */
	const struct fabric *f;		/* in->fabric */
	struct channels channels;	/* the dependency graph */
	uint32_t *part;			/* by switch: connected component */
	uint32_t *sources;		/* by switch: CA ports on it that have a LID */
	uint32_t *part_sources;		/* by component: the sum of that */
	uint32_t nsources;		/* CA ports that have a LID */
	uint32_t nparts;		/* connected components */
	unsigned classes;		/* path classes */
	struct ladder order;		/* of switches, if `ordered` */
	struct ladder_query query;	/* in->rows and whose ways count, for the ladder */
	struct ladder_table *also;	/* in->also; NULL if there are none or both are the same */
	bool ordered;			/* an order of switches is there */
	uint8_t *doubt;			/* by LID: 1 if it is a port's first and not found sound */
	struct columns_order walks;	/* the LIDs of these ports */
	struct plan_proof *proof;	/* to be filled by LID; NULL */
	bool any_silent;		/* there are silent switches */
	struct depend_lanes *lanes;	/* while depend_with_lanes() runs */
	struct scratch *scratch;	/* by thread */
	unsigned threads;		/* resolved number */
};

/* Prepare, as far as one needs it: checker_free() in any case. */
void
checker_init(struct checker *c, const struct check_input *in);
void
checker_free(struct checker *c);
/* Make the graph of what unicast packets wait for; its size in bytes. */
size_t
checker_graph(struct checker *c);

/* Walk LIDs of a block of c->walks one by one: their tally, and s->turns if a way does. */
void
walk_block(const struct checker *c, struct scratch *s, uint32_t block);
/* Count a destination port whose LIDs are all sound: sum and longest of the ways to the last. */
void
walk_count(const struct checker *c, struct tally *t, uint32_t port, uint32_t hops, uint32_t max);
/* A port that hangs on no switch: only the other end of its cable reaches it. */
void
walk_alone(const struct checker *c, struct tally *t, uint32_t port);
void
walk_note(struct tally *t, uint32_t lid, uint32_t sw, enum fate fate);

/* Enter what packets to LIDs from `first` on (LADDER_LANES of them) wait for, of one or two sets of
 * tables, where there is one lane. */
void
depend_block(const struct checker *c, struct scratch *s, uint32_t first);
/* The same for all LIDs, where there are more lanes: those of in->lanes. */
void
depend_with_lanes(struct checker *c);
/* Does a way to this LID, which s->next[] holds, turn from down to up in c->order? */
bool
depend_turns(const struct checker *c, const struct scratch *s);

/* multicast.c: does a multicast tree turn from down to up in this order? */
bool
multicast_turns(const struct ladder *l, const struct check_input *in);
/* Packets of these SLs (bit n for SL n; 0: of any) that come in at a switch by one port, over a
 * link from another switch, wait for another. */
void
multicast_pair(const struct checker *c, uint32_t sw, unsigned in, unsigned out, uint16_t sls);
/* check_adaptive.c: may packets turn from down to up, or come to an end, by groups beside rows that
 * do not? *at and `why`, unless NULL, get the switch and a sentence. */
bool
adaptive_turns(const struct checker *c, uint32_t *at, char *why, size_t size);
/* Are there groups by home among them, so that rows alone do not tell what is waited for? */
bool
adaptive_by_home(const struct checker *c);
/* Spread what waits for what, as the rows have it, over the parallel cables of groups. */
void
adaptive_depends(const struct checker *c);

/* Enter what waits for what in the trees. */
void
multicast_depends(const struct checker *c);

#endif
