/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programming: plan minus shadow, in a safe order.
 *
 * Steps, each ended by the last answer: our own port's LID; P_Keys, if the plan has some
 * (push_pkeys.c); groups of adaptive routing and the numbers that entries have of them
 * (push_adaptive.c), as they are while rows change; on a fabric that forwards already what the
 * planner wants dropped first, while links that come are still down, for old entries may lead into
 * them; tables from service levels to lanes (push_lanes.c), if the plan has some, which all that
 * follows is proved with, and VL arbitration (push_vlarb.c); the tables of new switches, and then
 * the links between switches that have tables, so that no table leads into a link that is not
 * ACTIVE; where old and new tables do not mix, the further sets of rows that the planner made (or
 * the packet lifetime is waited out); then all that carries no traffic by itself (SwitchInfo, LFT
 * blocks, port fields, INIT to ARMED in the same Set, P_Keys), all devices at once; what groups
 * get besides; then ARMED to ACTIVE, hosts when they have told once more who they are and which
 * P_Keys they hold (push_seen.c). A device is asked by pull (push_next), one request at a time
 * from its cursors, so blocks go out across all switches in turn.
 *
 * Every Set is read back from its response (IBA 13.4.5: GetResp carries what the attribute then
 * is): the shadow takes the response, never the wish. A field that keeps another value is noted in
 * live_port.stubborn and left alone, unless nothing is forwarded without it; a refused or lost Set
 * leaves the shadow as it was. What is missing at the end is tried again after a while.
 *
 * A step begins, and the push ends, with a walk over all ports; in a large fabric it is done in
 * slices, so that others have their turn between them (push_turn). Where P_Keys of a few ports are
 * all that has changed only their devices are walked over (push_few.c).
 */
#include "sm/core/push.h"
#include "sm/core/push_adaptive.h"
#include "sm/core/push_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/core/snapshot.h"

#define PATIENCE 3	/* pushes in a row that may fail while hosts are kept waiting */
#define LOOKED 1	/* cookie of a PortInfo that was asked for after a trap */

/* The first failure of a push is told in the status; each is an event (rate-limited). */
void
push_failure(struct subnet *s, const struct device *d, const char *fmt, ...)
{
	char text[DEVICE_TEXT_SIZE], what[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	device_text(text, d, s->env.names);
	if (!s->push.first_failure[0])
		snprintf(s->push.first_failure, sizeof(s->push.first_failure), "%s %s", text, what);
	subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, d->guid, 0, "%s %s", text, what);
	health_refused(s, d);
}

/* Read the device when the push is repeated: perhaps it is another now than it was. */
void
push_look_again(struct subnet *s, const struct device *d)
{
	map_set(&s->dirty, d->guid, 0);
}

/* Nothing more is asked of it in this push. */
static void
device_failed(struct subnet *s, struct device *d)
{
	d->push_failed = true;
	s->push.lost++;
	push_table_abandon(d);
	push_look_again(s, d);
}

static void
switch_info_want(const struct subnet *s, const struct device *d, struct switchinfo *w)
{
	*w = d->sw;
	w->linear_fdb_top = s->push.plan->lids->top;
	w->life_time = (uint8_t)s->conf->packet_life_time;
	w->port_state_change = d->sw.port_state_change;
}

static uint32_t
switch_info_diff(const struct device *d, const struct switchinfo *w)
{
	uint32_t diff = (d->sw.linear_fdb_top != w->linear_fdb_top ? FIELD_FDB_TOP : 0) |
			(d->sw.life_time != w->life_time ? FIELD_LIFE_TIME : 0);

	return diff & ~(d->ports[0].stubborn & ~FIELDS_FORWARDING);
}

/* Ports were read before the clear that goes out now: those that no Set of this push tells of are
 * read again after it. */
static void
clear_sent(struct subnet *s, struct device *d)
{
	struct portinfo want;

	if (!push_port_want(s, &d->ports[0], &want))
		bits_set(&d->recheck, 0);
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n];

		if (p->flags & LIVE_PORT_READ && (!live_port_up(p) || p->info.state == PORT_ACTIVE))
			bits_set(&d->recheck, n);
	}
}

static bool
switch_info_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct switchinfo w;

	if (!d->push_switch_info)
		return false;
	d->push_switch_info = false;
	switch_info_want(s, d, &w);
	if (!switch_info_diff(d, &w) && !w.port_state_change)
		return false;
	if (w.port_state_change)
		clear_sent(s, d);
	d->switch_info_sent = true;
	r->method = MAD_SET;
	r->attr_id = ATTR_SWITCH_INFO;
	switchinfo_encode(&w, r->data);
	return true;
}

/*
 * Blocks go out when LinearFDBTop is in: a switch that is reset after it took them is known by a
 * top of 0 then, while a top that is written (again) behind them would hide the loss.
 */
static bool
rows_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	if (switch_info_next(s, d, r))
		return true;
	if (d->switch_info_sent)
		return false;
	return d->ar && d->ar->leave ? push_adaptive_leave_next(d, r) : push_table_next(s, d, r);
}

static void
set_port(const struct device *d, unsigned n, const struct portinfo *w, struct transact_request *r)
{
	r->method = MAD_SET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = live_port_modifier(d, n);
	portinfo_encode(w, r->data);
}

static bool
config_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	struct portinfo want;
	int n;

	while ((n = bits_pop(&d->config)) >= 0) {
		struct live_port *p = &d->ports[n];
		uint32_t diff = push_port_want(s, p, &want);
		bool reregister = push_port_wants_reregister(s, p);

		p->flags &= (uint16_t)~LIVE_PORT_REFUSED;
		if (!diff && !(reregister && p->info.state == PORT_ACTIVE))
			continue;
		if (reregister && want.state == PORT_ARMED)
			p->flags |= LIVE_PORT_REREGISTER;	/* with the step to ACTIVE */
		else
			want.client_reregister = reregister;
		set_port(d, (unsigned)n, &want, r);
		*port = (unsigned)n;
		return true;
	}
	return false;
}

/* A switch forwards as planned; a link to one that does not stays closed. */
static bool
tables_are_in(const struct subnet *s, const struct device *d)
{
	return d->info.node_type != NODE_SWITCH ||
	       (d->lft_trusted && d->sw.linear_fdb_top >= s->push.plan->lids->top);
}

static bool
activate_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	struct portinfo want;
	int n;

	if (push_pkeys_proof_next(d, r, port))
		return true;
	while ((n = bits_pop(&d->activate)) >= 0) {
		struct live_port *p = &d->ports[n];

		if (p->info.state != PORT_ARMED || !push_port_counts(p) ||
		    live_peer(p)->info.state < PORT_ARMED || !tables_are_in(s, d) ||
		    !tables_are_in(s, p->peer) || !push_pkeys_may_rise(s, p))
			continue;
		*port = (unsigned)n;
		if (push_port_unproved(s, p)) {
			r->method = MAD_GET;
			r->attr_id = ATTR_NODE_INFO;
			r->cookie = (uint64_t)n;
			return true;
		}
		if (push_port_unproved(s, live_peer(p)))
			continue;	/* its turn comes with the answer of that */
		push_port_want(s, p, &want);
		want.state = PORT_ACTIVE;
		want.client_reregister = p->flags & LIVE_PORT_REREGISTER;
		set_port(d, (unsigned)n, &want, r);
		return true;
	}
	return false;
}

static bool
reread_next(struct device *d, struct transact_request *r, unsigned *port)
{
	int n;

	/* After the answer to the clear, that is: a repeated clear hides what came between. */
	if (d->push_switch_info || d->sw.port_state_change ||
	    (n = bits_pop(&d->recheck)) < 0)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = live_port_modifier(d, (unsigned)n);
	*port = (unsigned)n;
	return true;
}

/* Read ports that a trap was about, whatever step this is. */
static bool
look_next(struct device *d, struct transact_request *r, unsigned *port)
{
	int n = bits_pop(&d->look);

	if (n < 0)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = live_port_modifier(d, (unsigned)n);
	r->cookie = LOOKED;
	*port = (unsigned)n;
	return true;
}

static bool
step_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	*port = d == s->topo.own ? s->topo.own_port : 0;
	if (look_next(d, r, port))
		return true;
	switch (s->push.step) {
	case PUSH_READ_TABLES:
		return push_read_next(d, r);
	case PUSH_READ_LANES:
		return push_read_lanes_next(s, d, r, port);
	case PUSH_OWN_PORT:
		return config_next(s, d, r, port);
	case PUSH_PKEYS_SWITCHES:
	case PUSH_PKEYS_HOSTS:
		return push_pkeys_next(s, d, r, port);
	case PUSH_LANES:
		return push_lanes_next(s, d, r, port) || config_next(s, d, r, port);
	case PUSH_ARBITRATION:
		return push_arbitration_next(s, d, r, port);
	case PUSH_GROUPS_LESS:
	case PUSH_GROUPS:
		return push_groups_next(s, d, r);
	case PUSH_NEW:
		return rows_next(s, d, r);
	case PUSH_LINKS:
		return config_next(s, d, r, port);
	case PUSH_LINKS_UP:
		return activate_next(s, d, r, port);
	case PUSH_NUMBERS:
	case PUSH_DROP:
	case PUSH_STAGE:
		return push_table_next(s, d, r);
	case PUSH_CONFIG:
		return rows_next(s, d, r) ||
		       push_pkeys_default_next(s, d, r, port) || config_next(s, d, r, port) ||
		       reread_next(d, r, port);
	case PUSH_ACTIVATE:
		return activate_next(s, d, r, port) || reread_next(d, r, port);
	case PUSH_DRAIN_WAIT:
	case PUSH_DONE:
		break;
	}
	return false;
}

/* Perhaps that was the last of what this step does to it. */
static void
settled(struct subnet *s, struct device *d)
{
	switch (s->push.step) {
	case PUSH_READ_TABLES:
		push_read_settled(d);
		break;
	case PUSH_READ_LANES:
		push_read_lanes_settled(s, d);
		break;
	case PUSH_LANES:
		push_lanes_settled(s, d);
		break;
	default:
		push_table_settled(s, d);
	}
}

bool
push_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	unsigned port = 0;

	if (a->kind != AGENT_DEVICE || d->push_failed)
		return false;
	if (!step_next(s, d, r, &port)) {
		settled(s, d);
		return false;
	}
	if (r->method == MAD_SET)
		s->push.sets++;
	if (subnet_address(s, d, port, r)) {
		d->inflight++;
		return true;
	}
	device_failed(s, d);	/* its last cable went meanwhile */
	return false;
}

/*
 * Answers.
 */
void
push_link_changed(struct subnet *s, struct device *d)
{
	struct device *at = s->topo.own, *before = NULL;
	unsigned out = 0;

	if (s->push.step == PUSH_DONE || d->silent || d->push_failed)
		return;
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer)
			bits_set(&d->look, n);
	transact_ready(s->transact, &d->agent.target);
	/* Perhaps it is the cable over which it would be asked. */
	for (unsigned i = 1; at && at != d && i <= d->hops; i++) {
		before = at;
		out = d->path[i];
		at = out <= at->info.num_ports ? at->ports[out].peer : NULL;
	}
	if (at != d)
		return;
	if (!before || before->info.node_type != NODE_SWITCH || !before->ports[out].peer)
		return;
	bits_set(&before->look, out);
	transact_ready(s->transact, &before->agent.target);
}

static void
switch_info_set(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct switchinfo sent;
	uint32_t set, kept;

	switchinfo_decode(&sent, res->sent);
	set = switch_info_diff(d, &sent);
	switchinfo_decode(&d->sw, res->data);
	d->sw.port_state_change = false;
	kept = set & switch_info_diff(d, &sent);
	if (kept & FIELD_FDB_TOP)
		s->push.failed_tables++;
	push_tell_kept(s, d, 0, set, kept);
}

/* The device answered with an error status. */
static void
refused(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	char what[48] = "";

	if (res->attr_id == ATTR_PORT_INFO && n <= d->info.num_ports) {
		struct live_port *p = &d->ports[n];

		/* Perhaps the link went, or came, meanwhile: what the port says now decides. */
		if (res->method == MAD_SET) {
			p->flags |= LIVE_PORT_REFUSED;
			bits_set(&d->recheck, n);
		}
		snprintf(what, sizeof(what), " of port %u", n);
	}
	if (res->method == MAD_SET)
		s->push.refused++;
	s->push.failed_ports += res->method == MAD_SET && res->attr_id == ATTR_P_KEY_TABLE &&
				!push_pkeys_planned(s);
	if (res->attr_id == ATTR_LINEAR_FDB || res->attr_id == ATTR_SWITCH_INFO)
		s->push.failed_tables += res->method == MAD_SET;
	push_failure(s, d, "refuses %s(%s)%s: status 0x%04x, %s", mad_method_name(res->method),
		mad_attr_name(res->attr_id), what, res->mad_status,
		mad_status_text(res->mad_status));
}

static void
lost(struct subnet *s, struct device *d, const struct transact_result *res)
{
	if (res->attr_id == ATTR_LINEAR_FDB || res->attr_id == ATTR_SWITCH_INFO)
		s->push.failed_tables += s->push.step != PUSH_READ_TABLES;
	if (!d->push_failed && res->error == ERR_TIMEOUT)
		push_failure(s, d, "stopped answering while it was programmed");
	device_failed(s, d);
}

static void
answered(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_port *p;

	switch (res->attr_id) {
	case ATTR_PORT_INFO:
		if (res->method == MAD_GET && res->cookie == LOOKED)
			push_port_looked(s, d, res);
		else if (res->method == MAD_SET)
			push_port_set(s, d, res);
		else
			push_port_read(s, d, res);
		break;
	case ATTR_SWITCH_INFO:
		switch_info_set(s, d, res);
		break;
	case ATTR_NODE_INFO:
		push_port_proved(s, d, res);
		break;
	case ATTR_P_KEY_TABLE:
		if (push_pkeys_planned(s))
			break;
		p = &d->ports[res->cookie <= d->info.num_ports ? res->cookie : 0];
		tables_saw_pkeys(&s->topo.tables, p, 0, res->data);
		if (push_pkeys_differ(s, p))
			push_failure(s, d, "port %u keeps another P_Key at index 0 than was set",
				p->number);
		break;
	}
}

void
push_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	bool again = false;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->attr_id == ATTR_SWITCH_INFO) {
		d->switch_info_sent = false;
		transact_ready(s->transact, &d->agent.target);
	}
	if (push_adaptive_answer(s, d, res))
		again = true;
	if (res->attr_id == ATTR_LINEAR_FDB)
		push_table_answer(s, d, res);
	if (res->attr_id == ATTR_SL_TO_VL)
		again = push_lanes_answer(s, d, res);
	if (res->attr_id == ATTR_VL_ARBITRATION)
		push_arbitration_answer(s, d, res);
	if (res->attr_id == ATTR_P_KEY_TABLE && push_pkeys_planned(s))
		again = push_pkeys_activates(s) ? push_pkeys_proved(s, d, res) :
						  push_pkeys_answer(s, d, res);
	if (res->error && res->attr_id != AR_ATTR_INFO)
		lost(s, d, res);
	else if (res->mad_status && !again)
		refused(s, d, res);
	else if (!res->mad_status)
		answered(s, d, res);
	/* A device that has more to send settles when it is asked for it. */
	if (s->push.step != PUSH_LANES)
		settled(s, d);
	else if (!d->lanes_inflight)
		transact_ready(s->transact, &d->agent.target);
	if (!d->push_failed && !(bits_empty(&d->recheck) && bits_empty(&d->pkey_again)))
		transact_ready(s->transact, &d->agent.target);
}

/*
 * Steps.
 */
/* A link between switches that forward already, and one that the plan counts with. One that it
 * does not, for it could not be brought up before, was in no proof: old entries may lead into it,
 * so it waits for the new tables. */
static bool
comes_first(const struct subnet *s, const struct live_port *p)
{
	const struct fabric *f = s->push.plan->fabric;
	uint32_t node = p->device->fabric_node;

	return p->peer && p->device->lft_trusted && p->peer->lft_trusted &&
	       p->info.state < PORT_ACTIVE && push_port_counts(p) && node != FABRIC_NONE &&
	       fabric_port_at(f, node, p->number)->peer != FABRIC_NONE;
}

static void
start_config(struct subnet *s, struct device *d)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;

	if (is_switch)
		push_adaptive_doubt(s, d);
	push_table_start(s, d);
	d->push_switch_info = is_switch;
	for (unsigned n = is_switch ? 0 : 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (!is_switch && p->peer && push_pkeys_differ(s, p))
			bits_set(&d->pkey_set, n);
		/* What was refused a moment ago is not asked for again in this push. */
		if (s->push.live && p->flags & LIVE_PORT_REFUSED && comes_first(s, p))
			continue;
		if ((is_switch && !n) || push_port_counts(p))
			bits_set(&d->config, n);
	}
}

/* These come up first, so that nothing is led into a dead end. */
static bool
start_links(const struct subnet *s, struct device *d)
{
	struct bits256 *bits = s->push.step == PUSH_LINKS ? &d->config : &d->activate;

	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (comes_first(s, &d->ports[n]))
			bits_set(bits, n);
	return !bits_empty(bits);
}

static void
start_activate(struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].info.state == PORT_ARMED)
			bits_set(&d->activate, n);
}

static void
start_device(struct subnet *s, struct device *d)
{
	static const struct bits256 none;

	d->config = d->activate = d->pkey_set = d->pkey_again = none;
	d->push_switch_info = d->switch_info_sent = d->lanes_pending = false;
	push_table_abandon(d);
	if (d->silent || !d->complete || d->push_failed)
		return;
	switch (s->push.step) {
	case PUSH_READ_TABLES:
		if (!push_read_start(s, d))
			return;
		break;
	case PUSH_READ_LANES:
		if (!push_read_lanes_start(s, d))
			return;
		break;
	case PUSH_OWN_PORT:
		if (d != s->topo.own)
			return;
		bits_set(&d->config, s->topo.own_port);
		break;
	case PUSH_PKEYS_SWITCHES:
	case PUSH_PKEYS_HOSTS:
		if (!push_pkeys_start(s, d))
			return;
		break;
	case PUSH_LANES:
		if (!push_lanes_start(s, d))
			return;
		break;
	case PUSH_ARBITRATION:
		if (!push_arbitration_start(s, d))
			return;
		break;
	case PUSH_GROUPS_LESS:
	case PUSH_GROUPS:
		if (!push_groups_start(s, d))
			return;
		break;
	case PUSH_NEW:
		if (d->info.node_type != NODE_SWITCH || d->lft_trusted)
			return;
		push_adaptive_doubt(s, d);
		push_table_start(s, d);
		d->push_switch_info = true;
		break;
	case PUSH_LINKS:
	case PUSH_LINKS_UP:
		if (!start_links(s, d))
			return;
		break;
	case PUSH_NUMBERS:
	case PUSH_DROP:
	case PUSH_STAGE:
		push_table_start(s, d);
		if (!d->lft_pending)
			return;
		break;
	case PUSH_CONFIG:
		start_config(s, d);
		break;
	case PUSH_ACTIVATE:
		start_activate(d);
		break;
	default:
		return;
	}
	transact_ready(s->transact, &d->agent.target);
}

void
push_drain_waited(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage == SUBNET_PUSH && s->push.step == PUSH_DRAIN_WAIT)
		push_step_start(s, s->push.stages->shifts ? PUSH_LANES : PUSH_CONFIG);
}

monotime
push_packet_lifetime(const struct subnet *s)
{
	monotime t = USEC(4096) / 1000 << s->conf->packet_life_time;

	return t < SEC(3) ? t : SEC(3);
}

static enum push_step
after_pkeys(const struct subnet *s)
{
	if (s->push.few)
		return PUSH_CONFIG;
	return s->push.live ? PUSH_GROUPS_LESS : PUSH_LANES;
}

/* Where nothing forwards yet tables and links may come together. */
static enum push_step
after_lanes(const struct subnet *s)
{
	return s->push.live ? PUSH_NEW : PUSH_STAGE;
}

/* What comes before the plan itself, from this step on. */
static enum push_step
skip_stages(const struct subnet *s, enum push_step step)
{
	const struct plan_stages *st = s->push.stages;

	if ((step == PUSH_PKEYS_SWITCHES || step == PUSH_PKEYS_HOSTS) && !push_pkeys_due(s))
		step = after_pkeys(s);
	if (step == PUSH_GROUPS_LESS && !push_groups_due(s, step))
		step = PUSH_NUMBERS;
	if (step == PUSH_NUMBERS && !s->push.plan->adaptive)
		step = PUSH_DROP;
	if (step == PUSH_GROUPS && !push_groups_due(s, step))
		step = PUSH_ACTIVATE;
	if (step == PUSH_DROP && !(st && st->drops))
		step = PUSH_LANES;
	if (step == PUSH_LANES && !s->push.plan->sls)
		step = after_lanes(s);
	if (step == PUSH_ARBITRATION && !push_arbitration_due(s))
		step = after_lanes(s);
	if (step == PUSH_STAGE && (!st || s->push.stage == st->len))
		step = st && st->drain && !st->shifts ? PUSH_DRAIN_WAIT : PUSH_CONFIG;
	return step;
}

void
push_step_start(struct subnet *s, enum push_step step)
{
	s->push.step = step = skip_stages(s, step);
	if (step == PUSH_DRAIN_WAIT) {
		loop_timer_set(s->drain_timer, push_packet_lifetime(s));
		return;
	}
	s->push.starting = true;
	s->push.at = 0;
	push_turn(s);
}

void
push_turn(struct subnet *s)
{
	if (s->push.step == PUSH_DONE) {
		push_end_turn(s);
	} else if (s->push.starting) {
		s->push.starting = !push_walk(s, start_device);
		/* Perhaps nothing is to be done anywhere: then nobody else goes on. */
		if (s->push.starting || transact_is_idle(s->transact))
			loop_timer_set(s->turn, 0);
	} else if (transact_is_idle(s->transact)) {
		push_idle(s);
	}
}

/* Somebody was not heard of any more: what it holds now is not known, so that what follows is not
 * proved either. */
static bool
stage_failed(const struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		if (d->push_failed && push_table_is_staged(s, d))
			return true;
	}
	return false;
}

/* What follows is not proved: the rest is left for the next push, and switches go on by what they
 * hold. Nobody is told of the plan until then, unless that takes long: hosts ask for more than
 * service levels. */
static void
cut(struct subnet *s)
{
	s->push.cut = true;
	s->outdated = s->failures < PATIENCE;
	push_end(s);
}

static void
stage_ended(struct subnet *s)
{
	bool dropped = s->push.step == PUSH_DROP;

	if (stage_failed(s)) {
		s->push.failed_tables++;
		cut(s);
		return;
	}
	s->push.stage++;
	push_step_start(s, !dropped ? PUSH_STAGE : s->push.stages->shifts ? PUSH_DRAIN_WAIT :
			   PUSH_LANES);
}

/* Rows and links that need the lanes are not touched where these are not in. */
static void
lanes_ended(struct subnet *s)
{
	if (push_lanes_failed(s)) {
		cut(s);
		return;
	}
	push_step_start(s, PUSH_ARBITRATION);
}

/* Packets pass by tables that nobody here knows, and that are still what they were: no mixture
 * with those was proved. */
static void
new_ended(struct subnet *s)
{
	bool unknown = false;

	list_each(it, &s->topo.devices)
		unknown |= push_table_is_lost(list_entry(it, struct device, all));
	if (unknown) {
		s->push.failed_tables++;
		cut(s);
		return;
	}
	push_step_start(s, PUSH_LINKS);
}

void
push_idle(struct subnet *s)
{
	if (s->push.starting || s->push.step == PUSH_DONE)
		return;
	loop_timer_cancel(s->turn);
	switch (s->push.step) {
	case PUSH_READ_TABLES:
	case PUSH_READ_LANES:
		s->push.step = PUSH_DONE;
		subnet_push_done(s);
		break;
	case PUSH_OWN_PORT:
		push_step_start(s, PUSH_PKEYS_SWITCHES);
		break;
	case PUSH_PKEYS_SWITCHES:
		push_step_start(s, PUSH_PKEYS_HOSTS);
		break;
	case PUSH_PKEYS_HOSTS:
		push_step_start(s, after_pkeys(s));
		break;
	case PUSH_LANES:
		lanes_ended(s);
		break;
	case PUSH_ARBITRATION:
		push_step_start(s, after_lanes(s));
		break;
	case PUSH_NEW:
		new_ended(s);
		break;
	case PUSH_LINKS:
		push_step_start(s, PUSH_LINKS_UP);
		break;
	case PUSH_LINKS_UP:
		push_step_start(s, PUSH_STAGE);
		break;
	case PUSH_DROP:
	case PUSH_STAGE:
		stage_ended(s);
		break;
	case PUSH_GROUPS_LESS:
	case PUSH_NUMBERS:
		push_groups_ended(s);
		break;
	case PUSH_CONFIG:
		push_step_start(s, PUSH_GROUPS);
		break;
	case PUSH_GROUPS:
		push_step_start(s, PUSH_ACTIVATE);
		break;
	case PUSH_ACTIVATE:
		push_end(s);
		break;
	case PUSH_DRAIN_WAIT:
	case PUSH_DONE:
		break;
	}
}

void
push_forget_device(struct device *d)
{
	static const struct bits256 none;

	d->push_failed = false;
	d->look = d->recheck = none;
}

void
push_forget(struct subnet *s)
{
	plan_unref(s->push.plan);
	push_few_free(s->push.few);
	memset(&s->push, 0, sizeof(s->push));
}

static void
push_reset(struct subnet *s)
{
	push_forget(s);
	list_each(it, &s->topo.devices)
		push_forget_device(list_entry(it, struct device, all));
}

void
push_start_reading(struct subnet *s)
{
	push_reset(s);
	push_step_start(s, PUSH_READ_TABLES);
}

void
push_start_reading_lanes(struct subnet *s)
{
	push_reset(s);
	push_step_start(s, PUSH_READ_LANES);
}

void
push_start(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister)
{
	push_reset(s);
	s->push.plan = plan;
	push_place(s);
	s->push.stages = stages;
	s->push.started = loop_now(s->env.loop);
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		d->lanes_held = false;
		s->push.live |= d->lft_trusted;
		for (unsigned n = 1; reregister && n <= d->info.num_ports; n++)
			d->ports[n].flags |= LIVE_PORT_REREGISTER;
	}
	push_step_start(s, PUSH_OWN_PORT);
}
