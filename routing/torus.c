/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/torus.h"
#include <string.h>
#include "routing/hops.h"
#include "routing/shape_impl.h"
#include "routing/torus_impl.h"
#include "sm/base/mem.h"

/*
 * Engine torus: meshes, tori and hypercubes (grid.h). A packet takes the dimensions in order, each
 * the short way round; lanes see to it that no ring of waiting links closes (torus_lanes.c). Where
 * a ring is cut the way round it is the long one: its lanes are the same, for nothing goes all the
 * way round a ring that is cut. What that does not reach takes detours (hops.h).
 *
 * Who is at which place is found once and remembered from plan to plan, for the classes of pairs,
 * which hosts keep, come from it. All packets to the hosts of one switch take the same switches;
 * they are spread over parallel links.
 */
#define VLS_WANTED 4u		/* more are of no use */

struct torus {
	const struct engine_input *in;	/* what is routed */
	struct links links;		/* of its snapshot */
	struct grid_shape *shape;	/* reference held */
	struct grid g;			/* the snapshot in it */
	struct torus_rule *rule;	/* classes and lanes */
	struct hops hops;		/* ways and tables */
	uint16_t *run;			/* by switch, then way: hops on which nothing is missing, up
					 * to radix - 1 */
	bool *whole;			/* by switch, then dimension: its ring lacks nothing */
	bool broken;			/* something is missing */
};

/* ---- The grid ---- */

static int
find_grid(const struct links *l, void **shape, struct error *e)
{
	struct grid_shape *found = NULL;

	if (grid_find(l, &found, e))
		found = grid_complete(l);
	*shape = found;
	return found ? 0 : ERR_REFUSED;
}

static int
take_grid(void *arg, void *shape, struct error *e)
{
	struct torus *t = arg;
	int rc = grid_open(&t->g, shape, &t->links, e);

	if (!rc) {
		t->shape = grid_shape_ref(shape);
		return 0;
	}
	grid_close(&t->g);
	t->g = (struct grid){ 0 };
	return rc;
}

/* ---- What is missing ---- */

static uint16_t
run_of(const struct torus *t, uint32_t sw, unsigned way)
{
	unsigned most = t->shape->radix[way / 2] - 1u;
	uint16_t len = 0;

	while (len < most) {
		sw = grid_next(&t->g, sw, way);
		if (sw == FABRIC_NONE)
			break;
		len++;
		if (t->hops.apart[sw])
			break;
	}
	return len;
}

static bool
line_is_whole(const struct torus *t, uint32_t sw, unsigned dim)
{
	unsigned n = t->shape->radix[dim];

	for (unsigned i = 0; i + !t->shape->wraps[dim] < n; i++) {
		uint32_t next = grid_next(&t->g, sw, 2 * dim);

		if (next == FABRIC_NONE || t->hops.apart[next])
			return false;
		sw = next;
	}
	return true;
}

/* Also from the switches of a line that is no ring, whose beginning is elsewhere. */
static void
look_for_gaps(struct torus *t)
{
	const struct grid_shape *s = t->shape;
	uint32_t n = t->links.n;

	t->run = mem_array((size_t)n * 2 * s->dims + 1, sizeof(*t->run));
	t->whole = mem_array((size_t)n * s->dims + 1, sizeof(*t->whole));
	t->broken = n < s->nplaces;
	for (uint32_t sw = 0; sw < n; sw++)
		for (unsigned way = 0; way < 2 * s->dims; way++) {
			uint16_t *run = &t->run[(size_t)sw * 2 * s->dims + way];
			unsigned d = way / 2, at = grid_coordinate(&t->g, sw, d);
			unsigned end = s->wraps[d] ? s->radix[d] - 1u :
				       way & 1 ? at : s->radix[d] - 1u - at;

			*run = run_of(t, sw, way);
			t->broken |= *run < end;
		}
	for (uint32_t sw = 0; sw < n; sw++)
		for (unsigned d = 0; d < s->dims; d++) {
			bool *whole = &t->whole[(size_t)sw * s->dims + d];

			*whole = s->wraps[d] && line_is_whole(t, sw, d);
			t->broken |= s->wraps[d] && !*whole;
		}
}

/* ---- Ways ---- */

/* The way by the dimensions from a switch to another: GRID_NO_WAY if something is missing on it. */
static unsigned
way_to(const struct torus *t, uint32_t sw, uint32_t home)
{
	const struct grid_shape *s = t->shape;
	const uint16_t *x = &t->g.at[(size_t)sw * s->dims], *y = &t->g.at[(size_t)home * s->dims];
	const uint16_t *run = &t->run[(size_t)sw * 2 * s->dims];
	unsigned d = 0, direct, round, way;
	bool crosses;

	while (d < s->dims && x[d] == y[d])
		d++;
	if (d == s->dims)
		return GRID_NO_WAY;
	crosses = torus_crosses(t->rule, sw, home, d);
	way = 2 * d + ((y[d] < x[d]) != crosses);
	if (!t->broken)
		return way;
	direct = y[d] > x[d] ? y[d] - x[d] : x[d] - y[d];
	round = s->radix[d] - direct;
	if (run[way] >= (crosses ? round : direct))
		return way;
	way ^= 1;
	if (s->wraps[d] && run[way] >= (crosses ? direct : round))
		return way;
	return GRID_NO_WAY;
}

static uint32_t
rule_link(const void *arg, uint32_t sw, uint32_t home, unsigned variant)
{
	const struct torus *t = arg;
	unsigned way = way_to(t, sw, home);

	(void)variant;
	return way == GRID_NO_WAY ? LINKS_NONE : grid_link(&t->g, sw, way);
}

/* May a packet that goes on along a ring, on this lane, go on from this hop to the next one? Places
 * are counted from the date line in the direction of the way: the hop across it is 0. */
static bool
goes_on(const struct torus *t, uint32_t sw, unsigned way, unsigned lane)
{
	const struct torus_rule *r = t->rule;
	unsigned d = way / 2, n = r->radix[d], x = grid_coordinate(&t->g, sw, d), hop;

	if (r->bit[d] < 0 || !t->whole[(size_t)sw * r->dims + d])
		return true;
	hop = way & 1 ? (n - x) % n : (x + 1) % n;
	if (lane == 0)
		return hop != 0 && hop != n - 1;
	return hop + 1 < n / 2 || n - hop < n / 2;
}

/* Lanes of ways by the dimensions. */
static unsigned
lanes_of(const struct torus_rule *r, unsigned way)
{
	return r->bit[way / 2] < 0 ? 1 : 2;
}

static bool
rule_waits(const void *arg, uint32_t in, unsigned in_lane, uint32_t out, unsigned out_lane)
{
	const struct torus *t = arg;
	unsigned from = t->g.way[in], way = t->g.way[out];

	if (in_lane >= lanes_of(t->rule, from) || out_lane >= lanes_of(t->rule, way))
		return false;
	if (from == way)
		return in_lane == out_lane && goes_on(t, t->links.from[in], from, in_lane);
	return way / 2 > from / 2;
}

static unsigned
rule_class(const void *arg, uint32_t a, uint32_t b)
{
	const struct torus *t = arg;

	return torus_class(t->rule, a, b);
}

static unsigned
rule_lane(const void *arg, uint32_t in, uint32_t out, unsigned class)
{
	const struct torus *t = arg;

	return torus_lane(t->rule, in == LINKS_NONE ? GRID_NO_WAY : t->g.way[in], t->g.way[out],
			  class);
}

/* ---- The engine ---- */

static void
say(const struct torus *t, struct engine_output *out)
{
	struct shape s = { .kind = SHAPE_GRID };
	char text[GRID_TEXT_SIZE];

	shape_lost_grid(&t->g, &s);
	hops_say(&t->hops, grid_text(text, t->shape), s.lost, out);
}

static void
torus_free(struct torus *t)
{
	hops_free(&t->hops);
	grid_close(&t->g);
	grid_shape_unref(t->shape);
	torus_rule_free(t->rule);
	mem_free(t->run);
	mem_free(t->whole);
	links_free(&t->links);
}

static int
torus_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct torus t = { .in = in };
	struct hops_rule rule = {
		.link = rule_link, .class = rule_class, .lane = rule_lane, .waits = rule_waits,
		.arg = &t, .variants = 1,
	};
	const struct hops_shape shape = {
		.owner = &engine_torus, .find = find_grid, .take = take_grid,
		.unref = grid_shape_unref, .arg = &t,
	};
	int rc;

	links_init(&t.links, in->fabric);
	rc = hops_take_shape(&shape, in, &t.links, e);
	hops_init(&t.hops, in, &t.links, &rule);
	if (!rc) {
		t.rule = torus_rule_new(&t.g, hops_vls(in, VLS_WANTED));
		look_for_gaps(&t);
		t.hops.rule.lanes = t.rule->lanes;
		t.hops.rule.broken = t.broken;
		rc = hops_find_detours(&t.hops, e);
	}
	if (!rc) {
		hops_fill(&t.hops, out);
		say(&t, out);
		out->memo = hops_memo(&engine_torus, grid_shape_ref(t.shape), grid_shape_unref);
		out->lanes = torus_lanes(t.rule);
		t.rule = NULL;
	}
	torus_free(&t);
	return rc;
}

const struct engine engine_torus = {
	.name = "torus",
	.help = "dimension by dimension, rings kept free of credit loops by lanes; rings that are "
		"cut are gone round the long way",
	.topologies = "meshes, tori, hypercubes",
	.deadlock_free = true,
	.route = torus_route,
};
