/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The published plan on a newer snapshot of the same nodes and cables: nothing is routed for it.
 *
 * Two things lead here. What programming made of ports' states is taken over at the end of a push
 * (subnet_refresh). Names have changed, in a file or at a device: everything is written anew
 * (refresh_all), as routing would be shown it: collected in slices, built by the worker, and rules
 * of quality of service that select by names are compiled again. Should another plan be published
 * meanwhile, it is all done once more, for that plan may have been made of what was known before.
 */
#include "sm/core/subnet_i.h"

#include "sm/base/mem.h"
#include "sm/core/rules_job.h"
#include "sm/core/snapshot.h"
#include "sm/fabric/levels.h"

struct refresh_job {
	struct subnet *s;		/* NULL: the subnet let go, throw the result away */
	struct fabric_builder *builder;	/* what was collected; NULL when it is built */
	uint64_t generation;		/* of the snapshot */
	struct drains drains;		/* what traffic is kept off; a copy */
	const struct plan *old;		/* published; reference held */
	struct plan *new;		/* the same on the snapshot; NULL: there are other nodes */
	bool named;			/* rules of quality of service select by names: */
	struct rules_job rules;		/* they are compiled anew */
	struct policy *policy;		/* partitions that they name; reference held, NULL */
};

static void
publish(struct subnet *s, struct plan *plan)
{
	plan_unref(s->plan);
	s->plan = plan;
	s->published_wall = loop_wall(s->env.loop);
}

/* ---- States of ports ---- */

bool
subnet_refresh(struct subnet *s)
{
	struct refresh *r = &s->refresh;
	const struct fabric *f;
	struct plan *plan;

	if (!r->states)
		r->states = snapshot_states_new(s->plan->fabric);
	if (!snapshot_states_slice(r->states, &s->topo))
		return false;
	f = snapshot_states_end(r->states, ++s->generation);
	r->states = NULL;
	plan = plan_on_fabric(s->plan, f);
	fabric_unref(f);
	if (plan)
		publish(s, plan);
	return true;
}

/* ---- Everything ---- */

static void
job_free(struct refresh_job *j)
{
	plan_unref(j->old);
	plan_unref(j->new);
	drains_free(&j->drains);
	rules_job_end(&j->rules);
	policy_unref(j->policy);
	mem_free(j);
}

static void
run(void *arg)
{
	struct refresh_job *j = arg;
	const struct fabric *whole = fabric_build(j->builder, j->generation), *shown;
	struct change_report report;
	struct error e;

	j->builder = NULL;
	shown = drains_cut(&j->drains, whole, j->generation, &report);
	fabric_unref(whole);
	j->new = plan_on_fabric(j->old, shown);
	fabric_unref(shown);
	/* They are sound, as they were when they were read: else they stay as they are. */
	if (j->new && j->named && rules_job_run(&j->rules, j->policy, j->new, &e))
		j->named = false;
}

static void
done(void *arg)
{
	struct refresh_job *j = arg;
	struct subnet *s = j->s;

	if (s) {
		s->refresh.job = NULL;
		if (s->plan != j->old) {
			refresh_all(s);
		} else if (j->new) {
			if (j->named)
				rules_job_adopt(s, &j->rules, j->old->levels, j->new->levels);
			publish(s, j->new);
			j->new = NULL;
			partitions_renamed(s);
		}
	}
	job_free(j);
}

static void
on_turn(void *subnet)
{
	struct subnet *s = subnet;
	struct refresh *r = &s->refresh;
	struct refresh_job *j;

	if (!snapshot_slice(r->collecting, s->env.names)) {
		loop_timer_set(r->timer, 0);
		return;
	}
	j = mem_zalloc(sizeof(*j));
	j->s = s;
	j->builder = snapshot_end(r->collecting);
	j->generation = ++s->generation;
	j->old = plan_ref(s->plan);
	drains_copy(&j->drains, &s->drains);
	j->named = s->plan->levels && s->plan->levels->named;
	if (j->named) {
		rules_job_begin(&j->rules, s, false);
		j->policy = policy_ref(s->parts.policy);
	}
	r->collecting = NULL;
	r->job = j;
	loop_work(s->env.loop, run, done, j, 0);
}

static void
let_go(struct refresh *r)
{
	loop_timer_cancel(r->timer);
	snapshot_free(r->collecting);
	r->collecting = NULL;
	if (r->job)
		r->job->s = NULL;	/* the worker's */
	r->job = NULL;
}

void
refresh_all(struct subnet *s)
{
	struct refresh *r = &s->refresh;

	s->want_refresh = !s->plan || s->stage != SUBNET_IDLE;
	if (s->want_refresh)
		return;
	let_go(r);
	r->collecting = snapshot_new(&s->topo);
	loop_timer_set(r->timer, 0);
}

void
refresh_init(struct subnet *s)
{
	s->refresh.timer = loop_timer_new(s->env.loop, on_turn, s);
}

void
refresh_drop(struct subnet *s)
{
	let_go(&s->refresh);
	snapshot_states_free(s->refresh.states);
	s->refresh.states = NULL;
}

void
refresh_free(struct subnet *s)
{
	if (!s->refresh.timer)
		return;
	refresh_drop(s);
	loop_timer_free(s->refresh.timer);
}
