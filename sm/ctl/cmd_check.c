/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "routing/adaptive.h"
#include "routing/report.h"
#include "sm/base/mem.h"

/*
 * check: the running tables, and groups of adaptive routing beside them, proved once more, from
 * nothing, and their quality measured. Both are
 * done by a worker on the published plan. What is sampled is drawn by a fixed seed, and the answer
 * says how many samples there were.
 */
struct check {
	const struct plan *plan;	/* the request's */
	bool quality;			/* measure it too */
	int verdict;			/* of check_routing() */
	struct plan_check report;	/* its findings */
	struct quality_report q;	/* of quality_measure() */
};

static void
check_run(struct ctl_req *r)
{
	struct check *c = r->state;
	const struct plan *p = c->plan;
	struct check_input in = {
		.fabric = p->fabric,
		.lids = p->lids,
		.rows = p->rows,
		.lanes = p->lanes,
		.ranks = p->ranks,
		.adaptive = p->adaptive,
	};

	c->verdict = check_routing(&in, &c->report);
	if (c->quality && !c->verdict)
		report_measure(&in, REPORT_SEED, 0, &c->q);
}

/* Groups that the proof took along, and what it would not have. */
static void
put_adaptive(struct json *j, const struct plan_adaptive *a)
{
	struct adaptive_summary sum;

	if (!a || !a->adaptive)
		return;
	sum = adaptive_sum(a);
	jw_object(j, "adaptive");
	jw_uint(j, "switches", sum.switches);
	jw_uint(j, "groups", sum.groups);
	jw_uint(j, "groups_max", sum.most);
	jw_uint(j, "left_out", sum.left_out);
	jw_uint(j, "cut", sum.cut);
	jw_str(j, "cut_first", sum.cut ? a->cut_first : NULL);
	jw_end(j);
}

static void
check_answer(struct ctl_req *r)
{
	struct check *c = r->state;
	struct json *j = req_begin(r);

	jw_str(j, "subnet", r->subnet->name);
	jw_str(j, "engine", c->plan->engine_running);
	report_put_counts(j, c->verdict, &c->report);
	report_put_quality(j, c->quality && !c->verdict ? &c->q : NULL);
	report_put_faults(j, &c->report);
	put_adaptive(j, c->plan->adaptive);
	jw_real(j, "took_ms", (double)(loop_now(r->loop) - r->started) / 1e6);
	req_end(r);
}

static void
check(struct ctl_req *r)
{
	struct check *c;

	if (!r->plan->lids) {
		req_fail(r, EXIT_REFUSED, "subnet %s has no LIDs yet", r->subnet->name);
		return;
	}
	c = mem_zalloc(sizeof(*c));
	r->state = c;
	r->state_free = mem_free;
	c->plan = r->plan;
	c->quality = !req_flag(r, "no_quality");
	req_job(r, check_run, check_answer, SEC(1));
}

static const struct ctl_arg check_args[] = {
	{ .name = "no_quality", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_check[] = {
	{ .name = "check", .args = check_args, .scope = SCOPE_PLAN, .run = check },
	{ 0 },
};
