/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/traffic/share.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Progressive filling: the rates of all flows grow together; a flow stops where its demand is met
 * or a link on its way is full. Each link and each flow stops once, so the work is the length of
 * all ways and a heap of links.
 *
 * The heap orders links by the level at which they would be full if no flow stopped before. When
 * flows stop, that level can only rise: a link is put right when it comes to the top.
 */
#define SAME (1 + 1e-12)	/* levels that differ by less are one */

/* Lists of items by key, one behind the other. */
struct index {
	size_t *first;		/* nkeys + 1: where each key's items begin */
	uint32_t *items;	/* all of them */
};

struct heap_entry {
	double level;		/* at which it was to be full */
	uint32_t link;		/* index */
};

struct filling {
	struct share *s;	/* the task */
	double *weight;		/* by link: parts of flows that still grow */
	double *used;		/* by link: what the others take */
	uint32_t *growing;	/* by way: flows that grow */
	uint32_t *stopping;	/* by way: flows that stop at this level */
	uint32_t *touched;	/* ntouched ways with stopping flows */
	uint32_t ntouched;	/* how many */
	struct index way_flows;	/* flows of each way */
	struct index link_ways;	/* ways over each link */
	struct index link_flows;	/* flows that enter by each link */
	uint32_t *by_demand;	/* flows, the smallest demand first */
	struct heap_entry *heap;	/* nheap links that are not full */
	uint32_t nheap;		/* how many */
	double level;		/* that has been reached */
};

/* ---- Lists ---- */

static void
index_start(struct index *x, uint32_t nkeys)
{
	x->first = mem_array((size_t)nkeys + 2, sizeof(*x->first));
}

static void
index_count(struct index *x, uint32_t key)
{
	x->first[key + 2]++;
}

static void
index_sum(struct index *x, uint32_t nkeys)
{
	for (size_t i = 2; i < (size_t)nkeys + 2; i++)
		x->first[i] += x->first[i - 1];
	x->items = mem_array(x->first[nkeys + 1], sizeof(*x->items));
}

/* After the last add, first[key] is where a key's items begin. */
static void
index_add(struct index *x, uint32_t key, uint32_t item)
{
	x->items[x->first[key + 1]++] = item;
}

static void
index_free(struct index *x)
{
	mem_free(x->first);
	mem_free(x->items);
}

static void
index_flows(struct filling *f)
{
	const struct share *s = f->s;

	index_start(&f->way_flows, s->nways);
	index_start(&f->link_flows, s->nlinks);
	for (uint32_t i = 0; i < s->nflows; i++) {
		index_count(&f->way_flows, s->flows[i].way);
		if (s->flows[i].link != SHARE_NONE)
			index_count(&f->link_flows, s->flows[i].link);
	}
	index_sum(&f->way_flows, s->nways);
	index_sum(&f->link_flows, s->nlinks);
	for (uint32_t i = 0; i < s->nflows; i++) {
		index_add(&f->way_flows, s->flows[i].way, i);
		if (s->flows[i].link != SHARE_NONE)
			index_add(&f->link_flows, s->flows[i].link, i);
	}
}

static void
index_ways(struct filling *f)
{
	const struct share *s = f->s;

	index_start(&f->link_ways, s->nlinks);
	for (uint32_t w = 0; w < s->nways; w++)
		for (uint32_t i = 0; i < s->ways[w].len; i++)
			index_count(&f->link_ways, s->steps[s->ways[w].first + i].link);
	index_sum(&f->link_ways, s->nlinks);
	for (uint32_t w = 0; w < s->nways; w++)
		for (uint32_t i = 0; i < s->ways[w].len; i++)
			index_add(&f->link_ways, s->steps[s->ways[w].first + i].link, w);
}

static int
compare_demand(const void *a, const void *b, void *arg)
{
	const struct share_flow *flows = arg;
	double x = flows[*(const uint32_t *)a].demand, y = flows[*(const uint32_t *)b].demand;

	return x < y ? -1 : x > y;
}

static void
sort_by_demand(struct filling *f)
{
	const struct share *s = f->s;
	bool sorted = true;

	f->by_demand = mem_array(s->nflows, sizeof(*f->by_demand));
	for (uint32_t i = 0; i < s->nflows; i++) {
		f->by_demand[i] = i;
		sorted &= !i || s->flows[i - 1].demand <= s->flows[i].demand;
	}
	if (!sorted)
		qsort_r(f->by_demand, s->nflows, sizeof(*f->by_demand), compare_demand, s->flows);
}

/* ---- The heap ---- */

static void
heap_down(struct filling *f, uint32_t i)
{
	struct heap_entry e = f->heap[i];
	uint32_t child;

	while ((child = 2 * i + 1) < f->nheap) {
		if (child + 1 < f->nheap && f->heap[child + 1].level < f->heap[child].level)
			child++;
		if (f->heap[child].level >= e.level)
			break;
		f->heap[i] = f->heap[child];
		i = child;
	}
	f->heap[i] = e;
}

static void
heap_pop(struct filling *f)
{
	f->heap[0] = f->heap[--f->nheap];
	if (f->nheap)
		heap_down(f, 0);
}

static bool
link_grows(const struct filling *f, uint32_t link)
{
	const struct index *x = &f->link_flows, *y = &f->link_ways;

	for (size_t i = x->first[link]; i < x->first[link + 1]; i++)
		if (f->s->flows[x->items[i]].rate < 0)
			return true;
	for (size_t i = y->first[link]; i < y->first[link + 1]; i++)
		if (f->growing[y->items[i]])
			return true;
	return false;
}

static double
full_at(const struct filling *f, uint32_t link)
{
	double room = f->s->capacity[link] - f->used[link];

	if (f->weight[link] <= 0)
		return f->level;
	return room > f->level * f->weight[link] ? room / f->weight[link] : f->level;
}

/* The level at which the next link is full, which is then on top; -1 if there is none. */
static double
next_full(struct filling *f)
{
	while (f->nheap) {
		struct heap_entry *top = &f->heap[0];
		double level = full_at(f, top->link);

		if (level > top->level * SAME) {
			top->level = level;
			heap_down(f, 0);
		} else if (!link_grows(f, top->link)) {
			heap_pop(f);
		} else {
			return level;
		}
	}
	return -1;
}

/* ---- Flows stop ---- */

static void
stop_flow(struct filling *f, uint32_t i)
{
	struct share_flow *flow = &f->s->flows[i];

	if (flow->rate >= 0)
		return;
	flow->rate = f->level;
	f->growing[flow->way]--;
	if (!f->stopping[flow->way]++)
		f->touched[f->ntouched++] = flow->way;
	if (flow->link != SHARE_NONE) {
		f->weight[flow->link] -= 1;
		f->used[flow->link] += f->level;
	}
}

/* The ways of what has stopped take no more. */
static void
settle(struct filling *f)
{
	const struct share *s = f->s;

	while (f->ntouched) {
		const struct share_way *w = &s->ways[f->touched[--f->ntouched]];
		uint32_t *n = &f->stopping[f->touched[f->ntouched]];

		for (uint32_t i = 0; i < w->len; i++) {
			const struct share_step *step = &s->steps[w->first + i];

			f->weight[step->link] -= (double)step->part * *n;
			f->used[step->link] += (double)step->part * *n * f->level;
		}
		*n = 0;
	}
}

static void
stop_link(struct filling *f, uint32_t link)
{
	const struct index *x = &f->link_flows, *y = &f->link_ways, *z = &f->way_flows;

	for (size_t i = x->first[link]; i < x->first[link + 1]; i++)
		stop_flow(f, x->items[i]);
	for (size_t i = y->first[link]; i < y->first[link + 1]; i++) {
		uint32_t w = y->items[i];

		for (size_t k = z->first[w]; f->growing[w] && k < z->first[w + 1]; k++)
			stop_flow(f, z->items[k]);
	}
}

/* All links that are full at this level, before any of them gets room by what stops. */
static void
stop_full(struct filling *f)
{
	while (f->nheap && full_at(f, f->heap[0].link) <= f->level * SAME) {
		uint32_t link = f->heap[0].link;

		heap_pop(f);
		stop_link(f, link);
	}
	settle(f);
}

static void
fill(struct filling *f)
{
	const struct share *s = f->s;
	uint32_t next = 0;

	for (;;) {
		double full = next_full(f);

		while (next < s->nflows && s->flows[f->by_demand[next]].rate >= 0)
			next++;
		if (next == s->nflows)
			return;
		f->level = s->flows[f->by_demand[next]].demand;
		if (full >= 0 && full < f->level) {
			f->level = full;
			stop_full(f);
			continue;
		}
		while (next < s->nflows && s->flows[f->by_demand[next]].demand <= f->level)
			stop_flow(f, f->by_demand[next++]);
		settle(f);
	}
}

static void
add_weights(struct filling *f)
{
	const struct share *s = f->s;

	for (uint32_t i = 0; i < s->nflows; i++) {
		s->flows[i].rate = -1;
		f->growing[s->flows[i].way]++;
		if (s->flows[i].link != SHARE_NONE)
			f->weight[s->flows[i].link] += 1;
	}
	for (uint32_t w = 0; w < s->nways; w++)
		for (uint32_t i = 0; i < s->ways[w].len; i++) {
			const struct share_step *step = &s->steps[s->ways[w].first + i];

			f->weight[step->link] += (double)step->part * f->growing[w];
		}
	for (uint32_t l = 0; l < s->nlinks; l++)
		if (f->weight[l] > 0)
			f->heap[f->nheap++] = (struct heap_entry){ full_at(f, l), l };
	for (uint32_t i = f->nheap / 2; i--;)
		heap_down(f, i);
}

void
share_solve(struct share *s)
{
	struct filling f = {
		.s = s,
		.weight = mem_array(s->nlinks, sizeof(double)),
		.used = mem_array(s->nlinks, sizeof(double)),
		.growing = mem_array(s->nways, sizeof(uint32_t)),
		.stopping = mem_array(s->nways, sizeof(uint32_t)),
		.touched = mem_array(s->nways, sizeof(uint32_t)),
		.heap = mem_array(s->nlinks, sizeof(struct heap_entry)),
	};

	index_flows(&f);
	index_ways(&f);
	sort_by_demand(&f);
	add_weights(&f);
	fill(&f);
	index_free(&f.way_flows);
	index_free(&f.link_ways);
	index_free(&f.link_flows);
	mem_free(f.weight);
	mem_free(f.used);
	mem_free(f.growing);
	mem_free(f.stopping);
	mem_free(f.touched);
	mem_free(f.heap);
	mem_free(f.by_demand);
}
