/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CAPACITY_H
#define TESTS_CAPACITY_H

#include <math.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/fabric.h"

/*
 * What cables allow in a tree, whatever the routing, if it only keeps to ways that climb and then
 * descend, of any length: the least time in which all that is to be sent can be, while something
 * else goes on at a steady rate. It is found from both sides, and how far these are apart is told.
 *
 * From below: give every link a length. What is to be sent, each at least as far as the shortest
 * way, needs so many (amount x length), what goes on so many a unit of time, all links together
 * have so many (capacity x length) a unit of time. The first divided by the difference of the
 * others is a time that is needed at least, for any lengths at all, and for the right ones (linear
 * programming's dual of the maximum concurrent flow) it suffices.
 *
 * From above: at each switch what is for one destination splits over all ports of the ways that
 * climb no more than they must; what has little behind it gets less and less, until the sum of all
 * (load ^ power) is least. The power grows: the worst link counts ever more, and what links then
 * cost by the last bit of load are the lengths that the other side needs (Gallager's minimum
 * delay routing; the p-norm in place of the greatest load).
 */
#define CAPACITY_NEAR 0.01	/* it is over when both sides are so near to each other */
#define CAPACITY_ROUNDS 3000u	/* at most */
#define CAPACITY_LOOK 10u	/* rounds, and the lower side is looked at */
#define CAPACITY_POWER 16.0	/* to begin with */
#define CAPACITY_POWER_MAX 1024.0
#define CAPACITY_LEAST 1e-9	/* of a share, that it may grow again */

/* What is to be sent, and what goes on: by (from, to) among switches. */
struct capacity_task {
	const struct fabric *f;
	double unit_mbps;	/* amounts and rates are in this */
	const double *amount;	/* to be sent: rate x time */
	const double *rate;	/* that goes on; NULL: nothing does */
};

struct capacity {
	double least;		/* time that is needed */
	double enough;		/* time that suffices; infinite if that was not looked for */
	unsigned rounds;	/* that it took */
};

/* One of the ports by which a switch sends on what is for one destination. */
struct capacity_branch {
	uint32_t edge, to;	/* by which, to which switch */
	double share;		/* of what comes there; all together are 1 */
};

struct capacity_junction {
	uint32_t sw, home;	/* which switch, what for */
	size_t first;		/* its branches */
	uint32_t len;		/* how many */
};

struct capacity_work {
	const struct capacity_task *t;
	uint32_t n;			/* switches */
	uint8_t *level;			/* by switch: links from the nearest host */
	uint32_t *order;		/* switches by that */
	double *room;			/* by edge: capacity in units */
	struct capacity_junction *junctions;	/* home by home, in order of the ways */
	size_t njunctions, junctions_size;
	struct capacity_branch *branches;
	size_t nbranches, branches_size;
	double *flow, *cost;		/* by switch, of one home */
	double *load, *length;		/* by edge */
	double *dist;			/* by switch: while climbing, then descending */
};

static inline double
capacity_wanted(const struct capacity_task *t, size_t at, double time)
{
	return t->amount[at] + (t->rate ? t->rate[at] * time : 0);
}

/* ---- Levels ---- */

static inline uint8_t *
capacity_levels(const struct fabric *f)
{
	uint8_t *level = mem_array(f->nswitches, sizeof(*level));
	bool more = true;

	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (f->nodes[p->node].sw != FABRIC_NONE && p->peer != FABRIC_NONE &&
		    f->nodes[f->ports[p->peer].node].sw == FABRIC_NONE)
			level[f->nodes[p->node].sw] = 1;
	}
	for (uint8_t at = 1; more; at++) {
		more = false;
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
				if (level[sw] == at && !level[f->edges[e].to]) {
					level[f->edges[e].to] = at + 1;
					more = true;
				}
	}
	return level;
}

static inline void
capacity_order(struct capacity_work *w)
{
	uint32_t len = 0;

	w->order = mem_array(w->n, sizeof(*w->order));
	for (unsigned at = 0; at < 256; at++)
		for (uint32_t sw = 0; sw < w->n; sw++)
			if (w->level[sw] == at)
				w->order[len++] = sw;
}

static inline bool
capacity_climbs(const struct capacity_work *w, uint32_t sw, uint32_t to)
{
	return w->level[to] > w->level[sw];
}

/* Links within a level are in no way. */
static inline bool
capacity_falls(const struct capacity_work *w, uint32_t sw, uint32_t to)
{
	return w->level[to] < w->level[sw];
}

/* ---- Ways ---- */

/* The switch sends on by the edges that lead up, or down, to switches in `there`. */
static inline void
capacity_junction(struct capacity_work *w, uint32_t sw, uint32_t home, const bool *there, bool up)
{
	const struct fabric *f = w->t->f;
	size_t first = w->nbranches;

	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
		uint32_t to = f->edges[e].to;

		if (!there[to] || (up ? !capacity_climbs(w, sw, to) : !capacity_falls(w, sw, to)))
			continue;
		if (w->nbranches == w->branches_size) {
			w->branches_size = 2 * w->branches_size + 1024;
			w->branches = mem_realloc(w->branches, w->branches_size,
						  sizeof(*w->branches));
		}
		w->branches[w->nbranches++] = (struct capacity_branch){ .edge = e, .to = to };
	}
	for (size_t i = first; i < w->nbranches; i++)
		w->branches[i].share = 1.0 / (double)(w->nbranches - first);
	if (w->njunctions == w->junctions_size) {
		w->junctions_size = 2 * w->junctions_size + 1024;
		w->junctions = mem_realloc(w->junctions, w->junctions_size,
					   sizeof(*w->junctions));
	}
	w->junctions[w->njunctions++] = (struct capacity_junction){
		sw, home, first, (uint32_t)(w->nbranches - first),
	};
}

static inline void
capacity_mark(const struct capacity_work *w, bool *met, size_t first)
{
	for (size_t i = first; i < w->nbranches; i++)
		met[w->branches[i].to] = true;
}

/* To one home: who descends to it, who climbs to those; junctions of those that have something. */
static inline void
capacity_home(struct capacity_work *w, uint32_t home)
{
	const struct fabric *f = w->t->f;
	bool *falls = mem_array(w->n, sizeof(*falls)), *there = mem_array(w->n, sizeof(*there));
	bool *met = mem_array(w->n, sizeof(*met));

	falls[home] = there[home] = true;
	for (uint32_t i = 0; i < w->n; i++)
		for (uint32_t sw = w->order[i], e = f->edge_first[sw]; e < f->edge_first[sw + 1];
		     e++)
			there[sw] = falls[sw] |= capacity_falls(w, sw, f->edges[e].to) &&
				falls[f->edges[e].to];
	for (uint32_t i = w->n; i-- > 0;)
		for (uint32_t sw = w->order[i], e = f->edge_first[sw]; e < f->edge_first[sw + 1];
		     e++)
			there[sw] |= capacity_climbs(w, sw, f->edges[e].to) &&
				there[f->edges[e].to];
	for (uint32_t sw = 0; sw < w->n; sw++)
		met[sw] = capacity_wanted(w->t, (size_t)sw * w->n + home, 1) > 0;
	for (uint32_t i = 0; i < w->n; i++) {
		size_t first = w->nbranches;

		if (!met[w->order[i]] || falls[w->order[i]] || !there[w->order[i]])
			continue;
		capacity_junction(w, w->order[i], home, there, true);
		capacity_mark(w, met, first);
	}
	for (uint32_t i = w->n; i-- > 0;) {
		size_t first = w->nbranches;

		if (!met[w->order[i]] || !falls[w->order[i]] || w->order[i] == home)
			continue;
		capacity_junction(w, w->order[i], home, falls, false);
		capacity_mark(w, met, first);
	}
	mem_free(falls);
	mem_free(there);
	mem_free(met);
}

/* ---- From below ---- */

/* Shortest ways to one home, by w->length: w->dist[]. */
static inline void
capacity_distances(struct capacity_work *w, uint32_t home)
{
	const struct fabric *f = w->t->f;
	double *climb = w->dist, *fall = w->dist + w->n;

	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t sw = w->order[i];

		fall[sw] = sw == home ? 0 : HUGE_VAL;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
			if (capacity_falls(w, sw, f->edges[e].to))
				fall[sw] = fmin(fall[sw], w->length[e] + fall[f->edges[e].to]);
	}
	for (uint32_t i = w->n; i-- > 0;) {
		uint32_t sw = w->order[i];

		climb[sw] = fall[sw];
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
			if (capacity_climbs(w, sw, f->edges[e].to))
				climb[sw] = fmin(climb[sw], w->length[e] + climb[f->edges[e].to]);
	}
}

static inline double
capacity_least(struct capacity_work *w)
{
	double need = 0, goes_on = 0, have = 0;

	for (uint32_t e = 0; e < w->t->f->nedges; e++)
		have += w->room[e] * w->length[e];
	for (uint32_t home = 0; home < w->n; home++) {
		bool any = false;

		for (uint32_t sw = 0; sw < w->n && !any; sw++)
			any = sw != home && capacity_wanted(w->t, (size_t)sw * w->n + home, 1) > 0;
		if (!any)
			continue;
		capacity_distances(w, home);
		for (uint32_t sw = 0; sw < w->n; sw++) {
			size_t at = (size_t)sw * w->n + home;

			if (sw == home || !(w->dist[sw] < HUGE_VAL))
				continue;
			need += w->t->amount[at] * w->dist[sw];
			goes_on += w->t->rate ? w->t->rate[at] * w->dist[sw] : 0;
		}
	}
	return have > goes_on ? need / (have - goes_on) : 0;
}

/* ---- From above ---- */

/* What each link has to carry in all, if it takes so long; returns the time that the worst needs
 * for that. */
static inline double
capacity_load(struct capacity_work *w, double time)
{
	double worst = 0;
	uint32_t home = FABRIC_NONE;

	memset(w->load, 0, w->t->f->nedges * sizeof(*w->load));
	for (size_t j = 0; j < w->njunctions; j++) {
		const struct capacity_junction *at = &w->junctions[j];

		if (at->home != home) {
			home = at->home;
			for (uint32_t sw = 0; sw < w->n; sw++)
				w->flow[sw] = capacity_wanted(w->t, (size_t)sw * w->n + home,
							      time);
		}
		for (size_t i = at->first; i < at->first + at->len; i++) {
			double part = w->flow[at->sw] * w->branches[i].share;

			w->load[w->branches[i].edge] += part;
			w->flow[w->branches[i].to] += part;
		}
	}
	for (uint32_t e = 0; e < w->t->f->nedges; e++)
		worst = fmax(worst, w->load[e] / w->room[e]);
	return worst;
}

static inline void
capacity_price(struct capacity_work *w, double worst, double power)
{
	for (uint32_t e = 0; e < w->t->f->nedges; e++)
		w->length[e] = w->load[e] > 0 ?
			pow(w->load[e] / w->room[e] / worst, power) / w->room[e] : 0;
}

/* Shares move from what costs more to what costs less. */
static inline void
capacity_shift(struct capacity_work *w, const struct capacity_junction *at, double mean,
	       double power)
{
	struct capacity_branch *b = &w->branches[at->first];
	double sum = 0;

	for (uint32_t i = 0; i < at->len; i++) {
		double on = w->length[b[i].edge] + w->cost[b[i].to];
		double grows = on > 0 ? exp(log(mean / on) * 0.5 / power) : 2;

		b[i].share *= grows > 2 ? 2 : grows < 0.5 ? 0.5 : grows;
		b[i].share = fmax(b[i].share, CAPACITY_LEAST);
		sum += b[i].share;
	}
	for (uint32_t i = 0; i < at->len; i++)
		b[i].share /= sum;
}

static inline void
capacity_adapt(struct capacity_work *w, double power)
{
	for (size_t j = w->njunctions; j-- > 0;) {
		const struct capacity_junction *at = &w->junctions[j];
		double mean = 0;

		w->cost[at->home] = 0;
		for (size_t i = at->first; i < at->first + at->len; i++)
			mean += w->branches[i].share * (w->length[w->branches[i].edge] +
							w->cost[w->branches[i].to]);
		w->cost[at->sw] = mean;
		if (at->len > 1 && mean > 0)
			capacity_shift(w, at, mean, power);
	}
}

static inline void
capacity_init(struct capacity_work *w, const struct capacity_task *t)
{
	uint32_t n = t->f->nswitches;

	*w = (struct capacity_work){ .t = t, .n = n, .level = capacity_levels(t->f) };
	capacity_order(w);
	w->room = mem_array(t->f->nedges, sizeof(*w->room));
	for (uint32_t e = 0; e < t->f->nedges; e++)
		w->room[e] = t->f->edges[e].rate_mbps / t->unit_mbps;
	w->flow = mem_array(n, sizeof(*w->flow));
	w->cost = mem_array(n, sizeof(*w->cost));
	w->load = mem_array(t->f->nedges, sizeof(*w->load));
	w->length = mem_array(t->f->nedges, sizeof(*w->length));
	w->dist = mem_array(2u * n, sizeof(*w->dist));
	for (uint32_t home = 0; home < n; home++)
		capacity_home(w, home);
}

static inline void
capacity_free(struct capacity_work *w)
{
	mem_free(w->level);
	mem_free(w->order);
	mem_free(w->room);
	mem_free(w->junctions);
	mem_free(w->branches);
	mem_free(w->flow);
	mem_free(w->cost);
	mem_free(w->load);
	mem_free(w->length);
	mem_free(w->dist);
}

/* Both sides, until they are CAPACITY_NEAR to each other or enough rounds are over. */
static inline struct capacity
capacity_find(const struct capacity_task *t)
{
	struct capacity found = { .enough = HUGE_VAL };
	double power = CAPACITY_POWER, time = 1;
	struct capacity_work w;

	capacity_init(&w, t);
	for (unsigned round = 0; w.njunctions && round < CAPACITY_ROUNDS &&
	     found.enough > found.least * (1 + CAPACITY_NEAR); round++) {
		double worst = capacity_load(&w, time);

		found.rounds = round + 1;
		/* What goes on for as long as was thought, or less, is in the loads. */
		if (!t->rate || worst <= time)
			found.enough = fmin(found.enough, worst);
		else
			time = worst * 1.001;
		capacity_price(&w, worst, power);
		if (round % CAPACITY_LOOK == 0)
			found.least = fmax(found.least, capacity_least(&w));
		capacity_adapt(&w, power);
		if (round % 100 == 99 && power < CAPACITY_POWER_MAX)
			power *= 2;
	}
	capacity_free(&w);
	return found;
}

#endif
