/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that are to be disabled or enabled: those that the list of drains says so of (health.c,
 * `weft undrain`). They are set between other stages (stage PORTS), over restarts too, so that a
 * switch that was reset gets its ports disabled again.
 */
#include "sm/core/subnet_i.h"

#define RETRY SEC(5)
#define COMMAND MSEC(20)	/* a command under way is waited for */

/* The port of an entry, if it is not as it should be. */
static struct live_port *
port_to_set(const struct subnet *s, const struct drain *e)
{
	struct device *d = e->act >= DRAIN_DISABLED ? topo_find(&s->topo, e->guid) : NULL;
	struct live_port *p;

	if (!d || d->silent || !d->complete || e->port < 1 || e->port > d->info.num_ports)
		return NULL;
	p = &d->ports[e->port];
	if (!(p->flags & LIVE_PORT_READ) ||
	    (p->info.phys_state == PHYS_DISABLED) == (e->act == DRAIN_DISABLED))
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

		if (d->act != DRAIN_ENABLING || port_to_set(s, d))
			s->drains.list[left++] = *d;
	}
	s->drains.len = left;
	if (left < len)
		drains_save(s, NULL, NULL);
}

bool
disable_write(struct subnet *s)
{
	bool any = false;

	if (s->role != ROLE_MASTER || s->ending || loop_timer_pending(s->disable_retry))
		return false;
	if (s->reroute.done) {	/* a command that may yet be undone */
		if (s->drains.len)
			loop_timer_set(s->disable_retry, COMMAND);
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
		disable_idle(s);
	return any;
}

bool
disable_next(struct subnet *s, struct agent *a, struct transact_request *r)
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
		loop_timer_set(s->disable_retry, RETRY);
		return false;
	}
	d->inflight++;
	return true;
}

/* Told once, for it is tried again and again. */
static void
tell_refused(struct subnet *s, const struct device *d, unsigned port, bool disables)
{
	char text[DEVICE_TEXT_SIZE];

	for (uint32_t i = 0; i < s->drains.len; i++) {
		struct drain *e = &s->drains.list[i];

		if (e->guid != d->guid || e->port != (int)port)
			continue;
		if (e->refused)
			return;
		e->refused = true;
	}
	subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, d->guid, port, "port %u of %s cannot be %s",
		     port, device_text(text, d, s->env.names), disables ? "disabled" : "enabled");
}

void
disable_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	unsigned n = res->attr_mod & 0xff;
	struct portinfo sent;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (n > d->info.num_ports)
		return;
	portinfo_decode(&sent, res->sent);
	if (res->error || res->mad_status) {
		loop_timer_set(s->disable_retry, RETRY);
		if (res->error != ERR_CLOSED)
			tell_refused(s, d, n, sent.phys_state == PHYS_DISABLED);
		return;
	}
	portinfo_decode(&d->ports[n].info, res->data);
	if (sent.phys_state == PHYS_DISABLED && d->ports[n].peer)
		subnet_want_device(s, d->ports[n].peer->guid);
	subnet_want_device(s, d->guid);
	/* Polling, or on its way up by now, but not as it was: else it is tried in a while. */
	if ((d->ports[n].info.phys_state == PHYS_DISABLED) != (sent.phys_state == PHYS_DISABLED))
		loop_timer_set(s->disable_retry, RETRY);
}

void
disable_idle(struct subnet *s)
{
	between_over(s);
}

static void
on_retry(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage == SUBNET_IDLE)
		disable_write(s);
}

void
disable_init(struct subnet *s)
{
	s->disable_retry = loop_timer_new(s->env.loop, on_retry, s);
}

void
disable_free(struct subnet *s)
{
	loop_timer_free(s->disable_retry);
}
