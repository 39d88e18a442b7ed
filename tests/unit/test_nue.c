/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine nue: any fabric is routed, with any number of lanes, without a credit loop; ways are
 * hardly longer than the shortest, and what is lost moves nobody's service level. Engine
 * dfsssp: the shortest ways, as far as lanes suffice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"

/* `make soak` asks for more. */
static unsigned
seeds(void)
{
	const char *n = getenv("WEFT_SEEDS");

	return n ? (unsigned)strtoul(n, NULL, 10) : 2;
}

static struct plan *
must_route(const struct fabric *f, const struct plan *previous, unsigned lanes, const char *what)
{
	struct error e = { 0 };
	struct plan *p = help_route(f, "nue", previous, lanes, &e);

	if (!p)
		fail_msg("%s with %u lanes: %s", what, lanes, e.text);
	assert_int_equal(p->check.unreachable, 0);
	assert_int_equal(p->check.credit_loops, 0);
	if (p->sls)
		assert_true(p->sls->lanes <= lanes);
	return p;
}

/* ---- Length ---- */

/* Links to all switches from one. */
static void
search(const struct fabric *f, uint32_t from, uint32_t *far, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(far, 0xff, f->nswitches * sizeof(*far));
	far[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
			if (far[f->edges[i].to] == UINT32_MAX) {
				far[f->edges[i].to] = far[sw] + 1;
				queue[tail++] = f->edges[i].to;
			}
	}
}

/* Switches on the shortest ways between hosts, as a mean. */
static double
shortest(const struct fabric *f)
{
	uint32_t *hosts = mem_array(f->nswitches + 1, sizeof(*hosts));
	uint32_t *far = mem_array(f->nswitches + 1, sizeof(*far));
	uint32_t *queue = mem_array(f->nswitches + 1, sizeof(*queue));
	double sum = 0, pairs = 0;

	for (uint32_t p = 0; p < f->nports; p++)
		if (f->ports[p].peer != FABRIC_NONE && f->nodes[f->ports[p].node].sw == FABRIC_NONE)
			hosts[f->nodes[f->ports[f->ports[p].peer].node].sw]++;
	for (uint32_t a = 0; a < f->nswitches; a++) {
		search(f, a, far, queue);
		for (uint32_t b = 0; b < f->nswitches; b++) {
			double n = (double)hosts[a] * (hosts[b] - (a == b));

			sum += hosts[a] && hosts[b] ? n * (far[b] + 1) : 0;
			pairs += hosts[a] && hosts[b] ? n : 0;
		}
	}
	mem_free(hosts);
	mem_free(far);
	mem_free(queue);
	return sum / pairs;
}

/* Beside the shortest ways; OpenSM's nue has 4.975, 6.423 and 3.571 switches with one lane, 4.308,
 * 4.765 and 3.444 with four on the two tori and the dragonfly. */
static void
test_length(void **state)
{
	static const struct {
		const char *recipe;
		unsigned lanes;
		double more;		/* than the shortest, at most */
	} cases[] = {
		{ "torus 4 4 4 2", 1, 1.03 }, { "torus 4 4 4 2", 4, 1.01 },
		{ "torus 6 5 4 1", 1, 1.10 }, { "torus 6 5 4 1", 4, 1.04 },
		{ "dragonfly 4 2 2 9", 1, 1.12 }, { "dragonfly 4 2 2 9", 4, 1.05 },
		{ "slim-fly 5 2", 4, 1.10 }, { "random 40 6 2 1", 4, 1.10 },
		{ "hypercube 5 1", 1, 1.05 }, { "fat-tree 8", 1, 1.001 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fabric *f = help_generate(cases[i].recipe, true, 1);
		struct plan *p = must_route(f, NULL, cases[i].lanes, cases[i].recipe);
		double least = shortest(f);

		if (p->check.mean_hops > least * cases[i].more)
			fail_msg("%s, %u lanes: %.3f switches, the shortest are %.3f",
				 cases[i].recipe, cases[i].lanes, p->check.mean_hops, least);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* ---- Losses ---- */

static const struct plan_dest *
dest_of(const struct plan *p, uint64_t guid)
{
	uint32_t port = fabric_port_by_guid(p->fabric, guid);

	return port == FABRIC_NONE ? NULL : &p->lids->dest[p->lids->base[port]];
}

/* Who is there before and after has the service levels that he had. */
static void
same_levels(const struct plan *was, const struct plan *now, const char *what)
{
	const struct fabric *f = was->fabric;

	for (uint32_t a = 0; a < f->nports; a++)
		for (uint32_t b = 0; b < a; b++) {
			const struct plan_dest *x, *y;

			if (!f->ports[a].guid || !f->ports[b].guid)
				continue;
			x = dest_of(now, f->ports[a].guid);
			y = dest_of(now, f->ports[b].guid);
			if (!x || !y || x->sw == FABRIC_NONE || y->sw == FABRIC_NONE)
				continue;
			if (plan_path_sl(was, dest_of(was, f->ports[a].guid),
					 dest_of(was, f->ports[b].guid)) != plan_path_sl(now, x, y))
				fail_msg("%s: the service level between %s and %s moved", what,
					 f->nodes[f->ports[a].node].name,
					 f->nodes[f->ports[b].node].name);
		}
}

static void
lose(const char *recipe, unsigned lanes, unsigned links, bool less_one, const struct plan *whole)
{
	for (uint64_t seed = 0; seed < seeds(); seed++) {
		struct fabric *g = help_cut_links(whole->fabric, links, seed);
		uint32_t gone = g->switches[seed * 7 % g->nswitches];
		struct fabric *h = less_one ? help_without(g, gone, FABRIC_NONE) : fabric_ref(g);
		struct plan *p = must_route(h, whole, lanes, recipe);

		same_levels(whole, p, recipe);
		plan_unref(p);
		fabric_unref(h);
		fabric_unref(g);
	}
}

static void
test_losses(void **state)
{
	static const char *const recipes[] = {
		"torus 4 4 3 1", "dragonfly 4 2 2 9", "random 30 4 1 1", "fat-tree 4",
		"mesh 5 3 1", "slim-fly 5 1", "hyperx 3 3 3 1", "dragonfly+ 5 2 2 2",
	};
	static const struct {
		unsigned links;		/* lost */
		bool less_one;		/* and a switch */
	} losses[] = { { 0, true }, { 1, false }, { 2, false }, { 5, true }, { 10, false } };
	static const unsigned lanes[] = { 1, 2, 4, 8 };

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]) * 4; i++) {
		struct fabric *f = help_generate(recipes[i / 4], true, 1);
		struct plan *whole = must_route(f, NULL, lanes[i % 4], recipes[i / 4]);

		for (unsigned k = 0; k < sizeof(losses) / sizeof(losses[0]); k++)
			lose(recipes[i / 4], lanes[i % 4], losses[k].links, losses[k].less_one,
			     whole);
		plan_unref(whole);
		fabric_unref(f);
	}
}

static uint32_t
count_changes(const struct plan *a, const struct plan *b, uint32_t *crossed, bool *cut)
{
	const struct fabric *f = a->fabric;
	uint32_t changed = 0;

	*crossed = 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t lid = 1; lid <= a->lids->top; lid++) {
			uint8_t port = plan_row_port(a->rows[sw], lid);

			changed += port != plan_row_port(b->rows[sw], lid);
			*crossed += port != LFT_NO_PORT && cut &&
				    cut[fabric_switch_node(f, sw)->first_port + port];
		}
	return changed;
}

/* A lost cable moves what crossed it, and of what came that way only who may not go on over the new
 * one with his service level; a cold start without it gives the same as a long life, and with it
 * back all is as it was. */
static void
test_one_cable(void **state)
{
	static const char *const recipes[] = {
		"torus 4 4 3 2", "dragonfly 4 2 2 9", "random 30 4 2 1",
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct fabric *f = help_generate(recipes[i], true, 1), *g;
		struct plan *whole = must_route(f, NULL, 4, recipes[i]), *hot, *cold, *again;
		bool *cut = mem_array(f->nports, sizeof(*cut));
		uint32_t crossed, changed, e = f->nedges / 2, sw = 0, end;

		while (f->edge_first[sw + 1] <= e)
			sw++;
		end = fabric_switch_node(f, sw)->first_port + f->edges[e].out;
		cut[end] = cut[f->ports[end].peer] = true;
		g = fabric_cut(f, cut, 0, 2);
		hot = must_route(g, whole, 4, recipes[i]);
		cold = must_route(g, NULL, 4, recipes[i]);
		again = must_route(f, hot, 4, recipes[i]);
		assert_int_equal(count_changes(cold, hot, &crossed, NULL), 0);
		assert_int_equal(count_changes(whole, again, &crossed, NULL), 0);
		changed = count_changes(whole, hot, &crossed, cut);
		assert_in_range(changed, crossed, crossed * 4);
		plan_unref(again);
		plan_unref(cold);
		plan_unref(hot);
		plan_unref(whole);
		fabric_unref(g);
		fabric_unref(f);
		mem_free(cut);
	}
}

/* ---- Engine dfsssp ---- */

/* Shortest ways where the lanes suffice, after losses too; else it says how many it takes. */
static void
test_shortest(void **state)
{
	struct fabric *f = help_generate("dragonfly 4 2 2 9", true, 1), *t;
	struct error e = { 0 };
	struct plan *whole = help_route(f, "dfsssp", NULL, 8, &e);

	(void)state;
	assert_non_null(whole);
	assert_true(whole->check.mean_hops < shortest(f) + 1e-6);
	for (uint64_t seed = 0; seed < seeds(); seed++) {
		struct fabric *g = help_cut_links(f, 5, seed);
		struct plan *p = help_route(g, "dfsssp", whole, 15, &e);

		if (!p)
			fail_msg("seed %u: %s", (unsigned)seed, e.text);
		assert_true(p->check.cut_off || p->check.mean_hops < shortest(g) + 1e-6);
		plan_unref(p);
		fabric_unref(g);
	}
	plan_unref(whole);
	assert_null(help_route(f, "dfsssp", NULL, 1, &e));
	assert_non_null(strstr(e.text, "lanes, and links run or may run no more than 1"));
	fabric_unref(f);
	t = help_generate("mesh 9 9 1", false, 1);
	assert_null(help_route(t, "dfsssp", NULL, 1, &e));
	fabric_unref(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_length), cmocka_unit_test(test_losses),
		cmocka_unit_test(test_one_cable), cmocka_unit_test(test_shortest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
