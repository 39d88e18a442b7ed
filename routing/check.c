/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/check.h"
#include <stdio.h>
#include <string.h>
#include "routing/depend.h"
#include "routing/levels.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The proof. Work is cut by destination ports; each thread walks every switch's way to a LID once,
 * remembering where ways end, and enters the dependencies that those ways make into one shared
 * graph (bits are only ever set, so the result does not depend on who came first). Afterwards one
 * thread searches the graph for a cycle.
 *
 * What cables join, tables must join. A silent switch (FABRIC_NODE_SILENT) joins only what the
 * table that it is known to hold joins, because nobody can change it: what is missing there is
 * counted as cut off, not as a fault of the routing.
 */
#define BLOCK 64u	/* LIDs whose entries are gathered at a time */
#define LEAP_ROUNDS 7u	/* each at least doubles how far is seen */

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
		for (uint32_t sw = 0; sw < n; sw++) {
			const struct plan_row *row = c->in->rows[sw];
			uint32_t len = row && row->len > first ? row->len - first : 0;
			uint8_t *column = &s->columns[sw];

			for (uint32_t i = 0; i < BLOCK; i++, column += n)
				*column = i < len ? row->port[first + i] : LFT_NO_PORT;
		}
	}
	return &s->columns[(size_t)(lid - first) * n];
}

/* Where all switches send a LID: next[], and fate[] where that ends a way. False if one ends
 * anywhere but at its owner. */
static bool
read_lid(const struct checker *c, struct scratch *s, uint32_t lid)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];
	const uint8_t *column = read_column(c, s, lid);
	const struct hop *hops = c->hops;
	uint32_t *next = s->next, ends = 0;
	uint8_t *fates = s->fate;

	for (uint32_t sw = 0, n = c->f->nswitches; sw < n; sw++) {
		uint8_t out = column[sw];
		uint32_t e = out <= hops[sw].nports ? hops[sw].edge_at[out] : FABRIC_NONE;

		next[sw] = e;
		fates[sw] = e != FABRIC_NONE ? UNKNOWN : out == LFT_NO_PORT ? HOLE : WRONG;
		ends += e == FABRIC_NONE;
	}
	if (column[d->sw] != d->out)
		return false;
	ends -= next[d->sw] == FABRIC_NONE;
	next[d->sw] = FABRIC_NONE;
	fates[d->sw] = ARRIVES;
	return ends == 0;
}

/*
 * The usual case, in which all ways arrive: each switch leaps over ever more of its way (pointer
 * jumping, Wyllie 1979), hops[] counting what lies between it and where it looks. False if some
 * have not arrived after LEAP_ROUNDS: the way is very long, or a circle.
 */
static bool
leap(const struct checker *c, struct scratch *s, uint32_t home)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	uint32_t *at = s->stack, n = c->f->nswitches, away = 1;
	uint16_t *hops = s->hops;

	for (uint32_t sw = 0; sw < n; sw++) {
		at[sw] = sw == home ? home : to[next[sw]];
		hops[sw] = sw != home;
	}
	for (unsigned round = 0; away && round < LEAP_ROUNDS; round++) {
		away = 0;
		for (uint32_t sw = 0; sw < n; sw++) {
			uint32_t there = at[sw];

			hops[sw] = (uint16_t)(hops[sw] + hops[there]);
			at[sw] = at[there];
			away |= at[there] ^ home;
		}
	}
	for (uint32_t sw = 0; !away && sw < n; sw++)
		hops[sw]++;
	return !away;
}

/* Switches that can reach a LID have a distance in s->reach[], where silent ones forward only by
 * their tables. */
static void
find_near(const struct checker *c, struct scratch *s, uint32_t lid)
{
	uint32_t home = c->in->lids->dest[lid].sw, n = c->f->nswitches;
	const uint8_t *column = read_column(c, s, lid);

	for (uint32_t sw = 0; sw < n; sw++) {
		s->reach[sw] = LEVELS_FAR;
		s->exits[sw] = !c->hops[sw].silent ? LEVELS_FREE :
			column[sw] ? column[sw] : LFT_NO_PORT;
	}
	if (!c->hops[home].silent || s->fate[home] == ARRIVES) {
		s->reach[home] = 0;
		levels_reach(c->f, s->exits, s->reach, &home, 1, s->stack, s->queue);
	}
	for (uint32_t sw = 0; sw < n; sw++)
		s->apart[sw] |= s->reach[sw] == LEVELS_FAR;
}

/* Could a packet get from the switch to the present LID, whose home is in `part`? */
static inline bool
is_near(const struct checker *c, const struct scratch *s, uint32_t sw, uint32_t part)
{
	return c->any_silent ? s->reach[sw] != LEVELS_FAR : c->hops[sw].part == part;
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

	if (read_lid(c, s, lid) && !c->any_silent && leap(c, s, home))
		return;
	s->hops[home] = 1;
	if (c->any_silent)
		find_near(c, s, lid);
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
	s->reach = mem_array(n, sizeof(*s->reach));
	s->exits = mem_array(n, 1);
	s->queue = mem_array(c->f->nedges, sizeof(*s->queue));
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
		mem_free(c->scratch[i].reach);
		mem_free(c->scratch[i].exits);
		mem_free(c->scratch[i].queue);
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
