/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that babble: whose traps 129 to 131 (link errors, buffer overruns, flow control) come so
 * often that the cable or the port is no good. OpenSM's measure is taken: ten traps, none five
 * seconds apart; a minute without one and it is well again. What is done is the option `babbling`:
 *
 *   report   an event and a warning, as with the others
 *   isolate  traffic is kept off a cable between switches, as if it had been drained (drain.c);
 *            it comes back by itself when the port is well, or by `weft undrain`
 *   disable  the port of the switch that is nearer to us is disabled, until `weft undrain`
 *
 * Neither is done to what the fabric would fall apart without, nor to our own cable: that is told,
 * and left. To a host there is no other way, so `isolate` leaves it too, while `disable` does not.
 *
 * Ports are set between other stages (stage PORTS): they are compared with the list of drains, in
 * which what is to be disabled and enabled stands, over restarts too, so that a switch that was
 * reset gets its ports disabled again.
 */
#include "sm/core/subnet_i.h"

#include <stdio.h>

#define STREAK SEC(5)
#define BABBLES 10
#define WELL SEC(60)
#define TICK SEC(10)
#define RETRY SEC(5)
#define COMMAND MSEC(20)	/* a command under way is waited for */

static struct drain *
entry_of(struct subnet *s, const struct live_port *p)
{
	for (uint32_t i = 0; i < s->drains.len; i++) {
		struct drain *d = &s->drains.list[i];

		if (d->guid == p->device->guid && d->port == p->number)
			return d;
		if (p->peer && d->guid == p->peer->guid && d->port == p->peer_number)
			return d;
	}
	return NULL;
}

/* ---- What is done ---- */

/* How many drained cables stay in use, with one more. */
static uint32_t
kept_with(const struct subnet *s, const struct drain *more)
{
	struct change_report report;
	struct drains trial;

	drains_copy(&trial, &s->drains);
	if (more)
		drains_add(&trial, more);
	fabric_unref(drains_cut(&trial, s->plan->fabric, s->generation, &report));
	drains_free(&trial);
	return report.kept;
}

static bool
is_between_switches(const struct live_port *p)
{
	return p->device->info.node_type == NODE_SWITCH && p->peer &&
	       p->peer->info.node_type == NODE_SWITCH;
}

/* The end of its cable at which it is disabled; NULL: there is none. */
static const struct live_port *
nearer_end(const struct live_port *p)
{
	const struct live_port *q = live_peer(p);

	if (p->device->info.node_type != NODE_SWITCH)
		return q && q->device->info.node_type == NODE_SWITCH ? q : NULL;
	return is_between_switches(p) && q->device->hops < p->device->hops ? q : p;
}

/* Why it is left as it is; NULL: it is not. */
static const char *
why_not(const struct subnet *s, const struct live_port *p, const struct drain *d)
{
	if (!p->peer || p->device == s->topo.own || p->peer == s->topo.own)
		return "it is our own way into the fabric";
	if (is_between_switches(p))
		return kept_with(s, d) > kept_with(s, NULL) ?
			"the fabric would fall apart without it" : NULL;
	return d->why == DRAIN_BABBLES ? "its host has no other way" : NULL;
}

/* True: something is done about it. */
static bool
act(struct subnet *s, const struct live_port *p, char *text, size_t size)
{
	bool disable = s->conf->babbling == BABBLING_DISABLE;
	const struct live_port *end = disable ? nearer_end(p) : p;
	struct drain d = { .heard = loop_now(s->env.loop) };
	const char *why;

	if (s->conf->babbling == BABBLING_REPORT || !end || !s->plan) {
		snprintf(text, size, "check its cable");
		return false;
	}
	d.guid = end->device->guid;
	d.port = end->number;
	d.why = disable ? DRAIN_DISABLED : DRAIN_BABBLES;
	why = why_not(s, end, &d);
	if (why) {
		snprintf(text, size, "it is left in use, for %s: check its cable", why);
		return false;
	}
	drains_add(&s->drains, &d);
	drains_save(s, NULL, NULL);
	s->want_route |= is_between_switches(p);
	subnet_want_sweep(s, SWEEP_PARTIAL);
	snprintf(text, size, disable ? "it is disabled" : "traffic is kept off its cable");
	return true;
}

void
babble_heard(struct subnet *s, struct live_port *p)
{
	monotime now = loop_now(s->env.loop);
	char name[DEVICE_TEXT_SIZE], what[120];
	struct drain *d = entry_of(s, p);

	p->streak = p->trap_heard && now - p->trap_heard < STREAK ? p->streak + 1 : 1;
	p->trap_heard = now;
	if (d)
		d->heard = now;
	/* A command under way would put back what it found. */
	if (p->streak < BABBLES || p->flags & LIVE_PORT_BABBLES || s->reroute.done)
		return;
	p->flags |= LIVE_PORT_BABBLES;
	remarks_add(&s->topo, p->device);
	if (!loop_timer_pending(s->babble.timer))
		loop_timer_set(s->babble.timer, TICK);
	if (d)
		return;
	act(s, p, what, sizeof(what));
	subnet_event(s, EVENT_TRAP, LOG_L_WARNING, p->device->guid, p->number,
		     "port %u of %s babbles (%u traps in a row): %s", p->number,
		     device_text(name, p->device, s->env.names), p->streak, what);
}

/* ---- Well again ---- */

static bool
look_at_ports(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);
	char name[DEVICE_TEXT_SIZE];
	bool any = false;

	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 1; n <= d->info.num_ports; n++) {
			struct live_port *p = &d->ports[n];

			if (!(p->flags & LIVE_PORT_BABBLES))
				continue;
			if (now - p->trap_heard < WELL) {
				any = true;
				continue;
			}
			p->flags &= (uint16_t)~LIVE_PORT_BABBLES;
			p->streak = 0;
			subnet_event(s, EVENT_TRAP, LOG_L_NOTICE, d->guid, n, "port %u of %s is "
				     "quiet again", n, device_text(name, d, s->env.names));
		}
	}
	return any;
}

static bool
look_at_drains(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);
	uint32_t left = 0, len = s->drains.len;
	bool any = false;

	for (uint32_t i = 0; i < len; i++) {
		const struct drain *d = &s->drains.list[i];

		if (d->why == DRAIN_BABBLES && now - d->heard >= WELL)
			continue;
		any |= d->why == DRAIN_BABBLES;
		s->drains.list[left++] = *d;
	}
	s->drains.len = left;
	if (left == len)
		return any;
	drains_save(s, NULL, NULL);
	s->want_route = true;
	subnet_want_sweep(s, SWEEP_PARTIAL);
	return any;
}

static void
on_tick(void *subnet)
{
	struct subnet *s = subnet;
	bool ports = look_at_ports(s);

	bool later = s->reroute.done || s->role != ROLE_MASTER;

	if (later || look_at_drains(s) || ports)
		loop_timer_set(s->babble.timer, TICK);
}

/* ---- Setting ports ---- */

/* The port of an entry, if it is not as it should be. */
static struct live_port *
port_to_set(const struct subnet *s, const struct drain *e)
{
	struct device *d = e->why >= DRAIN_DISABLED ? topo_find(&s->topo, e->guid) : NULL;
	struct live_port *p;

	if (!d || d->silent || !d->complete || e->port < 1 || e->port > d->info.num_ports)
		return NULL;
	p = &d->ports[e->port];
	if (!(p->flags & LIVE_PORT_READ) ||
	    (p->info.phys_state == PHYS_DISABLED) == (e->why == DRAIN_DISABLED))
		return NULL;
	return p;
}

/* What is enabled now is in the list no more. */
static void
forget_enabled(struct subnet *s)
{
	uint32_t left = 0, len = s->drains.len;

	for (uint32_t i = 0; i < len; i++) {
		const struct drain *d = &s->drains.list[i];

		if (d->why != DRAIN_ENABLING || port_to_set(s, d))
			s->drains.list[left++] = *d;
	}
	s->drains.len = left;
	if (left < len)
		drains_save(s, NULL, NULL);
}

bool
babble_write(struct subnet *s)
{
	bool any = false;

	if (s->role != ROLE_MASTER || s->ending || loop_timer_pending(s->babble.retry))
		return false;
	if (s->reroute.done) {	/* a command that may yet be undone */
		if (s->drains.len)
			loop_timer_set(s->babble.retry, COMMAND);
		return false;
	}
	for (uint32_t i = 0; i < s->drains.len; i++) {
		struct live_port *p = port_to_set(s, &s->drains.list[i]);

		if (!p)
			continue;
		if (!any)
			subnet_set_stage(s, SUBNET_PORTS);
		any = true;
		p->device->set_port = p->number;
		transact_ready(s->transact, &p->device->agent.target);
	}
	if (!any)
		forget_enabled(s);
	else if (transact_is_idle(s->transact))
		babble_idle(s);
	return any;
}

bool
babble_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	const struct live_port *p;
	struct portinfo want;

	if (a->kind != AGENT_DEVICE || !d->set_port)
		return false;
	p = &d->ports[d->set_port];
	d->set_port = 0;
	push_port_want(s, p, &want);
	want.state = PORT_DOWN;
	want.phys_state = p->info.phys_state == PHYS_DISABLED ? PHYS_POLLING : PHYS_DISABLED;
	if (!want.neighbor_mtu)
		want.neighbor_mtu = 1;
	r->method = MAD_SET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = live_port_modifier(d, p->number);
	portinfo_encode(&want, r->data);
	if (!subnet_address(s, d, 0, r)) {
		loop_timer_set(s->babble.retry, RETRY);
		return false;
	}
	d->inflight++;
	return true;
}

void
babble_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	unsigned n = res->attr_mod & 0xff;
	char text[DEVICE_TEXT_SIZE];
	struct portinfo sent;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (n > d->info.num_ports)
		return;
	portinfo_decode(&sent, res->sent);
	if (res->error || res->mad_status) {
		loop_timer_set(s->babble.retry, RETRY);
		if (res->error == ERR_CLOSED)
			return;
		subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, d->guid, n, "port %u of %s cannot be "
			     "%s", n, device_text(text, d, s->env.names),
			     sent.phys_state == PHYS_DISABLED ? "disabled" : "enabled");
		return;
	}
	portinfo_decode(&d->ports[n].info, res->data);
	if (sent.phys_state == PHYS_DISABLED && d->ports[n].peer)
		subnet_want_device(s, d->ports[n].peer->guid);
	subnet_want_device(s, d->guid);
	/* Polling, or on its way up by now, but not as it was: else it is tried in a while. */
	if ((d->ports[n].info.phys_state == PHYS_DISABLED) != (sent.phys_state == PHYS_DISABLED))
		loop_timer_set(s->babble.retry, RETRY);
}

void
babble_idle(struct subnet *s)
{
	between_over(s);
}

static void
on_retry(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage == SUBNET_IDLE)
		babble_write(s);
}

/* ---- Life ---- */

void
babble_init(struct subnet *s)
{
	s->babble.timer = loop_timer_new(s->env.loop, on_tick, s);
	s->babble.retry = loop_timer_new(s->env.loop, on_retry, s);
	loop_timer_set(s->babble.timer, TICK);
}

void
babble_free(struct subnet *s)
{
	loop_timer_free(s->babble.timer);
	loop_timer_free(s->babble.retry);
}
