/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/grid.h"
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * A snapshot in a grid whose shape is known; how the shape is found is grid_find.c's.
 */
struct grid_shape *
grid_shape_ref(struct grid_shape *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
grid_shape_unref(void *shape)
{
	struct grid_shape *s = shape;

	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(s->guid);
	mem_free(s->place);
	mem_free(s);
}

/* ---- For people ---- */

const char *
grid_text(char text[GRID_TEXT_SIZE], const struct grid_shape *s)
{
	unsigned rings = 0, lines = 0, twos = 0, n = 0, side[GRID_DIMS];
	size_t len = 0;

	for (unsigned d = 0; d < s->dims; d++) {
		rings += s->wraps[d];
		twos += s->radix[d] == 2;
		lines += s->radix[d] > 2 && !s->wraps[d];
	}
	if (s->dims < 2 || (twos > 1 && !rings && !lines && twos % 2)) {
		snprintf(text, GRID_TEXT_SIZE, !s->dims ? "switch alone" :
			 s->dims > 1 ? "hypercube of %u dimensions" :
			 rings ? "ring of %u switches" : "line of %u switches",
			 s->dims > 1 ? s->dims : s->radix[0]);
		return text;
	}
	if (twos == 2 && s->dims == 2) {
		snprintf(text, GRID_TEXT_SIZE, "ring of 4 switches");
		return text;
	}
	/* Two sides of two among rings are one of four; the longest first. */
	for (unsigned d = 0; d < s->dims; d++) {
		bool four = s->radix[d] == 2 && !lines && d + 1 < s->dims;
		unsigned i = n++;

		for (; four && i > 0 && side[i - 1] < 4; i--)
			side[i] = side[i - 1];
		side[i] = four ? 4 : s->radix[d];
		d += four;
	}
	for (unsigned i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, GRID_TEXT_SIZE - len, "%s%u%s", i ? "x" : "",
					side[i], !lines || !rings ? "" : s->wraps[i] ? "t" : "m");
	len += (size_t)snprintf(text + len, GRID_TEXT_SIZE - len, "%s", !lines ? " torus" :
				!rings ? " mesh" : " grid (t: ring, m: line)");
	if (twos == s->dims)
		snprintf(text + len, GRID_TEXT_SIZE - len, " or hypercube of %u dimensions",
			 s->dims);
	return text;
}

/* ---- A snapshot ---- */

static const char *
name_of(char text[FABRIC_NAME_SIZE], const struct fabric *f, uint32_t sw)
{
	return fabric_node_text(text, f, f->switches[sw], FABRIC_NAME_LEN);
}

/* Both lists are in order of GUIDs. */
static int
put_switches(struct grid *g, struct error *e)
{
	const struct grid_shape *s = g->shape;
	const struct fabric *f = g->links->f;
	char text[FABRIC_NAME_SIZE];

	for (uint32_t sw = 0, i = 0; sw < f->nswitches; sw++) {
		uint64_t guid = fabric_switch_node(f, sw)->guid;

		while (i < s->n && s->guid[i] < guid)
			i++;
		if (i == s->n || s->guid[i] != guid)
			return error_set(e, ERR_REFUSED, "%s has no place in the grid",
					 name_of(text, f, sw));
		g->place[sw] = s->place[i];
		for (unsigned d = 0; d < s->dims; d++)
			g->at[sw * s->dims + d] =
				(uint16_t)(s->place[i] / s->stride[d] % s->radix[d]);
	}
	return 0;
}

/* The way that leads from one switch to the other; GRID_NO_WAY: they are no neighbours. */
static uint8_t
way_between(const struct grid *g, uint32_t a, uint32_t b)
{
	const struct grid_shape *s = g->shape;
	uint8_t way = GRID_NO_WAY;

	for (unsigned d = 0; d < s->dims; d++) {
		unsigned x = grid_coordinate(g, a, d), y = grid_coordinate(g, b, d);

		if (x == y)
			continue;
		if (way != GRID_NO_WAY)
			return GRID_NO_WAY;
		if (y == x + 1 || (s->wraps[d] && y == 0 && x + 1u == s->radix[d]))
			way = (uint8_t)(2 * d);
		else if (x == y + 1 || (s->wraps[d] && x == 0 && y + 1u == s->radix[d]))
			way = (uint8_t)(2 * d + 1);
		else
			return GRID_NO_WAY;
	}
	return way;
}

static int
put_links(struct grid *g, struct error *e)
{
	const struct links *l = g->links;
	char a[FABRIC_NAME_SIZE], b[FABRIC_NAME_SIZE];

	for (uint32_t i = 0; i < l->len; i++) {
		uint8_t way = way_between(g, l->from[i], l->to[i]);

		if (way == GRID_NO_WAY)
			return error_set(e, ERR_REFUSED, "the link from %s, port %u, to %s joins "
					 "no neighbours of the grid", name_of(a, l->f, l->from[i]),
					 l->port[l->port_first[i]], name_of(b, l->f, l->to[i]));
		g->way[i] = way;
		g->link[l->from[i] * 2 * g->shape->dims + way] = i;
	}
	return 0;
}

int
grid_open(struct grid *g, const struct grid_shape *s, const struct links *l, struct error *e)
{
	size_t ways = (size_t)l->n * 2 * s->dims + 1;
	int rc;

	*g = (struct grid){
		.shape = s, .links = l,
		.place = mem_array(l->n + 1, sizeof(*g->place)),
		.at = mem_array((size_t)l->n * s->dims + 1, sizeof(*g->at)),
		.way = mem_array(l->len + 1, sizeof(*g->way)),
		.link = mem_alloc(ways * sizeof(*g->link)),
	};
	memset(g->link, 0xff, ways * sizeof(*g->link));
	rc = put_switches(g, e);
	return rc ? rc : put_links(g, e);
}

void
grid_close(struct grid *g)
{
	mem_free(g->place);
	mem_free(g->at);
	mem_free(g->way);
	mem_free(g->link);
}
