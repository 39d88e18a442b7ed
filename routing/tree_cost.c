/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Costs of all ways. A sweep from the bottom of the order to its top adds up what can be reached by
 * going down alone, a second one downwards what can be reached by climbing first.
 *
 * Tables know the destination only, so whoever gets packets from above must send them down. A
 * switch that has a way down may climb all the same if that is shorter and nobody above sends to
 * it: this matters where a root is ranked below one of its children, which then has a way down to
 * everybody. If both are as long it may do both. It is assumed of all switches; who is above those
 * that climb must find another way; homes where that comes to no end are stricter. On whole trees
 * nobody has such a choice.
 *
 * Each link takes a
 * minimum over bytes, in loops that compilers turn into vector instructions. Homes do not depend on
 * each other: threads take strips of columns, as wide as a cache holds for all rows.
 */

#define ROUNDS 8u	/* of costs that depend on who climbs */

/* Who must go down to a home, of those who could. */
enum strict {
	TIES_CLIMB,	/* where that is shorter than to climb */
	TIES_DOWN,	/* and where it is as long */
	ALL_DOWN,	/* all */
};

struct sweep {
	const struct tree *t;		/* the tree */
	const struct tree_state *s;	/* as it is; NULL: as it should be */
	const uint16_t *rank;		/* the order */
	const uint32_t *upwards;	/* vertices in it */
	const uint32_t *column;		/* by vertex: its column as a home; NULL: all, in order */
	struct tree_costs *c;		/* to be filled */
};

static struct tree_row *
row_new(uint32_t width)
{
	struct tree_row *r = mem_alloc(sizeof(*r) + 2 * (size_t)width);

	r->refs = 1;
	r->any = r->down + width;
	return r;
}

static void
row_unref(struct tree_row *r)
{
	if (!__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		mem_free(r);
}

/* to[] = min(to[], from[] + 1); what is longer than TREE_LONGEST is out of reach. */
static void
relax(uint8_t *restrict to, const uint8_t *restrict from, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t x = from[i] < TREE_LONGEST ? (uint8_t)(from[i] + 1) : TREE_FAR;

		to[i] = x < to[i] ? x : to[i];
	}
}

static bool
works(const struct sweep *w, uint32_t g)
{
	return !w->s || w->s->nup[g];
}

/* A strip of columns while it is summed. */
struct strip {
	uint32_t at;				/* first column */
	uint32_t len;				/* how many */
	uint8_t *some;				/* by vertex, see tree_costs */
	uint8_t strict[TREE_BLOCK];	/* by column: enum strict */
	uint8_t *climbs;			/* by vertex, then column: 1: it is not one that
						 * goes down; NULL while nobody has a choice */
	uint16_t reach[TREE_BLOCK];	/* by column: vertices that have a way */
};

/* By what a vertex gets down to homes: its own, and what its neighbours below make it. */
static void
relax_down(const struct sweep *w, const struct strip *s, uint32_t v, uint8_t *down)
{
	const struct tree *t = w->t;
	uint32_t home = w->column ? w->column[v] : v;
	bool some = home >= s->at && home < s->at + s->len;

	memset(down, TREE_FAR, s->len);
	if (some)
		down[home - s->at] = 0;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		uint32_t to = t->groups[g].to;

		if (!works(w, g) || tree_up(w->rank, v, to) || !s->some[to])
			continue;
		relax(down, w->c->row[to]->down + s->at, s->len);
		some = true;
	}
	s->some[v] = some;
}

static void
sweep_down(const struct sweep *w, const struct strip *s)
{
	for (uint32_t i = 0; i < w->t->n; i++) {
		uint32_t v = w->upwards[i];
		uint8_t *down = w->c->row[v]->down + s->at;
		const uint8_t *climbs = s->climbs ? &s->climbs[(size_t)v * s->len] : NULL;

		relax_down(w, s, v, down);
		for (uint32_t k = 0; climbs && k < s->len; k++)
			down[k] = climbs[k] && s->strict[k] == TIES_CLIMB ? TREE_FAR : down[k];
	}
}

/* any[] holds the costs by climbing first. Who goes down then, and who does not count as going
 * down; marks homes where somebody does not who could. */
static void
decide(uint8_t *restrict any, uint8_t *restrict down, const uint8_t *restrict strict,
       uint8_t *restrict odd, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t could = down[i] != TREE_FAR;
		uint8_t does = could & ((strict[i] == ALL_DOWN) | (down[i] < any[i]) |
					((strict[i] == TIES_DOWN) & (down[i] == any[i])));

		odd[i] |= (uint8_t)(could & !does);
		any[i] = (does | (down[i] < any[i])) ? down[i] : any[i];
		down[i] = does ? down[i] : TREE_FAR;
	}
}

static void
sweep_any(const struct sweep *w, const struct strip *s)
{
	const struct tree *t = w->t;
	struct tree_row **row = w->c->row;
	uint8_t before[TREE_BLOCK];

	for (uint32_t i = t->n; i-- > 0;) {
		uint32_t v = w->upwards[i];
		uint8_t *any = row[v]->any + s->at, *down = row[v]->down + s->at;

		memset(any, TREE_FAR, s->len);
		for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
			if (works(w, g) && tree_up(w->rank, v, t->groups[g].to))
				relax(any, row[t->groups[g].to]->any + s->at, s->len);
		if (s->climbs)
			memcpy(before, down, s->len);
		decide(any, down, s->strict, w->c->odd + s->at, s->len);
		for (uint32_t k = 0; s->climbs && k < s->len; k++)
			s->climbs[(size_t)v * s->len + k] |= before[k] != down[k];
	}
}

static void
count_reach(const struct sweep *w, const struct strip *s, uint16_t *reach)
{
	memset(reach, 0, s->len * sizeof(*reach));
	for (uint32_t v = 0; v < w->t->n; v++)
		for (uint32_t k = 0; k < s->len; k++)
			reach[k] = (uint16_t)(reach[k] +
					      (w->c->row[v]->any[s->at + k] != TREE_FAR));
}

/* False if somebody counts on a way down by one who climbs, so that costs must be summed again:
 * by those alone who go down. Where that has no end, or leaves some without a way, homes are made
 * stricter. */
static bool
settled(const struct sweep *w, struct strip *s, unsigned round)
{
	uint8_t fresh[TREE_BLOCK], bad[TREE_BLOCK] = { 0 };
	uint16_t reach[TREE_BLOCK];
	bool good = true;

	for (uint32_t i = 0; i < w->t->n; i++) {
		const uint8_t *down = w->c->row[w->upwards[i]]->down + s->at;

		relax_down(w, s, w->upwards[i], fresh);
		for (uint32_t k = 0; k < s->len; k++)
			bad[k] |= (uint8_t)((down[k] != TREE_FAR) & (fresh[k] != down[k]));
	}
	count_reach(w, s, reach);
	for (uint32_t k = 0; k < s->len; k++) {
		bool lost = reach[k] != s->reach[k];

		if (lost || (bad[k] && (round >= ROUNDS || s->strict[k] != TIES_CLIMB)))
			s->strict[k]++;
		good &= !lost && !bad[k];
	}
	return good;
}

static void
sweep_strip(const struct sweep *w, uint32_t at, uint32_t len)
{
	struct strip s = {
		.at = at, .len = len, .some = &w->c->some[(size_t)(at / TREE_BLOCK) * w->t->n],
	};

	for (unsigned round = 0;; round++) {
		sweep_down(w, &s);
		sweep_any(w, &s);
		if (!memchr(w->c->odd + at, 1, len))
			break;
		if (s.climbs && settled(w, &s, round))
			break;
		if (!s.climbs) {
			count_reach(w, &s, s.reach);
			s.climbs = mem_array(w->t->n, len);
		}
	}
	mem_free(s.climbs);
}

static void
sweep_strips(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct sweep *w = arg;

	(void)thread;
	sweep_strip(w, (uint32_t)first * TREE_STRIP, (uint32_t)(end - first) * TREE_STRIP);
}

/* Room for rows with `homes` homes. */
static struct tree_costs *
costs_new(uint32_t vertices, uint32_t homes)
{
	struct tree_costs *c = mem_zalloc(sizeof(*c));

	c->refs = 1;
	c->n = vertices;
	c->width = (homes + TREE_STRIP - 1) / TREE_STRIP * TREE_STRIP;
	c->row = mem_array(vertices, sizeof(struct tree_row *));
	c->some = mem_array((size_t)(c->width / TREE_BLOCK + 1) * vertices, 1);
	c->odd = mem_array(c->width, 1);
	return c;
}

struct tree_costs *
tree_costs_new(const struct tree *t, const struct tree_state *s, const uint32_t *column,
	       uint32_t ncolumns, unsigned threads)
{
	struct tree_costs *c = costs_new(t->n, column ? ncolumns : t->n);
	const uint16_t *rank = s ? s->rank : t->rank;
	uint32_t *upwards = tree_upwards(t, rank);
	struct sweep w = {
		.t = t, .s = s, .rank = rank, .upwards = upwards, .column = column, .c = c,
	};

	for (uint32_t v = 0; v < t->n; v++)
		c->row[v] = row_new(c->width);
	parallel_run(threads, c->width / TREE_STRIP,
		     TREE_BLOCK / TREE_STRIP, sweep_strips, &w);
	mem_free(upwards);
	return c;
}

/* Mark homes whose cost is not what the neighbours' costs make it. */
static void
mark_columns(const struct sweep *w, uint32_t v, struct tree_row *fresh, uint8_t *changed)
{
	const struct tree *t = w->t;
	const struct tree_costs *c = w->c;
	const struct tree_row *old = c->row[v];

	memset(fresh->down, TREE_FAR, 2 * (size_t)c->width);
	fresh->down[v] = 0;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		const struct tree_row *row = c->row[t->groups[g].to];

		if (!works(w, g))
			continue;
		if (tree_up(w->rank, v, t->groups[g].to))
			relax(fresh->any, row->any, c->width);
		else
			relax(fresh->down, row->down, c->width);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		uint8_t down = fresh->down[i], up = fresh->any[i];

		/* Who climbs in spite of a way down makes the home odd. */
		changed[i] |= (uint8_t)((down != old->down[i]) |
					((down < up ? down : up) != old->any[i]) |
					((down != TREE_FAR) & (up <= down)));
	}
}

void
tree_costs_changes(const struct tree *t, const struct tree_state *s, struct tree_costs *old,
		   const uint8_t *touched, uint8_t *changed)
{
	struct sweep w = { .t = t, .s = s, .rank = s->rank, .c = old };
	struct tree_row *fresh = row_new(old->width);

	for (uint32_t i = 0; i < t->n; i++)
		changed[i] |= old->odd[i];
	for (uint32_t v = 0; v < t->n; v++)
		if (touched[v])
			mark_columns(&w, v, fresh, changed);
	row_unref(fresh);
}

/* Costs to some homes, put in. */
struct patch {
	const struct tree_costs *old;		/* costs to all */
	const struct tree_costs *columns;	/* new costs to some homes */
	const uint32_t *homes;			/* which */
	uint32_t nhomes;			/* how many */
	uint8_t *differs;			/* see tree_costs_patch() */
	struct tree_costs *c;			/* what comes out */
};

/* Mark what differs; true if anything does. */
static bool
compare_row(const struct patch *p, size_t v)
{
	const struct tree_row *new = p->columns->row[v], *was = p->old->row[v];
	uint8_t *diff = &p->differs[v * p->nhomes], any = 0;

	for (uint32_t i = 0; i < p->nhomes; i++) {
		diff[i] = (uint8_t)((new->any[i] != was->any[p->homes[i]]) |
				    (new->down[i] != was->down[p->homes[i]]));
		any |= diff[i];
	}
	return any;
}

static void
patch_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct patch *p = arg;

	(void)thread;
	for (size_t v = first; v < end; v++) {
		const struct tree_row *new = p->columns->row[v];
		struct tree_row *row = p->old->row[v];

		if (!compare_row(p, v)) {
			__atomic_add_fetch(&row->refs, 1, __ATOMIC_RELAXED);
			p->c->row[v] = row;
			continue;
		}
		p->c->row[v] = row_new(p->c->width);
		memcpy(p->c->row[v]->down, row->down, 2 * (size_t)p->c->width);
		for (uint32_t i = 0; i < p->nhomes; i++) {
			p->c->row[v]->down[p->homes[i]] = new->down[i];
			p->c->row[v]->any[p->homes[i]] = new->any[i];
		}
	}
}

struct tree_costs *
tree_costs_patch(const struct tree *t, const struct tree_costs *old,
		 const struct tree_costs *columns, const uint32_t *homes, uint32_t nhomes,
		 uint8_t *differs, unsigned threads)
{
	struct tree_costs *c = costs_new(t->n, t->n);
	struct patch p = {
		.old = old, .columns = columns, .homes = homes, .nhomes = nhomes,
		.differs = differs, .c = c,
	};

	memcpy(c->odd, old->odd, c->width);
	memcpy(c->some, old->some, (size_t)(c->width / TREE_BLOCK + 1) * t->n);
	for (uint32_t i = 0; i < nhomes; i++) {
		c->odd[homes[i]] = columns->odd[i];
		memset(&c->some[(size_t)(homes[i] / TREE_BLOCK) * t->n], 1, t->n);
	}
	parallel_run(threads, t->n, 64, patch_rows, &p);
	return c;
}

struct tree_costs *
tree_costs_ref(struct tree_costs *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void
tree_costs_unref(struct tree_costs *c)
{
	if (!c || __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t v = 0; v < c->n; v++)
		row_unref(c->row[v]);
	mem_free(c->row);
	mem_free(c->some);
	mem_free(c->odd);
	mem_free(c);
}
