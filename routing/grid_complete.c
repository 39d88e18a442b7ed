/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/grid.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * Small grids that were never seen whole: where so many links are missing that squares do not tell
 * which links are parallel (grid_find.c), every grid that is large enough but not much larger is
 * tried, the one that would lack the fewest links first. Switches are put into it one after the
 * other, next to those that they are cabled to, with a step back where that leads nowhere.
 *
 * What would be missing from a grid is known beforehand, from the number of links alone; so a place
 * that would leave more of them out is given up at once, which keeps the search short. It has an
 * end: a fabric that takes more steps is no grid that anybody could recognise.
 */
#define NONE UINT32_MAX
#define SWITCHES_LEAST 6u	/* fewer are as well a line, a ring or a tree */
#define SWITCHES_MOST 256u
#define STEPS_MOST 100000u	/* places tried, in all grids */
#define GRIDS_MOST 64u		/* that are tried */
#define FOURTHS_LEAST 3u	/* of the links that there could be: so many are there */

struct frame {
	unsigned dims;			/* of a grid to try, the longest first */
	uint16_t radix[GRID_DIMS];	/* places along each */
	bool wraps[GRID_DIMS];		/* rings, but of four, which are twice two */
	uint32_t places;		/* in all */
	uint32_t lacking;		/* links that are not there, and switches' links */
};

struct completion {
	const struct links *l;		/* of the fabric */
	struct frame frames[GRIDS_MOST];	/* that may be, the fewest lacking links first */
	uint32_t nframes;		/* how many */
	const struct frame *f;		/* that is tried */
	uint32_t *near;			/* by place, then way: the place next to it; NONE */
	uint32_t *place;		/* by switch; NONE: not put yet */
	uint32_t *taken;		/* by place: the switch there; NONE */
	uint32_t *known;		/* by switch: neighbours that have their places */
	uint32_t missing;		/* links between neighbours that have their places */
	uint32_t steps;			/* so far */
};

static uint32_t
degree(const struct links *l, uint32_t sw)
{
	return l->first[sw + 1] - l->first[sw];
}

/* ---- Grids that may be ---- */

static uint32_t
frame_links(const struct frame *f)
{
	uint32_t n = 0;

	for (unsigned d = 0; d < f->dims; d++)
		n += f->places / f->radix[d] * (f->radix[d] - !f->wraps[d]);
	return n;
}

static uint32_t
frame_ways(const struct frame *f)
{
	uint32_t n = 0;

	for (unsigned d = 0; d < f->dims; d++)
		n += f->radix[d] > 2 ? 2 : 1;
	return n;
}

/* Keep a grid in its place of the list, if the fabric has the links for it and no more. */
static void
consider(struct completion *c, struct frame *f)
{
	uint32_t all = frame_links(f), there = c->l->len / 2, most = 0, i;
	uint32_t gone = (f->places - c->l->n) * frame_ways(f);

	for (uint32_t sw = 0; sw < c->l->n; sw++)
		most = degree(c->l, sw) > most ? degree(c->l, sw) : most;
	if (f->dims < 2 || there > all || most > frame_ways(f) || gone >= all ||
	    4 * there < FOURTHS_LEAST * (all - gone))
		return;
	f->lacking = all - there;
	for (i = c->nframes; i > 0 && c->frames[i - 1].lacking > f->lacking; i--)
		if (i < GRIDS_MOST)
			c->frames[i] = c->frames[i - 1];
	if (i < GRIDS_MOST)
		c->frames[i] = *f;
	c->nframes += c->nframes < GRIDS_MOST;
}

/* All grids of `left` times the places that `f` has so far, with no side longer than `most`. */
static void
list_frames(struct completion *c, struct frame *f, uint32_t left, uint32_t most)
{
	if (left == 1) {
		consider(c, f);
		return;
	}
	for (uint32_t side = left < most ? left : most; side >= 2 && f->dims < GRID_DIMS; side--) {
		if (left % side)
			continue;
		f->radix[f->dims] = (uint16_t)side;
		for (unsigned ring = side > 2 && side != 4; ring < 2; ring--) {
			f->wraps[f->dims++] = ring;
			list_frames(c, f, left / side, side);
			f->dims--;
		}
	}
}

/* ---- Places ---- */

static void
list_near(struct completion *c)
{
	const struct frame *f = c->f;
	uint32_t stride = 1;

	memset(c->near, 0xff, (size_t)f->places * 2 * GRID_DIMS * sizeof(*c->near));
	for (unsigned d = 0; d < f->dims; stride *= f->radix[d++])
		for (uint32_t p = 0; p < f->places; p++) {
			uint32_t n = f->radix[d], at = p / stride % n, base = p - at * stride;
			uint32_t *near = &c->near[(size_t)p * 2 * GRID_DIMS + 2 * d];

			if (at + 1 < n || f->wraps[d])
				near[0] = base + (at + 1) % n * stride;
			if (at > 0 || f->wraps[d])
				near[1] = base + (at + n - 1) % n * stride;
		}
}

static const uint32_t *
near_of(const struct completion *c, uint32_t place)
{
	return &c->near[(size_t)place * 2 * GRID_DIMS];
}

/* Have the unplaced neighbours of a switch room around its place? */
static bool
has_room(const struct completion *c, uint32_t sw)
{
	const uint32_t *near = near_of(c, c->place[sw]);
	uint32_t room = 0;

	for (unsigned way = 0; way < 2 * c->f->dims; way++)
		room += near[way] != NONE && c->taken[near[way]] == NONE;
	return degree(c->l, sw) - c->known[sw] <= room;
}

/* Put a switch there; false: it cannot be there, or no neighbour could follow. */
static bool
put(struct completion *c, uint32_t sw, uint32_t place)
{
	const uint32_t *near = near_of(c, place);
	uint32_t beside = 0, joined = 0;
	bool room;

	for (unsigned way = 0; way < 2 * c->f->dims; way++) {
		uint32_t other = near[way] == NONE ? NONE : c->taken[near[way]];

		beside += other != NONE;
		joined += other != NONE && links_between(c->l, sw, other) != LINKS_NONE;
	}
	c->steps++;
	c->place[sw] = place;
	c->taken[place] = sw;
	for (uint32_t k = c->l->first[sw]; k < c->l->first[sw + 1]; k++)
		c->known[c->l->to[k]]++;
	c->missing += beside - joined;
	room = joined == c->known[sw] && c->missing <= c->f->lacking && has_room(c, sw);
	for (unsigned way = 0; room && way < 2 * c->f->dims; way++)
		if (near[way] != NONE && c->taken[near[way]] != NONE)
			room = has_room(c, c->taken[near[way]]);
	return room;
}

static void
take_back(struct completion *c, uint32_t sw)
{
	const uint32_t *near = near_of(c, c->place[sw]);

	for (unsigned way = 0; way < 2 * c->f->dims; way++) {
		uint32_t other = near[way] == NONE ? NONE : c->taken[near[way]];

		c->missing -= other != NONE && links_between(c->l, sw, other) == LINKS_NONE;
	}
	for (uint32_t k = c->l->first[sw]; k < c->l->first[sw + 1]; k++)
		c->known[c->l->to[k]]--;
	c->taken[c->place[sw]] = NONE;
	c->place[sw] = NONE;
}

/* ---- The search ---- */

/* The switch that has most neighbours in their places; NONE: none has any. */
static uint32_t
next_switch(const struct completion *c)
{
	uint32_t best = NONE;

	for (uint32_t sw = 0; sw < c->l->n; sw++)
		if (c->place[sw] == NONE && c->known[sw] &&
		    (best == NONE || c->known[sw] > c->known[best] ||
		     (c->known[sw] == c->known[best] &&
		      degree(c->l, sw) > degree(c->l, best))))
			best = sw;
	return best;
}

static uint32_t
placed_neighbour(const struct completion *c, uint32_t sw)
{
	uint32_t k = c->l->first[sw];

	while (c->place[c->l->to[k]] == NONE)
		k++;
	return c->place[c->l->to[k]];
}

/* `left` switches have no place yet: find places for all. */
static bool
place_rest(struct completion *c, uint32_t left)
{
	uint32_t sw = left ? next_switch(c) : NONE, near[2 * GRID_DIMS];
	bool done = !left;

	if (sw == NONE)
		return done;
	memcpy(near, near_of(c, placed_neighbour(c, sw)), sizeof(near));
	for (unsigned way = 0; !done && way < 2 * c->f->dims && c->steps < STEPS_MOST; way++) {
		bool twice = way & 1 && near[way] == near[way - 1];

		if (near[way] == NONE || c->taken[near[way]] != NONE || twice)
			continue;
		done = put(c, sw, near[way]) && place_rest(c, left - 1);
		if (!done)
			take_back(c, sw);
	}
	return done;
}

/* The switch with most links is put at every place, or at one where all places are alike. */
static bool
fits(struct completion *c, const struct frame *f)
{
	uint32_t first = 0;
	bool alike = true, done = false;

	c->f = f;
	list_near(c);
	memset(c->taken, 0xff, f->places * sizeof(*c->taken));
	for (unsigned d = 0; d < f->dims; d++)
		alike &= f->wraps[d] || f->radix[d] == 2;
	for (uint32_t sw = 1; sw < c->l->n; sw++)
		if (degree(c->l, sw) > degree(c->l, first))
			first = sw;
	for (uint32_t p = 0; !done && p < (alike ? 1 : f->places) && c->steps < STEPS_MOST; p++) {
		done = put(c, first, p) && place_rest(c, c->l->n - 1);
		if (!done)
			take_back(c, first);
	}
	return done;
}

static struct grid_shape *
make_shape(const struct completion *c)
{
	struct grid_shape *s = mem_zalloc(sizeof(*s));
	uint32_t stride = 1;

	s->refs = 1;
	s->n = c->l->n;
	s->dims = c->f->dims;
	s->nplaces = c->f->places;
	s->guid = mem_array(s->n + 1, sizeof(*s->guid));
	s->place = mem_array(s->n + 1, sizeof(*s->place));
	for (unsigned d = 0; d < s->dims; stride *= s->radix[d++]) {
		s->radix[d] = c->f->radix[d];
		s->wraps[d] = c->f->wraps[d];
		s->stride[d] = stride;
	}
	for (uint32_t sw = 0; sw < s->n; sw++) {
		s->guid[sw] = fabric_switch_node(c->l->f, sw)->guid;
		s->place[sw] = c->place[sw];
	}
	return s;
}

struct grid_shape *
grid_complete(const struct links *l)
{
	uint32_t most = l->n + l->n / 8 + 1;
	struct completion c = { .l = l };
	struct frame empty = { 0 };
	struct grid_shape *s = NULL;

	if (l->n < SWITCHES_LEAST || l->n > SWITCHES_MOST)
		return NULL;
	c.near = mem_alloc((size_t)most * 2 * GRID_DIMS * sizeof(*c.near));
	c.taken = mem_array(most, sizeof(*c.taken));
	c.place = mem_alloc(l->n * sizeof(*c.place));
	c.known = mem_array(l->n, sizeof(*c.known));
	memset(c.place, 0xff, l->n * sizeof(*c.place));
	for (uint32_t places = l->n; places <= most; places++) {
		empty.places = places;
		list_frames(&c, &empty, places, places);
	}
	for (uint32_t i = 0; i < c.nframes && !s && c.steps < STEPS_MOST; i++)
		if (fits(&c, &c.frames[i]))
			s = make_shape(&c);
	mem_free(c.near);
	mem_free(c.taken);
	mem_free(c.place);
	mem_free(c.known);
	return s;
}
