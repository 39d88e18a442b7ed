/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/alternatives.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Homes are bits of words: which of them a switch reaches by descents of at most h links, and
 * which by ways of at most h links at all, is a row of bits for each switch and h, made from those
 * of its neighbours with one link less. What the ports of a switch differ in cuts its homes into
 * parts, and each part is a set of ports.
 */
enum { ROUND_MAX = 64 };	/* longest way */

/* Rows of bits by switch. */
struct layer {
	uint64_t *bits;
};

struct ranked {
	const struct plan *plan;
	const struct fabric *f;
	const bool *wanted;		/* by switch */
	struct plan_ar_switch **out;
	uint32_t n;			/* switches */
	uint32_t nhomes;		/* with hosts */
	uint32_t words;			/* of a row of bits */
	uint32_t *home;			/* by bit: its switch */
	uint32_t *order;		/* switches from the bottom up */
	uint32_t *lid_first;		/* by bit, nhomes + 1: its part of lids[] */
	uint16_t *lids;			/* LIDs by home */
	uint64_t *falls;		/* who may be descended to, from where */
	struct layer falls_in[ROUND_MAX + 1];	/* by links */
	struct layer ways_in[ROUND_MAX + 1];	/* the same of all ways */
	unsigned nfalls, nways;		/* layers there are */
};

static uint64_t *
row_of(const struct ranked *r, uint64_t *bits, uint32_t sw)
{
	return bits + (size_t)sw * r->words;
}

static void
or_into(uint64_t *to, const uint64_t *from, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		to[i] |= from[i];
}

static bool
climbs(const struct ranked *r, uint32_t a, uint32_t b)
{
	const uint8_t *rank = r->plan->ranks;

	return rank[b] != rank[a] ? rank[b] < rank[a] : b < a;
}

bool
alternatives_open(const struct plan *plan, const struct fabric_edge *e)
{
	return plan->rows[e->to] != NULL && e->rate_mbps;
}

static void
note_homes(struct ranked *r)
{
	const struct plan_lids *l = r->plan->lids;
	uint32_t *bit_of = mem_array(r->n, sizeof(*bit_of)), *at;

	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE && l->dest[lid].out)
			bit_of[l->dest[lid].sw] = 1;
	r->home = mem_array(r->n, sizeof(*r->home));
	for (uint32_t sw = 0; sw < r->n; sw++)
		if (bit_of[sw]) {
			r->home[r->nhomes] = sw;
			bit_of[sw] = ++r->nhomes;
		}
	r->words = (r->nhomes + 63) / 64;
	r->lid_first = mem_array(r->nhomes + 2u, sizeof(*r->lid_first));
	r->lids = mem_array(l->top + 1u, sizeof(*r->lids));
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE && bit_of[l->dest[lid].sw])
			r->lid_first[bit_of[l->dest[lid].sw]]++;
	for (uint32_t i = 1; i <= r->nhomes; i++)
		r->lid_first[i] += r->lid_first[i - 1];
	at = mem_array(r->nhomes + 1u, sizeof(*at));
	memcpy(at, r->lid_first, (r->nhomes + 1u) * sizeof(*at));
	for (uint32_t lid = 1; lid <= l->top; lid++) {
		uint32_t sw = l->dest[lid].sw;

		if (sw != FABRIC_NONE && bit_of[sw])
			r->lids[at[bit_of[sw] - 1]++] = (uint16_t)lid;
	}
	mem_free(at);
	mem_free(bit_of);
}

static void
note_order(struct ranked *r)
{
	uint32_t at[UINT8_MAX + 2] = { 0 };
	const uint8_t *rank = r->plan->ranks;

	r->order = mem_array(r->n, sizeof(*r->order));
	for (uint32_t sw = 0; sw < r->n; sw++)
		at[UINT8_MAX - rank[sw] + 1]++;
	for (unsigned i = 1; i < UINT8_MAX + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t sw = r->n; sw-- > 0;)
		r->order[at[UINT8_MAX - rank[sw]]++] = sw;
}

/* Ports of a switch that lead up, and LFT_NO_PORT; false: there are none that do. */
static bool
up_ports(const struct ranked *r, uint32_t sw, bool up[256])
{
	bool any = false;

	memset(up, 0, 256 * sizeof(up[0]));
	for (uint32_t e = r->f->edge_first[sw]; e < r->f->edge_first[sw + 1]; e++)
		any |= up[r->f->edges[e].out] = climbs(r, sw, r->f->edges[e].to);
	up[LFT_NO_PORT] = true;
	return any;
}

/* Homes that the row does not descend to, although that can be done, are out of reach below. */
static void
obey_row(const struct ranked *r, uint32_t sw, uint64_t *falls)
{
	const struct plan_row *row = r->plan->rows[sw];
	bool up[256];

	if (!up_ports(r, sw, up))
		return;
	for (uint32_t w = 0; w < r->words; w++)
		for (uint64_t left = falls[w]; left; left &= left - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(left);

			if (plan_row_uses(row, up, &r->lids[r->lid_first[i]],
					  r->lid_first[i + 1] - r->lid_first[i]))
				falls[w] &= ~(UINT64_C(1) << i % 64);
		}
}

/* Who can be descended to. */
static void
find_falls(struct ranked *r)
{
	uint64_t *own = mem_array((size_t)r->n, r->words * sizeof(*own));

	r->falls = mem_array((size_t)r->n, r->words * sizeof(*r->falls));
	for (uint32_t i = 0; i < r->nhomes; i++)
		row_of(r, own, r->home[i])[i / 64] |= UINT64_C(1) << i % 64;
	for (uint32_t at = 0; at < r->n; at++) {
		uint32_t sw = r->order[at];
		uint64_t *mine = row_of(r, r->falls, sw);

		if (!r->plan->rows[sw])
			continue;
		for (uint32_t e = r->f->edge_first[sw]; e < r->f->edge_first[sw + 1]; e++) {
			const struct fabric_edge *edge = &r->f->edges[e];

			if (edge->to != sw && !climbs(r, sw, edge->to) &&
			    alternatives_open(r->plan, edge))
				or_into(mine, row_of(r, r->falls, edge->to), r->words);
		}
		obey_row(r, sw, mine);
		or_into(mine, row_of(r, own, sw), r->words);
	}
	r->falls_in[0].bits = own;
	r->nfalls = 1;
}

/* One link more. False: nothing new is reached. */
static bool
next_layer(struct ranked *r, struct layer *layers, unsigned h, bool up)
{
	const uint64_t *base = layers[h - 1].bits;
	size_t size = (size_t)r->n * r->words * sizeof(*base);
	bool grew = false;

	layers[h].bits = mem_alloc(size);
	memcpy(layers[h].bits, base, size);
	for (uint32_t sw = 0; sw < r->n; sw++) {
		uint64_t *mine = row_of(r, layers[h].bits, sw);
		const uint64_t *falls = row_of(r, r->falls, sw);

		if (!r->plan->rows[sw])
			continue;
		if (up && h < r->nfalls)
			or_into(mine, row_of(r, r->falls_in[h].bits, sw), r->words);
		for (uint32_t e = r->f->edge_first[sw]; e < r->f->edge_first[sw + 1]; e++) {
			const struct fabric_edge *edge = &r->f->edges[e];
			const uint64_t *there = base + (size_t)edge->to * r->words;

			if (edge->to == sw || climbs(r, sw, edge->to) != up ||
			    !alternatives_open(r->plan, edge))
				continue;
			for (uint32_t w = 0; w < r->words; w++)
				mine[w] |= there[w] & (up ? ~falls[w] : falls[w]);
		}
		grew |= memcmp(mine, base + (size_t)sw * r->words,
			       r->words * sizeof(*mine)) != 0;
	}
	return grew || (up && h < r->nfalls);
}

static unsigned
make_layers(struct ranked *r, struct layer *layers, bool up)
{
	unsigned h = 1;

	while (h < ROUND_MAX && next_layer(r, layers, h, up))
		h++;
	return h < ROUND_MAX ? h : ROUND_MAX;
}

/* ---- Sets of one switch ---- */

struct part {
	uint64_t *homes;	/* a row of bits */
	struct ar_ports ports;
};

struct parts {
	struct part *all;	/* len, room for size */
	uint32_t len, size;
};

static struct part *
add_part(struct parts *p, const struct ranked *r)
{
	if (p->len == p->size) {
		uint32_t size = p->size ? 2 * p->size : 16;

		p->all = mem_realloc(p->all, size, sizeof(*p->all));
		memset(p->all + p->size, 0, (size - p->size) * sizeof(*p->all));
		p->size = size;
	}
	if (!p->all[p->len].homes)
		p->all[p->len].homes = mem_array(r->words, sizeof(uint64_t));
	p->all[p->len].ports = (struct ar_ports){ { 0 } };
	return &p->all[p->len++];
}

static void
parts_free(struct parts *p)
{
	for (uint32_t i = 0; i < p->size; i++)
		mem_free(p->all[i].homes);
	mem_free(p->all);
}

/* The homes in `reach` can be had by this port too. */
static void
split(struct parts *p, const struct ranked *r, const uint64_t *reach, unsigned port)
{
	for (uint32_t i = 0, n = p->len; i < n; i++) {
		uint64_t in = 0, apart = 0;

		for (uint32_t w = 0; w < r->words; w++) {
			in |= p->all[i].homes[w] & reach[w];
			apart |= p->all[i].homes[w] & ~reach[w];
		}
		if (in && apart) {
			struct part *rest = add_part(p, r);

			rest->ports = p->all[i].ports;
			for (uint32_t w = 0; w < r->words; w++) {
				rest->homes[w] = p->all[i].homes[w] & ~reach[w];
				p->all[i].homes[w] &= reach[w];
			}
		}
		if (in)
			ar_ports_add(&p->all[i].ports, port);
	}
}

uint16_t
alternatives_set(struct plan_ar_switch *s, const struct ar_ports *ports)
{
	size_t size = s->subs * sizeof(*ports);

	for (uint16_t i = 1; i <= s->used; i++)
		if (!memcmp(&s->ports[i * s->subs], ports, size))
			return i;
	if (s->used == s->top) {
		uint32_t top = s->top ? 2u * s->top : 8;

		top = top < UINT16_MAX ? top : UINT16_MAX;
		s->ports = mem_realloc(s->ports, (top + 1) * s->subs, sizeof(*s->ports));
		memset(s->ports + (s->top + 1u) * s->subs, 0,
		       (top - s->top) * s->subs * sizeof(*s->ports));
		s->top = (uint16_t)top;
	}
	memcpy(&s->ports[++s->used * s->subs], ports, size);
	return s->used;
}

/* Homes that `layers` come to with h links and not with less, by whichever ports. */
static void
sets_of_layer(struct ranked *r, uint32_t sw, struct layer *layers, unsigned h, bool up,
	      struct parts *p)
{
	const uint64_t *now = row_of(r, layers[h].bits, sw);
	const uint64_t *before = row_of(r, layers[h - 1].bits, sw);
	const uint64_t *falls = row_of(r, r->falls, sw);
	struct plan_ar_switch *s = r->out[sw];
	struct part *all;
	uint64_t any = 0;

	p->len = 0;
	all = add_part(p, r);
	for (uint32_t w = 0; w < r->words; w++)
		any |= all->homes[w] = now[w] & ~before[w] & (up ? ~falls[w] : ~(uint64_t)0);
	if (!any)
		return;
	for (uint32_t e = r->f->edge_first[sw]; e < r->f->edge_first[sw + 1]; e++) {
		const struct fabric_edge *edge = &r->f->edges[e];

		if (edge->to != sw && climbs(r, sw, edge->to) == up &&
		    alternatives_open(r->plan, edge))
			split(p, r, row_of(r, layers[h - 1].bits, edge->to), edge->out);
	}
	for (uint32_t i = 0; i < p->len; i++) {
		uint16_t set;

		if (ar_ports_count(&p->all[i].ports) < 2)
			continue;
		set = alternatives_set(s, &p->all[i].ports);
		for (uint32_t w = 0; w < r->words; w++)
			for (uint64_t left = p->all[i].homes[w]; left; left &= left - 1)
				s->table[0].group[r->home[w * 64 + __builtin_ctzll(left)]] = set;
	}
}

static void
make_sets(void *arg, unsigned thread, size_t first, size_t end)
{
	struct ranked *r = arg;
	struct parts p = { 0 };

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		if (!r->wanted[sw] || !r->plan->rows[sw])
			continue;
		r->out[sw] = plan_ar_switch_new(r->n, 0, 1, 1);
		for (unsigned h = 1; h < r->nfalls; h++)
			sets_of_layer(r, (uint32_t)sw, r->falls_in, h, false, &p);
		for (unsigned h = 1; h < r->nways; h++)
			sets_of_layer(r, (uint32_t)sw, r->ways_in, h, true, &p);
	}
	parts_free(&p);
}

static void
layers_free(struct layer *layers)
{
	for (unsigned h = 0; h <= ROUND_MAX; h++)
		mem_free(layers[h].bits);
}

void
alternatives_ranked(const struct plan *plan, const bool *wanted, unsigned threads,
		    struct plan_ar_switch **out)
{
	struct ranked r = { .plan = plan, .f = plan->fabric, .wanted = wanted, .out = out,
			    .n = plan->fabric->nswitches };
	size_t size;

	note_homes(&r);
	note_order(&r);
	find_falls(&r);
	r.nfalls = make_layers(&r, r.falls_in, false);
	size = (size_t)r.n * r.words * sizeof(uint64_t);
	r.ways_in[0].bits = mem_alloc(size);
	memcpy(r.ways_in[0].bits, r.falls_in[0].bits, size);
	r.nways = make_layers(&r, r.ways_in, true);
	parallel_run(threads, r.n, 16, make_sets, &r);
	layers_free(r.falls_in);
	layers_free(r.ways_in);
	mem_free(r.falls);
	mem_free(r.lids);
	mem_free(r.lid_first);
	mem_free(r.order);
	mem_free(r.home);
}

/* ---- Parallel cables ---- */

void
alternatives_parallel(const struct plan *plan, const bool *wanted, unsigned threads,
		      struct plan_ar_switch **out)
{
	const struct fabric *f = plan->fabric;

	(void)threads;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct plan_ar_switch *s;

		if (!wanted[sw] || !plan->rows[sw])
			continue;
		out[sw] = s = plan_ar_switch_new(f->nswitches, 0, 1, 1);
		s->table[0].by_port = true;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			const struct fabric_edge *a = &f->edges[e];
			struct ar_ports ports = { { 0 } };

			if (a->to == sw || !alternatives_open(plan, a))
				continue;
			for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
				if (f->edges[i].to == a->to &&
				    f->edges[i].rate_mbps == a->rate_mbps)
					ar_ports_add(&ports, f->edges[i].out);
			if (ar_ports_count(&ports) > 1)
				s->table[0].group[a->out] = alternatives_set(s, &ports);
		}
	}
}

static struct plan_ar_switch *
open_sets(const struct plan *plan, uint32_t sw, const struct plan_ar_switch *from)
{
	const struct fabric *f = plan->fabric;
	struct plan_ar_switch *s = plan_ar_switch_new(f->nswitches, 0, 1, 1);
	struct ar_ports open = { { 0 } };

	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
		if (f->edges[e].to != sw && alternatives_open(plan, &f->edges[e]))
			ar_ports_add(&open, f->edges[e].out);
	for (uint32_t home = 0; home < from->nhomes; home++) {
		uint16_t set = from->table[0].group[home];
		struct ar_ports ports = *plan_ar_ports(from, set, 0);

		for (unsigned w = 0; w < 4; w++)
			ports.word[w] &= open.word[w];
		if (set && ar_ports_count(&ports) > 1)
			s->table[0].group[home] = alternatives_set(s, &ports);
	}
	return s;
}

void
alternatives_offered(const struct plan *plan, const bool *wanted, unsigned threads,
		     struct plan_ar_switch **out)
{
	(void)threads;
	for (uint32_t sw = 0; sw < plan->fabric->nswitches; sw++)
		if (wanted[sw] && plan->rows[sw] && plan->offered->sw[sw])
			out[sw] = open_sets(plan, sw, plan->offered->sw[sw]);
}
