/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a port should hold (IBA 14.2.5.6 PortInfo): a pure function of configuration, plan and what
 * the port and its far end were read to be. push.c sends the differences.
 *
 * A live link keeps its MTU and operational VLs while both ends agree on legal values, for to
 * change them would touch traffic, unless the plan takes more lanes than a link between switches
 * runs.
 */
#include "sm/core/push_i.h"

#include <string.h>
#include "sm/core/lanes.h"

#define FIELDS_ADDRESS (FIELD_PREFIX | FIELD_LID | FIELD_LMC | FIELD_SM_LID)

/* Lanes 1, 2, 4, 8, 15 as a VL code (IBA table 146). */
static uint8_t
vl_code(unsigned lanes)
{
	return lanes >= 15 ? 5 : lanes >= 8 ? 4 : lanes >= 4 ? 3 : lanes >= 2 ? 2 : 1;
}

static uint8_t
min3(uint8_t a, uint8_t b, uint8_t c)
{
	uint8_t m = a < b ? a : b;

	return m < c ? m : c;
}

bool
push_port_counts(const struct live_port *p)
{
	const struct live_port *peer = live_peer(p);

	return live_port_up(p) && peer && live_port_up(peer) && !p->fell && !p->device->silent &&
	       !peer->device->silent && peer->device->complete;
}

static bool
link_is_legal(const struct portinfo *a, const struct portinfo *b)
{
	return a->state >= PORT_ARMED && b->state >= PORT_ARMED &&
	       a->neighbor_mtu == b->neighbor_mtu && a->op_vls == b->op_vls && a->neighbor_mtu &&
	       a->op_vls && a->neighbor_mtu <= a->mtu_cap && b->neighbor_mtu <= b->mtu_cap &&
	       a->op_vls <= a->vl_cap && b->op_vls <= b->vl_cap;
}

/* The link does not run the lanes by which packets are to cross it: between switches those of the
 * plan, elsewhere first lanes of levels, as far as it can run them (sls.h). */
static bool
needs_lanes(const struct subnet *s, const struct live_port *p)
{
	const struct plan_sls *sls = s->push.plan ? s->push.plan->sls : NULL;
	unsigned runs = vls_of_code(p->info.op_vls), most = (unsigned)s->conf->max_op_vls;
	uint8_t cap = min3(p->info.vl_cap, live_peer(p)->info.vl_cap, 5);

	if (!sls)
		return false;
	if (p->device->info.node_type == NODE_SWITCH && p->peer->info.node_type == NODE_SWITCH)
		return lanes_too_few(sls, p->info.op_vls);
	most = vls_of_code(cap) < most ? vls_of_code(cap) : most;
	for (unsigned q = 0; q < sls->levels; q++)
		if (sls->vl[q] >= runs && runs < most)
			return true;
	return false;
}

static void
want_link(const struct subnet *s, const struct live_port *p, struct portinfo *w)
{
	const struct live_port *peer = live_peer(p);

	if (!peer || (link_is_legal(&p->info, &peer->info) && !needs_lanes(s, p)))
		return;
	w->neighbor_mtu = min3(p->info.mtu_cap, peer->info.mtu_cap, 5);
	w->op_vls = min3(p->info.vl_cap, peer->info.vl_cap, vl_code(s->conf->max_op_vls));
}

/* The service level of packets between a port and ours. */
static uint8_t
sm_sl(const struct subnet *s, const struct plan *plan, uint32_t port)
{
	const struct plan_lids *l = plan->lids;
	uint32_t sm = plan->fabric->sm_port;

	if (!plan->sls || sm == FABRIC_NONE || !l->base[port] || !l->base[sm])
		return (uint8_t)s->conf->sm_sl;
	return plan_path_sl(plan, &l->dest[l->base[port]], &l->dest[l->base[sm]]);
}

/* `node` is the device's in the plan. */
static void
want_end(const struct subnet *s, const struct plan *plan, uint32_t node, const struct live_port *p,
	 struct portinfo *w)
{
	const struct config_subnet *c = s->conf;
	const struct plan_lids *l = plan->lids;
	const struct fabric *f = plan->fabric;
	uint32_t i;

	if (node == FABRIC_NONE)
		return;
	i = f->nodes[node].first_port + p->number;
	w->m_key = c->m_key;
	if (c->m_key)	/* without a key there is nothing that a lease could run out of */
		w->m_key_lease = (uint16_t)c->m_key_lease;
	w->m_key_protect = (uint8_t)c->m_key_protect;
	w->gid_prefix = c->prefix;
	w->lid = l->base[i];
	w->lmc = l->lmc[i];
	w->sm_lid = f->sm_port == FABRIC_NONE ? 0 : l->base[f->sm_port];
	w->sm_sl = sm_sl(s, plan, i);
	w->subnet_timeout = (uint8_t)c->subnet_timeout;
}

static uint32_t
diff_end(const struct portinfo *a, const struct portinfo *b)
{
	return (a->m_key != b->m_key ? FIELD_M_KEY : 0) |
	       (a->m_key_lease != b->m_key_lease ? FIELD_M_KEY_LEASE : 0) |
	       (a->m_key_protect != b->m_key_protect ? FIELD_M_KEY_PROTECT : 0) |
	       (a->gid_prefix != b->gid_prefix ? FIELD_PREFIX : 0) |
	       (a->lid != b->lid ? FIELD_LID : 0) | (a->sm_lid != b->sm_lid ? FIELD_SM_LID : 0) |
	       (a->sm_sl != b->sm_sl ? FIELD_SM_SL : 0) | (a->lmc != b->lmc ? FIELD_LMC : 0) |
	       (a->subnet_timeout != b->subnet_timeout ? FIELD_SUBNET_TIMEOUT : 0);
}

static uint32_t
diff_link(const struct portinfo *a, const struct portinfo *b)
{
	return (a->neighbor_mtu != b->neighbor_mtu ? FIELD_MTU : 0) |
	       (a->op_vls != b->op_vls ? FIELD_OP_VLS : 0) |
	       (a->hoq_life != b->hoq_life ? FIELD_HOQ_LIFE : 0) |
	       (a->vl_high_limit != b->vl_high_limit ? FIELD_HIGH_LIMIT : 0) |
	       (a->vl_stall_count != b->vl_stall_count ? FIELD_VL_STALL : 0) |
	       (a->enforce_in != b->enforce_in || a->enforce_out != b->enforce_out ?
		FIELD_ENFORCE : 0) |
	       (a->local_phy_errors != b->local_phy_errors ? FIELD_PHY_ERRORS : 0) |
	       (a->overrun_errors != b->overrun_errors ? FIELD_OVERRUN_ERRORS : 0);
}

bool
push_end_port_off(const struct subnet *s, const struct live_port *p)
{
	const struct fabric *f = s->plan ? s->plan->fabric : NULL;
	uint32_t node = f ? fabric_node_by_guid(f, p->device->guid) : FABRIC_NONE;
	struct portinfo want = p->info;

	if (node == FABRIC_NONE || f->nodes[node].nports != p->device->info.num_ports ||
	    (p->number && !live_port_up(p)))
		return false;
	/* What failed a moment ago is tried again in its own time. */
	if (p->flags & LIVE_PORT_REFUSED || p->device->push_failed)
		return false;
	want_end(s, s->plan, node, p, &want);
	return want.lid && diff_end(&p->info, &want) & FIELDS_ADDRESS & ~p->stubborn;
}

bool
push_ports_differ(const struct portinfo *a, const struct portinfo *b)
{
	return diff_end(a, b) | diff_link(a, b);
}

uint32_t
push_port_diff(const struct live_port *p, const struct portinfo *set)
{
	bool is_switch = p->device->info.node_type == NODE_SWITCH;
	uint32_t diff = set->state == PORT_NO_CHANGE ? 0 : FIELD_STATE;

	if (!is_switch || !p->number)
		diff |= diff_end(&p->info, set);
	if (!is_switch || p->number)
		diff |= diff_link(&p->info, set);
	return diff;
}

/*
 * Fill `want` as the attribute of a Set and return the fields that differ from what the port holds.
 * State is NO_CHANGE, or ARMED for a port in INIT; widths and speeds are 0, "leave as it is".
 */
uint32_t
push_port_want(const struct subnet *s, const struct live_port *p, struct portinfo *want)
{
	const struct config_subnet *c = s->conf;
	bool is_switch = p->device->info.node_type == NODE_SWITCH;
	bool external = is_switch && p->number > 0;

	*want = p->info;
	want->state = PORT_NO_CHANGE;
	want->phys_state = PHYS_NO_CHANGE;
	want->width_enabled = want->speed_enabled = 0;
	want->speed_ext_enabled = want->speed_ext2_enabled = 0;
	want->down_default = 0;
	want->client_reregister = false;
	if (!external)
		want_end(s, s->push.plan, p->device->fabric_node, p, want);
	if (external || !is_switch) {
		bool leaf = p->peer && p->peer->info.node_type != NODE_SWITCH;

		want_link(s, p, want);
		push_arbitration_limit(s, p, want->op_vls, &want->vl_high_limit);
		want->local_phy_errors = (uint8_t)c->local_phy_errors;
		want->overrun_errors = (uint8_t)c->overrun_errors;
		if (external) {
			want->hoq_life = (uint8_t)(leaf ? c->leaf_hoq_life : c->hoq_life);
			want->vl_stall_count = (uint8_t)(leaf ? c->leaf_vl_stall_count :
							 c->vl_stall_count);
			if (push_pkeys_planned(s))
				push_pkeys_enforce(s, p, want);
		}
		if (p->info.state == PORT_INIT && push_port_counts(p) && push_pkeys_may_rise(s, p))
			want->state = PORT_ARMED;
	}
	return push_port_diff(p, want) & ~(p->stubborn & ~FIELDS_FORWARDING);
}

uint32_t
push_port_kept(const struct portinfo *got, const struct portinfo *want, uint32_t set)
{
	uint32_t kept = (diff_end(got, want) | diff_link(got, want)) & set;

	/* A device may hide the key that it protects: 0 read back says nothing. */
	if (kept & FIELD_M_KEY && !got->m_key && want->m_key)
		kept &= ~(uint32_t)FIELD_M_KEY;
	if (want->state != PORT_NO_CHANGE && got->state < want->state)
		kept |= FIELD_STATE;
	return kept;
}

/* IBA 14.4.11: clients register again when the subnet manager that served them is another one. */
bool
push_port_wants_reregister(const struct subnet *s, const struct live_port *p)
{
	struct portinfo want;

	if (!s->conf->client_reregister || p->device->info.node_type == NODE_SWITCH ||
	    !(p->info.cap_mask & CAP_CLIENT_REREGISTER))
		return false;
	push_port_want(s, p, &want);
	return want.sm_lid != p->info.sm_lid || p->info.state == PORT_INIT ||
	       p->flags & LIVE_PORT_REREGISTER ||
	       map_get(&s->forgotten, p->guid) != MAP_NONE;
}

static const char *const field_names[FIELD_COUNT] = {
	"M_Key", "M_KeyLeasePeriod", "M_KeyProtectBits", "GidPrefix", "LID", "MasterSMLID",
	"MasterSMSL", "LMC", "SubnetTimeOut", "NeighborMTU", "OperationalVLs", "HOQLife",
	"VLStallCount", "LocalPhyErrors", "OverrunErrors", "PortState", "LifeTimeValue",
	"LinearFDBTop", "PartitionEnforcement", "VLHighLimit",
};

const char *
push_field_name(unsigned bit)
{
	return bit < FIELD_COUNT ? field_names[bit] : "?";
}

void
push_forget_stubborn(struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			remarks_stubborn(&s->topo, &d->ports[n], 0);
		d->lanes_refused = d->lanes_plain = false;
	}
}
