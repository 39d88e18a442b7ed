/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "routing/check.h"
#include "sm/base/mem.h"

/*
 * check: the running tables proved once more, from nothing, and their quality measured. Both are
 * done by a worker on the published plan. Every shift permutation is counted up to SHIFTS_ALL
 * hosts; above, and for random permutations, samples drawn by a fixed seed are, and the answer
 * says how many.
 */
#define SHIFTS_ALL 1024u	/* ports up to which all shifts are counted */
#define SHIFTS_SAMPLED 256u
#define SAMPLES 100u		/* random permutations */
#define SEED 1

struct check {
	const struct plan *plan;	/* the request's */
	bool quality;			/* measure it too */
	int verdict;			/* of check_routing() */
	struct plan_check report;	/* its findings */
	struct quality_report q;	/* of quality_measure() */
};

static uint32_t
ports_with_lid(const struct plan *p)
{
	uint32_t len = 0;

	for (uint32_t i = 0; p->lids && i < p->lids->nports; i++) {
		len += p->lids->base[i] &&
		       p->fabric->nodes[p->fabric->ports[i].node].type != NODE_SWITCH;
	}
	return len;
}

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
	};

	c->verdict = check_routing(&in, &c->report);
	if (c->quality && !c->verdict)
		quality_measure(&in, SEED, ports_with_lid(p) > SHIFTS_ALL ? SHIFTS_SAMPLED : 0,
				SAMPLES, &c->q);
}

static void
put_quality(struct json *j, const struct quality_report *q)
{
	jw_uint(j, "shift_max", q->shift_max);
	jw_real(j, "shift_mean", q->shift_mean);
	jw_uint(j, "shifts", q->shifts);
	jw_uint(j, "a2a", q->a2a);
	jw_uint(j, "rp_median", q->rp_median);
	jw_real(j, "ebb", q->ebb);
	jw_uint(j, "samples", q->samples);
}

/* Tables that do not even deliver have no quality: the fields stay, without a value. */
static void
put_no_quality(struct json *j)
{
	static const char *const keys[] = { "shift_max", "shift_mean", "shifts", "a2a", "rp_median",
					    "ebb", "samples" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		jw_null(j, keys[i]);
}

static void
check_answer(struct ctl_req *r)
{
	struct check *c = r->state;
	struct json *j = req_begin(r);

	jw_str(j, "subnet", r->subnet->name);
	jw_str(j, "engine", c->plan->engine_running);
	jw_bool(j, "ok", c->verdict == 0);
	jw_uint(j, "pairs", c->report.pairs);
	jw_uint(j, "unreachable", c->report.unreachable);
	jw_uint(j, "cut_off", c->report.cut_off);
	jw_uint(j, "loops", c->report.loops);
	jw_uint(j, "holes", c->report.holes);
	jw_uint(j, "misdelivered", c->report.misdelivered);
	jw_uint(j, "credit_loops", c->report.credit_loops);
	jw_uint(j, "max_hops", c->report.max_hops);
	jw_real(j, "mean_hops", c->report.mean_hops);
	if (c->quality && !c->verdict)
		put_quality(j, &c->q);
	else
		put_no_quality(j);
	jw_str(j, "first", c->report.first);
	jw_str(j, "cycle", c->report.cycle);
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
