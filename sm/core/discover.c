/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answers of a sweep: what a device said goes into the live model, and what follows from it is
 * wanted next.
 *
 * A NodeInfo from behind a port either joins the port to a device that is known, or makes a new one
 * (sweep_found); who has the right to a GUID that is claimed in two places is seen to in claims.c.
 * A port that is up is probed, a port that went down loses its cable and its far end is read.
 */
#include "sm/core/sweep_i.h"

#include <string.h>
#include "sm/base/mem.h"

#define PKEY_BLOCKS 8u		/* of a port that a sweep waits for */

/*
 * Reaching devices.
 */

void
sweep_probe_failed(struct subnet *s, struct live_port *p)
{
	claims_close(p);
	p->flags |= LIVE_PORT_UNANSWERED;
	remarks_add(&s->topo, p->device);
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
		topo_doubt_table(d);		/* who knows what happened to it meanwhile */
		tables_forget_device(&s->topo.tables, d);
		for (unsigned n = 0; n <= d->info.num_ports; n++) {
			guids_forget(s, &d->ports[n]);
			congestion_forget(s, &d->ports[n]);
			order_forget(d);
			/* What is behind it was asked through it, and may live too. */
			if (d->ports[n].peer)
				d->ports[n].peer->retry_after = 0;
		}
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
	       ni->num_ports >= 1 && ni->num_ports <= 254 && ni->local_port <= ni->num_ports &&
	       (ni->node_type == NODE_SWITCH || (ni->local_port && ni->port_guid));
}

/* The port was cabled elsewhere before, and was read then. */
static bool
is_read_elsewhere(const struct live_port *p, const struct live_port *q)
{
	if (p->info.state <= PORT_INIT)
		return false;
	if (p->peer)
		return live_peer(p) != q;
	return p->lost_peer && (p->lost_peer != q->device->guid || p->lost_number != q->number);
}

void
sweep_join(struct subnet *s, struct live_port *p, struct live_port *q, const struct nodeinfo *ni)
{
	struct device *d = q->device;

	if (is_read_elsewhere(q, p))
		q->asked_sweep = 0;
	if (is_read_elsewhere(p, q)) {
		p->asked_sweep = 0;
		sweep_want_port(s, p);
	}
	if (live_peer(p) != q || p->fell || q->fell)
		s->sweep.changed = true;
	topo_link(&s->topo, p, q);
	p->fell = q->fell = p->raised = q->raised = false;
	p->link_sweep = q->link_sweep = s->sweep.id;
	p->probe_failures = 0;
	p->flags &= (uint16_t)~(LIVE_PORT_UNANSWERED | LIVE_PORT_TOO_FAR);
	q->flags &= (uint16_t)~(LIVE_PORT_UNANSWERED | LIVE_PORT_TOO_FAR);
	claims_close(p);
	claims_close(q);
	if (d->info.node_type != NODE_SWITCH && q->guid != ni->port_guid) {
		topo_set_port_guid(&s->topo, q, ni->port_guid);
		s->sweep.changed = true;
	}
	reach(s, d, p, q->number);
	/* The link is new: so may be all that the far end holds. */
	if (p->info.state == PORT_INIT)
		sweep_want_switch(s, d);
}

/* The device that answered behind p and that nobody else claims to be, known or new. */
static struct device *
device_behind(struct subnet *s, const struct nodeinfo *ni)
{
	struct device *d = topo_find(&s->topo, ni->node_guid);

	if (d && sweep_same_device(d, ni))
		return d;
	s->sweep.changed = true;
	/* Not who it was, and it has no other cable: it was exchanged. */
	if (d) {
		sweep_drop_device(s, d);
		topo_remove(&s->topo, s->transact, d);
	}
	return topo_add(&s->topo, ni);
}

void
sweep_found(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	struct live_port *q;
	uint64_t guid;

	p->far_sweep = s->sweep.id;
	p->far_guid = ni->node_guid;
	p->far_port = ni->local_port;
	if (!node_info_sane(ni)) {
		log_limited(&s->limit_device, LOG_L_WARNING, "a device behind port %u of "
			    "0x%016llx answers NodeInfo with impossible values: left out",
			    p->number, (unsigned long long)p->device->guid);
		sweep_probe_failed(s, p);
		return;
	}
	q = claims_holder(s, p, ni, &guid);
	if (q) {
		claims_challenge(s, p, q, guid);
		return;
	}
	q = &device_behind(s, ni)->ports[ni->local_port];
	claims_doubt(s, p, q);
	if (claims_believable(s, p, q))
		sweep_join(s, p, q, ni);
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
	if (res->error == ERR_CLOSED) {
		claims_undecided(s, p);		/* the device is being removed */
	} else if (p->flags & LIVE_PORT_JUDGE) {
		claims_judged(s, p, answered ? &ni : NULL);
	} else if (answered) {
		sweep_found(s, p, &ni);
	} else {
		sweep_probe_failed(s, p);
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
	if (!d->sw_read) {
		d->sw_read = true;
		mft_forget(s, d);	/* what it may hold could not be told before */
	}
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
		topo_doubt_table(d);
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

void
sweep_ask_along(struct subnet *s, const struct device *d, unsigned cables)
{
	struct device *at = s->topo.own;

	for (unsigned i = 1; at && at != d && i <= d->hops; i++) {
		struct live_port *p;

		if (d->path[i] > at->info.num_ports)
			return;
		p = &at->ports[d->path[i]];
		if (i + cables > d->hops && sweep_may_probe(s, p))
			sweep_want_port(s, p);
		at = p->peer;
	}
}

/* Either it is slow, or a cable went that nobody has told of. */
void
sweep_late(struct subnet *s, struct agent *a)
{
	struct device *d = list_entry(a, struct device, agent);

	if (a->kind == AGENT_OWN || s->sweep.kind == SWEEP_HEAVY)
		return;
	if (a->kind == AGENT_PROBE) {
		struct live_port *p = list_entry(a, struct live_port, probe);

		sweep_ask_along(s, p->device, p->device->hops);
		sweep_want_port(s, p);
		return;
	}
	if (d->silent)
		return;
	if (d->info.node_type == NODE_SWITCH)
		sweep_ask_along(s, d, d->hops);
	ask_neighbours(s, d);
}

/* One that still sees it, as far as is known. */
static void
ask_a_neighbour(struct subnet *s, struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *peer = live_peer(&d->ports[n]);

		if (!peer || !sweep_may_probe(s, peer) || peer->device->silent || peer->device == d)
			continue;
		sweep_want_port(s, peer);
		return;
	}
}

/* A neighbour sees it no more. It is asked itself; but perhaps it is gone, and not the cable: then
 * another neighbour does not see it either, and when a second one says so all of them are asked. */
static void
lost_cable_of(struct subnet *s, struct live_port *peer)
{
	struct device *d = peer->device;

	if (!has_cables(d) && d != s->topo.own) {
		/* Nothing leads to it any more: what it was asked will not be answered. */
		transact_cancel(s->transact, &d->agent.target);
	} else if (d->info.node_type == NODE_SWITCH) {
		sweep_want_port(s, peer);
		if (d->cut_sweep == s->sweep.id)
			ask_neighbours(s, d);
		else
			ask_a_neighbour(s, d);
		d->cut_sweep = s->sweep.id;
	} else {
		/* A host is not asked through the port that has lost its cable. */
		bits_clear(&d->read, peer->number);
		bits_clear(&d->pkeys, peer->number);
		bits_clear(&d->sminfo, peer->number);
	}
}

static void
port_down(struct subnet *s, struct live_port *p)
{
	struct live_port *peer = live_peer(p);

	p->flags &= (uint16_t)~(LIVE_PORT_UNANSWERED | LIVE_PORT_STUCK | LIVE_PORT_TOO_FAR);
	claims_close(p);
	p->probe_failures = 0;
	remarks_stubborn(&s->topo, p, 0);
	if (!peer)
		return;
	topo_unlink(&s->topo, p);
	s->sweep.changed = true;
	lost_cable_of(s, peer);
}

/* Its link was up, and is to be brought up again. If it was looked at in this sweep, it has come
 * up anew since, and so has its far end; but a host that was found behind a port in INIT is as
 * that. */
static void
came_anew(struct subnet *s, struct live_port *p)
{
	struct live_port *peer = live_peer(p);

	if (peer && !sweep_may_probe(s, p) && p->link_sweep == s->sweep.id &&
	    peer->info.state == PORT_INIT)
		return;
	topo_doubt_link(p);
	p->link_sweep = 0;
	if (peer)
		peer->link_sweep = peer->asked_sweep = 0;
}

static void
port_up(struct subnet *s, struct live_port *p, const struct portinfo *old)
{
	bool due = s->sweep.kind == SWEEP_HEAVY ||
		   loop_now(s->env.loop) >= p->probe_after || old->state < PORT_INIT ||
		   p->flags & LIVE_PORT_DUPLICATE;

	if (p->info.state != old->state)
		s->sweep.changed = true;
	if (p->info.state == PORT_INIT && old->state != PORT_INIT)
		p->device->relinked = true;
	if (p->info.state == PORT_INIT && old->state > PORT_INIT) {
		health_flapped(s, p);
		came_anew(s, p);
	}
	health_look(s, p);
	if (p->fell && p->peer && !sweep_may_probe(s, p))
		sweep_want_port(s, live_peer(p));
	if (!sweep_may_probe(s, p) || (p->peer && p->link_sweep == s->sweep.id))
		return;
	/* In INIT it may be another cable than it was, whoever saw it come up. */
	if (s->sweep.kind == SWEEP_HEAVY || (!p->peer && due) ||
	    (p->peer && (p->info.state == PORT_INIT || p->fell || sweep_retry_due(s, p))))
		sweep_probe(s, p);
}

/* The P_Keys of a host are written in the push that follows; of an unusually large table the rest
 * is read in the background. */
static void
want_pkeys(struct live_port *p)
{
	if (p->number && tables_pkeys_missing(p, PKEY_BLOCKS) >= 0)
		bits_set(&p->device->pkeys, p->number);
}

static void
end_port_read(struct subnet *s, struct live_port *p)
{
	const struct portinfo *i = &p->info;
	struct device *d = p->device;
	bool own = d == s->topo.own && (p->number == s->topo.own_port || !p->number);

	/* Some offer them and refuse the question: they are not asked in circles. */
	if (i->cap_mask & CAP_EXTENDED_SPEEDS && !d->extended &&
	    d->plain_sweep != s->sweep.id) {
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
	want_pkeys(p);
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
	/* What it holds is as after power-up, or will be. */
	if (p->info.state == PORT_INIT && (n || d->info.node_type != NODE_SWITCH)) {
		tables_forget(&s->topo.tables, p);
		guids_forget(s, p);
		congestion_forget(s, p);
		order_forget(d);
	}
	if (d->info.node_type != NODE_SWITCH || !n) {
		end_port_read(s, p);
		s->sweep.changed |= push_end_port_off(s, p);
		peers_owner(s, old.sm_lid, p->info.sm_lid);
	}
	if (d->info.node_type == NODE_SWITCH && !n) {
		d->wait_port0 = false;
		/* It was reset, or somebody else has taken it in hand. */
		if (p->info.lid != old.lid) {
			topo_doubt_table(d);
			tables_forget(&s->topo.tables, p);
			guids_forget(s, p);
			congestion_forget(s, p);
		}
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
	/* A name alone is published, and nothing is routed for it. */
	if (strcmp(desc, d->desc) && d->complete && s->plan)
		s->want_refresh = true;
	else if (strcmp(desc, d->desc))
		s->sweep.changed = true;
	memcpy(d->desc, desc, sizeof(desc));
}

/* A block of a host's P_Keys (NULL: refused), whose port and number the cookie tells. */
static void
pkeys_done(struct subnet *s, struct device *d, uint64_t cookie, const uint8_t *data)
{
	struct live_port *p = &d->ports[cookie & 0xff];

	tables_saw_pkeys(&s->topo.tables, p, (unsigned)(cookie >> 8), data);
	want_pkeys(p);
}

static void
device_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
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
		pkeys_done(s, d, res->cookie, res->data);
		break;
	case ATTR_SL_TO_VL:
		push_lanes_tried(s, d, res);
		break;
	}
}

/* What it does not tell may be what makes it work: it is asked again. */
static void
withheld(struct subnet *s, struct device *d)
{
	if (d->withholds)
		return;
	d->withholds = true;
	if (d->failures < 255)
		d->failures++;
	d->retry_after = loop_now(s->env.loop) + sweep_backoff(d->failures);
}

/* An answer with an error status: the device lives, but this it does not tell. */
static void
device_refusal(struct subnet *s, struct device *d, const struct transact_result *res)
{
	char text[DEVICE_TEXT_SIZE];

	if (res->attr_id == ATTR_PORT_INFO && res->attr_mod & PORTINFO_MOD_EXTENDED) {
		d->extended = false;
		d->plain_sweep = s->sweep.id;
		bits_set(&d->read, res->attr_mod & 0xff);
		return;
	}
	if (res->attr_id == ATTR_SWITCH_INFO || res->attr_id == ATTR_PORT_INFO)
		withheld(s, d);
	if (res->attr_id == ATTR_SWITCH_INFO)
		d->wait_switch_info = false;
	if (res->attr_id == ATTR_SWITCH_INFO && res->method == MAD_SET)
		bits_set(&d->read, 0);
	if (res->attr_id == ATTR_PORT_INFO && !(res->attr_mod & 0xff))
		d->wait_port0 = false;
	if (res->attr_id == ATTR_P_KEY_TABLE)
		pkeys_done(s, d, res->cookie, NULL);
	if (res->attr_id == ATTR_SL_TO_VL)
		push_lanes_tried(s, d, res);
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

	/* A host's cable went, and with it the only way to that port; others have theirs. */
	if (res->error == ERR_CLOSED && d->info.node_type != NODE_SWITCH && has_cables(d))
		return;
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
	case ATTR_SL_TO_VL:
		push_lanes_tried(s, d, res);
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
	if (t->own && (t->own->guid != ni.node_guid || !sweep_same_device(t->own, &ni))) {
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
		struct live_port *holder = topo_find_port(t, ni.port_guid);

		if (holder && holder->device != t->own)
			topo_unlink(t, holder);
		topo_set_port_guid(t, &t->own->ports[ni.local_port], ni.port_guid);
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
		if (res->error != ERR_CLOSED)
			claims_probe_due(s);
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
	if (res->error != ERR_CLOSED)
		claims_probe_due(s);
}
