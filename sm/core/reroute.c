/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weft reroute`: an administrator's wish to route now, with another engine, after a full sweep, or
 * only to see what would change. One at a time; it waits for the stage that runs. An engine that is
 * asked for by name is tried alone, so a refusal is an answer; once it runs it stays in front of
 * the configured chain until the configuration's engines change or a plain reroute comes.
 */
#include "sm/core/subnet_i.h"

#include <stdarg.h>
#include <stdio.h>

void
reroute_answer(struct subnet *s, int err, const char *fmt, ...)
{
	void (*fn)(void *, int, const char *) = s->reroute.done;
	char text[1600];
	va_list ap;

	if (!fn)
		return;
	s->reroute.done = NULL;
	s->reroute.waiting = false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fn(s->reroute.arg, err, text);
}

void
reroute_undo(struct subnet *s)
{
	if (s->reroute.done && !s->reroute.dry_run)
		snprintf(s->engine_override, sizeof(s->engine_override), "%s", s->reroute.before);
}

/* A rehearsal, or a plain reroute, needs no sweep: it routes what is known. */
static void
route_known(struct subnet *s)
{
	const struct fabric *f = s->reroute.dry_run ? fabric_ref(s->plan->fabric) :
				 topo_snapshot(&s->topo, s->env.names, ++s->generation);

	loop_timer_cancel(s->timer);
	s->change_started = loop_now(s->env.loop);
	subnet_set_stage(s, SUBNET_ROUTE);
	planner_start(s, f, s->reroute.dry_run);
	fabric_unref(f);
}

void
reroute_begin(struct subnet *s)
{
	struct reroute *r = &s->reroute;

	r->waiting = false;
	if (s->role != ROLE_MASTER || !s->plan) {
		reroute_answer(s, ERR_REFUSED, "subnet %s cannot be routed now: %s", s->conf->name,
			       s->why_not);
		return;
	}
	if (!r->dry_run) {
		snprintf(r->before, sizeof(r->before), "%s", s->engine_override);
		snprintf(s->engine_override, sizeof(s->engine_override), "%s", r->engine);
	}
	if (!r->full || r->dry_run) {
		route_known(s);
		return;
	}
	s->want_tables = s->want_route = true;
	subnet_want_sweep(s, SWEEP_HEAVY);
}

int
subnet_reroute(struct subnet *s, const char *engine, bool full, bool dry_run,
	       void (*done)(void *arg, int error, const char *text), void *arg, struct error *e)
{
	struct reroute *r = &s->reroute;

	if (s->role != ROLE_MASTER || !s->plan)
		return error_set(e, ERR_REFUSED, "subnet %s cannot be routed now: %s",
				 s->conf->name, s->why_not);
	if (r->done)
		return error_set(e, ERR_BUSY, "subnet %s is being rerouted by another command: try "
				 "again when it has ended", s->conf->name);
	*r = (struct reroute){.done = done, .arg = arg, .full = full, .dry_run = dry_run,
			      .waiting = true};
	snprintf(r->engine, sizeof(r->engine), "%s", engine ? engine : "");
	if (s->stage == SUBNET_IDLE)
		reroute_begin(s);
	return 0;
}
