/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/dragonfly.h"
#include <stdio.h>
#include <string.h>
#include "routing/groups.h"
#include "routing/hops.h"
#include "routing/nominal.h"
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

struct dragonfly_lanes {
	bool plus;		/* as in groups */
	unsigned lanes;		/* there are */
	uint32_t *hub;		/* by switch: place of its port 0 in kind[] */
	uint8_t *kind;		/* by port: enum kind of its link */
};

enum kind {			/* of a link, from where it is left */
	KIND_NONE,		/* to a host */
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
	struct dragonfly_lanes *lanes;	/* by ports, for the plan */
	struct hops hops;		/* ways and tables */
};

struct dragonfly_memo {
	struct groups *groups;		/* reference held */
};

/* ---- Groups ---- */

static void
memo_free(struct plan_memo *m)
{
	struct dragonfly_memo *memo = m->state;

	groups_unref(memo->groups);
	mem_free(memo);
	mem_free(m);
}

static struct plan_memo *
memo_new(struct groups *g)
{
	struct plan_memo *m = mem_zalloc(sizeof(*m));
	struct dragonfly_memo *memo = mem_zalloc(sizeof(*memo));

	memo->groups = groups_ref(g);
	*m = (struct plan_memo){
		.refs = 1, .owner = &engine_dragonfly, .free = memo_free, .state = memo,
	};
	return m;
}

/* Groups of the last plan if the fabric still fits them, else found anew, with what is known to be
 * lost put back. */
static int
choose_groups(struct dragonfly *d, struct error *e)
{
	const struct plan_memo *m = d->in->previous ? d->in->previous->memo : NULL;
	const struct fabric *whole;
	struct links links;
	int rc;

	if (m && m->owner == &engine_dragonfly) {
		struct groups *g = ((const struct dragonfly_memo *)m->state)->groups;

		if (groups_fit(g, &d->links, &d->place)) {
			d->groups = groups_ref(g);
			return 0;
		}
	}
	whole = nominal_fabric(d->in->fabric);
	links_init(&links, whole);
	rc = groups_find(&links, &d->groups, e);
	links_free(&links);
	fabric_unref(whole);
	if (!rc && groups_fit(d->groups, &d->links, &d->place))
		return 0;
	groups_unref(d->groups);
	d->groups = NULL;
	rc = groups_find(&d->links, &d->groups, e);
	if (!rc && !groups_fit(d->groups, &d->links, &d->place))
		rc = error_set(e, ERR_REFUSED, "the switches form no dragonfly: there are links "
			       "between spines of one group");
	return rc;
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

static enum turn
turn_of(bool plus, unsigned in, unsigned out)
{
	if (in == KIND_GLOBAL && out == KIND_GLOBAL)
		return TURN_GLOBAL;
	if (plus && in == KIND_NONE && out == KIND_DOWN)
		return TURN_GLOBAL;
	if (plus)
		return in == KIND_DOWN && out == KIND_LOCAL ? TURN_LOCAL : TURN_NONE;
	if (in == KIND_LOCAL && out == KIND_LOCAL)
		return TURN_LOCAL;
	return in == KIND_GLOBAL && out == KIND_LOCAL ? TURN_AFTER : TURN_NONE;
}

/* The lane of a turn, as far as there are lanes. */
static unsigned
lane_of(const struct dragonfly_lanes *l, unsigned in, unsigned out)
{
	enum turn turn = turn_of(l->plus, in, out);
	unsigned lane = turn == TURN_NONE ? 0 : l->plus ? (unsigned)turn - 1 : (unsigned)turn;

	return lane < l->lanes ? lane : l->lanes - 1;
}

static unsigned
rule_lane(const void *arg, uint32_t in, uint32_t out, unsigned class)
{
	const struct dragonfly *d = arg;

	(void)class;
	return lane_of(d->lanes, in == LINKS_NONE ? KIND_NONE : d->kind[in], d->kind[out]);
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

static uint8_t
plan_lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t from,
	  uint8_t class)
{
	const struct dragonfly_lanes *d = l->state;
	const uint8_t *kind = &d->kind[d->hub[sw]];
	/* A port's kind is that of leaving by it: who came in by it left the other end. */
	unsigned came = kind[in] == KIND_DOWN ? KIND_LOCAL :
			kind[in] == KIND_LOCAL && d->plus ? KIND_DOWN : kind[in];

	(void)from;
	(void)class;
	return (uint8_t)lane_of(d, came, kind[out]);
}

static void
lanes_free(struct dragonfly_lanes *l)
{
	if (!l)
		return;
	mem_free(l->hub);
	mem_free(l->kind);
	mem_free(l);
}

static void
plan_lanes_free(struct plan_lanes *l)
{
	lanes_free(l->state);
	mem_free(l);
}

static struct dragonfly_lanes *
lanes_new(const struct dragonfly *d, unsigned lanes)
{
	struct dragonfly_lanes *l = mem_zalloc(sizeof(*l));
	uint32_t ports = 0;

	for (uint32_t sw = 0; sw < d->links.n; sw++)
		ports += fabric_switch_node(d->links.f, sw)->nports + 1u;
	*l = (struct dragonfly_lanes){
		.plus = d->groups->plus, .lanes = lanes,
		.hub = mem_array(d->links.n + 1, sizeof(*l->hub)),
		.kind = mem_array(ports + 1, 1),
	};
	memcpy(l->hub, d->links.hub, d->links.n * sizeof(*l->hub));
	for (uint32_t i = 0; i < ports; i++)
		l->kind[i] = d->links.of[i] == LINKS_NONE ? KIND_NONE : d->kind[d->links.of[i]];
	return l;
}

static struct plan_lanes *
make_plan_lanes(struct dragonfly *d)
{
	struct plan_lanes *l;

	if (d->lanes->lanes == 1)
		return NULL;
	l = mem_zalloc(sizeof(*l));
	*l = (struct plan_lanes){
		.refs = 1, .classes = 1, .lanes = (uint8_t)d->lanes->lanes,
		.lane = plan_lane, .free = plan_lanes_free, .state = d->lanes,
	};
	d->lanes = NULL;
	return l;
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
	uint32_t missing = d->groups->n - d->links.n;
	int len = snprintf(out->note, sizeof(out->note), "dragonfly%s of %u groups, %u switches",
			   d->groups->plus ? "+" : "", d->groups->ngroups, d->groups->n);

	if (missing)
		len += snprintf(out->note + len, sizeof(out->note) - (size_t)len,
				", %u of them missing", missing);
	if (d->hops.ndetours)
		snprintf(out->note + len, sizeof(out->note) - (size_t)len,
			 ", pairs that take detours: %u", d->hops.ndetours);
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
	lanes_free(d->lanes);
	links_free(&d->links);
}

static int
dragonfly_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct dragonfly d = { .in = in };
	struct hops_rule rule = {
		.link = rule_link, .lane = rule_lane, .waits = rule_waits, .arg = &d,
		.broken = true, .variants = 1,
	};
	int rc;

	links_init(&d.links, in->fabric);
	hops_init(&d.hops, in, &d.links, &rule);
	rc = choose_groups(&d, e);
	if (!rc) {
		place_switches(&d);
		list_exits(&d);
		d.lanes = lanes_new(&d, hops_vls(in, d.groups->plus ? 3 : 4));
		d.hops.rule.lanes = d.lanes->lanes;
		d.hops.rule.variants = count_variants(&d);
		rc = hops_find_detours(&d.hops, e);
	}
	if (!rc) {
		hops_fill(&d.hops, out);
		say(&d, out);
		out->memo = memo_new(d.groups);
		out->lanes = make_plan_lanes(&d);
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
};
