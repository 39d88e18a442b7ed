/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_STAGE_JUDGE_H
#define TESTS_STAGE_JUDGE_H

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

static inline uint32_t
edge_of(const struct fabric *f, uint32_t sw, uint8_t out)
{
	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
		if (f->edges[e].out == out)
			return e;
	return FABRIC_NONE;
}

static inline bool
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
static inline bool
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
static inline bool
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

static inline void
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

static inline bool
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

static inline void
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

#endif
