/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * GUIDInfoRecord (IBA 15.2.5.18): the GUIDs of each end port, in blocks of eight, as many as its
 * GUIDCap says. The first is the port's own. There are no others: alias GUIDs are assigned by the
 * subnet manager, and this one assigns none yet.
 */
#define BLOCK_LEN 8

static bool
tell_port(struct sa_ask *a, uint32_t port)
{
	const struct fabric_port *p = &a->f->ports[port];
	const struct portinfo *info = a->env->port_info(a->env->arg, sa_node_of(a, port)->guid,
							p->number);
	unsigned blocks = info ? (info->guid_cap + BLOCK_LEN - 1u) / BLOCK_LEN : 0;

	for (unsigned i = 0; i < blocks; i++) {
		struct sa_guids r = { .lid = sa_base_lid(a, port), .block = (uint8_t)i };

		if (i == 0)
			r.guids[0] = p->guid;
		if (!sa_offer(a, &r))
			return false;
	}
	return true;
}

static void
tell_guids(struct sa_ask *a)
{
	const struct sa_guids *want = a->want;

	sa_each_port(a, SA_GUIDS_LID, want->lid, tell_port);
}

const struct sa_kind_ops sa_guids_ops = {
	.type = &sa_guids_type, .own = SA_BIT(SA_GUIDS_LID), .table = true, .tell = tell_guids,
};
