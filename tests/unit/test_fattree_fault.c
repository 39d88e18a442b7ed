/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "routing/quality.h"
#include "tests/unit/tree_fault.h"

/*
 * Engine fattree on fabrics with faults, one after the other: every routing is proved by the chain;
 * what the engine makes from its last run is what it makes from nothing; few entries move, and they
 * move back.
 */

/* A numbered sequence (xorshift64). */
static uint32_t
draw(uint64_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 11) % below;
}

static bool
is_full(const struct plan *p)
{
	return strstr(p->note, "routed for what is left") != NULL;
}

/* Entries of LIDs in use that differ; switches by GUID. */
static uint32_t
count_moved(const struct plan *a, const struct plan *b)
{
	uint32_t moved = 0;

	for (uint32_t sw = 0; sw < b->fabric->nswitches; sw++) {
		uint64_t guid = fabric_switch_node(b->fabric, sw)->guid;
		uint32_t n = fabric_node_by_guid(a->fabric, guid);

		if (n == FABRIC_NONE)
			continue;
		for (uint32_t lid = 1; lid <= b->lids->top; lid++)
			moved += b->lids->dest[lid].port != FABRIC_NONE &&
				plan_row_port(a->rows[a->fabric->nodes[n].sw], lid) !=
				plan_row_port(b->rows[sw], lid);
	}
	return moved;
}

/* Balanced by load, tables stay near the last ones instead. */
static bool
is_no_tree(const struct plan *p)
{
	return strstr(p->note, "no tree") != NULL;
}

/* The same from nothing? */
static void
assert_anew(struct tree_fault *t, const struct plan_lids *lids, const struct plan *p,
	    const char *recipe, unsigned step)
{
	struct plan *anew = fault_route(t, lids, NULL, 2, is_full(p));

	if (is_no_tree(p)) {
		plan_unref(anew);
		return;
	}
	if (is_full(p) != is_full(anew) || count_moved(p, anew))
		fail_msg("%s, step %u: %u entries are not those of a run from nothing\n%s\n%s",
			 recipe, step, count_moved(p, anew), p->note, anew->note);
	assert_memory_equal(p->ranks, anew->ranks, p->fabric->nswitches);
	plan_unref(anew);
}

static uint32_t
draw_cable(const struct fabric *f, uint64_t *seed)
{
	for (;;) {
		uint32_t port = draw(seed, f->nports);
		const struct fabric_port *p = &f->ports[port];

		if (p->peer != FABRIC_NONE && f->nodes[p->node].sw != FABRIC_NONE &&
		    f->nodes[f->ports[p->peer].node].sw != FABRIC_NONE)
			return port;
	}
}

/* A cable or, once in a while, a node fails or comes back. */
static void
step_fault(struct tree_fault *t, uint64_t *seed)
{
	uint32_t what = draw(seed, 10), node = draw(seed, t->whole->nnodes), port;

	if (what == 0) {
		t->off[node] = !t->off[node];
		return;
	}
	port = draw_cable(t->whole, seed);
	fault_cable(t, port, what < 6 && !t->out[port]);
	for (uint32_t i = 0; what == 9 && i < t->whole->nports; i++)
		t->out[i] = false;
	for (uint32_t i = 0; what >= 8 && i < t->whole->nnodes; i++)
		t->off[i] = false;
}

static void
test_sequences(void **state)
{
	static const char *const recipes[] = {
		"ft2 6 4 4", "ft2 4 3 6 2", "ft3 4", "ft3 6", "xgft 3 3 3 4 1 3 2",
		"xgft 4 2 2 3 2 1 2 2 2", "ft2 1 1 3", "ft2 3 1 2 3", "random 12 4 2 7",
		"torus 3 3 2",
	};
	uint64_t seed = 0x1234567;

	(void)state;
	for (size_t i = 0; i < 5 * sizeof(recipes) / sizeof(recipes[0]); i++) {
		const char *recipe = recipes[i % (sizeof(recipes) / sizeof(recipes[0]))];
		struct fabric *f = help_generate(recipe, true, i + 1);
		struct plan_lids *lids = help_lids(f, (uint8_t)(i % 2));
		struct plan *whole, *last;
		struct tree_fault t;

		fault_init(&t, f);
		whole = last = fault_route(&t, lids, NULL, 2, false);
		for (unsigned step = 0; step < 20; step++) {
			struct plan *p;

			step_fault(&t, &seed);
			p = fault_route(&t, lids, last, 2, false);
			assert_anew(&t, lids, p, recipe, step);
			if (last != whole)
				plan_unref(last);
			last = p;
		}
		memset(t.out, 0, f->nports * sizeof(*t.out));
		memset(t.off, 0, f->nnodes * sizeof(*t.off));
		if (last != whole) {
			struct plan *p = fault_route(&t, lids, last, 2, false);

			assert_true(is_no_tree(p) || count_moved(whole, p) == 0);
			plan_unref(p);
			plan_unref(last);
		}
		plan_unref(whole);
		fault_free(&t);
		plan_lids_unref(lids);
		fabric_unref(f);
	}
}

/* Rows of switches whose tables did not change are the last plan's own. */
static uint32_t
count_new_rows(const struct plan *last, const struct plan *p)
{
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		assert_true(p->rows[sw] == last->rows[sw] ||
			    !plan_row_equal(p->rows[sw], last->rows[sw]));
		n += p->rows[sw] != last->rows[sw];
	}
	return n;
}

/* Cables alone, one at a time: never all tables, and not one entry more than from nothing. */
static void
test_cables(void **state)
{
	static const char *const recipes[] = { "ft3 8", "ft2 10 6 8 2", "xgft 3 4 4 6 1 3 4" };
	uint64_t seed = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], true, i + 1);
		struct plan_lids *lids = help_lids(f, 0);
		struct tree_fault t;
		struct plan *last;
		uint32_t few = 0;

		fault_init(&t, f);
		last = fault_route(&t, lids, NULL, 2, false);
		for (unsigned step = 0; step < 60; step++) {
			uint32_t port = draw_cable(f, &seed);
			struct plan *p;

			fault_cable(&t, port, !t.out[port] && step % 4 < 2);
			p = fault_route(&t, lids, last, 2, false);
			assert_anew(&t, lids, p, recipes[i], step);
			few += count_new_rows(last, p) < f->nswitches;
			plan_unref(last);
			last = p;
		}
		assert_true(few > 40);
		plan_unref(last);
		fault_free(&t);
		plan_lids_unref(lids);
		fabric_unref(f);
	}
}

/* Blocks of a row that are not as they were, and those that only moved. */
static void
count_blocks(const struct plan_row *was, const struct plan_row *is, uint32_t *changed,
	     uint32_t *copied)
{
	*changed = *copied = 0;
	for (uint32_t block = 0; block < plan_row_blocks(is); block++) {
		const uint8_t *a = plan_row_block(was, block), *b = plan_row_block(is, block);
		bool equal = memcmp(a, b, LFT_BLOCK_LEN) == 0;

		*changed += !equal;
		*copied += equal && a != b;
	}
}

/* One cable after the other is lost: a repair copies no block that stays as it is, in rows where
 * less than a quarter changed since the first plan. */
static void
test_blocks(void **state)
{
	struct fabric *f = help_generate("ft3 16", true, 4);
	struct plan_lids *lids = help_lids(f, 0);
	struct plan *whole, *last;
	uint64_t seed = 3;
	struct tree_fault t;

	(void)state;
	fault_init(&t, f);
	last = whole = fault_route(&t, lids, NULL, 2, false);
	for (unsigned step = 0; step < 4; step++) {
		struct plan *p;

		fault_cable(&t, draw_cable(f, &seed), true);
		p = fault_route(&t, lids, last, 2, false);
		for (uint32_t sw = 0; sw < f->nswitches; sw++) {
			uint32_t changed, copied;

			count_blocks(whole->rows[sw], p->rows[sw], &changed, &copied);
			assert_true(copied == 0 || changed > plan_row_blocks(p->rows[sw]) / 4);
		}
		if (last != whole)
			plan_unref(last);
		last = p;
	}
	plan_unref(whole);
	/* The first plan is gone; the tables that rest on it are what they were. */
	assert_anew(&t, lids, last, "ft3 16", 4);
	plan_unref(last);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

/* A cable that runs slower, and recovers. */
static void
test_rates(void **state)
{
	struct fabric *f = help_generate("ft3 6", true, 9);
	struct plan_lids *lids = help_lids(f, 0);
	uint64_t seed = 5;
	struct tree_fault t;
	struct plan *whole, *last;

	(void)state;
	fault_init(&t, f);
	whole = last = fault_route(&t, lids, NULL, 2, false);
	for (unsigned step = 0; step < 30; step++) {
		uint32_t port = draw_cable(f, &seed), rate = step % 3 ? 25000 : 6250;
		struct plan *p;

		f->ports[port].rate_mbps = f->ports[f->ports[port].peer].rate_mbps = rate;
		p = fault_route(&t, lids, last, 2, false);
		assert_anew(&t, lids, p, "ft3 6", step);
		if (last != whole)
			plan_unref(last);
		last = p;
	}
	for (uint32_t i = 0; i < f->nports; i++)
		f->ports[i].rate_mbps = whole->fabric->ports[i].rate_mbps;
	for (unsigned again = 0; again < 2; again++) {
		struct plan *p = fault_route(&t, lids, last, 2, false);

		assert_int_equal(count_moved(whole, p), 0);
		plan_unref(last);
		last = p;
	}
	plan_unref(last);
	plan_unref(whole);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

/* The port of a cable from a leaf to a switch above, in a pod without the leaf that is ranked on
 * top: there the order is 0 for that leaf, 1 above it, 2 for the roots, then 3 and 4 elsewhere. */
static uint32_t
find_leaf_cable(const struct plan *p)
{
	const struct fabric *f = p->fabric;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_edge *e = &f->edges[f->edge_first[sw]];

		if (p->ranks[sw] == 4 && p->ranks[e->to] == 3)
			return f->nodes[f->switches[sw]].first_port + e->out;
	}
	fail();
	return FABRIC_NONE;
}

/* One leaf cable: the leaf's entries that used it, one entry of each other leaf for each of its
 * hosts that was reached across it, and those of the switches that led down it. By hand for ft3 8
 * (4 hosts a leaf, 32 leaves): hosts' LIDs only. */
static void
test_one_cable(void **state)
{
	struct fabric *f = help_generate("ft3 8", true, 4);
	struct plan_lids *lids = help_lids(f, 0);
	uint32_t port, moved = 0;
	struct tree_fault t;
	struct plan *whole, *p, *back;

	(void)state;
	fault_init(&t, f);
	whole = fault_route(&t, lids, NULL, 2, false);
	port = find_leaf_cable(whole);
	fault_cable(&t, port, true);
	p = fault_route(&t, lids, whole, 2, false);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t lid = 1; lid <= lids->top; lid++)
			moved += lids->dest[lid].port != FABRIC_NONE && lids->dest[lid].out &&
				plan_row_port(p->rows[sw], lid) !=
				plan_row_port(whole->rows[sw], lid);
	/* 31 at the leaf, 31 at other leaves; 4 hosts at 4 roots, at the switch above the leaf, and
	 * at that of the same column under the leaf on top, by which roots go now. */
	assert_int_equal(moved, 31 + 31 + 4 * 4 + 4 + 4);
	fault_cable(&t, port, false);
	back = fault_route(&t, lids, p, 2, false);
	assert_int_equal(count_moved(whole, back), 0);
	plan_unref(whole);
	plan_unref(p);
	plan_unref(back);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

/* Does the way of old tables from a switch to a LID cross what is lost now? */
static bool
way_is_lost(const struct plan *p, const struct tree_fault *t, uint32_t sw, uint32_t lid)
{
	for (unsigned hops = 0; hops < PLAN_MAX_HOPS && p->lids->dest[lid].sw != sw; hops++) {
		uint32_t port = fabric_switch_node(p->fabric, sw)->first_port +
			plan_row_port(p->rows[sw], lid);

		if (fault_is_lost(t, port))
			return true;
		sw = p->fabric->nodes[p->fabric->ports[p->fabric->ports[port].peer].node].sw;
	}
	return fault_is_lost(t, p->lids->dest[lid].port);
}

/* Entries for hosts that moved though their way is whole. */
static uint32_t
count_needless(const struct plan *was, const struct plan *p, const struct tree_fault *t)
{
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		uint32_t node = fabric_node_by_guid(was->fabric,
						    fabric_switch_node(p->fabric, sw)->guid);
		uint32_t old = was->fabric->nodes[node].sw;

		for (uint32_t lid = 1; lid <= was->lids->top; lid++) {
			const struct plan_dest *d = &was->lids->dest[lid];

			n += d->port != FABRIC_NONE && d->out &&
				plan_row_port(was->rows[old], lid) !=
				plan_row_port(p->rows[sw], lid) && !way_is_lost(was, t, old, lid);
		}
	}
	return n;
}

/* The switch that is highest in the order among the neighbours of one, or lowest. */
static uint32_t
neighbour(const struct plan *p, uint32_t sw, bool lowest)
{
	const struct fabric *f = p->fabric;
	uint32_t found = f->edges[f->edge_first[sw]].to;

	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
		uint32_t to = f->edges[k].to;

		if (lowest ? p->ranks[to] > p->ranks[found] : p->ranks[to] < p->ranks[found])
			found = to;
	}
	return found;
}

/* Lose the cables between two switches, or one of them with all it has. */
static void
lose(struct tree_fault *t, uint32_t a, uint32_t b)
{
	const struct fabric *f = t->whole;

	memset(t->out, 0, f->nports * sizeof(*t->out));
	memset(t->off, 0, f->nnodes * sizeof(*t->off));
	if (b == FABRIC_NONE)
		t->off[f->switches[a]] = true;
	for (uint32_t k = f->edge_first[a]; k < f->edge_first[a + 1]; k++)
		if (f->edges[k].to == b)
			fault_cable(t, fabric_switch_node(f, a)->first_port + f->edges[k].out,
				    true);
}

/* What paths between roots go through fails: the leaf that is ranked on top, its cables, its
 * neighbours and theirs. Entries for hosts move where the way is lost, and nowhere else. */
static void
test_top(void **state)
{
	struct fabric *f = help_generate("ft3 8", true, 6);
	struct plan_lids *lids = help_lids(f, 0);
	struct tree_fault t;
	struct plan *whole;
	uint32_t leaf, above, root, mate;

	(void)state;
	fault_init(&t, f);
	whole = fault_route(&t, lids, NULL, 2, false);
	for (leaf = 0; whole->ranks[leaf]; leaf++)
		;
	above = neighbour(whole, leaf, true);
	mate = neighbour(whole, above, true);
	for (uint32_t k = f->edge_first[above]; whole->ranks[root = f->edges[k].to] != 2; k++)
		;
	for (unsigned i = 0; i < 7; i++) {
		const uint32_t cases[][2] = {
			{ leaf, above }, { above, root }, { mate, above }, { leaf, FABRIC_NONE },
			{ above, FABRIC_NONE }, { root, FABRIC_NONE }, { mate, FABRIC_NONE },
		};
		struct plan *p, *back;

		lose(&t, cases[i][0], cases[i][1]);
		p = fault_route(&t, lids, whole, 2, false);
		assert_int_equal(count_needless(whole, p, &t), 0);
		assert_anew(&t, lids, p, "ft3 8", i);
		lose(&t, leaf, leaf);
		back = fault_route(&t, lids, p, 2, false);
		assert_int_equal(count_moved(whole, back), 0);
		plan_unref(p);
		plan_unref(back);
	}
	plan_unref(whole);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

/* The heaviest load that any shift lays on a cable. */
static uint32_t
worst_shift(const struct plan *p)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .ranks = p->ranks,
		.threads = 2,
	};
	struct quality_report q;

	quality_measure(&in, 1, 0, 0, &q);
	return q.shift_max;
}

/* Lose the first cables from a switch to such that stand above it. */
static void
lose_above(struct tree_fault *t, const struct plan *p, uint32_t sw, unsigned cables)
{
	const struct fabric *f = t->whole;

	for (uint32_t k = f->edge_first[sw]; cables && k < f->edge_first[sw + 1]; k++)
		if (p->ranks[f->edges[k].to] < p->ranks[sw]) {
			fault_cable(t, fabric_switch_node(f, sw)->first_port + f->edges[k].out,
				    true);
			cables--;
		}
}

/* In a tree of full bandwidth a leaf of 6 hosts that has lost two of its cables sends 6 flows over
 * 4: in some shift a cable carries 2. No shift needs more, for what is lost of one leaf, of a
 * switch above it, or of both and of a leaf beside it. */
static void
test_shifts(void **state)
{
	static const struct {
		unsigned leaf;		/* cables that the leaf loses */
		unsigned above;		/* that a switch above it does */
		unsigned beside;	/* that a leaf beside it does */
	} cases[] = {
		{ 1, 0, 0 }, { 2, 0, 0 }, { 0, 1, 0 }, { 0, 2, 0 }, { 1, 1, 0 }, { 1, 0, 1 },
		{ 2, 1, 1 },
	};
	struct fabric *f = help_generate("ft3 12", true, 3);
	struct plan_lids *lids = help_lids(f, 0);
	uint32_t leaf, above, beside;
	struct tree_fault t;
	struct plan *whole;

	(void)state;
	fault_init(&t, f);
	whole = fault_route(&t, lids, NULL, 2, false);
	assert_int_equal(worst_shift(whole), 1);
	leaf = f->nodes[f->ports[find_leaf_cable(whole)].node].sw;
	above = neighbour(whole, leaf, false);
	beside = neighbour(whole, above, true);
	if (beside == leaf)
		beside = f->edges[f->edge_first[above]].to;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan *p, *again;

		memset(t.out, 0, f->nports * sizeof(*t.out));
		lose_above(&t, whole, leaf, cases[i].leaf);
		p = fault_route(&t, lids, whole, 2, false);
		assert_int_equal(worst_shift(p), cases[i].leaf ? 2 : 1);
		lose_above(&t, whole, above, cases[i].above);
		lose_above(&t, whole, beside, cases[i].beside);
		again = fault_route(&t, lids, p, 2, false);
		assert_int_equal(worst_shift(again), 2);
		assert_anew(&t, lids, again, "ft3 12", (unsigned)i);
		plan_unref(p);
		plan_unref(again);
	}
	plan_unref(whole);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

/* Tables for what is left, when asked for: they stay until nothing is lost. */
static void
test_full(void **state)
{
	struct fabric *f = help_generate("ft3 6", false, 1);
	struct plan_lids *lids = help_lids(f, 0);
	struct plan *whole, *p[5];
	uint64_t seed = 3;
	struct tree_fault t;
	uint32_t lost;

	(void)state;
	fault_init(&t, f);
	whole = fault_route(&t, lids, NULL, 2, true);
	lost = draw_cable(f, &seed);
	fault_cable(&t, lost, true);
	p[0] = fault_route(&t, lids, whole, 2, false);
	p[1] = fault_route(&t, lids, p[0], 2, true);
	p[2] = fault_route(&t, lids, p[1], 2, false);
	fault_cable(&t, lost, false);
	p[3] = fault_route(&t, lids, p[2], 2, false);
	fault_cable(&t, lost, true);
	p[4] = fault_route(&t, lids, p[3], 2, false);
	assert_false(is_full(whole) || is_full(p[0]) || is_full(p[3]) || is_full(p[4]));
	assert_true(is_full(p[1]) && is_full(p[2]));
	assert_int_equal(count_moved(p[1], p[2]), 0);
	assert_int_equal(count_moved(whole, p[3]), 0);
	assert_int_equal(count_moved(p[0], p[4]), 0);
	assert_true(count_moved(whole, p[1]) > count_moved(whole, p[0]));
	for (unsigned i = 0; i < 5; i++)
		plan_unref(p[i]);
	plan_unref(whole);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cables),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_top), cmocka_unit_test(test_one_cable),
		cmocka_unit_test(test_full), cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
