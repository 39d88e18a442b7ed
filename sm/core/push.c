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
 * get besides; then ARMED to ACTIVE, when it was asked once more who is at the end of each cable,
 * and hosts which P_Keys they hold (push_prove.c). A device is asked by pull (push_next), one
 * request at a time from its cursors, so blocks go out across all switches in turn.
 *
 * Every Set is read back from its response (IBA 13.4.5: GetResp carries what the attribute then
 * is): the shadow takes the response, never the wish. A field that keeps another value is noted in
 * live_port.stubborn and left alone, unless nothing is forwarded without it; a refused or lost Set
 * leaves the shadow as it was. What is missing at the end is tried again after a while.
 *
 * What follows what is in push_step.c; here is what is asked and set in each step, and what answers
 * mean.
 */
#include "sm/core/push.h"
#include "sm/core/push_adaptive.h"
#include "sm/core/push_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/core/snapshot.h"

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
 * top of 0 then, while a top that is written (again) behind them would hide the loss. But see
 * push_leave.c.
 */
static bool
rows_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	if (push_leave_next(s, d, r))
		return true;
	if (push_leaving(d))
		return false;
	if (switch_info_next(s, d, r))
		return true;
	if (d->switch_info_sent || push_leave_stuck(d))
		return false;
	return push_table_trial_next(d, r) || push_table_next(s, d, r);
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

	while ((n = bits_pop(&d->activate)) >= 0) {
		struct live_port *p = &d->ports[n];

		if (p->info.state != PORT_ARMED || !push_port_counts(p) ||
		    live_peer(p)->info.state < PORT_ARMED || !tables_are_in(s, d) ||
		    !tables_are_in(s, p->peer) || !push_pkeys_may_rise(s, p) ||
		    push_port_unproved(s, p) || push_port_unproved(s, live_peer(p)))
			continue;
		*port = (unsigned)n;
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
	case PUSH_LINKS_PROVE:
	case PUSH_PROVE:
	case PUSH_PROVE_CABLES:
		return push_prove_next(s, d, r, port);
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
	bool addressed;

	if (a->kind != AGENT_DEVICE || d->push_failed)
		return false;
	if (!step_next(s, d, r, &port)) {
		settled(s, d);
		return false;
	}
	if (r->method == MAD_SET)
		s->push.sets++;
	addressed = subnet_address(s, d, port, r);
	if (addressed && r->attr_id == ATTR_NODE_INFO)
		addressed = push_prove_address(s, d, r);
	if (addressed) {
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
	bool again = false, may_fail;

	if (a->kind != AGENT_DEVICE)
		return;
	may_fail = push_adaptive_may_fail(d, res);
	d->inflight--;
	if (res->attr_id == ATTR_SWITCH_INFO)
		d->switch_info_sent = false;
	/* What waited for the answer is next. */
	if (res->attr_id == ATTR_SWITCH_INFO || push_leaving(d))
		transact_ready(s->transact, &d->agent.target);
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
	if (res->attr_id == ATTR_NODE_INFO)
		may_fail = again = push_prove_answer(s, d, res);
	if (res->error && !may_fail)
		lost(s, d, res);
	else if (res->mad_status && !again)
		refused(s, d, res);
	else if (!res->error && !res->mad_status)
		answered(s, d, res);
	/* A device that has more to send settles when it is asked for it. */
	if (s->push.step != PUSH_LANES)
		settled(s, d);
	else if (!d->lanes_inflight)
		transact_ready(s->transact, &d->agent.target);
	if (!d->push_failed && !(bits_empty(&d->recheck) && bits_empty(&d->pkey_again)))
		transact_ready(s->transact, &d->agent.target);
}
