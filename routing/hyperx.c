/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/hyperx.h"
#include <string.h>
#include "routing/hops.h"
#include "routing/rows.h"
#include "routing/shape_impl.h"
#include "sm/base/mem.h"

/*
 * Engine hyperx: the shortest ways of a HyperX (rows.h), one hop in each dimension in which two
 * switches differ, in the order of the dimensions: what is waited for is always a later dimension,
 * so one lane is enough. What is lost is gone around (hops.h); the hop after a turn that ways by
 * the rule never make, to the same dimension or an earlier one, is on lanes of its own, by the
 * dimension that it comes from as far as lanes last.
 */
#define LANES_WANTED 4u

struct hyperx {
	const struct engine_input *in;	/* what is routed */
	struct links links;		/* of its snapshot */
	struct rows *rows;		/* reference held */
	uint32_t *at;			/* by switch: coordinates */
	uint8_t *dim;			/* by link: its dimension */
	uint32_t *place_sw;		/* by place: the switch there, FABRIC_NONE */
	struct hops hops;		/* ways and tables */
};

/* ---- The shape ---- */

static int
find_rows(const struct links *l, void **shape, struct error *e)
{
	struct rows *found = NULL;
	int rc = rows_find(l, &found, e);

	*shape = found;
	return rc;
}

static int
take_rows(void *arg, void *shape, struct error *e)
{
	struct hyperx *h = arg;

	h->at = rows_fit(shape, &h->links);
	if (!h->at)
		return error_set(e, ERR_REFUSED, "the switches form no HyperX: there are links "
				 "that join no row");
	h->rows = rows_ref(shape);
	return 0;
}

static const uint32_t *
at_of(const struct hyperx *h, uint32_t sw)
{
	return &h->at[(size_t)sw * h->rows->dims];
}

static size_t
place_of(const struct hyperx *h, const uint32_t *at)
{
	size_t place = 0;

	for (unsigned d = 0; d < h->rows->dims; d++)
		place = place * h->rows->side[d] + at[d];
	return place;
}

static void
place_switches(struct hyperx *h)
{
	size_t places = 1;

	for (unsigned d = 0; d < h->rows->dims; d++)
		places *= h->rows->side[d];
	h->place_sw = mem_alloc((places + 1) * sizeof(*h->place_sw));
	memset(h->place_sw, 0xff, (places + 1) * sizeof(*h->place_sw));
	for (uint32_t sw = 0; sw < h->links.n; sw++)
		h->place_sw[place_of(h, at_of(h, sw))] = sw;
	h->dim = mem_array(h->links.len + 1, 1);
	for (uint32_t i = 0; i < h->links.len; i++) {
		const uint32_t *a = at_of(h, h->links.from[i]), *b = at_of(h, h->links.to[i]);

		while (a[h->dim[i]] == b[h->dim[i]])
			h->dim[i]++;
	}
}

/* ---- Ways and lanes ---- */

static uint32_t
rule_link(const void *arg, uint32_t sw, uint32_t home, unsigned variant)
{
	const struct hyperx *h = arg;
	const uint32_t *a = at_of(h, sw), *b = at_of(h, home);
	uint32_t next[ROWS_DIMS], via;
	unsigned d = 0;

	(void)variant;
	memcpy(next, a, h->rows->dims * sizeof(*next));
	while (d < h->rows->dims && a[d] == b[d])
		d++;
	if (d == h->rows->dims)
		return LINKS_NONE;
	next[d] = b[d];
	via = h->place_sw[place_of(h, next)];
	if (via == FABRIC_NONE || (via != home && h->hops.apart[via]))
		return LINKS_NONE;
	return links_between(&h->links, sw, via);
}

static unsigned
lane_of(unsigned lanes, unsigned in, unsigned out)
{
	if (in == HOPS_START || in < out || lanes == 1)
		return 0;
	return 1 + (in < lanes - 1 ? in : lanes - 2);
}

static bool
rule_waits(const void *arg, uint32_t in, unsigned in_lane, uint32_t out, unsigned out_lane)
{
	const struct hyperx *h = arg;

	return !in_lane && !out_lane && h->dim[in] < h->dim[out];
}

/* ---- The engine ---- */

static void
say(const struct hyperx *h, struct engine_output *out)
{
	struct shape s = { .kind = SHAPE_ROWS };
	char text[ROWS_TEXT_SIZE];

	shape_lost_rows(h->rows, h->at, &h->links, &s);
	hops_say(&h->hops, rows_text(text, h->rows), s.lost, out);
}

static void
hyperx_free(struct hyperx *h)
{
	hops_free(&h->hops);
	rows_unref(h->rows);
	mem_free(h->at);
	mem_free(h->dim);
	mem_free(h->place_sw);
	links_free(&h->links);
}

static int
hyperx_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct hyperx h = { .in = in };
	struct hops_rule rule = {
		.link = rule_link, .kind_lane = lane_of, .waits = rule_waits, .arg = &h,
		.broken = true, .variants = 1,
	};
	const struct hops_shape shape = {
		.owner = &engine_hyperx, .find = find_rows, .take = take_rows,
		.unref = rows_unref, .arg = &h,
	};
	int rc;

	links_init(&h.links, in->fabric);
	hops_init(&h.hops, in, &h.links, &rule);
	rc = hops_take_shape(&shape, in, &h.links, e);
	if (!rc) {
		unsigned vls = hops_vls(in, LANES_WANTED);

		place_switches(&h);
		h.hops.rule.kind = h.dim;
		h.hops.rule.lanes = vls > h.rows->dims + 1 ? h.rows->dims + 1 : vls;
		rc = hops_find_detours(&h.hops, e);
	}
	if (!rc) {
		hops_fill(&h.hops, out);
		say(&h, out);
		out->memo = hops_memo(&engine_hyperx, rows_ref(h.rows), rows_unref);
		out->lanes = hops_lanes(&h.hops);
	}
	hyperx_free(&h);
	return rc;
}

const struct engine engine_hyperx = {
	.name = "hyperx",
	.help = "shortest ways of a HyperX or full mesh, one hop in each dimension",
	.topologies = "HyperX, flattened butterflies, full meshes, hypercubes",
	.deadlock_free = true,
	.route = hyperx_route,
};
