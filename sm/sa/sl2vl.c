/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

/*
 * SLtoVLMappingTableRecord (IBA 15.2.5.4): of a switch the map of each pair of ports, port 0 among
 * them; of others that of the port, where the numbers of ports mean nothing: they are 0, and not
 * looked at. Where a port has no such table all goes by lane 0, and so says the record.
 */
static bool
tell_pair(struct sa_ask *a, uint32_t end, unsigned in, unsigned out)
{
	struct sa_sl2vl r = { .lid = sa_base_lid(a, end) };
	enum sa_held held = a->env->sl2vl(a->env->arg, sa_node_of(a, end)->guid, in, out, r.vl);

	if (sa_node_of(a, end)->sw != FABRIC_NONE) {
		r.in_port = (uint8_t)in;
		r.out_port = (uint8_t)out;
	}
	return sa_offer_held(a, held, SA_SL2VL_LID, &r);
}

static bool
tell_end(struct sa_ask *a, uint32_t end)
{
	const struct sa_sl2vl *want = a->want;
	const struct fabric_node *n = sa_node_of(a, end);
	unsigned ports = n->nports + 1u;
	uint32_t from = sa_from(a, end);

	if (n->sw == FABRIC_NONE)
		return tell_pair(a, end, 0, a->f->ports[end].number);
	for (uint32_t i = from; i < ports * ports; i++) {
		unsigned out = i / ports, in = i % ports;

		if ((sa_asks(a, SA_SL2VL_OUT_PORT) && out != want->out_port) ||
		    (sa_asks(a, SA_SL2VL_IN_PORT) && in != want->in_port))
			continue;
		if (sa_pause_at(a, end, i) || !tell_pair(a, end, in, out))
			return false;
	}
	return true;
}

static void
tell_maps(struct sa_ask *a)
{
	const struct sa_sl2vl *want = a->want;

	sa_each_port(a, SA_SL2VL_LID, want->lid, tell_end);
}

const struct sa_kind_ops sa_sl2vl_ops = {
	.type = &sa_sl2vl_type,
	.own = SA_BIT(SA_SL2VL_LID) | SA_BIT(SA_SL2VL_IN_PORT) | SA_BIT(SA_SL2VL_OUT_PORT),
	.table = true, .tell = tell_maps,
};
