/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stage ROUTE up to the planner: what routing is shown.
 *
 * In a large fabric each step takes its time, so others have their turn between them: the model is
 * collected in slices, the snapshot is built and what is drained is left out on the worker, devices
 * learn which nodes they are, LIDs are assigned, the planner is started. A sweep that found a
 * change and a command that routes what is known (`weft reroute`, `drain`, `fail`) both go this
 * way. What is under way belongs to the subnet until it is let go (route_drop): then the worker's
 * result is thrown away.
 */
#include "sm/core/route.h"
#include "sm/core/subnet_i.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/snapshot.h"

struct route_job {
	struct subnet *s;		/* NULL: the subnet let go, throw the result away */
	struct fabric_builder *builder;	/* what was collected; NULL when it is built */
	uint64_t generation;		/* of the snapshot */
	struct drains drains;		/* what traffic is kept off; a copy */
	struct change c;		/* the command; of a sweep: nothing but to route */
	struct change_report report;	/* cables that are left out */
	const struct fabric *whole;	/* the snapshot; reference held; NULL: not yet */
	const struct fabric *shown;	/* what routing is shown of it; likewise */
	bool back;			/* it is the loop's again */
	uint32_t indexed;		/* places of topo.table that know their node */
	bool known;			/* all do */
	struct assignment *assigning;	/* of LIDs, in slices; NULL */
	struct plan_lids *lids;		/* for the planner; NULL: not yet, or a rehearsal */
};

static void
job_free(struct route_job *j)
{
	if (!j)
		return;
	if (j->builder)
		fabric_unref(fabric_build(j->builder, 0));
	fabric_unref(j->whole);
	fabric_unref(j->shown);
	lids_drop(j->assigning);
	plan_lids_unref(j->lids);
	drains_free(&j->drains);
	mem_free(j);
}

static void
run(void *arg)
{
	struct route_job *j = arg;

	j->whole = fabric_build(j->builder, j->generation);
	j->builder = NULL;
	j->shown = reroute_shown(&j->c, &j->drains, j->whole, &j->report);
}

/* Nothing is left at our own port. */
static bool
cuts_us_off(const struct fabric *f)
{
	const struct fabric_port *p = f->sm_port == FABRIC_NONE ? NULL : &f->ports[f->sm_port];

	return p && f->nodes[p->node].sw == FABRIC_NONE && p->peer == FABRIC_NONE;
}

static void
done(void *arg)
{
	struct route_job *j = arg;
	struct subnet *s = j->s;

	if (!s) {
		job_free(j);
		return;
	}
	j->back = true;
	s->reroute.report.cables = j->report.cables;
	s->reroute.report.kept = j->report.kept;
	if (j->c.kind == CHANGE_FAIL && cuts_us_off(j->shown)) {
		reroute_answer(s, ERR_REFUSED, "the subnet manager itself would be cut off: tables "
			       "would stay as they are");
		route_drop(s);
		subnet_rest(s);
		return;
	}
	/* A rehearsal has the LIDs of the published plan, by port. */
	if (j->c.dry_run && j->whole->nports != s->plan->fabric->nports) {
		reroute_answer(s, ERR_BUSY, "subnet %s is changing just now: try again",
			       s->conf->name);
		route_drop(s);
		subnet_rest(s);
		return;
	}
	loop_timer_set(s->turn, 0);
}

/* All is collected. */
static void
build(struct subnet *s)
{
	struct route_job *j = mem_zalloc(sizeof(*j));

	j->s = s;
	j->builder = snapshot_end(s->route.collecting);
	j->generation = ++s->generation;
	j->c.kind = CHANGE_ROUTE;
	if (s->route.command)
		j->c = s->reroute.c;
	drains_copy(&j->drains, &s->drains);
	s->route.collecting = NULL;
	s->route.job = j;
	loop_work(s->env.loop, run, done, j, 0);
}

static void
plan(struct subnet *s)
{
	struct route_job *j = s->route.job;

	/* What fails is not there while tables change. */
	planner_start(s, j->shown, j->c.kind == CHANGE_FAIL ? j->shown : j->whole, j->lids);
	j->lids = NULL;
	route_drop(s);
}

static void
assign(struct subnet *s, struct route_job *j)
{
	if (!j->assigning) {
		j->assigning = lids_begin(s, j->shown);
	} else if (lids_slice(j->assigning)) {
		j->lids = lids_end(j->assigning);
		j->assigning = NULL;
	}
}

void
route_turn(struct subnet *s)
{
	struct route_job *j = s->route.job;

	if (s->route.collecting) {
		if (snapshot_slice(s->route.collecting, s->env.names)) {
			build(s);
			return;
		}
	} else if (j && !j->known) {
		j->known = snapshot_index(&s->topo, j->whole, &j->indexed);
	} else if (j && !j->lids && !j->c.dry_run) {
		assign(s, j);
	} else if (j) {
		plan(s);
		return;
	}
	loop_timer_set(s->turn, 0);
}

void
route_start(struct subnet *s, bool command)
{
	route_drop(s);
	s->route.command = command;
	s->route.collecting = snapshot_new(&s->topo);
	subnet_set_stage(s, SUBNET_ROUTE);
	loop_timer_set(s->turn, 0);
}

void
route_drop(struct subnet *s)
{
	struct route_job *j = s->route.job;

	snapshot_free(s->route.collecting);
	s->route.collecting = NULL;
	s->route.job = NULL;
	if (j && j->back)
		job_free(j);
	else if (j)
		j->s = NULL;	/* the worker's */
}
