/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/model/ar_impl.h"
#include "sim/model/counters.h"
#include "sm/base/error.h"

/*
 * The simulated devices: nodes, ports and cables, and what they hold.
 *
 * A struct model owns its nodes and ports in one region; the tables of a node, which a reboot
 * loses, come and go on their own. A link is two ports that name each other: it goes down at once
 * and comes up when it has trained (FLIGHT_TRAIN), both ends in Initialize, whereupon switches note
 * PortStateChange and send a trap. It trains while neither end is disabled or without power and
 * one of them polls; a port that sleeps is woken by the other (IBA volume 2, 5.7). Link states:
 * volume 1, 7.2. PortStateChange tells what links do by themselves, not what a Set did: 14.2.5.4.
 */
#define HOP_TIME 500
#define SMA_TIME USEC(5)
#define TRAIN_TIME MSEC(1)
#define LFT_LEN_MIN 256u

void
model_cable_reset(struct model *m, uint32_t node, unsigned port)
{
	const struct ibnet_port *ib = &m->nodes[node].ib->ports[port];
	struct sim_port *p = &m->nodes[node].ports[port];

	p->cable_width = ib->width;
	p->cable_speed = ib->speed;
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
	n->system_guid = ib->system_guid;
	n->caps = &m->o.caps;
	n->ports = region_array(m->region, ib->nports + 1u, sizeof(*n->ports));
	snprintf(n->desc, sizeof(n->desc), "%s", ib->desc);
	device_init(m, n);
	for (unsigned i = 0; i <= ib->nports; i++) {
		struct sim_port *p = &n->ports[i];

		p->guid = ib->ports[i].guid;
		p->peer = ib->ports[i].peer;
		p->peer_port = ib->ports[i].peer_port;
		model_cable_reset(m, index, i);
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
	device_caps(&m->o, &m->o.caps, &m->o.caps);
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
		device_tables_free(&m->nodes[i]);
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

struct sim_port *
model_peer(struct model *m, const struct sim_port *p)
{
	return p->peer == IBNET_NONE ? NULL : &m->nodes[p->peer].ports[p->peer_port];
}

static unsigned
max_lanes(const struct sim_port *p)
{
	unsigned cable = link_lanes(p->cable_width);
	unsigned limit = p->faults ? link_lanes(p->faults->width) : 0;

	return limit && limit < cable ? limit : cable;
}

/* The widest that the cable carries and both ends allow; 0 if there is none. */
static uint8_t
common_width(const struct sim_port *a, const struct sim_port *b)
{
	static const uint8_t order[] = { LINK_12X, LINK_8X, LINK_4X, LINK_2X, LINK_1X };
	unsigned enabled = a->info.width_enabled & b->info.width_enabled;

	for (size_t i = 0; i < sizeof(order); i++)
		if (enabled & order[i] && link_lanes(order[i]) <= max_lanes(a))
			return order[i];
	return 0;
}

static bool
speed_enabled(const struct sim_port *p, unsigned speed)
{
	const struct portinfo *i = &p->info;

	switch (speed) {
	case SPEED_SDR:
		return i->speed_enabled & 1;
	case SPEED_DDR:
		return i->speed_enabled & 2;
	case SPEED_QDR:
		return i->speed_enabled & 4;
	case SPEED_FDR10:	/* its own bit is in a vendor's attribute */
		return i->speed_enabled & 4 && p->fdr10 & FDR10_ENABLED;
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

/* The best that the cable carries and both ends allow; 0 if there is none. */
static unsigned
common_speed(const struct sim_port *a, const struct sim_port *b)
{
	unsigned speed = a->cable_speed;

	if (a->faults && a->faults->speed && a->faults->speed < speed)
		speed = a->faults->speed;
	while (speed && !(speed_enabled(a, speed) && speed_enabled(b, speed)))
		speed--;
	return speed;
}

static void
set_rate(struct sim_port *p, uint8_t width, unsigned speed)
{
	struct portinfo *i = &p->info;

	i->width_active = width;
	i->speed_active = speed >= SPEED_QDR ? 4 : speed == SPEED_DDR ? 2 : 1;
	i->speed_ext_active = speed == SPEED_NDR ? 8 : speed == SPEED_HDR ? 4 :
		speed == SPEED_EDR ? 2 : speed == SPEED_FDR ? 1 : 0;
	i->speed_ext2_active = speed == SPEED_XDR;
	p->fdr10 &= (uint8_t)~FDR10_ACTIVE;
	if (speed == SPEED_FDR10)
		p->fdr10 |= FDR10_ACTIVE;
}

void
model_touched(struct model *m)
{
	if (m->source)
		m->source->touched(m->source->arg);
}

static void
link_changed(struct model *m, uint32_t node, struct sim_port *p, bool by_set)
{
	struct sim_node *n = &m->nodes[node];

	model_touched(m);
	if (n->type == NODE_SWITCH && !by_set) {
		n->sw.port_state_change = true;
		trap_128(m, node);
	}
	if (p->client)
		flight_start(m, flight_new(m, FLIGHT_CHANGED, node, (unsigned)(p - n->ports)), 0);
}

static bool
may_train(const struct model *m, uint32_t node, const struct sim_port *p, const struct sim_port *q)
{
	return q && !p->cut && !port_is_up(p) && !m->nodes[node].off && !m->nodes[p->peer].off &&
		p->info.phys_state != PHYS_DISABLED && q->info.phys_state != PHYS_DISABLED &&
		(p->info.phys_state == PHYS_POLLING || q->info.phys_state == PHYS_POLLING);
}

void
model_link_trained(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = model_peer(m, p);
	char rate[LINK_TEXT_SIZE];
	unsigned speed;
	uint8_t width;

	p->training = false;
	if (!may_train(m, node, p, q))
		return;
	width = common_width(p, q);
	speed = common_speed(p, q);
	if (!width || !speed)
		return;
	p->info.state = q->info.state = PORT_INIT;
	p->info.phys_state = q->info.phys_state = PHYS_LINK_UP;
	set_rate(p, width, speed);
	set_rate(q, width, speed);
	watch_link(m, node, port, "is up, %s", link_text(rate, width, speed));
	link_changed(m, node, p, false);
	if (q != p)
		link_changed(m, p->peer, q, false);
}

static void
train(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port];

	if (p->training || !may_train(m, node, p, model_peer(m, p)))
		return;
	p->training = true;
	flight_start(m, flight_new(m, FLIGHT_TRAIN, node, port), m->o.train_time);
}

/* A port that was told to be disabled or to sleep stays so. LinkDowned counts links that failed,
 * not those that a subnet manager took down. */
static void
end_down(struct model *m, uint32_t node, struct sim_port *p, unsigned phys_state, bool by_set)
{
	if (port_is_up(p) && !by_set)
		counter_add(m, node, (unsigned)(p - m->nodes[node].ports), CTR_DOWNED, 1);
	p->info.state = PORT_DOWN;
	if (phys_state)
		p->info.phys_state = (uint8_t)phys_state;
	else if (p->info.phys_state > PHYS_DISABLED)
		p->info.phys_state = p->info.down_default;
}

static void
take_down(struct model *m, uint32_t node, unsigned port, unsigned phys_state, bool by_set)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = model_peer(m, p);
	bool was_up = port_is_up(p);

	end_down(m, node, p, phys_state, by_set);
	if (was_up && q) {
		end_down(m, p->peer, q, 0, by_set);
		watch_link(m, node, port, "is down");
		link_changed(m, node, p, by_set);
		if (q != p)
			link_changed(m, p->peer, q, false);
	}
	train(m, node, port);
}

void
model_link_retrain(struct model *m, uint32_t node, unsigned port)
{
	take_down(m, node, port, 0, false);
}

void
model_port_set_down(struct model *m, uint32_t node, unsigned port, unsigned phys_state)
{
	take_down(m, node, port, phys_state, true);
}

void
model_links_down(struct model *m, uint32_t node)
{
	for (unsigned p = 1; p <= m->nodes[node].nports; p++)
		if (port_is_up(&m->nodes[node].ports[p]))
			take_down(m, node, p, 0, false);
}

void
model_links_train(struct model *m, uint32_t node)
{
	for (unsigned p = 1; p <= m->nodes[node].nports; p++)
		train(m, node, p);
}

bool
model_has_port(const struct model *m, uint32_t node, unsigned port)
{
	return node < m->net->nnodes && port <= m->nodes[node].nports;
}

void
model_link_set(struct model *m, uint32_t node, unsigned port, bool up)
{
	struct sim_port *p, *q;

	if (!model_has_port(m, node, port) || !port)
		return;
	p = &m->nodes[node].ports[port];
	if (!(q = model_peer(m, p)))
		return;
	if (p->faults)
		p->faults->flap++;
	if (p->cut == !up)
		return;
	p->cut = q->cut = !up;
	watch_link(m, node, port, up ? "is mended" : "is cut");
	if (up)
		train(m, node, port);
	else
		take_down(m, node, port, 0, false);
}

void
model_unplug(struct model *m, uint32_t node, unsigned port)
{
	struct sim_port *p = &m->nodes[node].ports[port], *q = model_peer(m, p);

	if (!q)
		return;
	watch_link(m, node, port, "is unplugged");
	p->cut = q->cut = true;
	take_down(m, node, port, 0, false);
	p->cut = q->cut = false;
	p->peer = q->peer = IBNET_NONE;
}

void
model_recable(struct model *m, uint32_t a, unsigned aport, uint32_t b, unsigned bport)
{
	char rate[LINK_TEXT_SIZE];
	struct sim_port *p, *q;

	if (!model_has_port(m, a, aport) || !model_has_port(m, b, bport) || !aport || !bport)
		return;
	model_unplug(m, a, aport);
	model_unplug(m, b, bport);
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
	return model_has_port(m, node, port) ? &m->nodes[node].ports[port].info : NULL;
}

uint64_t
model_port_guid(const struct model *m, uint32_t node, unsigned port)
{
	return model_has_port(m, node, port) ? m->nodes[node].ports[port].guid : 0;
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

uint16_t
model_mft(const struct model *m, uint32_t node, uint16_t mlid, unsigned position)
{
	return node_mft(&m->nodes[node], mlid, position);
}

uint64_t
model_guid(const struct model *m, uint32_t node, unsigned port, unsigned index)
{
	const struct sim_port *p;

	if (!index || !model_has_port(m, node, port))
		return model_port_guid(m, node, port);
	p = &m->nodes[node].ports[port];
	return p->guids && index < p->info.guid_cap ? p->guids[index] : 0;
}

unsigned
model_pkeys(const struct model *m, uint32_t node, unsigned port)
{
	return model_has_port(m, node, port) ? device_pkeys(&m->nodes[node], port) : 0;
}

uint16_t
model_pkey(const struct model *m, uint32_t node, unsigned port, unsigned index)
{
	return index < model_pkeys(m, node, port) ?
		port_pkey(&m->nodes[node].ports[port], index) : 0;
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

void
model_vlarb(const struct model *m, uint32_t node, unsigned port, unsigned block,
	    struct vlarb_entry e[32])
{
	const struct sim_port *p = &m->nodes[node].ports[port];

	memset(e, 0, 32 * sizeof(*e));
	if (p->vlarb)
		vlarb_decode(e, p->vlarb + (block - 1) * (size_t)SMP_DATA_SIZE);
}

bool
model_link_is_up(const struct model *m, uint32_t node, unsigned port)
{
	return model_has_port(m, node, port) && port_is_up(&m->nodes[node].ports[port]);
}

unsigned
model_method(uint8_t method)
{
	return method == MAD_GET ? COUNT_GET : method == MAD_SET ? COUNT_SET : COUNT_OTHER;
}

uint64_t
model_count(const struct model *m, uint32_t node, uint8_t method, uint16_t attr_id)
{
	unsigned how = model_method(method), cc = attr_id - MODEL_CC(0);

	if (cc < CC_ATTRS)
		return node == MODEL_ALL ? m->cc_counts[cc][how] :
			m->nodes[node].cc_counts[cc][how];
	if (attr_id >= ATTRS)
		return 0;
	return node == MODEL_ALL ? m->counts[attr_id][how] :
		m->nodes[node].counts[attr_id][how];
}

void
model_count_reset(struct model *m)
{
	memset(m->counts, 0, sizeof(m->counts));
	memset(m->cc_counts, 0, sizeof(m->cc_counts));
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		memset(m->nodes[i].counts, 0, sizeof(m->nodes[i].counts));
		memset(m->nodes[i].cc_counts, 0, sizeof(m->nodes[i].cc_counts));
	}
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
