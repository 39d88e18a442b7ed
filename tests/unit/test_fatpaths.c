/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine fatpaths: the shortest ways to the first LID of a port, ways around these to the others,
 * none of which wait for each other in a circle by the tables that switches will be given; judged
 * by walks of these tables that share nothing with the proof.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/layers_help.h"
#include "tests/unit/loss_help.h"

/* ---- What waits for what ---- */

struct waits {
	const struct plan *p;		/* whose tables */
	uint32_t (*edge)[2];		/* channel, and the one that it waits for */
	uint32_t len, room;		/* in use, allocated */
};

/* By port that a link leaves by, and lane. */
static uint32_t
channel(uint32_t port, unsigned vl)
{
	return port * 16 + vl;
}

/* One packet by the tables that switches are given; false if it does not arrive. */
static bool
walk(struct waits *w, uint32_t sw, unsigned in, uint32_t lid)
{
	const struct plan *p = w->p;
	const struct plan_dest *d = &p->lids->dest[lid];
	uint32_t before = UINT32_MAX;

	for (unsigned hops = 0; hops < 64 && sw != d->sw; hops++) {
		const struct fabric_node *n = fabric_switch_node(p->fabric, sw);
		unsigned out = plan_row_port(p->rows[sw], lid);
		unsigned vl = plan_sls_map(p->sls, sw, in, out)->vl[p->sls->sl[0]];
		uint32_t here = channel(n->first_port + out, vl), peer;

		if (vl >= p->sls->lanes)
			return false;
		if (before != UINT32_MAX) {
			if (w->len == w->room) {
				w->room = w->room * 2 + 1024;
				w->edge = mem_realloc(w->edge, w->room, sizeof(*w->edge));
			}
			w->edge[w->len][0] = before;
			w->edge[w->len++][1] = here;
		}
		before = here;
		peer = p->fabric->ports[n->first_port + out].peer;
		in = p->fabric->ports[peer].number;
		sw = p->fabric->nodes[p->fabric->ports[peer].node].sw;
		if (sw == FABRIC_NONE)
			return false;
	}
	return sw == d->sw;
}

/* Take away what nobody waits for, again and again: what is left is a circle. */
static bool
has_circle(const struct waits *w)
{
	uint32_t n = w->p->fabric->nports * 16, left = w->len, was;
	uint32_t *waiting = mem_array(n + 1, sizeof(*waiting));
	bool *gone = mem_array(w->len + 1, sizeof(*gone));

	for (uint32_t i = 0; i < w->len; i++)
		waiting[w->edge[i][1]]++;
	do {
		was = left;
		for (uint32_t i = 0; i < w->len; i++)
			if (!gone[i] && !waiting[w->edge[i][0]]) {
				gone[i] = true;
				waiting[w->edge[i][1]]--;
				left--;
			}
	} while (left && left < was);
	mem_free(waiting);
	mem_free(gone);
	return left > 0;
}

/* All ways, from hosts and from switches themselves. */
static void
judge(const struct plan *p, const char *what)
{
	struct waits w = { .p = p };

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
			uint32_t lids[256];

			if (p->lids->dest[lid].port == FABRIC_NONE)
				continue;
			if (!walk(&w, sw, 0, lid) && !p->check.cut_off)
				fail_msg("%s: LID %u is not reached", what, lid);
			if (!help_hosts_of(p, sw, lids))
				continue;
			walk(&w, sw, p->lids->dest[lids[0]].out, lid);
		}
	if (has_circle(&w))
		fail_msg("%s: ways wait for each other in a circle", what);
	mem_free(w.edge);
}

static struct plan *
must_route(const struct fabric *f, const struct plan *previous, uint8_t lmc, unsigned vls,
	   const char *what)
{
	struct error e = { 0 };
	struct plan *p = help_route_lmc(f, "fatpaths", previous, lmc, vls, &e);

	if (!p)
		fail_msg("%s, LMC %u, %u lanes: %s", what, lmc, vls, e.text);
	assert_non_null(p->sls);
	assert_int_equal(p->sls->classes, 1);
	assert_true(p->sls->lanes <= vls);
	assert_int_equal(p->check.unreachable, 0);
	judge(p, what);
	return p;
}

/* ---- Whole fabrics ---- */

/* The first LID is as near as can be. That can be counted: in a graph of diameter two all but d of
 * the other switches are two links away; in a HyperX each dimension in which two differ is one. */
static void
test_whole(void **state)
{
	static const struct {
		const char *recipe;
		double links;		/* to the first LID, as a mean */
	} cases[] = {
		{ "slim-fly 5 2", (7 + 2 * 42) / 49.0 }, { "slim-fly 7 1", (11 + 2 * 86) / 97.0 },
		{ "hyperx 5 4 2", (4 + 3 + 2 * 12) / 19.0 }, { "hyperx 9 3", 1 },
	};
	static const struct {
		uint8_t lmc;
		unsigned vls;
	} how[] = { { 0, 2 }, { 0, 4 }, { 1, 2 }, { 2, 4 }, { 3, 8 } };

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned k = 0; k < sizeof(how) / sizeof(how[0]); k++) {
			struct fabric *f = help_generate(cases[i].recipe, true, 1);
			struct plan *p = must_route(f, NULL, how[k].lmc, how[k].vls,
						    cases[i].recipe);
			struct help_layers m;

			assert_true(help_measure_layers(p, 1u << how[k].lmc, &m));
			assert_true(m.hops[0] > cases[i].links - 1e-9);
			assert_true(m.hops[0] < cases[i].links + 1e-9);
			plan_unref(p);
			fabric_unref(f);
		}
}

/* Anything that is connected, whatever its shape, if there are two lanes. */
static void
test_any(void **state)
{
	static const char *const recipes[] = {
		"torus 5 4 2", "dragonfly 4 2 2 9", "random 30 4 2 1", "ft3 4", "mesh 5 1",
		"hyperx 3 3 3 1",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
		for (unsigned vls = 2; vls <= 8; vls *= 2) {
			struct fabric *f = help_generate(recipes[i], true, i);

			plan_unref(must_route(f, NULL, vls == 2 ? 0 : 2, vls, recipes[i]));
			fabric_unref(f);
		}
}

static void
test_one_lane(void **state)
{
	struct fabric *f = help_generate("slim-fly 5 1", true, 1);
	struct error e = { 0 };

	(void)state;
	assert_null(help_route_lmc(f, "fatpaths", NULL, 1, 1, &e));
	assert_non_null(strstr(e.text, "takes two lanes or more"));
	fabric_unref(f);
}

/* ---- What the LIDs gain ---- */

static void
test_gain(void **state)
{
	static const struct {
		const char *recipe;
		double apart;		/* ways of which no two share a link, at least */
		double pair;		/* load of a switch that sends to one other, at most, as a
					 * share of its hosts */
		double shifts;		/* of all switches that do, as a share of that to the first
					 * LID alone */
		double links;		/* to any LID, beside those to the first */
	} cases[] = {
		{ "slim-fly 5 4", 2.6, 0.6, 0.8, 1.6 }, { "slim-fly 7 6", 3.0, 0.5, 0.65, 1.6 },
		{ "hyperx 6 6 4", 3.1, 0.45, 0.6, 1.5 }, { "hyperx 12 6", 2.9, 0.5, 0.5, 1.8 },
		{ "random 60 9 4 1", 3.0, 0.5, 0.7, 1.5 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fabric *f = help_generate(cases[i].recipe, true, 1);
		struct plan *p = must_route(f, NULL, 2, 4, cases[i].recipe);
		struct help_layers m;
		uint32_t lids[256];
		unsigned hosts = help_hosts_of(p, 0, lids);

		assert_true(help_measure_layers(p, 4, &m));
		if (m.apart < cases[i].apart || m.pair_mean > cases[i].pair * hosts ||
		    m.shift_mean > cases[i].shifts * m.shift_one_mean)
			fail_msg("%s: %.2f ways apart, switch to switch %.2f, shifts %.2f of %.2f",
				 cases[i].recipe, m.apart, m.pair_mean, m.shift_mean,
				 m.shift_one_mean);
		for (unsigned y = 1; y < 4; y++)
			assert_true(m.hops[y] < cases[i].links * m.hops[0]);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* ---- Losses ---- */

static void
test_losses(void **state)
{
	static const char *const recipes[] = {
		"slim-fly 5 2", "hyperx 5 4 2", "hyperx 9 3", "random 30 6 1 1",
		"dragonfly 4 2 2 9",
	};
	static const struct {
		unsigned links;		/* lost */
		bool less_one;		/* and a switch */
	} losses[] = { { 0, true }, { 1, false }, { 2, false }, { 5, true }, { 10, false } };

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], true, 1);
		struct plan *whole = must_route(f, NULL, 1, 4, recipes[i]);

		for (uint64_t k = 0; k < 2 * sizeof(losses) / sizeof(losses[0]); k++) {
			struct fabric *g = help_cut_links(f, losses[k / 2].links, k);
			uint32_t gone = g->switches[k * 7 % g->nswitches];
			struct fabric *h = losses[k / 2].less_one ?
				help_without(g, gone, FABRIC_NONE) : fabric_ref(g);

			plan_unref(must_route(h, whole, 1, 4, recipes[i]));
			fabric_unref(h);
			fabric_unref(g);
		}
		plan_unref(whole);
		fabric_unref(f);
	}
}

static uint32_t
count_changes(const struct plan *a, const struct plan *b, const bool *cut, uint32_t *crossed)
{
	uint32_t changed = 0;

	*crossed = 0;
	for (uint32_t sw = 0; sw < a->fabric->nswitches; sw++)
		for (uint32_t lid = 1; lid <= a->lids->top; lid++) {
			uint8_t port = plan_row_port(a->rows[sw], lid);

			changed += port != plan_row_port(b->rows[sw], lid);
			*crossed += port != LFT_NO_PORT &&
				cut[fabric_switch_node(a->fabric, sw)->first_port + port];
		}
	return changed;
}

/* A lost cable moves what crossed it, and what came that way and finds a shorter one; a cold start
 * without it gives the same as a long life, and with it back all is as it was. */
static void
test_one_cable(void **state)
{
	static const char *const recipes[] = { "slim-fly 5 2", "hyperx 5 4 2", "random 30 6 2 1" };

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], true, 1), *g;
		struct plan *whole = must_route(f, NULL, 1, 4, recipes[i]), *hot, *cold, *again;
		bool *cut = mem_array(f->nports, sizeof(*cut));
		uint32_t crossed, changed, e = f->nedges / 2, sw = 0, end;

		while (f->edge_first[sw + 1] <= e)
			sw++;
		end = fabric_switch_node(f, sw)->first_port + f->edges[e].out;
		cut[end] = cut[f->ports[end].peer] = true;
		g = fabric_cut(f, cut, 0, 2);
		hot = must_route(g, whole, 1, 4, recipes[i]);
		cold = must_route(g, NULL, 1, 4, recipes[i]);
		again = must_route(f, hot, 1, 4, recipes[i]);
		assert_int_equal(count_changes(cold, hot, cut, &crossed), 0);
		assert_int_equal(count_changes(whole, again, cut, &crossed), 0);
		assert_true(plan_sls_equal(whole->sls, again->sls));
		changed = count_changes(whole, hot, cut, &crossed);
		assert_in_range(changed, crossed, crossed * 3);
		plan_unref(again);
		plan_unref(cold);
		plan_unref(hot);
		plan_unref(whole);
		fabric_unref(g);
		fabric_unref(f);
		mem_free(cut);
	}
}

/* ---- LIDs that are not alike ---- */

static uint32_t
first_host(const struct fabric *f)
{
	uint32_t n = 0;

	while (f->nodes[n].sw != FABRIC_NONE)
		n++;
	return n;
}

/* Switches of one host beside others of two, with two LIDs each: all are reached. */
static void
test_uneven(void **state)
{
	static const char *const names[] = { "fatpaths", "nue", "dfsssp", "hyperx" };
	struct fabric *f = help_generate("hyperx 4 3 2", true, 1);
	struct fabric *g = help_without(f, first_host(f), FABRIC_NONE);

	(void)state;
	assert_int_equal(g->ncas, f->ncas - 1);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct error e = { 0 };
		struct plan *p = help_route_lmc(g, names[i], NULL, 1, 8, &e);

		if (!p)
			fail_msg("%s: %s", names[i], e.text);
		plan_unref(p);
	}
	fabric_unref(g);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole), cmocka_unit_test(test_any),
		cmocka_unit_test(test_one_lane), cmocka_unit_test(test_gain),
		cmocka_unit_test(test_losses), cmocka_unit_test(test_one_cable),
		cmocka_unit_test(test_uneven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
