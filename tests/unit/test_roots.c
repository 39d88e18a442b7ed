/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/engine.h"
#include "routing/levels.h"
#include "tests/unit/route_help.h"

/*
 * Roots and the order of switches that follows from them: what the configuration says takes effect,
 * and what the note tells people is so.
 */

/* A plan of updn with configured roots. */
static struct plan *
route_with(const struct fabric *f, const struct plan *previous, const uint64_t *roots, unsigned n)
{
	const char *const names[] = { "updn", NULL };
	struct chain_options o = {
		.engines = names, .engine = { .roots = roots, .nroots = n, .threads = 1 },
	};
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = help_lids(f, 0);
	if (engine_chain(p, NULL, previous, &o, &e))
		fail_msg("%s", e.text);
	return p;
}

static uint32_t
switch_named(const struct fabric *f, const char *name)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (strcmp(fabric_switch_node(f, sw)->name, name) == 0)
			return sw;
	fail_msg("no switch %s", name);
	return 0;
}

static uint64_t
guid_of(const struct fabric *f, const char *name)
{
	return fabric_switch_node(f, switch_named(f, name))->guid;
}

static unsigned
rank_of(const struct plan *p, const char *name)
{
	return p->ranks[switch_named(p->fabric, name)];
}

/* Route again upon `p` without any change: ranks and note stay. */
static void
assert_settled(const struct plan *p, const uint64_t *roots, unsigned n)
{
	struct plan *again = route_with(p->fabric, p, roots, n);

	assert_string_equal(again->note, p->note);
	assert_memory_equal(again->ranks, p->ranks, p->fabric->nswitches);
	plan_unref(again);
}

#define ABOVE " is ranked above them so that paths between roots exist"

/* The note names the roots, and a leaf only as what it is. */
static void
test_note(void **state)
{
	static const struct {
		const char *recipe;	/* fabric */
		const char *note;	/* as it must be */
	} cases[] = {
		{ "ft2 4 3 4", "roots: S0, S1, S2 (found); leaf L0" ABOVE },
		{ "ft2 4 6 4", "roots: S0, S1, S2, S3 and 2 more (found); leaf L0" ABOVE },
		{ "ft2 4 1 4", "roots: S0 (found)" },
		{ "torus 5 1 1 1", "roots: T0_0_0 (found)" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fabric *f = help_generate(cases[i].recipe, false, 0);
		struct plan *p = route_with(f, NULL, NULL, 0);

		assert_string_equal(p->note, cases[i].note);
		assert_settled(p, NULL, 0);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* A switch on top of two that are configured, and without hosts: it is not called a leaf. */
static void
test_lifted_switch(void **state)
{
	struct fabric *f = help_generate("ft2 4 3 4", false, 0);
	uint64_t roots[2] = { guid_of(f, "L1"), guid_of(f, "L2") };
	struct plan *p = route_with(f, NULL, roots, 2);

	(void)state;
	assert_string_equal(p->note, "roots: L1, L2 (as configured); switch S0" ABOVE);
	assert_int_equal(rank_of(p, "S0"), 0);
	assert_int_equal(rank_of(p, "L1"), 1);
	assert_int_equal(rank_of(p, "L2"), 1);
	assert_settled(p, roots, 2);
	plan_unref(p);
	fabric_unref(f);
}

/* A ring of six: other roots take effect, also one that stood alone on its rank, also none. */
static void
test_changed(void **state)
{
	struct fabric *f = help_generate("torus 6 1 1 1", false, 0);
	uint64_t top = guid_of(f, "T0_0_0"), opposite = guid_of(f, "T3_0_0");
	struct plan *p = route_with(f, NULL, &top, 1), *q, *r;

	(void)state;
	assert_int_equal(rank_of(p, "T0_0_0"), 0);
	assert_int_equal(rank_of(p, "T3_0_0"), 3);
	assert_string_equal(p->note, "roots: T0_0_0 (as configured)");
	assert_settled(p, &top, 1);
	q = route_with(f, p, &opposite, 1);
	assert_string_equal(q->note, "roots: T3_0_0 (as configured)");
	assert_int_equal(rank_of(q, "T3_0_0"), 0);
	assert_int_equal(rank_of(q, "T0_0_0"), 3);
	assert_settled(q, &opposite, 1);
	r = route_with(f, q, NULL, 0);
	assert_string_equal(r->note, "roots: T0_0_0 (found)");
	assert_int_equal(rank_of(r, "T0_0_0"), 0);
	plan_unref(r);
	r = plan_on_fabric(q, f);	/* what is remembered outlives a change of port states */
	assert_settled(r, &opposite, 1);
	plan_unref(r);
	plan_unref(p);
	plan_unref(q);
	fabric_unref(f);
}

/* An adapter means its switch, which is said, and so is what is not there. */
static void
test_odd_roots(void **state)
{
	struct fabric *f = help_generate("ft2 2 2 2", false, 0);
	uint64_t host = 0, roots[4];
	char want[400], guid[GUID_TEXT_SIZE];
	struct plan *p;

	(void)state;
	for (uint32_t n = 0; n < f->nnodes; n++)
		if (strcmp(f->nodes[n].name, "H0_0") == 0)
			host = f->nodes[n].guid;
	assert_int_not_equal(host, 0);
	p = route_with(f, NULL, &host, 1);
	snprintf(want, sizeof(want), "roots: L0 (as configured); root %s is host H0_0: its switch "
		 "L0 is taken", guid_text(guid, host));
	assert_string_equal(p->note, want);
	assert_int_equal(rank_of(p, "L0"), 0);
	assert_settled(p, &host, 1);
	plan_unref(p);
	roots[0] = 0xdead;
	roots[1] = host;
	roots[2] = 0xbeef;
	roots[3] = host + 1;		/* the adapter's port */
	p = route_with(f, NULL, roots, 4);
	snprintf(want, sizeof(want), "roots: L0 (as configured); root %s is host H0_0: its switch "
		 "L0 is taken, likewise 1 more; root 0x000000000000dead is not in the fabric, "
		 "nor are 1 more", guid_text(guid, host));
	assert_string_equal(p->note, want);
	assert_settled(p, roots, 4);
	plan_unref(p);
	fabric_unref(f);
}

/* An adapter moves to the next switch of a ring: the root goes with it. */
static void
test_moved_host(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct fabric *f[2];
	uint64_t root = 0x900;
	struct plan *p, *q;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct fabric_builder *b = fabric_builder_new();
		uint32_t sw[4];

		for (unsigned i = 0; i < 4; i++)
			sw[i] = help_switch(b, i + 1, 4, names[i]);
		for (unsigned i = 0; i < 4; i++)
			help_cable(b, sw[i], 1, sw[(i + 1) % 4], 2, 100000);
		help_host(b, root, "h", sw[k], 3);
		f[k] = fabric_build(b, k + 1);
	}
	p = route_with(f[0], NULL, &root, 1);
	assert_memory_equal(p->ranks, ((uint8_t[]){ 0, 1, 2, 1 }), 4);
	q = route_with(f[1], p, &root, 1);
	assert_memory_equal(q->ranks, ((uint8_t[]){ 1, 0, 1, 2 }), 4);
	plan_unref(p);
	plan_unref(q);
	fabric_unref(f[0]);
	fabric_unref(f[1]);
}

/* A ring of six loses the cable between the root and its neighbour. In the old order that neighbour
 * has nothing above it any more, and a third switch would be lifted above root and neighbour; a new
 * order needs none. */
static void
test_no_needless_lift(void **state)
{
	struct fabric *f = help_generate("torus 6 1 1 1", false, 0), *g;
	uint64_t top = guid_of(f, "T0_0_0");
	uint32_t port = FABRIC_NONE, sw = switch_named(f, "T0_0_0");
	struct plan *p = route_with(f, NULL, &top, 1), *q;

	(void)state;
	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
		if (f->edges[k].to == switch_named(f, "T1_0_0"))
			port = fabric_switch_node(f, sw)->first_port + f->edges[k].out;
	g = help_without(f, FABRIC_NONE, port);
	q = route_with(g, p, &top, 1);
	assert_string_equal(q->note, "roots: T0_0_0 (as configured)");
	assert_int_equal(rank_of(q, "T0_0_0"), 0);
	assert_int_equal(rank_of(q, "T1_0_0"), 5);
	assert_settled(q, &top, 1);
	plan_unref(p);
	plan_unref(q);
	fabric_unref(f);
	fabric_unref(g);
}

/* The end of a line of four is lost: the root stays on top, though another would be found now. */
static void
test_kept_root(void **state)
{
	struct fabric *f = help_generate("mesh 4 1 1 1", false, 0), *g;
	struct plan *p = route_with(f, NULL, NULL, 0), *q;

	(void)state;
	assert_string_equal(p->note, "roots: T1_0_0 (found)");
	g = help_without(f, f->switches[switch_named(f, "T0_0_0")], FABRIC_NONE);
	q = route_with(g, NULL, NULL, 0);
	assert_string_equal(q->note, "roots: T2_0_0 (found)");
	plan_unref(q);
	q = route_with(g, p, NULL, 0);
	assert_string_equal(q->note, "roots: T1_0_0 (found)");
	assert_memory_equal(q->ranks, ((uint8_t[]){ 0, 1, 2 }), 3);
	assert_settled(q, NULL, 0);
	plan_unref(p);
	plan_unref(q);
	fabric_unref(f);
	fabric_unref(g);
}

/* Are just the switches whose names begin so the roots? */
static bool
are_roots(const struct fabric *f, const char *prefix)
{
	uint8_t *root = mem_array(f->nswitches, 1);
	bool all = true;

	levels_roots(f, root);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		all &= root[sw] == (strncmp(fabric_switch_node(f, sw)->name, prefix,
					    strlen(prefix)) == 0);
	mem_free(root);
	return all;
}

/* A root without one of its few cables is a root, and the tree a tree. */
static void
test_lacking(void **state)
{
	static const struct {
		const char *recipe;
		const char *roots;
	} t[] = { { "ft2 4 3 3", "S" }, { "ft2 3 2 2", "S" }, { "ft3 4", "C" },
		  { "fat-tree 4 4", "T4" } };
	const char *const names[] = { "fattree", NULL };
	struct chain_options o = { .engines = names, .engine.threads = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fabric *f = help_generate(t[i].recipe, true, 1), *g;

		for (uint32_t port = 0; port < f->nports; port++) {
			uint32_t peer = f->ports[port].peer;
			struct error e = { 0 };
			struct plan *p;

			if (peer == FABRIC_NONE || peer < port ||
			    f->nodes[f->ports[port].node].sw == FABRIC_NONE ||
			    f->nodes[f->ports[peer].node].sw == FABRIC_NONE)
				continue;
			g = help_without(f, FABRIC_NONE, port);
			assert_true(are_roots(g, t[i].roots));
			p = plan_new(g);
			p->lids = help_lids(g, 0);
			assert_int_equal(engine_chain(p, NULL, NULL, &o, &e), 0);
			assert_null(strstr(p->note, "no tree"));
			plan_unref(p);
			fabric_unref(g);
		}
		fabric_unref(f);
	}
}

/* A leaf whose hosts are off has nothing above it, like a root; it is none. */
static void
test_idle_leaf(void **state)
{
	static const char *const recipes[] = { "ft2 4 3 1", "ft2 3 2 1", "xgft 3 1 2 2 1 2 2",
					       "xgft 4 1 2 2 2 1 2 2 2" };
	static const char *const roots[] = { "S", "S", "T3", "T4" };

	(void)state;
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], false, 1);

		for (uint32_t n = 0; n < f->nnodes; n++) {
			struct fabric *g;

			if (f->nodes[n].type != NODE_CA)
				continue;
			g = help_without(f, n, FABRIC_NONE);
			assert_true(are_roots(g, roots[i]));
			fabric_unref(g);
		}
		fabric_unref(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note), cmocka_unit_test(test_lifted_switch),
		cmocka_unit_test(test_changed), cmocka_unit_test(test_odd_roots),
		cmocka_unit_test(test_moved_host), cmocka_unit_test(test_no_needless_lift),
		cmocka_unit_test(test_kept_root), cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_idle_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
