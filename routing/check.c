/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/check.h"
#include <stdio.h>
#include <string.h>
#include "routing/channels.h"
#include "routing/levels.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The proof. Work is cut by destination ports; each thread walks every switch's way to a LID once,
 * remembering where ways end, and enters the dependencies that those ways make into one shared
 * graph (bits are only ever set, so the result does not depend on who came first). Afterwards one
 * thread searches the graph for a cycle.
 *
 * What cables join, tables must join. A silent switch (FABRIC_NODE_SILENT) joins only what the table
 * that it is known to hold joins, because nobody can change it: what is missing there is counted
 * as cut off, not as a fault of the routing.
 *
 * With one lane the dependencies of a LID are read off the tables: every switch sends (its
 * management port does), so a packet can sit on the link out of each entry and wait for the next
 * switch's entry. With lanes the packets are followed from their sources, because the lane of a
 * link depends on how a packet came there.
 */
#define BLOCK 64u	/* LIDs whose entries are gathered at a time */

enum fate {
	UNKNOWN,
	WALKING,	/* on the way that is followed just now */
	ARRIVES,
	LOOPS,
	HOLE,		/* the way ends at an entry without a port */
	WRONG,		/* the way leaves at a wrong channel adapter or a dead port */
};

struct tally {
	uint64_t unreachable;	/* as in plan_check */
	uint64_t cut_off;
	uint64_t reached;
	uint64_t hops;		/* sum over reached pairs */
	uint64_t loops;
	uint64_t holes;
	uint64_t misdelivered;
	uint32_t max_hops;
	uint32_t fault_lid;	/* least LID with a fault, 0 none */
	uint32_t fault_sw;	/* least switch with a fault at that LID */
	enum fate fault;	/* which */
};

/* What one thread works with. */
struct scratch {
	struct tally sum;	/* over all LIDs that this thread did */
	uint8_t *fate;		/* by switch: enum fate of its packets to the present LID */
	uint16_t *hops;		/* by switch: switches on the way, itself included */
	uint32_t *next;		/* by switch: edge taken, FABRIC_NONE */
	uint32_t *stack;	/* switches on the way followed */
	uint8_t *columns;	/* entries of BLOCK LIDs: by LID, then switch */
	uint32_t block;		/* first of these LIDs; none: above all LIDs */
	uint8_t *lost;		/* by switch: some LID of the present port is not reached from it */
	uint8_t *near;		/* by switch: it can reach the present LID; only with silent switches */
	uint8_t *apart;		/* by switch: it cannot reach some LID of the present port; likewise */
	uint32_t *stamp;	/* by (channel, class): present walk's number; lanes only */
	uint64_t *work;		/* states to follow; lanes only */
	uint32_t walk;		/* number of the present walk */
};

/* A switch as the walk needs it. */
struct hop {
	const uint32_t *edge_at;	/* by port number: edge that leaves there */
	uint32_t part;			/* connected component */
	uint8_t nports;			/* its ports */
	bool silent;			/* it forwards as it is known to, whatever we wish */
};

struct checker {
	const struct check_input *in;	/* what is proved */
	struct hop *hops;		/* by switch */
	const struct fabric *f;		/* in->fabric */
	struct channels channels;	/* the dependency graph */
	uint32_t *part;			/* by switch: connected component */
	uint32_t *sources;		/* by switch: CA ports on it that have a LID */
	uint32_t *part_sources;		/* by component: the sum of that */
	uint32_t *dests;		/* port indices with a LID, by LID */
	uint32_t ndests;		/* their number */
	uint32_t nsources;		/* CA ports that have a LID */
	unsigned classes;		/* path classes */
	bool any_silent;		/* there are silent switches */
	struct scratch *scratch;	/* by thread */
	unsigned threads;		/* resolved number */
};

/* Where the entry of a switch for a LID leads: an edge, or a fate. */
static enum fate
entry(const struct checker *c, struct plan_row *const *rows, uint32_t sw, uint32_t lid,
      uint32_t *edge)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];
	uint8_t out = plan_row_port(rows[sw], lid);

	*edge = FABRIC_NONE;
	if (out == LFT_NO_PORT)
		return HOLE;
	if (sw == d->sw && out == d->out)
		return ARRIVES;
	if (out == 0)
		return WRONG;
	*edge = channels_edge(&c->channels, sw, out);
	return *edge == FABRIC_NONE ? WRONG : UNKNOWN;
}

/* Follow one switch's way until it ends or meets a known one, then tell all on it. */
static void
follow(const struct checker *c, struct scratch *s, uint32_t sw)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	uint32_t len = 0;
	enum fate fate;

	while (s->fate[sw] == UNKNOWN) {
		s->fate[sw] = WALKING;
		s->stack[len++] = sw;
		sw = to[next[sw]];
	}
	fate = s->fate[sw] == WALKING ? LOOPS : s->fate[sw];
	while (len) {
		uint32_t at = s->stack[--len];

		s->fate[at] = (uint8_t)fate;
		s->hops[at] = (uint16_t)(s->hops[sw] + 1);
		sw = at;
	}
}

static void
note_fault(struct tally *t, uint32_t lid, uint32_t sw, enum fate fate)
{
	if (t->fault_lid && (t->fault_lid < lid || (t->fault_lid == lid && t->fault_sw <= sw)))
		return;
	t->fault_lid = lid;
	t->fault_sw = sw;
	t->fault = fate;
}

/* Rows are far apart in memory: they are visited once for many LIDs. Returns the LID's column. */
static const uint8_t *
read_column(const struct checker *c, struct scratch *s, uint32_t lid)
{
	uint32_t n = c->f->nswitches, first = lid / BLOCK * BLOCK;

	if (s->block != first) {
		s->block = first;
		for (uint32_t sw = 0; sw < n; sw++)
			for (uint32_t i = 0; i < BLOCK; i++)
				s->columns[(size_t)i * n + sw] = plan_row_port(c->in->rows[sw], first + i);
	}
	return &s->columns[(size_t)(lid - first) * n];
}

/* Where all switches send a LID: next[], and fate[] where that ends a way. */
static void
read_lid(const struct checker *c, struct scratch *s, uint32_t lid)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];
	const uint8_t *column = read_column(c, s, lid);
	const struct hop *hops = c->hops;
	uint32_t *next = s->next;
	uint8_t *fates = s->fate;

	for (uint32_t sw = 0, n = c->f->nswitches; sw < n; sw++) {
		uint8_t out = column[sw];
		uint32_t e = out <= hops[sw].nports ? hops[sw].edge_at[out] : FABRIC_NONE;

		next[sw] = e;
		fates[sw] = e != FABRIC_NONE ? UNKNOWN : out == LFT_NO_PORT ? HOLE : WRONG;
	}
	if (column[d->sw] == d->out) {
		next[d->sw] = FABRIC_NONE;
		fates[d->sw] = ARRIVES;
	}
}

/* Mark the switches that can reach a LID, where silent ones forward only by their tables. */
static void
find_near(const struct checker *c, struct scratch *s, uint32_t home)
{
	const struct fabric *f = c->f;
	uint32_t len = 0;

	memset(s->near, 0, f->nswitches);
	if (!c->hops[home].silent || s->fate[home] == ARRIVES) {
		s->near[home] = 1;
		s->stack[len++] = home;
	}
	while (len) {
		uint32_t sw = s->stack[--len];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (s->near[e->to] || (c->hops[e->to].silent &&
					       (s->next[e->to] == FABRIC_NONE ||
						c->channels.out[s->next[e->to]] != e->in)))
				continue;
			s->near[e->to] = 1;
			s->stack[len++] = e->to;
		}
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		s->apart[sw] |= !s->near[sw];
}

/* Could a packet get from the switch to the present LID, whose home is in `part`? */
static inline bool
is_near(const struct checker *c, const struct scratch *s, uint32_t sw, uint32_t part)
{
	return c->any_silent ? s->near[sw] : c->hops[sw].part == part;
}

/* Count the faults of entries: holes and wrong exits. */
static void
judge_entries(const struct checker *c, struct scratch *s, uint32_t lid, uint32_t part)
{
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		enum fate fate = s->fate[sw];

		if ((fate != HOLE && fate != WRONG) || !is_near(c, s, sw, part))
			continue;
		s->hops[sw] = 1;
		s->sum.holes += fate == HOLE;
		s->sum.misdelivered += fate == WRONG;
		note_fault(&s->sum, lid, sw, fate);
	}
}

/* Ways of all switches to one LID; faults are counted. */
static void
walk_lid(const struct checker *c, struct scratch *s, uint32_t lid)
{
	uint32_t home = c->in->lids->dest[lid].sw, part = c->part[home];

	read_lid(c, s, lid);
	s->hops[home] = 1;
	if (c->any_silent)
		find_near(c, s, home);
	judge_entries(c, s, lid, part);
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		if (s->fate[sw] == UNKNOWN)
			follow(c, s, sw);
		if (s->fate[sw] == ARRIVES)
			continue;
		s->lost[sw] = 1;
		/* Nothing can be done about silent switches that send in a circle by themselves. */
		if (s->fate[sw] == LOOPS && !c->hops[sw].silent) {
			s->sum.loops++;
			note_fault(&s->sum, lid, sw, LOOPS);
		}
	}
}

/* One lane, one set of tables: s->next[] holds all that is needed. */
static void
depend_single(const struct checker *c, struct scratch *s)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	const uint8_t *out = c->channels.out;

	for (uint32_t sw = 0, n = c->f->nswitches; sw < n; sw++) {
		uint32_t e = next[sw], then = e == FABRIC_NONE ? e : next[to[e]];

		if (then != FABRIC_NONE)
			channels_add(&c->channels, e, 0, out[then], 0);
	}
}

/* One lane, two sets of tables: each switch on the way may have the one or the other. */
static void
depend_union(const struct checker *c, uint32_t lid)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };

	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (unsigned i = 0; i < 2; i++) {
			uint32_t e, then;

			entry(c, sets[i], sw, lid, &e);
			if (e == FABRIC_NONE)
				continue;
			for (unsigned k = 0; k < 2; k++) {
				entry(c, sets[k], c->f->edges[e].to, lid, &then);
				if (then != FABRIC_NONE)
					channels_add(&c->channels, e, 0, c->f->edges[then].out, 0);
			}
		}
}

static uint8_t
lane_of(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, uint8_t lane, uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;
	uint8_t v = l->lane ? l->lane(l, sw, in, out, lane, class) : 0;

	return v < c->channels.lanes ? v : 0;
}

/* A packet of a class enters a channel of this walk; it is followed once. */
static void
enter(const struct checker *c, struct scratch *s, size_t *nwork, uint32_t e, uint8_t lane,
      uint8_t class)
{
	size_t state = ((size_t)e * c->channels.lanes + lane) * c->classes + class;

	if (s->stamp[state] == s->walk)
		return;
	s->stamp[state] = s->walk;
	s->work[(*nwork)++] = state;
}

static void
follow_lanes(const struct checker *c, struct scratch *s, size_t nwork, uint32_t lid)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };

	while (nwork) {
		uint64_t state = s->work[--nwork];
		uint8_t class = (uint8_t)(state % c->classes);
		uint8_t lane = (uint8_t)(state / c->classes % c->channels.lanes);
		uint32_t e = (uint32_t)(state / c->classes / c->channels.lanes);
		const struct fabric_edge *edge = &c->f->edges[e];

		for (unsigned k = 0; k < 2 && sets[k]; k++) {
			uint32_t then;
			uint8_t to;

			entry(c, sets[k], edge->to, lid, &then);
			if (then == FABRIC_NONE)
				continue;
			to = lane_of(c, edge->to, edge->in, c->f->edges[then].out, lane, class);
			channels_add(&c->channels, e, lane, c->f->edges[then].out, to);
			enter(c, s, &nwork, then, to, class);
		}
	}
}

/* Lanes: start packets at the switch itself and at each of its channel adapters' ports. */
static void
depend_lanes(const struct checker *c, struct scratch *s, uint32_t lid)
{
	const struct plan_lanes *l = c->in->lanes;
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };
	uint32_t home = c->in->lids->dest[lid].sw;
	size_t nwork = 0;

	s->walk++;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(c->f, sw);
		uint8_t class = l->path_class ? l->path_class(l, sw, home) : 0;

		for (unsigned k = 0; k < 2 && sets[k]; k++) {
			uint32_t e;

			entry(c, sets[k], sw, lid, &e);
			for (unsigned in = 0; e != FABRIC_NONE && in <= n->nports; in++) {
				const struct fabric_port *p = &c->f->ports[n->first_port + in];

				if (in && (p->peer == FABRIC_NONE ||
					   c->channels.edge_at[n->first_port + in] != FABRIC_NONE))
					continue;
				enter(c, s, &nwork, e, lane_of(c, sw, (uint8_t)in, c->f->edges[e].out,
							       0, class),
				      class < c->classes ? class : 0);
			}
		}
	}
	follow_lanes(c, s, nwork, lid);
}

/* Pairs of hosts whose destination is this port. */
static void
count_pairs(const struct checker *c, struct scratch *s, uint32_t port)
{
	const struct plan_dest *d = &c->in->lids->dest[c->in->lids->base[port]];
	struct tally *t = &s->sum;

	if (d->out == 0)
		return;
	t->cut_off += c->nsources - c->part_sources[c->part[d->sw]];
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		uint64_t n = c->sources[sw] - (sw == d->sw);

		if (!n || c->part[sw] != c->part[d->sw])
			continue;
		if (c->any_silent && s->apart[sw]) {
			t->cut_off += n;
			continue;
		}
		if (s->lost[sw]) {
			t->unreachable += n;
			continue;
		}
		t->reached += n;
		t->hops += n * s->hops[sw];
		if (s->hops[sw] > t->max_hops)
			t->max_hops = s->hops[sw];
	}
}

/* A port that hangs on no switch: only the other end of its cable reaches it. */
static void
count_alone(const struct checker *c, struct scratch *s, uint32_t port)
{
	uint32_t peer = c->f->ports[port].peer;
	bool pair = peer != FABRIC_NONE && peer != port && c->in->lids->base[peer];

	s->sum.reached += pair;
	s->sum.cut_off += c->nsources - 1 - pair;
}

static void
check_ports(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;
	const struct plan_lids *lids = c->in->lids;
	struct scratch *s = &c->scratch[thread];

	for (size_t i = first; i < end; i++) {
		uint32_t port = c->dests[i], base = lids->base[port];

		if (lids->dest[base].sw == FABRIC_NONE) {
			count_alone(c, s, port);
			continue;
		}
		memset(s->lost, 0, c->f->nswitches);
		memset(s->apart, 0, c->f->nswitches);
		for (uint32_t k = 0; k < 1u << (lids->lmc[port] & 7); k++) {
			if (base + k > lids->top || lids->dest[base + k].port != port)
				continue;
			walk_lid(c, s, base + k);
			if (s->stamp)
				depend_lanes(c, s, base + k);
			else if (c->in->also)
				depend_union(c, base + k);
			else
				depend_single(c, s);
		}
		count_pairs(c, s, port);
	}
}

/* For the union alone nothing is walked. */
static void
unite_ports(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;
	const struct plan_lids *lids = c->in->lids;

	for (size_t i = first; i < end; i++) {
		uint32_t port = c->dests[i], base = lids->base[port];

		for (uint32_t k = 0; k < 1u << (lids->lmc[port] & 7); k++) {
			if (base + k > lids->top || lids->dest[base + k].port != port ||
			    lids->dest[base + k].sw == FABRIC_NONE)
				continue;
			if (c->scratch[thread].stamp)
				depend_lanes(c, &c->scratch[thread], base + k);
			else
				depend_union(c, base + k);
		}
	}
}

/* Destination ports in order of their LIDs, so that neighbours in a table are done together. */
static void
list_dests(struct checker *c)
{
	const struct plan_lids *l = c->in->lids;

	c->dests = mem_array(l->top + 1u, sizeof(*c->dests));
	for (uint32_t lid = 1; lid <= l->top; lid++) {
		const struct plan_dest *d = &l->dest[lid];

		if (d->port == FABRIC_NONE || l->base[d->port] != lid)
			continue;
		c->dests[c->ndests++] = d->port;
		if (c->f->nodes[c->f->ports[d->port].node].sw != FABRIC_NONE)
			continue;
		c->nsources++;
		if (d->sw == FABRIC_NONE)
			continue;
		c->sources[d->sw]++;
		c->part_sources[c->part[d->sw]]++;
	}
}

static void
list_hops(struct checker *c)
{
	c->hops = mem_array(c->f->nswitches, sizeof(*c->hops));
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(c->f, sw);

		c->hops[sw] = (struct hop){
			.edge_at = &c->channels.edge_at[n->first_port], .part = c->part[sw],
			.nports = n->nports, .silent = n->flags & FABRIC_NODE_SILENT,
		};
		c->any_silent |= c->hops[sw].silent;
	}
}

static void
scratch_init(struct scratch *s, const struct checker *c)
{
	uint32_t n = c->f->nswitches;
	size_t states = (size_t)c->f->nedges * c->channels.lanes * c->classes;

	s->fate = mem_array(n, 1);
	s->hops = mem_array(n, sizeof(*s->hops));
	s->next = mem_array(n, sizeof(*s->next));
	s->stack = mem_array(n, sizeof(*s->stack));
	s->lost = mem_array(n, 1);
	s->near = mem_array(n, 1);
	s->columns = mem_array(n, BLOCK);
	s->block = UINT32_MAX;
	s->apart = mem_array(n, 1);
	if (c->channels.lanes == 1)
		return;
	s->stamp = mem_array(states, sizeof(*s->stamp));
	s->work = mem_array(states, sizeof(*s->work));
}

static void
checker_init(struct checker *c, const struct check_input *in)
{
	const struct fabric *f = in->fabric;

	*c = (struct checker){ .in = in, .f = f };
	channels_init(&c->channels, f, in->lanes && in->lanes->lanes ? in->lanes->lanes : 1);
	c->classes = in->lanes && in->lanes->classes ? in->lanes->classes : 1;
	c->part = mem_array(f->nswitches, sizeof(*c->part));
	c->sources = mem_array(f->nswitches, sizeof(*c->sources));
	c->part_sources = mem_array(f->nswitches, sizeof(*c->part_sources));
	levels_components(f, c->part);
	list_hops(c);
	list_dests(c);
	c->threads = parallel_threads(in->threads);
	c->scratch = mem_array(c->threads, sizeof(*c->scratch));
	for (unsigned i = 0; i < c->threads; i++)
		scratch_init(&c->scratch[i], c);
}

static void
checker_free(struct checker *c)
{
	for (unsigned i = 0; i < c->threads; i++) {
		mem_free(c->scratch[i].fate);
		mem_free(c->scratch[i].hops);
		mem_free(c->scratch[i].next);
		mem_free(c->scratch[i].stack);
		mem_free(c->scratch[i].lost);
		mem_free(c->scratch[i].near);
		mem_free(c->scratch[i].columns);
		mem_free(c->scratch[i].apart);
		mem_free(c->scratch[i].stamp);
		mem_free(c->scratch[i].work);
	}
	mem_free(c->scratch);
	mem_free(c->hops);
	mem_free(c->part);
	mem_free(c->sources);
	mem_free(c->part_sources);
	mem_free(c->dests);
	channels_free(&c->channels);
}

static struct tally
add_up(const struct checker *c)
{
	struct tally sum = { 0 };

	for (unsigned i = 0; i < c->threads; i++) {
		const struct tally *t = &c->scratch[i].sum;

		sum.unreachable += t->unreachable;
		sum.cut_off += t->cut_off;
		sum.reached += t->reached;
		sum.hops += t->hops;
		sum.loops += t->loops;
		sum.holes += t->holes;
		sum.misdelivered += t->misdelivered;
		if (t->max_hops > sum.max_hops)
			sum.max_hops = t->max_hops;
		if (t->fault_lid)
			note_fault(&sum, t->fault_lid, t->fault_sw, t->fault);
	}
	return sum;
}

static void
describe_fault(const struct checker *c, const struct tally *t, char *text, size_t size)
{
	const struct plan_dest *d = &c->in->lids->dest[t->fault_lid];
	const char *what = t->fault == LOOPS ? "its packets run in a circle" :
		t->fault == HOLE ? "its table has no port for it" :
		"its table sends it out at the wrong place";

	snprintf(text, size, "LID %u (%.80s) is not reached from %.80s: %s (port %u)", t->fault_lid,
		 c->f->nodes[c->f->ports[d->port].node].name,
		 fabric_switch_node(c->f, t->fault_sw)->name, what,
		 plan_row_port(c->in->rows[t->fault_sw], t->fault_lid));
}

static void
find_credit_loop(const struct checker *c, struct plan_check *r)
{
	r->credit_loops = channels_cycle(&c->channels, r->cycle, sizeof(r->cycle));
	if (r->credit_loops && !r->first[0])
		snprintf(r->first, sizeof(r->first), "credit loop: %.380s", r->cycle);
}

int
check_routing(const struct check_input *in, struct plan_check *report)
{
	struct checker c;
	struct tally t;

	checker_init(&c, in);
	parallel_run(c.threads, c.ndests, 64, check_ports, &c);
	t = add_up(&c);
	*report = (struct plan_check){
		.pairs = c.nsources ? (uint64_t)c.nsources * (c.nsources - 1) : 0,
		.unreachable = t.unreachable, .cut_off = t.cut_off, .loops = t.loops,
		.holes = t.holes, .misdelivered = t.misdelivered, .max_hops = t.max_hops,
		.mean_hops = t.reached ? (double)t.hops / (double)t.reached : 0,
	};
	if (t.fault_lid)
		describe_fault(&c, &t, report->first, sizeof(report->first));
	find_credit_loop(&c, report);
	checker_free(&c);
	return t.fault_lid || report->credit_loops ? ERR_REFUSED : 0;
}

int
check_union(const struct check_input *in, struct plan_check *report)
{
	struct check_input both = *in;
	struct checker c;

	if (!both.also)
		both.also = both.rows;
	*report = (struct plan_check){ 0 };
	checker_init(&c, &both);
	parallel_run(c.threads, c.ndests, 64, unite_ports, &c);
	find_credit_loop(&c, report);
	checker_free(&c);
	return report->credit_loops ? ERR_REFUSED : 0;
}
