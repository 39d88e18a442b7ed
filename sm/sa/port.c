/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * PortInfoRecord (IBA 15.2.5.3): of each end port, and of each external port of a switch, as it was
 * read last or has acknowledged since. The M_Key is only for those whom we trust, and is 0 to all
 * others, who cannot find it by comparing either.
 */
static bool
tell_one(struct sa_ask *a, uint32_t end, unsigned number)
{
	const struct sa_port *want = a->want;
	const struct portinfo *info = a->env->port_info(a->env->arg, sa_node_of(a, end)->guid,
							number);
	struct sa_port r = { .lid = sa_base_lid(a, end), .number = (uint8_t)number };

	if (!info)
		return true;
	r.options = sa_asks(a, SA_PORT_OPTIONS) ? want->options : 0;
	r.info = *info;
	r.info.client_reregister = false;	/* asked for once, and over */
	if (!a->trusted)
		r.info.m_key = 0;
	return sa_offer(a, &r);
}

static bool
tell_end(struct sa_ask *a, uint32_t port)
{
	const struct sa_port *want = a->want;
	const struct fabric_node *n = sa_node_of(a, port);

	if (n->sw == FABRIC_NONE)
		return tell_one(a, port, a->f->ports[port].number);
	if (sa_asks(a, SA_PORT_NUMBER))
		return want->number > n->nports || tell_one(a, port, want->number);
	sa_worked(a, n->nports);
	for (unsigned i = 0; i <= n->nports; i++)
		if (!tell_one(a, port, i))
			return false;
	return true;
}

static void
tell_ports(struct sa_ask *a)
{
	const struct sa_port *want = a->want;

	sa_each_port(a, SA_PORT_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_port_ops = {
	.type = &sa_port_type, .own = SA_BIT(SA_PORT_LID) | SA_BIT(SA_PORT_OPTIONS),
	.by_bits = SA_BIT(SA_PORT_CAP_MASK) | SA_BIT(SA_PORT_CAP_MASK2), .table = true,
	.tell = tell_ports,
};
