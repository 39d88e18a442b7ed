/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The level of service of a path, and of a multicast group. Path records ask for it once for each
 * pair, so that most rules are passed by after a comparison or two: what is said of the question
 * itself comes first, then bits of its ports, then partitions that these are members of.
 */
#include "sm/fabric/levels.h"

#include "sm/base/mem.h"
#include "sm/fabric/plan.h"

struct plan_levels *
plan_levels_ref(struct plan_levels *l)
{
	if (l)
		__atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void
plan_levels_unref(struct plan_levels *l)
{
	if (!l || __atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		return;
	l->drop(l->conf);
	region_free(l->region);
}

static bool
in_ranges(const struct level_ranges *r, bool said, uint64_t value)
{
	for (uint32_t i = 0; said && i < r->len; i++)
		if (value >= r->list[i].from && value <= r->list[i].to)
			return true;
	return !r->len;
}

static const struct level_partition *
partition_of(const struct plan_levels *l, uint16_t pkey)
{
	uint32_t low = 0, high = l->npartitions;

	while (low < high) {
		uint32_t at = low + (high - low) / 2;

		if (l->partitions[at].pkey < pkey)
			low = at + 1;
		else
			high = at;
	}
	return low < l->npartitions && l->partitions[low].pkey == pkey ? &l->partitions[low] : NULL;
}

static bool
among_keys(const struct level_keys *k, uint16_t pkey)
{
	for (uint32_t i = 0; i < k->len; i++)
		if (k->list[i] == pkey)
			return true;
	return !k->said;
}

static bool
is_member(const struct plan *p, const struct level_keys *k, uint32_t port)
{
	for (uint32_t i = 0; i < k->len; i++)
		if (p->pkeys ? plan_pkeys_find(p->pkeys, port, k->list[i]) != 0 :
			       k->list[i] == PKEY_DEFAULT)
			return true;
	return false;
}

static bool
among_ports(const struct plan *p, const struct level_ports *m, uint32_t port)
{
	return !m->said || m->bits[port / 64] >> port % 64 & 1 || is_member(p, &m->members, port);
}

static bool
owns_guid(const struct fabric *f, uint32_t port, uint64_t guid)
{
	return f->ports[port].guid == guid || f->nodes[f->ports[port].node].guid == guid;
}

static bool
is_application(const struct plan *p, const struct level_rule *r, const struct level_query *q,
	       uint16_t pkey)
{
	const struct level_partition *at;

	switch ((enum level_application)r->application) {
	case LEVEL_IPOIB:
		at = partition_of(p->levels, pkey);
		return !q->has_service && at && at->ipoib;
	case LEVEL_SRP:
		return q->has_service && (owns_guid(p->fabric, q->dst, q->service_id) ||
					  owns_guid(p->fabric, q->src, q->service_id));
	case LEVEL_SERVICE:
		return in_ranges(&r->applied, q->has_service, q->service_id);
	case LEVEL_ANY:
		break;
	}
	return true;
}

static bool
fits(const struct plan *p, const struct level_rule *r, const struct level_query *q, uint16_t pkey)
{
	return in_ranges(&r->services, q->has_service, q->service_id) &&
	       in_ranges(&r->classes, q->has_class, q->class) &&
	       in_ranges(&r->pkeys, pkey != 0, pkey) && among_keys(&r->partitions, pkey) &&
	       among_ports(p, &r->source, q->src) && among_ports(p, &r->destination, q->dst) &&
	       (among_ports(p, &r->either, q->src) || among_ports(p, &r->either, q->dst)) &&
	       is_application(p, r, q, pkey);
}

/* No rule is for it: by its partition, or the first. */
static struct level_found
without_rule(const struct plan_levels *l, uint16_t pkey)
{
	const struct level_partition *at = l->npartitions ? partition_of(l, pkey) : NULL;

	if (at && at->level != SLS_FREE)
		return (struct level_found){ at->level, LEVEL_BY_PARTITION, 0 };
	return (struct level_found){ .why = LEVEL_FIRST };
}

struct level_found
plan_level(const struct plan *p, const struct level_query *q)
{
	const struct plan_levels *l = p->levels;
	uint16_t pkey = q->pkey & PKEY_NUMBER;

	if (!l || q->src >= l->nports || q->dst >= l->nports)
		return (struct level_found){ .why = LEVEL_FIRST };
	for (uint32_t i = 0; i < l->nrules; i++)
		if (fits(p, &l->rules[i], q, pkey))
			return (struct level_found){ l->rules[i].level, LEVEL_BY_RULE, i };
	return without_rule(l, pkey);
}

static bool
fits_group(const struct level_rule *r, uint16_t pkey, bool ipoib)
{
	return !r->services.len && !r->classes.len && !r->source.said && !r->destination.said &&
	       !r->either.said && in_ranges(&r->pkeys, true, pkey) &&
	       among_keys(&r->partitions, pkey) &&
	       (r->application == LEVEL_ANY || (r->application == LEVEL_IPOIB && ipoib));
}

struct level_found
plan_group_level(const struct plan *p, uint16_t pkey, bool ipoib)
{
	const struct plan_levels *l = p->levels;

	pkey &= PKEY_NUMBER;
	if (!l)
		return (struct level_found){ .why = LEVEL_FIRST };
	for (uint32_t i = 0; i < l->nrules; i++)
		if (fits_group(&l->rules[i], pkey, ipoib))
			return (struct level_found){ l->rules[i].level, LEVEL_BY_RULE, i };
	return without_rule(l, pkey);
}

uint8_t
plan_group_sl(const struct plan *p, unsigned level)
{
	const struct plan_sls *s = p->sls;

	return s ? s->sl[s->place[level < s->asked ? level : 0] * s->classes] : 0;
}
