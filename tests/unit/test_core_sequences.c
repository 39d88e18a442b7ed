/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/stage_judge.h"

#include <stdlib.h>
#include "routing/check.h"
#include "tests/unit/tree_fault.h"

/*
 * Sequences of faults and returns on trees, both by chance, under engine fattree. After each:
 *  - the checker, which starts from nothing, proves the tables;
 *  - every mixture with the tables before that switches can hold on the way is free of deadlock,
 *    and no packet is lost that both deliver (stage_judge.h);
 *  - a manager that starts now makes the same tables, so how things came to be does not matter;
 *  - when all is back, so are the first tables.
 *
 * usage: test_core_sequences [SEQUENCES [FIRST]]
 */
static unsigned sequences = 100, first_sequence = 1;

static uint32_t
draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

/* A tree of two or three levels, whole or slim, with parallel cables or without. */
static void
draw_tree(uint64_t *seed, char *recipe, size_t size)
{
	switch (draw(seed, 4)) {
	case 0:
		snprintf(recipe, size, "ft2 %u %u %u %u", 2 + draw(seed, 5), 1 + draw(seed, 4),
			 1 + draw(seed, 4), 1 + draw(seed, 3));
		return;
	case 1:
		snprintf(recipe, size, "ft3 %u", draw(seed, 3) ? 4 : 6);
		return;
	case 2:
		snprintf(recipe, size, "xgft 2 %u %u %u %u", 1 + draw(seed, 3), 2 + draw(seed, 4),
			 1, 1 + draw(seed, 4));
		return;
	default:
		snprintf(recipe, size, "xgft 3 %u %u %u 1 %u %u", 1 + draw(seed, 2),
			 2 + draw(seed, 2), 2 + draw(seed, 2), 1 + draw(seed, 3),
			 1 + draw(seed, 2));
	}
}

/* The port of a cable of a switch; hosts' cables seldom. */
static uint32_t
draw_cable(const struct fabric *f, uint64_t *seed)
{
	for (;;) {
		uint32_t port = draw(seed, f->nports);
		const struct fabric_port *p = &f->ports[port];

		if (p->peer != FABRIC_NONE && f->nodes[p->node].sw != FABRIC_NONE &&
		    (f->nodes[f->ports[p->peer].node].sw != FABRIC_NONE || draw(seed, 10) == 0))
			return port;
	}
}

/* Some cables fail or return, or a switch does. */
static void
step_fault(struct tree_fault *t, uint64_t *seed)
{
	const struct fabric *f = t->whole;
	uint32_t sw = f->switches[draw(seed, f->nswitches)];

	if (draw(seed, 8) == 0) {
		t->off[sw] = !t->off[sw];
		return;
	}
	for (unsigned n = 1 + draw(seed, 3); n; n--) {
		uint32_t port = draw_cable(f, seed);

		fault_cable(t, port, !t->out[port] && draw(seed, 3));
	}
}

static void
assert_proved(const struct plan *p)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = 1,
	};
	struct plan_check c;

	assert_int_equal(check_routing(&in, &c), 0);
	assert_int_equal(c.unreachable, p->check.unreachable);
}

static void
assert_same(const struct plan *a, const struct plan *b)
{
	for (uint32_t sw = 0; sw < a->fabric->nswitches; sw++)
		assert_true(plan_row_equal(a->rows[sw], b->rows[sw]));
}

/* What switches hold when links have changed: the old tables, and nothing where one comes back. */
static void
judge_change(const struct plan *old, struct plan *new, struct count *c)
{
	struct plan_job j = { .plan = new, .previous = old, .threads = 1 };

	j.shadow = plan_new(new->fabric);
	j.shadow->lids = plan_lids_ref(new->lids);
	for (uint32_t sw = 0; sw < new->fabric->nswitches; sw++) {
		uint64_t guid = fabric_switch_node(new->fabric, sw)->guid;
		uint32_t n = fabric_node_by_guid(old->fabric, guid);

		j.shadow->rows[sw] = n == FABRIC_NONE ? plan_row_new(new->lids->top) :
			plan_row_ref(old->rows[old->fabric->nodes[n].sw]);
	}
	stages_make(&j);
	judge_job(&j, c);
	plan_stages_free(j.stages);
	plan_unref(j.shadow);
}

/* One step, and all that is asked of it. */
static struct plan *
step(struct tree_fault *t, const struct plan_lids *lids, struct plan *old, struct count *c)
{
	struct plan *new = fault_route(t, lids, old, 1, false);
	struct plan *cold = fault_route(t, lids, NULL, 1, false);

	assert_proved(new);
	assert_same(new, cold);
	judge_change(old, new, c);
	plan_unref(cold);
	plan_unref(old);
	return new;
}

static void
run_sequence(unsigned number, struct count *c)
{
	uint64_t seed = number * 0x9e3779b97f4a7c15u;
	struct plan *whole, *p;
	struct plan_lids *lids;
	struct tree_fault t;
	struct fabric *f;
	char recipe[64];

	draw_tree(&seed, recipe, sizeof(recipe));
	f = help_generate(recipe, true, number);
	assert_non_null(f);
	lids = help_lids(f, 0);
	fault_init(&t, f);
	whole = fault_route(&t, lids, NULL, 1, false);
	p = fault_route(&t, lids, whole, 1, false);
	for (unsigned i = 0; i < 5; i++) {
		step_fault(&t, &seed);
		p = step(&t, lids, p, c);
	}
	memset(t.out, 0, f->nports * sizeof(*t.out));
	memset(t.off, 0, f->nnodes * sizeof(*t.off));
	p = step(&t, lids, p, c);
	assert_same(p, whole);
	plan_unref(p);
	plan_unref(whole);
	fault_free(&t);
	plan_lids_unref(lids);
	fabric_unref(f);
}

static void
test_sequences(void **state)
{
	struct count c = { 0 };

	(void)state;
	for (unsigned i = 0; i < sequences; i++)
		run_sequence(first_sequence + i, &c);
	print_message("%u sequences, %u changes: %u at once, %u in steps, %u drop, %u drain\n",
		      sequences, c.all, c.at_once, c.stages, c.drops, c.drains);
	assert_int_equal(c.all, 6 * sequences);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sequences) };

	if (argc > 1)
		sequences = (unsigned)atoi(argv[1]);
	if (argc > 2)
		first_sequence = (unsigned)atoi(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
