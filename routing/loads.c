/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/measure.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Loads of links under all pairs of hosts at once, and what tables and levels they belong to. Ways
 * to one destination are followed once from each switch with hosts.
 */
#define BLOCK 64u	/* destinations that are followed together: a bit each */


/* Of a block of destinations: that of bit `bit` is counted at the link, if it was not before. */
static void
count_dest(struct quality *q, struct counter *c, uint32_t edge, uint32_t block, uint64_t bit)
{
	if (c->stamp[edge] != block) {
		c->stamp[edge] = block;
		c->counted[edge] = 0;
	}
	if (!(c->counted[edge] & bit))
		__atomic_fetch_add(&q->dests[edge], 1, __ATOMIC_RELAXED);
	c->counted[edge] |= bit;
}

static void
count_way(struct quality *q, struct counter *c, uint32_t leaf, size_t host, size_t first)
{
	uint64_t *from = &q->from[(size_t)leaf * q->words];
	uint32_t e = measure_edge(q, q->leaves[leaf], &q->hosts[host]);

	for (uint32_t hops = 0; e != FABRIC_NONE && hops < UINT8_MAX; hops++) {
		uint64_t *word = &from[e / 64], bit = (uint64_t)1 << e % 64;

		if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
			__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
		count_dest(q, c, e, (uint32_t)first + 1, (uint64_t)1 << (host - first));
		c->pairs[e] += q->leaf_hosts[leaf];
		e = measure_edge(q, q->channels.to[e], &q->hosts[host]);
	}
}

/* All pairs: who crosses each link, and to how many destinations. In blocks of destinations whose
 * LIDs lie side by side in the tables. */
static void
run_all_pairs(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];

	for (; first < end; first += BLOCK) {
		size_t last = end - first > BLOCK ? first + BLOCK : end;

		for (uint32_t l = 0; l < q->nleaves; l++)
			for (size_t i = first; i < last; i++)
				count_way(q, c, l, i, first);
	}
}

static uint32_t
a2a_risk(const struct quality *q)
{
	uint32_t nedges = q->in->fabric->nedges, risk = 0;
	uint32_t *sources = mem_array(nedges, sizeof(*sources));

	for (uint32_t l = 0; l < q->nleaves; l++)
		for (uint32_t e = 0; e < nedges; e++)
			if (q->from[(size_t)l * q->words + e / 64] >> e % 64 & 1)
				sources[e] += q->leaf_hosts[l];
	for (uint32_t e = 0; e < nedges; e++) {
		uint32_t least = sources[e] < q->dests[e] ? sources[e] : q->dests[e];

		risk = least > risk ? least : risk;
	}
	mem_free(sources);
	return risk;
}

/* Of one link. */
struct link_load {
	uint32_t shift;		/* most flows of a shift */
	uint32_t entries;	/* of the table, that point there */
	double uniform;		/* uniform load */
};

struct tables {
	const struct quality *q;	/* whose */
	uint32_t *entries;		/* by edge */
};

/* Entries of used LIDs, by the edge that they point to. */
static void
count_entries(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct tables *t = arg;
	const struct plan_lids *l = t->q->in->lids;

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		const struct stop *s = &t->q->stops[sw];

		for (uint32_t lid = 1; lid <= l->top; lid++) {
			uint8_t out = plan_row_port(s->row, lid);
			uint32_t e = out <= s->nports ? s->edge_at[out] : FABRIC_NONE;

			if (e != FABRIC_NONE && l->dest[lid].port != FABRIC_NONE)
				t->entries[e]++;
		}
	}
}

static void
add_link(struct quality_links *k, const struct link_load *l)
{
	k->links++;
	k->unused += l->uniform == 0;
	k->shift_max = l->shift > k->shift_max ? l->shift : k->shift_max;
	k->entries_max = l->entries > k->entries_max ? l->entries : k->entries_max;
	k->load_max = l->uniform > k->load_max ? l->uniform : k->load_max;
	k->entries_mean += l->entries;
	k->load_mean += l->uniform;
}

static void
finish_links(struct quality_links *k)
{
	if (!k->links)
		return;
	k->entries_mean /= k->links;
	k->load_mean /= k->links;
}

static uint32_t
level_of(const struct quality *q, uint32_t sw)
{
	uint32_t level = cuts_level(q->cuts, sw);

	return level < QUALITY_LEVELS ? level : QUALITY_LEVELS - 1;
}

static struct quality_links *
links_of(const struct quality *q, struct quality_report *r, uint32_t from, uint32_t to)
{
	uint32_t a = level_of(q, from), b = level_of(q, to);

	return a == b ? &r->level[a].flat : a < b ? &r->level[a].up : &r->level[b].down;
}

static struct link_load
load_of(const struct quality *q, uint32_t e, uint32_t entries)
{
	struct link_load l = { .entries = entries };
	uint64_t pairs = 0;

	for (unsigned i = 0; i < q->threads; i++) {
		const struct counter *c = &q->counters[i];

		l.shift = c->worst[e] > l.shift ? c->worst[e] : l.shift;
		pairs += c->pairs[e];
	}
	if (q->nhosts > 1)
		l.uniform = (double)pairs / (q->nhosts - 1) * q->weight[e];
	return l;
}

static void
add_links(const struct quality *q, const uint32_t *entries, struct quality_report *r)
{
	const struct fabric *f = q->in->fabric;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		r->level[level_of(q, sw)].switches++;
		if (level_of(q, sw) >= r->nlevels)
			r->nlevels = level_of(q, sw) + 1;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			struct link_load l = load_of(q, e, entries[e]);
			double bin = l.uniform / QUALITY_BIN;

			add_link(&r->links, &l);
			add_link(links_of(q, r, sw, f->edges[e].to), &l);
			if (l.uniform > 0)
				r->histogram[bin < QUALITY_BINS - 1 ? (unsigned)bin :
					     QUALITY_BINS - 1]++;
		}
	}
}

void
loads_measure(struct quality *q, struct quality_report *r)
{
	const struct fabric *f = q->in->fabric;
	struct tables t = { .q = q, .entries = mem_array(f->nedges, sizeof(*t.entries)) };

	q->words = f->nedges / 64 + 1;
	q->from = mem_array((size_t)q->nleaves * q->words, sizeof(*q->from));
	q->dests = mem_array(f->nedges, sizeof(*q->dests));
	parallel_run(q->threads, q->nhosts, BLOCK, run_all_pairs, q);
	parallel_run(q->threads, f->nswitches, 16, count_entries, &t);
	r->a2a = a2a_risk(q);
	add_links(q, t.entries, r);
	finish_links(&r->links);
	for (uint32_t i = 0; i < r->nlevels; i++) {
		finish_links(&r->level[i].up);
		finish_links(&r->level[i].down);
		finish_links(&r->level[i].flat);
	}
	mem_free(q->from);
	mem_free(q->dests);
	mem_free(t.entries);
}
