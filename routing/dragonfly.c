/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/dragonfly.h"
#include <string.h>
#include "routing/groups.h"
#include "routing/hops.h"
#include "routing/shape_impl.h"
#include "sm/base/mem.h"

/*
 * Engine dragonfly: the shortest ways of a dragonfly or dragonfly+ (groups.h), which cross one
 * global link at most. From a group to another the global links between the two are shared out over
 * where packets come from and where they go.
 *
 * Lanes are told by the ports that a packet comes in and goes out by, so every pair has the same
 * service level. In a dragonfly local links before a global one are on lane 0, those after it on
 * lane 1: what is waited for is always nearer to the end of the way.
 *
 * In a dragonfly+ ways between leaves climb, cross over and descend, which needs one lane. Spines
 * are only asked and told by managers: their ways turn from down to up at a leaf, on the second
 * lane; what a spine itself sends down is on the third. At the first leaf of a group such ways
 * begin, at the others they end, so that who waits there is never who is waited for.
 *
 * What is lost is gone around (hops.h); turns that ways by the rule never make are on lanes of
 * their own: from a local link to a local one, from a global link to a global one.
 */
#define STARTS 0u		/* rank of the leaf over which a spine reaches other groups */

enum turn {			/* from a link to the next */
	TURN_NONE,		/* as by rule */
	TURN_AFTER,		/* by rule: on the second lane of a dragonfly */
	TURN_LOCAL,		/* local again; dragonfly+: up after down */
	TURN_GLOBAL,		/* global again; dragonfly+: down from the spine itself */
};

enum kind {			/* of a link, from where it is left */
	KIND_LOCAL,		/* dragonfly+: from a leaf to a spine */
	KIND_DOWN,		/* dragonfly+: from a spine to a leaf */
	KIND_GLOBAL,
};

struct dragonfly {
	const struct engine_input *in;	/* what is routed */
	struct links links;		/* of its snapshot */
	struct groups *groups;		/* reference held */
	uint32_t *place;		/* by switch: place in groups */
	uint32_t *group;		/* by switch */
	uint32_t *rank;			/* by switch: among those of its kind in the group */
	bool *spine;			/* by switch */
	uint8_t *kind;			/* by link: enum kind */
	uint32_t *exit_first;		/* by (group, group): global links between them in exit[] */
	uint32_t *exit;			/* links, in order of the switches that they leave */
	struct hops hops;		/* ways and tables */
};

/* ---- Groups ---- */

static int
find_groups(const struct links *l, void **shape, struct error *e)
{
	struct groups *found = NULL;
	int rc = groups_find(l, &found, e);

	*shape = found;
	return rc;
}

static int
take_groups(void *arg, void *shape, struct error *e)
{
	struct dragonfly *d = arg;

	if (!groups_fit(shape, &d->links, &d->place))
		return error_set(e, ERR_REFUSED, "the switches form no dragonfly: there are links "
				 "between spines of one group");
	d->groups = groups_ref(shape);
	return 0;
}

static void
place_switches(struct dragonfly *d)
{
	uint32_t n = d->links.n;

	d->group = mem_array(n + 1, sizeof(*d->group));
	d->rank = mem_array(n + 1, sizeof(*d->rank));
	d->spine = mem_array(n + 1, sizeof(*d->spine));
	for (uint32_t sw = 0; sw < n; sw++) {
		d->group[sw] = d->groups->group[d->place[sw]];
		d->rank[sw] = d->groups->rank[d->place[sw]];
		d->spine[sw] = d->groups->spine[d->place[sw]];
	}
	d->kind = mem_array(d->links.len + 1, 1);
	for (uint32_t i = 0; i < d->links.len; i++) {
		uint32_t from = d->links.from[i];

		d->kind[i] = d->group[from] != d->group[d->links.to[i]] ? KIND_GLOBAL :
			     d->spine[from] ? KIND_DOWN : KIND_LOCAL;
	}
}

static void
list_exits(struct dragonfly *d)
{
	const struct links *l = &d->links;
	uint32_t g = d->groups->ngroups;
	uint32_t *fill = mem_array((size_t)g * g + 1, sizeof(*fill));

	d->exit_first = mem_array((size_t)g * g + 2, sizeof(*d->exit_first));
	d->exit = mem_array(l->len + 1, sizeof(*d->exit));
	for (uint32_t i = 0; i < l->len; i++)
		if (d->kind[i] == KIND_GLOBAL)
			d->exit_first[d->group[l->from[i]] * g + d->group[l->to[i]] + 1]++;
	for (uint32_t i = 0; i < g * g; i++) {
		d->exit_first[i + 1] += d->exit_first[i];
		fill[i] = d->exit_first[i];
	}
	for (uint32_t i = 0; i < l->len; i++)
		if (d->kind[i] == KIND_GLOBAL)
			d->exit[fill[d->group[l->from[i]] * g + d->group[l->to[i]]]++] = i;
	mem_free(fill);
}

/* ---- Ways ---- */

static bool
passes(const struct dragonfly *d, uint32_t sw, uint32_t home)
{
	return sw == home || !d->hops.apart[sw];
}

/* Within a group: the link itself; in a dragonfly+ over one of the switches of the other kind,
 * which one by both ends. */
static uint32_t
local_link(const struct dragonfly *d, uint32_t sw, uint32_t home, unsigned variant)
{
	const struct links *l = &d->links;
	uint32_t link = links_between(l, sw, home), len = l->first[sw + 1] - l->first[sw];
	uint32_t start = d->rank[home] + variant;

	if (link != LINKS_NONE || !d->groups->plus)
		return link;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t k = l->first[sw] + (start + i) % len, via = l->to[k];

		if (d->kind[k] != KIND_GLOBAL && passes(d, via, home) &&
		    !(d->spine[home] && d->rank[via] == STARTS) &&
		    links_between(l, via, home) != LINKS_NONE)
			return k;
	}
	return LINKS_NONE;
}

/* Is the far end of a global link home, or does it know the rest of the way? */
static bool
lands(const struct dragonfly *d, uint32_t exit, uint32_t home)
{
	uint32_t sw = d->links.to[exit];

	return sw == home || (passes(d, sw, home) &&
			      local_link(d, sw, home, 0) != LINKS_NONE);
}

/* The global link that a switch of this group has for home; LINKS_NONE: it has none. */
static uint32_t
own_exit(const struct dragonfly *d, uint32_t sw, uint32_t home, unsigned variant)
{
	uint32_t pair = d->group[sw] * d->groups->ngroups + d->group[home];
	uint32_t first = d->exit_first[pair], end = d->exit_first[pair + 1], len;

	while (first < end && d->links.from[d->exit[first]] != sw)
		first++;
	for (len = 0; first + len < end && d->links.from[d->exit[first + len]] == sw; len++)
		;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t exit = d->exit[first + (d->rank[home] + variant + i) % len];

		if (lands(d, exit, home))
			return exit;
	}
	return LINKS_NONE;
}

/* A spine has no neighbour in its group that has a global link: over the leaf for that. */
static uint32_t
link_to_start(const struct dragonfly *d, uint32_t sw)
{
	const struct links *l = &d->links;

	for (uint32_t k = l->first[sw]; k < l->first[sw + 1]; k++)
		if (d->kind[k] == KIND_DOWN && d->rank[l->to[k]] == STARTS &&
		    !d->hops.apart[l->to[k]])
			return k;
	return LINKS_NONE;
}

/* To another group: by a global link of one's own, or next to a switch that has one. */
static uint32_t
global_link(const struct dragonfly *d, uint32_t sw, uint32_t home, unsigned variant)
{
	uint32_t pair = d->group[sw] * d->groups->ngroups + d->group[home];
	uint32_t first = d->exit_first[pair], len = d->exit_first[pair + 1] - first;
	uint32_t own = own_exit(d, sw, home, variant);

	if (own != LINKS_NONE)
		return own;
	if (d->spine[sw])
		return link_to_start(d, sw);
	for (uint32_t i = 0; i < len; i++) {
		uint32_t k = (d->rank[sw] + d->rank[home] + variant + i) % len;
		uint32_t exit = d->exit[first + k], via = d->links.from[exit], link;

		if (via == sw || !passes(d, via, home) || !lands(d, exit, home))
			continue;
		link = links_between(&d->links, sw, via);
		if (link != LINKS_NONE && own_exit(d, via, home, variant) != LINKS_NONE)
			return link;
	}
	return LINKS_NONE;
}

static uint32_t
rule_link(const void *arg, uint32_t sw, uint32_t home, unsigned variant)
{
	const struct dragonfly *d = arg;

	return d->group[sw] == d->group[home] ? local_link(d, sw, home, variant) :
						global_link(d, sw, home, variant);
}

/* ---- Lanes ---- */

static unsigned
lane_of_turn(unsigned lanes, enum turn turn)
{
	return turn < lanes ? turn : lanes - 1;
}

static unsigned
dragonfly_lane(unsigned lanes, unsigned in, unsigned out)
{
	if (in == KIND_GLOBAL && out == KIND_GLOBAL)
		return lane_of_turn(lanes, TURN_GLOBAL);
	if (in == KIND_LOCAL && out == KIND_LOCAL)
		return lane_of_turn(lanes, TURN_LOCAL);
	return lane_of_turn(lanes, in == KIND_GLOBAL ? TURN_AFTER : TURN_NONE);
}

static unsigned
plus_lane(unsigned lanes, unsigned in, unsigned out)
{
	if ((in == KIND_GLOBAL && out == KIND_GLOBAL) || (in == HOPS_START && out == KIND_DOWN))
		return lane_of_turn(lanes, TURN_GLOBAL - 1);
	return lane_of_turn(lanes, in == KIND_DOWN && out == KIND_LOCAL ? TURN_LOCAL - 1 :
				   TURN_NONE);
}

static bool
rule_waits(const void *arg, uint32_t in, unsigned in_lane, uint32_t out, unsigned out_lane)
{
	const struct dragonfly *d = arg;
	unsigned a = d->kind[in], b = d->kind[out];

	if (!d->groups->plus)
		return (a == KIND_LOCAL && b == KIND_GLOBAL && !in_lane && !out_lane) ||
		       (a == KIND_GLOBAL && b == KIND_LOCAL && !in_lane && out_lane == 1);
	if (a == KIND_DOWN && b == KIND_LOCAL)
		return out_lane == 1;
	if (a == KIND_LOCAL && b != KIND_LOCAL)
		return in_lane < 2 && !out_lane;
	return !in_lane && !out_lane && (a == KIND_LOCAL || b == KIND_DOWN);
}

/* ---- The engine ---- */

/* As many variants as there are hosts on a leaf, at most: more make no difference. */
static unsigned
count_variants(const struct dragonfly *d)
{
	const struct plan_lids *l = d->in->lids;
	uint32_t *count = mem_array(d->links.n + 1, sizeof(*count)), most = 1;

	for (uint32_t lid = 1; d->groups->plus && lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE && ++count[l->dest[lid].sw] > most)
			most = count[l->dest[lid].sw];
	mem_free(count);
	return most;
}

static void
say(const struct dragonfly *d, struct engine_output *out)
{
	struct shape s = { .kind = SHAPE_GROUPS };
	char text[GROUPS_TEXT_SIZE];

	shape_lost_groups(d->groups, d->place, &d->links, &s);
	hops_say(&d->hops, groups_text(text, d->groups), s.lost, out);
}

static void
dragonfly_free(struct dragonfly *d)
{
	hops_free(&d->hops);
	groups_unref(d->groups);
	mem_free(d->place);
	mem_free(d->group);
	mem_free(d->rank);
	mem_free(d->spine);
	mem_free(d->kind);
	mem_free(d->exit_first);
	mem_free(d->exit);
	links_free(&d->links);
}

static int
dragonfly_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct dragonfly d = { .in = in };
	struct hops_rule rule = {
		.link = rule_link, .waits = rule_waits, .arg = &d,
		.broken = true, .variants = 1,
	};
	const struct hops_shape shape = {
		.owner = &engine_dragonfly, .find = find_groups, .take = take_groups,
		.unref = groups_unref, .arg = &d,
	};
	int rc;

	links_init(&d.links, in->fabric);
	hops_init(&d.hops, in, &d.links, &rule);
	rc = hops_take_shape(&shape, in, &d.links, e);
	if (!rc) {
		place_switches(&d);
		list_exits(&d);
		d.hops.rule.kind = d.kind;
		d.hops.rule.kind_lane = d.groups->plus ? plus_lane : dragonfly_lane;
		d.hops.rule.lanes = hops_vls(in, d.groups->plus ? 3 : 4);
		d.hops.rule.variants = count_variants(&d);
		rc = hops_find_detours(&d.hops, e);
	}
	if (!rc) {
		hops_fill(&d.hops, out);
		say(&d, out);
		out->memo = hops_memo(&engine_dragonfly, groups_ref(d.groups), groups_unref);
		out->lanes = hops_lanes(&d.hops);
	}
	dragonfly_free(&d);
	return rc;
}

const struct engine engine_dragonfly = {
	.name = "dragonfly",
	.help = "shortest ways of a dragonfly or dragonfly+, over one global link at most, on "
		"lanes by the ports",
	.topologies = "dragonfly, dragonfly+",
	.deadlock_free = true,
	.route = dragonfly_route,
	.alternatives = alternatives_ways,
	.longer = dragonfly_longer,
};
