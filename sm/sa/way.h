/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_WAY_H
#define SA_WAY_H

#include "sm/sa/ask.h"

/*
 * One way through the published plan, as a PathRecord that a question asks for: what PathRecord,
 * MultiPathRecord and TraceRecord are told from.
 */

#define SA_WAY_SHARED 2		/* preference of ways that have a LID in common with others */

/* What is asked of each way. */
struct sa_ways {
	const struct sa_ask *a;		/* the question */
	const struct sa_path *want;	/* it, as a PathRecord, */
	uint64_t mask;			/* and those of its components that count */
	uint64_t prefix;		/* of the subnet's GIDs */
	uint8_t life;			/* lifetime code of a way */
	uint8_t rate_max;		/* highest rate code that may be told */
	bool both_ways;			/* proved: each two hosts' ports reach each other */
	bool no_walk;			/* and their ways need not be walked to know what they
					 * carry */
};

static inline bool
sa_ways_ask(const struct sa_ways *w, unsigned bit)
{
	return w->mask >> bit & 1;
}

/* 0, or the status that says what is wrong with the question. `a` and `want` are borrowed. */
uint16_t
sa_ways_init(struct sa_ways *w, const struct sa_ask *a, const struct sa_path *want, uint64_t mask);
/* What the request says of MTU, rate and lifetime is said of these: true with the values to answer
 * with in their place; false if they do not fit. */
bool
sa_ways_choose(const struct sa_ways *w, struct sa_path *r);
/* The port of a unicast GID of this subnet; FABRIC_NONE if there is none. */
uint32_t
sa_ways_port(const struct sa_ways *w, const struct sa_gid *gid);
/* Where ways begin or end. */
struct sa_way_end {
	uint32_t port;		/* port index; FABRIC_NONE: each that has a LID */
	uint16_t lid;		/* named; 0: all of the port */
};

/* What the question says of them: 0, or the status that says what is wrong with it. */
uint16_t
sa_ways_source(const struct sa_ways *w, struct sa_way_end *e);
uint16_t
sa_ways_destination(const struct sa_ways *w, struct sa_way_end *e);
/* From LID to LID, both of the plan. True if there is a way such as is asked for: its record
 * (without a preference), and its hops if `way` is not NULL. */
bool
sa_way(const struct sa_ways *w, uint16_t slid, uint16_t dlid, struct plan_path *way,
       struct sa_path *r);

/* How many LIDs of a port count, from *first on: one if it is named (not 0), else all. */
unsigned
sa_way_lids(const struct sa_ask *a, uint32_t port, uint16_t named, uint16_t *first);
/*
 * The i-th of all pairs of one of `nsrc` and one of `ndst` LIDs, as offsets. Those come first that
 * have no LID in common (the i-th with the i-th), which are preferred.
 */
struct sa_way_pair {
	uint16_t src, dst;	/* offsets */
	uint8_t preference;	/* as in PathRecord: the less the better */
};

struct sa_way_pair
sa_way_pair(unsigned i, unsigned nsrc, unsigned ndst);

#endif
