/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has the right to a GUID (IBA 14.2.5.3, NodeInfo: a NodeGUID and each PortGUID exist once).
 *
 * The far end of a port claims what is in its NodeInfo. Where another place holds that already,
 * in this sweep or from before, and has a cable, that place is the holder, and the port next to it
 * is the judge: it is probed, once a sweep. If the holder still is there, what is behind the
 * claimant is left out and both routes are told. If not, its cable is struck out and the claimant
 * is probed again.
 *
 * Cables that are moved under a sweep look like that too: what was found before and after does not
 * go together, and requests go by routes that lead elsewhere by then. So nothing is told before a
 * second sweep, from the start and at once, has come to the same.
 *
 * Claims wait in topo.claims until their ports are joined or go down. Those that were refused are
 * probed again with back-off by light sweeps, and at once when topo.c finds that the holder of the
 * GUID lost a cable, another GUID or its life.
 */
#include "sm/core/sweep_i.h"

#include <string.h>

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

static void
claim_open(struct subnet *s, struct live_port *p, uint64_t guid)
{
	if (p->claim_guid != guid)
		p->flags &= (uint16_t)~LIVE_PORT_DUPLICATE;	/* this one is not told yet */
	p->claim_guid = guid;
	p->flags &= (uint16_t)~LIVE_PORT_CLAIM_DUE;
	list_remove(&p->claim);
	list_append(&s->topo.claims, &p->claim);
}

void
claims_close(struct live_port *p)
{
	p->flags &= (uint16_t)~(LIVE_PORT_DUPLICATE | LIVE_PORT_CLAIM_DUE);
	p->claim_guid = p->judge_guid = 0;
	list_remove(&p->claim);
}

static void
refuse_tell(struct subnet *s, const struct live_port *p, const struct live_port *first)
{
	uint8_t path[SMP_MAX_HOPS + 1];
	char here[PATH_TEXT_SIZE], there[PATH_TEXT_SIZE], guid[GUID_TEXT_SIZE];
	int hops = topo_path(&s->topo, p->device, p->number, path);

	if (hops >= 0 && hops < SMP_MAX_HOPS)
		path[++hops] = p->number;
	path_text(here, path, hops < 0 ? 0 : (unsigned)hops);
	hops = first ? topo_path(&s->topo, first->device, first->number, path) : -1;
	path_text(there, path, hops < 0 ? 0 : (unsigned)hops);
	subnet_event(s, EVENT_DUPLICATE, LOG_L_ERROR, p->claim_guid, p->far_port,
		     "two devices claim GUID %s: the one at path %s (port %u) is kept, the one at "
		     "path %s is left out; give one of them another GUID",
		     guid_text(guid, p->claim_guid), there, first ? first->number : 0, here);
}

void
claims_refuse(struct subnet *s, struct live_port *p, const struct live_port *first, uint64_t guid)
{
	struct device *d = topo_find(&s->topo, guid);

	topo_unlink(&s->topo, p);
	claim_open(s, p, guid);
	if (d)
		dispute(s, d);
	if (p->refused_sweep != s->sweep.id) {
		p->refused_sweep = s->sweep.id;
		if (p->probe_failures < 255)
			p->probe_failures++;
	}
	p->probe_after = loop_now(s->env.loop) + sweep_backoff(p->probe_failures);
	if (p->flags & LIVE_PORT_DUPLICATE)
		return;
	if (!s->sweep.again) {
		s->sweep.doubtful = true;
		return;
	}
	p->flags |= LIVE_PORT_DUPLICATE;
	remarks_add(&s->topo, p->device);
	refuse_tell(s, p, first);
}

/* A port of `d` with a cable elsewhere than to p, best one from whose far end `d` can be asked for;
 * NULL: none. */
static struct live_port *
cabled_elsewhere(struct subnet *s, struct device *d, const struct live_port *p)
{
	struct live_port *found = NULL;

	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *q = &d->ports[n], *peer = live_peer(q);

		if (!peer || peer == p)
			continue;
		if (sweep_may_probe(s, peer))
			return q;
		found = q;
	}
	return found;
}

/* Another device than `d`, or another port of it, with the port GUID in `ni`. */
static struct live_port *
port_guid_holder(struct subnet *s, const struct live_port *p, const struct device *d,
		 const struct nodeinfo *ni)
{
	struct topo *t = &s->topo;
	struct live_port *q;

	if (ni->node_type == NODE_SWITCH)
		return NULL;
	q = topo_find_port(t, ni->port_guid);
	if (!q || (q->device == d && q->number == ni->local_port))
		return NULL;
	if (q->device == t->own && q->number == t->own_port)
		return q;
	return q->peer && live_peer(q) != p ? q : NULL;
}

struct live_port *
claims_holder(struct subnet *s, struct live_port *p, const struct nodeinfo *ni, uint64_t *guid)
{
	struct device *d = topo_find(&s->topo, ni->node_guid);
	struct live_port *q = port_guid_holder(s, p, d, ni);

	*guid = q ? ni->port_guid : ni->node_guid;
	if (q || !d)
		return q;
	if (!sweep_same_device(d, ni)) {
		q = cabled_elsewhere(s, d, p);
		if (d == s->topo.own)
			return q ? q : &d->ports[s->topo.own_port];
		/* What a request leaves by cannot be exchanged for what it arrives at. */
		return !q && d == p->device ? p : q;
	}
	q = &d->ports[ni->local_port];
	/* A port cannot be its own far end: another switch with our neighbour's GUID. */
	if (q == p)
		return p;
	return q->peer && live_peer(q) != p ? q : NULL;
}

/* What is behind v decides whether p's claim is right; a probe under way is as good. */
static void
judge(struct subnet *s, struct live_port *p, struct live_port *v, uint64_t guid)
{
	claim_open(s, p, guid);
	p->judge_guid = v->device->guid;
	p->judge_port = v->number;
	v->verified_sweep = s->sweep.id;
	v->flags |= LIVE_PORT_VERIFYING | LIVE_PORT_JUDGE;
	sweep_probe(s, v);
}

/* Probe the holder's cable from an end that can: whoever is behind it decides. */
void
claims_challenge(struct subnet *s, struct live_port *p, struct live_port *q, uint64_t guid)
{
	struct live_port *rival = live_peer(q);
	struct live_port *v = rival && sweep_may_probe(s, rival) ? rival : q;

	/* Once a sweep: devices that answer otherwise each time must not keep it from ending. */
	if (q == p || v == p || !sweep_may_probe(s, v) ||
	    (v->verified_sweep == s->sweep.id && !(v->flags & LIVE_PORT_JUDGE))) {
		claims_refuse(s, p, q, guid);
		return;
	}
	judge(s, p, v, guid);
}

void
claims_doubt(struct subnet *s, struct live_port *p, const struct live_port *q)
{
	struct live_port *other = live_peer(p);

	if (!other || other == q || p->link_sweep != s->sweep.id)
		return;
	topo_unlink(&s->topo, p);
	if (sweep_may_probe(s, other))
		sweep_probe(s, other);
}

bool
claims_believable(struct subnet *s, struct live_port *p, struct live_port *q)
{
	struct device *d = q->device;

	if (live_peer(q) == p || !sweep_may_probe(s, q))
		return true;
	if (q->far_sweep == s->sweep.id) {
		if (q->far_guid == p->device->guid && q->far_port == p->number)
			return true;
		claims_refuse(s, p, q, d->guid);
		return false;
	}
	if (q->read_sweep == s->sweep.id && !live_port_up(q)) {
		/* It was down when it was read: it came up since, and then finds us by itself, or
		 * it is not the one that answered. */
		sweep_probe_failed(s, p);
		bits_set(&d->read, q->number);
		sweep_device_ready(s, d);
		return false;
	}
	/* A switch cabled to itself is rarer than two of one GUID. */
	if (d != p->device && d->disputed_sweep != s->sweep.id)
		return true;
	if (q->verified_sweep == s->sweep.id && !(q->flags & LIVE_PORT_JUDGE)) {
		sweep_probe_failed(s, p);
		return false;
	}
	judge(s, p, q, d->guid);
	return false;
}

/* A claim that v is to decide, or NULL. */
static struct live_port *
judged_by(const struct subnet *s, const struct live_port *v)
{
	list_each(it, &s->topo.claims) {
		struct live_port *p = list_entry(it, struct live_port, claim);

		if (p->judge_guid == v->device->guid && p->judge_port == v->number)
			return p;
	}
	return NULL;
}

/* What v was to decide: refused, for `peer` is still behind it, or to be probed again (NULL). */
static void
decide(struct subnet *s, struct live_port *v, const struct live_port *peer)
{
	struct live_port *p;

	while ((p = judged_by(s, v))) {
		p->judge_guid = 0;
		if (peer == p) {
			claims_close(p);	/* the two have been joined meanwhile */
		} else if (peer) {
			bool own = p->claim_guid == v->device->guid;

			claims_refuse(s, p, own ? v : peer, p->claim_guid);
		} else {
			p->flags |= LIVE_PORT_CLAIM_DUE;
			s->topo.claims_due = true;
		}
	}
}

void
claims_undecided(struct subnet *s, struct live_port *v)
{
	if (!(v->flags & LIVE_PORT_JUDGE))
		return;
	v->flags &= (uint16_t)~LIVE_PORT_JUDGE;
	decide(s, v, NULL);
}

void
claims_judged(struct subnet *s, struct live_port *v, const struct nodeinfo *ni)
{
	struct live_port *peer = live_peer(v);

	v->flags &= (uint16_t)~LIVE_PORT_JUDGE;
	if (peer && ni && peer->device->guid == ni->node_guid && peer->number == ni->local_port &&
	    sweep_same_device(peer->device, ni) &&
	    (ni->node_type == NODE_SWITCH || peer->guid == ni->port_guid)) {
		/* It still is who it was: the claim is a second device of one GUID. */
		v->far_sweep = s->sweep.id;
		v->far_guid = ni->node_guid;
		v->far_port = ni->local_port;
		sweep_join(s, v, peer, ni);
		decide(s, v, peer);
		return;
	}
	topo_unlink(&s->topo, v);
	s->sweep.changed = true;
	decide(s, v, NULL);
	if (ni)
		sweep_found(s, v, ni);
	else
		sweep_probe_failed(s, v);
}

static struct live_port *
next_due(struct subnet *s)
{
	list_each(it, &s->topo.claims) {
		struct live_port *p = list_entry(it, struct live_port, claim);

		if (!(p->flags & LIVE_PORT_CLAIM_DUE))
			continue;
		p->flags &= (uint16_t)~LIVE_PORT_CLAIM_DUE;
		p->probe_after = 0;
		return p;
	}
	s->topo.claims_due = false;
	return NULL;
}

void
claims_probe_due(struct subnet *s)
{
	struct live_port *p;

	while (s->topo.claims_due && (p = next_due(s)))
		sweep_probe(s, p);
}

void
claims_sweep_ended(struct subnet *s)
{
	struct live_port *p;

	while (s->topo.claims_due && (p = next_due(s)))
		subnet_want_device(s, p->device->guid);
}
