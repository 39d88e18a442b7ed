/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LAYERS_HELP_H
#define TESTS_LAYERS_HELP_H

#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"

/* What the several LIDs of hosts (LMC) are good for, counted on the tables of a plan: by the test
 * and the benchmark of engine fatpaths. */
#define HELP_LAYERS 8u
#define HELP_HOPS 16u

struct help_layers {
	unsigned layers;		/* LIDs of a host */
	double hops[HELP_LAYERS];	/* by offset: links between switches, as a mean over pairs
					 * of switches with hosts */
	unsigned longest;		/* of all */
	double apart;			/* ways of a pair of which no two share a link, as a mean */
	unsigned least_apart;		/* and the fewest */
	double pair_worst, pair_mean;	/* all hosts of one switch send to those of another, evenly
					 * to all LIDs: load of the worst link */
	double shift_worst, shift_mean;	/* all switches do, to the one so far on */
	double shift_one, shift_one_mean;	/* the same to the first LID alone */
};

struct help_way {
	uint32_t port[HELP_HOPS];	/* links: ports that they leave by */
	unsigned len;			/* how many */
};

/* The way from a switch to a LID, without the link to the host; false if it ends elsewhere. */
static inline bool
help_way(const struct plan *p, uint32_t sw, uint32_t lid, struct help_way *way)
{
	const struct fabric *f = p->fabric;

	for (way->len = 0; sw != p->lids->dest[lid].sw && way->len < HELP_HOPS; way->len++) {
		uint8_t out = p->rows[sw] ? plan_row_port(p->rows[sw], lid) : LFT_NO_PORT;
		uint32_t port, peer;

		if (out == LFT_NO_PORT || out > fabric_switch_node(f, sw)->nports)
			return false;
		port = fabric_switch_node(f, sw)->first_port + out;
		peer = f->ports[port].peer;
		if (peer == FABRIC_NONE || f->nodes[f->ports[peer].node].sw == FABRIC_NONE)
			return false;
		way->port[way->len] = port;
		sw = f->nodes[f->ports[peer].node].sw;
	}
	return sw == p->lids->dest[lid].sw;
}

static inline bool
help_share(const struct help_way *a, const struct help_way *b)
{
	for (unsigned i = 0; i < a->len; i++)
		for (unsigned k = 0; k < b->len; k++)
			if (a->port[i] == b->port[k])
				return true;
	return false;
}

/* The most ways of which no two share a link. */
static inline unsigned
help_apart(const struct help_way *ways, unsigned len)
{
	unsigned best = 0;

	for (unsigned set = 1; set < 1u << len; set++) {
		unsigned n = (unsigned)__builtin_popcount(set);

		for (unsigned i = 0; i < len && n > best; i++)
			for (unsigned k = 0; k < i; k++)
				if (set >> i & 1 && set >> k & 1 && help_share(&ways[i], &ways[k]))
					n = 0;
		best = n > best ? n : best;
	}
	return best;
}

/* Base LIDs of the hosts of a switch. */
static inline unsigned
help_hosts_of(const struct plan *p, uint32_t sw, uint32_t *lids)
{
	const struct fabric_node *n = fabric_switch_node(p->fabric, sw);
	unsigned len = 0;

	for (unsigned i = 1; i <= n->nports; i++) {
		uint32_t peer = p->fabric->ports[n->first_port + i].peer;

		if (peer != FABRIC_NONE && p->lids->base[peer] &&
		    p->fabric->nodes[p->fabric->ports[peer].node].sw == FABRIC_NONE)
			lids[len++] = p->lids->base[peer];
	}
	return len;
}

/* Hosts of `a` send to those of `b`, host by host, to so many LIDs evenly; into load[], by port. */
static inline bool
help_send(const struct plan *p, uint32_t a, uint32_t b, unsigned layers, double *load)
{
	uint32_t from[256], to[256];
	unsigned nfrom = help_hosts_of(p, a, from), nto = help_hosts_of(p, b, to);
	struct help_way way;

	for (unsigned i = 0; i < nfrom && nto; i++)
		for (unsigned y = 0; y < layers; y++) {
			if (!help_way(p, a, to[i % nto] + y, &way))
				return false;
			for (unsigned k = 0; k < way.len; k++)
				load[way.port[k]] += 1.0 / layers;
		}
	return true;
}

static inline double
help_worst(const struct fabric *f, double *load)
{
	double worst = 0;

	for (uint32_t i = 0; i < f->nports; i++)
		worst = load[i] > worst ? load[i] : worst;
	memset(load, 0, f->nports * sizeof(*load));
	return worst;
}

static inline bool
help_measure_pair(const struct plan *p, uint32_t a, uint32_t b, struct help_layers *m,
		  double *load)
{
	struct help_way ways[HELP_LAYERS];
	uint32_t lids[256];
	unsigned apart;
	double worst;

	if (!help_hosts_of(p, b, lids))
		return true;
	for (unsigned y = 0; y < m->layers; y++) {
		if (!help_way(p, a, lids[0] + y, &ways[y]))
			return false;
		m->hops[y] += ways[y].len;
		m->longest = ways[y].len > m->longest ? ways[y].len : m->longest;
	}
	apart = help_apart(ways, m->layers);
	m->apart += apart;
	m->least_apart = apart < m->least_apart ? apart : m->least_apart;
	if (!help_send(p, a, b, m->layers, load))
		return false;
	worst = help_worst(p->fabric, load);
	m->pair_mean += worst;
	m->pair_worst = worst > m->pair_worst ? worst : m->pair_worst;
	return true;
}

static inline bool
help_measure_shift(const struct plan *p, uint32_t shift, unsigned layers, double *load,
		   double *worst, double *mean)
{
	uint32_t n = p->fabric->nswitches;
	double w;

	for (uint32_t a = 0; a < n; a++)
		if (!help_send(p, a, (a + shift) % n, layers, load))
			return false;
	w = help_worst(p->fabric, load);
	*worst = w > *worst ? w : *worst;
	*mean += w / (n - 1);
	return true;
}

/* False: some way ends elsewhere. */
static inline bool
help_measure_layers(const struct plan *p, unsigned layers, struct help_layers *m)
{
	uint32_t n = p->fabric->nswitches, lids[256], pairs = 0;
	double *load = mem_array(p->fabric->nports + 1, sizeof(*load));
	bool ok = true;

	*m = (struct help_layers){ .layers = layers, .least_apart = UINT32_MAX };
	for (uint32_t a = 0; a < n && ok; a++)
		for (uint32_t b = 0; b < n && ok && help_hosts_of(p, a, lids); b++)
			if (a != b && help_hosts_of(p, b, lids)) {
				ok = help_measure_pair(p, a, b, m, load);
				pairs++;
			}
	for (uint32_t k = 1; k < n && ok; k++)
		ok = help_measure_shift(p, k, layers, load, &m->shift_worst, &m->shift_mean) &&
		     help_measure_shift(p, k, 1, load, &m->shift_one, &m->shift_one_mean);
	for (unsigned y = 0; y < layers; y++)
		m->hops[y] /= pairs;
	m->apart /= pairs;
	m->pair_mean /= pairs;
	mem_free(load);
	return ok;
}

#endif
