/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * From costs and numbers to tables. The ways from a switch to a home are the groups of cables to
 * neighbours that are nearer by one; the number of a destination, without the digits that were used
 * up below (the divider), chooses one of them, and with its next digit one of the parallel cables
 * (Dmodc, see tree.c).
 *
 * Nearly all homes are reached by the same ways: all that lead up. So a table starts as a copy of
 * "which of n ways" for all LIDs, which is the same for all switches of a level, translated to port
 * numbers (once for those that are cabled alike); homes with other ways (its own sub-tree) are put
 * in behind it. Which homes these are is found by comparing costs many homes at a time.
 *
 * When something is lost, the choice is made for the fabric as it should be, and stays where its
 * cable works and still lies on a shortest way. Where not, fattree_spread.c chooses among what is
 * left. When that is asked for (`full`), the choice is made for the fabric as it is, everywhere.
 */
#define NO_COST (TREE_LONGEST + 2)	/* nobody has it */

/* What a vertex knows of all homes: bytes by home, in the caller's work space. */
struct digest {
	uint8_t *want_up;	/* cost that a neighbour above must have to be a way */
	uint8_t *want_down;	/* and one below */
	uint8_t *count;		/* groups that are ways */
	uint8_t *other;		/* 1: one of them is not a usual way up */
	uint8_t *which;		/* the last of them, counted from the vertex's first */
	uint8_t *broken;	/* 1: a nominal way is not what it should be */
};
#define DIGESTS 12u		/* byte arrays of two digests */

struct fattree_work *
fattree_work_new(const struct fattree *ft)
{
	struct fattree_work *work = mem_array(ft->threads, sizeof(*work));

	for (unsigned i = 0; i < ft->threads; i++) {
		work[i].bytes = mem_alloc((size_t)ft->live->width * DIGESTS);
		for (unsigned k = 0; k < FATTREE_ABOVES; k++)
			work[i].above[k].digits = FABRIC_NONE;
	}
	return work;
}

void
fattree_work_free(const struct fattree *ft, struct fattree_work *work)
{
	for (unsigned i = 0; i < ft->threads; i++) {
		mem_free(work[i].bytes);
		for (unsigned k = 0; k < FATTREE_ABOVES; k++)
			mem_free(work[i].above[k].port);
	}
	mem_free(work);
}

static struct digest
digest_at(const struct fattree *ft, uint8_t *work, unsigned i)
{
	size_t w = ft->live->width;

	work += i * w * 6;
	return (struct digest){ work, work + w, work + 2 * w, work + 3 * w, work + 4 * w,
				work + 5 * w };
}

static uint32_t
links_of(const struct fattree_view *view, const struct fattree *ft, uint32_t g)
{
	return view->nup ? view->nup[g] : ft->t->groups[g].len;
}

static void
find_wants(const struct tree_row *row, uint32_t width, struct digest *d)
{
	const uint8_t *restrict any = row->any, *restrict down = row->down;
	uint8_t *restrict want_up = d->want_up, *restrict want_down = d->want_down;

	for (uint32_t i = 0; i < width; i++) {
		uint8_t x = down[i], y = any[i];

		want_down[i] = y != TREE_FAR && y ? (uint8_t)(y - 1) : NO_COST;
		want_up[i] = x == TREE_FAR && y != TREE_FAR ? (uint8_t)(y - 1) : NO_COST;
	}
}

static void
count_group(struct digest *d, const uint8_t *restrict cost, const uint8_t *restrict want,
	    uint32_t width, uint8_t other, uint8_t which)
{
	uint8_t *restrict count = d->count, *restrict others = d->other, *restrict last = d->which;

	for (uint32_t i = 0; i < width; i++) {
		uint8_t hit = cost[i] == want[i];

		count[i] = (uint8_t)(count[i] + hit);
		others[i] |= (uint8_t)(hit & other);
		last[i] = hit ? which : last[i];
	}
}

/* The same for a group that leads down, where only some blocks of homes have any. */
static void
count_group_down(struct digest *d, const struct tree_costs *c, uint32_t to, uint8_t other,
		 uint8_t which)
{
	for (uint32_t at = 0; at < c->width; at += TREE_BLOCK) {
		struct digest part = { .count = d->count + at, .other = d->other + at,
				       .which = d->which + at };
		uint32_t len = c->width - at < TREE_BLOCK ? c->width - at : TREE_BLOCK;

		if (c->some[(size_t)(at / TREE_BLOCK) * c->n + to])
			count_group(&part, c->row[to]->down + at, d->want_down + at, len, other,
				    which);
	}
}

static void
digest(const struct fattree *ft, const struct fattree_view *view, uint32_t v, struct digest *d)
{
	const struct tree *t = ft->t;
	uint32_t width = view->costs->width;

	find_wants(view->costs->row[v], width, d);
	memset(d->count, 0, width);
	memset(d->other, 0, width);
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		uint32_t to = t->groups[g].to;
		uint8_t other = !t->groups[g].above, which = (uint8_t)(g - t->first[v]);

		if (!links_of(view, ft, g))
			continue;
		if (tree_up(view->rank, v, to))
			count_group(d, view->costs->row[to]->any, d->want_up, width, other, which);
		else
			count_group_down(d, view->costs, to, other, which);
	}
}

/* Mark homes to which a nominal way is no way now, or has lost a cable. */
static void
mark_broken(const struct fattree *ft, uint32_t v, struct digest *nominal, const struct digest *live)
{
	const struct tree *t = ft->t;
	uint32_t width = ft->live->width;
	uint8_t *restrict broken = nominal->broken;

	memset(broken, 0, width);
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		uint32_t to = t->groups[g].to;
		const struct tree_row *then = ft->nominal->row[to], *now = ft->live->row[to];
		bool was_up = tree_up(t->rank, v, to), is_up = tree_up(ft->s.rank, v, to);
		const uint8_t *restrict a = was_up ? then->any : then->down;
		const uint8_t *restrict b = is_up ? now->any : now->down;
		const uint8_t *restrict x = was_up ? nominal->want_up : nominal->want_down;
		const uint8_t *restrict y = is_up ? live->want_up : live->want_down;
		uint8_t lost = ft->s.nup[g] < t->groups[g].len;

		for (uint32_t i = 0; i < width; i++)
			broken[i] |= (uint8_t)((a[i] == x[i]) & ((b[i] != y[i]) | lost));
	}
}

/* Put the links of some groups in order of choice: the first of each group, the second ... */
static void
order_links(const struct fattree *ft, const struct fattree_view *view, struct fattree_ways *w)
{
	uint8_t seen[UINT8_MAX + 1];
	uint32_t left = w->ngroups;

	w->len = 0;
	memset(seen, 0, left);
	while (left) {
		left = 0;
		for (uint32_t i = 0; i < w->ngroups; i++) {
			const struct tree_group *g = &ft->t->groups[w->group[i]];

			while (seen[i] < g->len && view->up && !view->up[g->link + seen[i]])
				seen[i]++;
			if (seen[i] < g->len) {
				w->of[w->len] = (uint8_t)i;
				w->link[w->len++] = g->link + seen[i]++;
				left += seen[i] < g->len;
			}
		}
	}
}

static inline bool
is_way(const struct fattree_view *view, uint32_t v, uint32_t to, uint32_t home)
{
	return fattree_is_way(fattree_cost(view->costs, v, home),
			      fattree_cost(view->costs, to, home), tree_up(view->rank, v, to));
}

void
fattree_find_ways(const struct fattree *ft, const struct fattree_view *view, uint32_t v,
		  uint32_t home, struct fattree_ways *w)
{
	const struct tree *t = ft->t;

	w->ngroups = 0;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
		if (links_of(view, ft, g) && is_way(view, v, t->groups[g].to, home))
			w->group[w->ngroups++] = g;
	order_links(ft, view, w);
}

/* The usual ways up. */
static void
find_above(const struct fattree *ft, const struct fattree_view *view, uint32_t v,
	   struct fattree_ways *w)
{
	const struct tree *t = ft->t;

	w->ngroups = 0;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
		if (t->groups[g].above && links_of(view, ft, g))
			w->group[w->ngroups++] = g;
	order_links(ft, view, w);
}

void
fattree_find_choice(const struct fattree *ft, const struct fattree_ways *nominal,
		    const struct fattree_ways *live, struct fattree_choice *c)
{
	const struct tree *t = ft->t;
	uint32_t at = 0, lost = 0;

	/* Groups stand in one order in both. */
	c->slots = nominal->len;
	for (uint32_t i = 0; i < nominal->ngroups; i++) {
		while (at < live->ngroups && live->group[at] < nominal->group[i])
			at++;
		c->good[i] = at < live->ngroups && live->group[at] == nominal->group[i];
	}
	for (uint32_t slot = 0; slot < nominal->len; slot++) {
		uint32_t link = nominal->link[slot];
		bool good = ft->s.up[link] && c->good[nominal->of[slot]];

		c->out[slot] = good && live->len ? t->out[link] : LFT_NO_PORT;
		c->lost[slot] = (uint8_t)lost;
		lost += !good;
	}
	c->left = live->len;
	for (uint32_t i = 0; i < live->len; i++)
		c->other[i] = t->out[live->link[i]];
}

/* Entries of all LIDs of one home. */
static void
fill_home(const struct fattree *ft, uint32_t v, uint32_t home, const struct fattree_ways *nominal,
	  const struct fattree_ways *live, uint8_t *port)
{
	const struct tree_numbers *n = ft->numbers;
	struct fattree_choice c;

	fattree_find_choice(ft, nominal, live, &c);
	for (uint32_t i = n->first[home]; i < n->first[home + 1]; i++)
		for (uint32_t k = 0; k < n->runs[i].len; k++) {
			uint32_t lid = n->runs[i].lid + k;

			port[lid] = fattree_choose(&c, n->number[lid] / ft->t->divider[v]);
		}
}

static void
fill_home_alike(const struct fattree *ft, uint32_t home, uint8_t out, uint8_t *port)
{
	const struct tree_numbers *n = ft->numbers;

	for (uint32_t i = n->first[home]; i < n->first[home + 1]; i++)
		memset(&port[n->runs[i].lid], out, n->runs[i].len);
}

void
fattree_fill_own(const struct fattree *ft, uint32_t v, uint8_t *port)
{
	const struct tree_numbers *n = ft->numbers;

	for (uint32_t i = n->first[v]; i < n->first[v + 1]; i++)
		for (uint32_t k = 0; k < n->runs[i].len; k++)
			port[n->runs[i].lid + k] = ft->in->lids->dest[n->runs[i].lid + k].out;
}

static void
translate(uint8_t *restrict port, const uint8_t *restrict slot, const uint8_t *restrict out,
	  uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		port[i] = out[slot[i]];
}

/* The table of these ways up, from what is kept if it is there. */
static const struct fattree_above *
keep_above(const struct fattree *ft, uint32_t digits, const uint8_t *out,
	   struct fattree_work *work)
{
	struct fattree_above *a = work->above;

	for (; a < work->above + FATTREE_ABOVES; a++)
		if (a->digits == digits && memcmp(a->out, out, sizeof(a->out)) == 0)
			return a;
	a = &work->above[work->next++ % FATTREE_ABOVES];
	if (a->digits == FABRIC_NONE)
		a->port = mem_alloc(ft->row_len);
	a->digits = digits;
	memcpy(a->out, out, sizeof(a->out));
	translate(a->port, ft->digits[digits].slot, out, ft->row_len);
	return a;
}

/* Start with the usual ways up to everybody. */
static void
fill_above(const struct fattree *ft, uint32_t v, const struct fattree_ways *above,
	   struct fattree_work *work, uint8_t *port)
{
	uint8_t out[UINT8_MAX + 1];

	memset(out, LFT_NO_PORT, sizeof(out));
	for (uint32_t i = 0; i < above->len; i++)
		out[i] = ft->t->out[above->link[i]];
	memcpy(port, keep_above(ft, ft->digits_of[v], out, work)->port, ft->row_len);
}

/* The table by one view alone. */
static void
fill_view(const struct fattree *ft, const struct fattree_view *view, uint32_t v,
	  const struct digest *d, struct fattree_work *work, uint8_t *port)
{
	const struct tree *t = ft->t;
	struct fattree_ways above, w, none = { 0 };

	find_above(ft, view, v, &above);
	if (above.len)
		fill_above(ft, v, &above, work, port);
	else
		memset(port, LFT_NO_PORT, ft->row_len);
	for (uint32_t home = 0; home < t->n; home++) {
		uint32_t count = d->count[home], g = t->first[v] + d->which[home];

		if (home == v || (count == above.ngroups && count && !d->other[home]))
			continue;
		if (count == 0) {
			fill_home_alike(ft, home, LFT_NO_PORT, port);
		} else if (count == 1 && t->groups[g].len == 1) {
			fill_home_alike(ft, home, t->out[t->groups[g].link], port);
		} else {
			fattree_find_ways(ft, view, v, home, &w);
			fill_home(ft, v, home, &none, &w, port);
		}
	}
	fattree_fill_own(ft, v, port);
}

void
fattree_fill(const struct fattree *ft, uint32_t v, uint8_t *port, struct fattree_work *work)
{
	struct fattree_view nominal = fattree_nominal(ft), live = fattree_live(ft);
	struct digest should = digest_at(ft, work->bytes, 0), is = digest_at(ft, work->bytes, 1);

	if (ft->s.uneven[v]) {
		fattree_fill_uneven(ft, v, port);
		return;
	}
	if (ft->full || ft->s.whole) {
		digest(ft, &live, v, &is);
		fill_view(ft, &live, v, &is, work, port);
		return;
	}
	digest(ft, &nominal, v, &should);
	find_wants(ft->live->row[v], ft->live->width, &is);
	mark_broken(ft, v, &should, &is);
	fill_view(ft, &nominal, v, &should, work, port);
	if (memchr(should.broken, 1, ft->t->n))
		ft->broken[v] = memcpy(mem_alloc(ft->t->n), should.broken, ft->t->n);
}

/*
 * Digits.
 */
static uint32_t
usual_links(const struct fattree *ft, uint32_t v)
{
	bool live = ft->full || ft->s.whole;
	uint32_t n = 0;

	for (uint32_t g = ft->t->first[v]; g < ft->t->first[v + 1]; g++)
		if (ft->t->groups[g].above)
			n += live ? ft->s.nup[g] : ft->t->groups[g].len;
	return n;
}

static uint32_t
digits_for(struct fattree *ft, uint32_t divider, uint32_t slots)
{
	uint32_t i = 0;

	while (i < ft->ndigits && (ft->digits[i].divider != divider ||
				   ft->digits[i].slots != slots))
		i++;
	if (i == ft->ndigits) {
		ft->digits = mem_realloc(ft->digits, i + 1, sizeof(*ft->digits));
		ft->digits[i] = (struct fattree_digits){ .divider = divider, .slots = slots };
		ft->ndigits++;
	}
	return i;
}

static void
make_digits(void *arg, unsigned thread, size_t first, size_t end)
{
	struct fattree *ft = arg;
	const uint32_t *number = ft->numbers->number;
	const struct plan_lids *l = ft->in->lids;

	(void)thread;
	for (size_t i = first; i < end; i++) {
		struct fattree_digits *d = &ft->digits[i];
		uint32_t divider = d->divider, slots = d->slots;

		d->slot = mem_alloc(ft->row_len);
		memset(d->slot, LFT_NO_PORT, ft->row_len);
		for (uint32_t lid = 1; lid <= l->top; lid++)
			if (l->dest[lid].port != FABRIC_NONE && l->dest[lid].sw != FABRIC_NONE)
				d->slot[lid] = (uint8_t)(number[lid] / divider % slots);
	}
}

void
fattree_digits_make(struct fattree *ft, const uint8_t *wanted)
{
	ft->digits_of = mem_array(ft->t->n, sizeof(*ft->digits_of));
	for (uint32_t v = 0; v < ft->t->n; v++) {
		uint32_t links = usual_links(ft, v);

		ft->digits_of[v] = links && (!wanted || wanted[v]) ?
			digits_for(ft, ft->t->divider[v], links) : FABRIC_NONE;
	}
	parallel_run(ft->threads, ft->ndigits, 1, make_digits, ft);
}

void
fattree_digits_free(struct fattree *ft)
{
	for (uint32_t i = 0; i < ft->ndigits; i++)
		mem_free(ft->digits[i].slot);
	mem_free(ft->digits);
	mem_free(ft->digits_of);
}
