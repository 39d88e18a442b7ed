/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree.h"
#include <string.h>
#include "routing/fattree_impl.h"
#include "routing/roots.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * What a run leaves for the next one, in the plan: the tree, numbers, costs, the state of links
 * and what goes another way than it should.
 * It is of use if the next snapshot has the same nodes, LIDs, classes and roots, and the same
 * cables but for some between switches that are lost or back. Silent switches do not fit in: then
 * all that is kept is that tables for what is left were asked for.
 */
static void
memo_free(struct plan_memo *m)
{
	struct fattree_memo *memo = m->state;

	if (memo->t)
		fattree_spill_free(memo->spill, memo->t->n);
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
any_flagged(const struct fabric *f)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->flags & FABRIC_NODE_FIXED)
			return true;
	return false;
}

static bool
any_fixed(const struct engine_input *in)
{
	for (uint32_t sw = 0; in->fixed && sw < in->fabric->nswitches; sw++)
		if (in->fixed[sw])
			return true;
	return any_flagged(in->fabric);
}

struct plan_memo *
fattree_memo_make(struct fattree *ft)
{
	const struct engine_options *o = ft->in->options;
	bool apt = !ft->no_tree && !any_fixed(ft->in);
	struct fattree_memo *memo;
	struct plan_memo *m;

	if (!apt && !ft->full)
		return NULL;
	m = mem_zalloc(sizeof(*m));
	memo = mem_zalloc(sizeof(*memo));
	*m = (struct plan_memo){
		.refs = 1, .owner = &engine_fattree, .free = memo_free, .state = memo,
	};
	memo->full = ft->full;
	if (!apt)
		return m;
	memo->t = tree_ref(ft->t);
	memo->numbers = tree_numbers_ref(ft->numbers);
	memo->nominal = tree_costs_ref(ft->nominal);
	memo->live = tree_costs_ref(ft->live);
	memo->s = ft->s;
	ft->s = (struct tree_state){ 0 };
	memo->spill = ft->spill;
	ft->spill = NULL;
	memo->apart = ft->apart;
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

/* Cables of nodes that are gone. */
static bool
same_lost(const struct fabric *a, const struct fabric *b)
{
	if (a->nlost != b->nlost)
		return false;
	for (uint32_t i = 0; i < a->nlost; i++)
		for (unsigned end = 0; end < 2; end++)
			if (a->lost[i].guid[end] != b->lost[i].guid[end] ||
			    a->lost[i].number[end] != b->lost[i].number[end] ||
			    a->lost[i].type[end] != b->lost[i].type[end])
				return false;
	return true;
}

static bool
same_nodes(const struct fabric *a, const struct fabric *b)
{
	if (a->nnodes != b->nnodes || a->nports != b->nports || a->nswitches != b->nswitches ||
	    !same_lost(a, b))
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

enum port_change {
	PORT_SAME,	/* nothing that matters */
	PORT_LINK,	/* its link to another switch was lost, is back, or has another rate */
	PORT_OTHER,	/* something else */
};

static enum port_change
compare_port(const struct fabric *a, const struct fabric *b, uint32_t i)
{
	const struct fabric_port *was = &a->ports[i], *is = &b->ports[i];
	uint32_t peer = was->peer != FABRIC_NONE ? was->peer : is->peer;
	struct far x, y;

	if (was->peer == is->peer && peer != FABRIC_NONE)
		return was->rate_mbps == is->rate_mbps || !between_switches(b, i, peer) ?
			PORT_SAME : PORT_LINK;
	x = far_end(a, was);
	y = far_end(b, is);
	if (x.guid != y.guid || x.number != y.number)
		return PORT_OTHER;
	if (peer == FABRIC_NONE)
		return PORT_SAME;
	return between_switches(b, i, peer) ? PORT_LINK : PORT_OTHER;
}

#define GRAIN 8192u	/* ports that a thread compares together */

struct comparison {
	const struct fabric *a;		/* then */
	const struct fabric *b;		/* now */
	uint32_t *links;		/* by GRAIN ports: how many links changed */
	bool other;			/* atomic: something else did */
};

static void
compare_ports(void *arg, unsigned thread, size_t first, size_t end)
{
	struct comparison *c = arg;
	uint32_t links = 0;
	bool other = false;

	(void)thread;
	for (size_t i = first; i < end; i++) {
		const struct fabric_port *was = &c->a->ports[i], *is = &c->b->ports[i];
		enum port_change change;

		/* Nearly all of them. */
		if (was->peer == is->peer && was->peer != FABRIC_NONE &&
		    was->rate_mbps == is->rate_mbps)
			continue;
		change = compare_port(c->a, c->b, (uint32_t)i);
		links += change == PORT_LINK;
		other |= change == PORT_OTHER;
	}
	c->links[first / GRAIN] = links;
	if (other)
		__atomic_store_n(&c->other, true, __ATOMIC_RELAXED);
}

/* Lists the links that changed; false if something else did. */
static bool
find_changes(const struct fabric *a, const struct fabric *b, unsigned threads,
	     struct fattree_changes *changes)
{
	struct comparison c = { .a = a, .b = b };
	uint32_t len = 0;

	c.links = mem_array(b->nports / GRAIN + 1, sizeof(*c.links));
	parallel_run(threads, b->nports, GRAIN, compare_ports, &c);
	for (uint32_t i = 0; i <= b->nports / GRAIN; i++)
		len += c.links[i];
	changes->port = mem_array(len, sizeof(*changes->port));
	for (uint32_t i = 0; i < b->nports && !c.other; i++) {
		if (!c.links[i / GRAIN])
			i += GRAIN - 1 - i % GRAIN;
		else if (compare_port(a, b, i) == PORT_LINK)
			changes->port[changes->len++] = i;
	}
	mem_free(c.links);
	return !c.other;
}

bool
fattree_memo_fits(const struct engine_input *in, struct fattree_changes *c)
{
	const struct fattree_memo *memo = fattree_memo_of(in);
	const struct engine_options *o = in->options;
	const uint8_t *class = o ? o->node_class : NULL;

	*c = (struct fattree_changes){ 0 };
	if (!memo || !memo->t || any_fixed(in) || roots_changed(in) ||
	    !same_lids(in->previous->lids, in->lids) ||
	    !same_nodes(in->previous->fabric, in->fabric) || !class != !memo->node_class ||
	    (class && memcmp(class, memo->node_class, in->fabric->nnodes) != 0))
		return false;
	return find_changes(in->previous->fabric, in->fabric, o ? o->threads : 0, c);
}
