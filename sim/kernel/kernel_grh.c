/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/kernel/kernel_impl.h"

/*
 * Who sent a MAD, as a program is told it and answers to it, and the global route headers of those
 * that have one. A port's GIDs are its subnet's prefix and the GUIDs of its table (IBA volume 1,
 * 4.1.1); a program names its own by their index.
 */
#define HOP_LIMIT 255		/* of answers */

static void
gid_of(const struct kernel_port *p, unsigned index, uint8_t gid[16])
{
	struct model *m = p->k->m;
	struct cursor c;

	cursor_write(&c, gid, 16);
	cursor_put_u64(&c, model_portinfo(m, p->node, p->port)->gid_prefix);
	cursor_put_u64(&c, model_guid(m, p->node, p->port, index));
}

bool
kernel_has_gid(const struct kernel_port *p, unsigned index)
{
	return model_guid(p->k->m, p->node, p->port, index) != 0;
}

/* The index of one of the port's GIDs, 0 if it is none. */
static uint8_t
index_of(const struct kernel_port *p, const uint8_t gid[16])
{
	unsigned n = model_portinfo(p->k->m, p->node, p->port)->guid_cap;
	uint8_t own[16];

	for (unsigned i = 1; i < n; i++) {
		gid_of(p, i, own);
		if (!memcmp(own, gid, sizeof(own)))
			return (uint8_t)i;
	}
	return 0;
}

void
kernel_grh_fill(struct model_grh *g, const struct kernel_port *p, const struct kernel_mad *to)
{
	gid_of(p, to->gid_index, g->sgid);
	memcpy(g->dgid, to->gid, sizeof(g->dgid));
	g->flow_label = to->flow_label;
	g->traffic_class = to->traffic_class;
	g->hop_limit = to->hop_limit;
}

void
kernel_sender(struct kernel_mad *from, const struct kernel_port *p, const struct model_mad *m)
{
	*from = (struct kernel_mad){
		.lid = m->lid, .qpn = m->qp, .sl = m->sl, .pkey_index = m->pkey_index,
		.path_bits = m->path_bits, .grh = m->has_grh,
	};
	if (!m->has_grh)
		return;
	memcpy(from->gid, m->grh.sgid, sizeof(from->gid));
	from->gid_index = index_of(p, m->grh.dgid);
	from->hop_limit = HOP_LIMIT;
	from->traffic_class = m->grh.traffic_class;
	from->flow_label = m->grh.flow_label;
}

/* Does it come to what the request was sent from? */
static bool
to_own_end(const struct kernel_port *p, const struct kernel_mad *sent, const struct model_mad *m)
{
	uint8_t own[16], lmc = model_portinfo(p->k->m, p->node, p->port)->lmc;

	if (!sent->grh)
		return !((sent->path_bits ^ m->path_bits) & ((1u << lmc) - 1));
	gid_of(p, sent->gid_index, own);
	return !memcmp(own, m->grh.dgid, sizeof(own));
}

bool
kernel_same_ends(const struct kernel_port *p, const struct kernel_mad *sent,
		 const struct model_mad *m, bool response)
{
	if (sent->grh != m->has_grh)
		return false;
	if (response)
		return to_own_end(p, sent, m);
	return m->has_grh ? !memcmp(sent->gid, m->grh.sgid, sizeof(sent->gid)) :
		sent->lid == m->lid;
}
