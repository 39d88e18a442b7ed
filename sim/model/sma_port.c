/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"
#include "sim/model/model_impl.h"

/*
 * PortInfo of a simulated device (IBA volume 1, 14.2.5.6): which port is meant, what may be
 * written to it, and what writing does to the link (7.2).
 *
 * A Set is checked as a whole first: one bad field, and nothing changes. Fields that an end port
 * has (LID, M_Key, the SM's address) exist on CA ports and on a switch's port 0; fields about the
 * link on all others. The extended speeds of a node that offers them are written by requests with
 * attribute modifier bit 31 alone. Read they are without it too, as devices up to HDR do: tools
 * that know nothing of that bit show EDR links. Devices from NDR on show nothing there.
 */
#define EXT_NDR 8	/* of LinkSpeedExtSupported */

struct target {
	struct sim_port *p;	/* the port that is meant */
	unsigned port;		/* its number */
	bool end;		/* it is an end port */
	bool extended;		/* the request is about extended speeds as well */
};

static bool
find_target(struct sim_node *n, unsigned in, uint32_t mod, struct target *t)
{
	unsigned port = mod & 0xff;

	t->extended = mod & PORTINFO_MOD_EXTENDED;
	if (mod & 0x7fffff00 ||
	    (t->extended && !(end_port(n, in)->info.cap_mask & CAP_EXTENDED_SPEEDS)))
		return false;
	if (n->type != NODE_SWITCH && !port)
		port = in;
	if (port > n->nports)
		return false;
	t->p = &n->ports[port];
	t->port = port;
	t->end = is_end_port(n, port);
	return true;
}

static bool
shows_extended(const struct target *t)
{
	const struct portinfo *i = &t->p->info;

	return t->extended || !(i->speed_ext_supported & EXT_NDR || i->speed_ext2_supported);
}

uint16_t
sma_get_portinfo(struct sim_node *n, unsigned in, uint32_t mod, bool show_key,
		 uint8_t data[SMP_DATA_SIZE])
{
	struct target t;
	struct portinfo a;

	if (!find_target(n, in, mod, &t))
		return MAD_STATUS_BAD_FIELD;
	a = t.p->info;
	a.local_port = n->lie_port ? n->lie_port : (uint8_t)in;
	if (!show_key)
		a.m_key = 0;
	if (!shows_extended(&t)) {
		a.speed_ext_active = a.speed_ext_supported = a.speed_ext_enabled = 0;
		a.speed_ext2_active = a.speed_ext2_supported = a.speed_ext2_enabled = 0;
	}
	portinfo_encode(&a, data);
	return 0;
}

/* The one step up that a Set may ask for, from where the link is; or down. */
static bool
good_state(const struct target *t, const struct portinfo *a)
{
	unsigned now = t->p->info.state;

	if (a->phys_state > PHYS_DISABLED)
		return false;
	if (a->phys_state && a->state > PORT_DOWN)
		return false;
	if (a->state == PORT_NO_CHANGE || (a->state == PORT_DOWN && t->port))
		return true;
	return t->port && ((now == PORT_INIT && a->state == PORT_ARMED) ||
			   (now == PORT_ARMED && a->state == PORT_ACTIVE));
}

static bool
good_link(const struct target *t, const struct portinfo *a)
{
	const struct portinfo *i = &t->p->info;

	if (!a->neighbor_mtu || a->neighbor_mtu > i->mtu_cap || a->op_vls > i->vl_cap)
		return false;
	if (a->width_enabled != 255 && a->width_enabled & ~i->width_supported)
		return false;
	if (a->speed_enabled != 15 && a->speed_enabled & ~i->speed_supported)
		return false;
	if (t->extended && a->speed_ext_enabled < 30 &&
	    a->speed_ext_enabled & ~i->speed_ext_supported)
		return false;
	return a->down_default <= PHYS_POLLING;
}

static bool
good_end(const struct sim_node *n, const struct portinfo *a)
{
	if (!a->lid || !a->sm_lid || a->sm_lid > LID_UNICAST_MAX)
		return false;
	if (a->lid + (1 << a->lmc) - 1 > LID_UNICAST_MAX || a->lid & ((1 << a->lmc) - 1))
		return false;
	/* A base port 0 has one LID. */
	return n->type != NODE_SWITCH || n->sw.enhanced_port0 || !a->lmc;
}

static void
set_end(const struct sim_node *n, struct sim_port *p, const struct portinfo *a)
{
	struct portinfo *i = &p->info;

	if (!(n->keep & MODEL_KEEP_LID))
		i->lid = a->lid;
	i->lmc = a->lmc;
	i->sm_lid = a->sm_lid;
	if (!(n->keep & MODEL_KEEP_SM_SL))
		i->sm_sl = a->sm_sl;
	if (!(n->keep & MODEL_KEEP_SUBNET_TIMEOUT))
		i->subnet_timeout = a->subnet_timeout;
	i->m_key = a->m_key;
	i->m_key_lease = a->m_key_lease;
	i->m_key_protect = a->m_key_protect;
	i->gid_prefix = a->gid_prefix;
	if (i->cap_mask & CAP_MCAST_PKEY_TRAP)
		i->mcast_pkey_trap = a->mcast_pkey_trap;
	i->init_type = a->init_type;
	p->reregisters += a->client_reregister;
}

/* Counters of violations are cleared by writing 0, and not written otherwise. */
static void
clear_violations(struct portinfo *i, const struct portinfo *a)
{
	if (!a->m_key_violations)
		i->m_key_violations = 0;
	if (!a->p_key_violations)
		i->p_key_violations = 0;
	if (!a->q_key_violations)
		i->q_key_violations = 0;
}

/* What a port may be told to allow: nothing new, all, or these. */
static uint8_t
allow(uint8_t now, uint8_t supported, uint8_t asked, uint8_t all)
{
	return !asked ? now : asked == all ? supported : asked;
}

static void
set_link(const struct sim_node *n, const struct target *t, const struct portinfo *a)
{
	struct portinfo *i = &t->p->info;

	i->width_enabled = allow(i->width_enabled, i->width_supported, a->width_enabled, 255);
	i->speed_enabled = allow(i->speed_enabled, i->speed_supported, a->speed_enabled, 15);
	if (t->extended)
		i->speed_ext_enabled = a->speed_ext_enabled == 30 ? 0 :
			allow(i->speed_ext_enabled, i->speed_ext_supported, a->speed_ext_enabled,
			      31);
	if (!(n->keep & MODEL_KEEP_MTU))
		i->neighbor_mtu = a->neighbor_mtu;
	if (a->op_vls && !(n->keep & MODEL_KEEP_OP_VLS))
		i->op_vls = a->op_vls;
	if (a->down_default)
		i->down_default = a->down_default;
	i->vl_high_limit = a->vl_high_limit;
	i->local_phy_errors = a->local_phy_errors;
	i->overrun_errors = a->overrun_errors;
	if (n->type != NODE_SWITCH || !t->port)
		return;
	i->vl_stall_count = a->vl_stall_count;
	i->hoq_life = a->hoq_life;
	i->enforce_in = a->enforce_in && n->sw.enforce_in_cap;
	i->enforce_out = a->enforce_out && n->sw.enforce_out_cap;
	i->filter_raw_in = a->filter_raw_in && n->sw.filter_raw_in_cap;
	i->filter_raw_out = a->filter_raw_out && n->sw.filter_raw_out_cap;
}

/* The link that the answer leaves by goes down behind it. */
static void
set_down(struct model *m, uint32_t node, unsigned port, unsigned in, unsigned phys_state)
{
	struct flight *f;

	if (port != in) {
		model_port_set_down(m, node, port, phys_state);
		return;
	}
	f = flight_new(m, FLIGHT_SET_DOWN, node, port);
	f->tid = phys_state;
	flight_start(m, f, 0);
}

/* Up by one step, or down: then the link trains again unless it is disabled. */
static void
set_state(struct model *m, uint32_t node, const struct target *t, unsigned in,
	  const struct portinfo *a)
{
	if (m->nodes[node].keep & MODEL_KEEP_STATE || !t->port)
		return;
	if (a->state == PORT_ARMED || a->state == PORT_ACTIVE) {
		t->p->info.state = a->state;
		return;
	}
	if (a->state == PORT_DOWN || a->phys_state)
		set_down(m, node, t->port, in, a->phys_state);
}

uint16_t
sma_set_portinfo(struct model *m, uint32_t node, unsigned in, uint32_t mod,
		 uint8_t data[SMP_DATA_SIZE])
{
	struct sim_node *n = &m->nodes[node];
	uint16_t status = 0;
	struct portinfo a;
	struct target t;

	if (!find_target(n, in, mod, &t))
		return MAD_STATUS_BAD_FIELD;
	portinfo_decode(&a, data);
	if (!good_state(&t, &a) || !good_link(&t, &a) || (t.end && !good_end(n, &a))) {
		status = MAD_STATUS_BAD_FIELD;
	} else {
		if (t.end)
			set_end(n, t.p, &a);
		set_link(n, &t, &a);
		clear_violations(&t.p->info, &a);
		set_state(m, node, &t, in, &a);
		flight_changed(m, node, t.port);
	}
	/* The new key proved itself by being written. */
	sma_get_portinfo(n, in, mod, true, data);
	if (!status && t.end && a.client_reregister) {
		portinfo_decode(&a, data);
		a.client_reregister = true;
		portinfo_encode(&a, data);
	}
	return status;
}
