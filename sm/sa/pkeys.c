/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * P_KeyTableRecord (IBA 15.2.5.11): the blocks of each end port, and of each external port of a
 * switch that can enforce partitions. They tell who may talk to whom, and are for those only whom
 * we trust (15.4.1): the request of others is invalid.
 */
static bool
tell_port(struct sa_ask *a, uint32_t end, unsigned number, uint32_t from)
{
	const struct sa_pkeys *want = a->want;
	struct sa_pkeys r = { .lid = sa_base_lid(a, end), .port = (uint8_t)number };
	uint32_t last = sa_asks(a, SA_PKEYS_BLOCK) ? want->block : SA_PKEY_BLOCKS - 1;

	if (sa_asks(a, SA_PKEYS_BLOCK) && from < want->block)
		from = want->block;
	for (uint32_t b = from; b <= last; b++) {
		enum sa_held held;

		if (sa_pause_at(a, end, number * SA_PKEY_BLOCKS + b))
			return false;
		held = a->env->pkey_block(a->env->arg, sa_node_of(a, end)->guid, number, b,
					  r.keys);
		if (held == SA_HELD_NOT)
			break;
		r.block = (uint16_t)b;
		if (!sa_offer_held(a, held, SA_PKEYS_LID, &r))
			return false;
	}
	return true;
}

/* The number of a host's port is not looked at, for it has but one. */
static bool
tell_end(struct sa_ask *a, uint32_t end)
{
	const struct sa_pkeys *want = a->want;
	const struct fabric_node *n = sa_node_of(a, end);
	uint32_t from = sa_from(a, end);

	if (n->sw == FABRIC_NONE)
		return tell_port(a, end, a->f->ports[end].number, from % SA_PKEY_BLOCKS);
	for (unsigned i = from / SA_PKEY_BLOCKS; i <= n->nports; i++, from = 0)
		if ((!sa_asks(a, SA_PKEYS_PORT) || i == want->port) &&
		    !tell_port(a, end, i, from % SA_PKEY_BLOCKS))
			return false;
	return true;
}

static void
tell_pkeys(struct sa_ask *a)
{
	const struct sa_pkeys *want = a->want;

	if (!a->trusted)
		a->status = SA_STATUS_INVALID;
	else
		sa_each_port(a, SA_PKEYS_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_pkeys_ops = {
	.type = &sa_pkeys_type,
	.own = SA_BIT(SA_PKEYS_LID) | SA_BIT(SA_PKEYS_PORT) | SA_BIT(SA_PKEYS_BLOCK),
	.table = true, .tell = tell_pkeys,
};
