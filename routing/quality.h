/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_QUALITY_H
#define ROUTING_QUALITY_H

#include <stdint.h>

struct check_input;

/*
 * Quality of proved tables, by static load counting (no simulation). Hosts are the ports of channel
 * adapters, by their base LIDs, in order of (leaf, port), leaves in topological order (lineup.h).
 * Links are those between switches, each direction by itself. Patterns:
 * shift: permutations dst = (src + k) mod N of the hosts, k = 1 .. N-1;
 * random: random permutations;
 * a2a: largest min(sources, destinations) of a link (as in the Dmodc papers);
 * ebb: effective bisection bandwidth (Hoefler, Schneider, Lumsdaine 2008): mean over random perfect
 * matchings of each flow's 1 / worst load on its path.
 *
 * Loads of shift_max, shift_mean and rp_median are flows. "Rated" ones count the rate: flows x
 * rate of the fastest link between switches / rate of this link. They make up `ebb` too.
 *
 * Uniform load: all hosts send to all others alike, one flow's worth each. What goes over a link is
 * (pairs that cross it) / (N - 1), rated. On a tree of full bisection it is at most 1.
 */
#define QUALITY_LEVELS 8u	/* of a tree; all above are counted with the last */
#define QUALITY_BINS 16u	/* of the histogram */
#define QUALITY_BIN 0.25	/* width of one */

/* Links of one kind, directed. */
struct quality_links {
	uint32_t links;		/* how many */
	uint32_t unused;	/* no pair of hosts crosses them */
	uint32_t shift_max;	/* most flows of a shift */
	uint32_t entries_max;	/* most table entries (switch, LID) that point there */
	double entries_mean;	/* over these links */
	double load_max;	/* uniform load of the worst */
	double load_mean;	/* over these links */
};

/* Switches at one distance from the leaves (which are those with hosts in numbers), and the cut
 * above them: parts of the tree that hang together below it, each with its hosts and its links up,
 * of which the worst counts. Bandwidths are ratios: what hosts can ask of the links up (no more
 * than all other hosts can answer) / what these carry. */
struct quality_level {
	uint32_t switches;		/* at this level */
	struct quality_links up;	/* from here to higher levels */
	struct quality_links down;	/* from higher levels to here */
	struct quality_links flat;	/* within this level */
	double design;			/* with all cables, those that are lost too; 0: no cut */
	double now;			/* with those that are there; 0: no cut */
};

struct quality_report {
	uint32_t shift_max;
	double shift_mean;
	uint32_t a2a;
	uint32_t rp_median;
	double ebb;			/* 0..1 */
	uint32_t shifts;		/* how many shift permutations were counted */
	uint32_t samples;		/* random permutations counted, as many matchings */
	double shift_rated;		/* rated worst load of a shift */
	struct quality_links links;	/* all of them */
	uint32_t nlevels;		/* that there are, at least 1 if there are switches */
	struct quality_level level[QUALITY_LEVELS];
	uint32_t histogram[QUALITY_BINS];	/* links by uniform load: [0, 0.25), [0.25, 0.5) ..,
						 * the last with all above; unused ones left out */
	/* What the worst load of a shift is made of: the worst `design` of a level, at least 1; how
	 * much worse lost cables make a cut, and drained ones beyond that, each at least 1; and the
	 * rated worst load / the least that
	 * cuts allow (whole flows): what is left to the routing, 1 is best. All 0 where there are
	 * no levels to cut, which is no tree. */
	double by_design;
	double by_faults;
	double by_drains;
	double by_routing;
};

/* `seed` makes the sampled parts repeatable; at most `max_shifts` shifts (0: all). Parallel, equal
 * results for any number of threads. */
void
quality_measure(const struct check_input *in, uint64_t seed, uint32_t max_shifts,
		uint32_t samples, struct quality_report *q);

#endif
