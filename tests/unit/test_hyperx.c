/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine hyperx on HyperX of all kinds: proved by the tables that switches will be given, shortest
 * where nothing is lost, and around what is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"

/* As many hops as dimensions in which two hosts' switches differ. */
static void
test_whole(void **state)
{
	static const struct {
		const char *recipe, *note;
		unsigned dims;		/* more than one place long */
		unsigned lanes;
	} shapes[] = {
		{ "hyperx 4 4 2", "HyperX of 4x4 switches", 2, 3 },
		{ "hyperx 6 3 2", "HyperX of 6x3 switches", 2, 3 },
		{ "hyperx 9 3", "full mesh of 9 switches", 1, 2 },
		{ "hyperx 4 3 5 1", "HyperX of 5x4x3 switches", 3, 4 },
		{ "hypercube 4 1", "HyperX of 2x2x2x2 switches", 4, 4 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct fabric *f = help_generate(shapes[i].recipe, seed > 0, seed);
			struct error e = { 0 };
			struct plan *p = help_route(f, "hyperx", NULL, 8, &e);

			if (!p)
				fail_msg("%s: %s", shapes[i].recipe, e.text);
			assert_string_equal(p->note, shapes[i].note);
			assert_int_equal(p->check.max_hops, shapes[i].dims + 1);
			assert_int_equal(p->sls->lanes, shapes[i].lanes);
			plan_unref(p);
			p = help_route(f, "hyperx", NULL, 1, &e);
			assert_non_null(p);		/* the dimensions in order need one */
			assert_null(p->sls);
			plan_unref(p);
			fabric_unref(f);
		}
}

static void
test_others(void **state)
{
	static const char *const recipes[] = {
		"torus 5 5 1", "dragonfly 4 2 2 9", "slim-fly 5 2", "ft3 4",
	};
	struct error e = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], true, i);

		assert_non_null(f);
		assert_null(help_route(f, "hyperx", NULL, 8, &e));
		assert_non_null(strstr(e.text, "the switches form no HyperX"));
		fabric_unref(f);
	}
}

static void
test_faults(void **state)
{
	static const char *const recipes[] = {
		"hyperx 4 4 2", "hyperx 6 3 2", "hyperx 9 3", "hyperx 4 3 5 1", NULL,
	};

	(void)state;
	help_losses("hyperx", recipes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_others),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
