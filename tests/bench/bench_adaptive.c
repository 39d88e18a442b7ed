/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/adaptive.h"
#include "routing/engine.h"
#include "sim/model/model_impl.h"
#include "sim/traffic/traffic.h"
#include "sm/base/clock.h"
#include "tests/bench/capacity.h"
#include "tests/unit/tree_fault.h"
#include "tests/unit/tree_help.h"

/*
 * What adaptive switches gain: traffic over the tables of a plan in a simulated fabric, whole and
 * with cables between switches lost, beside what the cables that are left allow (capacity.h).
 * Static is the plan's rows, even its groups where a hash chooses, adaptive its groups where queues
 * do. Times are in those that the pattern takes if nothing but hosts' links is in its way.
 *
 * With a limit it fails where adaptive routing takes that much longer than cables need at least.
 *
 * usage: bench_adaptive RECIPE ENGINE PERCENT SEED [SHIFTS [LIMIT]]
 */
#define INCAST_SHIFT 37u	/* of what goes on beside an incast */

enum way { STATIC, EVEN, ADAPTIVE, WAYS };
static const char *const way_names[] = { "static", "even", "adaptive" };

struct bench {
	struct ibnet *net;	/* the whole fabric */
	struct fabric *whole, *now;	/* with all cables; with those that are left */
	struct plan *plan;	/* for what is left */
	uint32_t *node;		/* by node of the snapshot: that of the simulation */
	uint32_t *sw;		/* by node of the simulation: switch of the snapshot */
	struct loop *loop;	/* virtual */
	struct model *m;	/* the fabric */
	struct traffic *t;	/* over it */
	uint32_t hosts;		/* how many */
	uint32_t *home;		/* by host: its switch */
	double above;		/* what cables allow, percent: the worst that was met */
};

static double
rate(const struct bench *b, uint32_t node)
{
	const struct sim_port *p = &b->m->nodes[node].ports[1];

	return link_rate_mbps(p->info.width_active, portinfo_speed(&p->info)) * 125000.0;
}

/* ---- The plan, and its tables in the simulated switches ---- */

static void
fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static struct plan *
route(const char *engine, struct fabric *f, struct plan_lids *lids, const struct plan *previous)
{
	const char *const names[] = { engine, NULL };
	struct chain_options o = { .engines = names };
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = lids;
	if (engine_chain(p, NULL, previous, &o, &e))
		fail(e.text);
	return p;
}

static void
make_groups(struct plan *p)
{
	struct adaptive_ability *a = mem_array(p->fabric->nswitches, sizeof(*a));
	struct adaptive_input in = {
		.plan = p, .ability = a, .mode = AR_FREE, .sls = 0xffff,
	};
	uint64_t start = clock_monotonic();
	struct adaptive_summary sum;

	for (uint32_t i = 0; i < p->fabric->nswitches; i++)
		a[i] = (struct adaptive_ability){
			.able = true, .groups = 2048, .subs = 1, .tables = 1,
		};
	p->adaptive = adaptive_make(&in);
	sum = adaptive_sum(p->adaptive);
	printf("%u groups on %u switches, %u at most, %u cut; %.1f ms with their proof\n",
	       sum.groups, sum.switches, sum.most, sum.cut,
	       (double)(clock_monotonic() - start) / 1e6);
	mem_free(a);
}

static void
set_rows(struct bench *b, uint32_t sw)
{
	struct sim_node *n = &b->m->nodes[b->node[b->now->switches[sw]]];
	uint8_t block[LFT_BLOCK_LEN];

	for (uint32_t lid = 0; lid <= b->plan->lids->top; lid += LFT_BLOCK_LEN) {
		for (unsigned i = 0; i < LFT_BLOCK_LEN; i++)
			block[i] = lid + i && lid + i <= b->plan->lids->top ?
				plan_row_port(b->plan->rows[sw], lid + i) : LFT_NO_PORT;
		model_lft_set(n, lid / LFT_BLOCK_LEN, block);
	}
}

/* As a subnet manager does it. */
static void
set_groups(struct bench *b, uint32_t sw)
{
	const struct plan_ar_switch *s = b->plan->adaptive->sw[sw];
	uint32_t node = b->node[b->now->switches[sw]], top = b->plan->lids->top;
	uint8_t data[SMP_DATA_SIZE];
	struct ar_info info;
	bool good = model_ar_support(b->m, node, &ar_options_default.support, NULL) == 0 &&
		model_ar_info(b->m, node, &info);

	for (unsigned g = 0; g <= s->top; g += AR_GROUP_BLOCK) {
		struct ar_ports ports[AR_GROUP_BLOCK] = { { { 0 } } };

		for (unsigned i = 0; i < AR_GROUP_BLOCK && g + i <= s->top; i++)
			ports[i] = *plan_ar_ports(s, g + i, 0);
		ar_groups_encode(ports, data);
		good = good && tree_set(b->m, node, AR_ATTR_GROUPS, g / AR_GROUP_BLOCK, data);
	}
	for (uint32_t lid = 0; lid <= top; lid += AR_LFT_BLOCK) {
		struct ar_lft_entry e[AR_LFT_BLOCK];

		for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
			e[i] = lid + i && lid + i <= top ?
				plan_ar_entry(s, 0, &b->plan->lids->dest[lid + i],
					      plan_row_port(b->plan->rows[sw], lid + i)) :
				(struct ar_lft_entry){ .port = LFT_NO_PORT };
		ar_lft_encode(e, data);
		good = good && tree_set(b->m, node, AR_ATTR_LFT, lid / AR_LFT_BLOCK, data);
	}
	info.enable = true;
	info.group_top = s->top;
	ar_info_encode(&info, data);
	if (!good || !tree_set(b->m, node, AR_ATTR_INFO, 0, data))
		fail("a switch refused its groups");
}

/* ---- The simulation ---- */

static void
find_nodes(struct bench *b)
{
	b->node = mem_array(b->now->nnodes, sizeof(*b->node));
	b->sw = mem_array(b->net->nnodes, sizeof(*b->sw));
	b->home = mem_array(b->net->nnodes, sizeof(*b->home));
	for (uint32_t i = 0; i < b->now->nnodes; i++)
		for (uint32_t k = 0; k < b->net->nnodes; k++)
			if (b->m->nodes[k].ib->guid == b->now->nodes[i].guid) {
				b->node[i] = k;
				b->sw[k] = b->now->nodes[i].sw;
			}
	for (uint32_t k = 0; k < b->net->nnodes; k++)
		if (b->m->nodes[k].type == NODE_CA)
			b->home[b->hosts++] = b->sw[b->m->nodes[k].ports[1].peer];
}

static void
start_fabric(struct bench *b)
{
	b->loop = loop_new_virtual(1);
	b->m = model_new(b->loop, b->net, NULL);
	tree_activate(b->m);
	find_nodes(b);
	for (uint32_t i = 0; i < b->now->nnodes; i++) {
		const struct fabric_node *n = &b->now->nodes[i];
		struct sim_node *sim = &b->m->nodes[b->node[i]];

		for (unsigned p = 1; p <= n->nports; p++) {
			if (n->sw == FABRIC_NONE)
				sim->ports[p].info.lid = b->plan->lids->base[n->first_port + p];
			if (fabric_port_at(b->now, i, p)->peer == FABRIC_NONE &&
			    sim->ports[p].peer != IBNET_NONE)
				model_link_set(b->m, b->node[i], p, false);
		}
	}
	for (uint32_t sw = 0; sw < b->now->nswitches; sw++)
		set_rows(b, sw);
	b->t = traffic_new(b->m);
}

static uint64_t
draw(uint64_t *x, uint64_t below)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return (*x >> 11) % below;
}

static struct fabric *
lose(struct tree_fault *t, unsigned percent, uint64_t seed)
{
	const struct fabric *f = t->whole;
	uint32_t want = f->nedges / 2 * percent / 100;
	uint64_t x = seed * 0x9e3779b97f4a7c15u | 1;

	while (want) {
		uint32_t i = (uint32_t)draw(&x, f->nports);
		const struct fabric_port *p = &f->ports[i];

		if (t->out[i] || p->peer == FABRIC_NONE ||
		    f->nodes[p->node].sw == FABRIC_NONE ||
		    f->nodes[f->ports[p->peer].node].sw == FABRIC_NONE)
			continue;
		fault_cable(t, i, true);
		want--;
	}
	return fault_fabric(t);
}

/* ---- Measurements ---- */

struct found {
	double worst;		/* load of the worst link between switches */
	double share;		/* of what it offered, that the worst flow gets */
	double seconds;		/* until all is there */
};

static double
worst_trunk(struct bench *b)
{
	static struct traffic_link links[1 << 15];
	unsigned n = traffic_busiest(b->t, links, 1 << 15);
	double worst = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct model *m = b->m;
		const struct sim_port *p = &m->nodes[links[i].node].ports[links[i].port];

		if (m->nodes[links[i].node].type != NODE_SWITCH ||
		    m->nodes[p->peer].type != NODE_SWITCH)
			continue;
		worst = fmax(worst, links[i].offered / links[i].capacity);
	}
	return worst;
}

static struct found
measure(struct bench *b, const struct traffic_spec *s, double bytes)
{
	struct traffic_report r;
	struct error e = { 0 };
	struct found f;
	int id = traffic_start(b->t, s, &e);

	if (id < 0)
		fail(e.text);
	traffic_report(b->t, &r);
	if (r.broken)
		fail("some flows have no path");
	f.worst = worst_trunk(b);
	f.share = r.min_share;
	f.seconds = bytes / r.min_rate;
	traffic_stop(b->t, id, NULL);
	return f;
}

/* What hosts of one switch send to those of another, in units of a host's link. */
static double *
amounts_of(const struct bench *b, const struct traffic_spec *s, uint32_t but)
{
	uint32_t n = b->now->nswitches;
	double *d = mem_array((size_t)n * n, sizeof(*d));

	for (uint32_t i = 0; i < b->hosts; i++)
		for (uint32_t k = 1; k < b->hosts; k++) {
			uint32_t to = (i + k) % b->hosts;

			if (s->pattern == TRAFFIC_ALL_TO_ALL)
				d[b->home[i] * n + b->home[to]] += 1.0 / (b->hosts - 1);
			else if (k == s->shift % b->hosts && to != but)
				d[b->home[i] * n + b->home[to]] += 1;
		}
	for (uint32_t sw = 0; sw < n; sw++)
		d[sw * n + sw] = 0;
	return d;
}

static double
host_rate(const struct bench *b)
{
	uint32_t host = 0;

	while (b->m->nodes[host].type != NODE_CA)
		host++;
	return rate(b, host);
}

/* In units of what the pattern takes if nothing but hosts' links is in its way. */
static struct capacity
cables_allow(const struct bench *b, const double *amount, const double *goes_on)
{
	struct capacity_task t = {
		.f = b->now, .unit_mbps = host_rate(b) / 125000.0,
		.amount = amount, .rate = goes_on,
	};
	struct capacity c = capacity_find(&t);

	c.least = fmax(c.least, 1);
	c.enough = fmax(c.enough, 1);
	return c;
}

static void
uniform(struct bench *b, enum way way, const struct traffic_spec *s, struct found *f,
	struct capacity *c)
{
	double full = host_rate(b), *d;

	*f = measure(b, s, s->pattern == TRAFFIC_ALL_TO_ALL ? full / (b->hosts - 1) : full);
	if (way != ADAPTIVE)
		return;
	d = amounts_of(b, s, FABRIC_NONE);
	*c = cables_allow(b, d, NULL);
	mem_free(d);
}

static void
show(const char *what, enum way way, const struct found *f)
{
	printf("%-24s %-9s worst link %6.3f, least share %.4f, time %7.3f\n", what, way_names[way],
	       f->worst, f->share, f->seconds);
	fflush(stdout);
}

/* What cables allow, and how far above that it is. */
static void
compare(struct bench *b, const char *what, double time, const struct capacity *c)
{
	double above = 100 * (time / c->least - 1);

	printf("%-24s %-9s time %.3f, cables need %.3f (%.3f is enough; %u rounds): "
	       "%.1f %% above\n", what, way_names[ADAPTIVE], time, c->least, c->enough, c->rounds,
	       above);
	b->above = fmax(b->above, above);
	fflush(stdout);
}

static void
shifts(struct bench *b, enum way way, unsigned n)
{
	struct found worst = { .share = 1 }, sum = { 0 }, f;
	struct capacity c = { 0 };

	for (unsigned i = 0; i < n; i++) {
		struct traffic_spec s = {
			.pattern = TRAFFIC_SHIFT, .shift = 1 + (b->hosts - 2) * i / n,
		};
		char text[32];

		uniform(b, way, &s, &f, &c);
		worst.worst = fmax(worst.worst, f.worst);
		worst.share = fmin(worst.share, f.share);
		worst.seconds = fmax(worst.seconds, f.seconds);
		sum.worst += f.worst / n;
		sum.share += f.share / n;
		sum.seconds += f.seconds / n;
		snprintf(text, sizeof(text), "shift by %u", s.shift);
		if (way == ADAPTIVE)
			compare(b, text, f.seconds, &c);
	}
	show("shifts, worst", way, &worst);
	show("shifts, mean", way, &sum);
}

/* What flows of one pattern get, but those to one host. */
struct background {
	int id;			/* of the pattern */
	uint32_t but;		/* the host */
	double least, sum;	/* shares of what is offered */
	uint32_t n;		/* flows */
};

static void
add_background(void *arg, const struct traffic_flow *flow)
{
	struct background *g = arg;

	if (flow->id != g->id || flow->dst == g->but)
		return;
	g->least = fmin(g->least, flow->delivered / flow->offered);
	g->sum += flow->delivered / flow->offered;
	g->n++;
}

/* Beside what all hosts send to one at the rate that its link allows. */
static void
compare_incast(struct bench *b, const struct traffic_spec *shift, uint32_t host, double time)
{
	uint32_t n = b->now->nswitches, at = 0, to;
	double *goes_on = mem_array((size_t)n * n, sizeof(*goes_on)), *d;
	struct capacity c;

	for (uint32_t i = 0; i < host; i++)
		at += b->m->nodes[i].type == NODE_CA;
	to = b->home[at];
	for (uint32_t i = 0; i < b->hosts; i++)
		if (b->home[i] != to)
			goes_on[b->home[i] * n + to] += 1.0 / b->hosts;
	d = amounts_of(b, shift, at);
	c = cables_allow(b, d, goes_on);
	/* A host's own link carries both. */
	c.least = fmax(c.least, 1 / (1 - 1.0 / b->hosts));
	compare(b, "incast and a shift", time, &c);
	mem_free(d);
	mem_free(goes_on);
}

/* All send to one, and beside that each to another by a shift. */
static void
incast(struct bench *b, enum way way, uint32_t host)
{
	struct traffic_spec in = { .pattern = TRAFFIC_INCAST, .dst = host };
	struct traffic_spec s = { .pattern = TRAFFIC_SHIFT, .shift = INCAST_SHIFT };
	struct background g = { .id = traffic_start(b->t, &s, NULL), .but = host, .least = 1 };
	struct traffic_report r;

	traffic_start(b->t, &in, NULL);
	traffic_report(b->t, &r);
	traffic_flows(b->t, add_background, &g);
	traffic_stop(b->t, 0, NULL);
	printf("%-24s %-9s incast time %.3f, background least share %.4f, mean %.4f, time %.3f\n",
	       "incast and a shift", way_names[way], rate(b, host) / (b->hosts - 1) / r.min_rate,
	       g.least, g.sum / g.n, 1 / g.least);
	if (way == ADAPTIVE)
		compare_incast(b, &s, host, 1 / g.least);
	fflush(stdout);
}

static void
try_all(struct bench *b, unsigned nshifts)
{
	struct traffic_spec all = { .pattern = TRAFFIC_ALL_TO_ALL };
	uint32_t host = 0;

	while (b->m->nodes[host].type != NODE_CA)
		host++;
	for (enum way way = STATIC; way < WAYS; way++) {
		struct found f;
		struct capacity c = { 0 };

		for (uint32_t sw = 0; way == EVEN && sw < b->now->nswitches; sw++)
			set_groups(b, sw);
		traffic_split_evenly(b->t, way == EVEN);
		uniform(b, way, &all, &f, &c);
		show("all to all", way, &f);
		if (way == ADAPTIVE)
			compare(b, "all to all", f.seconds, &c);
		shifts(b, way, nshifts);
		incast(b, way, host);
	}
}

int
main(int argc, char **argv)
{
	struct bench b = { 0 };
	struct tree_fault fault;
	struct plan_lids *lids;
	struct plan *whole;
	struct generate_options o = { 0 };
	struct error e = { 0 };
	bool late;

	if (argc < 5) {
		fprintf(stderr,
			"usage: bench_adaptive RECIPE ENGINE PERCENT SEED [SHIFTS [LIMIT]]\n");
		return 2;
	}
	if (generate_words(&b.net, argv[1], &o, &e))
		fail(e.text);
	b.whole = fabric_from_ibnet(b.net);
	lids = help_lids(b.whole, 0);
	whole = route(argv[2], b.whole, lids, NULL);
	fault_init(&fault, b.whole);
	b.now = lose(&fault, (unsigned)atoi(argv[3]), (uint64_t)atoi(argv[4]));
	b.plan = route(argv[2], b.now, fault_lids(&fault, whole->lids, b.now), whole);
	printf("%s, %s, %s %% of cables lost, seed %s: ", argv[1], argv[2], argv[3], argv[4]);
	make_groups(b.plan);
	start_fabric(&b);
	try_all(&b, argc > 5 ? (unsigned)atoi(argv[5]) : 8);
	late = argc > 6 && b.above > atof(argv[6]);
	if (late)
		fprintf(stderr, "adaptive routing takes up to %.1f %% longer than cables need at "
			"least, not %s\n", b.above, argv[6]);
	traffic_free(b.t);
	model_free(b.m);
	loop_free(b.loop);
	plan_unref(b.plan);
	plan_unref(whole);
	fault_free(&fault);
	fabric_unref(b.now);
	fabric_unref(b.whole);
	ibnet_free(b.net);
	mem_free(b.node);
	mem_free(b.sw);
	mem_free(b.home);
	return late;
}
