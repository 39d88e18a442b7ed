/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/plan.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * Plans and their sections. Each section is one reference-counted block that is filled by its
 * maker and constant from then on; plans share sections by holding references. A plan holds one
 * reference of its snapshot, so indices in its sections stay meaningful as long as it lives.
 *
 * LIDs: IBA volume 1, 4.1.3 (ranges, LMC); tables: 14.2.5.10 (LinearForwardingTable).
 */

static void
ref(uint32_t *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

/* True if that was the last reference. */
static bool
unref(uint32_t *refs)
{
	return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

struct plan_lids *
plan_lids_new(const struct fabric *f)
{
	struct plan_lids *l = mem_zalloc(sizeof(*l));

	l->refs = 1;
	l->nports = f->nports;
	l->base = mem_array(f->nports, sizeof(*l->base));
	l->lmc = mem_array(f->nports, sizeof(*l->lmc));
	l->dest = mem_array(1, sizeof(*l->dest));
	l->dest[0] = (struct plan_dest){ .port = FABRIC_NONE, .sw = FABRIC_NONE };
	return l;
}

/* The last LID of a port, 0 if it has none that is legal. */
static uint32_t
last_lid(const struct plan_lids *l, uint32_t port)
{
	uint32_t last = l->base[port] + (1u << (l->lmc[port] & 7)) - 1;

	return l->base[port] && last <= LID_UNICAST_MAX ? last : 0;
}

static struct plan_dest
dest_of(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];
	struct plan_dest d = { .port = port, .sw = f->nodes[p->node].sw };

	if (d.sw == FABRIC_NONE && p->peer != FABRIC_NONE) {
		d.sw = f->nodes[f->ports[p->peer].node].sw;
		d.out = d.sw == FABRIC_NONE ? 0 : f->ports[p->peer].number;
	}
	return d;
}

void
plan_lids_index(struct plan_lids *l, const struct fabric *f)
{
	l->top = 0;
	for (uint32_t i = 0; i < l->nports; i++)
		if (last_lid(l, i) > l->top)
			l->top = (uint16_t)last_lid(l, i);
	mem_free(l->dest);
	l->dest = mem_array(l->top + 1u, sizeof(*l->dest));
	for (uint32_t lid = 0; lid <= l->top; lid++)
		l->dest[lid] = (struct plan_dest){ .port = FABRIC_NONE, .sw = FABRIC_NONE };
	for (uint32_t i = 0; i < l->nports; i++) {
		uint32_t last = last_lid(l, i);
		struct plan_dest d;

		if (!last)
			continue;
		d = dest_of(f, i);
		for (uint32_t lid = l->base[i]; lid <= last; lid++, d.offset++)
			if (l->dest[lid].port == FABRIC_NONE)
				l->dest[lid] = d;
	}
}

/* Only a CA port, a router port or port 0 of a switch has a LID of its own. */
static bool
may_have_lid(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	return (f->nodes[p->node].sw != FABRIC_NONE) == (p->number == 0);
}

struct plan_lids *
plan_lids_from_fabric(const struct fabric *f)
{
	struct plan_lids *l = plan_lids_new(f);
	uint8_t *claims = mem_array(LID_UNICAST_MAX + 1u, 1);

	for (uint32_t i = 0; i < f->nports; i++) {
		if (!may_have_lid(f, i))
			continue;
		l->base[i] = f->ports[i].lid;
		l->lmc[i] = f->ports[i].lmc & 7;
		for (uint32_t lid = l->base[i]; lid <= last_lid(l, i); lid++)
			claims[lid] = (uint8_t)(claims[lid] + (claims[lid] < 2));
	}
	for (uint32_t i = 0; i < f->nports; i++) {
		uint32_t last = last_lid(l, i);
		bool ok = last != 0;

		for (uint32_t lid = l->base[i]; ok && lid <= last; lid++)
			ok = claims[lid] == 1;
		if (!ok)
			l->base[i] = 0;
	}
	mem_free(claims);
	plan_lids_index(l, f);
	return l;
}

struct plan_lids *
plan_lids_ref(struct plan_lids *l)
{
	if (l)
		ref(&l->refs);
	return l;
}

void
plan_lids_unref(struct plan_lids *l)
{
	if (!l || !unref(&l->refs))
		return;
	mem_free(l->base);
	mem_free(l->lmc);
	mem_free(l->dest);
	mem_free(l);
}

struct plan_lanes *
plan_lanes_ref(struct plan_lanes *l)
{
	if (l)
		ref(&l->refs);
	return l;
}

void
plan_lanes_unref(struct plan_lanes *l)
{
	if (l && unref(&l->refs))
		l->free(l);
}

struct plan_roots *
plan_roots_ref(struct plan_roots *r)
{
	if (r)
		ref(&r->refs);
	return r;
}

void
plan_roots_unref(struct plan_roots *r)
{
	if (r && unref(&r->refs))
		mem_free(r);
}

struct plan_trees *
plan_trees_new(uint32_t ntrees, uint32_t nswitches)
{
	struct plan_trees *t = mem_zalloc(sizeof(*t));
	size_t len = (size_t)ntrees * nswitches;

	*t = (struct plan_trees){ .refs = 1, .ntrees = ntrees, .nswitches = nswitches };
	t->parent = mem_array(len, sizeof(*t->parent));
	t->root = mem_array(len, sizeof(*t->root));
	for (size_t i = 0; i < len; i++)
		t->parent[i] = t->root[i] = FABRIC_NONE;
	return t;
}

struct plan_trees *
plan_trees_ref(struct plan_trees *t)
{
	if (t)
		ref(&t->refs);
	return t;
}

void
plan_trees_unref(struct plan_trees *t)
{
	if (!t || !unref(&t->refs))
		return;
	mem_free(t->parent);
	mem_free(t->root);
	mem_free(t);
}

struct plan_memo *
plan_memo_ref(struct plan_memo *m)
{
	if (m)
		ref(&m->refs);
	return m;
}

void
plan_memo_unref(struct plan_memo *m)
{
	if (m && unref(&m->refs))
		m->free(m);
}

struct plan_proof *
plan_proof_new(uint16_t top)
{
	struct plan_proof *p = mem_zalloc(sizeof(*p) + (top + 1u) * sizeof(p->lid[0]));

	p->refs = 1;
	p->top = top;
	return p;
}

struct plan_proof *
plan_proof_ref(struct plan_proof *p)
{
	if (p)
		ref(&p->refs);
	return p;
}

void
plan_proof_unref(struct plan_proof *p)
{
	if (p && unref(&p->refs))
		mem_free(p);
}

struct plan *
plan_new(const struct fabric *f)
{
	struct plan *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->fabric = fabric_ref(f);
	p->rows = mem_array(f->nswitches, sizeof(struct plan_row *));
	p->fixed = mem_array(f->nswitches, sizeof(*p->fixed));
	return p;
}

static bool
same_shape(const struct fabric *a, const struct fabric *b)
{
	if (a->nnodes != b->nnodes || a->nports != b->nports || a->nswitches != b->nswitches ||
	    a->nedges != b->nedges || a->nlinks != b->nlinks || a->sm_port != b->sm_port)
		return false;
	for (uint32_t n = 0; n < a->nnodes; n++)
		if (a->nodes[n].guid != b->nodes[n].guid)
			return false;
	for (uint32_t i = 0; i < a->nports; i++)
		if (a->ports[i].peer != b->ports[i].peer)
			return false;
	return true;
}

struct plan *
plan_on_fabric(const struct plan *p, const struct fabric *f)
{
	struct plan *plan;
	bool *fixed;

	if (!same_shape(p->fabric, f))
		return NULL;
	plan = plan_new(f);
	fixed = plan->fixed;
	memcpy(fixed, p->fixed, f->nswitches * sizeof(*fixed));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		plan->rows[sw] = plan_row_ref(p->rows[sw]);
	plan->doubtful = p->doubtful;
	plan->lids = plan_lids_ref(p->lids);
	plan->lanes = plan_lanes_ref(p->lanes);
	plan->sls = plan_sls_ref(p->sls);
	plan->adaptive = plan_adaptive_ref(p->adaptive);
	plan->offered = plan_adaptive_ref(p->offered);
	plan->trees = plan_trees_ref(p->trees);
	plan->levels = plan_levels_ref(p->levels);
	plan->pkeys = plan_pkeys_ref(p->pkeys);
	plan->roots = plan_roots_ref(p->roots);
	if (p->ranks) {
		plan->ranks = mem_array(f->nswitches, 1);
		memcpy(plan->ranks, p->ranks, f->nswitches);
	}
	memcpy(plan->engine_requested, p->engine_requested, sizeof(p->engine_requested));
	memcpy(plan->engine_running, p->engine_running, sizeof(p->engine_running));
	memcpy(plan->reason, p->reason, sizeof(p->reason));
	memcpy(plan->note, p->note, sizeof(p->note));
	plan->check = p->check;
	plan->memo = plan_memo_ref(p->memo);
	plan->proof = plan_proof_ref(p->proof);
	plan->route_us = p->route_us;
	plan->check_us = p->check_us;
	return plan;
}

struct plan *
plan_with_pkeys(const struct plan *p, struct plan_pkeys *pkeys)
{
	struct plan *plan = plan_on_fabric(p, p->fabric);

	plan_pkeys_unref(plan->pkeys);
	plan->pkeys = plan_pkeys_ref(pkeys);
	return plan;
}

struct plan *
plan_ref(const struct plan *p)
{
	struct plan *plan = (struct plan *)(uintptr_t)p;

	ref(&plan->refs);
	return plan;
}

void
plan_unref(const struct plan *p)
{
	struct plan *plan = (struct plan *)(uintptr_t)p;

	if (!plan || !unref(&plan->refs))
		return;
	for (uint32_t sw = 0; sw < plan->fabric->nswitches; sw++)
		plan_row_unref(plan->rows[sw]);
	plan_lids_unref(plan->lids);
	plan_lanes_unref(plan->lanes);
	plan_sls_unref(plan->sls);
	plan_adaptive_unref(plan->adaptive);
	plan_adaptive_unref(plan->offered);
	plan_trees_unref(plan->trees);
	plan_levels_unref(plan->levels);
	plan_pkeys_unref(plan->pkeys);
	mem_free(plan->rows);
	mem_free(plan->fixed);
	mem_free(plan->ranks);
	plan_roots_unref(plan->roots);
	plan_memo_unref(plan->memo);
	plan_proof_unref(plan->proof);
	fabric_unref(plan->fabric);
	mem_free(plan);
}
