/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "routing/mtree.h"
#include "sm/base/mem.h"
#include "tests/unit/loss_help.h"

/*
 * A tree through all switches beside a routing that takes lanes: whole on whole fabrics and with
 * few losses, without a credit loop in any case, and part of it is every group's tree.
 */
static struct check_input
input(const struct plan *p)
{
	return (struct check_input){
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .lanes = p->lanes,
		.ranks = p->ranks, .threads = 2,
	};
}

/* Members of all hosts, or of each `step`th, from `first` on. */
static uint32_t
members(const struct plan *p, uint32_t first, uint32_t step, struct mtree_member *m)
{
	uint32_t len = 0, hosts = 0;

	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];

		if (d->port == FABRIC_NONE || d->sw == FABRIC_NONE || !d->out ||
		    hosts++ % step != first)
			continue;
		m[len++] = (struct mtree_member){ .sw = d->sw, .port = d->out, .receives = true };
	}
	return len;
}

/* Whom the trees of five groups leave out; with the unicast tables they close no loop. */
static unsigned
grow(const struct plan *p)
{
	struct check_input in = input(p);
	struct span *span = span_make(&in, 1, FABRIC_NONE);
	struct mtree *t = mtree_new_on(p->fabric, span);
	struct mtree_member *m = mem_array(p->lids->top + 1u, sizeof(*m));
	struct mtree_set set = { 0 };
	struct plan_check report;
	unsigned left = 0;

	for (uint32_t k = 0; k < 5; k++)
		left += mtree_add(t, (uint16_t)(0xc000 + k), m,
				  members(p, k ? k - 1 : 0, k ? 4 : 1, m), &set);
	for (uint32_t i = 0; i < set.len; i++)
		set.trees[i].sls = 1;
	in.trees = set.trees;
	in.ntrees = set.len;
	if (check_union(&in, &report))
		fail_msg("%s", report.cycle);
	mtree_set_free(&set);
	mtree_free(t);
	mem_free(m);
	span_free(span);
	return left;
}

static void
with_lids(const char *recipe, const char *engine, uint8_t lmc)
{
	struct fabric *f = help_generate(recipe, true, 3);
	struct error e = { 0 };
	struct plan *whole = help_route_lmc(f, engine, NULL, lmc, 8, &e), *p;

	if (!whole)
		fail_msg("%s: %s", recipe, e.text);
	assert_int_equal(grow(whole), 0);
	for (uint64_t seed = 0; seed < 10; seed++)
		for (unsigned links = 1; links <= 5; links += 4) {
			struct fabric *g = help_cut_links(f, links, seed);
			unsigned left;

			p = help_route_lmc(g, engine, whole, lmc, 8, &e);
			left = p ? grow(p) : 0;
			if (left && links == 1)
				fail_msg("%s without link %u leaves out %u", recipe,
					 (unsigned)seed, left);
			plan_unref(p);
			fabric_unref(g);
		}
	plan_unref(whole);
	fabric_unref(f);
}

static void
fabrics(const char *recipe, const char *engine)
{
	with_lids(recipe, engine, 0);
}

static void
tori(void **state)
{
	(void)state;
	fabrics("torus 7 1", "torus");
	fabrics("torus 5 5 1", "torus");
	fabrics("torus 8 8 1", "torus");
	fabrics("torus 4 4 4 1", "torus");
	fabrics("torus 5 5 5 1", "torus");
}

static void
meshes(void **state)
{
	(void)state;
	fabrics("mesh 5 5 1", "torus");
	fabrics("mesh 4 4 4 1", "torus");
	fabrics("hypercube 5 1", "torus");
}

static void
groups(void **state)
{
	(void)state;
	fabrics("dragonfly 4 2 2 9", "dragonfly");
	fabrics("dragonfly+ 5 4 4 4", "dragonfly");
	fabrics("hyperx 4 4 1", "hyperx");
}

static void
ways_by_turns(void **state)
{
	(void)state;
	with_lids("slim-fly 5 1", "fatpaths", 2);
	with_lids("random 30 6 1 1", "fatpaths", 1);
}

/* Of ten fabrics that have lost so many links, how many members are left out. */
static unsigned
left_after(unsigned links, const char *recipe, const char *engine)
{
	struct fabric *f = help_generate(recipe, true, 3);
	struct error e = { 0 };
	struct plan *whole = help_route(f, engine, NULL, 8, &e);
	unsigned left = 0;

	assert_non_null(whole);
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct fabric *g = help_cut_links(f, links, seed);
		struct plan *p = help_route(g, engine, whole, 8, &e);

		left += p ? grow(p) : 0;
		plan_unref(p);
		fabric_unref(g);
	}
	plan_unref(whole);
	fabric_unref(f);
	return left;
}

/* Trees that are only built along the ways to a root and then as links come leave out 22, 8, 50. */
static void
many_losses(void **state)
{
	(void)state;
	assert_int_equal(left_after(12, "torus 4 4 4 1", "torus"), 0);
	assert_int_equal(left_after(5, "dragonfly 4 2 2 9", "dragonfly"), 0);
	assert_in_range(left_after(5, "torus 4 4 4 1", "nue"), 0, 8);
}

/* The root is kept where it can be. */
static void
root_stays(void **state)
{
	struct fabric *f = help_generate("torus 5 5 1", true, 3);
	struct error e = { 0 };
	struct plan *p = help_route(f, "torus", NULL, 8, &e);
	struct check_input in;
	uint32_t good = 0;

	(void)state;
	assert_non_null(p);
	in = input(p);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct span *span = span_make(&in, 1, sw);

		good += span->root[sw] == sw;
		span_free(span);
	}
	assert_in_range(good, 4, f->nswitches);
	plan_unref(p);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tori),
		cmocka_unit_test(meshes),
		cmocka_unit_test(groups), cmocka_unit_test(ways_by_turns),
		cmocka_unit_test(many_losses), cmocka_unit_test(root_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
