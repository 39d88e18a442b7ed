/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Where destinations go whose way is lost. What counts is not how many destinations a port has, but
 * how many of them are sent to at one time. In a shift the hosts below a switch, which are
 * neighbours, send to as many neighbours: so two destinations meet in a port if fewer homes lie
 * between them than below the switch (its span). All that should go through a port meet nowhere,
 * for their digits differ; what is spilt is put where the fewest others were spilt within a span,
 * here and, on a way up, by the next switch there, whose table is made before. So nobody sends to
 * where the next way is lost too, if there is another. Equal ports are taken in turn: homes whose
 * digits are the same start at different ones, and so do switches side by side.
 *
 * That halves the excess of the worst shift over the whole tree's: 11,664 hosts, one cable in
 * twenty lost, a mean over shifts of 4.0 flows where spreading by digits alone leaves 5.2.
 *
 * A choice depends on those within a span before it, on the next switch's within a span of that,
 * and so on up. A repair follows just that: it chooses again where ways may have changed, where a
 * choice before within the span did, and where tables above did nearby.
 */

/* One vertex while it is worked on. */
struct spreading {
	struct fattree *ft;			/* whose tables */
	uint32_t v;				/* the vertex */
	struct fattree_spill *spill;		/* what was spilt so far */
	uint32_t from;				/* first of these that still counts */
	uint32_t meets[UINT8_MAX + 1];		/* by port: those that count */
	bool rare;				/* of the present home: see struct fattree_spilt */
	struct fattree_ways should;		/* scratch: ways to a home */
	struct fattree_ways is;			/* likewise, today's */
	struct fattree_choice choice;		/* from these */
};

static uint32_t
reach_of(const struct fattree *ft, uint32_t v)
{
	/* A leaf's hosts may send to two of the next. */
	return ft->numbers->span[v] > 2 ? ft->numbers->span[v] : 2;
}

static void
spill_add(struct fattree_spill *s, struct fattree_spilt spilt)
{
	if (s->len == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->m = mem_realloc(s->m, s->room, sizeof(*s->m));
	}
	s->m[s->len++] = spilt;
}

/* Ready to be read; NULL if nothing was spilt. */
static struct fattree_spill *
spill_done(struct fattree_spill *s, uint32_t nseated)
{
	uint32_t steps = nseated / FATTREE_STEP + 1, k = 0;

	if (!s->len) {
		mem_free(s->m);
		mem_free(s);
		return NULL;
	}
	s->index = mem_array(steps, sizeof(*s->index));
	for (uint32_t i = 0; i < steps; i++) {
		while (k < s->len && s->m[k].at < i * FATTREE_STEP)
			k++;
		s->index[i] = k;
	}
	return s;
}

static struct fattree_spill *
spill_new(void)
{
	struct fattree_spill *s = mem_zalloc(sizeof(*s));

	s->refs = 1;
	return s;
}

struct fattree_spill *
fattree_spill_ref(struct fattree_spill *s)
{
	if (s)
		__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
fattree_spill_free(struct fattree_spill **spill, uint32_t n)
{
	for (uint32_t v = 0; spill && v < n; v++) {
		struct fattree_spill *s = spill[v];

		if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
			continue;
		mem_free(s->m);
		mem_free(s->index);
		mem_free(s);
	}
	mem_free(spill);
}

static bool
same_spilt(const struct fattree_spilt *a, uint32_t na, const struct fattree_spilt *b, uint32_t nb)
{
	if (na != nb)
		return false;
	for (uint32_t i = 0; i < na; i++)
		if (a[i].at != b[i].at || a[i].out != b[i].out || a[i].rare != b[i].rare)
			return false;
	return true;
}

bool
fattree_spill_equal(const struct fattree_spill *a, const struct fattree_spill *b)
{
	if (a == b || !a || !b)
		return a == b;
	return same_spilt(a->m, a->len, b->m, b->len);
}

/* How many others go out by the same port of the next switch, near a home. */
static uint32_t
count_above(const struct spreading *w, uint32_t group, uint32_t at, uint32_t lid)
{
	const struct fattree *ft = w->ft;
	uint32_t to = ft->t->groups[group].to, reach, first, n = 0;
	const struct fattree_spill *s;
	uint8_t out;

	/* Those of one rank are filled side by side: not even to be looked at. */
	if (ft->s.rank[to] >= ft->s.rank[w->v] || !ft->spill[to])
		return 0;
	s = ft->spill[to];
	reach = reach_of(ft, to);
	first = at + 1 > reach ? at + 1 - reach : 0;
	out = plan_row_port(ft->rows[to], lid);
	for (uint32_t i = s->index[first / FATTREE_STEP];
	     i < s->len && s->m[i].at < at + reach; i++)
		n += s->m[i].at >= first && s->m[i].out == out && !s->m[i].rare;
	return n;
}

/* Those that were spilt a span before do not count any more. */
static void
move_to(struct spreading *w, uint32_t at)
{
	uint32_t reach = reach_of(w->ft, w->v);

	for (; w->from < w->spill->len && w->spill->m[w->from].at + reach <= at; w->from++)
		w->meets[w->spill->m[w->from].out] -= !w->spill->m[w->from].rare;
}

static void
add(struct spreading *w, struct fattree_spilt spilt)
{
	spill_add(w->spill, spilt);
	w->meets[spilt.out] += !spilt.rare;
}

/* A port for a destination whose slot is lost. */
static uint8_t
pick(struct spreading *w, uint32_t at, uint32_t lid, uint32_t q)
{
	const struct fattree_choice *c = &w->choice;
	uint32_t slot = q % c->slots, best = UINT32_MAX;
	uint32_t start = q / c->slots + c->lost[slot] + w->ft->numbers->turn[w->v];
	uint8_t out = LFT_NO_PORT;

	for (uint32_t i = 0; i < c->left && best; i++) {
		uint32_t k = (start + i) % c->left, group = w->is.group[w->is.of[k]];
		uint32_t n = 2 * w->meets[c->other[k]];

		if (n < best)
			n += count_above(w, group, at, lid);
		if (n >= best)
			continue;
		best = n;
		out = c->other[k];
	}
	add(w, (struct fattree_spilt){ (uint16_t)at, out, w->rare });
	return out;
}

/* Entries of all LIDs of one home; true if any changed. */
static bool
spread_home(struct spreading *w, uint32_t home)
{
	struct fattree *ft = w->ft;
	const struct tree_numbers *n = ft->numbers;
	const struct fattree_choice *c = &w->choice;
	struct fattree_view nominal = fattree_nominal(ft), live = fattree_live(ft);
	uint32_t at = n->ordinal[home], number[UINT8_MAX + 1];
	uint8_t picked[UINT8_MAX + 1];
	bool changed = false;

	w->should.len = w->should.ngroups = 0;
	if (!ft->full)
		fattree_find_ways(ft, &nominal, w->v, home, &w->should);
	fattree_find_ways(ft, &live, w->v, home, &w->is);
	fattree_find_choice(ft, &w->should, &w->is, &w->choice);
	memset(picked, LFT_NO_PORT, sizeof(picked));
	w->rare = ft->live->row[w->v]->any[home] != ft->nominal->row[w->v]->any[home];
	move_to(w, at);
	for (uint32_t i = n->first[home]; i < n->first[home + 1]; i++)
		for (uint32_t k = 0; k < n->runs[i].len; k++) {
			uint32_t lid = n->runs[i].lid + k, slot;
			uint32_t q = n->number[lid] / ft->t->divider[w->v];
			uint8_t out = fattree_choose(c, q);

			slot = c->slots ? q % c->slots : 0;
			/* Switches are sent little; what has one number here goes one way. */
			if (c->slots && c->left && c->out[slot] == LFT_NO_PORT &&
			    ft->in->lids->dest[lid].out) {
				if (picked[slot] == LFT_NO_PORT || number[slot] != q)
					picked[slot] = pick(w, at, lid, q);
				number[slot] = q;
				out = picked[slot];
			}
			if (out == plan_row_port(ft->rows[w->v], lid))
				continue;
			plan_row_set(&ft->rows[w->v], lid, out);
			changed = true;
		}
	return changed;
}

void
fattree_spread_vertex(struct fattree *ft, uint32_t v)
{
	const struct tree_numbers *n = ft->numbers;
	struct spreading w = { .ft = ft, .v = v };

	if (!ft->broken[v])
		return;
	w.spill = spill_new();
	for (uint32_t i = 0; i < ft->t->n; i++)
		if (ft->broken[v][n->homes[i]] && n->homes[i] != v)
			spread_home(&w, n->homes[i]);
	ft->spill[v] = spill_done(w.spill, n->nseated);
}

static void
spread_vertices(void *arg, unsigned thread, size_t first, size_t end)
{
	struct fattree *ft = ((void **)arg)[0];
	const uint32_t *v = ((void **)arg)[1];

	(void)thread;
	for (size_t i = first; i < end; i++)
		fattree_spread_vertex(ft, v[i]);
}

uint32_t
fattree_ranked(const struct fattree *ft, uint32_t **downwards, uint32_t **first)
{
	uint32_t n = ft->t->n, nranks = 0, *upwards = tree_upwards(ft->t, ft->s.rank);

	*downwards = mem_array(n, sizeof(**downwards));
	*first = mem_array(n + 1u, sizeof(**first));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = upwards[n - 1 - i];

		if (i == 0 || ft->s.rank[v] != ft->s.rank[(*downwards)[i - 1]])
			(*first)[nranks++] = i;
		(*downwards)[i] = v;
	}
	(*first)[nranks] = n;
	mem_free(upwards);
	return nranks;
}

void
fattree_spread(struct fattree *ft)
{
	uint32_t *v, *first, nranks = fattree_ranked(ft, &v, &first);

	for (uint32_t i = 0; i < nranks; i++) {
		void *arg[] = { ft, &v[first[i]] };

		parallel_run(ft->threads, first[i + 1] - first[i], 4, spread_vertices, arg);
	}
	mem_free(v);
	mem_free(first);
}

uint64_t
fattree_near(const struct fattree *ft, uint32_t v, uint32_t at)
{
	uint32_t n = ft->numbers->nseated, reach = reach_of(ft, v), last = at + reach - 1;
	uint32_t low = at + 1 > reach ? at + 1 - reach : 0, high = last < n ? last : n - 1;
	unsigned a, b;

	if (at >= n)
		return 0;
	a = (unsigned)((uint64_t)low * 64 / n);
	b = (unsigned)((uint64_t)high * 64 / n);
	return (UINT64_MAX >> (63 - (b - a))) << a;
}

static bool
is_near(const struct fattree *ft, uint32_t at, uint64_t near)
{
	return at < ft->numbers->nseated &&
		near >> ((uint64_t)at * 64 / ft->numbers->nseated) & 1;
}

/* One home that was spilt (old->m[i], `len` of them) or whose ways may have changed: choose again
 * if what the choice depends on may have changed. True if what is spilt did. */
static bool
spread_home_again(struct spreading *w, uint32_t home, bool again, const struct fattree_spilt *old,
		  uint32_t len, uint64_t *changed)
{
	uint32_t at = w->ft->numbers->ordinal[home], had = w->spill->len;
	bool moved, other;

	if (!again) {
		move_to(w, at);
		for (uint32_t i = 0; i < len; i++)
			add(w, old[i]);
		return false;
	}
	moved = spread_home(w, home);
	other = !same_spilt(old, len, w->spill->m + had, w->spill->len - had);
	if (moved || other)
		*changed |= fattree_near(w->ft, w->v, at);
	return other;
}

uint64_t
fattree_spread_again(struct fattree *ft, uint32_t v, const struct fattree_spill *old,
		     const uint32_t *homes, uint32_t nhomes, uint64_t near)
{
	const struct tree_numbers *n = ft->numbers;
	struct spreading w = { .ft = ft, .v = v, .spill = spill_new() };
	uint32_t i = 0, k = 0, reach = reach_of(ft, v), last = UINT32_MAX;
	uint64_t changed = 0;

	while ((old && i < old->len) || k < nhomes) {
		uint32_t spilt = old && i < old->len ? old->m[i].at : UINT32_MAX, first = i;
		uint32_t asked = k < nhomes ? n->ordinal[homes[k]] : UINT32_MAX;
		uint32_t at = spilt < asked ? spilt : asked;
		bool again = asked == at || is_near(ft, at, near) ||
			(last != UINT32_MAX && at - last < reach);

		for (; old && i < old->len && old->m[i].at == at; i++)
			;
		k += asked == at;
		if (spread_home_again(&w, n->homes[at], again, old ? old->m + first : NULL,
				      i - first, &changed))
			last = at;
	}
	ft->spill[v] = spill_done(w.spill, n->nseated);
	return changed;
}
