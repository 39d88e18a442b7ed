/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/check.h"
#include <stdlib.h>
#include <string.h>
#include "routing/channels.h"
#include "routing/lineup.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * How well proved tables spread traffic. Nothing is simulated: flows of a pattern are laid along
 * their paths and counted on the links between switches. Flows between two hosts of one switch
 * cross none. Hosts are the ports of channel adapters, by their base LIDs, in order of (switch,
 * port), switches in topological order, so that shift patterns go the way that jobs are usually
 * placed.
 *
 * Patterns are shared out among threads; each has its result in a place of its own and its random
 * numbers from its own number, so that the figures do not depend on the number of threads.
 */
struct host {
	uint32_t sw;	/* home switch */
	uint32_t place;	/* of that in topological order */
	uint16_t lid;	/* base LID */
	uint8_t out;	/* port there */
};

struct pattern {
	uint32_t worst;	/* largest load of a link */
	double ebb;	/* mean over flows of 1 / worst load on the flow's path */
};

struct counter {
	uint32_t *load;		/* by edge: flows of the present pattern */
	uint32_t *used;		/* edges that have any */
	uint32_t nused;		/* their number */
	uint32_t *perm;		/* by host: a permutation */
	uint32_t *stamp;	/* by edge or switch: last destination that was counted there */
};

struct quality {
	const struct check_input *in;	/* whose tables */
	struct channels channels;	/* for its index of edges */
	struct host *hosts;		/* in order of (leaf, port), leaves as in lineup.h */
	uint32_t nhosts;		/* their number */
	uint32_t *shifts;		/* distances measured */
	struct pattern *patterns;	/* results of the present kind */
	struct counter *counters;	/* by thread */
	uint64_t seed;			/* of all that is random */
	uint32_t *leaves;		/* switches that have hosts */
	uint32_t *leaf_hosts;		/* how many each has */
	uint32_t nleaves;		/* their number */
	uint64_t *from;			/* by edge: bitmap of leaves whose paths cross it */
	uint32_t *dests;		/* by edge: destinations whose paths cross it; atomic */
	uint32_t words;			/* of one bitmap */
};

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

/* The edge by which a switch sends to a host; FABRIC_NONE at its home and where tables end. */
static inline uint32_t
edge_to(const struct quality *q, uint32_t sw, const struct host *to)
{
	return sw == to->sw ? FABRIC_NONE :
		channels_edge(&q->channels, sw, plan_row_port(q->in->rows[sw], to->lid));
}

static void
add_flow(const struct quality *q, struct counter *c, const struct host *from, const struct host *to)
{
	const struct fabric *f = q->in->fabric;
	uint32_t e, sw = from->sw;

	for (uint32_t hops = 0; hops < f->nswitches; hops++) {
		e = edge_to(q, sw, to);
		if (e == FABRIC_NONE)
			return;
		if (c->load[e]++ == 0)
			c->used[c->nused++] = e;
		sw = f->edges[e].to;
	}
}

static uint32_t
worst_on_path(const struct quality *q, const struct counter *c, const struct host *from,
	      const struct host *to)
{
	const struct fabric *f = q->in->fabric;
	uint32_t e, sw = from->sw, worst = 1;

	for (uint32_t hops = 0; hops < f->nswitches; hops++) {
		e = edge_to(q, sw, to);
		if (e == FABRIC_NONE)
			break;
		if (c->load[e] > worst)
			worst = c->load[e];
		sw = f->edges[e].to;
	}
	return worst;
}

/* The largest load; counting starts afresh. */
static uint32_t
take_worst(struct counter *c)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < c->nused; i++) {
		if (c->load[c->used[i]] > worst)
			worst = c->load[c->used[i]];
		c->load[c->used[i]] = 0;
	}
	c->nused = 0;
	return worst;
}

static void
run_shifts(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];

	for (size_t i = first; i < end; i++) {
		for (uint32_t h = 0; h < q->nhosts; h++)
			add_flow(q, c, &q->hosts[h], &q->hosts[(h + q->shifts[i]) % q->nhosts]);
		q->patterns[i].worst = take_worst(c);
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
		q->patterns[i].worst = take_worst(c);
	}
}

/* One half of the hosts, drawn at random, sends to the other half. */
static void
run_matchings(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];
	uint32_t half = q->nhosts / 2;

	for (size_t i = first; i < end; i++) {
		double sum = 0;

		shuffle(c->perm, q->nhosts, q->seed + 2 * i + 1);
		for (uint32_t k = 0; k < half; k++)
			add_flow(q, c, &q->hosts[c->perm[k]], &q->hosts[c->perm[half + k]]);
		for (uint32_t k = 0; k < half; k++)
			sum += 1.0 / worst_on_path(q, c, &q->hosts[c->perm[k]],
						   &q->hosts[c->perm[half + k]]);
		q->patterns[i].ebb = half ? sum / half : 1;
		take_worst(c);
	}
}

/* All pairs, by destination: who crosses each link, and to how many destinations. */
static void
run_all_pairs(void *arg, unsigned thread, size_t first, size_t end)
{
	struct quality *q = arg;
	struct counter *c = &q->counters[thread];
	const struct fabric *f = q->in->fabric;

	for (size_t i = first; i < end; i++) {
		for (uint32_t l = 0; l < q->nleaves; l++) {
			uint64_t bit = (uint64_t)1 << l % 64;
			uint32_t e, sw = q->leaves[l];

			for (uint32_t hops = 0; hops < f->nswitches; hops++) {
				uint64_t *word;

				e = edge_to(q, sw, &q->hosts[i]);
				if (e == FABRIC_NONE)
					break;
				word = &q->from[(size_t)e * q->words + l / 64];
				if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
					__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
				if (c->stamp[e] != i + 1)
					__atomic_fetch_add(&q->dests[e], 1, __ATOMIC_RELAXED);
				c->stamp[e] = (uint32_t)i + 1;
				sw = f->edges[e].to;
			}
		}
	}
}

static uint32_t
a2a_risk(const struct quality *q)
{
	uint32_t risk = 0;

	for (uint32_t e = 0; e < q->in->fabric->nedges; e++) {
		uint32_t sources = 0, least;

		for (uint32_t l = 0; l < q->nleaves; l++)
			if (q->from[(size_t)e * q->words + l / 64] >> l % 64 & 1)
				sources += q->leaf_hosts[l];
		least = sources < q->dests[e] ? sources : q->dests[e];
		if (least > risk)
			risk = least;
	}
	return risk;
}

static int
host_cmp(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->out < y->out ? -1 : x->out > y->out;
}

static void
list_hosts(struct quality *q)
{
	const struct plan_lids *l = q->in->lids;
	uint32_t *place = mem_array(q->in->fabric->nswitches, sizeof(*place));

	lineup_found(q->in->fabric, place);
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
quality_init(struct quality *q, unsigned threads)
{
	const struct fabric *f = q->in->fabric;

	channels_init(&q->channels, f, 1);
	list_hosts(q);
	q->counters = mem_array(threads, sizeof(*q->counters));
	for (unsigned i = 0; i < threads; i++) {
		struct counter *c = &q->counters[i];

		c->load = mem_array(f->nedges, sizeof(*c->load));
		c->used = mem_array(f->nedges, sizeof(*c->used));
		c->stamp = mem_array(f->nedges, sizeof(*c->stamp));
		c->perm = mem_array(q->nhosts, sizeof(*c->perm));
	}
	q->words = q->nleaves / 64 + 1;
	q->from = mem_array((size_t)f->nedges * q->words, sizeof(*q->from));
	q->dests = mem_array(f->nedges, sizeof(*q->dests));
}

static void
quality_free(struct quality *q, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++) {
		mem_free(q->counters[i].load);
		mem_free(q->counters[i].used);
		mem_free(q->counters[i].stamp);
		mem_free(q->counters[i].perm);
	}
	mem_free(q->counters);
	mem_free(q->hosts);
	mem_free(q->leaves);
	mem_free(q->leaf_hosts);
	mem_free(q->shifts);
	mem_free(q->from);
	mem_free(q->dests);
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
measure_shifts(struct quality *q, unsigned threads, struct quality_report *r)
{
	uint64_t sum = 0;

	q->patterns = mem_array(r->shifts, sizeof(*q->patterns));
	parallel_run(threads, r->shifts, 4, run_shifts, q);
	for (uint32_t i = 0; i < r->shifts; i++) {
		sum += q->patterns[i].worst;
		if (q->patterns[i].worst > r->shift_max)
			r->shift_max = q->patterns[i].worst;
	}
	r->shift_mean = r->shifts ? (double)sum / r->shifts : 0;
	mem_free(q->patterns);
}

static void
measure_random(struct quality *q, unsigned threads, struct quality_report *r)
{
	double sum = 0;

	q->patterns = mem_array(r->samples, sizeof(*q->patterns));
	parallel_run(threads, r->samples, 4, run_permutations, q);
	parallel_run(threads, r->samples, 4, run_matchings, q);
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
	struct quality q = { .in = in, .seed = seed };
	unsigned threads = parallel_threads(in->threads);

	quality_init(&q, threads);
	*report = (struct quality_report){ .samples = samples };
	report->shifts = pick_shifts(&q, max_shifts);
	measure_shifts(&q, threads, report);
	measure_random(&q, threads, report);
	parallel_run(threads, q.nhosts, 16, run_all_pairs, &q);
	report->a2a = a2a_risk(&q);
	quality_free(&q, threads);
}
