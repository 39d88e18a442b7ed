/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Discovery by directed routes (IBA 14.2.2, 14.4), many devices at a time.
 *
 * A heavy sweep starts at our own node. Each device that answers is asked for what it is (sweep_next
 * asks, pulled by the transaction engine); each port that is up and whose far end is not known in
 * this sweep is probed: NodeInfo one hop further. To probe each cable from one end only, probes wait
 * for those nearer to us (struct sweep_level): when the devices at distance d have been read and
 * probed, all cables between d and d + 1 are known. A slow device holds that back for one tick only.
 *
 * A light sweep asks every switch for SwitchInfo; where PortStateChange is set (or the device is
 * dirty) its ports are read, and what changed is followed by probes. As master the change bit is
 * cleared before the ports are read: the other order loses a change.
 *
 * A device that lets a request time out is asked again over another path when all else is done,
 * then it is silent: it stays in the model with its last known tables while its cables are up.
 * Two places that claim one GUID: the rival that was there first is probed again, and if it still
 * is who it was, the newcomer is kept out and both routes are told.
 */
#include "sm/core/subnet_i.h"

#include <string.h>
#include "sm/base/mem.h"

#define LEVEL_TICK MSEC(10)
#define BACKOFF_FIRST SEC(10)
#define BACKOFF_MAX SEC(600)

static void
level_open(struct subnet *s);

static monotime
backoff(unsigned failures)
{
	monotime d = BACKOFF_FIRST;

	while (failures-- > 1 && d < BACKOFF_MAX)
		d *= 2;
	return d < BACKOFF_MAX ? d : BACKOFF_MAX;
}

/*
 * Levels.
 */
static void
level_add(struct subnet *s, unsigned level)
{
	s->sweep.level[level].work++;
	if (level > s->sweep.last_level)
		s->sweep.last_level = level;
}

static void
level_done(struct subnet *s, unsigned level)
{
	s->sweep.level[level].work--;
	if (level == s->sweep.open_level)
		level_open(s);
}

static void
level_launch(struct subnet *s, unsigned level)
{
	struct list *l;

	while ((l = list_pop(&s->sweep.level[level].probes)))
		transact_ready(s->transact, &list_entry(l, struct live_port, wait)->probe.target);
}

/* Open the levels behind which nothing is left to do. */
static void
level_open(struct subnet *s)
{
	struct sweep *w = &s->sweep;

	while (w->open_level < w->last_level && !w->level[w->open_level].work)
		level_launch(s, ++w->open_level);
}

/* No progress since the last tick: whoever is slow here must not hold the rest. */
void
sweep_tick(void *subnet)
{
	struct subnet *s = subnet;
	struct sweep *w = &s->sweep;

	if (s->stage != SUBNET_SWEEP)
		return;
	if (w->answers == w->tick_answers && w->open_level < w->last_level)
		level_launch(s, ++w->open_level);
	w->tick_answers = w->answers;
	loop_timer_set(s->level_timer, LEVEL_TICK);
}

/*
 * Wanting things of a device.
 */
static bool
device_wants(const struct device *d)
{
	return d->want_switch_info || d->want_clear || d->want_desc || !bits_empty(&d->read) ||
	       !bits_empty(&d->pkeys) || !bits_empty(&d->sminfo);
}

static void
device_ready(struct subnet *s, struct device *d)
{
	if (!d->busy) {
		d->busy = true;
		d->level = d->hops;
		level_add(s, d->level);
	}
	transact_ready(s->transact, &d->agent.target);
}

static void
device_forget_wants(struct device *d)
{
	d->want_switch_info = d->want_clear = d->want_desc = false;
	d->wait_switch_info = d->wait_port0 = false;
	memset(&d->read, 0, sizeof(d->read));
	memset(&d->pkeys, 0, sizeof(d->pkeys));
	memset(&d->sminfo, 0, sizeof(d->sminfo));
}

/* All that was wanted of the device came, or will not come. */
static void
device_settled(struct subnet *s, struct device *d)
{
	if (!d->busy || d->inflight || (device_wants(d) && !d->suspect))
		return;
	if (!d->suspect && !d->complete) {
		bool is_switch = d->info.node_type == NODE_SWITCH;

		for (unsigned n = is_switch ? 0 : 1; n <= d->info.num_ports && !d->complete; n++) {
			d->complete = d->ports[n].flags & LIVE_PORT_READ;
			if (is_switch)
				break;
		}
		if (d->complete && s->topo.watch.node)
			s->topo.watch.node(s->topo.watch.arg, d, true);
		s->sweep.changed = true;
	}
	d->busy = false;
	level_done(s, d->level);
}

static uint64_t
model_key(const struct device *d)
{
	return (uint64_t)d->info.vendor_id << 48 ^ (uint64_t)d->info.device_id << 32 ^
	       d->info.revision;
}

static void
device_want_all(struct subnet *s, struct device *d, unsigned number)
{
	d->want_desc = true;
	/* What others of its model offer it is asked for at once. */
	if (!d->complete && map_get(&s->topo.extended, model_key(d)) != MAP_NONE)
		d->extended = true;
	if (d->info.node_type == NODE_SWITCH) {
		d->want_switch_info = d->wait_switch_info = true;
		d->wait_port0 = true;
		d->dirty = true;	/* ports follow the SwitchInfo */
		bits_set(&d->read, 0);
	} else {
		bits_set(&d->read, number);
	}
	device_ready(s, d);
}

static void
device_want_port(struct subnet *s, struct live_port *p)
{
	if (p->asked_sweep == s->sweep.id || p->device->silent)
		return;
	bits_set(&p->device->read, p->number);
	device_ready(s, p->device);
}

static void
probe_queue(struct subnet *s, struct live_port *p)
{
	if (p->flags & LIVE_PORT_PROBING)
		return;
	p->flags |= LIVE_PORT_PROBING;
	p->level = p->device->hops;
	level_add(s, p->level);
	if (p->level <= s->sweep.open_level || s->sweep.kind != SWEEP_HEAVY)
		transact_ready(s->transact, &p->probe.target);
	else
		list_append(&s->sweep.level[p->level].probes, &p->wait);
}

static void
probe_finish(struct subnet *s, struct live_port *p)
{
	list_remove(&p->wait);
	p->flags &= (uint16_t)~(LIVE_PORT_PROBING | LIVE_PORT_VERIFYING);
	level_done(s, p->level);
}

static bool
may_probe(const struct subnet *s, const struct live_port *p)
{
	if (p->device->info.node_type == NODE_SWITCH)
		return p->number > 0;
	return p->device == s->topo.own && p->number == s->topo.own_port;
}

/*
 * Asking.
 */
static bool
ask(struct subnet *s, struct device *d, unsigned port, struct transact_request *r, uint8_t method,
    uint16_t attr, uint32_t mod)
{
	r->method = method;
	r->attr_id = attr;
	r->attr_mod = mod;
	if (!subnet_address(s, d, port, r)) {
		d->suspect = true;
		return false;
	}
	if (d->silent)
		r->retries_less = 15;
	d->inflight++;
	return true;
}

static uint32_t
portinfo_mod(const struct device *d, unsigned n)
{
	return n | (d->extended && (n || d->info.node_type != NODE_SWITCH) ?
		    PORTINFO_MOD_EXTENDED : 0);
}

/* A CA is asked through the port that the question is about, a switch anyhow. */
static bool
device_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;
	int n;

	if (d->suspect)
		return false;
	if (d->want_switch_info) {
		d->want_switch_info = false;
		return ask(s, d, 0, r, MAD_GET, ATTR_SWITCH_INFO, 0);
	}
	if (d->want_clear) {
		struct switchinfo sw = d->sw;

		d->want_clear = false;
		sw.port_state_change = true;
		switchinfo_encode(&sw, r->data);
		return ask(s, d, 0, r, MAD_SET, ATTR_SWITCH_INFO, 0);
	}
	if (is_switch && bits_has(&d->read, 0)) {
		bits_clear(&d->read, 0);
		return ask(s, d, 0, r, MAD_GET, ATTR_PORT_INFO, 0);
	}
	if (d->want_desc) {
		int through = bits_first(&d->read);

		for (unsigned i = 1; !is_switch && through < 0 && i <= d->info.num_ports; i++)
			if (d->ports[i].peer || d == s->topo.own)
				through = d == s->topo.own ? s->topo.own_port : (int)i;
		d->want_desc = false;
		return ask(s, d, through < 0 ? 0 : (unsigned)through, r, MAD_GET,
			   ATTR_NODE_DESCRIPTION, 0);
	}
	if (is_switch && (d->wait_switch_info || d->wait_port0))
		return false;
	if ((n = bits_pop(&d->read)) >= 0) {
		d->ports[n].asked_sweep = s->sweep.id;
		return ask(s, d, (unsigned)n, r, MAD_GET, ATTR_PORT_INFO,
			   portinfo_mod(d, (unsigned)n));
	}
	if ((n = bits_pop(&d->sminfo)) >= 0) {
		r->cookie = (uint64_t)n;
		return ask(s, d, (unsigned)n, r, MAD_GET, ATTR_SM_INFO, 0);
	}
	if ((n = bits_pop(&d->pkeys)) >= 0) {
		r->cookie = (uint64_t)n;
		return ask(s, d, (unsigned)n, r, MAD_GET, ATTR_P_KEY_TABLE, 0);
	}
	return false;
}

static bool
probe_next(struct subnet *s, struct live_port *p, struct transact_request *r)
{
	bool confirmed = p->peer && p->link_sweep == s->sweep.id;

	if (!(p->flags & LIVE_PORT_PROBING) || p->flags & LIVE_PORT_PROBED)
		return false;
	if (!(p->flags & LIVE_PORT_VERIFYING) && (confirmed || !live_port_up(p))) {
		probe_finish(s, p);
		return false;
	}
	r->method = MAD_GET;
	r->attr_id = ATTR_NODE_INFO;
	if (!subnet_address(s, p->device, p->number, r) || r->hops == SMP_MAX_HOPS) {
		probe_finish(s, p);
		return false;
	}
	/* The path lies in the subnet's scratch space: one hop further, out of this port. */
	((uint8_t *)(uintptr_t)r->path)[++r->hops] = p->number;
	r->retries_less = p->probe_failures ? 15 : 0;
	p->flags |= LIVE_PORT_PROBED;
	return true;
}

bool
sweep_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	if (a->kind == AGENT_PROBE)
		return probe_next(s, list_entry(a, struct live_port, probe), r);
	if (a->kind == AGENT_DEVICE) {
		struct device *d = list_entry(a, struct device, agent);
		bool more = device_next(s, d, r);

		if (!more)
			device_settled(s, d);
		return more;
	}
	if (!s->own_wanted)
		return false;
	s->own_wanted = false;
	r->method = MAD_GET;
	r->attr_id = ATTR_NODE_INFO;
	return subnet_address(s, NULL, 0, r);
}

/*
 * Reaching devices.
 */
static void
duplicate(struct subnet *s, struct live_port *p, const struct nodeinfo *ni,
	  const struct live_port *first)
{
	uint8_t path[SMP_MAX_HOPS + 1];
	char here[PATH_TEXT_SIZE], there[PATH_TEXT_SIZE], guid[GUID_TEXT_SIZE];
	int hops = topo_path(&s->topo, p->device, p->number, path);

	if (hops >= 0 && hops < SMP_MAX_HOPS)
		path[++hops] = p->number;
	path_text(here, path, hops < 0 ? 0 : (unsigned)hops);
	hops = first ? topo_path(&s->topo, first->device, first->number, path) : -1;
	path_text(there, path, hops < 0 ? 0 : (unsigned)hops);
	if (p->flags & LIVE_PORT_DUPLICATE)
		return;
	p->flags |= LIVE_PORT_DUPLICATE;
	s->duplicates++;
	subnet_event(s, EVENT_DUPLICATE, LOG_L_ERROR, ni->node_guid, ni->local_port,
		     "two devices claim GUID %s: the one at path %s (port %u) is kept, the one at "
		     "path %s is left out; give one of them another GUID",
		     guid_text(guid, ni->node_guid), there, first ? first->number : 0, here);
}

/* A device answers (again): its route is the one that just worked. */
static void
reach(struct subnet *s, struct device *d, struct live_port *from, unsigned number)
{
	struct sweep *w = &s->sweep;
	bool fresh = !d->complete || d->silent;

	if (d->silent) {
		char text[DEVICE_TEXT_SIZE];

		d->silent = false;
		d->lft_trusted = false;		/* who knows what happened to it meanwhile */
		d->failures = 0;
		w->changed = true;
		subnet_event(s, EVENT_SILENT, LOG_L_NOTICE, d->guid, 0, "%s answers again",
			     device_text(text, d, s->env.names));
	}
	if (d->seen_sweep != w->id) {
		d->seen_sweep = w->id;
		if (from && (w->kind == SWEEP_HEAVY || fresh)) {
			int hops = topo_path(&s->topo, from->device, from->number, d->path);

			if (hops >= 0 && hops < SMP_MAX_HOPS) {
				d->path[hops + 1] = from->number;
				d->hops = (uint8_t)(hops + 1);
			}
			d->path_version = s->topo.path_version;
		}
		if (w->kind == SWEEP_HEAVY || fresh) {
			device_want_all(s, d, number);
			return;
		}
	}
	device_want_port(s, &d->ports[number]);
}

static bool
node_info_sane(const struct nodeinfo *ni)
{
	return ni->node_guid && ni->node_type >= NODE_CA && ni->node_type <= NODE_ROUTER &&
	       ni->num_ports >= 1 && ni->num_ports <= 254 && ni->local_port <= ni->num_ports;
}

static bool
same_device(const struct device *d, const struct nodeinfo *ni)
{
	return d->info.node_type == ni->node_type && d->info.num_ports == ni->num_ports &&
	       d->info.system_guid == ni->system_guid;
}

/* The port of another CA that holds this port GUID already, or NULL. */
static struct live_port *
port_guid_owner(struct subnet *s, const struct device *d, const struct nodeinfo *ni)
{
	uint32_t i = map_get(&s->topo.by_port_guid, ni->port_guid);

	if (i == MAP_NONE || !ni->port_guid)
		return NULL;
	for (unsigned n = 1; n <= s->topo.table[i]->info.num_ports; n++) {
		struct live_port *q = &s->topo.table[i]->ports[n];

		if (q->guid == ni->port_guid && (q->device != d || n != ni->local_port))
			return q;
	}
	return NULL;
}

static void
join(struct subnet *s, struct live_port *p, struct live_port *q, const struct nodeinfo *ni)
{
	struct device *d = q->device;

	if (live_peer(p) != q)
		s->sweep.changed = true;
	topo_link(&s->topo, p, q);
	p->link_sweep = q->link_sweep = s->sweep.id;
	p->probe_failures = 0;
	p->flags &= (uint16_t)~(LIVE_PORT_DUPLICATE | LIVE_PORT_UNANSWERED);
	if (d->info.node_type != NODE_SWITCH && q->guid != ni->port_guid) {
		q->guid = ni->port_guid;
		map_set(&s->topo.by_port_guid, q->guid, d->index);
	}
	reach(s, d, p, q->number);
}

/*
 * Port `p` says that its far end is port q, which is joined elsewhere. Probe that other cable again,
 * from an end that can: whoever is behind it decides.
 */
static bool
verify_rival(struct subnet *s, struct live_port *p, struct live_port *q)
{
	struct live_port *rival = live_peer(q);
	struct live_port *v = may_probe(s, rival) ? rival : q;

	if (!may_probe(s, v) || v->verify || v->flags & LIVE_PORT_PROBING)
		return false;
	v->verify = p;
	v->flags |= LIVE_PORT_VERIFYING;
	probe_queue(s, v);
	return true;
}

static void
found(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	struct device *d = topo_find(&s->topo, ni->node_guid);
	struct live_port *owner, *q;

	if (!node_info_sane(ni) || (ni->node_type != NODE_SWITCH && !ni->local_port)) {
		log_limited(&s->limit_device, LOG_L_WARNING, "a device behind port %u of "
			    "0x%016llx answers NodeInfo with impossible values: left out",
			    p->number, (unsigned long long)p->device->guid);
		p->flags |= LIVE_PORT_UNANSWERED;
		return;
	}
	if (ni->node_type != NODE_SWITCH && (owner = port_guid_owner(s, d, ni)) &&
	    owner->peer && owner->link_sweep == s->sweep.id) {
		duplicate(s, p, ni, owner);
		return;
	}
	if (!d) {
		d = topo_add(&s->topo, ni);
		s->sweep.changed = true;
	} else if (!same_device(d, ni)) {
		/* Not who it was. If nobody has answered for the old one it was exchanged. */
		if (d->seen_sweep == s->sweep.id || d == s->topo.own || d->inflight) {
			duplicate(s, p, ni, &d->ports[d->info.node_type == NODE_SWITCH ? 0 : 1]);
			return;
		}
		topo_remove(&s->topo, s->transact, d);
		d = topo_add(&s->topo, ni);
		s->sweep.changed = true;
	}
	q = &d->ports[ni->local_port];
	if (q == p && p->device == d && ni->local_port == p->number) {
		/* A port cannot be its own far end: another switch with our neighbour's GUID. */
		duplicate(s, p, ni, p);
		return;
	}
	if (q->peer && live_peer(q) != p &&
	    (q->link_sweep == s->sweep.id || s->sweep.kind != SWEEP_HEAVY)) {
		if (!verify_rival(s, p, q))
			duplicate(s, p, ni, live_peer(q));
		return;
	}
	join(s, p, q, ni);
}

/* The cable that was there first has answered (`ni`), or not (NULL). */
static void
verified(struct subnet *s, struct live_port *v, const struct nodeinfo *ni)
{
	struct live_port *claimant = v->verify, *peer = live_peer(v), *q;
	struct nodeinfo claim;

	v->verify = NULL;
	q = peer && may_probe(s, v) && ni && peer->device->guid == ni->node_guid &&
	    peer->number == ni->local_port ? peer : NULL;
	if (q) {
		/* It still is who it was: the claim is a second device of one GUID. Which end of the
		 * cable is claimed twice is told by who the claimant was asked about. */
		duplicate(s, claimant, ni, v);
		return;
	}
	topo_unlink(&s->topo, v);
	s->sweep.changed = true;
	if (ni) {
		claim = *ni;
		found(s, v, &claim);
	}
	claimant->flags &= (uint16_t)~LIVE_PORT_DUPLICATE;
	probe_queue(s, claimant);
}

/*
 * Answers.
 */
static void
probe_done(struct subnet *s, struct live_port *p, const struct transact_result *res)
{
	bool verifying = p->flags & LIVE_PORT_VERIFYING;
	bool answered = !res->error && !res->mad_status;
	struct nodeinfo ni;

	p->flags &= (uint16_t)~LIVE_PORT_PROBED;
	if (answered) {
		nodeinfo_decode(&ni, res->data);
		p->flags &= (uint16_t)~LIVE_PORT_UNANSWERED;
		if (!verifying)
			found(s, p, &ni);
		else
			verified(s, p, &ni);
	} else if (verifying) {
		verified(s, p, NULL);
	} else {
		p->flags |= LIVE_PORT_UNANSWERED;
		if (p->probe_failures < 255)
			p->probe_failures++;
		p->probe_after = loop_now(s->env.loop) + backoff(p->probe_failures);
		/* The cable is up: what was known of it stays until a port says otherwise. */
		if (p->peer)
			p->link_sweep = live_peer(p)->link_sweep = s->sweep.id;
	}
	if (!p->verify)
		p->flags &= (uint16_t)~LIVE_PORT_VERIFYING;
	list_remove(&p->wait);
	p->flags &= (uint16_t)~LIVE_PORT_PROBING;
	level_done(s, p->level);
}

static bool
lft_forgotten(const struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer && d->ports[n].info.state >= PORT_ARMED)
			return false;
	return true;
}

static void
switch_info_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct switchinfo old = d->sw;
	bool changed;

	switchinfo_decode(&d->sw, res->data);
	changed = d->sw.port_state_change;
	if (res->method == MAD_SET) {
		d->wait_switch_info = false;
		return;
	}
	if (d->silent || d->seen_sweep != s->sweep.id)
		reach(s, d, NULL, 0);
	if (d->complete && d->sw.linear_fdb_top != old.linear_fdb_top &&
	    !(d->ports[0].stubborn & FIELD_FDB_TOP)) {
		/* Somebody reset it, or wrote it behind our back. */
		d->lft_trusted = false;
		s->sweep.changed = true;
	}
	if (changed && s->role == ROLE_MASTER && !s->first_master_sweep)
		d->want_clear = true;
	d->wait_switch_info = d->want_clear;
	if (!d->dirty && !changed)
		return;
	d->dirty = false;
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		bits_set(&d->read, n);
}

static void
port_down(struct subnet *s, struct live_port *p)
{
	struct live_port *peer = live_peer(p);

	p->flags &= (uint16_t)~(LIVE_PORT_UNANSWERED | LIVE_PORT_DUPLICATE);
	p->probe_failures = 0;
	p->stubborn = 0;
	if (!peer)
		return;
	topo_unlink(&s->topo, p);
	s->sweep.changed = true;
	if (peer->device->info.node_type == NODE_SWITCH)
		device_want_port(s, peer);
}

static void
port_up(struct subnet *s, struct live_port *p, const struct portinfo *old)
{
	bool bounced = p->info.state == PORT_INIT && old->state > PORT_INIT;
	bool due = s->sweep.kind == SWEEP_HEAVY ||
		   loop_now(s->env.loop) >= p->probe_after || old->state < PORT_INIT;

	if (bounced && p->pkey0)
		p->pkey0 = 0;
	if (p->info.state != old->state)
		s->sweep.changed = true;
	if (!may_probe(s, p) || (p->peer && p->link_sweep == s->sweep.id))
		return;
	if (s->sweep.kind == SWEEP_HEAVY || (!p->peer && due) || bounced ||
	    (p->peer && p->info.state == PORT_INIT && old->state < PORT_INIT))
		probe_queue(s, p);
}

static void
end_port_read(struct subnet *s, struct live_port *p)
{
	const struct portinfo *i = &p->info;
	struct device *d = p->device;
	bool own = d == s->topo.own && (p->number == s->topo.own_port || !p->number);

	if (i->cap_mask & CAP_EXTENDED_SPEEDS && !d->extended) {
		d->extended = true;
		map_set(&s->topo.extended, model_key(d), 1);
		if (p->number) {
			bits_set(&d->read, p->number);	/* again, with the bit */
			return;
		}
	}
	if (!(i->cap_mask & CAP_EXTENDED_SPEEDS))
		d->extended = false;
	if (i->cap_mask & CAP_IS_SM && !own)
		bits_set(&d->sminfo, p->number);
	if (p->number && (!p->pkey0 || i->state == PORT_INIT))
		bits_set(&d->pkeys, p->number);
}

static void
port_info_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	struct live_port *p;
	struct portinfo old;

	if (n > d->info.num_ports)
		return;
	p = &d->ports[n];
	old = p->info;
	portinfo_decode(&p->info, res->data);
	if (!(p->flags & LIVE_PORT_READ))
		old.state = PORT_DOWN;
	p->flags |= LIVE_PORT_READ;
	p->read_sweep = s->sweep.id;
	if (d->info.node_type == NODE_SWITCH && !n)
		d->wait_port0 = false;
	if (d->info.node_type != NODE_SWITCH || !n)
		end_port_read(s, p);
	if (d->info.node_type == NODE_SWITCH && !n)
		return;
	if (p->info.state < PORT_INIT)
		port_down(s, p);
	else
		port_up(s, p, &old);
}

static void
description_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	char desc[NODEDESC_SIZE];

	nodedesc_decode(desc, res->data);
	if (strcmp(desc, d->desc))
		s->sweep.changed = true;
	memcpy(d->desc, desc, sizeof(desc));
}

static void
device_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	uint16_t keys[32];
	struct sminfo sm;

	switch (res->attr_id) {
	case ATTR_SWITCH_INFO:
		switch_info_done(s, d, res);
		break;
	case ATTR_PORT_INFO:
		port_info_done(s, d, res);
		break;
	case ATTR_NODE_DESCRIPTION:
		description_done(s, d, res);
		break;
	case ATTR_SM_INFO:
		sminfo_decode(&sm, res->data);
		peers_saw(s, d, (unsigned)res->cookie, &sm);
		break;
	case ATTR_P_KEY_TABLE:
		pkeys_decode(keys, res->data);
		if (res->cookie <= d->info.num_ports)
			push_saw_pkeys(&d->ports[res->cookie], keys);
		break;
	}
}

/* An answer with an error status: the device lives, but this it does not tell. */
static void
device_refusal(struct subnet *s, struct device *d, const struct transact_result *res)
{
	char text[DEVICE_TEXT_SIZE];

	if (res->attr_id == ATTR_PORT_INFO && res->attr_mod & PORTINFO_MOD_EXTENDED) {
		d->extended = false;
		bits_set(&d->read, res->attr_mod & 0xff);
		return;
	}
	if (res->attr_id == ATTR_SWITCH_INFO)
		d->wait_switch_info = false;
	if (res->attr_id == ATTR_PORT_INFO && !(res->attr_mod & 0xff))
		d->wait_port0 = false;
	log_limited(&s->limit_device, LOG_L_WARNING, "%s answers %s (modifier 0x%x) with status "
		    "0x%04x, %s", device_text(text, d, s->env.names),
		    mad_attr_name(res->attr_id), res->attr_mod, res->mad_status,
		    mad_status_text(res->mad_status));
}

/* Put a lost request back, to be asked again in the second round or over a new path. */
static void
device_lost(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;

	switch (res->attr_id) {
	case ATTR_SWITCH_INFO:
		if (res->method == MAD_SET)
			d->want_clear = true;
		else
			d->want_switch_info = true;
		break;
	case ATTR_PORT_INFO:
		if (n <= d->info.num_ports)
			bits_set(&d->read, n);
		break;
	case ATTR_NODE_DESCRIPTION:
		d->want_desc = true;
		break;
	case ATTR_SM_INFO:
		bits_set(&d->sminfo, (unsigned)res->cookie & 0xff);
		break;
	case ATTR_P_KEY_TABLE:
		bits_set(&d->pkeys, (unsigned)res->cookie & 0xff);
		break;
	}
	if (d->path_version == s->topo.path_version || d->suspect) {
		d->suspect = true;
		return;
	}
	/* Cables went since its route was made: perhaps the route died, not the device. */
	topo_make_paths(&s->topo, ++s->topo.marks);
	d->path_version = s->topo.path_version;
}

static void
own_done(struct subnet *s, const struct transact_result *res)
{
	struct topo *t = &s->topo;
	struct nodeinfo ni;

	if (res->error || res->mad_status)
		return;
	nodeinfo_decode(&ni, res->data);
	if (!node_info_sane(&ni))
		return;
	if (t->own && (t->own->guid != ni.node_guid || !same_device(t->own, &ni))) {
		topo_cancel(t, s->transact);
		list_each(it, &t->devices)
			topo_remove(t, s->transact, list_entry(it, struct device, all));
	}
	if (!t->own)
		t->own = topo_find(t, ni.node_guid);
	if (!t->own)
		t->own = topo_add(t, &ni);
	t->own_port = ni.node_type == NODE_SWITCH ? 0 : ni.local_port;
	t->own->hops = 0;
	t->own->path_version = t->path_version;
	if (ni.node_type != NODE_SWITCH) {
		t->own->ports[ni.local_port].guid = ni.port_guid;
		map_set(&t->by_port_guid, ni.port_guid, t->own->index);
	}
	reach(s, t->own, NULL, t->own_port);
}

void
sweep_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d;

	if (!res->error)
		s->sweep.answers++;
	if (a->kind == AGENT_OWN) {
		own_done(s, res);
		return;
	}
	if (a->kind == AGENT_PROBE) {
		probe_done(s, list_entry(a, struct live_port, probe), res);
		return;
	}
	d = list_entry(a, struct device, agent);
	d->inflight--;
	if (res->error || res->mad_status == MAD_STATUS_BUSY) {
		device_lost(s, d, res);
	} else {
		d->answered = true;
		if (res->mad_status)
			device_refusal(s, d, res);
		else
			device_answer(s, d, res);
	}
	if (device_wants(d) && !d->suspect)
		transact_ready(s->transact, &d->agent.target);
	device_settled(s, d);
}

/*
 * Start and end.
 */
void
sweep_init(struct subnet *s)
{
	for (unsigned i = 0; i < SWEEP_LEVELS; i++)
		list_init(&s->sweep.level[i].probes);
	s->own.kind = AGENT_OWN;
	transact_target_init(&s->own.target);
}

/* Ports that are up with nobody known behind them, and silent devices whose time has come. */
static void
start_retries(struct subnet *s, struct device *d)
{
	monotime now = loop_now(s->env.loop);

	if (d->silent || d->info.node_type != NODE_SWITCH)
		return;
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];
		bool mute = p->peer && p->peer->silent && p->peer->info.node_type != NODE_SWITCH;

		if (p->flags & LIVE_PORT_UNANSWERED ? now >= p->probe_after :
		    mute && now >= p->peer->retry_after)
			probe_queue(s, p);
	}
}

static void
start_device(struct subnet *s, struct device *d)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;
	bool dirty = map_get(&s->dirty, d->guid) != MAP_NONE;

	d->suspect = d->retried = d->answered = d->busy = false;
	device_forget_wants(d);
	if (s->sweep.kind == SWEEP_HEAVY)
		return;
	if (d->complete && !d->silent)
		d->seen_sweep = s->sweep.id;
	if (d == s->topo.own && !is_switch) {
		bits_set(&d->read, s->topo.own_port);
		device_ready(s, d);
		return;
	}
	if (d->silent && loop_now(s->env.loop) < d->retry_after)
		return;
	if (is_switch && (dirty || s->sweep.kind == SWEEP_LIGHT)) {
		d->want_switch_info = d->wait_switch_info = true;
		d->dirty |= dirty;
		d->want_desc = dirty;
		device_ready(s, d);
	} else if (dirty && !d->silent) {
		d->want_desc = true;
		for (unsigned n = 1; n <= d->info.num_ports; n++)
			if (d->ports[n].peer)
				bits_set(&d->read, n);
		device_ready(s, d);
	}
	if (s->sweep.kind == SWEEP_LIGHT)
		start_retries(s, d);
}

void
sweep_start(struct subnet *s, enum sweep_kind kind)
{
	struct sweep *w = &s->sweep;

	w->kind = s->topo.own ? kind : SWEEP_HEAVY;
	w->id++;
	w->started = loop_now(s->env.loop);
	w->open_level = w->last_level = 0;
	w->answers = w->tick_answers = 0;
	w->second_round = w->changed = false;
	s->npeers = kind == SWEEP_HEAVY ? 0 : s->npeers;
	if (w->kind == SWEEP_HEAVY)
		s->duplicates = 0;
	for (unsigned i = 0; i < SWEEP_LEVELS; i++)
		w->level[i].work = 0;
	list_each(it, &s->topo.devices)
		start_device(s, list_entry(it, struct device, all));
	map_clear(&s->dirty);
	loop_timer_set(s->level_timer, LEVEL_TICK);
	if (w->kind == SWEEP_HEAVY || transact_is_idle(s->transact)) {
		s->own_wanted = true;
		transact_ready(s->transact, &s->own.target);
	}
}

/* Ask suspects once more, over another cable where there is one. True if there is anything to ask. */
static bool
second_round(struct subnet *s)
{
	bool any = false;

	topo_make_paths(&s->topo, ++s->topo.marks);
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (!d->suspect || d->retried || d->silent)
			continue;
		d->retried = true;
		if (!topo_other_path(&s->topo, d) && !d->answered)
			continue;
		d->suspect = false;
		if (d->info.node_type == NODE_SWITCH)
			d->wait_switch_info = d->want_switch_info || d->want_clear;
		device_ready(s, d);
		any = true;
	}
	return any;
}

static void
make_silent(struct subnet *s, struct device *d)
{
	char text[DEVICE_TEXT_SIZE];

	device_forget_wants(d);
	if (d->failures < 255)
		d->failures++;
	d->retry_after = loop_now(s->env.loop) + backoff(d->failures);
	if (d->silent)
		return;
	d->silent = true;
	s->sweep.changed = true;
	subnet_event(s, EVENT_SILENT, LOG_L_WARNING, d->guid, 0,
		     "%s does not answer though its cable is up; its tables are taken to be as "
		     "they were", device_text(text, d, s->env.names));
}

/* A heavy sweep ends: cables that a live switch did not confirm are gone. */
static void
drop_stale_links(struct subnet *s, struct device *d)
{
	if (d->seen_sweep != s->sweep.id || d->info.node_type != NODE_SWITCH)
		return;
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (p->peer && p->read_sweep == s->sweep.id && p->link_sweep != s->sweep.id) {
			topo_unlink(&s->topo, p);
			s->sweep.changed = true;
		}
	}
}

static void
forget_tables(struct subnet *s, struct device *d)
{
	if (d->info.node_type != NODE_SWITCH || d->silent || !d->lft)
		return;
	if (d->lft_trusted && lft_forgotten(d)) {
		d->lft_trusted = false;
		s->sweep.changed = true;
	}
}

static void
sweep_end(struct subnet *s)
{
	struct topo *t = &s->topo;
	uint32_t mark;

	loop_timer_cancel(s->level_timer);
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		if (s->sweep.kind == SWEEP_HEAVY)
			drop_stale_links(s, d);
		if (d->suspect || (s->sweep.kind == SWEEP_HEAVY && d->seen_sweep != s->sweep.id))
			make_silent(s, d);
	}
	mark = ++t->marks;
	topo_mark_connected(t, mark);
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		if (d->mark == mark) {
			forget_tables(s, d);
			continue;
		}
		s->sweep.changed = true;
		topo_remove(t, s->transact, d);
	}
	topo_make_paths(t, ++t->marks);
	subnet_sweep_done(s);
}

void
sweep_idle(struct subnet *s)
{
	struct sweep *w = &s->sweep;

	for (unsigned l = w->open_level; l < w->last_level; l++) {
		w->open_level = l + 1;
		level_launch(s, l + 1);
		if (!transact_is_idle(s->transact))
			return;
	}
	if (!w->second_round) {
		w->second_round = true;
		if (second_round(s))
			return;
	}
	sweep_end(s);
}
