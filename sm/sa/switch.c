/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * SwitchInfoRecord (IBA 15.2.5.5): of each switch, as it was read last or has acknowledged since.
 */
static bool
tell_end(struct sa_ask *a, uint32_t port)
{
	const struct fabric_node *n = sa_node_of(a, port);
	const struct switchinfo *info;
	struct sa_switch r = { .lid = sa_base_lid(a, port) };

	if (n->sw == FABRIC_NONE)
		return true;
	info = a->env->switch_info(a->env->arg, n->guid);
	if (!info)
		return true;
	r.info = *info;
	return sa_offer(a, &r);
}

static void
tell_switches(struct sa_ask *a)
{
	const struct sa_switch *want = a->want;

	sa_each_port(a, SA_SWITCH_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_switch_ops = {
	.type = &sa_switch_type, .own = SA_BIT(SA_SWITCH_LID), .table = true,
	.tell = tell_switches,
};
