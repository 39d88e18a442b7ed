/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree.h"
#include <string.h>
#include "routing/fattree_impl.h"
#include "routing/roots.h"
#include "sm/base/mem.h"

/*
 * What a run leaves for the next one, in the plan: the tree, numbers, costs and the state of links.
 * It is of use if the next snapshot has the same nodes, LIDs, classes and roots, and the same
 * cables but for some between switches that are lost or back. Silent switches do not fit in.
 */
static void
memo_free(struct plan_memo *m)
{
	struct fattree_memo *memo = m->state;

	tree_unref(memo->t);
	tree_numbers_unref(memo->numbers);
	tree_costs_unref(memo->nominal);
	tree_costs_unref(memo->live);
	tree_state_free(&memo->s);
	mem_free(memo->node_class);
	mem_free(memo);
	mem_free(m);
}

static bool
any_silent(const struct fabric *f)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->flags & FABRIC_NODE_SILENT)
			return true;
	return false;
}

static bool
any_fixed(const struct engine_input *in)
{
	for (uint32_t sw = 0; in->fixed && sw < in->fabric->nswitches; sw++)
		if (in->fixed[sw])
			return true;
	return any_silent(in->fabric);
}

struct plan_memo *
fattree_memo_make(struct fattree *ft)
{
	const struct engine_options *o = ft->in->options;
	struct fattree_memo *memo;
	struct plan_memo *m;

	if (ft->no_tree || any_fixed(ft->in))
		return NULL;
	m = mem_zalloc(sizeof(*m));
	memo = mem_zalloc(sizeof(*memo));
	*m = (struct plan_memo){
		.refs = 1, .owner = &engine_fattree, .free = memo_free, .state = memo,
	};
	memo->t = tree_ref(ft->t);
	memo->numbers = tree_numbers_ref(ft->numbers);
	memo->nominal = tree_costs_ref(ft->nominal);
	memo->live = tree_costs_ref(ft->live);
	memo->s = ft->s;
	ft->s = (struct tree_state){ 0 };
	memo->full = ft->full;
	memcpy(memo->roots, ft->roots, sizeof(memo->roots));
	if (o && o->node_class) {
		memo->node_class = mem_array(ft->in->fabric->nnodes, 1);
		memcpy(memo->node_class, o->node_class, ft->in->fabric->nnodes);
	}
	return m;
}

const struct fattree_memo *
fattree_memo_of(const struct engine_input *in)
{
	const struct plan_memo *m = in->previous ? in->previous->memo : NULL;

	return m && m->owner == &engine_fattree ? m->state : NULL;
}

static bool
same_lids(const struct plan_lids *a, const struct plan_lids *b)
{
	if (a == b)
		return true;
	return a->top == b->top && a->nports == b->nports &&
		memcmp(a->base, b->base, a->nports * sizeof(*a->base)) == 0 &&
		memcmp(a->lmc, b->lmc, a->nports) == 0;
}

static bool
same_nodes(const struct fabric *a, const struct fabric *b)
{
	if (a->nnodes != b->nnodes || a->nports != b->nports || a->nswitches != b->nswitches)
		return false;
	for (uint32_t n = 0; n < a->nnodes; n++) {
		const struct fabric_node *x = &a->nodes[n], *y = &b->nodes[n];

		if (x->guid != y->guid || x->system_guid != y->system_guid ||
		    x->type != y->type || x->nports != y->nports)
			return false;
	}
	return true;
}

/* What hangs, or hung, on a port. */
struct far {
	uint64_t guid;		/* node GUID, 0: nothing */
	uint8_t number;		/* port number there */
};

static struct far
far_end(const struct fabric *f, const struct fabric_port *p)
{
	if (p->peer == FABRIC_NONE)
		return (struct far){ p->lost_peer, p->lost_peer ? p->lost_number : 0 };
	return (struct far){ f->nodes[f->ports[p->peer].node].guid, f->ports[p->peer].number };
}

static bool
between_switches(const struct fabric *f, uint32_t port, uint32_t peer)
{
	return f->nodes[f->ports[port].node].sw != FABRIC_NONE &&
		f->nodes[f->ports[peer].node].sw != FABRIC_NONE;
}

/* A port of both snapshots: appends to `c` if its link changed; false if it is another port now. */
static bool
compare_port(const struct fabric *a, const struct fabric *b, uint32_t i, struct fattree_changes *c)
{
	const struct fabric_port *was = &a->ports[i], *is = &b->ports[i];
	uint32_t peer = was->peer != FABRIC_NONE ? was->peer : is->peer;
	struct far x, y;

	if (was->peer == is->peer && peer != FABRIC_NONE) {
		if (was->rate_mbps == is->rate_mbps || !between_switches(b, i, peer))
			return true;
	} else {
		x = far_end(a, was);
		y = far_end(b, is);
		if (x.guid != y.guid || x.number != y.number)
			return false;
		if (peer == FABRIC_NONE)
			return true;
		if (!between_switches(b, i, peer))
			return false;
	}
	c->port = mem_realloc(c->port, c->len + 1, sizeof(*c->port));
	c->port[c->len++] = i;
	return true;
}

bool
fattree_memo_fits(const struct engine_input *in, struct fattree_changes *c)
{
	const struct fattree_memo *memo = fattree_memo_of(in);
	const struct engine_options *o = in->options;
	const struct fabric *a, *b = in->fabric;
	const uint8_t *class = o ? o->node_class : NULL;

	*c = (struct fattree_changes){ 0 };
	if (!memo || any_fixed(in) || roots_changed(in) || !same_lids(in->previous->lids, in->lids))
		return false;
	a = in->previous->fabric;
	if (!same_nodes(a, b) || !class != !memo->node_class ||
	    (class && memcmp(class, memo->node_class, b->nnodes) != 0))
		return false;
	for (uint32_t i = 0; i < b->nports; i++)
		if (!compare_port(a, b, i, c))
			return false;
	return true;
}
