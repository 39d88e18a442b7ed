/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/stage_judge.h"

/*
 * From old tables to new ones, of engines that make new tables as they like: see stage_judge.h.
 */
/* The tables of `old` on the snapshot of `new`: what switches hold when links have changed. */
static void
change(struct plan *old, struct plan *new, struct count *c)
{
	struct plan_job j = { .plan = new, .previous = old, .threads = 1 };

	j.shadow = plan_new(new->fabric);
	j.shadow->lids = plan_lids_ref(new->lids);
	for (uint32_t sw = 0; sw < new->fabric->nswitches; sw++)
		j.shadow->rows[sw] = plan_row_ref(old->rows[sw]);
	stages_make(&j);
	judge_job(&j, c);
	plan_stages_free(j.stages);
	plan_unref(j.shadow);
}

/* A cable between switches, by chance. */
static uint32_t
some_cable(const struct fabric *f, uint64_t *seed)
{
	for (;;) {
		uint32_t port;

		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		port = (uint32_t)(*seed >> 33) % f->nports;
		if (f->ports[port].peer != FABRIC_NONE &&
		    f->nodes[f->ports[port].node].sw != FABRIC_NONE &&
		    f->nodes[f->ports[f->ports[port].peer].node].sw != FABRIC_NONE)
			return port;
	}
}

/* Cables go and come; each time the tables are made anew by the engine, as it likes. */
static void
random_changes(const char *recipe, const char *engine, unsigned rounds, struct count *c)
{
	struct fabric *whole = help_generate(recipe, true, 3), *f = fabric_ref(whole), *next;
	bool *cut = mem_array(whole->nports, sizeof(*cut));
	struct error e = { 0 };
	struct plan *old = help_plan(f, engine, NULL, 0, 1, &e), *new;
	uint64_t seed = 7;

	assert_non_null(old);
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t port = some_cable(whole, &seed);

		cut[port] = !cut[port];
		next = fabric_cut(whole, cut, 0, i + 2);
		new = help_plan(next, engine, old, 0, 1, &e);
		fabric_unref(f);
		f = next;
		if (!new || new->lids->top != old->lids->top) {
			plan_unref(new);
			cut[port] = !cut[port];
			continue;
		}
		change(old, new, c);
		plan_unref(old);
		old = new;
	}
	plan_unref(old);
	fabric_unref(f);
	fabric_unref(whole);
	mem_free(cut);
}

static void
trees(void **state)
{
	struct count c = { 0 };

	(void)state;
	random_changes("ft3 4", "updn", 60, &c);
	random_changes("ft2 4 3 3", "updn", 60, &c);
	print_message("%u changes: %u at once, %u in steps, %u drop, %u drain\n", c.all, c.at_once,
		      c.stages, c.drops, c.drains);
	assert_true(c.all > 100);
	assert_true(c.at_once > 0 && c.stages > 0 && c.drops > 0 && c.drains < c.drops);
}

static void
tori(void **state)
{
	struct count c = { 0 };

	(void)state;
	random_changes("torus 4 3 1 1", "updn", 60, &c);
	random_changes("torus 5 1 1 1", "updn", 30, &c);
	print_message("%u changes: %u at once, %u in steps, %u drop, %u drain\n", c.all, c.at_once,
		      c.stages, c.drops, c.drains);
	assert_true(c.all > 50);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),
		cmocka_unit_test(tori),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
