/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * MulticastForwardingTableRecord (IBA 15.2.5.8): what switches are known to hold, up to the last
 * block with an entry; of each block every position, that is every 16 ports.
 */
static bool
tell_block(struct sa_ask *a, uint32_t end, unsigned block, unsigned position)
{
	struct sa_mft r = {
		.lid = sa_base_lid(a, end), .block = (uint16_t)block, .position = (uint8_t)position,
	};
	enum sa_held held = a->env->mft(a->env->arg, sa_node_of(a, end)->guid, block, position,
					r.masks);

	return sa_offer_held(a, held, SA_MFT_LID, &r);
}

static bool
tell_end(struct sa_ask *a, uint32_t end)
{
	const struct sa_mft *want = a->want;
	const struct fabric_node *n = sa_node_of(a, end);
	unsigned positions = n->nports / 16u + 1, blocks;
	uint32_t from = sa_from(a, end);

	if (n->sw == FABRIC_NONE)
		return true;
	blocks = a->env->mft_blocks(a->env->arg, n->guid);
	for (uint32_t i = from; i < blocks * positions; i++) {
		if ((sa_asks(a, SA_MFT_BLOCK) && i / positions != want->block) ||
		    (sa_asks(a, SA_MFT_POSITION) && i % positions != want->position))
			continue;
		if (sa_pause_at(a, end, i) ||
		    !tell_block(a, end, i / positions, i % positions))
			return false;
	}
	return true;
}

static void
tell_tables(struct sa_ask *a)
{
	const struct sa_mft *want = a->want;

	sa_each_port(a, SA_MFT_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_mft_ops = {
	.type = &sa_mft_type,
	.own = SA_BIT(SA_MFT_LID) | SA_BIT(SA_MFT_POSITION) | SA_BIT(SA_MFT_BLOCK),
	.table = true, .tell = tell_tables,
};
