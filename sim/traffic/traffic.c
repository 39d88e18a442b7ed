/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/traffic/traffic.h"

#include <math.h>
#include "sim/traffic/traffic_impl.h"

/*
 * Patterns of flows, and what each flow gets.
 *
 * A pattern is kept as it was asked for. When shares are needed it is spelled out: a flow for each
 * pair of end ports, its way by the tables (traffic_way.c), its rate (share.c), and from that what
 * links carry and counters count (traffic_load.c).
 *
 * Changes of links and tables come in bursts, while a subnet manager works: rates follow them a
 * while later, by a timer, but then from the first change on. Those who look at shares, rather than
 * at counters, get them at once.
 */
#define MAX_FLOWS 4000000u
#define MAX_RATE 1e15
#define PATIENCE MSEC(1)	/* between a change and new rates, and more for large patterns: */
#define PATIENCE_STEP 1000	/* ns for each flow and each step of a way */

/* ---- Patterns spelled out ---- */

/* All ends, in the order of hosts; the caller frees them. Channel adapters that follow each other
 * and have one system image GUID are one host's. */
static struct end *
all_ends(const struct traffic *t, uint32_t *n, unsigned *rails)
{
	struct end *ends = mem_array(t->nlinks, sizeof(*ends));
	const struct sim_node *last = NULL;
	unsigned first = 0;

	*n = *rails = 0;
	for (uint32_t i = 0; i < t->m->net->nnodes; i++) {
		const struct sim_node *a = &t->m->nodes[i];

		if (a->type != NODE_CA)
			continue;
		first = last && last->ib->system_guid == a->ib->system_guid &&
			a->ib->system_guid && first < UINT16_MAX - 2 * IBNET_MAX_NODE_PORTS ?
			first + last->nports : 0;
		last = a;
		for (unsigned p = 1; p <= a->nports; p++) {
			if (a->ports[p].peer == IBNET_NONE)
				continue;
			ends[(*n)++] = (struct end){ i, (uint8_t)p, (uint16_t)(first + p - 1) };
			if (first + p > *rails)
				*rails = first + p;
		}
	}
	return ends;
}

/* Those of one rail. */
static uint32_t
ends_of(const struct end *all, uint32_t nall, unsigned rail, struct end *ends)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nall; i++)
		if (all[i].rail == rail)
			ends[n++] = all[i];
	return n;
}

static void
add_flow(struct traffic *t, uint32_t pattern, struct end src, struct end dst, unsigned parts)
{
	struct sim_port *p = &t->m->nodes[src.node].ports[src.port];
	double rate = t->patterns[pattern].spec.rate;

	if (t->nflows == t->flows_size) {
		t->flows_size = t->flows_size ? t->flows_size * 2 : 1024;
		t->flows = mem_realloc(t->flows, t->flows_size, sizeof(*t->flows));
		t->info = mem_realloc(t->info, t->flows_size, sizeof(*t->info));
	}
	t->info[t->nflows] = (struct flow_info){ src, dst, pattern };
	t->flows[t->nflows++] = (struct share_flow){
		.demand = (rate > 0 ? rate : port_capacity(p)) / parts,
		.link = t->base[src.node] + src.port,
	};
}

static bool
is_cabled(const struct sim_node *n, unsigned port)
{
	return port <= n->nports && n->ports[port].peer != IBNET_NONE;
}

/* The port of a host for a flow: this one if it is to be, else the first with a cable. */
static unsigned
port_for(const struct sim_node *n, unsigned port)
{
	while (port <= n->nports && !is_cabled(n, port))
		port++;
	return port;
}

/* One flow between two hosts for each port number that both have, or else between their first
 * ports. Only counted if `add` is false. */
static unsigned
spell_pair(struct traffic *t, const struct traffic_spec *s, uint32_t pattern, bool add)
{
	const struct sim_node *a = &t->m->nodes[s->src], *b = &t->m->nodes[s->dst];
	unsigned flows = 0;

	for (unsigned p = 1; p <= a->nports; p++)
		if (is_cabled(a, p) && is_cabled(b, p)) {
			flows++;
			if (add)
				add_flow(t, pattern, (struct end){ s->src, (uint8_t)p, 0 },
					 (struct end){ s->dst, (uint8_t)p, 0 }, 1);
		}
	if (flows || port_for(a, 1) > a->nports || port_for(b, 1) > b->nports)
		return flows;
	if (add)
		add_flow(t, pattern, (struct end){ s->src, (uint8_t)port_for(a, 1), 0 },
			 (struct end){ s->dst, (uint8_t)port_for(b, 1), 0 }, 1);
	return 1;
}

static void
spell_incast(struct traffic *t, uint32_t pattern, const struct end *ends, uint32_t n)
{
	uint32_t dst = 0;

	while (dst < n && ends[dst].node != t->patterns[pattern].spec.dst)
		dst++;
	for (uint32_t i = 0; dst < n && i < n; i++)
		if (i != dst)
			add_flow(t, pattern, ends[i], ends[dst], 1);
}

/* The flows of a pattern among the ends of one rail. */
static void
spell_out(struct traffic *t, uint32_t pattern, const struct end *ends, uint32_t n)
{
	const struct traffic_spec *s = &t->patterns[pattern].spec;
	uint32_t shift = s->pattern == TRAFFIC_RING ? 1 : s->shift % n;

	if (s->pattern == TRAFFIC_INCAST)
		spell_incast(t, pattern, ends, n);
	for (uint32_t i = 0; s->pattern != TRAFFIC_INCAST && n > 1 && i < n; i++) {
		if (s->pattern == TRAFFIC_ALL_TO_ALL)
			for (uint32_t k = 1; k < n; k++)
				add_flow(t, pattern, ends[i], ends[(i + k) % n], n - 1);
		else if (shift)
			add_flow(t, pattern, ends[i], ends[(i + shift) % n], 1);
	}
}

static void
spell_all_out(struct traffic *t)
{
	unsigned rails;
	uint32_t nall, n;
	struct end *all = all_ends(t, &nall, &rails), *ends = mem_array(nall, sizeof(*ends));

	t->nflows = t->nbroken = 0;
	for (uint32_t i = 0; i < t->npatterns; i++)
		if (t->patterns[i].spec.pattern == TRAFFIC_FLOW)
			spell_pair(t, &t->patterns[i].spec, i, true);
	for (unsigned rail = 0; rail < rails; rail++) {
		n = ends_of(all, nall, rail, ends);
		for (uint32_t i = 0; n && i < t->npatterns; i++)
			if (t->patterns[i].spec.pattern != TRAFFIC_FLOW)
				spell_out(t, i, ends, n);
	}
	mem_free(ends);
	mem_free(all);
}

static uint32_t
find_way(struct traffic *t, struct trails *w, uint32_t flow)
{
	const struct flow_info *i = &t->info[flow];
	const struct sim_port *p = &t->m->nodes[i->src.node].ports[i->src.port];
	unsigned sl = t->patterns[i->pattern].spec.sl;
	uint16_t dlid = t->m->nodes[i->dst.node].ports[i->dst.port].info.lid;

	if (!dlid || !trails_open(t->m, i->src.node, i->src.port, i->src.port, sl))
		return WAY_BROKEN;
	return trails_find(w, p->peer, p->peer_port, dlid, sl);
}

/* Those without a path go to the end. */
static void
find_ways(struct traffic *t, struct trails *w)
{
	for (uint32_t i = 0; i < t->nflows;) {
		uint32_t way = find_way(t, w, i), last = t->nflows - 1;
		struct share_flow flow = t->flows[i];
		struct flow_info info = t->info[i];

		if (way != WAY_BROKEN) {
			t->flows[i++].way = way;
			continue;
		}
		flow.rate = 0;
		t->flows[i] = t->flows[last];
		t->info[i] = t->info[last];
		t->flows[last] = flow;
		t->info[last] = info;
		t->nflows--;
		t->nbroken++;
	}
}

static void
sum_patterns(struct traffic *t)
{
	for (uint32_t i = 0; i < t->npatterns; i++) {
		struct pattern *p = &t->patterns[i];

		p->flows = p->broken = 0;
		p->offered = p->delivered = 0;
	}
	for (uint32_t i = 0; i < t->nflows + t->nbroken; i++) {
		struct pattern *p = &t->patterns[t->info[i].pattern];

		p->flows++;
		p->broken += i >= t->nflows;
		p->offered += t->flows[i].demand;
		p->delivered += t->flows[i].rate;
	}
}

static void
solve(struct traffic *t)
{
	double *capacity = loads_start(t);
	struct share s = { .capacity = capacity, .nlinks = t->nlinks };
	struct trails w;

	trails_init(&w, t->m, t->base, t->nlinks);
	spell_all_out(t);
	find_ways(t, &w);
	if (w.adapts && !t->even)
		splits_adapt(&w, capacity, t->flows, t->nflows);
	trails_spell(&w);
	s.steps = w.steps;
	s.ways = w.shares;
	s.nways = w.nways;
	s.flows = t->flows;
	s.nflows = t->nflows;
	share_solve(&s);
	loads_set(t, &w);
	sum_patterns(t);
	t->patience = PATIENCE + (monotime)(w.nsteps + t->nflows + t->nbroken) * PATIENCE_STEP;
	mem_free(capacity);
	trails_free(&w);
}

/* ---- Time ---- */

/* Meters up to the first change by the old rates, and from there on by new ones. */
static void
follow(struct traffic *t)
{
	monotime from = t->changed > t->looked ? t->changed : t->looked;

	loop_timer_cancel(t->timer);
	t->stale = false;
	loads_fold(t, from);
	t->looked = from;
	solve(t);
}

static void
on_timer(void *arg)
{
	follow(arg);
}

/* ---- For the model ---- */

static void
on_look(void *arg)
{
	struct traffic *t = arg;

	t->looked = loop_now(t->m->loop);
}

static uint64_t
on_read(void *arg, uint32_t node, unsigned port, unsigned counter)
{
	return loads_counter(arg, node, port, counter);
}

static void
on_touched(void *arg)
{
	struct traffic *t = arg;

	if (!t->npatterns || t->stale)
		return;
	t->stale = true;
	t->changed = loop_now(t->m->loop);
	loop_timer_set(t->timer, t->patience);
}

/* ---- What people ask ---- */

/* For those who look at shares. */
static void
look(struct traffic *t)
{
	if (t->stale)
		follow(t);
}

struct traffic *
traffic_new(struct model *m)
{
	struct traffic *t = mem_zalloc(sizeof(*t));

	t->m = m;
	t->base = mem_array(m->net->nnodes, sizeof(*t->base));
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		t->base[i] = t->nlinks;
		t->nlinks += m->nodes[i].nports + 1u;
	}
	t->timer = loop_timer_new(m->loop, on_timer, t);
	t->since = t->looked = loop_now(m->loop);
	t->source = (struct counter_source){ on_look, on_read, on_touched, t };
	m->source = &t->source;
	return t;
}

void
traffic_free(struct traffic *t)
{
	if (!t)
		return;
	t->m->source = NULL;
	for (unsigned i = 0; i < 16; i++) {
		mem_free(t->by_sl[i].m);
		mem_free(t->by_vl[i].m);
	}
	mem_free(t->all.m);
	mem_free(t->loads);
	mem_free(t->flows);
	mem_free(t->info);
	mem_free(t->patterns);
	mem_free(t->base);
	loop_timer_free(t->timer);
	mem_free(t);
}

static bool
is_host(const struct model *m, uint32_t node)
{
	return node < m->net->nnodes && m->nodes[node].type == NODE_CA;
}

static int
check_ends(const struct model *m, const struct traffic_spec *s, struct error *e)
{
	bool to = s->pattern == TRAFFIC_FLOW || s->pattern == TRAFFIC_INCAST;

	if (to && !is_host(m, s->dst))
		return error_set(e, ERR_INVALID, "traffic goes to a host, and node %u is none",
				 s->dst);
	if (s->pattern != TRAFFIC_FLOW)
		return 0;
	if (!is_host(m, s->src))
		return error_set(e, ERR_INVALID, "traffic comes from a host, and node %u is none",
				 s->src);
	if (s->src == s->dst)
		return error_set(e, ERR_INVALID, "a flow from %s to itself uses no link",
				 m->nodes[s->src].ib->name);
	return 0;
}

static int
check(const struct model *m, const struct traffic_spec *s, struct error *e)
{
	int rc = check_ends(m, s, e);

	if (rc < 0)
		return rc;
	if (s->pattern > TRAFFIC_INCAST)
		return error_set(e, ERR_INVALID, "there is no traffic pattern number %u",
				 s->pattern);
	if (s->sl > 15)
		return error_set(e, ERR_INVALID, "service levels are 0 to 15, not %u", s->sl);
	if (!(s->rate >= 0 && s->rate <= MAX_RATE))
		return error_set(e, ERR_INVALID, "a rate is 0 to %g bytes a second", MAX_RATE);
	return 0;
}

static uint64_t
rail_size(const struct traffic_spec *s, const struct end *ends, uint64_t n)
{
	if (s->pattern == TRAFFIC_ALL_TO_ALL)
		return n * (n - 1);
	if (s->pattern == TRAFFIC_RING)
		return n > 1 ? n : 0;
	if (s->pattern == TRAFFIC_SHIFT)
		return s->shift % n ? n : 0;
	for (uint64_t i = 0; i < n; i++)
		if (ends[i].node == s->dst)
			return n - 1;
	return 0;
}

/* How many flows a pattern has. */
static uint64_t
size_of(struct traffic *t, const struct traffic_spec *s)
{
	uint64_t flows = 0;
	struct end *all, *ends;
	unsigned rails;
	uint32_t nall, n;

	if (s->pattern == TRAFFIC_FLOW)
		return spell_pair(t, s, 0, false);
	all = all_ends(t, &nall, &rails);
	ends = mem_array(nall, sizeof(*ends));
	for (unsigned rail = 0; rail < rails; rail++)
		if ((n = ends_of(all, nall, rail, ends)))
			flows += rail_size(s, ends, n);
	mem_free(ends);
	mem_free(all);
	return flows;
}

/* By the rates from here on. */
static void
patterns_changed(struct traffic *t)
{
	look(t);
	t->changed = t->looked = loop_now(t->m->loop);
}

int
traffic_start(struct traffic *t, const struct traffic_spec *spec, struct error *e)
{
	uint64_t flows = 0;
	int rc = check(t->m, spec, e);

	if (rc < 0)
		return rc;
	if (!(flows = size_of(t, spec)))
		return error_set(e, ERR_INVALID, "this traffic has no flow: it needs two hosts "
				 "with a cable, and a shift that is no whole round of them");
	for (uint32_t i = 0; i < t->npatterns; i++)
		flows += size_of(t, &t->patterns[i].spec);
	if (flows > MAX_FLOWS)
		return error_set(e, ERR_FULL, "that makes %llu flows, and %u are the most",
				 (unsigned long long)flows, MAX_FLOWS);
	patterns_changed(t);
	t->patterns = mem_realloc(t->patterns, t->npatterns + 1u, sizeof(*t->patterns));
	t->patterns[t->npatterns++] = (struct pattern){ .id = ++t->last_id, .spec = *spec };
	follow(t);
	return t->last_id;
}

int
traffic_stop(struct traffic *t, int id, struct error *e)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->npatterns; i++)
		kept += id && t->patterns[i].id != id;
	if (id && kept == t->npatterns)
		return error_set(e, ERR_NOT_FOUND, "no traffic %d runs", id);
	patterns_changed(t);
	kept = 0;
	for (uint32_t i = 0; i < t->npatterns; i++)
		if (id && t->patterns[i].id != id)
			t->patterns[kept++] = t->patterns[i];
	t->npatterns = kept;
	follow(t);
	return 0;
}

void
traffic_split_evenly(struct traffic *t, bool even)
{
	patterns_changed(t);
	t->even = even;
	follow(t);
}

static double
busyness(const struct load *l)
{
	return l->offered > 0 ? l->offered / l->capacity : 0;
}

void
traffic_report(struct traffic *t, struct traffic_report *r)
{
	uint32_t n;
	double shares = 0;

	look(t);
	n = t->nflows + t->nbroken;
	*r = (struct traffic_report){ .flows = n, .broken = t->nbroken, .min_share = 1,
				      .mean_share = 1 };
	for (uint32_t i = 0; i < n; i++) {
		double share = t->flows[i].rate / t->flows[i].demand;

		if (i < t->nflows && (!i || t->flows[i].rate < r->min_rate))
			r->min_rate = t->flows[i].rate;
		r->offered += t->flows[i].demand;
		r->delivered += t->flows[i].rate;
		r->min_share = share < r->min_share ? share : r->min_share;
		shares += share;
	}
	if (n)
		r->mean_share = shares / n;
	for (uint32_t i = 0; t->loads && i < t->nlinks; i++)
		r->max_load = fmax(r->max_load, busyness(&t->loads[i]));
}

void
traffic_list(struct traffic *t, struct buf *out)
{
	static const char *const names[] = {
		[TRAFFIC_FLOW] = "flow", [TRAFFIC_ALL_TO_ALL] = "all-to-all",
		[TRAFFIC_RING] = "ring", [TRAFFIC_SHIFT] = "shift", [TRAFFIC_INCAST] = "incast",
	};

	look(t);
	for (uint32_t i = 0; i < t->npatterns; i++) {
		const struct pattern *p = &t->patterns[i];
		const struct traffic_spec *s = &p->spec;

		buf_printf(out, "%d %s", p->id, names[s->pattern]);
		if (s->pattern == TRAFFIC_FLOW)
			buf_printf(out, " from \"%s\"", t->m->nodes[s->src].ib->name);
		if (s->pattern == TRAFFIC_FLOW || s->pattern == TRAFFIC_INCAST)
			buf_printf(out, " to \"%s\"", t->m->nodes[s->dst].ib->name);
		if (s->pattern == TRAFFIC_SHIFT)
			buf_printf(out, " by %u", s->shift);
		buf_printf(out, " sl %u: %llu flow%s, %llu broken, %.6g of %.6g GB/s\n", s->sl,
			   (unsigned long long)p->flows, p->flows == 1 ? "" : "s",
			   (unsigned long long)p->broken,
			   p->delivered / 1e9, p->offered / 1e9);
	}
}

void
traffic_flows(struct traffic *t, traffic_flow_fn fn, void *arg)
{
	look(t);
	for (uint32_t i = 0; i < t->nflows + t->nbroken; i++) {
		const struct flow_info *f = &t->info[i];
		const struct pattern *p = &t->patterns[f->pattern];
		struct traffic_flow flow = {
			.id = p->id, .src = f->src.node, .dst = f->dst.node, .sl = p->spec.sl,
			.broken = i >= t->nflows, .offered = t->flows[i].demand,
			.delivered = t->flows[i].rate,
		};

		fn(arg, &flow);
	}
}

/* Put a link among the first `n` of `links`, in order; the new n. */
static unsigned
rank(struct traffic_link *links, unsigned n, unsigned max, const struct traffic_link *l)
{
	unsigned i = n < max ? n : max - 1;

	if (n == max && l->offered * links[i].capacity <= links[i].offered * l->capacity)
		return n;
	for (; i && l->offered * links[i - 1].capacity > links[i - 1].offered * l->capacity; i--)
		links[i] = links[i - 1];
	links[i] = *l;
	return n < max ? n + 1 : n;
}

unsigned
traffic_busiest(struct traffic *t, struct traffic_link *links, unsigned max)
{
	unsigned n = 0;

	look(t);
	for (uint32_t i = 0; max && t->loads && i < t->m->net->nnodes; i++)
		for (unsigned p = 1; p <= t->m->nodes[i].nports; p++) {
			const struct load *l = &t->loads[t->base[i] + p];
			struct traffic_link link = { i, (uint8_t)p, l->capacity, l->offered,
						     l->carried, load_waiting(l) };

			if (l->offered > 0)
				n = rank(links, n, max, &link);
		}
	return n;
}
