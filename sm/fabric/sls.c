/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/sls.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"

/*
 * The tables of service levels as a section of a plan, and the same as the checker and the walk of
 * a path see them: a class there is an SL, a lane a VL.
 */
struct view {
	struct plan_sls *sls;		/* the tables */
	struct plan_lanes *engine;	/* class of a pair; NULL: there is one class */
	struct plan_lids *lids;		/* whose LID it is */
};

struct plan_sls *
plan_sls_new(const struct fabric *f)
{
	struct plan_sls *s = mem_zalloc(sizeof(*s));
	uint32_t len = 0;

	s->refs = 1;
	s->nswitches = f->nswitches;
	s->ports = mem_array(f->nswitches + 1, sizeof(*s->ports));
	s->first = mem_array(f->nswitches + 1, sizeof(*s->first));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		s->ports[sw] = fabric_switch_node(f, sw)->nports;
		s->first[sw] = len;
		len += (s->ports[sw] + 1u) * (s->ports[sw] + 1u);
	}
	s->at = mem_array(len + 1, sizeof(*s->at));
	return s;
}

struct plan_sls *
plan_sls_ref(struct plan_sls *s)
{
	if (s)
		__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
plan_sls_unref(struct plan_sls *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(s->maps);
	mem_free(s->ports);
	mem_free(s->first);
	mem_free(s->at);
	mem_free(s);
}

static bool
same_shape(const struct plan_sls *a, const struct plan_sls *b)
{
	return a->levels == b->levels && a->classes == b->classes && a->lanes == b->lanes &&
	       a->vls == b->vls && a->asked == b->asked && !strcmp(a->merged, b->merged) &&
	       !memcmp(a->vl, b->vl, sizeof(a->vl)) &&
	       !memcmp(a->place, b->place, sizeof(a->place)) &&
	       a->stale == b->stale && a->stale_proved == b->stale_proved &&
	       a->nswitches == b->nswitches && a->nmaps == b->nmaps &&
	       !memcmp(a->slot, b->slot, sizeof(a->slot)) &&
	       !memcmp(a->ports, b->ports, a->nswitches);
}

/* Both number their maps in the order in which switches have them first. */
bool
plan_sls_equal(const struct plan_sls *a, const struct plan_sls *b)
{
	uint32_t last = a->nswitches - 1, len;

	if (a == b || !same_shape(a, b) || !a->nswitches)
		return a == b || (same_shape(a, b) && !a->nswitches);
	len = a->first[last] + (a->ports[last] + 1u) * (a->ports[last] + 1u);
	return !memcmp(a->maps, b->maps, a->nmaps * sizeof(*a->maps)) &&
	       !memcmp(a->at, b->at, len * sizeof(*a->at));
}

struct sls_map
plan_sls_host_map(const struct plan_sls *s, unsigned vls)
{
	struct sls_map m;

	for (unsigned sl = 0; sl < SLS_LEN; sl++) {
		unsigned slot = s->slot[sl], vl;

		m.vl[sl] = SLS_DROP;
		if (slot == SLS_FREE && s->classes > 1)
			continue;
		vl = s->vl[slot == SLS_FREE ? 0 : slot / s->classes];
		m.vl[sl] = (uint8_t)(vl < vls ? vl : vls ? vls - 1 : 0);
	}
	return m;
}

/* ---- The view ---- */

static uint8_t
engine_class(const struct view *v, uint32_t src_sw, uint32_t dst_sw)
{
	uint8_t class = v->engine && v->engine->path_class ?
		v->engine->path_class(v->engine, src_sw, dst_sw) : 0;

	return class < v->sls->classes ? class : 0;
}

static uint8_t
view_class(const struct plan_lanes *l, uint32_t src_sw, uint32_t dst_sw)
{
	const struct view *v = l->state;

	return v->sls->sl[engine_class(v, src_sw, dst_sw)];
}

static uint32_t
view_classes(const struct plan_lanes *l, uint32_t src_sw, uint16_t dst_lid)
{
	const struct view *v = l->state;
	const struct plan_sls *s = v->sls;
	uint32_t dst_sw = v->lids->dest[dst_lid].sw, set = s->stale_proved ? s->stale : 0;
	unsigned class = dst_sw == FABRIC_NONE ? 0 : engine_class(v, src_sw, dst_sw);

	for (unsigned level = 0; level < s->levels; level++)
		set |= 1u << s->sl[level * s->classes + class];
	return set;
}

static uint8_t
view_lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t sl)
{
	const struct view *v = l->state;
	uint8_t vl = plan_sls_map(v->sls, sw, in, out)->vl[sl];

	return vl == SLS_DROP ? PLAN_LANE_DROP : vl;
}

static const struct sls_map *
view_map(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out)
{
	const struct view *v = l->state;

	return plan_sls_map(v->sls, sw, in, out);
}

static void
view_free(struct plan_lanes *l)
{
	struct view *v = l->state;

	plan_sls_unref(v->sls);
	plan_lanes_unref(v->engine);
	plan_lids_unref(v->lids);
	mem_free(v);
	mem_free(l);
}

struct plan_lanes *
plan_sls_lanes(struct plan_sls *s, struct plan_lanes *engine, struct plan_lids *lids)
{
	struct plan_lanes *l = mem_zalloc(sizeof(*l));
	struct view *v = mem_zalloc(sizeof(*v));

	*v = (struct view){ plan_sls_ref(s), plan_lanes_ref(engine), plan_lids_ref(lids) };
	*l = (struct plan_lanes){
		.refs = 1, .classes = SLS_LEN, .lanes = s->vls,
		.path_classes = view_classes, .by_switch = true, .path_class = view_class,
		.lane = view_lane, .map = view_map,
		.free = view_free, .state = v,
	};
	return l;
}
