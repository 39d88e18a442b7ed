/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "tests/unit/engine_help.h"

/*
 * Switches that do not answer and forward by what they hold: engines must reach whatever the
 * checker holds to be within reach.
 */
enum { MAX_SWITCHES = 32 };

static uint64_t seed;

static uint32_t
any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* A cable between switches, by one of its ports. */
static uint32_t
any_cable(const struct fabric *f)
{
	uint32_t k = any(f->nedges), sw = 0;

	while (f->edge_first[sw + 1] <= k)
		sw++;
	return fabric_switch_node(f, sw)->first_port + f->edges[k].out;
}

/* Some switches fall silent with the tables of `p`; some of their entries were never there. */
static void
silence(struct fabric *f, const struct plan *p, struct plan_row **fixed, unsigned n)
{
	for (; n > 0; n--) {
		uint32_t sw = any(f->nswitches);

		if (fixed[sw])
			continue;
		f->nodes[f->switches[sw]].flags |= FABRIC_NODE_SILENT;
		fixed[sw] = plan_row_copy(p->rows[sw]);
		for (unsigned i = any(3); i > 0; i--)
			plan_row_set(&fixed[sw], 1 + any(p->lids->top), LFT_NO_PORT);
	}
}

/* Tables of `engine`, as they come, and their proof. */
static void
prove(const struct fabric *f, const struct plan *previous, struct plan_row *const *fixed,
      const char *engine, struct plan_check *r)
{
	struct plan_row *rows[MAX_SWITCHES] = { NULL };
	struct engine_options o = { .threads = 1 };
	struct engine_input in = { .fabric = f, .lids = previous->lids, .fixed = fixed,
				   .previous = previous, .options = &o };
	struct engine_output out = { .rows = rows };
	struct error e = { 0 };

	assert_int_equal(engine_find(engine)->route(&in, &out, &e), 0);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (engine_is_fixed(&in, sw))
			rows[sw] = plan_row_ref(fixed[sw]);
	check_routing(&(struct check_input){
		.fabric = f, .lids = previous->lids, .rows = rows, .threads = 1,
	}, r);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		plan_row_unref(rows[sw]);
	mem_free(out.ranks);
	plan_memo_unref(out.memo);
}

/* Up to two cables are lost and up to five switches fall silent. What cables and the tables of
 * silent switches join is joined, always; a credit loop is the only reason to refuse it. */
static void
test_reach(void **state)
{
	static const char *const names[] = { "minhop", "updn", "fattree" };
	unsigned sound = 0, cut = 0;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		const char *engine = names[round % 3];
		struct plan_row *fixed[MAX_SWITCHES] = { NULL };
		struct fabric *f, *g;
		struct plan_check r;
		struct error e = { 0 };
		struct plan *p;
		char recipe[64];

		seed = round + 1;
		snprintf(recipe, sizeof(recipe), "random %u %u 2 %u", 4 + any(12), 2 + any(2),
			 1 + any(1000));
		f = help_generate(round / 3 % 3 ? recipe : "ft2 4 3 2", true, round);
		p = help_plan(f, "updn", NULL, 0, 1, &e);
		for (unsigned n = any(3); n > 0; n--) {
			g = help_without(f, FABRIC_NONE, any_cable(f));
			fabric_unref(f);
			f = g;
		}
		silence(f, p, fixed, 1 + any(5));
		prove(f, p, fixed, engine, &r);
		if (r.holes + r.loops + r.unreachable + r.misdelivered)
			fail_msg("%s: %s", recipe, r.first);
		sound += !r.credit_loops;
		cut += r.cut_off > 0;
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			plan_row_unref(fixed[sw]);
		plan_unref(p);
		fabric_unref(f);
	}
	assert_true(sound > 1500 && cut > 150);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
