/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DEPEND_H
#define ROUTING_DEPEND_H

#include "routing/channels.h"

/* Between check.c, which walks the tables, and depend.c, which enters what waits for what. */
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
	uint8_t *columns;	/* entries of BLOCK LIDs: by LID, then switch */
	uint32_t block;		/* first of these LIDs; none: above all LIDs */
	uint8_t *lost;		/* by switch: some LID of the present port does not arrive */
	uint16_t *reach;	/* by switch: links to the present LID, LEVELS_FAR: out of reach */
	uint8_t *exits;		/* by switch: where it must send the present LID, if it is silent */
	uint32_t *queue;	/* of levels_reach() */
	uint8_t *apart;		/* by switch: it cannot reach some LID of the present port */
	uint32_t *stamp;	/* by (channel, class): present walk's number; lanes only */
	uint64_t *work;		/* states to follow; lanes only */
	uint32_t walk;		/* number of the present walk */
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
	uint32_t *dests;		/* port indices with a LID, by LID */
	uint32_t ndests;		/* their number */
	uint32_t nsources;		/* CA ports that have a LID */
	unsigned classes;		/* path classes */
	bool any_silent;		/* there are silent switches */
	struct scratch *scratch;	/* by thread */
	unsigned threads;		/* resolved number */
};

/* Enter the dependencies of the packets to one LID. One lane, one set of tables: s->next[] holds
 * where all switches send it. */
void
depend_single(const struct checker *c, struct scratch *s);
/* One lane, two sets of tables: each switch on the way may have the one or the other. */
void
depend_union(const struct checker *c, uint32_t lid);
/* Several lanes, one or two sets of tables. */
void
depend_lanes(const struct checker *c, struct scratch *s, uint32_t lid);

#endif
