/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * LinkRecord (IBA 15.2.5.13): each cable that is up, once from either end, both of which whoever
 * asks may know. A port of a switch has the LID of the switch. Drained cables are there too: what
 * they are kept free of is traffic.
 */
static uint32_t
end_of(const struct sa_ask *a, uint32_t port)
{
	const struct fabric_node *n = sa_node_of(a, port);

	return n->sw == FABRIC_NONE ? port : n->first_port;
}

static bool
tell_cable(struct sa_ask *a, uint32_t from)
{
	uint32_t to = fabric_cable_end(a->f, from);
	struct sa_link r = { .from_port = a->f->ports[from].number };

	if (to == FABRIC_NONE || !sa_may_know(a, end_of(a, to)))
		return true;
	r.to_port = a->f->ports[to].number;
	r.from_lid = sa_base_lid(a, end_of(a, from));
	r.to_lid = sa_base_lid(a, end_of(a, to));
	return !r.from_lid || !r.to_lid || sa_offer(a, &r);
}

static bool
tell_end(struct sa_ask *a, uint32_t port)
{
	const struct fabric_node *n = sa_node_of(a, port);

	if (n->sw == FABRIC_NONE)
		return tell_cable(a, port);
	sa_worked(a, n->nports);
	for (uint32_t i = 1; i <= n->nports; i++)
		if (!tell_cable(a, n->first_port + i))
			return false;
	return true;
}

static void
tell_links(struct sa_ask *a)
{
	const struct sa_link *want = a->want;

	sa_each_port(a, SA_LINK_FROM_LID, want->from_lid, tell_end);
}

/* A LID of the far end is compared as it stands: it is no key to look up by. */
const struct sa_kind_ops sa_link_ops = {
	.type = &sa_link_type, .own = SA_BIT(SA_LINK_FROM_LID), .table = true,
	.tell = tell_links,
};
