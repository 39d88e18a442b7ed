/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include <string.h>

/*
 * LinearForwardingTableRecord (IBA 15.2.5.6): the rows of the published plan, block by block up to
 * the highest LID that is in use.
 */
static bool
tell_end(struct sa_ask *a, uint32_t port)
{
	const struct sa_lft *want = a->want;
	const struct fabric_node *n = sa_node_of(a, port);
	const struct plan_row *row = n->sw == FABRIC_NONE ? NULL : a->plan->rows[n->sw];
	struct sa_lft r = { .lid = sa_base_lid(a, port) };
	uint32_t blocks = a->plan->lids->top / LFT_BLOCK_LEN + 1u, first = 0;

	if (!row)
		return true;
	if (sa_asks(a, SA_LFT_BLOCK)) {
		first = want->block;
		blocks = first < blocks ? first + 1 : first;
	}
	sa_worked(a, blocks - first);
	for (uint32_t b = first; b < blocks && b < plan_row_blocks(row); b++) {
		r.block = (uint16_t)b;
		memcpy(r.ports, plan_row_block(row, b), LFT_BLOCK_LEN);
		if (!sa_offer(a, &r))
			return false;
	}
	return true;
}

static void
tell_tables(struct sa_ask *a)
{
	const struct sa_lft *want = a->want;

	sa_each_port(a, SA_LFT_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_lft_ops = {
	.type = &sa_lft_type, .own = SA_BIT(SA_LFT_LID), .table = true, .tell = tell_tables,
};
