/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CAPACITY_H
#define TESTS_CAPACITY_H

#include <float.h>
#include <math.h>
#include "sm/base/mem.h"
#include "sm/fabric/fabric.h"

/*
 * What cables allow in a tree, whatever the routing, if it only keeps to ways that climb and then
 * descend, of any length: the least load that some link has to bear.
 *
 * Give every link a length. What is to be sent, each at least as far as the shortest way, needs so
 * many (rate x length); all links together have so many (capacity x length). The former divided by
 * the latter is a load that some link has at least, for any lengths at all, and for the right ones
 * (linear programming's dual of the maximum concurrent flow) it can be had. Lengths are sought
 * among powers of a load that somebody suggests, which may be any: it makes a worse bound at most.
 * For uniform traffic that comes to a percent or two; where a pattern has a few bottlenecks of
 * unlike weight, as shifts have, the bound may be far too low.
 */

#define CAPACITY_POWER 20000.0	/* powers are below */

/* Links from the nearest host, by switch. */
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

/* Shortest distances from one switch, by ways that climb and then descend: dist[] of switches
 * while they climb, then of the same when they descend. */
static inline void
capacity_distances(const struct fabric *f, const uint8_t *level, const double *length,
		   uint32_t from, double *dist, bool *done)
{
	uint32_t n = f->nswitches;

	for (uint32_t i = 0; i < 2 * n; i++) {
		dist[i] = i % n == from ? 0 : DBL_MAX;
		done[i] = false;
	}
	for (;;) {
		uint32_t at = FABRIC_NONE, sw;

		for (uint32_t i = 0; i < 2 * n; i++)
			if (!done[i] && dist[i] < DBL_MAX &&
			    (at == FABRIC_NONE || dist[i] < dist[at]))
				at = i;
		if (at == FABRIC_NONE)
			return;
		done[at] = true;
		sw = at % n;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			uint32_t to = f->edges[e].to;
			bool up = level[to] > level[sw];

			if (up && at >= n)
				continue;
			to += up ? 0 : n;
			if (dist[to] > dist[at] + length[e])
				dist[to] = dist[at] + length[e];
		}
	}
}

/* By lengths of edges. Demand is by (from, to) among switches, in units of `unit_mbps`. */
static inline double
capacity_by(const struct fabric *f, const double *demand, double unit_mbps, const double *length)
{
	double *dist = mem_array(2u * f->nswitches, sizeof(*dist)), need = 0, have = 0;
	bool *done = mem_array(2u * f->nswitches, sizeof(*done));
	uint8_t *level = capacity_levels(f);

	for (uint32_t e = 0; e < f->nedges; e++)
		have += f->edges[e].rate_mbps * length[e];
	for (uint32_t i = 0; i < f->nswitches; i++) {
		const double *row = demand + (size_t)i * f->nswitches;
		double any = 0;

		for (uint32_t k = 0; k < f->nswitches; k++)
			any += k == i ? 0 : row[k];
		if (!(any > 0))
			continue;
		capacity_distances(f, level, length, i, dist, done);
		for (uint32_t k = 0; k < f->nswitches; k++)
			if (k != i && row[k] > 0 && dist[f->nswitches + k] < DBL_MAX)
				need += row[k] * unit_mbps * dist[f->nswitches + k];
	}
	mem_free(level);
	mem_free(dist);
	mem_free(done);
	return have > 0 ? need / have : 0;
}

/* The best bound by powers of load[], which is by port of the fabric that sends. */
static inline double
capacity_bound(const struct fabric *f, const double *demand, double unit_mbps, const double *load)
{
	double *length = mem_array(f->nedges, sizeof(*length)), best = 0, most = 0;

	for (uint32_t i = 0; i < f->nports; i++)
		most = fmax(most, load[i]);
	for (double power = 1; most > 0 && power < CAPACITY_POWER; power *= 2) {
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
				const struct fabric_port *out =
					fabric_port_at(f, f->switches[sw], f->edges[e].out);

				length[e] = pow(load[out - f->ports] / most, power);
			}
		best = fmax(best, capacity_by(f, demand, unit_mbps, length));
	}
	mem_free(length);
	return best;
}

#endif
