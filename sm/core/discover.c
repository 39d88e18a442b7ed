/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers of a sweep: what a device said goes into the live model, and what follows from it is
 * wanted next.
 *
 * A NodeInfo from behind a port either joins the port to a device that is known, or makes a new one
 * (found). Two places that claim one GUID: the rival that was there first is probed again, and if
 * it still is who it was, the newcomer is kept out and both routes are told (verify_rival). A port
 * that is up is probed, a port that went down loses its cable and its far end is read.
 */
#include "sm/core/sweep_i.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * Reaching devices.
 */

/* Two devices have the GUID of this switch. What its neighbours told of its cables may be about
 * either of them: it has to find them all by itself. */
static void
dispute(struct subnet *s, struct device *d)
{
	if (d->info.node_type != NODE_SWITCH || d->disputed_sweep == s->sweep.id)
		return;
	d->disputed_sweep = s->sweep.id;
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (!p->peer || p->far_sweep == s->sweep.id)
			continue;
		p->flags |= LIVE_PORT_VERIFYING;
		sweep_probe(s, p);
	}
}

/* The device behind p has the GUID of the one that `first` belongs to or leads to: left out. */
static void
duplicate(struct subnet *s, struct live_port *p, const struct live_port *first)
{
	struct device *d = topo_find(&s->topo, p->far_guid);
	uint8_t path[SMP_MAX_HOPS + 1];
	char here[PATH_TEXT_SIZE], there[PATH_TEXT_SIZE], guid[GUID_TEXT_SIZE];
	int hops = topo_path(&s->topo, p->device, p->number, path);

	if (hops >= 0 && hops < SMP_MAX_HOPS)
		path[++hops] = p->number;
	path_text(here, path, hops < 0 ? 0 : (unsigned)hops);
	hops = first ? topo_path(&s->topo, first->device, first->number, path) : -1;
	path_text(there, path, hops < 0 ? 0 : (unsigned)hops);
	topo_unlink(&s->topo, p);
	if (d)
		dispute(s, d);
	if (p->flags & LIVE_PORT_DUPLICATE)
		return;
	p->flags |= LIVE_PORT_DUPLICATE;
	subnet_event(s, EVENT_DUPLICATE, LOG_L_ERROR, p->far_guid, p->far_port,
		     "two devices claim GUID %s: the one at path %s (port %u) is kept, the one at "
		     "path %s is left out; give one of them another GUID",
		     guid_text(guid, p->far_guid), there, first ? first->number : 0, here);
}

/* Nobody is known behind the port though its cable is up: it is asked again after a while. */
static void
probe_failed(struct subnet *s, struct live_port *p)
{
	p->flags &= (uint16_t)~LIVE_PORT_DUPLICATE;
	p->flags |= LIVE_PORT_UNANSWERED;
	if (p->probe_failures < 255)
		p->probe_failures++;
	p->probe_after = loop_now(s->env.loop) + sweep_backoff(p->probe_failures);
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
			sweep_want_all(s, d, number);
			return;
		}
	}
	sweep_want_port(s, &d->ports[number]);
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
	q->flags &= (uint16_t)~(LIVE_PORT_DUPLICATE | LIVE_PORT_UNANSWERED);
	if (d->info.node_type != NODE_SWITCH && q->guid != ni->port_guid) {
		q->guid = ni->port_guid;
		map_set(&s->topo.by_port_guid, q->guid, d->index);
	}
	reach(s, d, p, q->number);
	/* The link is new: so may be all that the far end holds. */
	if (p->info.state == PORT_INIT)
		sweep_want_switch(s, d);
}

/* What is behind v decides whether p's claim is right; a probe under way is as good. */
static void
verify(struct subnet *s, struct live_port *p, struct live_port *v)
{
	v->verify = p;
	v->verified_sweep = s->sweep.id;
	v->flags |= LIVE_PORT_VERIFYING;
	sweep_probe(s, v);
}

/*
 * Port `p` says that its far end is port q, which is joined elsewhere. Probe that other cable
 * again, from an end that can: whoever is behind it decides.
 */
static bool
verify_rival(struct subnet *s, struct live_port *p, struct live_port *q)
{
	struct live_port *rival = live_peer(q);
	struct live_port *v = sweep_may_probe(s, rival) ? rival : q;

	/* Once a sweep: devices that answer otherwise each time must not keep it from ending. */
	if (!sweep_may_probe(s, v) || v->verify || v->verified_sweep == s->sweep.id)
		return false;
	verify(s, p, v);
	return true;
}

/*
 * Port p itself finds q behind it, but in this sweep another port has said that its far end is p:
 * the cable moved, or two devices have the GUID of p's. Ask that other port again.
 */
static void
doubt_claim(struct subnet *s, struct live_port *p, const struct live_port *q)
{
	struct live_port *other = live_peer(p);

	if (!other || other == q || p->link_sweep != s->sweep.id)
		return;
	topo_unlink(&s->topo, p);
	if (sweep_may_probe(s, other))
		sweep_probe(s, other);
}

/* The device that answered behind p, known or new; NULL if it is left out. */
static struct device *
device_behind(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	struct device *d = topo_find(&s->topo, ni->node_guid);
	struct live_port *owner;

	if (!node_info_sane(ni) || (ni->node_type != NODE_SWITCH && !ni->local_port)) {
		log_limited(&s->limit_device, LOG_L_WARNING, "a device behind port %u of "
			    "0x%016llx answers NodeInfo with impossible values: left out",
			    p->number, (unsigned long long)p->device->guid);
		probe_failed(s, p);
		return NULL;
	}
	if (ni->node_type != NODE_SWITCH && (owner = port_guid_owner(s, d, ni)) &&
	    owner->peer && owner->link_sweep == s->sweep.id) {
		duplicate(s, p, owner);
		return NULL;
	}
	if (d && same_device(d, ni))
		return d;
	/* Not who it was. If nobody has answered for the old one it was exchanged. */
	if (d && (d->seen_sweep == s->sweep.id || d == s->topo.own || d->inflight)) {
		duplicate(s, p, &d->ports[d->info.node_type == NODE_SWITCH ? 0 : 1]);
		return NULL;
	}
	if (d)
		topo_remove(&s->topo, s->transact, d);
	s->sweep.changed = true;
	return topo_add(&s->topo, ni);
}

/*
 * Port p says that q is at its far end, and q is no other's. True if that is to be believed: q has
 * not found another behind itself in this sweep, and need not be asked.
 */
static bool
believable(struct subnet *s, struct live_port *p, struct live_port *q)
{
	struct device *d = q->device;

	if (live_peer(q) == p || !sweep_may_probe(s, q))
		return true;
	if (q->far_sweep == s->sweep.id) {
		if (q->far_guid == p->device->guid && q->far_port == p->number)
			return true;
		duplicate(s, p, q);
		return false;
	}
	if (q->read_sweep == s->sweep.id && !live_port_up(q)) {
		/* It was down when it was read: it came up since, and then finds us by itself, or
		 * it is not the one that answered. */
		probe_failed(s, p);
		bits_set(&d->read, q->number);
		sweep_device_ready(s, d);
		return false;
	}
	/* A switch cabled to itself is rarer than two of one GUID. */
	if (d != p->device && d->disputed_sweep != s->sweep.id)
		return true;
	if (q->verify || q->verified_sweep == s->sweep.id) {
		probe_failed(s, p);
		return false;
	}
	verify(s, p, q);
	return false;
}

static void
found(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	struct device *d;
	struct live_port *q;

	p->far_sweep = s->sweep.id;
	p->far_guid = ni->node_guid;
	p->far_port = ni->local_port;
	d = device_behind(s, p, ni);
	if (!d)
		return;
	q = &d->ports[ni->local_port];
	if (q == p) {
		/* A port cannot be its own far end: another switch with our neighbour's GUID. */
		duplicate(s, p, p);
		return;
	}
	doubt_claim(s, p, q);
	if (q->peer && live_peer(q) != p &&
	    (q->link_sweep == s->sweep.id || s->sweep.kind != SWEEP_HEAVY)) {
		if (!verify_rival(s, p, q))
			duplicate(s, p, live_peer(q));
		return;
	}
	if (believable(s, p, q))
		join(s, p, q, ni);
}

/* The cable that was there first has answered (`ni`), or not (NULL). */
static void
verified(struct subnet *s, struct live_port *v, const struct nodeinfo *ni)
{
	struct live_port *claimant = v->verify, *peer = live_peer(v);

	v->verify = NULL;
	if (peer && ni && peer->device->guid == ni->node_guid && peer->number == ni->local_port) {
		/* It still is who it was: the claim is a second device of one GUID, unless the two
		 * have been joined meanwhile. */
		v->far_sweep = s->sweep.id;
		v->far_guid = ni->node_guid;
		v->far_port = ni->local_port;
		if (peer != claimant)
			duplicate(s, claimant, v);
		return;
	}
	topo_unlink(&s->topo, v);
	s->sweep.changed = true;
	if (ni)
		found(s, v, ni);
	else
		probe_failed(s, v);
	claimant->flags &= (uint16_t)~LIVE_PORT_DUPLICATE;
	sweep_probe(s, claimant);
}

/*
 * Answers.
 */
static void
probe_done(struct subnet *s, struct live_port *p, const struct transact_result *res)
{
	bool answered = !res->error && !res->mad_status;
	struct nodeinfo ni;

	p->flags &= (uint16_t)~(LIVE_PORT_PROBED | LIVE_PORT_VERIFYING);
	if (answered) {
		nodeinfo_decode(&ni, res->data);
		p->flags &= (uint16_t)~LIVE_PORT_UNANSWERED;
	}
	if (p->verify) {
		verified(s, p, answered ? &ni : NULL);
	} else if (answered) {
		found(s, p, &ni);
	} else {
		probe_failed(s, p);
		/* The cable is up: what was known of it stays until a port says otherwise. */
		if (p->peer)
			p->link_sweep = live_peer(p)->link_sweep = s->sweep.id;
	}
	list_remove(&p->wait);
	p->flags &= (uint16_t)~LIVE_PORT_PROBING;
	sweep_level_done(s, p->level);
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
		/* What was reset has lost its LID, and does not tell of it any more. */
		bits_set(&d->read, 0);
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
	if (!d->want_clear && d->ports[0].asked_sweep != s->sweep.id)
		bits_set(&d->read, 0);
}

static bool
has_cables(const struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer)
			return true;
	return false;
}

/* It does not answer: do the far ends of its cables still see it? */
static void
ask_neighbours(struct subnet *s, struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer && sweep_may_probe(s, live_peer(&d->ports[n])))
			sweep_want_port(s, live_peer(&d->ports[n]));
}

static void
port_down(struct subnet *s, struct live_port *p)
{
	struct live_port *peer = live_peer(p);

	p->flags &= (uint16_t)~(LIVE_PORT_UNANSWERED | LIVE_PORT_DUPLICATE | LIVE_PORT_STUCK);
	p->probe_failures = 0;
	p->stubborn = 0;
	if (!peer)
		return;
	topo_unlink(&s->topo, p);
	s->sweep.changed = true;
	/* Nothing leads to it any more: what it was asked will not be answered. */
	if (!has_cables(peer->device) && peer->device != s->topo.own)
		transact_cancel(s->transact, &peer->device->agent.target);
	else if (peer->device->info.node_type == NODE_SWITCH)
		sweep_want_port(s, peer);
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
	if (p->info.state == PORT_INIT && old->state != PORT_INIT)
		p->device->relinked = true;
	if (!sweep_may_probe(s, p) || (p->peer && p->link_sweep == s->sweep.id))
		return;
	/* In INIT it may be another cable than it was, whoever saw it come up. */
	if (s->sweep.kind == SWEEP_HEAVY || (!p->peer && due) ||
	    (p->peer && p->info.state == PORT_INIT))
		sweep_probe(s, p);
}

static void
end_port_read(struct subnet *s, struct live_port *p)
{
	const struct portinfo *i = &p->info;
	struct device *d = p->device;
	bool own = d == s->topo.own && (p->number == s->topo.own_port || !p->number);

	if (i->cap_mask & CAP_EXTENDED_SPEEDS && !d->extended) {
		d->extended = true;
		map_set(&s->topo.extended, sweep_model_key(d), 1);
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
	else if (push_ports_differ(&old, &p->info))
		s->sweep.changed = true;	/* somebody else wrote to it */
	p->flags |= LIVE_PORT_READ;
	p->read_sweep = s->sweep.id;
	if (d->info.node_type != NODE_SWITCH || !n) {
		end_port_read(s, p);
		s->sweep.changed |= push_end_port_off(s, p);
	}
	if (d->info.node_type == NODE_SWITCH && !n) {
		d->wait_port0 = false;
		/* It was reset, or somebody else has taken it in hand. */
		if (p->info.lid != old.lid)
			d->lft_trusted = false;
		return;
	}
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
	if (res->attr_id == ATTR_SWITCH_INFO && res->method == MAD_SET)
		bits_set(&d->read, 0);
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
		/* A program answers this, not the device, which may be well without it. */
		peers_lost(s, d, (unsigned)res->cookie);
		return;
	case ATTR_P_KEY_TABLE:
		bits_set(&d->pkeys, (unsigned)res->cookie & 0xff);
		break;
	}
	if (res->error == ERR_TIMEOUT)
		ask_neighbours(s, d);
	if (d->suspect || (d != s->topo.own && !has_cables(d))) {
		d->suspect = true;
		return;
	}
	/* Cables went since its route was made: perhaps the route died, not the device. */
	if (d->path_version != s->topo.path_version) {
		topo_make_paths(&s->topo, ++s->topo.marks);
		d->path_version = s->topo.path_version;
	}
	d->suspect = topo_path_hash(d) == d->tried_path;
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
	if (sweep_device_wants(d) && !d->suspect)
		transact_ready(s->transact, &d->agent.target);
	sweep_device_settled(s, d);
}
