/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an administrator asks of the routing: `weft reroute`, to route now, with another engine,
 * after a full sweep, or only to see what would change; `weft drain` and `undrain`; `weft fail`,
 * which is always a rehearsal. One at a time; it waits for the stage that runs. An engine that is
 * asked for by name is tried alone, so a refusal is an answer; once it runs it stays in front of
 * the configured chain until the configuration's engines change or a plain reroute comes. What was
 * refused leaves nothing behind.
 */
#include "sm/core/reroute.h"
#include "sm/core/subnet_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

static void
answer(struct subnet *s, int err, const char *text)
{
	change_done_fn fn = s->reroute.done;

	s->reroute.done = NULL;
	s->reroute.waiting = false;
	drains_free(&s->reroute.drains);
	fn(s->reroute.arg, err, text, err ? NULL : &s->reroute.report);
}

void
reroute_answer(struct subnet *s, int err, const char *fmt, ...)
{
	char text[1600];
	va_list ap;

	if (!s->reroute.done)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	answer(s, err, text);
}

/* It was begun, and changes something. */
static bool
is_real(const struct subnet *s)
{
	return s->reroute.done && !s->reroute.waiting && !s->reroute.c.dry_run;
}

bool
reroute_is_dry(const struct subnet *s)
{
	return s->reroute.done && !s->reroute.waiting && s->reroute.c.dry_run;
}

static bool
is_drain(const struct change *c)
{
	return c->kind == CHANGE_DRAIN || c->kind == CHANGE_UNDRAIN;
}

void
reroute_undo(struct subnet *s)
{
	if (!is_real(s))
		return;
	if (is_drain(&s->reroute.c)) {
		drains_free(&s->drains);
		drains_copy(&s->drains, &s->reroute.drains);
		s->want_route = true;
	} else {
		snprintf(s->engine_override, sizeof(s->engine_override), "%s", s->reroute.before);
	}
}

static void
saved(void *subnet, int error, const char *why)
{
	struct subnet *s = subnet;

	if (!s->reroute.done)
		return;
	if (error)
		reroute_answer(s, error, "%s, but the state file does not remember it: %s",
			       s->reroute.text, why ? why : error_name(error));
	else
		answer(s, 0, s->reroute.text);
}

/* The log of events has who is the cause of the routing that it tells of. */
static void
tell_change(struct subnet *s)
{
	const struct fabric *f = s->plan->fabric;
	const struct change *c = &s->reroute.c;
	uint32_t node = is_drain(c) ? fabric_node_by_guid(f, c->guid) : FABRIC_NONE;
	unsigned number = c->port == CHANGE_ALL_PORTS ? 0 : (unsigned)c->port;
	char port[16] = "";

	if (is_drain(c)) {
		if (number)
			snprintf(port, sizeof(port), "/%u", number);
		subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, c->guid, number, "by command traffic "
			     "is %s %s%s", c->kind == CHANGE_DRAIN ? "kept off" : "let back to",
			     node == FABRIC_NONE ? "a node" : f->nodes[node].name, port);
	} else if (c->apply_names) {
		subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0, "by command names that rules of "
			     "qos select by mean the nodes that have them now");
	} else {
		subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0, "by command routed anew%s, by "
			     "engine %s", c->full ? " in full" : "", s->plan->engine_running);
	}
}

void
reroute_done(struct subnet *s)
{
	struct reroute *r = &s->reroute;

	if (!is_real(s))
		return;
	snprintf(r->text, sizeof(r->text), "engine %s runs: %u entries in %u blocks were written",
		 s->plan->engine_running, s->push.entries, s->push.blocks);
	tell_change(s);
	if (is_drain(&r->c)) {
		health_follow_drains(s);
		drains_save(s, saved, s);
	} else {
		answer(s, 0, r->text);
	}
}

/* Ports that have no cable, and had one: as if they never had. */
static const struct fabric *
forget_lost(const struct fabric *f)
{
	struct fabric_port *ports = mem_array(f->nports, sizeof(*ports));
	struct fabric *shown;

	memcpy(ports, f->ports, f->nports * sizeof(*ports));
	for (uint32_t i = 0; i < f->nports; i++)
		if (!(ports[i].flags & FABRIC_PORT_DRAINED))
			ports[i].lost_peer = 0;
	shown = fabric_with_ports(f, ports, f->generation);
	shown->nlost = 0;
	return shown;
}

/* After a loss: drained cables without which the fabric would fall apart carry traffic again. */
static const struct fabric *
without(const struct fabric *whole, const struct change *c, const struct drains *drains,
	struct change_report *report)
{
	const struct fabric *left = drains_without(whole, c, report), *shown;
	uint32_t cables = report->cables;

	shown = drains_cut(drains, left, left->generation, report);
	report->cables = cables;
	report->kept = 0;
	fabric_unref(left);
	return shown;
}

const struct fabric *
reroute_shown(const struct change *c, struct drains *drains, const struct fabric *whole,
	      struct change_report *report)
{
	const struct fabric *f, *shown;
	struct error e;

	if (c->dry_run && is_drain(c))
		drains_change(drains, whole, c, 0, &e);
	if (c->kind == CHANGE_FAIL)
		return without(whole, c, drains, report);
	f = drains_cut(drains, whole, whole->generation, report);
	shown = c->dry_run && c->forget_lost ? forget_lost(f) : fabric_ref(f);
	fabric_unref(f);
	return shown;
}

/* A rehearsal, or a plain reroute, needs no sweep: it routes what is known. */
static void
route_known(struct subnet *s)
{
	loop_timer_cancel(s->timer);
	s->change_started = loop_now(s->env.loop);
	route_start(s, true);
}

/* The same nodes and ports as published: their indices, and so their LIDs, are the same. */
static bool
is_as_published(struct subnet *s)
{
	uint32_t nodes = 0;

	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		if (!d->complete)
			continue;
		nodes++;
		if (fabric_node_by_guid(s->plan->fabric, d->guid) == FABRIC_NONE)
			return false;
	}
	return nodes == s->plan->fabric->nnodes;
}

static int
take_drain(struct subnet *s, struct error *e)
{
	struct reroute *r = &s->reroute;
	struct drains trial;
	int rc;

	drains_copy(&trial, &s->drains);
	rc = drains_change(&trial, s->plan->fabric, &r->c, loop_wall(s->env.loop), e);
	if (rc || r->c.dry_run) {
		drains_free(&trial);
		return rc;
	}
	r->drains = s->drains;
	s->drains = trial;
	return 0;
}

/* Is there what the change is about? */
static int
find_place(const struct fabric *f, const struct change *c, struct error *e)
{
	uint32_t node = fabric_node_by_guid(f, c->guid);

	if (node == FABRIC_NONE)
		return error_set(e, ERR_NOT_FOUND, "no node has the GUID 0x%016llx",
				 (unsigned long long)c->guid);
	if (c->port == CHANGE_ALL_PORTS)
		return 0;
	if (c->port < 1 || c->port > f->nodes[node].nports)
		return error_set(e, ERR_NOT_FOUND, "%s has no port %d: they are 1 to %u",
				 f->nodes[node].name, c->port, f->nodes[node].nports);
	if (c->kind == CHANGE_FAIL &&
	    fabric_port_at(f, node, (unsigned)c->port)->peer == FABRIC_NONE)
		return error_set(e, ERR_NOT_FOUND, "port %d of %s carries no traffic",
				 c->port, f->nodes[node].name);
	return 0;
}

void
reroute_begin(struct subnet *s)
{
	struct reroute *r = &s->reroute;
	struct error e;

	r->waiting = false;
	if (s->role != ROLE_MASTER || !s->plan) {
		reroute_answer(s, ERR_REFUSED, "subnet %s cannot be routed now: %s", s->conf->name,
			       s->why_not);
		return;
	}
	if ((r->c.dry_run || is_drain(&r->c)) && !is_as_published(s)) {
		reroute_answer(s, ERR_BUSY, "subnet %s is changing just now: try again",
			       s->conf->name);
		return;
	}
	/* It may have gone while the command waited. */
	if (r->c.kind != CHANGE_ROUTE && find_place(s->plan->fabric, &r->c, &e)) {
		reroute_answer(s, e.code, "%s", e.text);
		return;
	}
	if (is_drain(&r->c) && take_drain(s, &e)) {
		reroute_answer(s, e.code, "%s", e.text);
		return;
	}
	if (r->c.kind == CHANGE_ROUTE && !r->c.dry_run) {
		snprintf(r->before, sizeof(r->before), "%s", s->engine_override);
		if (!r->c.apply_names)
			snprintf(s->engine_override, sizeof(s->engine_override), "%s", r->engine);
		if (r->c.forget_lost)
			topo_forget_lost(&s->topo);
	}
	if (!r->c.full || r->c.dry_run) {
		route_known(s);
		return;
	}
	s->want_tables = s->want_route = true;
	subnet_want_sweep(s, SWEEP_HEAVY);
}

int
subnet_change(struct subnet *s, const struct change *c, change_done_fn done, void *arg,
	      struct error *e)
{
	struct reroute *r = &s->reroute;
	int rc;

	if (s->role != ROLE_MASTER || !s->plan)
		return error_set(e, ERR_REFUSED, "subnet %s cannot be routed now: %s",
				 s->conf->name, s->why_not);
	if (r->done)
		return error_set(e, ERR_BUSY, "subnet %s is being rerouted by another command: try "
				 "again when it has ended", s->conf->name);
	rc = c->kind == CHANGE_ROUTE ? 0 : find_place(s->plan->fabric, c, e);
	if (rc)
		return rc;
	*r = (struct reroute){.done = done, .arg = arg, .c = *c, .waiting = true};
	snprintf(r->engine, sizeof(r->engine), "%s", c->engine ? c->engine : "");
	r->c.engine = NULL;
	r->c.dry_run |= c->kind == CHANGE_FAIL;
	if (s->stage == SUBNET_IDLE)
		reroute_begin(s);
	return 0;
}
