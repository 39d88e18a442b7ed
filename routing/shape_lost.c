/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/shape_impl.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * What a fabric lacks to be what it seems to be, for people: cables and switches that are known to
 * be lost, and such as were never seen but would be there by the rule of the others. Each is
 * counted once, and what nobody can expect, because most do without, is not.
 */
#define RARE 8u		/* more than one in so many links is not lost but built otherwise */

static void
add(struct shape *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
add(struct shape *s, const char *format, ...)
{
	size_t len = strlen(s->lost);
	va_list args;

	va_start(args, format);
	vsnprintf(s->lost + len, sizeof(s->lost) - len, format, args);
	va_end(args);
}

static void
add_count(struct shape *s, uint64_t n, const char *what, const char *state)
{
	if (n)
		add(s, ", %llu %s%s %s", (unsigned long long)n, what,
		    n == 1 ? "" : strcmp(what + strlen(what) - 2, "ch") ? "s" : "es", state);
}

static int
by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The value that at least half of them have, the greater of two; 0: there is none. Sorts them. */
static uint32_t
usual(uint32_t *value, uint32_t n)
{
	uint32_t run = 0, found = 0;

	qsort(value, n, sizeof(*value), by_value);
	for (uint32_t i = 0; i < n; i++) {
		run = i && value[i] == value[i - 1] ? run + 1 : 1;
		if (2 * run >= n)
			found = value[i];
	}
	return found;
}

/* Cables that single links lack which most have. */
static void
add_parallel(struct shape *s, const struct links *l)
{
	uint32_t *len = mem_array(l->len + 1, sizeof(*len)), most, lacking = 0;

	for (uint32_t i = 0; i < l->len; i++)
		len[i] = l->port_first[i + 1] - l->port_first[i];
	most = usual(len, l->len);
	for (uint32_t i = 0; i < l->len; i++)	/* sorted now */
		lacking += most > len[i] ? most - len[i] : 0;
	add_count(s, lacking / 2, "parallel cable", "missing");
	mem_free(len);
}

/* ---- Trees ---- */

struct level_lost {
	uint32_t gone;		/* switches that are not there */
	uint32_t lacking;	/* others, that miss cables to switches below */
	uint32_t cables;	/* how many cables these miss */
};

static uint32_t
live_switch(const struct shape_tree *t, uint32_t sw)
{
	uint32_t node = fabric_node_by_guid(t->live, fabric_switch_node(t->f, sw)->guid);

	return node == FABRIC_NONE ? FABRIC_NONE : t->live->nodes[node].sw;
}

/* By switch: cables to lower levels, as it should be. */
static uint32_t *
count_wanted(const struct shape_tree *t)
{
	uint32_t *want = mem_array(t->f->nswitches + 1u, sizeof(*want));
	uint32_t *of_level = mem_array(t->f->nswitches + 1u, sizeof(*want));

	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		for (uint32_t k = t->f->edge_first[sw]; k < t->f->edge_first[sw + 1]; k++)
			want[sw] += t->level[t->f->edges[k].to] > t->level[sw];
	for (unsigned level = 0; level < t->levels; level++) {
		uint32_t n = 0, most;

		for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
			if (t->level[sw] == level)
				of_level[n++] = want[sw];
		most = usual(of_level, n);
		for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
			if (t->level[sw] == level && want[sw] < most)
				want[sw] = most;
	}
	mem_free(of_level);
	return want;
}

/* Cables to lower levels that are there, or whose other end is gone whole. */
static uint32_t
count_there(const struct shape_tree *t, uint32_t sw, const uint32_t *live, const uint16_t *level)
{
	const struct fabric *f = t->live;
	uint32_t n = 0, at = live[sw];

	for (uint32_t k = f->edge_first[at]; k < f->edge_first[at + 1]; k++)
		n += level[f->edges[k].to] > level[at];
	for (uint32_t k = t->f->edge_first[sw]; k < t->f->edge_first[sw + 1]; k++)
		n += t->level[t->f->edges[k].to] > t->level[sw] &&
			live[t->f->edges[k].to] == FABRIC_NONE;
	return n;
}

static void
look_at_levels(const struct shape_tree *t, struct level_lost *lost)
{
	uint32_t *live = mem_array(t->f->nswitches + 1u, sizeof(*live)), *want = count_wanted(t);
	uint16_t *level = mem_array(t->live->nswitches + 1u, sizeof(*level));

	for (uint32_t sw = 0; sw < t->f->nswitches; sw++) {
		live[sw] = live_switch(t, sw);
		if (live[sw] != FABRIC_NONE)
			level[live[sw]] = t->level[sw];
	}
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++) {
		struct level_lost *l = &lost[t->level[sw]];
		uint32_t there;

		if (live[sw] == FABRIC_NONE) {
			l->gone++;
			continue;
		}
		there = count_there(t, sw, live, level);
		l->lacking += there < want[sw];
		l->cables += there < want[sw] ? want[sw] - there : 0;
	}
	mem_free(live);
	mem_free(level);
	mem_free(want);
}

void
shape_lost_tree(const struct shape_tree *t, struct shape *s)
{
	struct level_lost *lost = mem_array(t->levels + 1u, sizeof(*lost));

	look_at_levels(t, lost);
	for (unsigned level = 0; level < t->levels; level++) {
		const struct level_lost *l = &lost[level];
		const char *what = t->f->nswitches == 2 ? "switch" : level == 0 ?
			"spine" : level + 1 == t->levels ? "leaf switch" : "middle switch";
		char state[48];

		snprintf(state, sizeof(state), "missing %u cable%s", l->cables,
			 l->cables == 1 ? "" : "s");
		add_count(s, l->gone, what, "gone");
		add_count(s, l->lacking, what, state);
	}
	mem_free(lost);
}

/* ---- Grids ---- */

/* Is there a switch at both ends of what would be the link, but not the link? */
static bool
lacks_link(const struct grid *g, const bool *taken, uint32_t sw, unsigned way)
{
	const struct grid_shape *s = g->shape;
	unsigned d = way / 2, n = s->radix[d], at = grid_coordinate(g, sw, d);
	unsigned next = way & 1 ? (at + n - 1) % n : (at + 1) % n;
	bool end = !s->wraps[d] && (way & 1 ? at == 0 : at + 1 == n);

	return !end && grid_link(g, sw, way) == LINKS_NONE &&
		taken[g->place[sw] - at * s->stride[d] + next * s->stride[d]];
}

/* What lacks but for the links of switches that are not there. */
void
shape_lost_grid(const struct grid *g, struct shape *s)
{
	const struct grid_shape *shape = g->shape;
	bool *cut = mem_array((size_t)shape->nplaces * shape->dims + 1, sizeof(*cut));
	bool *taken = mem_array(shape->nplaces + 1u, sizeof(*taken));
	uint32_t rings = 0, missing = 0;

	for (uint32_t sw = 0; sw < g->links->n; sw++)
		taken[g->place[sw]] = true;
	for (uint32_t sw = 0; sw < g->links->n; sw++)
		for (unsigned way = 0; way < 2 * shape->dims; way++) {
			unsigned d = way / 2;
			size_t line = (size_t)d * shape->nplaces + g->place[sw] -
				grid_coordinate(g, sw, d) * shape->stride[d];

			if (!lacks_link(g, taken, sw, way))
				continue;
			rings += shape->wraps[d] && !cut[line];
			cut[line] = true;
			missing += !shape->wraps[d];
		}
	mem_free(cut);
	mem_free(taken);
	add_count(s, shape->nplaces - g->links->n, "switch", "missing");
	add_count(s, rings, "ring", "broken");
	add_count(s, missing / 2, "link", "missing");	/* from both ends */
	add_parallel(s, g->links);
}

/* ---- Slim Flies, rows and groups ---- */

void
shape_lost_slim(const struct slim *f, const struct links *live, struct shape *s)
{
	uint64_t gone = f->n - live->n;
	/* Each link counts at both ends; those to who is gone are not missed as well. */
	uint64_t ends = ((uint64_t)f->n - 2 * gone) * f->degree;

	add_count(s, gone, "switch", "missing");
	add_count(s, ends > live->len ? (ends - live->len) / 2 : 0, "link", "missing");
	add_parallel(s, live);
}

void
shape_lost_rows(const struct rows *r, const uint32_t *at, const struct links *live,
		struct shape *s)
{
	uint64_t places = 1, want = 0, there = live->len / 2;
	uint32_t *len;

	for (unsigned d = 0; d < r->dims; d++)
		places *= r->side[d];
	len = mem_array(places + 1, sizeof(*len));
	for (unsigned d = 0; d < r->dims; d++) {
		memset(len, 0, places * sizeof(*len));
		for (uint32_t sw = 0; sw < live->n; sw++) {
			size_t row = 0;

			for (unsigned i = 0; i < r->dims; i++)
				row = row * r->side[i] +
					(i == d ? 0 : at[(size_t)sw * r->dims + i]);
			want += len[row]++;
		}
	}
	mem_free(len);
	add_count(s, r->n - live->n, "switch", "missing");
	if (want > there && RARE * (want - there) <= want)
		add_count(s, want - there, "link", "missing");
	add_parallel(s, live);
}

/* Pairs of groups without a cable. */
static uint64_t
count_strangers(const struct groups *g, const uint32_t *place, const struct links *live)
{
	uint8_t *joined = mem_array((size_t)g->ngroups * g->ngroups + 1, 1);
	uint64_t met = 0;

	for (uint32_t i = 0; i < live->len; i++) {
		uint32_t a = g->group[place[live->from[i]]], b = g->group[place[live->to[i]]];
		uint8_t *pair = &joined[(size_t)a * g->ngroups + b];

		met += a < b && !*pair;
		*pair = 1;
	}
	mem_free(joined);
	return (uint64_t)g->ngroups * (g->ngroups - 1) / 2 - met;
}

bool
shape_lost_groups(const struct groups *g, const uint32_t *place, const struct links *live,
		  struct shape *s)
{
	uint32_t (*len)[2] = mem_array(g->ngroups + 1, sizeof(*len));
	uint64_t pairs = (uint64_t)g->ngroups * (g->ngroups - 1) / 2;
	uint64_t want = 0, there = 0, strangers = count_strangers(g, place, live);

	for (uint32_t sw = 0; sw < live->n; sw++) {
		uint32_t at = place[sw];

		want += g->plus ? len[g->group[at]][!g->spine[at]] : len[g->group[at]][0];
		len[g->group[at]][g->spine[at]]++;
	}
	for (uint32_t i = 0; i < live->len; i++)
		there += g->group[place[live->from[i]]] == g->group[place[live->to[i]]];
	there /= 2;
	mem_free(len);
	add_count(s, g->n - live->n, "switch", "missing");
	if (want > there && RARE * (want - there) <= want)
		add_count(s, want - there, "link", "within groups missing");
	if (RARE * strangers <= pairs)
		add_count(s, strangers, "pair", "of groups without a cable");
	add_parallel(s, live);
	return 3 * strangers <= pairs;
}
