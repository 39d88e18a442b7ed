/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "tests/unit/engine_help.h"

/*
 * Engines and their chain, on small fabrics with counted expectations, on generated ones and, where
 * they are at hand, on real ones.
 */

static struct plan *
must_route(const struct fabric *f, const char *engine, const struct plan *previous, uint8_t lmc)
{
	struct error e = { 0 };
	struct plan *p = help_plan(f, engine, previous, lmc, 1, &e);

	if (!p)
		fail_msg("%s: %s", engine, e.text);
	assert_string_equal(p->engine_running, engine);
	assert_string_equal(p->reason, "");
	return p;
}

static void
measure(const struct plan *p, struct quality_report *q)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = 1,
	};

	quality_measure(&in, 1, 0, 21, q);
}

static const char *const both[] = { "minhop", "updn" };

/* ft3 8 by hand: of the 127 other hosts 3 are on the same leaf (1 switch), 12 in the same pod (3),
 * 112 elsewhere (5). An intact tree carries each shift without two flows on a link. */
static void
test_fat_tree(void **state)
{
	struct fabric *f = help_generate("ft3 8", false, 0);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 0);
		double mean = (3 + 12 * 3 + 112 * 5) / 127.0;
		struct quality_report q;

		assert_int_equal(p->check.pairs, 128 * 127);
		assert_int_equal(p->check.max_hops, 5);
		assert_true(p->check.mean_hops > mean - 1e-6 && p->check.mean_hops < mean + 1e-6);
		measure(p, &q);
		assert_int_equal(q.shift_max, 1);
		assert_int_equal(q.a2a, 7);
		plan_unref(p);
	}
	fabric_unref(f);
}

/* The same with GUIDs in random order: hop counts stay. */
static void
test_shuffled(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 4; seed++) {
		struct fabric *f = help_generate("ft3 8", true, seed);

		for (unsigned i = 0; i < 2; i++) {
			struct plan *p = must_route(f, both[i], NULL, 0);
			double mean = (3 + 12 * 3 + 112 * 5) / 127.0;
			struct quality_report q;

			assert_true(p->check.mean_hops > mean - 1e-6 &&
				    p->check.mean_hops < mean + 1e-6);
			measure(p, &q);
			assert_true(q.shift_max <= 4 && q.a2a <= 8);
			plan_unref(p);
		}
		fabric_unref(f);
	}
}

static void
test_two_levels(void **state)
{
	struct fabric *f = help_generate("ft2 8 8 8", false, 0);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 0);
		struct quality_report q;

		measure(p, &q);
		assert_int_equal(q.shift_max, 1);
		plan_unref(p);
	}
	fabric_unref(f);
}

/* A ring of five: shortest paths close a credit loop, so minhop is refused and updn takes over if
 * it may. */
static void
test_chain(void **state)
{
	const char *const names[] = { "minhop", "updn", NULL };
	struct chain_options o = { .engines = names, .fallback = true };
	struct fabric *f = help_generate("torus 5 1 1 1", false, 0);
	struct error e = { 0 };
	struct plan *p;

	(void)state;
	assert_null(help_plan(f, "minhop", NULL, 0, 1, &e));
	assert_int_equal(e.code, ERR_REFUSED);
	assert_non_null(strstr(e.text, "engine minhop is refused"));
	assert_non_null(strstr(e.text, "credit loop"));
	assert_null(help_plan(f, "nonsense", NULL, 0, 1, &e));
	assert_non_null(strstr(e.text, "nonsense"));
	p = plan_new(f);
	p->lids = help_lids(f, 0);
	assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), 0);
	assert_string_equal(p->engine_requested, "minhop");
	assert_string_equal(p->engine_running, "updn");
	assert_non_null(strstr(p->reason, "engine minhop is refused"));
	assert_non_null(p->ranks);
	plan_unref(p);
	p = plan_new(f);
	p->lids = help_lids(f, 0);
	o.fallback = false;
	assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), ERR_REFUSED);
	assert_string_equal(p->engine_running, "");
	assert_null(p->rows[0]);
	plan_unref(p);
	fabric_unref(f);
}

/* updn finds a legal way for every pair on anything. */
static void
test_any_topology(void **state)
{
	static const char *const recipes[] = {
		"torus 4 4 4 2", "torus 5 4 3 1", "mesh 4 4 1 2", "dragonfly 4 2 2 9",
		"ft2 4 3 5 2",
		"random 12 3 2 1", "random 40 5 3 2", "random 13 2 1 3", "torus 8 1 1 1", "ft3 4",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(*recipes); i++) {
		struct fabric *f = help_generate(recipes[i], true, i);
		struct plan *p;

		assert_non_null(f);
		p = must_route(f, "updn", NULL, 0);
		assert_int_equal(p->check.unreachable + p->check.cut_off, 0);
		plan_unref(p);
		fabric_unref(f);
	}
}

static unsigned
count_out(const struct plan *p, uint32_t sw, unsigned out, bool hosts)
{
	unsigned n = 0;

	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];

		n += d->port != FABRIC_NONE && (d->out != 0) == hosts &&
			plan_row_port(p->rows[sw], lid) == out;
	}
	return n;
}

/* Nine hosts behind three cables of 100, 100 and 25 Gb/s: 4, 4 and 1 of them. */
static void
test_weights(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 12, "s"), t = help_switch(b, 2, 12, "t");
	struct fabric *f;

	(void)state;
	help_cable(b, s, 10, t, 10, 25000);
	help_cable(b, s, 11, t, 11, 100000);
	help_cable(b, s, 12, t, 12, 100000);
	for (unsigned i = 1; i <= 9; i++) {
		help_host(b, 0x1000 + i * 16, "h", s, i);
		help_host(b, 0x2000 + i * 16, "g", t, i);
	}
	f = fabric_build(b, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 0);

		for (uint32_t sw = 0; sw < 2; sw++) {
			assert_int_equal(count_out(p, sw, 10, true), 1);
			assert_int_equal(count_out(p, sw, 11, true), 4);
			assert_int_equal(count_out(p, sw, 12, true), 4);
		}
		plan_unref(p);
	}
	fabric_unref(f);
}

/* Four LIDs a port and four cables: each LID of a port takes another. */
static void
test_lmc(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 8, "s"), t = help_switch(b, 2, 8, "t");
	struct fabric *f;

	(void)state;
	for (unsigned i = 1; i <= 4; i++) {
		help_cable(b, s, i, t, i, 100000);
		help_host(b, 0x1000 + i * 16, "h", s, 4 + i);
		help_host(b, 0x2000 + i * 16, "g", t, 4 + i);
	}
	f = fabric_build(b, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 2);

		for (uint32_t lid = 4; lid + 3 <= p->lids->top; lid += 4) {
			const struct plan_dest *d = &p->lids->dest[lid];
			unsigned used = 0;

			if (d->port == FABRIC_NONE || d->out == 0)
				continue;
			for (uint32_t k = 0; k < 4; k++)
				used |= 1u << plan_row_port(p->rows[!d->sw], lid + k);
			assert_int_equal(used, 2 + 4 + 8 + 16);
		}
		plan_unref(p);
	}
	fabric_unref(f);
}

/* With several spines the LIDs of a port take different ones. */
static void
test_lmc_spines(void **state)
{
	struct fabric *f = help_generate("ft2 3 4 4", false, 0);
	struct plan *p = must_route(f, "updn", NULL, 1);

	(void)state;
	for (uint32_t lid = 2; lid + 1 <= p->lids->top; lid += 2)
		for (uint32_t sw = 0; sw < f->nswitches; sw++) {
			const struct plan_dest *d = &p->lids->dest[lid];

			if (d->port != FABRIC_NONE && d->out && d->sw != sw &&
			    fabric_switch_node(f, sw)->name[0] == 'L')
				assert_int_not_equal(plan_row_port(p->rows[sw], lid),
						     plan_row_port(p->rows[sw], lid + 1));
		}
	plan_unref(p);
	fabric_unref(f);
}

static bool
same_rows(const struct plan *a, const struct plan *b)
{
	for (uint32_t sw = 0; sw < a->fabric->nswitches; sw++)
		if (!plan_row_equal(a->rows[sw], b->rows[sw]))
			return false;
	return true;
}

static void
test_threads(void **state)
{
	static const char *const recipes[] = { "ft3 8", "random 60 5 4 7", "dragonfly 4 2 2 9" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct fabric *f = help_generate(recipes[i], true, 9);
		struct error e = { 0 };
		struct plan *p = help_plan(f, "updn", NULL, 1, 1, &e);
		struct plan *q = help_plan(f, "updn", NULL, 1, 2, &e);
		struct plan *again = help_plan(f, "updn", q, 1, 2, &e);

		assert_true(same_rows(p, q));
		assert_memory_equal(&p->check, &q->check, sizeof(p->check));
		/* Nothing changed, so nothing moves. */
		assert_true(same_rows(p, again));
		plan_unref(p);
		plan_unref(q);
		plan_unref(again);
		fabric_unref(f);
	}
}

/* A cable less between a leaf and a spine: all other switches' entries for LIDs that did not cross
 * it may move only to even out, and few do. */
static void
test_lost_cable(void **state)
{
	struct fabric *f = help_generate("ft2 6 4 8 2", false, 0), *g;
	uint32_t changed = 0, all = 0, port = FABRIC_NONE;

	(void)state;
	for (uint32_t i = 0; i < f->nedges && port == FABRIC_NONE; i++)
		port = fabric_switch_node(f, 0)->first_port + f->edges[f->edge_first[0]].out;
	g = help_without(f, FABRIC_NONE, port);
	assert_int_equal(g->nedges, f->nedges - 2);
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 0), *q = must_route(g, both[i], p, 0);

		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
				changed += plan_row_port(p->rows[sw], lid) !=
					   plan_row_port(q->rows[sw], lid);
				all++;
			}
		assert_memory_equal(p->ranks, q->ranks, f->nswitches);
		plan_unref(p);
		plan_unref(q);
	}
	assert_true(changed > 0 && changed < all / 10);
	fabric_unref(f);
	fabric_unref(g);
}

static uint32_t
switch_named(const struct fabric *f, const char *name)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (strcmp(fabric_switch_node(f, sw)->name, name) == 0)
			return sw;
	fail_msg("no switch %s", name);
	return 0;
}

/* Ranks: one leaf on top, then spines, then leaves; kept when a spine goes and comes back, and
 * when the top goes only as far as needed. */
static void
test_ranks(void **state)
{
	struct fabric *f = help_generate("ft2 4 3 4", false, 0), *g, *h;
	struct plan *p = must_route(f, "updn", NULL, 0), *q, *r;
	uint32_t top = switch_named(f, "L0"), spine = switch_named(f, "S1");

	(void)state;
	assert_int_equal(p->ranks[top], 0);
	assert_int_equal(p->ranks[spine], 1);
	assert_int_equal(p->ranks[switch_named(f, "L3")], 2);
	g = help_without(f, f->switches[spine], FABRIC_NONE);
	q = must_route(g, "updn", p, 0);
	assert_int_equal(q->ranks[switch_named(g, "L0")], 0);
	assert_int_equal(q->ranks[switch_named(g, "S2")], 1);
	r = must_route(f, "updn", q, 0);
	assert_memory_equal(r->ranks, p->ranks, f->nswitches);
	plan_unref(q);
	plan_unref(r);
	h = help_without(f, f->switches[top], FABRIC_NONE);
	q = must_route(h, "updn", p, 0);
	assert_int_equal(q->ranks[switch_named(h, "L1")], 0);
	assert_int_equal(q->ranks[switch_named(h, "S0")], 1);
	assert_int_equal(q->ranks[switch_named(h, "L2")], 2);
	r = must_route(f, "updn", q, 0);		/* it comes back as an ordinary leaf */
	assert_int_equal(r->ranks[switch_named(f, "L1")], 0);
	assert_int_equal(r->ranks[switch_named(f, "L0")], 2);
	plan_unref(p);
	plan_unref(q);
	plan_unref(r);
	fabric_unref(f);
	fabric_unref(g);
	fabric_unref(h);
}

static void
test_roots(void **state)
{
	const char *const names[] = { "updn", NULL };
	struct fabric *f = help_generate("torus 4 4 1 2", false, 0);
	uint32_t sw = switch_named(f, "T2_2_0");
	uint64_t root = fabric_switch_node(f, sw)->guid, gone[2] = { 0xdead, 0xbeef };
	struct chain_options o = { .engines = names, .engine = { .roots = &root, .nroots = 1 } };
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	(void)state;
	p->lids = help_lids(f, 0);
	assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), 0);
	assert_int_equal(p->ranks[sw], 0);
	assert_int_equal(p->ranks[switch_named(f, "T0_0_0")], 4);
	o.engine.roots = gone;
	o.engine.nroots = 2;
	assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), ERR_REFUSED);
	assert_non_null(strstr(e.text, "0x000000000000dead"));
	assert_int_equal(p->ranks[sw], 0);
	plan_unref(p);
	fabric_unref(f);
}

/* A silent switch forwards by what it holds: neighbours go round it where that does not arrive. */
static void
test_silent(void **state)
{
	const char *const names[] = { "updn", NULL };
	struct chain_options o = { .engines = names, .fallback = false };
	struct fabric *f = help_generate("ft2 4 2 3", false, 0);
	struct plan *p = must_route(f, "updn", NULL, 0), *q = plan_new(f);
	struct plan_row *fixed[8] = { NULL }, *row;
	uint32_t spine = switch_named(f, "S1"), leaf = switch_named(f, "L2");
	struct error e = { 0 };

	(void)state;
	fixed[spine] = row = plan_row_copy(p->rows[spine]);
	q->lids = plan_lids_ref(p->lids);
	assert_int_equal(engine_chain(q, fixed, p, &o, &e), 0);
	assert_true(q->fixed[spine]);
	assert_true(q->rows[spine] == row);
	/* Let it send L2's LIDs to L3, which can only send them up again. */
	for (uint32_t lid = 1; lid <= p->lids->top; lid++)
		if (p->lids->dest[lid].sw == leaf)
			plan_row_set(&fixed[spine], lid, 4);
	assert_int_equal(f->ports[fabric_port_at(f, f->switches[spine], 4)->peer].node,
			 f->switches[switch_named(f, "L3")]);
	assert_int_equal(engine_chain(q, fixed, p, &o, &e), ERR_REFUSED);
	assert_non_null(strstr(e.text, "S1/4 > L3/4"));		/* down and up again */
	assert_true(q->fixed[spine]);
	plan_row_unref(fixed[spine]);
	plan_unref(p);
	plan_unref(q);
	fabric_unref(f);
}

/* A silent spine that holds nothing for L2, and a silent leaf of which nothing is known: others go
 * round the one, the other's hosts are cut off, and neither is held against the routing. */
static void
test_silent_and_empty(void **state)
{
	const char *const names[] = { "updn", "minhop", NULL };
	struct chain_options o = { .engines = names };
	struct fabric *f = help_generate("ft2 4 2 3", false, 0);
	struct plan *p = must_route(f, "updn", NULL, 0);
	struct plan_row *fixed[8] = { NULL }, *row;
	uint32_t spine = switch_named(f, "S1"), leaf = switch_named(f, "L2"), s0 = 4;
	uint32_t l1 = switch_named(f, "L1");
	struct error e = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++, o.engines++) {
		struct plan *q = plan_new(f);

		q->lids = plan_lids_ref(p->lids);
		row = plan_row_copy(p->rows[spine]);
		for (uint32_t lid = 1; lid <= p->lids->top; lid++)
			if (p->lids->dest[lid].sw == leaf)
				plan_row_set(&row, lid, LFT_NO_PORT);
		fixed[spine] = row;
		f->nodes[f->switches[spine]].flags |= FABRIC_NODE_SILENT;
		if (engine_chain(q, fixed, p, &o, &e))
			fail_msg("%s", e.text);
		assert_int_equal(q->check.cut_off + q->check.unreachable, 0);
		for (uint32_t lid = 1; lid <= p->lids->top; lid++)
			if (p->lids->dest[lid].sw == leaf)
				assert_int_equal(plan_row_port(q->rows[l1], lid), s0);
		f->nodes[f->switches[spine]].flags = 0;
		plan_row_unref(row);
		fixed[spine] = NULL;
		f->nodes[f->switches[leaf]].flags |= FABRIC_NODE_SILENT;
		if (engine_chain(q, fixed, p, &o, &e))
			fail_msg("%s", e.text);
		assert_null(q->rows[leaf]);
		assert_true(q->fixed[leaf]);
		/* 3 hosts there, 9 elsewhere: nothing gets in or out, or to a neighbour. */
		assert_int_equal(q->check.cut_off, 9 * 3 + 3 * 9 + 3 * 2);
		f->nodes[f->switches[leaf]].flags = 0;
		plan_unref(q);
	}
	plan_unref(p);
	fabric_unref(f);
}

/* No switch at all, one switch, loop cables, parts, adapters with several ports. */
static void
test_odd(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fabric_builder *b = fabric_builder_new();
		uint32_t x = help_node(b, NODE_CA, 1, 1, "x"), s, t;
		uint32_t y = help_node(b, NODE_CA, 9, 1, "y");
		struct fabric *f;
		struct plan *p;

		fabric_add_link(b, x, 1, y, 1);
		f = fabric_build(b, 1);
		p = plan_new(f);
		plan_unref(p);
		p = must_route(f, both[i], NULL, 0);
		assert_int_equal(p->check.pairs, 0);	/* no LIDs: nothing hangs on a switch */
		plan_unref(p);
		fabric_unref(f);

		b = fabric_builder_new();
		s = help_switch(b, 1, 6, "s");
		t = help_switch(b, 0x100, 6, "t");
		x = help_node(b, NODE_CA, 0x10, 2, "x");
		fabric_add_link(b, s, 1, s, 2);
		fabric_add_link(b, s, 3, s, 3);
		fabric_add_link(b, s, 4, x, 1);
		fabric_add_link(b, s, 5, x, 2);
		help_host(b, 0x20, "y", s, 6);
		help_host(b, 0x30, "z", t, 1);
		f = fabric_build(b, 1);
		p = must_route(f, both[i], NULL, 0);
		assert_int_equal(p->check.pairs, 12);
		assert_int_equal(p->check.cut_off, 6);
		assert_int_equal(p->check.max_hops, 1);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* Switches on a path between two hosts; *turn: it passes `node` in the middle, not at an end. */
static unsigned
hops_between(const struct plan *p, uint16_t from, uint16_t to, uint32_t node, bool *turn)
{
	struct plan_path path;
	struct error e = { 0 };

	if (plan_path(p, from, to, &path, &e))
		fail_msg("%s", e.text);
	*turn = false;
	for (unsigned i = 2; i + 2 < path.len; i++)
		*turn |= path.hops[i].node == node;
	return path.len - 2;
}

static bool
is_host(const struct plan *p, uint32_t lid)
{
	return p->lids->dest[lid].port != FABRIC_NONE && p->lids->dest[lid].out != 0;
}

/*
 * 40 switches, 582 adapters, each spine with one of its own. 432 of the 338,142 pairs cannot go up
 * to a spine and down again and take the leaf ranked on top: the 72 between spines' adapters by 3
 * switches, the 360 from and to leaves without a cable to the spine by 4. Others: 3 at most.
 */
static void
test_ndr(void **state)
{
	char path[300];
	const char *file = help_shared(path, sizeof(path), "ndr_rail_40sw_582ca.ibnd");
	unsigned turns = 0, long_ones = 0, pairs = 0;
	uint32_t top = 0;
	struct fabric *f;
	struct plan *p;

	(void)state;
	if (!file)
		skip();
	f = help_read(file);
	p = must_route(f, "updn", NULL, 0);
	assert_int_equal(p->check.pairs, 338142);
	while (p->ranks[top])
		top++;
	for (uint32_t from = 1; from <= p->lids->top; from++)
		for (uint32_t to = 1; to <= p->lids->top; to++) {
			bool turn;

			if (from == to || !is_host(p, from) || !is_host(p, to))
				continue;
			pairs++;
			long_ones += hops_between(p, (uint16_t)from, (uint16_t)to, f->switches[top],
						  &turn) > 3;
			turns += turn;
		}
	assert_int_equal(pairs, 338142);
	assert_int_equal(turns, 432);
	assert_int_equal(long_ones, 360);
	assert_int_equal(p->check.max_hops, 4);
	plan_unref(p);
	fabric_unref(f);
}

/* One cable of six runs at 16 instead of 100 Gb/s. Counting adapters, the good cables between two
 * switches are within one of each other, and so are all good ones of a leaf. */
static void
test_edr(void **state)
{
	char path[300];
	const char *file = help_shared(path, sizeof(path), "edr_2tier_4leaf_2spine_par6.ibnd");
	struct fabric *f;

	(void)state;
	if (!file)
		skip();
	f = help_read(file);
	for (unsigned i = 0; i < 2; i++) {
		struct plan *p = must_route(f, both[i], NULL, 0);

		for (uint32_t sw = 0; sw < f->nswitches; sw++) {
			bool leaf = f->edge_first[sw + 1] - f->edge_first[sw] == 12;

			for (uint32_t x = f->edge_first[sw]; x < f->edge_first[sw + 1]; x++)
				for (uint32_t y = x; y < f->edge_first[sw + 1]; y++) {
					int a = (int)count_out(p, sw, f->edges[x].out, true);
					int b = (int)count_out(p, sw, f->edges[y].out, true);

					if (f->edges[x].rate_mbps < 50000)
						assert_true(a <= 1);
					else if (f->edges[y].rate_mbps > 50000 &&
						 (leaf || f->edges[x].to == f->edges[y].to))
						assert_in_range(a - b + 1, 0, 2);
				}
		}
		plan_unref(p);
	}
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fat_tree), cmocka_unit_test(test_shuffled),
		cmocka_unit_test(test_two_levels), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_any_topology), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_lmc), cmocka_unit_test(test_lmc_spines),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_lost_cable),
		cmocka_unit_test(test_ranks), cmocka_unit_test(test_roots),
		cmocka_unit_test(test_silent), cmocka_unit_test(test_silent_and_empty),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_ndr), cmocka_unit_test(test_edr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
