/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/planner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/engine_help.h"

/*
 * From old tables to new ones: whatever the order in which blocks of one step come in, no packet
 * may get into a deadlock, a circle, or be lost that both tables deliver. Each mixture of the
 * tables before and after each step is judged here by a full graph of what waits for what.
 */
struct judge {
	const struct fabric *f;		/* links as they are */
	const struct plan_lids *lids;	/* of old and new tables */
	bool *waits;			/* [edge][edge] */
	uint8_t *mark;			/* by edge: 1 on the way, 2 done */
};

static uint32_t
edge_of(const struct fabric *f, uint32_t sw, uint8_t out)
{
	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
		if (f->edges[e].out == out)
			return e;
	return FABRIC_NONE;
}

static bool
finds_circle(struct judge *g, uint32_t e)
{
	g->mark[e] = 1;
	for (uint32_t to = 0; to < g->f->nedges; to++)
		if (g->waits[(size_t)e * g->f->nedges + to] &&
		    (g->mark[to] == 1 || (!g->mark[to] && finds_circle(g, to))))
			return true;
	g->mark[e] = 2;
	return false;
}

/* Is there no deadlock in a mixture of two sets of tables? A circle for one LID is one as well. */
static bool
safe(struct judge *g, struct plan_row *const *one, struct plan_row *const *other)
{
	const struct fabric *f = g->f;
	struct plan_row *const *rows[2] = { one, other };

	memset(g->waits, 0, (size_t)f->nedges * f->nedges);
	memset(g->mark, 0, f->nedges);
	for (uint32_t lid = 1; lid <= g->lids->top; lid++)
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			for (unsigned k = 0; k < 4; k++) {
				uint32_t e = edge_of(f, sw, plan_row_port(rows[k & 1][sw], lid));
				uint32_t next = e == FABRIC_NONE ? 0 : f->edges[e].to, to;

				if (e == FABRIC_NONE || g->lids->dest[lid].sw == sw)
					continue;
				to = edge_of(f, next, plan_row_port(rows[k >> 1][next], lid));
				if (to != FABRIC_NONE && g->lids->dest[lid].sw != next)
					g->waits[(size_t)e * f->nedges + to] = true;
			}
	for (uint32_t e = 0; e < f->nedges; e++)
		if (!g->mark[e] && finds_circle(g, e))
			return false;
	return true;
}

/* Does every packet from a switch arrive, whichever of the two tables it meets on its way? */
static bool
arrives(const struct judge *g, struct plan_row *const *one, struct plan_row *const *other,
	uint32_t sw, uint32_t lid, unsigned hops)
{
	const struct plan_dest *d = &g->lids->dest[lid];
	struct plan_row *const *rows[2] = { one, other };

	for (unsigned k = 0; k < 2; k++) {
		uint8_t out = plan_row_port(rows[k][sw], lid);
		uint32_t e = edge_of(g->f, sw, out);

		if (d->sw == sw && out == d->out)
			continue;
		if (d->sw == sw || e == FABRIC_NONE || hops > 20 ||
		    !arrives(g, one, other, g->f->edges[e].to, lid, hops + 1))
			return false;
	}
	return true;
}

static void
nobody_lost(const struct judge *g, struct plan_row *const *first, struct plan_row *const *last,
	    struct plan_row *const *before, struct plan_row *const *after)
{
	for (uint32_t lid = 1; lid <= g->lids->top; lid++)
		for (uint32_t sw = 0; sw < g->f->nswitches && g->lids->dest[lid].sw < FABRIC_NONE;
		     sw++)
			if (arrives(g, first, first, sw, lid, 0) &&
			    arrives(g, last, last, sw, lid, 0))
				assert_true(arrives(g, before, after, sw, lid, 0));
}

/* How often which way was taken. */
struct count {
	unsigned all;		/* transitions */
	unsigned at_once;	/* in one step */
	unsigned stages;	/* in several, none of which drops */
	unsigned drops;		/* some entries were dropped first */
	unsigned drains;	/* and the packet lifetime was waited out */
};

static bool
drops_some(const struct plan_job *j)
{
	for (uint32_t sw = 0; j->stages && sw < j->stages->nswitches; sw++)
		for (uint32_t lid = 1; j->stages->rows[0][sw] && lid <= j->plan->lids->top; lid++)
			if (plan_row_port(j->stages->rows[0][sw], lid) == LFT_NO_PORT &&
			    plan_row_port(j->shadow->rows[sw], lid) != LFT_NO_PORT &&
			    plan_row_port(j->plan->rows[sw], lid) != LFT_NO_PORT)
				return true;
	return false;
}

static void
judge_job(const struct plan_job *j, struct count *c)
{
	const struct fabric *f = j->plan->fabric;
	unsigned steps = j->stages ? j->stages->len : 0;
	bool drops = drops_some(j), drains = j->stages && j->stages->drain;
	struct plan_row **before = mem_array(f->nswitches, sizeof(*before)), **after, **from;
	struct judge g = {
		.f = f, .lids = j->plan->lids, .mark = mem_array(f->nedges, 1),
		.waits = mem_array((size_t)f->nedges * f->nedges, 1),
	};

	after = mem_array(f->nswitches, sizeof(*after));
	from = mem_array(f->nswitches, sizeof(*from));
	memcpy(before, j->shadow->rows, f->nswitches * sizeof(*before));
	memcpy(from, before, f->nswitches * sizeof(*before));
	for (unsigned i = 0; i <= steps; i++) {
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			after[sw] = i == steps ? j->plan->rows[sw] :
				    j->stages->rows[i][sw] ? j->stages->rows[i][sw] : before[sw];
		assert_true(safe(&g, before, after));
		/* What was dropped on purpose is lost on purpose, and nothing else. */
		if (i == 0 && drops)
			memcpy(from, after, f->nswitches * sizeof(*from));
		else
			nobody_lost(&g, from, j->plan->rows, before, after);
		memcpy(before, after, f->nswitches * sizeof(*before));
	}
	c->all++;
	c->at_once += !steps;
	c->stages += steps && !drops;
	c->drops += drops && !drains;
	c->drains += drains;
	mem_free(g.waits);
	mem_free(g.mark);
	mem_free(before);
	mem_free(after);
	mem_free(from);
}

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
