/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PLAN_JUDGE_H
#define TESTS_PLAN_JUDGE_H

#include "tests/unit/route_help.h"

/*
 * A plan, judged by nothing but its rows and its tables from service levels to lanes, as switches
 * will be given them: packets from every host port to every other are walked on the level that the
 * plan tells, whether cables join the two is searched anew, and what waits for what is searched for
 * a circle. Nothing of the checker is used.
 */
struct plan_judged {
	uint64_t pairs;		/* ordered pairs of host ports that cables join */
	uint64_t lost;		/* of them without a way */
	bool circle;		/* some packets may wait for each other for ever */
};

#define PLAN_JUDGE_LANES 16u

struct plan_waits {
	const struct plan *p;		/* judged */
	uint32_t *part;			/* by switch: one of those that cables join */
	uint32_t *first;		/* by node of the graph, (port, lane): its list */
	uint32_t (*list)[2];		/* waits for that; the next of the list, UINT32_MAX */
	uint32_t len;			/* of it */
};

static inline void
plan_judge_parts(const struct fabric *f, uint32_t *part)
{
	uint32_t *queue = mem_array(f->nswitches + 1, sizeof(*queue));

	memset(part, 0xff, f->nswitches * sizeof(*part));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t len = 0;

		if (part[sw] != UINT32_MAX)
			continue;
		queue[len++] = sw;
		part[sw] = sw;
		for (uint32_t i = 0; i < len; i++)
			for (uint32_t k = f->edge_first[queue[i]]; k < f->edge_first[queue[i] + 1];
			     k++)
				if (part[f->edges[k].to] == UINT32_MAX) {
					part[f->edges[k].to] = sw;
					queue[len++] = f->edges[k].to;
				}
	}
	mem_free(queue);
}

static inline void
plan_judge_waits(struct plan_waits *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = w->first[from]; i != UINT32_MAX; i = w->list[i][1])
		if (w->list[i][0] == to)
			return;
	if ((w->len & (w->len - 1)) == 0)
		w->list = mem_realloc(w->list, w->len ? 2 * w->len : 1, sizeof(*w->list));
	w->list[w->len][0] = to;
	w->list[w->len][1] = w->first[from];
	w->first[from] = w->len++;
}

/* From the switch that a host is on; false: it does not arrive. */
static inline bool
plan_judge_walk(struct plan_waits *w, uint32_t source, uint16_t lid, unsigned sl)
{
	const struct plan *p = w->p;
	const struct fabric *f = p->fabric;
	uint32_t at = f->ports[source].peer, before = UINT32_MAX;

	for (unsigned hops = 0; hops < 64; hops++) {
		uint32_t node = f->ports[at].node, sw = f->nodes[node].sw, out, here;
		unsigned port = plan_row_port(p->rows[sw], lid), vl = 0;

		if (!port || port > f->nodes[node].nports)
			return false;
		out = f->nodes[node].first_port + port;
		if (f->ports[out].peer == FABRIC_NONE)
			return false;
		if (p->sls)
			vl = plan_sls_map(p->sls, sw, f->ports[at].number, port)->vl[sl];
		if (vl >= PLAN_JUDGE_LANES - 1)
			return false;
		at = f->ports[out].peer;
		if (f->nodes[f->ports[at].node].sw == FABRIC_NONE)
			return at == p->lids->dest[lid].port;
		here = out * PLAN_JUDGE_LANES + vl;
		if (before != UINT32_MAX)
			plan_judge_waits(w, before, here);
		before = here;
	}
	return false;
}

/* Take away what waits for nothing, and then what waited only for that; is anything left? */
static inline bool
plan_judge_circle(const struct plan_waits *w)
{
	uint32_t n = w->p->fabric->nports * PLAN_JUDGE_LANES, head = 0, tail = 0, left = 0;
	uint32_t *behind = mem_array(n + 1, sizeof(*behind));
	uint32_t *waits = mem_array(n, sizeof(*waits)), *queue = mem_array(n, sizeof(*queue));
	uint32_t *who = mem_array(w->len + 1, sizeof(*who));

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t i = w->first[a]; i != UINT32_MAX; i = w->list[i][1]) {
			waits[a]++;
			behind[w->list[i][0] + 1]++;
		}
	for (uint32_t b = 0; b < n; b++)
		behind[b + 1] += behind[b];
	for (uint32_t a = n; a-- > 0;)
		for (uint32_t i = w->first[a]; i != UINT32_MAX; i = w->list[i][1])
			who[--behind[w->list[i][0] + 1]] = a;
	/* Now behind[b + 1] is where the list of b begins; that of the next one is its end. */
	for (uint32_t a = 0; a < n; a++) {
		left += waits[a] > 0;
		if (!waits[a])
			queue[tail++] = a;
	}
	while (head < tail) {
		uint32_t b = queue[head++], end = b + 2 <= n ? behind[b + 2] : w->len;

		for (uint32_t i = behind[b + 1]; i < end; i++)
			if (!--waits[who[i]]) {
				queue[tail++] = who[i];
				left--;
			}
	}
	mem_free(behind);
	mem_free(waits);
	mem_free(queue);
	mem_free(who);
	return left > 0;
}

static inline struct plan_judged
plan_judge(const struct plan *p)
{
	const struct fabric *f = p->fabric;
	size_t nodes = (size_t)f->nports * PLAN_JUDGE_LANES + 1;
	struct plan_waits w = { .p = p, .part = mem_array(f->nswitches + 1, sizeof(*w.part)),
				.first = mem_alloc(nodes * sizeof(*w.first)) };
	struct plan_judged j = { 0 };

	memset(w.first, 0xff, nodes * sizeof(*w.first));
	plan_judge_parts(f, w.part);
	for (unsigned a = 1; a <= p->lids->top; a++) {
		const struct plan_dest *x = &p->lids->dest[a];

		if (x->port == FABRIC_NONE || x->sw == FABRIC_NONE || !x->out)
			continue;
		for (unsigned b = 1; b <= p->lids->top; b++) {
			const struct plan_dest *y = &p->lids->dest[b];

			if (a == b || y->port == FABRIC_NONE || y->sw == FABRIC_NONE || !y->out ||
			    w.part[x->sw] != w.part[y->sw])
				continue;
			j.pairs++;
			j.lost += !plan_judge_walk(&w, x->port, (uint16_t)b,
						   plan_path_sl(p, x, y));
		}
	}
	j.circle = plan_judge_circle(&w);
	mem_free(w.part);
	mem_free(w.first);
	mem_free(w.list);
	return j;
}

#endif
