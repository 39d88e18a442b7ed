/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * VLArbitrationTableRecord (IBA 15.2.5.12): four blocks of each port, the low-priority table and
 * the high-priority one. A block that a port does not have, as with a single data lane, is 0.
 */
#define BLOCKS 4u

static bool
tell_block(struct sa_ask *a, uint32_t end, unsigned number, unsigned block)
{
	struct sa_vlarb r = {
		.lid = sa_base_lid(a, end), .port = (uint8_t)number, .block = (uint8_t)block,
	};
	enum sa_held held = a->env->vlarb(a->env->arg, sa_node_of(a, end)->guid, number, block,
					  r.entries);

	return sa_offer_held(a, held, SA_VLARB_LID, &r);
}

/* The number of a host's port is not looked at, for it has but one. */
static bool
tell_end(struct sa_ask *a, uint32_t end)
{
	const struct sa_vlarb *want = a->want;
	const struct fabric_node *n = sa_node_of(a, end);
	bool host = n->sw == FABRIC_NONE;
	unsigned ports = host ? 1 : n->nports + 1u;
	uint32_t from = sa_from(a, end);

	for (uint32_t i = from; i < ports * BLOCKS; i++) {
		unsigned number = host ? a->f->ports[end].number : i / BLOCKS;
		unsigned block = i % BLOCKS + 1;

		if (!host && sa_asks(a, SA_VLARB_PORT) && number != want->port)
			continue;
		if (sa_asks(a, SA_VLARB_BLOCK) && block != want->block)
			continue;
		if (sa_pause_at(a, end, i) || !tell_block(a, end, number, block))
			return false;
	}
	return true;
}

static void
tell_vlarb(struct sa_ask *a)
{
	const struct sa_vlarb *want = a->want;

	sa_each_port(a, SA_VLARB_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_vlarb_ops = {
	.type = &sa_vlarb_type,
	.own = SA_BIT(SA_VLARB_LID) | SA_BIT(SA_VLARB_PORT) | SA_BIT(SA_VLARB_BLOCK),
	.table = true, .tell = tell_vlarb,
};
