/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/counters.h"
#include "sim/ar_impl.h"
#include "sm/base/error.h"

/*
 * The simulated devices: nodes, ports and cables, what they hold, and what goes wrong with them.
 *
 * A struct model owns its nodes and ports in one region; forwarding tables grow on their own. A
 * link is two ports that name each other: it goes down at once and comes up when it has trained
 * (FLIGHT_TRAIN), both ends in Initialize, whereupon switches note PortStateChange and send a trap.
 * Link states: IBA volume 1, 7.2; capabilities and their defaults: 14.2.5.3 to 14.2.5.6.
 */
#define HOP_TIME 500
#define SMA_TIME USEC(5)
#define TRAIN_TIME MSEC(1)
#define LFT_LEN_MIN 256u

/* CapabilityMask2 bits that newer speeds come with. */
#define CAP2_WIDTH_2X 0x0010u
#define CAP2_HDR 0x0020u
#define CAP2_NDR 0x0400u
#define CAP2_EXTENDED_2 0x0800u
#define CAP2_XDR 0x1000u

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

static void
init_capabilities(struct portinfo *i, const struct ability *a)
{
	i->cap_mask = CAP_NOTICE | CAP_TRAP | CAP_SL_MAPPING | CAP_CLIENT_REREGISTER;
	if (a->speed >= SPEED_FDR)
		i->cap_mask |= CAP_EXTENDED_SPEEDS;
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
	i->guid_cap = GUIDS;
	i->resp_time = 16;
	i->subnet_timeout = 18;
}

static void
init_link(struct portinfo *i, const struct ability *a)
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
	i->neighbor_mtu = 1;
	i->op_vls = 1;
	i->vl_arb_low_cap = i->vl_arb_high_cap = 8;
	i->hoq_life = 16;
	i->local_phy_errors = i->overrun_errors = 8;
}

/* A port as it is after power-up. */
static void
init_port(const struct model *m, struct sim_node *n, unsigned port)
{
	struct sim_port *p = &n->ports[port];
	struct ability a = ability_of(n->ib);

	memset(&p->info, 0, sizeof(p->info));
	p->lease_end = MONOTIME_NEVER;
	p->pkeys = NULL;
	p->guids = NULL;
	p->vlarb = NULL;
	p->disabled = false;
	init_link(&p->info, &a);
	if (is_end_port(n, port))
		init_capabilities(&p->info, &a);
	p->info.mtu_cap = m->o.mtu_cap;
	p->info.vl_cap = m->o.vl_cap;
	if (n->type != NODE_SWITCH || port)
		return;
	p->info.state = PORT_ACTIVE;
	p->info.phys_state = PHYS_LINK_UP;
	p->info.neighbor_mtu = m->o.mtu_cap;
	p->info.vl_cap = 1;
}

static void
init_node(const struct model *m, struct sim_node *n)
{
	for (unsigned p = n->type == NODE_SWITCH ? 0 : 1; p <= n->nports; p++)
		init_port(m, n, p);
	ar_reset(n);
	n->sl2vl = NULL;
	n->mft = NULL;
	n->lft_len = 0;
	n->busy_until = 0;
	memset(n->traps, 0, sizeof(n->traps));
	memset(&n->sw, 0, sizeof(n->sw));
	n->sw.linear_fdb_cap = LID_TABLE_LEN;
	n->sw.multicast_fdb_cap = MCAST_LIDS;
	n->sw.life_time = 18;
	n->sw.port_state_change = true;
	n->sw.partition_enforcement_cap = SWITCH_PKEYS;
	n->sw.enforce_in_cap = n->sw.enforce_out_cap = true;
	n->sw.enhanced_port0 = n->ib->enhanced_port0;
}

static void
build_node(struct model *m, uint32_t index)
{
	const struct ibnet_node *ib = &m->net->nodes[index];
	struct sim_node *n = &m->nodes[index];

	n->ib = ib;
	n->type = ib->type;
	n->nports = ib->nports;
	n->guid = ib->guid;
	n->ports = region_array(m->region, ib->nports + 1u, sizeof(*n->ports));
	snprintf(n->desc, sizeof(n->desc), "%s", ib->desc);
	init_node(m, n);
	for (unsigned i = 0; i <= ib->nports; i++) {
		struct sim_port *p = &n->ports[i];

		p->guid = ib->ports[i].guid;
		p->peer = ib->ports[i].peer;
		p->peer_port = ib->ports[i].peer_port;
		p->cable_width = ib->ports[i].width;
		p->cable_speed = ib->ports[i].speed;
		if (is_end_port(n, i)) {
			p->info.lid = ib->ports[i].lid;
			p->info.lmc = ib->ports[i].lmc;
		}
	}
}

struct model *
model_new(struct loop *l, const struct ibnet *net, const struct model_options *options)
{
	struct region *r = region_new();
	struct model *m = region_alloc(r, sizeof(*m));

	m->region = r;
	m->loop = l;
	m->net = net;
	if (options)
		m->o = *options;
	m->o.hop_time = m->o.hop_time ? m->o.hop_time : HOP_TIME;
	m->o.sma_time = m->o.sma_time ? m->o.sma_time : SMA_TIME;
	m->o.train_time = m->o.train_time ? m->o.train_time : TRAIN_TIME;
	m->o.mtu_cap = m->o.mtu_cap ? m->o.mtu_cap : 5;
	m->o.vl_cap = m->o.vl_cap ? m->o.vl_cap : 4;
	m->rng.state = m->o.seed;
	m->timer = loop_timer_new(l, flight_timer, m);
	m->turn_timer = loop_timer_new(l, flight_turn, m);
	m->last = &m->first;
	m->nodes = region_array(r, net->nnodes, sizeof(*m->nodes));
	m->quiet = true;
	for (uint32_t i = 0; i < net->nnodes; i++)
		build_node(m, i);
	ar_init(m);
	for (uint32_t i = 0; i < net->nnodes; i++)
		for (unsigned p = 1; p <= m->nodes[i].nports; p++)
			model_link_trained(m, i, p);
	m->quiet = false;
	return m;
}

void
model_free(struct model *m)
{
	struct sim_port *p;

	if (!m)
		return;
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		mem_free(m->nodes[i].lft);
		ar_free(&m->nodes[i]);
		counters_free(m, i);
		for (unsigned k = 0; k <= m->nodes[i].nports; k++)
			if ((p = &m->nodes[i].ports[k])->client)
				mem_free(p->client);
	}
	mem_free(m->heap);
	loop_timer_free(m->timer);
	loop_timer_free(m->turn_timer);
	region_free(m->region);
}

const struct ibnet *
model_ibnet(const struct model *m)
{
	return m->net;
}

struct loop *
model_loop(const struct model *m)
{
	return m->loop;
}

/* ---- Links ---- */

static struct sim_port *
peer_of(struct model *m, const struct sim_port *p)
{
	return p->peer == IBNET_NONE ? NULL : &m->nodes[p->peer].ports[p->peer_port];
}

/* The widest that the cable carries and both ends allow; 0 if there is none. */
static uint8_t
common_width(const struct sim_port *a, const struct sim_port *b)
{
	static const uint8_t order[] = { LINK_12X, LINK_8X, LINK_4X, LINK_2X, LINK_1X };
	unsigned enabled = a->info.width_enabled & b->info.width_enabled;

	for (size_t i = 0; i < sizeof(order); i++)
		if (enabled & order[i] && link_lanes(order[i]) <= link_lanes(a->cable_width))
			return order[i];
	return 0;
}

static bool
speed_enabled(const struct portinfo *i, unsigned speed)
{
	switch (speed) {
	case SPEED_SDR:
		return i->speed_enabled & 1;
	case SPEED_DDR:
		return i->speed_enabled & 2;
	case SPEED_QDR:
	case SPEED_FDR10:	/* its own bit is in a vendor's attribute */
		return i->speed_enabled & 4;
	case SPEED_FDR:
		return i->speed_ext_enabled & 1;
	case SPEED_EDR:
		return i->speed_ext_enabled & 2;
	case SPEED_HDR:
		return i->speed_ext_enabled & 4;
	case SPEED_NDR:
		return i->speed_ext_enabled & 8;
	case SPEED_XDR:
		return i->speed_ext2_enabled & 1;
	}
	return false;
}

static void
set_rate(struct portinfo *i, uint8_t width, unsigned speed)
{
	i->width_active = width;
	i->speed_active = speed >= SPEED_QDR ? 4 : speed == SPEED_DDR ? 2 : 1;
	i->speed_ext_active = speed == SPEED_NDR ? 8 : speed == SPEED_HDR ? 4 :
		speed == SPEED_EDR ? 2 : speed == SPEED_FDR ? 1 : 0;
	i->speed_ext2_active = speed == SPEED_XDR;
}

static void
link_changed(struct model *m, uint32_t node, struct sim_port *p)
{
	struct sim_node *n = &m->nodes[node];

	if (n->type == NODE_SWITCH) {
		n->sw.port_state_change = true;
		trap_128(m, node);
	}
	if (p->client)
		flight_start(m, flight_new(m, FLIGHT_LINK, node, (unsigned)(p - n->ports)), 0);
}

static bool
may_train(const struct sim_port *p, const struct sim_port *q)
{
	return q && !p->cut && !p->disabled && !q->disabled && !port_is_up(p);
}

void
model_link_trained(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = peer_of(m, p);
	unsigned speed = p->cable_speed;
	char rate[LINK_TEXT_SIZE];
	uint8_t width;

	p->training = false;
	if (!may_train(p, q))
		return;
	width = common_width(p, q);
	while (speed && !(speed_enabled(&p->info, speed) && speed_enabled(&q->info, speed)))
		speed--;
	if (!width || !speed)
		return;
	p->info.state = q->info.state = PORT_INIT;
	p->info.phys_state = q->info.phys_state = PHYS_LINK_UP;
	set_rate(&p->info, width, speed);
	set_rate(&q->info, width, speed);
	watch_link(m, node, port, "is up, %s", link_text(rate, width, speed));
	link_changed(m, node, p);
	if (q != p)
		link_changed(m, p->peer, q);
}

static void
train(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port];

	if (p->training || !may_train(p, peer_of(m, p)))
		return;
	p->training = true;
	flight_start(m, flight_new(m, FLIGHT_TRAIN, node, port), m->o.train_time);
}

static void
end_down(struct model *m, uint32_t node, struct sim_port *p)
{
	if (port_is_up(p) && !p->disabled)
		counter_add(m, node, (unsigned)(p - m->nodes[node].ports), CTR_DOWNED, 1);
	p->info.state = PORT_DOWN;
	p->info.phys_state = p->disabled ? PHYS_DISABLED : PHYS_POLLING;
}

void
model_link_down(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = peer_of(m, p);
	bool was_up = port_is_up(p);

	end_down(m, node, p);
	if (was_up && q) {
		end_down(m, p->peer, q);
		watch_link(m, node, port, "is down");
		link_changed(m, node, p);
		if (q != p)
			link_changed(m, p->peer, q);
	}
	train(m, node, port);
}

static bool
exists(const struct model *m, uint32_t node, unsigned port)
{
	return node < m->net->nnodes && port <= m->nodes[node].nports;
}

void
model_link_set(struct model *m, uint32_t node, unsigned port, bool up)
{
	struct sim_port *p, *q;

	if (!exists(m, node, port) || !port)
		return;
	p = &m->nodes[node].ports[port];
	if (!(q = peer_of(m, p)) || p->cut == !up)
		return;
	p->cut = q->cut = !up;
	watch_link(m, node, port, up ? "is mended" : "is cut");
	if (up)
		train(m, node, port);
	else
		model_link_down(m, node, port);
}

static void
unplug(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = peer_of(m, p);

	if (!q)
		return;
	watch_link(m, node, port, "is unplugged");
	p->cut = q->cut = true;
	model_link_down(m, node, port);
	p->cut = q->cut = false;
	p->peer = q->peer = IBNET_NONE;
}

void
model_recable(struct model *m, uint32_t a, unsigned aport, uint32_t b, unsigned bport)
{
	char rate[LINK_TEXT_SIZE];
	struct sim_port *p, *q;

	if (!exists(m, a, aport) || !exists(m, b, bport) || !aport || !bport)
		return;
	unplug(m, a, aport);
	unplug(m, b, bport);
	p = &m->nodes[a].ports[aport];
	q = &m->nodes[b].ports[bport];
	if (!p->cable_width) {
		p->cable_width = q->cable_width ? q->cable_width : LINK_4X;
		p->cable_speed = q->cable_speed ? q->cable_speed : SPEED_SDR;
	}
	p->peer = b;
	p->peer_port = (uint8_t)bport;
	q->peer = a;
	q->peer_port = (uint8_t)aport;
	q->cable_width = p->cable_width;
	q->cable_speed = p->cable_speed;
	watch_link(m, a, aport, "is cabled, %s",
		   link_text(rate, p->cable_width, p->cable_speed));
	train(m, a, aport);
}

void
model_reboot(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	watch_say(m, "%s reboots", n->desc);
	for (unsigned p = 0; p <= n->nports; p++)
		n->ports[p].info.sm_lid = 0;	/* whom no trap reaches any more */
	for (unsigned p = 1; p <= n->nports; p++)
		if (port_is_up(&n->ports[p]))
			model_link_down(m, node, p);
	init_node(m, n);
	counters_reset(m, node);
	if (n->type == NODE_SWITCH)	/* other end ports' links changed as well */
		flight_start(m, flight_new(m, FLIGHT_CHANGED, node, 0), 0);
	for (unsigned p = 1; p <= n->nports; p++)
		train(m, node, p);
}

/* ---- Tables, and looking into them ---- */

void
model_lft_set(struct sim_node *n, unsigned block, const uint8_t *data)
{
	uint32_t need = (block + 1) * LFT_BLOCK_LEN, len = LFT_LEN_MIN;

	if (need > n->lft_len) {
		while (len < need)
			len *= 2;
		n->lft = mem_realloc(n->lft, len, 1);
		memset(n->lft + n->lft_len, LFT_NO_PORT, len - n->lft_len);
		n->lft_len = len;
	}
	memcpy(n->lft + block * LFT_BLOCK_LEN, data, LFT_BLOCK_LEN);
}

const struct portinfo *
model_portinfo(const struct model *m, uint32_t node, unsigned port)
{
	return exists(m, node, port) ? &m->nodes[node].ports[port].info : NULL;
}

uint64_t
model_port_guid(const struct model *m, uint32_t node, unsigned port)
{
	return exists(m, node, port) ? m->nodes[node].ports[port].guid : 0;
}

const struct switchinfo *
model_switchinfo(const struct model *m, uint32_t node)
{
	return &m->nodes[node].sw;
}

uint8_t
model_lft(const struct model *m, uint32_t node, uint16_t lid)
{
	const struct sim_node *n = &m->nodes[node];

	return lid < n->lft_len ? n->lft[lid] : LFT_NO_PORT;
}

uint64_t
model_guid(const struct model *m, uint32_t node, unsigned port, unsigned index)
{
	const uint64_t *guids = exists(m, node, port) ? m->nodes[node].ports[port].guids : NULL;

	if (!index)
		return model_port_guid(m, node, port);
	return guids && index < GUIDS ? guids[index] : 0;
}

unsigned
model_pkeys(const struct model *m, uint32_t node, unsigned port)
{
	if (m->nodes[node].type != NODE_SWITCH)
		return CA_PKEYS;
	return port ? SWITCH_PKEYS : PORT0_PKEYS;
}

uint16_t
model_pkey(const struct model *m, uint32_t node, unsigned port, unsigned index)
{
	const uint16_t *keys = m->nodes[node].ports[port].pkeys;

	if (keys)
		return keys[index];
	return index ? 0 : 0xffff;
}

uint8_t
model_sl2vl(const struct model *m, uint32_t node, unsigned in, unsigned out, unsigned sl)
{
	const struct sim_node *n = &m->nodes[node];
	uint8_t byte;

	if (!n->sl2vl)
		return sl % 8;
	byte = n->sl2vl[((size_t)in * (n->nports + 1u) + out) * 8 + sl / 2];
	return sl % 2 ? byte & 15 : byte >> 4;
}

bool
model_link_is_up(const struct model *m, uint32_t node, unsigned port)
{
	return exists(m, node, port) && port_is_up(&m->nodes[node].ports[port]);
}

static unsigned
count_of(uint8_t method)
{
	return method == MAD_GET ? COUNT_GET : method == MAD_SET ? COUNT_SET : COUNT_OTHER;
}

uint64_t
model_count(const struct model *m, uint32_t node, uint8_t method, uint16_t attr_id)
{
	if (attr_id >= ATTRS)
		return 0;
	return node == MODEL_ALL ? m->counts[attr_id][count_of(method)] :
		m->nodes[node].counts[attr_id][count_of(method)];
}

void
model_count_reset(struct model *m)
{
	memset(m->counts, 0, sizeof(m->counts));
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		memset(m->nodes[i].counts, 0, sizeof(m->nodes[i].counts));
	m->sent = m->lost = 0;
}

unsigned
model_reregisters(const struct model *m, uint32_t node, unsigned port)
{
	return m->nodes[node].ports[port].reregisters;
}

uint64_t
model_sent(const struct model *m)
{
	return m->sent;
}

uint64_t
model_lost(const struct model *m)
{
	return m->lost;
}

/* ---- Faults of one node ---- */

void
model_silence(struct model *m, uint32_t node, enum model_silence how)
{
	static const char *const says[] = {
		"answers again", "answers nothing", "answers nothing and passes no directed routes",
	};

	m->nodes[node].silence = (uint8_t)how;
	watch_say(m, "%s %s", m->nodes[node].desc, says[how]);
}

/* The slot of an attribute, or a free one; NULL if all are taken. */
static uint16_t *
mute_slot(uint16_t list[MUTES], uint16_t attr_id)
{
	uint16_t *slot = NULL;

	for (unsigned i = 0; i < MUTES; i++) {
		if (list[i] == attr_id)
			return &list[i];
		if (!list[i])
			slot = &list[i];
	}
	return slot;
}

void
model_mute(struct model *m, uint32_t node, uint16_t attr_id, bool on)
{
	uint16_t *slot = mute_slot(m->nodes[node].mute, attr_id);

	if (!slot)
		return;
	*slot = on ? attr_id : 0;
	watch_say(m, "%s %s attribute 0x%04x", m->nodes[node].desc,
		  on ? "is silent about" : "answers again about", attr_id);
}

void
model_refuse(struct model *m, uint32_t node, uint16_t attr_id, uint16_t status)
{
	struct sim_node *n = &m->nodes[node];
	uint16_t *slot = mute_slot(n->refuse, attr_id);

	if (!slot)
		return;
	*slot = status ? attr_id : 0;
	n->refuse_status[slot - n->refuse] = status;
	if (status)
		watch_say(m, "%s refuses Sets of attribute 0x%04x with status 0x%04x", n->desc,
			  attr_id, status);
	else
		watch_say(m, "%s takes Sets of attribute 0x%04x again", n->desc, attr_id);
}

void
model_drop(struct model *m, uint32_t node, uint32_t ppm)
{
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		if (node == MODEL_ALL || node == i)
			m->nodes[i].drop_ppm = ppm;
	watch_say(m, "%s loses %" PRIu32 " of 1000000 MADs", watch_name(m, node), ppm);
}

void
model_delay(struct model *m, uint32_t node, monotime delay)
{
	char text[DURATION_TEXT_SIZE];

	m->nodes[node].delay = delay;
	watch_say(m, "%s answers %s late", m->nodes[node].desc, duration_text(text, delay));
}

void
model_keep(struct model *m, uint32_t node, unsigned fields)
{
	m->nodes[node].keep = fields;
	watch_say(m, "%s keeps fields 0x%x when they are set", m->nodes[node].desc, fields);
}

void
model_lie_local_port(struct model *m, uint32_t node, uint8_t port)
{
	m->nodes[node].lie_port = port;
	if (port)
		watch_say(m, "%s tells local port %u", m->nodes[node].desc, port);
	else
		watch_say(m, "%s tells its local port", m->nodes[node].desc);
}

void
model_set_node_guid(struct model *m, uint32_t node, uint64_t guid)
{
	m->nodes[node].guid = guid;
	watch_say(m, "%s has node GUID 0x%016" PRIx64, m->nodes[node].desc, guid);
}

void
model_set_port_guid(struct model *m, uint32_t node, unsigned port, uint64_t guid)
{
	m->nodes[node].ports[port].guid = guid;
	flight_start(m, flight_new(m, FLIGHT_CHANGED, node, port), 0);
	watch_say(m, "%s/%u has port GUID 0x%016" PRIx64, m->nodes[node].desc, port, guid);
}

void
model_set_description(struct model *m, uint32_t node, const char *text)
{
	struct sim_node *n = &m->nodes[node];

	watch_say(m, "%s is described as \"%.*s\"", n->desc, NODEDESC_SIZE - 1, text);
	snprintf(n->desc, sizeof(n->desc), "%s", text);
	for (unsigned p = 0; p <= n->nports; p++) {
		if (is_end_port(n, p) && port_is_up(&n->ports[p])) {
			trap_144(m, node, p, NOTICE_144_NODE_DESCRIPTION);
			return;
		}
	}
}
