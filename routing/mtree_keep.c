/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of multicast LIDs that switches hold, whoever made them: whether one is a tree, all of it
 * is needed, and it leads to the members that there are and to nobody else. Such a one need not be
 * written again by who takes over.
 */
#include "routing/mtree.h"

#include <string.h>
#include "sm/base/mem.h"

struct held {
	const struct fabric *f;		/* borrowed */
	const struct check_tree *trees;	/* entries by ascending switches, borrowed */
	uint32_t len;			/* how many */
	uint64_t (*hosts)[4];		/* by entry: ports of receivers there */
	bool *has_member;		/* by entry: somebody there receives or sends */
	uint32_t *queue;		/* entries that were reached from the first one */
	bool *reached;			/* by entry: it is there */
	uint32_t nreached;		/* how many */
	uint32_t links;			/* ports that lead to other switches */
};

static uint32_t
entry_of(const struct held *h, uint32_t sw)
{
	uint32_t low = 0, high = h->len;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (h->trees[mid].sw < sw)
			low = mid + 1;
		else
			high = mid;
	}
	return low < h->len && h->trees[low].sw == sw ? low : FABRIC_NONE;
}

static bool
has(const uint64_t ports[4], unsigned port)
{
	return ports[port / 64] >> port % 64 & 1;
}

/* False: one is on a switch that is not in the tree. */
static bool
place_members(struct held *h, const struct mtree_member *members, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint32_t at = entry_of(h, members[i].sw);

		if (at == FABRIC_NONE)
			return false;
		h->has_member[at] = true;
		if (members[i].receives)
			h->hosts[at][members[i].port / 64] |= UINT64_C(1) << members[i].port % 64;
	}
	return true;
}

static void
reach(struct held *h, uint32_t at)
{
	if (h->reached[at])
		return;
	h->reached[at] = true;
	h->queue[h->nreached++] = at;
}

/* A port of an entry: false: it leads neither to a member nor on in the tree. */
static bool
take_port(struct held *h, uint32_t at, unsigned port, unsigned *links)
{
	const struct fabric_node *n = fabric_switch_node(h->f, h->trees[at].sw);
	uint32_t peer = port && port <= n->nports ? h->f->ports[n->first_port + port].peer :
						    FABRIC_NONE;
	uint32_t to;

	if (!port || (peer != FABRIC_NONE &&
		      h->f->nodes[h->f->ports[peer].node].type != NODE_SWITCH))
		return has(h->hosts[at], port);
	if (peer == FABRIC_NONE)
		return false;
	to = entry_of(h, h->f->nodes[h->f->ports[peer].node].sw);
	if (to == FABRIC_NONE || !has(h->trees[to].out, h->f->ports[peer].number))
		return false;
	reach(h, to);
	++*links;
	return true;
}

static bool
has_all(const uint64_t wanted[4], const uint64_t ports[4])
{
	return !((wanted[0] & ~ports[0]) | (wanted[1] & ~ports[1]) | (wanted[2] & ~ports[2]) |
		 (wanted[3] & ~ports[3]));
}

/* An end of the tree without a member is of no use. */
static bool
take_entry(struct held *h, uint32_t at)
{
	const struct check_tree *t = &h->trees[at];
	unsigned links = 0;

	if (fabric_switch_node(h->f, t->sw)->flags & FABRIC_NODE_SILENT ||
	    !has_all(h->hosts[at], t->out))
		return false;
	for (unsigned port = 0; port < 256; port++)
		if (has(t->out, port) && !take_port(h, at, port, &links))
			return false;
	h->links += links;
	return links > 1 || h->has_member[at];
}

/* Every entry is reached from the first, and no more links are there than that takes. */
static bool
is_tree(struct held *h)
{
	reach(h, 0);
	for (uint32_t i = 0; i < h->nreached; i++)
		if (!take_entry(h, h->queue[i]))
			return false;
	return h->nreached == h->len && h->links == 2 * (h->len - 1);
}

bool
mtree_serves(const struct fabric *f, const struct check_tree *trees, uint32_t ntrees,
	     const struct mtree_member *members, uint32_t len)
{
	struct held h = { .f = f, .trees = trees, .len = ntrees };
	bool good;

	if (!ntrees || len < 2)
		return false;
	h.hosts = mem_array(ntrees, sizeof(*h.hosts));
	h.has_member = mem_array(ntrees, sizeof(*h.has_member));
	h.queue = mem_array(ntrees, sizeof(*h.queue));
	h.reached = mem_array(ntrees, sizeof(*h.reached));
	good = place_members(&h, members, len) && is_tree(&h);
	mem_free(h.hosts);
	mem_free(h.has_member);
	mem_free(h.queue);
	mem_free(h.reached);
	return good;
}
