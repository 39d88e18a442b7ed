/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine dragonfly on dragonflies and dragonfly+: proved by the tables that switches will be given,
 * shortest where nothing is lost, and around what is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"

/* At most three links between switches, so four switches, as the shape promises. */
static void
test_whole(void **state)
{
	static const struct {
		const char *recipe, *note;
		unsigned lanes;
	} shapes[] = {
		{ "dragonfly 4 2 2 9", "dragonfly of 9 groups, 36 switches", 4 },
		{ "dragonfly 6 3 3 19", "dragonfly of 19 groups, 114 switches", 4 },
		{ "dragonfly 4 1 2 5", "dragonfly of 5 groups, 20 switches", 4 },
		{ "dragonfly+ 5 4 4 4", "dragonfly+ of 5 groups, 40 switches", 3 },
		{ "dragonfly+ 9 4 4 4", "dragonfly+ of 9 groups, 72 switches", 3 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct fabric *f = help_generate(shapes[i].recipe, seed > 0, seed);
			struct error e = { 0 };
			struct plan *p = help_route(f, "dragonfly", NULL, 8, &e);

			if (!p)
				fail_msg("%s: %s", shapes[i].recipe, e.text);
			assert_string_equal(p->note, shapes[i].note);
			assert_int_equal(p->check.max_hops, 4);
			assert_int_equal(p->sls->classes, 1);
			assert_int_equal(p->sls->lanes, shapes[i].lanes);
			plan_unref(p);
			fabric_unref(f);
		}
}

/* Two lanes are what a dragonfly needs, and one is refused with the credit loop. */
static void
test_lanes(void **state)
{
	struct fabric *f = help_generate("dragonfly 4 2 2 9", true, 1);
	struct error e = { 0 };
	struct plan *p = help_route(f, "dragonfly", NULL, 2, &e);

	(void)state;
	assert_non_null(p);
	assert_int_equal(p->sls->lanes, 2);
	plan_unref(p);
	assert_null(help_route(f, "dragonfly", NULL, 1, &e));
	assert_non_null(strstr(e.text, "credit loop"));
	fabric_unref(f);
	f = help_generate("torus 5 5 1", false, 0);
	assert_null(help_route(f, "dragonfly", NULL, 8, &e));
	assert_non_null(strstr(e.text, "the switches form no dragonfly"));
	fabric_unref(f);
}

static void
test_faults(void **state)
{
	static const char *const recipes[] = {
		"dragonfly 4 2 2 9", "dragonfly 6 3 3 19", "dragonfly+ 5 4 4 2",
		"dragonfly+ 9 4 4 2", NULL,
	};

	(void)state;
	help_losses("dragonfly", recipes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
