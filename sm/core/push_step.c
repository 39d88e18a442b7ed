/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of programming (push.c), one after the other.
 *
 * A step begins, and the push ends, with a walk over all ports; in a large fabric it is done in
 * slices, so that others have their turn between them (push_turn). Where P_Keys of a few ports are
 * all that has changed only their devices are walked over (push_few.c).
 */
#include "sm/core/push.h"
#include "sm/core/push_adaptive.h"
#include "sm/core/push_i.h"

#include <string.h>
#include "sm/base/mem.h"

#define PATIENCE 3	/* pushes in a row that may fail while hosts are kept waiting */

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
		push_leave_start(s, d);
	push_table_start(s, d);
	d->lft_trial = d->lft_refuses;
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
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		d->ports[n].passed = d->ports[n].plainly = false;
		if (d->ports[n].info.state == PORT_ARMED)
			bits_set(&d->activate, n);
	}
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
		push_leave_start(s, d);
		push_table_start(s, d);
		d->push_switch_info = true;
		break;
	case PUSH_LINKS:
	case PUSH_LINKS_PROVE:
	case PUSH_LINKS_UP:
		if (!start_links(s, d))
			return;
		break;
	case PUSH_NUMBERS:
	case PUSH_DROP:
	case PUSH_STAGE:
		/* One that fell out of adaptive routing comes when it is turned off. */
		if (d->ar && d->ar->leave)
			return;
		push_table_start(s, d);
		if (!d->lft_pending)
			return;
		break;
	case PUSH_CONFIG:
		start_config(s, d);
		break;
	case PUSH_PROVE:
	case PUSH_PROVE_CABLES:
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
		step = PUSH_PROVE;
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

/* Somebody does not hold the row of this step, so that what follows is not proved. */
static bool
stage_failed(struct subnet *s)
{
	bool failed = false;

	list_each(it, &s->topo.devices)
		failed |= push_table_lacks(s, list_entry(it, struct device, all));
	return failed;
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
		unknown |= push_table_is_lost(s, list_entry(it, struct device, all));
	if (unknown) {
		s->push.failed_tables++;
		cut(s);
		return;
	}
	push_step_start(s, PUSH_LINKS);
}

/* Where a cable was moved Sets get to others than they are meant for. Links that are in INIT do not
 * rise by that, but those that another device has ARMED do. Who is told so time and again may be
 * fooled by somebody, and goes on. */
static void
proved(struct subnet *s, enum push_step next)
{
	if (s->push.astray && s->failures < PATIENCE)
		cut(s);
	else
		push_step_start(s, next);
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
		push_step_start(s, PUSH_LINKS_PROVE);
		break;
	case PUSH_LINKS_PROVE:
		proved(s, PUSH_LINKS_UP);
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
		push_step_start(s, push_tables_are_in(s) ? PUSH_GROUPS : PUSH_PROVE);
		break;
	case PUSH_GROUPS:
		push_step_start(s, PUSH_PROVE);
		break;
	case PUSH_PROVE:
		push_step_start(s, PUSH_PROVE_CABLES);
		break;
	case PUSH_PROVE_CABLES:
		proved(s, PUSH_ACTIVATE);
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
	if (d->ar)
		d->ar->leaving = LEAVE_NOT;
	d->look = d->recheck = none;
}

void
push_forget(struct subnet *s)
{
	plan_unref(s->push.plan);
	push_few_free(s->push.few);
	mem_free(s->push.ways);
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
