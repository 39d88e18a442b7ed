/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/hops.h"
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Ways where an engine's rule finds none: a line of a grid that is cut, a lost link of a group, a
 * switch that is missing. A switch that is stuck on its way to another sends to a neighbour that is
 * not; which one may be is decided by what waits for what. The graph of that holds, from the
 * beginning, what ways by the rule make wait, and every hop of a detour is entered: one that would
 * close a circle is not taken. Where that leaves somebody without a way, all is tried anew, whoever
 * found none first.
 *
 * A channel is a lane of a link, whose cables do alike.
 */
#define ATTEMPTS 16u
#define EXACT_MAX 1500u		/* switches up to which ways by rule are followed one by one */
#define FAR UINT16_MAX		/* stuck */
#define UNKNOWN (UINT16_MAX - 1)

struct waits {
	const struct hops *h;		/* whose */
	const struct links *l;		/* its links */
	unsigned lanes;			/* of each link */
	unsigned words;			/* of a bitmap */
	uint64_t *on;			/* by channel: bitmap of channels out of the switch that it
					 * leads to, which it may wait for */
	uint32_t *mark;			/* by channel: search that saw it last */
	uint32_t *stack;		/* of a search */
	uint32_t search;		/* number of the present one */
	unsigned attempt;		/* 0 .. ATTEMPTS - 1 */
};

/* Switches on one way to one home. */
struct stuck {
	uint32_t *sw;			/* that are stuck, ascending; NULL: none */
	uint32_t len;			/* how many */
};

struct search {
	struct hops *h;			/* whose detours */
	struct stuck *stuck;		/* by way */
	uint16_t **hops;		/* by thread, then switch: on the present way, or FAR */
	uint32_t **path;		/* by thread: scratch, switches on a way */
	uint32_t *order;		/* ways in the order in which they are looked at */
};

/* ---- Who is stuck ---- */

/* The link by rule: `way` is home x variants + variant. */
static uint32_t
link_by_rule(const struct hops *h, uint32_t sw, uint32_t way)
{
	unsigned variants = h->rule.variants;

	return h->rule.link(h->rule.arg, sw, way / variants, way % variants);
}

static uint32_t
ways_of(const struct hops *h)
{
	return h->links->n * h->rule.variants;
}

/* Hops of the ways by rule from a switch and from all on the way. */
static void
measure(const struct hops *h, uint16_t *hops, uint32_t *path, uint32_t sw, uint32_t way)
{
	uint32_t len = 0;
	uint16_t far;

	while (hops[sw] == UNKNOWN) {
		uint32_t link = link_by_rule(h, sw, way);

		path[len++] = sw;
		hops[sw] = FAR;
		if (link != LINKS_NONE)
			sw = h->links->to[link];
	}
	for (far = hops[sw]; len > 0; len--) {
		far = far == FAR ? FAR : (uint16_t)(far + 1);
		hops[path[len - 1]] = far;
	}
}

static void
measure_all(const struct hops *h, uint16_t *hops, uint32_t *path, uint32_t way)
{
	for (uint32_t sw = 0; sw < h->links->n; sw++)
		hops[sw] = h->apart[sw] ? FAR : UNKNOWN;
	hops[way / h->rule.variants] = 0;
	for (uint32_t sw = 0; sw < h->links->n; sw++)
		measure(h, hops, path, sw, way);
}

static void
find_stuck(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct search *s = arg;
	const struct hops *h = s->h;
	uint16_t *hops = s->hops[thread];

	for (size_t way = first; way < end; way++) {
		struct stuck *k = &s->stuck[way];
		uint32_t len = 0;

		measure_all(h, hops, s->path[thread], (uint32_t)way);
		for (uint32_t sw = 0; sw < h->links->n; sw++)
			len += hops[sw] == FAR && !h->apart[sw];
		if (!len)
			continue;
		k->sw = mem_array(len, sizeof(*k->sw));
		for (uint32_t sw = 0; sw < h->links->n; sw++)
			if (hops[sw] == FAR && !h->apart[sw])
				k->sw[k->len++] = sw;
	}
}

/* ---- What waits for what ---- */

static size_t
channel(const struct waits *w, uint32_t link, unsigned lane)
{
	return (size_t)link * w->lanes + lane;
}

/* The word and bit by which a channel is known at the switch that it leaves. */
static uint64_t *
bit_of(const struct waits *w, size_t before, uint32_t link, unsigned lane, uint64_t *bit)
{
	unsigned at = (link - w->l->first[w->l->from[link]]) * w->lanes + lane;

	*bit = UINT64_C(1) << at % 64;
	return &w->on[before * w->words + at / 64];
}

static unsigned
lane_of(const struct hops *h, uint32_t in, uint32_t out, unsigned class)
{
	const struct hops_rule *r = &h->rule;

	if (r->lane)
		return r->lane(r->arg, in, out, class);
	return r->kind_lane(r->lanes, in == LINKS_NONE ? HOPS_START : r->kind[in], r->kind[out]);
}

static unsigned
class_of(const struct hops *h, uint32_t a, uint32_t b)
{
	return h->rule.class ? h->rule.class(h->rule.arg, a, b) : 0;
}

static void
enter_channel(struct waits *w, uint32_t in, unsigned lane)
{
	const struct hops_rule *r = &w->h->rule;
	uint32_t sw = w->l->to[in];
	uint64_t bit;

	for (uint32_t out = w->l->first[sw]; out < w->l->first[sw + 1]; out++)
		for (unsigned then = 0; then < w->lanes; then++)
			if (out != w->l->back[in] && r->waits(r->arg, in, lane, out, then)) {
				uint64_t *word = bit_of(w, channel(w, in, lane), out, then, &bit);

				*word |= bit;
			}
}

/* What one way by rule makes wait. */
static void
enter_rule(struct waits *w, const uint16_t *hops, uint32_t way)
{
	const struct hops *h = w->h;
	uint32_t home = way / h->rule.variants;
	uint64_t bit, *word;

	for (uint32_t sw = 0; sw < w->l->n; sw++) {
		unsigned class = class_of(h, sw, home);
		uint32_t in = LINKS_NONE;
		size_t before = 0;

		for (uint32_t at = sw; hops[sw] != FAR && at != home; at = w->l->to[in]) {
			uint32_t out = link_by_rule(h, at, way);
			unsigned lane = lane_of(h, in, out, class);

			if (in != LINKS_NONE) {
				word = bit_of(w, before, out, lane, &bit);
				*word |= bit;
			}
			before = channel(w, out, lane);
			in = out;
		}
	}
}

static unsigned
most_links(const struct links *l)
{
	unsigned most = 0;

	for (uint32_t sw = 0; sw < l->n; sw++)
		if (l->first[sw + 1] - l->first[sw] > most)
			most = l->first[sw + 1] - l->first[sw];
	return most;
}

static void
waits_open(struct waits *w, const struct search *s, unsigned attempt)
{
	const struct hops *h = s->h;
	size_t len;

	*w = (struct waits){ .h = h, .l = h->links, .lanes = h->rule.lanes, .attempt = attempt };
	w->words = (most_links(w->l) * w->lanes + 63) / 64;
	len = (size_t)w->l->len * w->lanes;
	w->on = mem_array(len * w->words + 1, sizeof(*w->on));
	w->mark = mem_array(len + 1, sizeof(*w->mark));
	w->stack = mem_array(len + 1, sizeof(*w->stack));
	if (h->rule.waits && w->l->n > EXACT_MAX) {
		for (uint32_t link = 0; link < w->l->len; link++)
			for (unsigned lane = 0; lane < w->lanes; lane++)
				enter_channel(w, link, lane);
		return;
	}
	for (uint32_t way = 0; way < ways_of(h); way++) {
		measure_all(h, s->hops[0], s->path[0], way);
		enter_rule(w, s->hops[0], way);
	}
}

static void
waits_close(struct waits *w)
{
	mem_free(w->on);
	mem_free(w->mark);
	mem_free(w->stack);
}

/* Does whoever waits for channel `from` wait, in the end, for channel `to`? */
static bool
leads_to(struct waits *w, size_t from, size_t to)
{
	uint32_t len = 0;

	w->search++;
	w->stack[len++] = (uint32_t)from;
	w->mark[from] = w->search;
	while (len) {
		size_t c = w->stack[--len];
		size_t next = channel(w, w->l->first[w->l->to[c / w->lanes]], 0);

		if (c == to)
			return true;
		for (unsigned i = 0; i < w->words; i++)
			for (uint64_t on = w->on[c * w->words + i]; on; on &= on - 1) {
				size_t then = next + i * 64 + (unsigned)__builtin_ctzll(on);

				if (w->mark[then] != w->search) {
					w->mark[then] = w->search;
					w->stack[len++] = (uint32_t)then;
				}
			}
	}
	return false;
}

/* ---- Detours ---- */

#define HOPS_MAX 1024u	/* of a detour */

/* What was entered for one way. */
struct entered {
	uint64_t *word[HOPS_MAX];	/* changed words */
	uint64_t bit[HOPS_MAX];		/* and their bits */
	unsigned len;			/* how many */
};

/* One wait more: false if it would close a circle. */
static bool
enter_wait(struct waits *w, size_t before, uint32_t out, unsigned lane, struct entered *e)
{
	uint64_t bit, *word = bit_of(w, before, out, lane, &bit);

	if (*word & bit)
		return true;
	if (e->len == HOPS_MAX || leads_to(w, channel(w, out, lane), before))
		return false;
	e->word[e->len] = word;
	e->bit[e->len++] = bit;
	*word |= bit;
	return true;
}

/* Enter all that the way of a switch to its home makes wait; false, with nothing changed, if that
 * closed a circle. Links that were found go before those by rule. */
static bool
enter_way(struct waits *w, const uint32_t *found, uint32_t sw, uint32_t way)
{
	const struct hops *h = w->h;
	uint32_t home = way / h->rule.variants;
	unsigned class = class_of(h, sw, home), hops = 0;
	struct entered entered = { .len = 0 };
	uint32_t in = LINKS_NONE;
	size_t before = 0;
	bool ok = true;

	for (uint32_t at = sw; ok && at != home; at = w->l->to[in]) {
		uint32_t out = found[at] != LINKS_NONE ? found[at] : link_by_rule(h, at, way);
		unsigned lane = lane_of(h, in, out, class);

		ok = ++hops < HOPS_MAX &&
		     (in == LINKS_NONE || enter_wait(w, before, out, lane, &entered));
		before = channel(w, out, lane);
		in = out;
	}
	while (!ok && entered.len > 0) {
		entered.len--;
		*entered.word[entered.len] &= ~entered.bit[entered.len];
	}
	return ok;
}

/* A neighbour that is `far` from home takes what is stuck at a switch, if nothing speaks against
 * it. */
static bool
try_neighbours(struct waits *w, const uint16_t *hops, uint32_t *found, uint32_t sw, uint32_t way,
	       uint16_t far)
{
	uint32_t first = w->l->first[sw], len = w->l->first[sw + 1] - first;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t k = (i + w->attempt / 2) % len;
		uint32_t link = first + (w->attempt & 1 ? len - 1 - k : k), next = w->l->to[link];

		if (hops[next] != far || (w->h->apart[next] && next != way / w->h->rule.variants))
			continue;
		found[sw] = link;
		if (enter_way(w, found, sw, way))
			return true;
		found[sw] = LINKS_NONE;
	}
	return false;
}

static int
no_way(const struct hops *h, uint32_t sw, uint32_t home, struct error *e)
{
	const struct fabric *f = h->links->f;
	char a[FABRIC_NAME_SIZE], b[FABRIC_NAME_SIZE];

	return error_set(e, ERR_REFUSED, "with what is missing, there is no way from %s to %s that "
			 "cannot end in a credit loop",
			 fabric_node_text(a, f, f->switches[sw], FABRIC_NAME_LEN),
			 fabric_node_text(b, f, f->switches[home], FABRIC_NAME_LEN));
}

/* What is nearest to home finds its way first, so that others can join it. */
static void
detour_way(struct waits *w, const struct stuck *k, uint16_t *hops, uint32_t *found, uint32_t way)
{
	uint32_t left = k->len, most = 0;

	for (uint32_t sw = 0; sw < w->l->n; sw++)
		if (hops[sw] != FAR && hops[sw] > most)
			most = hops[sw];
	for (uint32_t far = 0; left && far <= most; far++)
		for (uint32_t i = 0; i < k->len; i++) {
			uint32_t sw = k->sw[i];

			if (hops[sw] != FAR ||
			    !try_neighbours(w, hops, found, sw, way, (uint16_t)far))
				continue;
			hops[sw] = (uint16_t)(far + 1);
			left--;
			if (far + 1 > most)
				most = far + 1;
		}
}

static int
by_switch(const void *a, const void *b)
{
	const struct hops_detour *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

/* Note what was found for one way, and forget it in found[]. */
static int
take_way(struct hops *h, const struct stuck *k, const uint32_t *part, uint32_t *found,
	 uint32_t way, struct error *e)
{
	uint32_t home = way / h->rule.variants;
	int rc = 0;

	for (uint32_t i = 0; i < k->len; i++) {
		uint32_t sw = k->sw[i];

		if (found[sw] != LINKS_NONE)
			h->detours[h->ndetours++] = (struct hops_detour){ sw, way, found[sw] };
		else if (!rc && part[sw] == part[home])
			rc = no_way(h, sw, home, e);
		found[sw] = LINKS_NONE;
	}
	return rc;
}

static int
detour_all(struct search *s, unsigned attempt, struct error *e)
{
	struct hops *h = s->h;
	uint32_t n = h->links->n, *part = mem_array(n + 1, sizeof(*part));
	uint32_t *found = mem_alloc((n + 1) * sizeof(*found));
	struct waits w;
	int rc = 0;

	levels_components(h->links->f, part);
	waits_open(&w, s, attempt);
	memset(found, 0xff, n * sizeof(*found));
	h->ndetours = 0;
	for (uint32_t i = 0; i < ways_of(h) && !rc; i++) {
		uint32_t way = s->order[i];

		if (!s->stuck[way].len)
			continue;
		measure_all(h, s->hops[0], s->path[0], way);
		detour_way(&w, &s->stuck[way], s->hops[0], found, way);
		rc = take_way(h, &s->stuck[way], part, found, way, e);
		/* Whoever finds no way chooses first the next time. */
		if (rc) {
			memmove(s->order + 1, s->order, i * sizeof(*s->order));
			s->order[0] = way;
		}
	}
	qsort(h->detours, h->ndetours, sizeof(*h->detours), by_switch);
	waits_close(&w);
	mem_free(found);
	mem_free(part);
	return rc;
}

static void
search_free(struct search *s, unsigned threads)
{
	for (uint32_t way = 0; way < ways_of(s->h); way++)
		mem_free(s->stuck[way].sw);
	for (unsigned i = 0; i < threads; i++) {
		mem_free(s->hops[i]);
		mem_free(s->path[i]);
	}
	mem_free(s->stuck);
	mem_free(s->hops);
	mem_free(s->path);
	mem_free(s->order);
}

int
hops_find_detours(struct hops *h, struct error *e)
{
	unsigned threads = parallel_threads(h->in->options ? h->in->options->threads : 0);
	uint32_t n = h->links->n, ways = ways_of(h);
	struct search s = {
		.h = h, .stuck = mem_array(ways + 1, sizeof(struct stuck)),
		.hops = mem_array(threads, sizeof(uint16_t *)),
		.path = mem_array(threads, sizeof(uint32_t *)),
		.order = mem_array(ways + 1, sizeof(uint32_t)),
	};
	int rc = h->rule.broken ? ERR_REFUSED : 0;
	size_t len = 0;

	for (unsigned i = 0; i < threads; i++) {
		s.hops[i] = mem_array(n + 1, sizeof(uint16_t));
		s.path[i] = mem_array(n + 1, sizeof(uint32_t));
	}
	for (uint32_t way = 0; way < ways; way++)
		s.order[way] = way;
	if (rc)
		parallel_run(threads, ways, 8, find_stuck, &s);
	for (uint32_t way = 0; way < ways; way++)
		len += s.stuck[way].len;
	h->detours = mem_array(len + 1, sizeof(*h->detours));
	if (!len)
		rc = 0;
	for (unsigned attempt = 0; rc && attempt < ATTEMPTS; attempt++)
		rc = detour_all(&s, attempt, e);
	search_free(&s, threads);
	return rc;
}
