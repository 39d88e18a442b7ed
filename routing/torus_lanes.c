/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/torus_impl.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * Classes and lanes of a torus (Dally and Seitz 1987; as torus-2QoS has them). A ring of five or
 * more has a date line, between its last place and the first: a bit of the class tells whether the
 * short way along that dimension crosses it, and packets that do are on the second lane all along
 * the ring. Ways of half a ring at most cannot close a circle on either lane.
 *
 * A way by the dimensions takes them in order. Where something is missing packets may have to turn
 * back to an earlier one: the first hop after such a turn is on lanes of its own, by the dimension
 * that it comes from as far as lanes last, so that what waits for it is not what it waits for.
 */
#define DATE_LINE_RADIX 5u	/* shorter rings have no two hops in a row that close a circle */

struct torus_rule *
torus_rule_new(const struct grid *g, unsigned vls)
{
	const struct grid_shape *s = g->shape;
	struct torus_rule *r = mem_zalloc(sizeof(*r));
	const struct links *l = g->links;
	uint32_t n = l->n, ports = 0;

	r->dims = s->dims;
	r->straight = 1;
	for (unsigned d = 0; d < s->dims; d++) {
		r->radix[d] = s->radix[d];
		r->wraps[d] = s->wraps[d];
		r->bit[d] = -1;
		if (s->wraps[d] && s->radix[d] >= DATE_LINE_RADIX)
			r->bit[d] = (int8_t)r->bits++;
	}
	r->straight = r->bits ? 2 : 1;
	r->turns = vls > r->straight ? vls / r->straight - 1 : 0;
	if (r->turns + 1 > s->dims)
		r->turns = s->dims ? s->dims - 1 : 0;
	r->lanes = r->straight * (1 + r->turns);
	r->at = mem_array((size_t)n * s->dims + 1, sizeof(*r->at));
	memcpy(r->at, g->at, (size_t)n * s->dims * sizeof(*r->at));
	r->hub = mem_array(n + 1, sizeof(*r->hub));
	memcpy(r->hub, l->hub, n * sizeof(*r->hub));
	for (uint32_t sw = 0; sw < n; sw++)
		ports += fabric_switch_node(l->f, sw)->nports + 1u;
	r->way = mem_alloc(ports + 1);
	for (uint32_t i = 0; i < ports; i++)
		r->way[i] = l->of[i] == LINKS_NONE ? GRID_NO_WAY : g->way[l->of[i]];
	return r;
}

void
torus_rule_free(struct torus_rule *r)
{
	if (!r)
		return;
	mem_free(r->at);
	mem_free(r->way);
	mem_free(r->hub);
	mem_free(r);
}

bool
torus_crosses(const struct torus_rule *r, uint32_t a, uint32_t b, unsigned dim)
{
	const uint16_t *x = &r->at[(size_t)a * r->dims], *y = &r->at[(size_t)b * r->dims];
	unsigned low = x[dim] < y[dim] ? x[dim] : y[dim], far = x[dim] + y[dim] - 2u * low;
	unsigned parity = low;

	if (!r->wraps[dim] || 2 * far < r->radix[dim])
		return false;
	if (2 * far > r->radix[dim])
		return true;
	/* Earlier dimensions are behind the packet: only these are the same all along. */
	for (unsigned d = dim + 1; d < r->dims; d++)
		parity += x[d] + y[d];
	return parity & 1;
}

uint8_t
torus_class(const struct torus_rule *r, uint32_t a, uint32_t b)
{
	unsigned class = 0;

	for (unsigned d = 0; d < r->dims; d++)
		if (r->bit[d] >= 0 && torus_crosses(r, a, b, d))
			class |= 1u << r->bit[d];
	return (uint8_t)class;
}

/* Turns against the order of dimensions, and back along the same one. */
static bool
turns_back(unsigned in, unsigned out)
{
	return in != GRID_NO_WAY && in != out && in / 2 >= out / 2;
}

unsigned
torus_lane(const struct torus_rule *r, unsigned in, unsigned out, unsigned class)
{
	int bit = r->bit[out / 2];
	unsigned lane = bit < 0 ? 0 : class >> bit & 1, from = in / 2 > 1 ? in / 2 : 1;

	if (turns_back(in, out))
		lane += r->straight * (from < r->turns ? from : r->turns);
	return lane;
}

/* ---- As a section of a plan ---- */

static uint8_t
path_class(const struct plan_lanes *l, uint32_t src_sw, uint32_t dst_sw)
{
	return torus_class(l->state, src_sw, dst_sw);
}

static uint8_t
lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct torus_rule *r = l->state;
	const uint8_t *way = &r->way[r->hub[sw]];

	if (way[out] == GRID_NO_WAY)
		return 0;
	/* A port's way leads out of it: what comes in by it moves the other way. */
	return (uint8_t)torus_lane(r, way[in] == GRID_NO_WAY ? GRID_NO_WAY : way[in] ^ 1u,
				   way[out], class);
}

static void
lanes_free(struct plan_lanes *l)
{
	torus_rule_free(l->state);
	mem_free(l);
}

struct plan_lanes *
torus_lanes(struct torus_rule *r)
{
	struct plan_lanes *l;

	if (r->lanes == 1) {
		torus_rule_free(r);
		return NULL;
	}
	l = mem_zalloc(sizeof(*l));
	*l = (struct plan_lanes){
		.refs = 1, .classes = (uint8_t)(1u << r->bits), .lanes = (uint8_t)r->lanes,
		.path_class = path_class, .lane = lane, .free = lanes_free, .state = r,
	};
	return l;
}
