/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include <string.h>

/*
 * NodeRecord (IBA 15.2.5.2): one for each end port, that is each port of a channel adapter or
 * router and port 0 of a switch, if it has a LID. The description is the device's own, whatever
 * name the administrator calls it by. An alias GUID finds its port, whose own GUID is told.
 */
static bool
tell_port(struct sa_ask *a, uint32_t port)
{
	const struct fabric_node *n = sa_node_of(a, port);
	const struct nodeinfo *info = a->env->node_info(a->env->arg, n->guid);
	struct sa_node r = { .lid = sa_base_lid(a, port) };

	if (!info)
		return true;
	r.info = *info;
	r.info.port_guid = a->f->ports[port].guid;
	r.info.local_port = a->f->ports[port].number;
	memcpy(r.description, n->desc, strnlen(n->desc, sizeof(r.description) - 1));
	return sa_offer(a, &r);
}

static void
tell_nodes(struct sa_ask *a)
{
	const struct sa_node *want = a->want;

	const struct plan_lids *l = a->plan->lids;
	uint32_t port;

	if (!sa_asks(a, SA_NODE_PORT_GUID)) {
		sa_each_port(a, SA_NODE_LID, want->lid, tell_port);
		return;
	}
	port = sa_port_by_guid(a, want->info.port_guid);
	if (port == FABRIC_NONE || !l->base[port] || !sa_may_know(a, port) ||
	    (sa_asks(a, SA_NODE_LID) &&
	     (want->lid > l->top || l->dest[want->lid].port != port)))
		return;
	tell_port(a, port);
}

const struct sa_kind_ops sa_node_ops = {
	.type = &sa_node_type, .own = SA_BIT(SA_NODE_LID) | SA_BIT(SA_NODE_PORT_GUID),
	.table = true, .tell = tell_nodes,
};
