/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/quality.h"
#include <stdlib.h>
#include <string.h>
#include "routing/grid.h"
#include "routing/levels.h"
#include "routing/lineup.h"
#include "routing/measure.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * How well proved tables spread traffic. Nothing is simulated: flows of a pattern are laid along
 * their paths and counted on the links between switches. Flows between two hosts of one switch
 * cross none. Shift patterns go by the order of (leaf, port), the way that jobs are usually placed.
 *
 * Patterns are shared out among threads; each has its result in a place of its own and its random
 * numbers from its own number, so that the figures do not depend on the number of threads.
 */
/* A well-mixed sequence from a seed (splitmix64). */
static uint64_t
mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void
shuffle(uint32_t *array, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		array[i] = i;
	for (uint32_t i = len; i > 1; i--) {
		uint32_t k = (uint32_t)(mix(&seed) % i), t = array[i - 1];

		array[i - 1] = array[k];
		array[k] = t;
	}
}

static void
add_flow(const struct quality *q, struct counter *c, const struct host *from, const struct host *to)
{
	uint32_t e = measure_edge(q, from->sw, to);

	for (uint32_t hops = 0; e != FABRIC_NONE && hops < UINT8_MAX; hops++) {
		if (c->load[e]++ == 0)
			c->used[c->nused++] = e;
		e = measure_edge(q, q->channels.to[e], to);
	}
}

/* The largest rated load of a link on the way, at least 1. */
static double
worst_on_path(const struct quality *q, const struct counter *c, const struct host *from,
	      const struct host *to)
{
	uint32_t e = measure_edge(q, from->sw, to);
	double worst = 1;

	for (uint32_t hops = 0; e != FABRIC_NONE && hops < UINT8_MAX; hops++) {
		double load = c->load[e] * q->weight[e];

		worst = load > worst ? load : worst;
		e = measure_edge(q, q->channels.to[e], to);
	}
	return worst;
}

/* The largest loads of the pattern; counting starts afresh. */
static void
take_worst(const struct quality *q, struct counter *c, struct pattern *p)
{
	p->worst = 0;
	p->rated = 0;
	for (uint32_t i = 0; i < c->nused; i++) {
		uint32_t e = c->used[i], load = c->load[e];
		double rated = load * q->weight[e];

		p->worst = load > p->worst ? load : p->worst;
		p->rated = rated > p->rated ? rated : p->rated;
		c->load[e] = 0;
	}
	c->nused = 0;
}

static void
keep_worst(struct counter *c)
{
	for (uint32_t i = 0; i < c->nused; i++) {
		uint32_t e = c->used[i];

		c->worst[e] = c->load[e] > c->worst[e] ? c->load[e] : c->worst[e];
	}
}

static void
run_shifts(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];

	for (size_t i = first; i < end; i++) {
		for (uint32_t h = 0; h < q->nhosts; h++)
			add_flow(q, c, &q->hosts[h], &q->hosts[(h + q->shifts[i]) % q->nhosts]);
		keep_worst(c);
		take_worst(q, c, &q->patterns[i]);
	}
}

static void
run_permutations(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];

	for (size_t i = first; i < end; i++) {
		shuffle(c->perm, q->nhosts, q->seed + 2 * i);
		for (uint32_t h = 0; h < q->nhosts; h++)
			add_flow(q, c, &q->hosts[h], &q->hosts[c->perm[h]]);
		take_worst(q, c, &q->patterns[i]);
	}
}

/* One half of the hosts, drawn at random, sends to the other half. */
static void
run_matchings(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];
	uint32_t half = q->nhosts / 2;
	struct pattern unused;

	for (size_t i = first; i < end; i++) {
		double sum = 0;

		shuffle(c->perm, q->nhosts, q->seed + 2 * i + 1);
		for (uint32_t k = 0; k < half; k++)
			add_flow(q, c, &q->hosts[c->perm[k]], &q->hosts[c->perm[half + k]]);
		for (uint32_t k = 0; k < half; k++)
			sum += 1.0 / worst_on_path(q, c, &q->hosts[c->perm[k]],
						   &q->hosts[c->perm[half + k]]);
		q->patterns[i].ebb = half ? sum / half : 1;
		take_worst(q, c, &unused);
	}
}

static int
host_cmp(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->out < y->out ? -1 : x->out > y->out;
}

/* Has every switch hosts? */
static bool
is_direct(const struct fabric *f)
{
	uint32_t *hosts = levels_hosts(f), sw = 0;

	while (sw < f->nswitches && hosts[sw])
		sw++;
	mem_free(hosts);
	return sw == f->nswitches;
}

/* The order in which switches are shifted over: by the tree that they form, by their places in a
 * grid, or else as they are. */
static void
line_up(const struct fabric *f, uint32_t *place)
{
	struct grid_shape *s = NULL;
	struct links links;
	struct grid g;

	if (!is_direct(f)) {
		lineup_found(f, place);
		return;
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		place[sw] = sw;
	links_init(&links, f);
	if (grid_find(&links, &s, NULL) == 0) {
		if (grid_open(&g, s, &links, NULL) == 0)
			memcpy(place, g.place, f->nswitches * sizeof(*place));
		grid_close(&g);
	}
	grid_shape_unref(s);
	links_free(&links);
}

static void
list_hosts(struct quality *q)
{
	const struct plan_lids *l = q->in->lids;
	uint32_t *place = mem_array(q->in->fabric->nswitches, sizeof(*place));

	line_up(q->in->fabric, place);
	q->hosts = mem_array(l->top + 1u, sizeof(*q->hosts));
	for (uint32_t lid = 1; lid <= l->top; lid++) {
		const struct plan_dest *d = &l->dest[lid];

		if (d->port != FABRIC_NONE && d->sw != FABRIC_NONE && d->out && d->offset == 0)
			q->hosts[q->nhosts++] = (struct host){
				.sw = d->sw, .place = place[d->sw], .lid = (uint16_t)lid,
				.out = d->out,
			};
	}
	mem_free(place);
	qsort(q->hosts, q->nhosts, sizeof(*q->hosts), host_cmp);
	q->leaves = mem_array(q->nhosts, sizeof(*q->leaves));
	q->leaf_hosts = mem_array(q->nhosts, sizeof(*q->leaf_hosts));
	for (uint32_t i = 0; i < q->nhosts; i++) {
		if (i == 0 || q->hosts[i].sw != q->hosts[i - 1].sw)
			q->leaves[q->nleaves++] = q->hosts[i].sw;
		q->leaf_hosts[q->nleaves - 1]++;
	}
}

static void
list_stops(struct quality *q)
{
	const struct fabric *f = q->in->fabric;

	q->stops = mem_array(f->nswitches, sizeof(*q->stops));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		q->stops[sw] = (struct stop){
			.row = q->in->rows[sw], .edge_at = &q->channels.edge_at[n->first_port],
			.nports = n->nports,
		};
	}
}

/* A link without a rate counts as a fast one. */
static void
weigh_links(struct quality *q)
{
	const struct fabric *f = q->in->fabric;
	uint32_t fastest = 0;

	q->weight = mem_array(f->nedges, sizeof(*q->weight));
	for (uint32_t e = 0; e < f->nedges; e++)
		fastest = f->edges[e].rate_mbps > fastest ? f->edges[e].rate_mbps : fastest;
	for (uint32_t e = 0; e < f->nedges; e++)
		q->weight[e] = f->edges[e].rate_mbps ?
			(double)fastest / f->edges[e].rate_mbps : 1;
}

static void
quality_init(struct quality *q)
{
	const struct fabric *f = q->in->fabric;

	channels_init(&q->channels, f, 1);
	list_hosts(q);
	list_stops(q);
	weigh_links(q);
	q->cuts = cuts_new(q);
	q->counters = mem_array(q->threads, sizeof(*q->counters));
	for (unsigned i = 0; i < q->threads; i++) {
		struct counter *c = &q->counters[i];

		c->load = mem_array(f->nedges, sizeof(*c->load));
		c->worst = mem_array(f->nedges, sizeof(*c->worst));
		c->used = mem_array(f->nedges, sizeof(*c->used));
		c->stamp = mem_array(f->nedges, sizeof(*c->stamp));
		c->counted = mem_array(f->nedges, sizeof(*c->counted));
		c->pairs = mem_array(f->nedges, sizeof(*c->pairs));
		c->perm = mem_array(q->nhosts, sizeof(*c->perm));
	}
}

static void
quality_free(struct quality *q)
{
	for (unsigned i = 0; i < q->threads; i++) {
		mem_free(q->counters[i].load);
		mem_free(q->counters[i].worst);
		mem_free(q->counters[i].used);
		mem_free(q->counters[i].stamp);
		mem_free(q->counters[i].counted);
		mem_free(q->counters[i].pairs);
		mem_free(q->counters[i].perm);
	}
	mem_free(q->counters);
	mem_free(q->hosts);
	mem_free(q->leaves);
	mem_free(q->leaf_hosts);
	mem_free(q->shifts);
	mem_free(q->stops);
	mem_free(q->weight);
	cuts_free(q->cuts);
	channels_free(&q->channels);
}

/* All distances 1..N-1, or a random choice of them. */
static uint32_t
pick_shifts(struct quality *q, uint32_t max)
{
	uint32_t all = q->nhosts ? q->nhosts - 1 : 0;

	q->shifts = mem_array(all, sizeof(*q->shifts));
	shuffle(q->shifts, all, q->seed);
	for (uint32_t i = 0; i < all; i++)
		q->shifts[i]++;
	return max && max < all ? max : all;
}

static int
worst_cmp(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;

	return x->worst < y->worst ? -1 : x->worst > y->worst;
}

static void
measure_shifts(struct quality *q, struct quality_report *r)
{
	uint64_t sum = 0;

	q->patterns = mem_array(r->shifts, sizeof(*q->patterns));
	parallel_run(q->threads, r->shifts, 4, run_shifts, q);
	for (uint32_t i = 0; i < r->shifts; i++) {
		sum += q->patterns[i].worst;
		if (q->patterns[i].worst > r->shift_max)
			r->shift_max = q->patterns[i].worst;
		if (q->patterns[i].rated > r->shift_rated)
			r->shift_rated = q->patterns[i].rated;
	}
	r->shift_mean = r->shifts ? (double)sum / r->shifts : 0;
	mem_free(q->patterns);
}

static void
measure_random(struct quality *q, struct quality_report *r)
{
	double sum = 0;

	q->patterns = mem_array(r->samples, sizeof(*q->patterns));
	parallel_run(q->threads, r->samples, 4, run_permutations, q);
	parallel_run(q->threads, r->samples, 4, run_matchings, q);
	for (uint32_t i = 0; i < r->samples; i++)
		sum += q->patterns[i].ebb;
	qsort(q->patterns, r->samples, sizeof(*q->patterns), worst_cmp);
	if (r->samples) {
		r->rp_median = q->patterns[r->samples / 2].worst;
		r->ebb = sum / r->samples;
	}
	mem_free(q->patterns);
}

void
quality_measure(const struct check_input *in, uint64_t seed, uint32_t max_shifts,
		uint32_t samples, struct quality_report *report)
{
	struct quality q = { .in = in, .seed = seed, .threads = parallel_threads(in->threads) };

	quality_init(&q);
	*report = (struct quality_report){ .samples = samples };
	report->shifts = pick_shifts(&q, max_shifts);
	measure_shifts(&q, report);
	measure_random(&q, report);
	loads_measure(&q, report);
	cuts_measure(q.cuts, report);
	quality_free(&q);
}
