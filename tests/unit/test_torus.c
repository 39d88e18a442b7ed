/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine torus on grids of all kinds: proved by the tables that switches will be given; what is
 * lost is gone around, while hosts keep their service levels, and comes back as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"

static void
test_faults(void **state)
{
	static const char *const recipes[] = {
		"torus 4 4 4 1", "torus 5 3 2", "mesh 4 4 2", "hypercube 2 1", "hypercube 5 1",
		"torus 5 5 1", "torus 7 2", "mesh 5 4 3 1", NULL,
	};

	(void)state;
	help_losses("torus", recipes);
}

/* Shortest ways on what is whole: mean distance by the sum over the dimensions, by hand. */
static void
test_shortest(void **state)
{
	static const struct {
		const char *recipe;
		unsigned max_hops;	/* switches on the longest way */
		double mean_hops;	/* over ordered pairs of hosts */
	} grids[] = {
		/* 1 + (mean distances of each ring, a host's own switch included) x n / (n - 1) */
		{ "torus 6 5 4 1", 3 + 2 + 2 + 1, 1 + (1.5 + 1.2 + 1.0) * 120 / 119 },
		{ "torus 5 3 1", 2 + 1 + 1, 1 + (1.2 + 2.0 / 3) * 15 / 14 },
		{ "mesh 4 4 1", 3 + 3 + 1, 1 + (1.25 + 1.25) * 16 / 15 },
		{ "hypercube 5 1", 6, 1 + 2.5 * 32 / 31 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		struct fabric *f = help_generate(grids[i].recipe, true, 3);
		struct error e = { 0 };
		struct plan *p = help_route(f, "torus", NULL, 8, &e);

		assert_non_null(p);
		assert_int_equal(p->check.max_hops, grids[i].max_hops);
		assert_true(p->check.mean_hops - grids[i].mean_hops < 1e-9 &&
			    grids[i].mean_hops - p->check.mean_hops < 1e-9);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* Service levels are what hosts keep: they are the same both ways, and after a loss as before. What
 * is back is routed as it was. */
static void
test_keeps(void **state)
{
	struct fabric *f = help_generate("torus 6 5 4 1", true, 5);
	struct fabric *g = help_cut_links(f, 6, 5);
	struct error e = { 0 };
	struct plan *whole = help_route(f, "torus", NULL, 8, &e);
	struct plan *less = help_route(g, "torus", whole, 8, &e), *again;
	const struct plan_lanes *a = whole->lanes, *b = less->lanes;

	(void)state;
	assert_non_null(less);
	again = help_route(f, "torus", less, 8, &e);
	assert_non_null(again);
	for (uint32_t x = 0; x < f->nswitches; x++) {
		for (uint32_t y = 0; y < f->nswitches; y++) {
			assert_int_equal(a->path_class(a, x, y), a->path_class(a, y, x));
			assert_int_equal(a->path_class(a, x, y), b->path_class(b, x, y));
		}
		assert_true(plan_row_equal(whole->rows[x], again->rows[x]));
	}
	assert_int_equal(less->sls->stale, 0);
	plan_unref(again);
	plan_unref(less);
	plan_unref(whole);
	fabric_unref(g);
	fabric_unref(f);
}

/* Two lanes are enough for what is whole, one is not; more are for detours. */
static void
test_lanes(void **state)
{
	struct fabric *f = help_generate("torus 5 5 1", false, 0);
	struct error e = { 0 };
	struct plan *p;

	(void)state;
	p = help_route(f, "torus", NULL, 8, &e);
	assert_non_null(p);
	assert_int_equal(p->sls->classes, 4);
	assert_int_equal(p->sls->lanes, 4);
	plan_unref(p);
	p = help_route(f, "torus", NULL, 2, &e);
	assert_non_null(p);
	assert_int_equal(p->sls->lanes, 2);
	plan_unref(p);
	p = help_route(f, "torus", NULL, 1, &e);
	assert_null(p);
	assert_non_null(strstr(e.text, "lanes"));
	fabric_unref(f);
	f = help_generate("random 20 4 1 1", false, 1);
	assert_non_null(f);
	assert_null(help_route(f, "torus", NULL, 8, &e));
	assert_non_null(strstr(e.text, "no mesh, torus or hypercube"));
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults), cmocka_unit_test(test_shortest),
		cmocka_unit_test(test_keeps), cmocka_unit_test(test_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
