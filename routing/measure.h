/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_MEASURE_H
#define ROUTING_MEASURE_H

#include "routing/channels.h"
#include "routing/quality.h"

/* Between quality.c, which lays patterns on the tables, loads.c, which counts all pairs, and
 * cuts.c, which tells what the cables allow. */
struct host {
	uint32_t sw;	/* home switch */
	uint32_t place;	/* of that in topological order */
	uint16_t lid;	/* base LID */
	uint8_t out;	/* port there */
};

/* A switch as paths are followed through it. */
struct stop {
	const struct plan_row *row;	/* its table; NULL */
	const uint32_t *edge_at;	/* by port number: edge that leaves there */
	uint8_t nports;			/* its ports */
};

struct pattern {
	uint32_t worst;		/* largest load of a link, flows */
	double rated;		/* largest rated load */
	double ebb;		/* mean over flows of 1 / worst rated load on the flow's path */
};

struct counter {
	uint32_t *load;		/* by edge: flows of the present pattern */
	uint32_t *worst;	/* by edge: largest load of a shift */
	uint32_t *used;		/* edges that have any */
	uint32_t nused;		/* their number */
	uint32_t *perm;		/* by host: a permutation */
	uint32_t *stamp;	/* by edge: last block of destinations that was counted there */
	uint64_t *counted;	/* by edge: of that, which ones */
	uint64_t *pairs;	/* by edge: pairs of hosts that cross it */
};

struct quality {
	const struct check_input *in;	/* whose tables */
	struct channels channels;	/* for its index of edges */
	struct stop *stops;		/* by switch */
	double *weight;			/* by edge: rate of the fastest / its rate */
	struct host *hosts;		/* in order of (leaf, port), leaves as in lineup.h */
	uint32_t nhosts;		/* their number */
	uint32_t *shifts;		/* distances measured */
	struct pattern *patterns;	/* results of the present kind */
	struct counter *counters;	/* by thread */
	unsigned threads;		/* their number */
	uint64_t seed;			/* of all that is random */
	uint32_t *leaves;		/* switches that have hosts */
	uint32_t *leaf_hosts;		/* how many each has */
	uint32_t nleaves;		/* their number */
	uint64_t *from;			/* by leaf: bitmap of edges that its paths cross; atomic */
	uint32_t *dests;		/* by edge: destinations whose paths cross it; atomic */
	uint32_t words;			/* of one bitmap */
	struct cuts *cuts;		/* levels, and parts of the fabric below them */
};

/* The edge by which a switch sends to a host; FABRIC_NONE at its home and where tables end. */
static inline uint32_t
measure_edge(const struct quality *q, uint32_t sw, const struct host *to)
{
	const struct stop *s = &q->stops[sw];
	uint8_t out = plan_row_port(s->row, to->lid);

	return sw == to->sw || out > s->nports ? FABRIC_NONE : s->edge_at[out];
}

/* All pairs of hosts, entries and levels: all but the patterns. Shifts were counted before. */
void
loads_measure(struct quality *q, struct quality_report *r);
/* Hosts must be listed. */
struct cuts *
cuts_new(const struct quality *q);
void
cuts_free(struct cuts *c);
/* Distance of a switch from the leaves, with all cables that are lost put back. */
uint32_t
cuts_level(const struct cuts *c, uint32_t sw);
/* What is by design, by faults and by routing. */
void
cuts_measure(struct cuts *c, struct quality_report *r);

#endif
