/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fatpaths.h"
#include <stdio.h>
#include "routing/layered.h"
#include "sm/base/mem.h"

/*
 * Engine fatpaths: several ways between any two hosts, one for each LID that a port has by its LMC.
 * The first LID is reached by the shortest ways; those to each further one are, for a share of the
 * switches, around these, by hardly more links (ways_around.c). Where shortest ways are few, as in
 * a Slim Fly, a HyperX or any dense random graph, that is what lets two switches that exchange much
 * use more than one link. The idea is that of FatPaths (Besta and others, SC 2020).
 *
 * Lanes rise with each turn (turns.h): one path class, so no service level belongs to a pair, and
 * lanes as many as the longest way has links.
 */
#define LANES 4u		/* where options say nothing */
#define LAYERS 8u		/* most that differ; further LIDs take them again */

struct turn_lanes {
	uint32_t *hub;			/* by switch: place of its port 0 in the next two */
	uint32_t *came;			/* by port: place of its link at the switch; LINKS_NONE */
	uint32_t *goes;			/* by port: first turn to its link */
	uint8_t *lane;			/* by turn */
};

/* ---- Lanes ---- */

static uint8_t
lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct turn_lanes *t = l->state;
	uint32_t came = t->came[t->hub[sw] + in], goes = t->goes[t->hub[sw] + out];

	(void)class;
	return came == LINKS_NONE || goes == LINKS_NONE ? 0 : t->lane[came + goes];
}

static void
lanes_free(struct plan_lanes *l)
{
	struct turn_lanes *t = l->state;

	mem_free(t->hub);
	mem_free(t->came);
	mem_free(t->goes);
	mem_free(t->lane);
	mem_free(t);
	mem_free(l);
}

static void
copy_turns(struct turn_lanes *t, const struct turns *turns)
{
	const struct links *l = turns->y->l;
	uint32_t ports = 0, len = turns->y->first[l->len];

	t->hub = mem_array(l->n + 1u, sizeof(*t->hub));
	for (uint32_t sw = 0; sw < l->n; sw++) {
		t->hub[sw] = l->hub[sw];
		ports += fabric_switch_node(l->f, sw)->nports + 1u;
	}
	t->came = mem_array(ports + 1u, sizeof(*t->came));
	t->goes = mem_array(ports + 1u, sizeof(*t->goes));
	for (uint32_t i = 0; i < ports; i++) {
		uint32_t link = l->of[i];

		t->came[i] = link == LINKS_NONE ? LINKS_NONE : link - l->first[l->from[link]];
		t->goes[i] = link == LINKS_NONE ? LINKS_NONE : turns->y->first[link];
	}
	t->lane = mem_array(len + 1u, 1);
	for (uint32_t i = 0; i < len; i++)
		t->lane[i] = turns->lane[i];
}

static struct plan_lanes *
make_lanes(const struct turns *turns)
{
	struct turn_lanes *t = mem_zalloc(sizeof(*t));
	struct plan_lanes *l = mem_zalloc(sizeof(*l));
	unsigned lanes = 2;

	copy_turns(t, turns);
	for (uint32_t i = 0; i < turns->y->first[turns->y->l->len]; i++)
		lanes = t->lane[i] >= lanes ? t->lane[i] + 1u : lanes;
	*l = (struct plan_lanes){
		.refs = 1, .classes = 1, .lanes = (uint8_t)lanes, .lane = lane,
		.free = lanes_free, .state = t,
	};
	return l;
}

/* ---- The engine ---- */

static int
find(struct ways *w, const struct ways_kept *kept, struct error *e)
{
	(void)e;
	ways_find_around(w, kept);
	return 0;
}

/* As many as the LIDs of a port. */
static unsigned
count_layers(const struct plan_lids *l)
{
	unsigned most = 1;

	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].out && l->dest[lid].offset >= most)
			most = l->dest[lid].offset + 1u;
	return most < LAYERS ? most : LAYERS;
}

static void
say(const struct layered *y, struct engine_output *out)
{
	int len = snprintf(out->note, sizeof(out->note), "lanes: %u", out->lanes->lanes);

	len += y->layers > 1 ?
		snprintf(out->note + len, sizeof(out->note) - (size_t)len,
			 ", ways to the LIDs of a port: %u", y->layers) :
		snprintf(out->note + len, sizeof(out->note) - (size_t)len,
			 ", one way to each port, for the LMC is 0");
	if (y->w.nfallen)
		snprintf(out->note + len, sizeof(out->note) - (size_t)len,
			 ", ways on the spanning tree: %u", y->w.nfallen);
}

static int
fatpaths_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	unsigned most = in->options && in->options->lanes ? in->options->lanes : LANES;
	struct layered y = {
		.in = in, .engine = &engine_fatpaths, .find = find,
		.lanes = layered_lanes(in, most), .layers = count_layers(in->lids),
	};
	int rc;

	if (y.lanes < 2)
		return error_set(e, ERR_REFUSED, "it takes two lanes or more, and links run or may "
				 "run no more than %u", y.lanes);
	rc = layered_route(&y, out, e);
	if (!rc) {
		out->lanes = make_lanes(y.w.turns);
		say(&y, out);
	}
	layered_free(&y);
	return rc;
}

const struct engine engine_fatpaths = {
	.name = "fatpaths",
	.help = "short ways where these have few links; around them to the further LIDs of a port",
	.topologies = "Slim Fly, HyperX, full meshes, dense random graphs",
	.deadlock_free = true,
	.route = fatpaths_route,
};
