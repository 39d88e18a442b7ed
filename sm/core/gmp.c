/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of GMPs that the core asks of end ports: they go as data do, by the published plan, so
 * only to ports that are up and have their LID, and with the default P_Key.
 */
#include "sm/core/gmp.h"

#include "sm/core/subnet_i.h"

uint32_t
gmp_port(const struct subnet *s, const struct live_port *p)
{
	uint32_t port;

	if (!p->guid || !(p->flags & LIVE_PORT_READ) || p->info.state != PORT_ACTIVE)
		return FABRIC_NONE;
	port = fabric_port_by_guid(s->plan->fabric, p->guid);
	return port == FABRIC_NONE || !s->plan->lids->base[port] ? FABRIC_NONE : port;
}

uint16_t
gmp_pkey_index(const struct subnet *s)
{
	const struct live_port *own = s->topo.own ? &s->topo.own->ports[s->topo.own_port] : NULL;
	uint16_t keys[TABLES_KEYS];

	for (unsigned b = 0; own && b < tables_pkey_blocks(own); b++) {
		if (tables_pkeys(&s->topo.tables, own, b, keys) != TABLES_HELD)
			continue;
		for (unsigned i = 0; i < TABLES_KEYS; i++)
			if ((keys[i] & 0x7fff) == 0x7fff)
				return (uint16_t)(b * TABLES_KEYS + i);
	}
	return 0;
}

void
gmp_address(const struct subnet *s, uint32_t port, uint16_t pkey_index, struct transact_request *r)
{
	const struct plan_lids *l = s->plan->lids;
	uint32_t own = s->plan->fabric->sm_port;
	uint16_t from = own == FABRIC_NONE ? 0 : l->base[own];

	r->lid = l->base[port];
	r->pkey_index = pkey_index;
	if (from && from != r->lid)
		r->sl = plan_path_sl(s->plan, &l->dest[from], &l->dest[r->lid]);
}
