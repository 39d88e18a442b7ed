/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/check.h"
#include <stdio.h>
#include "routing/checker.h"
#include "routing/depend_groups.h"
#include "routing/levels.h"
#include "routing/repair.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The proof. Work is cut into blocks of LIDs. With an order of switches (the engine's, or a guess)
 * the ladder finds for a whole block at once where all ways arrive and none turns from down to up;
 * the other LIDs are walked one by one, but for those that all switches send like another. If no
 * way turned, the order itself is the proof that there is no credit loop, whatever lanes are used;
 * else all dependencies are entered into one shared graph (bits are only ever set, so the result
 * does not depend on who came first), and one thread searches that for a cycle.
 */
#define GRAIN 2u	/* blocks that a thread takes at a time */

static bool
is_base(const struct plan_lids *l, uint32_t lid)
{
	return lid && l->dest[lid].port != FABRIC_NONE && l->base[l->dest[lid].port] == lid;
}

/* The last LID of the port whose first is lane `i`, if all of its LIDs are sound and within the
 * block; LADDER_LANES if not. */
static uint32_t
last_sound(const struct checker *c, const struct ladder_block *b, uint32_t i)
{
	const struct plan_lids *l = c->in->lids;
	uint32_t port = l->dest[b->lid[i]].port, end = i + (1u << (l->lmc[port] & 7));
	uint32_t last = LADDER_LANES;

	if (end > LADDER_LANES)
		return LADDER_LANES;
	for (; i < end; i++) {
		if (b->lid[i] > l->top || l->dest[b->lid[i]].port != port)
			continue;
		if (!b->sound[i])
			return LADDER_LANES;
		last = i;
	}
	return last;
}

static void
check_lane(const struct checker *c, struct scratch *s, uint32_t i)
{
	const struct ladder_block *b = &s->ladder;
	uint32_t lid = b->lid[i], port = c->in->lids->dest[lid].port;
	uint32_t last = c->ordered && !s->hopeless ? last_sound(c, b, i) : LADDER_LANES;

	if (b->home[i] == FABRIC_NONE) {
		walk_alone(c, &s->sum, port);
	} else if (last == LADDER_LANES) {
		c->doubt[lid] = 1;
		s->walked = true;
	} else {
		walk_count(c, &s->sum, port, b->hops[last], b->max_hops[last]);
		if (c->proof && b->exit[i])
			c->proof->lid[lid] = (struct plan_proof_lid){
				b->hops[last], b->max_hops[last],
			};
	}
}

/* Of a block without LIDs too: nothing was tried in vain. */
static bool
any_sound(const struct ladder_block *b)
{
	bool homes = false;

	for (uint32_t i = 0; i < LADDER_LANES; i++) {
		if (b->sound[i])
			return true;
		homes |= b->home[i] != FABRIC_NONE;
	}
	return !homes;
}

static void
check_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;
	struct scratch *s = &c->scratch[thread];

	for (size_t k = first; k < end; k++) {
		uint32_t lid = (uint32_t)k * LADDER_LANES;

		ladder_block_range(&s->ladder, c->in->lids, lid);
		if (c->ordered && !s->hopeless) {
			ladder_walk(&c->order, &c->query, &s->ladder);
			s->hopeless = !any_sound(&s->ladder);
		}
		for (uint32_t i = 0; i < LADDER_LANES && lid + i <= c->in->lids->top; i++)
			if (is_base(c->in->lids, lid + i))
				check_lane(c, s, i);
	}
}

static void
walk_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;

	for (size_t k = first; k < end; k++)
		walk_block(c, &c->scratch[thread], (uint32_t)k);
}

static void
run_blocks(struct checker *c, parallel_fn fn)
{
	parallel_run(c->threads, c->in->lids->top / LADDER_LANES + 1u, GRAIN, fn, c);
}

/* Find which LIDs are sound, and walk the others, home by home. */
static void
check_lids(struct checker *c)
{
	c->doubt = mem_array(c->in->lids->top + 1u, sizeof(*c->doubt));
	run_blocks(c, check_blocks);
	columns_order_init(&c->walks, c->in->lids, c->f->nswitches, c->doubt);
	for (unsigned i = 0; i < c->threads && c->walks.nblocks; i++)
		columns_init(&c->scratch[i].columns, c->f->nswitches, 1);
	parallel_run(c->threads, c->walks.nblocks, 1, walk_blocks, c);
}

/* Two sets of tables: nothing is walked, only turns are looked for. */
static void
unite_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;
	struct scratch *s = &c->scratch[thread];

	for (size_t k = first; k < end && !s->turns; k++) {
		ladder_block_range(&s->ladder, c->in->lids, (uint32_t)k * LADDER_LANES);
		s->turns = !ladder_unites(&c->order, c->query.rows, c->also, &s->ladder);
	}
}

static void
depend_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;

	for (size_t k = first; k < end; k++)
		depend_block(c, &c->scratch[thread], (uint32_t)k * LADDER_LANES);
}

static void
count_sources(struct checker *c)
{
	const struct plan_lids *l = c->in->lids;

	for (uint32_t lid = 1; lid <= l->top; lid++) {
		const struct plan_dest *d = &l->dest[lid];

		if (!is_base(l, lid) || c->f->nodes[c->f->ports[d->port].node].sw != FABRIC_NONE)
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
			.nports = n->nports, .silent = n->flags & FABRIC_NODE_FIXED,
		};
		c->any_silent |= c->hops[sw].silent;
		c->nparts += c->part[sw] == sw;
	}
}

/* Tables of unknown origin: if they are those of a tree, roots and distance from them will do. */
static uint8_t *
guess_ranks(const struct fabric *f)
{
	uint16_t *dist = mem_array(f->nswitches, sizeof(*dist));
	uint8_t *ranks = mem_array(f->nswitches, 1);

	levels_roots(f, ranks);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		dist[sw] = ranks[sw] ? 0 : LEVELS_FAR;
	levels_spread(f, dist);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		ranks[sw] = (uint8_t)(dist[sw] < UINT8_MAX ? dist[sw] : UINT8_MAX);
	mem_free(dist);
	return ranks;
}

static void
find_order(struct checker *c)
{
	uint8_t *guess = c->in->ranks ? NULL : guess_ranks(c->f);

	c->ordered = ladder_init(&c->order, c->f, guess ? guess : c->in->ranks);
	mem_free(guess);
	if (!c->ordered)
		return;
	c->query = (struct ladder_query){
		.rows = ladder_rows(&c->order, c->in->rows), .sources = c->sources,
		.part = c->nparts > 1 ? c->part : NULL,
	};
	if (c->in->also)
		c->also = ladder_rows(&c->order, c->in->also);
}

static void
scratch_init(struct scratch *s, const struct checker *c)
{
	uint32_t n = c->f->nswitches;

	s->fate = mem_array(n, 1);
	s->hops = mem_array(n, sizeof(*s->hops));
	s->next = mem_array(n, sizeof(*s->next));
	s->stack = mem_array(n, sizeof(*s->stack));
	s->lost = mem_array(n, 1);
	s->reach = mem_array(n, sizeof(*s->reach));
	s->exits = mem_array(n, 1);
	s->queue = mem_array(c->f->nedges, sizeof(*s->queue));
	s->apart = mem_array(n, 1);
	if (c->ordered)
		ladder_block_init(&s->ladder, &c->order);
}

void
checker_init(struct checker *c, const struct check_input *in)
{
	const struct fabric *f = in->fabric;

	*c = (struct checker){ .in = in, .f = f };
	channels_init(&c->channels, f, in->lanes && in->lanes->lanes ? in->lanes->lanes : 1);
	c->classes = in->lanes && in->lanes->classes ? in->lanes->classes : 1;
	if (c->classes > SLS_LEN)
		c->classes = SLS_LEN;
	c->part = mem_array(f->nswitches, sizeof(*c->part));
	c->sources = mem_array(f->nswitches, sizeof(*c->sources));
	c->part_sources = mem_array(f->nswitches, sizeof(*c->part_sources));
	levels_components(f, c->part);
	list_hops(c);
	count_sources(c);
	find_order(c);
	c->threads = parallel_threads(in->threads);
	c->scratch = mem_array(c->threads, sizeof(*c->scratch));
	for (unsigned i = 0; i < c->threads; i++)
		scratch_init(&c->scratch[i], c);
}

static void
scratch_free(struct scratch *s)
{
	mem_free(s->fate);
	mem_free(s->hops);
	mem_free(s->next);
	mem_free(s->stack);
	mem_free(s->lost);
	mem_free(s->reach);
	mem_free(s->exits);
	mem_free(s->queue);
	columns_free(&s->columns);
	mem_free(s->apart);
	mem_free(s->sent[0]);
	mem_free(s->sent[1]);
	ladder_block_free(&s->ladder);
}

void
checker_free(struct checker *c)
{
	for (unsigned i = 0; i < c->threads; i++)
		scratch_free(&c->scratch[i]);
	mem_free(c->scratch);
	ladder_free(&c->order);
	mem_free((void *)(uintptr_t)c->query.rows);
	mem_free(c->also);
	columns_order_free(&c->walks);
	mem_free(c->doubt);
	mem_free(c->hops);
	mem_free(c->part);
	mem_free(c->sources);
	mem_free(c->part_sources);
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
			walk_note(&sum, t->fault_lid, t->fault_sw, t->fault);
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
	char to[FABRIC_NAME_SIZE], at[FABRIC_NAME_SIZE];

	snprintf(text, size, "LID %u (%s) is not reached from %s: %s (port %u)", t->fault_lid,
		 fabric_node_text(to, c->f, c->f->ports[d->port].node, FABRIC_NAME_LEN),
		 fabric_node_text(at, c->f, c->f->switches[t->fault_sw], FABRIC_NAME_LEN), what,
		 plan_row_port(c->in->rows[t->fault_sw], t->fault_lid));
}

/* Does the order of switches prove that there is no credit loop? */
static bool
certified(const struct checker *c)
{
	bool good = c->ordered && !multicast_turns(&c->order, c->in);

	for (unsigned i = 0; i < c->threads; i++)
		good &= !c->scratch[i].turns;
	return good && !adaptive_turns(c, NULL, NULL, 0);
}

static void
sent_init(struct checker *c)
{
	for (unsigned i = 0; i < c->threads; i++) {
		struct scratch *s = &c->scratch[i];

		s->sent[0] = mem_array(c->f->nswitches, LADDER_LANES);
		s->sent[1] = mem_array(c->in->also ? c->f->nswitches : 0, LADDER_LANES);
	}
}

/* Are packets to be followed by groups too? Where groups are parallel cables it is enough to spread
 * what rows make them wait for; but not while rows change, for an old row's port may be dead. */
static bool
by_groups(const struct checker *c)
{
	const struct check_input *in = c->in;

	return adaptive_by_home(c) ||
	       ((in->adaptive || in->adaptive_also) && in->also && in->also != in->rows);
}

size_t
checker_graph(struct checker *c)
{
	channels_open(&c->channels);
	if (by_groups(c)) {
		depend_with_groups(c, NULL);
	} else if (c->channels.lanes > 1) {
		depend_with_lanes(c);
	} else {
		sent_init(c);
		run_blocks(c, depend_blocks);
	}
	if (!by_groups(c))
		adaptive_depends(c);
	return (size_t)c->f->nedges * c->channels.lanes * c->channels.lanes * c->channels.words *
	       sizeof(*c->channels.bits);
}

static void
find_credit_loop(struct checker *c, struct plan_check *r)
{
	if (certified(c))
		return;
	checker_graph(c);
	multicast_depends(c);
	r->credit_loops = channels_cycle(&c->channels, r->cycle, sizeof(r->cycle));
	if (r->credit_loops && !r->first[0])
		snprintf(r->first, sizeof(r->first), "credit loop: %.380s", r->cycle);
}

int
check_routing(const struct check_input *in, struct plan_check *report)
{
	return check_prove(in, NULL, report, NULL);
}

/* Only tables that are sound throughout, as their order proves, have a proof to go on from. */
static void
finish_proof(const struct checker *c, const struct tally *t, struct plan_proof **proof)
{
	bool walked = false;

	if (proof)
		*proof = NULL;
	if (!c->proof)
		return;
	c->proof->reached = t->reached;
	c->proof->hops = t->hops;
	for (unsigned i = 0; i < c->threads; i++)
		walked |= c->scratch[i].walked;
	if (certified(c) && !walked)
		*proof = c->proof;
	else
		plan_proof_unref(c->proof);
}

int
check_prove(const struct check_input *in, const struct plan *previous, struct plan_check *report,
	    struct plan_proof **proof)
{
	struct checker c;
	struct tally t;

	if (repair_prove(in, previous, report, proof))
		return 0;
	checker_init(&c, in);
	if (proof && in->ranks && c.nparts == 1 && !in->also)
		c.proof = plan_proof_new(in->lids->top);
	check_lids(&c);
	if (in->also && certified(&c))
		run_blocks(&c, unite_blocks);
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
	finish_proof(&c, &t, proof);
	checker_free(&c);
	return t.fault_lid || report->credit_loops ? ERR_REFUSED : 0;
}

bool
check_trees(const struct check_input *in)
{
	struct ladder order;
	bool turns;

	if (!in->ranks || !ladder_init(&order, in->fabric, in->ranks))
		return false;
	turns = multicast_turns(&order, in);
	ladder_free(&order);
	return !turns;
}

int
check_union(const struct check_input *in, struct plan_check *report)
{
	struct check_input both = *in;
	struct checker c;
	bool unite;

	if (!both.also)
		both.also = both.rows;
	unite = repair_unites(&both);
	*report = (struct plan_check){ 0 };
	if (unite && !both.adaptive && !both.adaptive_also)
		return 0;
	checker_init(&c, &both);
	if (c.ordered && !unite)
		run_blocks(&c, unite_blocks);
	find_credit_loop(&c, report);
	checker_free(&c);
	return report->credit_loops ? ERR_REFUSED : 0;
}
