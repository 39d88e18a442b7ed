/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/plan_text.h"

#include <string.h>

/*
 * A plan as the text forms want it: its LIDs on the fabric's nodes, and rows as blocks in the form
 * of dump_lfts, one by one, because all of them together may be larger than the memory.
 */
struct ibnet *
plan_to_ibnet(const struct plan *p)
{
	const struct fabric *f = p->fabric;
	struct fabric_port *ports = mem_array(f->nports, sizeof(*ports));
	struct fabric *with_lids;
	struct ibnet *net;

	memcpy(ports, f->ports, f->nports * sizeof(*ports));
	for (uint32_t i = 0; i < f->nports; i++) {
		ports[i].lid = p->lids->base[i];
		ports[i].lmc = p->lids->lmc[i];
	}
	with_lids = fabric_with_ports(f, ports, f->generation);
	net = fabric_to_ibnet(with_lids);
	fabric_unref(with_lids);
	return net;
}

struct lfts_switch
plan_to_lfts(const struct plan *p, uint32_t sw, uint8_t *room)
{
	const struct fabric_node *n = fabric_switch_node(p->fabric, sw);
	const struct plan_row *row = p->rows[sw];
	uint32_t len = p->lids->top + 1u;

	if (row && row->len < len)
		len = row->len;
	if (row)
		plan_row_read(row, room, len);
	return (struct lfts_switch){
		.guid = n->guid,
		.desc = n->desc,
		.ports = row ? room : NULL,
		.len = len,
		.lid = p->lids->base[n->first_port],
	};
}
