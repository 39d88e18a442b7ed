/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <string.h>
#include "sim/model/ar_impl.h"
#include "sim/model/model_impl.h"

/*
 * A simulated device as it is after power-up: capabilities, and the state of ports and tables.
 *
 * What a port supports follows from the best cable of its node: a node with one NDR cable is an
 * NDR device. What all devices of a model can do besides is struct model_caps. With like_ibsim the
 * fields are those that packaged ibsim 0.10 shows instead, as read from it with smpquery.
 * Attributes and what they begin with: IBA volume 1, 14.2.5.3 to 14.2.5.6.
 */
#define VENDOR_BULL 0x119fu

#define IBSIM_CAP2 (CAP2_WIDTH_2X | CAP2_HDR)
#define IBSIM_CAP (CAP_TRAP | CAP_SL_MAPPING | CAP_EXTENDED_SPEEDS | CAP_MASK2)
#define IBSIM_CA_CAP (IBSIM_CAP | CAP_VENDOR_CLASS | CAP_MASK_NOTICE)

/* The best that any cable of a node carries. */
struct ability {
	unsigned widths;	/* bits of enum link_width */
	unsigned speed;		/* enum link_speed */
};

static struct ability
ability_of(const struct ibnet_node *ib)
{
	struct ability a = { LINK_1X | LINK_4X, SPEED_SDR };

	for (unsigned i = 1; i <= ib->nports; i++) {
		a.widths |= ib->ports[i].width;
		if (ib->ports[i].speed > a.speed)
			a.speed = ib->ports[i].speed;
	}
	return a;
}

static uint8_t
base_speeds(unsigned speed)
{
	return speed >= SPEED_QDR ? 7 : speed == SPEED_DDR ? 3 : 1;
}

static uint8_t
extended_speeds(unsigned speed)
{
	return speed >= SPEED_NDR ? 15 : speed == SPEED_HDR ? 7 : speed == SPEED_EDR ? 3 :
		speed == SPEED_FDR ? 1 : 0;
}

bool
device_has_fdr10(const struct sim_node *n)
{
	return n->ib->vendor_id == VENDOR_MELLANOX || n->ib->vendor_id == VENDOR_BULL;
}

uint16_t
device_pkeys(const struct sim_node *n, unsigned port)
{
	if (n->type != NODE_SWITCH)
		return n->caps->ca_pkeys;
	return port ? n->caps->switch_pkeys : n->caps->port0_pkeys;
}

/* ---- Capabilities ---- */

static uint16_t
entries(uint16_t asked, uint16_t otherwise)
{
	return asked == MODEL_NO_CAP ? 0 : asked ? asked : otherwise;
}

static uint16_t
at_most(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

void
device_caps(const struct model_options *o, const struct model_caps *asked, struct model_caps *caps)
{
	static const struct model_caps ibsim = {
		.linear_fdb = 30720, .port0_pkeys = 8, .guids = 32, .port0_guids = 1, .mtu = 4,
		.port0_mtu = 3, .vls = 4, .port0_vls = 4, .no_enforcement = true,
	};
	const struct model_caps *a = o->like_ibsim ? &ibsim : asked;

	*caps = *a;
	caps->linear_fdb = at_most(entries(a->linear_fdb, LID_TABLE_LEN), LID_TABLE_LEN);
	caps->multicast_fdb = at_most(entries(a->multicast_fdb, 1024), 0x3fff);
	caps->ca_pkeys = entries(a->ca_pkeys, 64);
	caps->port0_pkeys = entries(a->port0_pkeys, 32);
	caps->switch_pkeys = entries(a->switch_pkeys, 64);
	caps->guids = at_most(entries(a->guids, 8), 255);
	caps->port0_guids = at_most(entries(a->port0_guids, 8), 255);
	caps->cc_table = o->like_ibsim ? 0 : at_most(entries(a->cc_table, 2), 255);
	caps->vlarb = at_most(entries(a->vlarb, 8), 64);
	caps->mtu = a->mtu ? a->mtu : o->mtu_cap ? o->mtu_cap : 5;
	caps->port0_mtu = a->port0_mtu ? a->port0_mtu : caps->mtu;
	caps->vls = a->vls ? a->vls : o->vl_cap ? o->vl_cap : 4;
	caps->port0_vls = a->port0_vls ? a->port0_vls : 1;
}

static void
init_capabilities(const struct sim_node *n, struct portinfo *i, const struct ability *a)
{
	i->cap_mask = CAP_TRAP | CAP_SL_MAPPING | CAP_SYSTEM_GUID | CAP_DR_NOTICE |
		CAP_MASK_NOTICE | CAP_CLIENT_REREGISTER | CAP_LOCAL_CHANGES |
		CAP_MCAST_PKEY_TRAP;
	if (n->type == NODE_SWITCH && !n->caps->no_enforcement)
		i->cap_mask |= CAP_PKEY_SWITCH_TRAP;
	if (n->type == NODE_SWITCH && n->caps->mft_top)
		i->cap_mask |= CAP_MCAST_FDB_TOP;
	if (a->speed >= SPEED_FDR) {
		i->cap_mask |= CAP_EXTENDED_SPEEDS;
		i->cap_mask2 |= CAP2_PORT_INFO_EXTENDED;
	}
	if (a->widths & LINK_2X)
		i->cap_mask2 |= CAP2_WIDTH_2X;
	if (a->speed >= SPEED_HDR)
		i->cap_mask2 |= CAP2_HDR;
	if (a->speed >= SPEED_NDR)
		i->cap_mask2 |= CAP2_NDR;
	if (a->speed >= SPEED_XDR)
		i->cap_mask2 |= CAP2_EXTENDED_2 | CAP2_XDR;
	if (i->cap_mask2)
		i->cap_mask |= CAP_MASK2;
	i->gid_prefix = 0xfe80000000000000u;
	i->guid_cap = (uint8_t)(n->type == NODE_SWITCH ? n->caps->port0_guids : n->caps->guids);
	i->resp_time = 16;
	i->subnet_timeout = 18;
}

static void
init_link(const struct sim_node *n, struct portinfo *i, const struct ability *a)
{
	i->state = PORT_DOWN;
	i->phys_state = PHYS_POLLING;
	i->down_default = PHYS_POLLING;
	i->width_supported = i->width_enabled = (uint8_t)a->widths;
	i->width_active = LINK_4X;
	i->speed_supported = i->speed_enabled = base_speeds(a->speed);
	i->speed_active = 1;
	i->speed_ext_supported = i->speed_ext_enabled = extended_speeds(a->speed);
	i->speed_ext2_supported = i->speed_ext2_enabled = a->speed >= SPEED_XDR;
	i->vl_arb_low_cap = i->vl_arb_high_cap = (uint8_t)n->caps->vlarb;
	i->hoq_life = 16;
	i->local_phy_errors = i->overrun_errors = 8;
	/* All that a port can do is on until somebody takes it back, as with adapters in use:
	 * OpenSM resets the link of a host where it finds less. */
	i->mtu_cap = i->neighbor_mtu = n->caps->mtu;
	i->vl_cap = i->op_vls = n->caps->vls;
}

/* Port 0 of a switch has no link: it is up whenever the switch is. */
static void
init_port0(const struct sim_node *n, struct portinfo *i)
{
	i->state = PORT_ACTIVE;
	i->phys_state = PHYS_LINK_UP;
	i->mtu_cap = i->neighbor_mtu = n->caps->port0_mtu;
	i->vl_cap = i->op_vls = n->caps->port0_vls;
}

void
model_ibsim_text(struct ibnet *net)
{
	for (uint32_t i = 0; i < net->nnodes; i++) {
		struct ibnet_node *n = &net->nodes[i];

		for (unsigned p = 0; p <= n->nports; p++) {
			if (n->ports[p].speed > SPEED_HDR)
				n->ports[p].speed = SPEED_SDR;
			if (n->type == IBNET_SWITCH ? !p : p)
				n->ports[p].guid = n->guid + p;
		}
	}
}

/* What ibsim tells where it differs. A port without a cable is an SDR port to it. */
static void
like_ibsim(const struct sim_node *n, unsigned port)
{
	struct portinfo *i = &n->ports[port].info;
	const struct ibnet_port *ib = &n->ib->ports[port];
	bool end = is_end_port(n, port), cabled = ib->width != 0;

	i->cap_mask = !end ? 0 : n->type == NODE_SWITCH ? IBSIM_CAP : IBSIM_CA_CAP;
	i->cap_mask2 = end ? IBSIM_CAP2 : 0;
	i->width_supported = LINK_1X | LINK_4X | LINK_8X | LINK_12X | LINK_2X;
	i->width_enabled = cabled ? LINK_1X | ib->width : LINK_4X;
	i->speed_supported = 7;
	i->speed_enabled = base_speeds(ib->speed);
	i->speed_ext_supported = ib->speed >= SPEED_FDR ? 7 : 0;
	i->speed_ext_enabled = extended_speeds(ib->speed);
	i->speed_ext2_supported = i->speed_ext2_enabled = 0;
	i->neighbor_mtu = n->type == NODE_SWITCH && !port ? 1 : i->mtu_cap;
	i->op_vls = i->vl_cap;
	i->vl_stall_count = n->type == NODE_SWITCH && !port ? 0 : 7;
	i->hoq_life = 0;
	i->local_phy_errors = end || cabled ? 0 : 4;
	i->overrun_errors = 0;
	i->gid_prefix = 0;
	i->subnet_timeout = end ? 31 : 0;
	i->resp_time = n->type == NODE_SWITCH && end ? 8 : 0;
}

static void
init_port(const struct model *m, struct sim_node *n, unsigned port)
{
	struct sim_port *p = &n->ports[port];
	struct ability a = ability_of(n->ib);

	memset(&p->info, 0, sizeof(p->info));
	p->lease_end = MONOTIME_NEVER;
	p->trap_next = 0;
	p->phy_errors = p->overruns = 0;
	memset(p->fec, 0, sizeof(p->fec));
	p->fdr10 = device_has_fdr10(n) && !m->o.like_ibsim && a.speed >= SPEED_FDR10 ?
		FDR10_SUPPORTED | FDR10_ENABLED : 0;
	init_link(n, &p->info, &a);
	if (is_end_port(n, port))
		init_capabilities(n, &p->info, &a);
	if (n->type == NODE_SWITCH && !port)
		init_port0(n, &p->info);
	if (m->o.like_ibsim)
		like_ibsim(n, port);
}

static void
init_switch(const struct model *m, struct sim_node *n)
{
	struct switchinfo *sw = &n->sw;

	memset(sw, 0, sizeof(*sw));
	sw->linear_fdb_cap = n->caps->linear_fdb;
	sw->multicast_fdb_cap = n->caps->multicast_fdb;
	sw->life_time = m->o.like_ibsim ? 0 : 18;
	sw->port_state_change = true;
	sw->partition_enforcement_cap = n->caps->switch_pkeys;
	sw->enforce_in_cap = sw->enforce_out_cap = !n->caps->no_enforcement;
	sw->filter_raw_in_cap = sw->filter_raw_out_cap = m->o.like_ibsim;
	sw->enhanced_port0 = n->ib->enhanced_port0;
	sw->optimized_slvl = n->caps->optimized_sl2vl;
}

void
device_tables_free(struct sim_node *n)
{
	mem_free(n->lft);
	mem_free(n->mft);
	mem_free(n->sl2vl);
	n->lft = NULL;
	n->mft = NULL;
	n->sl2vl = NULL;
	n->lft_len = 0;
	for (unsigned i = 0; i <= n->nports; i++) {
		struct sim_port *p = &n->ports[i];

		mem_free(p->pkeys);
		mem_free(p->guids);
		mem_free(p->vlarb);
		cca_free(n, p);
		p->pkeys = NULL;
		p->guids = NULL;
		p->vlarb = NULL;
	}
}

void
device_init(struct model *m, struct sim_node *n)
{
	device_tables_free(n);
	for (unsigned p = n->type == NODE_SWITCH ? 0 : 1; p <= n->nports; p++)
		init_port(m, n, p);
	init_switch(m, n);
	ar_reset(n);
	n->busy_until = 0;
	for (struct sim_trap *t = n->traps; t; t = t->next)
		t->tid = 0;
}
