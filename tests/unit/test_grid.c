/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Grids found by their cables: whole ones, however their GUIDs lie, and such as have lost links and
 * switches. What is found must be what the recipe says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "routing/grid.h"
#include "tests/unit/route_help.h"

static void
found(const struct fabric *f, const char *recipe, const char *expected)
{
	struct grid_shape *s = NULL;
	char text[GRID_TEXT_SIZE];
	struct error e = { 0 };
	struct links links;

	links_init(&links, f);
	if (grid_find(&links, &s, &e))
		fail_msg("%s: %s", recipe, e.text);
	links_free(&links);
	if (strcmp(grid_text(text, s), expected))
		fail_msg("%s: %s, not %s", recipe, text, expected);
	grid_shape_unref(s);
}

static void
test_whole(void **state)
{
	static const char *const grids[][2] = {
		{ "torus 8 8 8 1", "8x8x8 torus" }, { "torus 5 3 1", "5x3 torus" },
		{ "torus 6 5 4 1", "6x5x4 torus" }, { "torus 5 4 3 1", "5x4x3 torus" },
		{ "torus 7 1", "ring of 7 switches" }, { "mesh 4 4 1", "4x4 mesh" },
		{ "mesh 5 3 2 1", "5x3x2 mesh" }, { "torus 5 5 5 5 0", "5x5x5x5 torus" },
		{ "torus 4 4 4 2", "4x4x4 torus or hypercube of 6 dimensions" },
		{ "hypercube 2 1", "ring of 4 switches" },
		{ "hypercube 6 1", "4x4x4 torus or hypercube of 6 dimensions" },
		{ "mesh 9 1", "line of 9 switches" }, { "torus 3 3 3 1", "3x3x3 torus" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		for (uint64_t seed = 0; seed < 5; seed++) {
			struct fabric *f = help_generate(grids[i][0], seed > 0, seed);

			assert_non_null(f);
			found(f, grids[i][0], grids[i][1]);
			fabric_unref(f);
		}
}

static struct fabric *
damaged(const char *recipe, unsigned missing, bool less_one, uint64_t seed)
{
	struct generate_options o = { .shuffle_guids = true, .seed = seed, .missing = missing };
	struct fabric *f, *without;
	struct ibnet *net = NULL;
	struct error e = { 0 };

	if (generate_words(&net, recipe, &o, &e))
		fail_msg("%s", e.text);
	f = fabric_from_ibnet(net);
	ibnet_free(net);
	if (!less_one)
		return f;
	without = help_without(f, f->switches[seed * 7 % f->nswitches], FABRIC_NONE);
	fabric_unref(f);
	return without;
}

/* Large grids are known in spite of what they lack, links and a switch. */
static void
test_damaged(void **state)
{
	static const struct {
		const char *recipe, *found;
		unsigned missing;	/* links */
	} grids[] = {
		{ "torus 8 8 8 1", "8x8x8 torus", 10 },
		{ "torus 6 6 1", "6x6 torus", 1 },
		{ "hypercube 6 1", "4x4x4 torus or hypercube of 6 dimensions", 10 },
		{ "torus 5 3 1", "5x3 torus", 1 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct fabric *f = damaged(grids[i].recipe, grids[i].missing,
						   seed % 2 && grids[i].missing > 2, seed);

			found(f, grids[i].recipe, grids[i].found);
			fabric_unref(f);
		}
}

/* Small ones that lack so much that their squares do not tell, and were never seen whole. What is
 * found has a place for every switch, and no link joins others than neighbours. */
static void
test_completed(void **state)
{
	static const struct {
		const char *recipe, *found;
		unsigned missing;	/* links */
		bool less_one;		/* and a switch */
	} grids[] = {
		{ "mesh 4 4 1", "4x4 mesh", 1, false }, { "torus 5 3 1", "5x3 torus", 2, false },
		{ "mesh 5 3 2 1", "5x3x2 mesh", 4, false }, { "torus 5 5 1", "5x5 torus", 6, true },
		{ "hypercube 4 1", "4x4 torus or hypercube of 4 dimensions", 3, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct fabric *f = damaged(grids[i].recipe, grids[i].missing,
						   grids[i].less_one, seed);
			char text[GRID_TEXT_SIZE] = "";
			struct grid_shape *s;
			struct links links;
			struct error e = { 0 };
			struct grid g;

			links_init(&links, f);
			s = grid_complete(&links);
			if (!s || strcmp(grid_text(text, s), grids[i].found))
				fail_msg("%s, seed %u: %s", grids[i].recipe, (unsigned)seed, text);
			assert_int_equal(grid_open(&g, s, &links, &e), 0);
			grid_close(&g);
			grid_shape_unref(s);
			links_free(&links);
			fabric_unref(f);
		}
}

/* Fabrics that are none are not made into one, and it does not take long to see that: a large one
 * is given up. */
static void
test_no_grid(void **state)
{
	static const char *const recipes[] = {
		"random 12 4 1 1", "random 16 4 1 2", "random 24 4 1 3", "random 30 6 1 4",
		"random 100 4 1 5", "random 250 6 1 6", "slim-fly 5 1", "dragonfly 4 2 2 9",
		"ft2 8 4 8", "ft3 8",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct fabric *f = help_generate(recipes[i], true, seed);
			struct grid_shape *s;
			struct links links;

			assert_non_null(f);
			links_init(&links, f);
			s = grid_complete(&links);
			if (s)
				fail_msg("%s is a grid?", recipes[i]);
			links_free(&links);
			fabric_unref(f);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_completed), cmocka_unit_test(test_no_grid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
