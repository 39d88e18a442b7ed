/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/model/counters.h"
#include "sim/model/model_impl.h"

/*
 * What goes wrong with the simulated devices and their links, and how all of it ends.
 *
 * A fault is a field of a node, a port or, for what few links have, of a struct link_faults that
 * the region keeps once a link had a fault. Those of a cable are written at both of its ends. What
 * a device can do, was told by Sets, or lost is no fault and stays.
 */
#define SLOW_QUEUE 32u

/* One that may have a cable. */
static bool
is_port(const struct model *m, uint32_t node, unsigned port)
{
	return port && model_has_port(m, node, port);
}

static struct link_faults *
faults_of(struct model *m, struct sim_port *p)
{
	if (!p->faults)
		p->faults = region_alloc(m->region, sizeof(*p->faults));
	return p->faults;
}

/* ---- Links ---- */

void
model_link_flap(struct model *m, uint32_t node, unsigned port, monotime down)
{
	struct flight *f;

	if (!is_port(m, node, port))
		return;
	faults_of(m, &m->nodes[node].ports[port]);
	model_link_set(m, node, port, false);
	f = flight_new(m, FLIGHT_FLAP, node, port);
	f->tid = m->nodes[node].ports[port].faults->flap;
	flight_start(m, f, down);
}

void
fault_flap_ends(struct model *m, const struct flight *f)
{
	const struct sim_port *p = &m->nodes[f->node].ports[f->port];

	if (p->faults && p->faults->flap == f->tid)
		model_link_set(m, f->node, f->port, true);
}

void
model_link_limit(struct model *m, uint32_t node, unsigned port, enum link_width width,
		 enum link_speed speed)
{
	struct sim_port *ends[2];
	char rate[LINK_TEXT_SIZE];

	if (!is_port(m, node, port))
		return;
	ends[0] = &m->nodes[node].ports[port];
	ends[1] = model_peer(m, ends[0]);
	for (unsigned i = 0; i < 2 && ends[i]; i++) {
		faults_of(m, ends[i])->width = (uint8_t)width;
		ends[i]->faults->speed = (uint8_t)speed;
	}
	watch_link(m, node, port, width || speed ? "trains at most at %s" : "trains as before",
		   link_text(rate, width ? width : ends[0]->cable_width,
			     speed ? speed : ends[0]->cable_speed));
	if (ends[1])
		model_link_retrain(m, node, port);
}

static const char *const ways[] = { "pass", "leave", "come in", "pass" };

/* The ports by which MADs leave that go this way over the port's cable. */
static unsigned
senders(struct model *m, uint32_t node, unsigned port, enum model_way way, struct sim_port *p[2])
{
	unsigned n = 0;

	if (!is_port(m, node, port))
		return 0;
	p[n] = &m->nodes[node].ports[port];
	if (way & MODEL_OUT)
		n++;
	if (way & MODEL_IN && (p[n] = model_peer(m, &m->nodes[node].ports[port])))
		n++;
	return n;
}

void
model_link_drop(struct model *m, uint32_t node, unsigned port, enum model_way way, uint32_t ppm)
{
	struct sim_port *p[2];
	unsigned n = senders(m, node, port, way, p);

	if (!n)
		return;
	while (n--)
		faults_of(m, p[n])->loss_ppm = ppm;
	watch_link(m, node, port, "loses %" PRIu32 " of 1000000 MADs that %s", ppm, ways[way & 3]);
}

void
model_link_delay(struct model *m, uint32_t node, unsigned port, enum model_way way, monotime delay)
{
	struct sim_port *p[2];
	unsigned n = senders(m, node, port, way, p);
	char text[DURATION_TEXT_SIZE];

	if (!n)
		return;
	while (n--)
		faults_of(m, p[n])->delay = delay;
	watch_link(m, node, port, "holds MADs that %s for %s", ways[way & 3],
		   duration_text(text, delay));
}

/* ---- Power ---- */

static void
power_off(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	n->off = true;
	for (unsigned p = 0; p <= n->nports; p++)
		n->ports[p].info.sm_lid = 0;	/* whom no trap reaches any more */
	model_links_down(m, node);
	device_init(m, n);
	counters_reset(m, node);
	if (n->type == NODE_SWITCH)	/* other end ports' links changed as well */
		flight_start(m, flight_new(m, FLIGHT_CHANGED, node, 0), 0);
}

static void
power_on(struct model *m, uint32_t node)
{
	m->nodes[node].off = false;
	model_links_train(m, node);
}

void
model_power(struct model *m, uint32_t node, bool on)
{
	struct sim_node *n = &m->nodes[node];

	if (n->off == !on)
		return;
	watch_say(m, "%s is switched %s", n->desc, on ? "on" : "off");
	if (on)
		power_on(m, node);
	else
		power_off(m, node);
}

bool
model_is_on(const struct model *m, uint32_t node)
{
	return !m->nodes[node].off;
}

void
model_reboot(struct model *m, uint32_t node)
{
	watch_say(m, "%s reboots", m->nodes[node].desc);
	power_off(m, node);
	power_on(m, node);
}

void
model_set_caps(struct model *m, uint32_t node, const struct model_caps *caps)
{
	struct model_caps *own = region_alloc(m->region, sizeof(*own));

	device_caps(&m->o, caps, own);
	m->nodes[node].caps = own;
	model_reboot(m, node);
}

/* ---- Answers ---- */

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
attribute_slot(uint16_t list[MUTES], uint16_t attr_id)
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
	uint16_t *slot = attribute_slot(m->nodes[node].mute, attr_id);

	if (!slot)
		return;
	*slot = on ? attr_id : 0;
	watch_say(m, "%s %s attribute 0x%04x", m->nodes[node].desc,
		  on ? "is silent about" : "answers again about", attr_id);
}

/* False: as many attributes as can be are remembered already. */
static bool
set_status(uint16_t list[MUTES], uint16_t statuses[MUTES], uint16_t attr_id, uint16_t status)
{
	uint16_t *slot = attribute_slot(list, attr_id);

	if (!slot)
		return false;
	*slot = status ? attr_id : 0;
	statuses[slot - list] = status;
	return true;
}

void
model_refuse(struct model *m, uint32_t node, uint16_t attr_id, uint16_t status)
{
	struct sim_node *n = &m->nodes[node];

	if (!set_status(n->refuse, n->refuse_status, attr_id, status))
		return;
	if (status)
		watch_say(m, "%s refuses Sets of attribute 0x%04x with status 0x%04x", n->desc,
			  attr_id, status);
	else
		watch_say(m, "%s takes Sets of attribute 0x%04x again", n->desc, attr_id);
}

void
model_fail_get(struct model *m, uint32_t node, uint16_t attr_id, uint16_t status)
{
	struct sim_node *n = &m->nodes[node];

	if (!set_status(n->fail, n->fail_status, attr_id, status))
		return;
	if (status)
		watch_say(m, "%s answers Gets of attribute 0x%04x with status 0x%04x", n->desc,
			  attr_id, status);
	else
		watch_say(m, "%s answers Gets of attribute 0x%04x again", n->desc, attr_id);
}

uint16_t
fault_status(const struct sim_node *n, bool set, uint16_t attr_id)
{
	const uint16_t *list = set ? n->refuse : n->fail;

	for (unsigned i = 0; i < MUTES; i++)
		if (list[i] && list[i] == attr_id)
			return set ? n->refuse_status[i] : n->fail_status[i];
	return 0;
}

void
model_drop(struct model *m, uint32_t node, uint32_t ppm)
{
	uint32_t first = node == MODEL_ALL ? 0 : node;
	uint32_t end = node == MODEL_ALL ? m->net->nnodes : node + 1;

	for (uint32_t i = first; i < end; i++)
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
model_slow(struct model *m, uint32_t node, uint32_t mads_per_second, uint32_t queue)
{
	struct sim_node *n = &m->nodes[node];

	n->slow = mads_per_second ? SEC(1) / mads_per_second : 0;
	n->slow_queue = queue ? queue : SLOW_QUEUE;
	n->busy_until = 0;
	if (n->slow)
		watch_say(m, "%s does %" PRIu32 " MADs a second at most", n->desc,
			  mads_per_second);
	else
		watch_say(m, "%s does MADs as fast as before", n->desc);
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

/* ---- Identities, and local changes ---- */

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
model_set_lid(struct model *m, uint32_t node, unsigned port, uint16_t lid)
{
	m->nodes[node].ports[port].info.lid = lid;
	flight_start(m, flight_new(m, FLIGHT_CHANGED, node, port), 0);
	watch_say(m, "%s/%u has LID %u", m->nodes[node].desc, port, lid);
}

void
model_set_system_guid(struct model *m, uint32_t node, uint64_t guid)
{
	struct sim_node *n = &m->nodes[node];

	if (n->system_guid == guid)
		return;
	n->system_guid = guid;
	watch_say(m, "%s has SystemImageGUID 0x%016" PRIx64, n->desc, guid);
	for (unsigned p = 0; p <= n->nports; p++)
		if (is_end_port(n, p) && port_is_up(&n->ports[p]))
			trap_145(m, node, p);
}

void
model_set_description(struct model *m, uint32_t node, const char *text)
{
	struct sim_node *n = &m->nodes[node];

	watch_say(m, "%s is described as \"%.*s\"", n->desc, NODEDESC_SIZE - 1, text);
	snprintf(n->desc, sizeof(n->desc), "%s", text);
	for (unsigned p = 0; p <= n->nports; p++)
		if (is_end_port(n, p) && port_is_up(&n->ports[p]))
			trap_144(m, node, p, NOTICE_144_NODE_DESCRIPTION);
}

bool
model_set_enabled(struct model *m, uint32_t node, unsigned port, uint8_t widths, uint8_t speeds)
{
	struct sim_node *n;
	struct portinfo *i;

	if (!is_port(m, node, port))
		return false;
	n = &m->nodes[node];
	i = &n->ports[port].info;
	if (widths & ~i->width_supported || speeds & ~i->speed_supported)
		return false;
	if (widths)
		i->width_enabled = widths;
	if (speeds)
		i->speed_enabled = speeds;
	trap_144(m, node, end_number(n, port),
		 (uint16_t)((widths ? NOTICE_144_LINK_WIDTH : 0) |
			    (speeds ? NOTICE_144_LINK_SPEED : 0)));
	return true;
}

void
model_local_change(struct model *m, uint32_t node, unsigned port, uint16_t flags)
{
	if (model_has_port(m, node, port) && is_end_port(&m->nodes[node], port))
		trap_144(m, node, port, flags);
}

/* ---- The end of it ---- */

static void
heal_port(struct model *m, uint32_t node, unsigned port)
{
	const struct ibnet_port *ib = &m->nodes[node].ib->ports[port];
	struct sim_port *p = &m->nodes[node].ports[port];

	if (p->peer != ib->peer || (p->peer != IBNET_NONE && p->peer_port != ib->peer_port)) {
		model_cable_reset(m, node, port);
		if (ib->peer == IBNET_NONE)
			model_unplug(m, node, port);
		else
			model_recable(m, node, port, ib->peer, ib->peer_port);
	}
	model_link_set(m, node, port, true);
	if (!p->faults)
		return;
	if (p->faults->width || p->faults->speed)
		model_link_limit(m, node, port, 0, SPEED_NONE);
	if (p->faults->loss_ppm)
		model_link_drop(m, node, port, MODEL_OUT, 0);
	if (p->faults->delay)
		model_link_delay(m, node, port, MODEL_OUT, 0);
}

static void
heal_attributes(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	for (unsigned i = 0; i < MUTES; i++) {
		if (n->mute[i])
			model_mute(m, node, n->mute[i], false);
		if (n->refuse[i])
			model_refuse(m, node, n->refuse[i], 0);
		if (n->fail[i])
			model_fail_get(m, node, n->fail[i], 0);
	}
}

static void
heal_node(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	model_power(m, node, true);
	if (n->silence)
		model_silence(m, node, MODEL_ANSWERS);
	heal_attributes(m, node);
	if (n->drop_ppm)
		model_drop(m, node, 0);
	if (n->delay)
		model_delay(m, node, 0);
	if (n->slow)
		model_slow(m, node, 0, 0);
	if (n->keep)
		model_keep(m, node, 0);
	if (n->lie_port)
		model_lie_local_port(m, node, 0);
	if (n->guid != n->ib->guid)
		model_set_node_guid(m, node, n->ib->guid);
	model_set_system_guid(m, node, n->ib->system_guid);
	if (strncmp(n->desc, n->ib->desc, NODEDESC_SIZE - 1) != 0)
		model_set_description(m, node, n->ib->desc);
	for (unsigned p = 0; p <= n->nports; p++) {
		if (n->ports[p].guid != n->ib->ports[p].guid)
			model_set_port_guid(m, node, p, n->ib->ports[p].guid);
		if (p)
			heal_port(m, node, p);
	}
}

void
model_heal(struct model *m, uint32_t node)
{
	uint32_t first = node == MODEL_ALL ? 0 : node;
	uint32_t end = node == MODEL_ALL ? m->net->nnodes : node + 1;

	for (uint32_t i = first; i < end; i++)
		heal_node(m, i);
}
