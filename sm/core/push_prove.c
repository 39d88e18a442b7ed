/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is at the ends of links that are ARMED, asked before they carry traffic.
 *
 * Cables can be moved between the sweep that found them and the Set that brings them up. If one
 * was, that is found now; afterwards none can be moved unseen, for a link that comes up anew is in
 * INIT, from where no step leads to ACTIVE. So it is with P_Keys of a host, which it has lost if it
 * was reset after it was given them, and the link had not been up before (push_pkeys_prove).
 *
 * Each host tells its NodeInfo once more. The request need not go the way that others go: it goes
 * over cables that are to be proved too, as many as it can without a detour. Who is at the end is
 * who was expected, and came in by the port that was expected: then the last cable is as it is
 * known, and so the switch before it is who it should be, and so on to ours. (But for two or more
 * cables that were moved together, so that one switch has taken another's place on that way.) Where
 * the answer is another, or none comes, the host is asked again by the usual way. Cables between
 * switches that no request has passed are asked about one by one, from the end that is nearer.
 */
#include "sm/core/push_i.h"

#include <string.h>
#include "sm/base/mem.h"

/* Of a cable between switches one end is asked through. */
static bool
is_nearer(const struct live_port *p, const struct live_port *q)
{
	const struct device *d = p->device, *e = q->device;

	if (d->hops != e->hops)
		return d->hops < e->hops;
	return d != e ? d->guid < e->guid : p->number < q->number;
}

bool
push_port_unproved(const struct subnet *s, const struct live_port *p)
{
	const struct live_port *peer = live_peer(p);

	if (p->info.state != PORT_ARMED || !peer)
		return false;
	if (p->device->info.node_type != NODE_SWITCH)
		return p->raised && p->device != s->topo.own;
	return (p->raised || peer->raised) && peer->device->info.node_type == NODE_SWITCH &&
	       is_nearer(p, peer);
}

bool
push_prove_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	bool hosts = s->push.step == PUSH_PROVE;
	int n;

	if (push_pkeys_proof_next(d, r, port))
		return true;
	if (hosts && d->info.node_type == NODE_SWITCH)
		return false;
	while ((n = bits_pop(&d->activate)) >= 0) {
		if (!push_port_unproved(s, &d->ports[n]))
			continue;
		r->method = MAD_GET;
		r->attr_id = ATTR_NODE_INFO;
		r->cookie = (uint64_t)n;
		*port = (unsigned)n;
		return true;
	}
	return false;
}

/*
 * Ways.
 */
static bool
is_to_pass(const struct live_port *p)
{
	const struct live_port *q = live_peer(p);

	return (p->raised || q->raised) && !p->passed && !q->passed &&
	       q->device->info.node_type == NODE_SWITCH;
}

/* A port of `d` whose cable leads nearer to us, to a device that passes requests on; best one whose
 * cable is to be proved. */
static struct live_port *
nearer(const struct subnet *s, struct device *d)
{
	struct live_port *found = NULL;

	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];
		const struct device *e = p->peer;

		if (!e || e->hops >= d->hops || e->silent || e->push_failed || !live_port_up(p) ||
		    !live_port_up(live_peer(p)))
			continue;
		if (e == s->topo.own ? e->info.node_type != NODE_SWITCH &&
				       p->peer_number != s->topo.own_port :
				       e->info.node_type != NODE_SWITCH)
			continue;
		if (is_to_pass(p))
			return p;
		if (!found)
			found = p;
	}
	return found;
}

/* Fill the way of a request to a host, its ports from the last to the first; false: it is too long,
 * or nothing is proved by it. */
static bool
find_way(const struct subnet *s, const struct live_port *host, struct push_way *w)
{
	struct live_port *p = live_peer(host);
	bool proves = false;

	w->hops = 0;
	for (;;) {
		struct device *d = p->device;

		w->out[w->hops++] = p->number;
		if (d == s->topo.own)
			return proves;
		p = w->hops == PUSH_WAY_HOPS ? NULL : nearer(s, d);
		if (!p)
			return false;
		proves |= is_to_pass(p);
		p = live_peer(p);
	}
}

/* What a request passed is proved, or (if not `well`) to be proved by others. */
static void
passed(struct subnet *s, const struct push_way *w, bool well)
{
	struct device *d = s->topo.own;

	well &= w->version == s->topo.path_version;
	for (unsigned i = w->hops; i && d; i--) {
		struct live_port *p, *q;

		if (w->out[i - 1] > d->info.num_ports)
			return;
		p = &d->ports[w->out[i - 1]];
		q = live_peer(p);
		if (!q)
			return;
		p->passed = q->passed = false;
		if (well && q->device->info.node_type == NODE_SWITCH &&
		    p->device->info.node_type == NODE_SWITCH)
			p->raised = q->raised = false;
		d = q->device;
	}
}

static void
mark_way(struct subnet *s, const struct push_way *w)
{
	struct device *d = s->topo.own;

	for (unsigned i = w->hops; i; i--) {
		struct live_port *p = &d->ports[w->out[i - 1]], *q = live_peer(p);

		if (is_to_pass(p))
			p->passed = q->passed = true;
		d = q->device;
	}
}

static struct push_way *
new_way(struct subnet *s)
{
	struct push *u = &s->push;

	if (u->nways == u->ways_size) {
		u->ways_size = u->ways_size ? 2 * u->ways_size : 64;
		u->ways = mem_realloc(u->ways, u->ways_size, sizeof(*u->ways));
	}
	return &u->ways[u->nways++];
}

bool
push_prove_address(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct live_port *p = &d->ports[r->cookie];
	uint8_t *path = (uint8_t *)(uintptr_t)r->path;
	struct push_way *w;

	if (d->info.node_type == NODE_SWITCH)
		return subnet_address_behind(r, p->number);
	if (p->plainly || !p->peer)
		return true;
	w = new_way(s);
	w->version = s->topo.path_version;
	if (!find_way(s, p, w)) {
		s->push.nways--;
		return true;
	}
	mark_way(s, w);
	r->cookie |= (uint64_t)s->push.nways << 8;
	r->retries_less = 15;		/* the usual way may be better */
	r->hops = w->hops;
	for (unsigned i = 0; i < w->hops; i++)
		path[w->hops - i] = w->out[i];
	return true;
}

/*
 * Answers.
 */
static void
host_proved(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	if (ni->node_guid != p->device->guid || ni->port_guid != p->guid ||
	    ni->local_port != p->number)
		push_port_doubt(s, p, "another device answers");
	else if (!push_pkeys_prove(s, p))
		p->raised = false;
}

/* Who is behind port p of a switch has told of itself. */
static void
cable_proved(struct subnet *s, struct live_port *p, const struct nodeinfo *ni)
{
	if (ni->node_guid == p->peer->guid && ni->local_port == p->peer_number) {
		p->raised = live_peer(p)->raised = false;
		return;
	}
	s->push.astray = true;
	push_look_again(s, p->peer);
	push_port_doubt(s, live_peer(p), "another device answers");
}

/* Nobody has answered through port p of a switch. */
static void
cable_silent(struct subnet *s, struct live_port *p)
{
	s->push.failed_ports++;
	push_failure(s, p->peer, "did not answer before its link was to carry traffic");
	push_look_again(s, p->device);
	push_look_again(s, p->peer);
}

bool
push_prove_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_port *p = &d->ports[res->cookie & 0xff];
	uint64_t way = res->cookie >> 8;
	struct nodeinfo ni;
	bool well;

	nodeinfo_decode(&ni, res->data);
	well = !res->error && !res->mad_status;
	if (way) {
		well &= ni.node_guid == d->guid && ni.local_port == p->number;
		passed(s, &s->push.ways[way - 1], well);
	}
	if (!p->peer) {
		return !res->error;
	} else if (way && !well && !d->push_failed) {
		p->plainly = true;
		bits_set(&d->activate, p->number);
		transact_ready(s->transact, &d->agent.target);
		return true;
	} else if (well && d->info.node_type == NODE_SWITCH) {
		cable_proved(s, p, &ni);
	} else if (well) {
		host_proved(s, p, &ni);
	} else if (res->error == ERR_TIMEOUT && d->info.node_type == NODE_SWITCH) {
		cable_silent(s, p);
		return true;
	}
	return well;
}
