/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine auto: names fabrics as their builders do, says what they lack, and leaves each to the
 * engine for it; what is lost changes neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"

/* The plan of auto, with the name of the fabric in front of its note. */
static struct plan *
must_choose(const struct fabric *f, const struct plan *previous, const char *recipe,
	    const char *engine, const char *name)
{
	struct error e = { 0 };
	struct plan *p = help_route(f, "auto", previous, 8, &e);

	if (!p)
		fail_msg("%s: %s", recipe, e.text);
	assert_string_equal(p->engine_requested, "auto");
	if (strcmp(p->engine_running, engine) || strncmp(p->note, name, strlen(name)) ||
	    p->reason[0])
		fail_msg("%s: engine %s, not %s; %s%s", recipe, p->engine_running, engine, p->note,
			 p->reason);
	return p;
}

/* What the recipe builds is what is found. */
static void
test_names(void **state)
{
	static const struct {
		const char *recipe, *engine, *name;
	} shapes[] = {
		{ "ft3 8", "fattree", "3-level fat tree: engine fattree" },
		{ "fat-tree 8 2", "fattree", "2-level fat tree:" },
		{ "fat-tree 4 4", "fattree", "4-level fat tree:" },
		{ "ft2 4 2 4", "fattree", "2-level fat tree:" },
		{ "ft2 2 2 4", "fattree", "2-level fat tree:" },	/* a ring, too */
		{ "ft2 9 1 4", "fattree", "2-level tree:" },
		{ "ft2 1 1 4", "fattree", "2 switches:" },
		{ "xgft 2 4 3 2 2", "fattree", "2-level fat tree:" },	/* in two parts */
		{ "rails 2 4 2 2", "fattree", "2-level fat tree:" },
		{ "torus 6 5 4 1", "torus", "6x5x4 torus: engine torus" },
		{ "torus 4 4 4 2", "torus", "4x4x4 torus or hypercube of 6 dimensions:" },
		{ "torus 7 2", "torus", "ring of 7 switches:" },
		{ "torus 4 2", "torus", "ring of 4 switches:" },
		{ "torus 3 2", "hyperx", "full mesh of 3 switches:" },
		{ "torus 3 3 2", "torus", "3x3 torus:" },
		{ "mesh 5 3 2", "torus", "5x3 mesh:" },
		{ "mesh 5 2", "torus", "line of 5 switches:" },
		{ "hypercube 5 1", "torus", "hypercube of 5 dimensions:" },
		{ "hyperx 4 4 2", "hyperx", "HyperX of 4x4 switches: engine hyperx" },
		{ "hyperx 8 2 2", "hyperx", "HyperX of 8x2 switches:" },
		{ "hyperx 12 2", "hyperx", "full mesh of 12 switches:" },
		{ "hyperx 2 2", "fattree", "2 switches:" },
		{ "slim-fly 3 1", "fatpaths", "Slim Fly q = 3, 18 switches: engine fatpaths" },
		{ "slim-fly 5 2", "fatpaths", "Slim Fly q = 5, 50 switches:" },
		{ "slim-fly 7 1", "fatpaths", "Slim Fly q = 7, 98 switches:" },
		{ "dragonfly 4 2 2 9", "dragonfly", "dragonfly of 9 groups, 36 switches:" },
		{ "dragonfly 4 1 1 5", "dragonfly", "dragonfly of 5 groups, 20 switches:" },
		{ "dragonfly+ 5 4 4 4", "dragonfly", "dragonfly+ of 5 groups, 40 switches:" },
		{ "dragonfly+ 9 8 8 4 1", "dragonfly", "dragonfly+ of 9 groups, 144 switches:" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned seed = 0; seed < 3; seed++) {
			struct fabric *f = help_generate(shapes[i].recipe, seed > 0, seed);

			assert_non_null(f);
			plan_unref(must_choose(f, NULL, shapes[i].recipe, shapes[i].engine,
					       shapes[i].name));
			fabric_unref(f);
		}
}

/* Nothing that has a name: the engines that route anything. */
static void
test_irregular(void **state)
{
	static const struct {
		const char *recipe, *name;
	} shapes[] = {
		{ "random 13 4 2 1", "irregular, 13 switches:" },
		{ "random 20 3 2 7", "irregular, 20 switches:" },
		{ "random 50 7 1 1", "irregular, 50 switches:" },	/* numbers of a Slim Fly */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct fabric *f = help_generate(shapes[i].recipe, true, 1);

		plan_unref(must_choose(f, NULL, shapes[i].recipe, engine_find("nue") ? "nue" :
				       "updn", shapes[i].name));
		fabric_unref(f);
	}
}

/* A Slim Fly of 7 without the first of its groups: groups that are joined to half of the others,
 * which engine dragonfly routes well and which are no dragonfly. */
static void
test_half_joined(void **state)
{
	struct fabric *f = help_generate("slim-fly 7 1", false, 1), *whole;

	(void)state;
	for (unsigned i = 0; i < 7; i++) {
		whole = f;
		f = help_without(whole, whole->switches[0], FABRIC_NONE);
		fabric_unref(whole);
	}
	plan_unref(must_choose(f, NULL, "slim-fly 7 1", "dragonfly",
			       "irregular, 91 switches in 13 groups: engine dragonfly"));
	fabric_unref(f);
}

/* One cable of the shape less: said, and the engine stays, whether it ran before or not. */
static void
test_one_lost(void **state)
{
	static const struct {
		const char *recipe, *engine, *name;
	} shapes[] = {
		{ "ft2 8 4 8", "fattree", "2-level fat tree, 1 spine missing 1 cable:" },
		{ "torus 8 8 8 1", "torus", "8x8x8 torus, 1 ring broken:" },
		{ "torus 5 5 1", "torus", "5x5 torus, 1 ring broken:" },
		{ "mesh 4 4 1", "torus", "4x4 mesh, 1 link missing:" },
		{ "torus 4 4 4 1", "torus",
		  "4x4x4 torus or hypercube of 6 dimensions, 1 link missing:" },
		{ "hypercube 5 1", "torus", "hypercube of 5 dimensions, 1 link missing:" },
		{ "hyperx 4 4 2", "hyperx", "HyperX of 4x4 switches, 1 link missing:" },
		{ "hyperx 6 2", "hyperx", "full mesh of 6 switches, 1 link missing:" },
		{ "slim-fly 5 2", "fatpaths", "Slim Fly q = 5, 50 switches, 1 link missing:" },
		{ "dragonfly 4 2 2 9", "dragonfly", "dragonfly of 9 groups, 36 switches, 1 " },
		{ "dragonfly+ 5 4 4 4", "dragonfly", "dragonfly+ of 5 groups, 40 switches, 1 " },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct fabric *f = help_generate(shapes[i].recipe, true, 2);
		struct fabric *g = help_cut_links(f, 1, 3);
		struct plan *whole, *less;

		whole = must_choose(f, NULL, shapes[i].recipe, shapes[i].engine, "");
		less = must_choose(g, whole, shapes[i].recipe, shapes[i].engine, shapes[i].name);
		plan_unref(less);
		plan_unref(must_choose(g, NULL, shapes[i].recipe, shapes[i].engine,
				       shapes[i].name));
		plan_unref(whole);
		fabric_unref(g);
		fabric_unref(f);
	}
}

/* A switch less is one thing that is missing, said once; its cables are not counted too, nor is
 * anything said again by the engine. */
static void
test_one_switch(void **state)
{
	static const struct {
		const char *recipe, *note;
	} shapes[] = {
		{ "torus 4 4 4 1", "4x4x4 torus or hypercube of 6 dimensions, 1 switch missing: "
		  "engine torus (for: meshes, tori, hypercubes); pairs that take detours: " },
		{ "torus 6 5 4 1", "6x5x4 torus, 1 switch missing: " },
		{ "mesh 4 4 1", "4x4 mesh, 1 switch missing: " },
		{ "dragonfly 4 2 2 9", "dragonfly of 9 groups, 36 switches, 1 switch missing, " },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct fabric *f = help_generate(shapes[i].recipe, false, 0);
		struct fabric *g = help_without(f, f->switches[f->nswitches / 2 + 1], FABRIC_NONE);
		struct plan *whole = must_choose(f, NULL, shapes[i].recipe, i < 3 ? "torus" :
						 "dragonfly", "");
		struct plan *p = must_choose(g, whole, shapes[i].recipe, i < 3 ? "torus" :
					     "dragonfly", shapes[i].note);
		const char *again = strstr(p->note, "missing");

		if (i < 3 && strstr(again + 1, "missing"))
			fail_msg("said twice: %s", p->note);
		plan_unref(p);
		plan_unref(whole);
		fabric_unref(g);
		fabric_unref(f);
	}
}

/* A Slim Fly of which a switch was never seen. */
static void
test_slim_less_one(void **state)
{
	struct fabric *whole = help_generate("slim-fly 5 2", true, 1);
	struct fabric *f = help_without(whole, whole->switches[7], FABRIC_NONE);

	(void)state;
	plan_unref(must_choose(f, NULL, "slim-fly 5 2", "fatpaths",
			       "Slim Fly q = 5, 50 switches, 1 switch missing: engine fatpaths"));
	fabric_unref(f);
	fabric_unref(whole);
}

/* Many losses, one after the other: the name stays, and so does the engine unless it refuses, which
 * is said. When all is back there is no word of them. */
static void
test_keeps(void **state)
{
	static const struct {
		const char *recipe, *engine, *name;
	} shapes[] = {
		{ "ft3 8", "fattree", "3-level fat tree" },
		{ "torus 6 5 4 1", "torus", "6x5x4 torus" },
		{ "hyperx 4 4 2", "hyperx", "HyperX of 4x4 switches" },
		{ "slim-fly 5 2", "fatpaths", "Slim Fly q = 5, 50 switches" },
		{ "dragonfly 4 2 2 9", "dragonfly", "dragonfly of 9 groups" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct fabric *f = help_generate(shapes[i].recipe, true, 1);
		struct plan *next, *p = must_choose(f, NULL, shapes[i].recipe, shapes[i].engine,
						    "");

		for (unsigned seed = 0; seed < 8; seed++) {
			struct fabric *g = help_cut_links(f, 2 * seed, seed);
			struct error e = { 0 };

			next = help_route(g, "auto", p, 8, &e);
			if (!next || strncmp(next->note, shapes[i].name, strlen(shapes[i].name)) ||
			    (strcmp(next->engine_running, shapes[i].engine) && !next->reason[0]))
				fail_msg("%s: %s%s", shapes[i].recipe, e.text,
					 next ? next->note : "");
			plan_unref(p);
			p = next;
			fabric_unref(g);
		}
		next = must_choose(f, p, shapes[i].recipe, shapes[i].engine, shapes[i].name);
		assert_null(strstr(next->note, "missing"));
		assert_null(strstr(next->note, "broken"));
		plan_unref(next);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* One lane is not enough for rings: the next best of auto's, also if no other engine may follow,
 * and each is tried once. */
static void
test_refused(void **state)
{
	const char *const names[] = { "auto", "updn", "minhop", NULL };
	struct compose_policy sls = { .levels = 1, .max_vls = 1 };
	struct chain_options o = {
		.engines = names, .compose = compose_chain, .compose_arg = &sls,
		.engine = { .threads = 1, .max_vls = 1 },
	};
	struct fabric *f = help_generate("torus 5 5 1", false, 0);
	struct error e = { 0 };

	(void)state;
	for (unsigned fallback = 0; fallback < 2; fallback++) {
		struct plan *p = plan_new(f);

		o.fallback = fallback;
		p->lids = help_lids(f, 0);
		assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), 0);
		assert_string_equal(p->engine_requested, "auto");
		assert_string_not_equal(p->engine_running, "torus");
		assert_non_null(strstr(p->reason, "engine torus is refused: "));
		assert_memory_equal(p->note, "5x5 torus: engine ", 18);
		plan_unref(p);
	}
	fabric_unref(f);
}

static int
on_tables(void *arg, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	  struct plan_sls **sls, struct error *e)
{
	unsigned *times = arg;

	(void)plan;
	(void)lanes;
	(void)sls;
	times[strcmp(engine, "updn") == 0]++;
	return error_set(e, ERR_REFUSED, "not today");
}

static void
test_once(void **state)
{
	const char *const names[] = { "auto", "updn", "auto", NULL };
	unsigned times[2] = { 0 };
	struct chain_options o = {
		.engines = names, .compose = on_tables, .compose_arg = times, .fallback = true,
		.engine = { .threads = 1 },
	};
	struct fabric *f = help_generate("ft2 4 2 4", false, 0);
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	(void)state;
	p->lids = help_lids(f, 0);
	assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), ERR_REFUSED);
	assert_non_null(strstr(e.text, "engine fattree is refused: not today; engine updn is "));
	assert_int_equal(times[1], 1);
	assert_string_equal(p->engine_running, "");
	plan_unref(p);
	fabric_unref(f);
}

/* Real fabrics, where they are at hand. */
static void
test_real(void **state)
{
	static const struct {
		const char *file, *name;
	} fabrics[] = {
		{ "ndr_rail_40sw_582ca.ibnd", "2-level fat tree" },
		{ "edr_2tier_4leaf_2spine_par6.ibnd", "2-level fat tree:" },
		{ "sdr_2sw_par2_lmc1_2007.ibnd", "2 switches:" },
		{ "ddr_single_24port_oldformat.ibnd", "one switch:" },
		{ "isolated_ca.ibnd", "no switch:" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(fabrics) / sizeof(fabrics[0]); i++) {
		char path[512];
		const char *file = help_shared(path, sizeof(path), fabrics[i].file);
		struct fabric *f;

		if (!file)
			skip();
		f = help_read(file);
		assert_non_null(f);
		plan_unref(must_choose(f, NULL, fabrics[i].file, "fattree", fabrics[i].name));
		fabric_unref(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names), cmocka_unit_test(test_irregular),
		cmocka_unit_test(test_half_joined),
		cmocka_unit_test(test_slim_less_one),
		cmocka_unit_test(test_one_lost), cmocka_unit_test(test_one_switch),
		cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_once),
		cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
