/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/repair.h"
#include "tests/unit/engine_help.h"

/*
 * The proof of a change says what a whole proof says: after faults and returns of cables, and
 * after entries that somebody changed, for better or worse.
 */
enum { MAX_SWITCHES = 64 };

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

static void
assert_same_report(const struct plan_check *a, const struct plan_check *b)
{
	assert_int_equal(a->pairs, b->pairs);
	assert_int_equal(a->unreachable, b->unreachable);
	assert_int_equal(a->cut_off, b->cut_off);
	assert_int_equal(a->loops, b->loops);
	assert_int_equal(a->holes, b->holes);
	assert_int_equal(a->misdelivered, b->misdelivered);
	assert_int_equal(a->credit_loops, b->credit_loops);
	assert_int_equal(a->max_hops, b->max_hops);
	assert_true(a->mean_hops - b->mean_hops < 1e-9 && b->mean_hops - a->mean_hops < 1e-9);
	assert_string_equal(a->first, b->first);
	assert_string_equal(a->cycle, b->cycle);
}

static void
assert_same_proof(const struct plan_proof *a, const struct plan_proof *b)
{
	assert_int_equal(!a, !b);
	if (!a)
		return;
	assert_int_equal(a->top, b->top);
	assert_int_equal(a->hops, b->hops);
	assert_int_equal(a->reached, b->reached);
	for (uint32_t lid = 0; lid <= a->top; lid++) {
		assert_int_equal(a->lid[lid].hops, b->lid[lid].hops);
		assert_int_equal(a->lid[lid].max_hops, b->lid[lid].max_hops);
	}
}

/* Prove tables from a previous plan and from nothing. Returns the verdict; *part: whether the
 * change alone was enough. */
static int
prove_both(const struct check_input *in, const struct plan *previous, bool *part)
{
	struct plan_check whole, changed, repaired;
	struct plan_proof *a = NULL, *b = NULL, *c = NULL;
	int rc = check_prove(in, NULL, &whole, &a);

	assert_int_equal(check_prove(in, previous, &changed, &b), rc);
	assert_same_report(&changed, &whole);
	assert_same_proof(b, a);
	*part = repair_prove(in, previous, &repaired, &c);
	if (*part) {
		assert_int_equal(rc, 0);
		assert_same_report(&repaired, &whole);
		assert_same_proof(c, a);
	}
	plan_proof_unref(a);
	plan_proof_unref(b);
	plan_proof_unref(c);
	return rc;
}

static struct fabric *
any_fabric(unsigned round)
{
	static const char *const trees[] = { "ft2 4 2 4", "ft2 6 4 2 2", "ft3 4", "ft2 6 4 2" };
	char recipe[64];

	snprintf(recipe, sizeof(recipe), "random %u %u 2 %u", 4 + any(12), 2 + any(2),
		 1 + any(1000));
	return help_generate(round % 3 ? trees[any(4)] : recipe, true, round + 1);
}

/* The plan's tables with some entries changed; the caller drops the rows. */
static void
spoil(const struct plan *p, struct plan_row **rows, unsigned n)
{
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		rows[sw] = plan_row_ref(p->rows[sw]);
	for (; n > 0; n--) {
		uint32_t sw = any(p->fabric->nswitches), lid = 1 + any(p->lids->top);
		uint8_t nports = fabric_switch_node(p->fabric, sw)->nports;

		plan_row_set(&rows[sw], lid, any(20) ? (uint8_t)(1 + any(nports)) : LFT_NO_PORT);
	}
}

static void
rows_unref(const struct fabric *f, struct plan_row **rows)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		plan_row_unref(rows[sw]);
}

static struct check_input
input(const struct plan *p, struct plan_row *const *rows)
{
	return (struct check_input){
		.fabric = p->fabric, .lids = p->lids, .rows = rows, .ranks = p->ranks,
		.threads = 1 + any(2),
	};
}

/* Now and then a multicast table, which may turn up. */
static void
add_tree(struct check_input *in, struct check_tree *tree)
{
	*tree = (struct check_tree){ .sw = any(in->fabric->nswitches) };
	for (unsigned i = 0; i < 2; i++) {
		uint8_t nports = fabric_switch_node(in->fabric, tree->sw)->nports;
		uint64_t port = (uint64_t)1 << (1 + any(nports)) % 64;

		tree->in[0] |= port;
		tree->out[0] |= port;
	}
	in->trees = tree;
	in->ntrees = any(3) == 0;
}

/* Entries change at random: some lead there as well, or by a longer way, most do not. */
static void
test_entries(void **state)
{
	unsigned parts = 0, sound = 0, faulty = 0;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct plan_row *rows[MAX_SWITCHES];
		struct check_tree tree;
		struct check_input in;
		struct error e = { 0 };
		struct fabric *f;
		struct plan *p;
		bool part;

		seed = round + 1;
		f = any_fabric(round);
		p = help_plan(f, "updn", NULL, (uint8_t)any(3), 1, &e);
		assert_non_null(p);
		spoil(p, rows, any(4));
		in = input(p, rows);
		add_tree(&in, &tree);
		if (prove_both(&in, p, &part))
			faulty++;
		else
			sound++;
		parts += part;
		rows_unref(f, rows);
		plan_unref(p);
		fabric_unref(f);
	}
	assert_true(faulty > 500 && parts > 500 && parts > sound / 2);
}

/*
 * p and q stand above s, s above x, and q and x above d, where the host is. s may send to it by way
 * of x or as well of q; but p sends down to s, so the latter is a turn. It makes no credit loop
 * here, only the order proves nothing any more.
 */
static void
test_turn(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t p = help_switch(b, 1, 4, "p"), q = help_switch(b, 2, 4, "q");
	uint32_t s = help_switch(b, 3, 4, "s"), x = help_switch(b, 4, 4, "x");
	uint32_t d = help_switch(b, 5, 4, "d");
	struct plan_row *rows[5];
	struct plan_check r;
	struct check_input in;
	struct plan *plan;
	bool part;

	(void)state;
	help_cable(b, p, 1, s, 1, 100000);
	help_cable(b, q, 1, s, 2, 100000);
	help_cable(b, q, 2, d, 2, 100000);
	help_cable(b, s, 3, x, 1, 100000);
	help_cable(b, x, 3, d, 3, 100000);
	help_host(b, 0x10, "h", d, 4);
	plan = plan_new(fabric_build(b, 1));
	fabric_unref(plan->fabric);
	plan->lids = plan_lids_new(plan->fabric);
	plan->lids->base[fabric_port_by_guid(plan->fabric, 0x11)] = 1;
	plan_lids_index(plan->lids, plan->fabric);
	plan->ranks = mem_array(5, 1);
	memcpy(plan->ranks, (uint8_t[]){ 0, 0, 1, 2, 3 }, 5);
	for (uint32_t sw = 0; sw < 5; sw++) {
		plan->rows[sw] = plan_row_new(1);
		plan_row_set(&plan->rows[sw], 1, (uint8_t[]){ 1, 2, 3, 3, 4 }[sw]);
		rows[sw] = plan_row_new(1);
		plan_row_set(&rows[sw], 1, (uint8_t[]){ 1, 2, 2, 3, 4 }[sw]);
	}
	in = input(plan, plan->rows);
	assert_int_equal(check_prove(&in, NULL, &plan->check, &plan->proof), 0);
	assert_non_null(plan->proof);
	in.rows = rows;
	assert_int_equal(prove_both(&in, plan, &part), 0);
	assert_false(part);
	/* Neither do old and new together wait in a ring. */
	in.also = plan->rows;
	assert_int_equal(check_union(&in, &r), 0);
	rows_unref(plan->fabric, rows);
	plan_unref(plan);
}

/* A cable of the original fabric is lost or returns. */
static struct fabric *
next_fabric(const struct fabric *whole, struct fabric *now)
{
	struct fabric *f;

	if (any(3) == 0 || now->nedges == 0)
		f = fabric_ref(whole);
	else
		f = help_without(now, FABRIC_NONE, any_cable(now));
	fabric_unref(now);
	return f;
}

/* Old entries on the new fabric, those of dead ports included. */
static void
prove_stale(const struct plan *old, const struct fabric *f)
{
	struct check_input in = input(old, old->rows);
	bool part;

	in.fabric = f;
	prove_both(&in, old, &part);
}

/* 1,000 sequences of faults and returns. */
static void
test_sequences(void **state)
{
	unsigned parts = 0, steps = 0;

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		struct fabric *whole, *f;
		struct error e = { 0 };
		struct plan *p;

		seed = round + 1;
		whole = any_fabric(round);
		f = fabric_ref(whole);
		p = help_plan(f, "updn", NULL, 0, 1, &e);
		for (unsigned step = 0; step < 5 && p; step++) {
			struct plan *then;
			struct plan_check whole_check;
			struct check_input in;
			bool part;

			f = next_fabric(whole, f);
			prove_stale(p, f);
			then = help_plan(f, "updn", p, 0, 1, &e);
			if (!then)
				break;
			in = input(then, then->rows);
			assert_int_equal(prove_both(&in, p, &part), 0);
			check_routing(&in, &whole_check);
			assert_same_report(&then->check, &whole_check);
			parts += part;
			steps++;
			plan_unref(p);
			p = then;
		}
		plan_unref(p);
		fabric_unref(f);
		fabric_unref(whole);
	}
	assert_true(steps > 3000 && parts > steps / 3);
}

/* What differs from proved tables settles the union, or a whole look does: the verdict is one. */
static void
test_unions(void **state)
{
	unsigned parts = 0, bad = 0;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct plan_row *one[MAX_SWITCHES], *other[MAX_SWITCHES];
		struct plan_check a, b;
		struct check_tree tree;
		struct check_input in;
		struct error e = { 0 };
		struct fabric *f;
		struct plan *p;
		bool part;
		int rc;

		seed = round + 1;
		f = any_fabric(round);
		p = help_plan(f, "updn", NULL, 0, 1, &e);
		spoil(p, one, any(3));
		spoil(p, other, any(3));
		in = input(p, one);
		in.also = other;
		add_tree(&in, &tree);
		rc = check_union(&in, &a);
		in.proved = p->rows;
		assert_int_equal(check_union(&in, &b), rc);
		part = repair_unites(&in);
		assert_false(part && rc);
		in.ranks = NULL;		/* by the graph, where the guess does not help */
		assert_int_equal(check_union(&in, &b), rc);
		assert_string_equal(a.cycle, b.cycle);
		parts += part;
		bad += rc != 0;
		rows_unref(f, one);
		rows_unref(f, other);
		plan_unref(p);
		fabric_unref(f);
	}
	assert_true(parts > 1000 && bad > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries), cmocka_unit_test(test_turn),
		cmocka_unit_test(test_sequences), cmocka_unit_test(test_unions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
