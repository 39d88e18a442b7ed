/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TREE_HELP_H
#define TREE_HELP_H

#include <stdlib.h>
#include <string.h>
#include "sim/model/ar.h"
#include "sim/model/model_impl.h"

/*
 * A simulated tree brought up by hand: every link ACTIVE, LIDs 1, 2 ... for the hosts in the order
 * of the fabric's text, and tables that go up by the digits of the destination, so that shifts of
 * hosts do not meet (as a fat-tree engine does it), or by the first port up, so that they do.
 */
#define RANK_NONE 255u

/* Ports with a cable to a node of that rank. */
static inline unsigned
tree_ports(const struct model *m, const uint8_t *rank, uint32_t node, unsigned to,
	   uint8_t ports[IBNET_MAX_NODE_PORTS])
{
	const struct sim_node *n = &m->nodes[node];
	unsigned len = 0;

	for (unsigned p = 1; p <= n->nports; p++)
		if (n->ports[p].peer != IBNET_NONE && rank[n->ports[p].peer] == to)
			ports[len++] = (uint8_t)p;
	return len;
}

/* Hosts are 0, what is next to them 1, and so on. */
static inline uint8_t *
tree_ranks(const struct model *m)
{
	uint8_t *rank = malloc(m->net->nnodes), ports[IBNET_MAX_NODE_PORTS];
	bool more = true;

	for (uint32_t i = 0; i < m->net->nnodes; i++)
		rank[i] = m->nodes[i].type == NODE_CA ? 0 : RANK_NONE;
	for (unsigned r = 0; more; r++) {
		more = false;
		for (uint32_t i = 0; i < m->net->nnodes; i++)
			if (rank[i] == RANK_NONE && tree_ports(m, rank, i, r, ports)) {
				rank[i] = (uint8_t)(r + 1);
				more = true;
			}
	}
	return rank;
}

static inline void
tree_entry(struct model *m, uint32_t node, uint16_t lid, unsigned port)
{
	m->nodes[node].lft[lid] = (uint8_t)port;
}

/* The switches above a node lead down to it for this LID, and those above them. */
static inline void
tree_down(struct model *m, const uint8_t *rank, uint32_t node, uint16_t lid)
{
	uint8_t up[IBNET_MAX_NODE_PORTS];
	unsigned len = tree_ports(m, rank, node, rank[node] + 1u, up);

	for (unsigned i = 0; i < len; i++) {
		const struct sim_port *p = &m->nodes[node].ports[up[i]];

		if (m->nodes[p->peer].lft[lid] != LFT_NO_PORT)
			continue;
		tree_entry(m, p->peer, lid, p->peer_port);
		tree_down(m, rank, p->peer, lid);
	}
}

static inline void
tree_up(struct model *m, const uint8_t *rank, uint32_t node, unsigned lids, bool spread)
{
	uint8_t up[IBNET_MAX_NODE_PORTS];
	unsigned len = tree_ports(m, rank, node, rank[node] + 1u, up), div = 1;

	for (unsigned r = 1; r < rank[node]; r++)
		div *= len ? len : 1;
	for (unsigned lid = 1; len && lid <= lids; lid++)
		if (m->nodes[node].lft[lid] == LFT_NO_PORT)
			tree_entry(m, node, (uint16_t)lid,
				   up[spread ? (lid - 1) / div % len : 0]);
}

static inline void
tree_activate(struct model *m)
{
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		struct sim_node *n = &m->nodes[i];

		n->sw.linear_fdb_top = 0xbfff;
		for (unsigned p = 1; p <= n->nports; p++) {
			n->ports[p].info.neighbor_mtu = 5;
			if (n->ports[p].peer != IBNET_NONE)
				n->ports[p].info.state = PORT_ACTIVE;
		}
	}
}

static inline void
tree_bring_up(struct model *m, bool spread)
{
	uint8_t *rank = tree_ranks(m), none[LFT_BLOCK_LEN];
	uint16_t lids = 0;

	tree_activate(m);
	memset(none, LFT_NO_PORT, sizeof(none));
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		if (m->nodes[i].type == NODE_CA)
			m->nodes[i].ports[1].info.lid = ++lids;
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		for (unsigned b = 0; rank[i] && b <= lids / LFT_BLOCK_LEN; b++)
			model_lft_set(&m->nodes[i], b, none);
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		if (!rank[i])
			tree_down(m, rank, i, m->nodes[i].ports[1].info.lid);
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		if (rank[i])
			tree_up(m, rank, i, lids, spread);
	free(rank);
}

/* A Set as it comes from a subnet manager. */
static inline bool
tree_set(struct model *m, uint32_t node, uint16_t attr, uint32_t mod,
	 const uint8_t data[SMP_DATA_SIZE])
{
	struct smp s = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_DIRECT,
		       .class_version = 1, .method = MAD_SET, .attr_id = attr,
		       .attr_mod = mod },
	};

	memcpy(s.data, data, sizeof(s.data));
	return sma_answer(m, node, 1, LID_PERMISSIVE, &s) && !s.h.status;
}

/* A block of the adaptive LFT: what goes up may take each port of group 1. */
static inline void
tree_free_block(const struct sim_node *n, unsigned block, uint64_t up, uint8_t *data)
{
	struct ar_lft_entry e[AR_LFT_BLOCK];

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		uint8_t port = n->lft[block * AR_LFT_BLOCK + i];

		e[i] = (struct ar_lft_entry){ .state = AR_STATIC, .port = port };
		if (port != LFT_NO_PORT && up >> port & 1) {
			e[i].state = AR_FREE;
			e[i].group = 1;
		}
	}
	ar_lft_encode(e, data);
}

/* A switch of a tree that is up goes up adaptively; false if it refused. */
static inline bool
tree_adapt(struct model *m, uint32_t node, unsigned lids, const uint8_t *rank)
{
	const struct sim_node *n = &m->nodes[node];
	struct ar_ports groups[AR_GROUP_BLOCK] = { { { 0 } } };
	uint8_t up[IBNET_MAX_NODE_PORTS], data[SMP_DATA_SIZE];
	unsigned len = tree_ports(m, rank, node, rank[node] + 1u, up);
	struct ar_info info;

	for (unsigned i = 0; i < len; i++)
		ar_ports_add(&groups[1], up[i]);
	if (!len || model_ar_support(m, node, &ar_options_default.support, NULL) ||
	    !model_ar_info(m, node, &info))
		return !len;
	ar_groups_encode(groups, data);
	if (!tree_set(m, node, AR_ATTR_GROUPS, 0, data))
		return false;
	for (unsigned b = 0; b <= lids / AR_LFT_BLOCK; b++) {
		tree_free_block(n, b, groups[1].word[0], data);
		if (!tree_set(m, node, AR_ATTR_LFT, b, data))
			return false;
	}
	info.enable = true;
	info.group_top = 1;
	ar_info_encode(&info, data);
	return tree_set(m, node, AR_ATTR_INFO, 0, data);
}

static inline bool
tree_adapt_all(struct model *m)
{
	uint8_t *rank = tree_ranks(m);
	unsigned hosts = 0;
	bool good = true;

	for (uint32_t i = 0; i < m->net->nnodes; i++)
		hosts += !rank[i];
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		good &= !rank[i] || tree_adapt(m, i, hosts, rank);
	free(rank);
	return good;
}

#endif
