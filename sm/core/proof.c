/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second proof. What a repair changed was proved before it was written, going on from what the
 * proof before had found (check_prove()). When nothing else is to be done the tables that run are
 * proved once more by a worker, from nothing. Both must have found the same; if not, one of them is
 * wrong, and nothing that was built on either is trusted: the fabric is routed from nothing.
 */
#include "sm/core/subnet_i.h"

#include "routing/check.h"
#include "sm/base/mem.h"

#define QUIET SEC(1)	/* so long nothing has changed */

struct proof_job {
	struct subnet *s;		/* NULL: the subnet is gone */
	const struct plan *plan;	/* what is proved; reference held */
	unsigned threads;		/* that may be used */
	int verdict;			/* of check_routing() */
	struct plan_check report;	/* its findings */
};

static void
run(void *arg)
{
	struct proof_job *j = arg;
	const struct plan *p = j->plan;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .lanes = p->lanes,
		.ranks = p->ranks, .adaptive = p->adaptive, .threads = j->threads,
	};

	j->verdict = check_routing(&in, &j->report);
}

static bool
agree(const struct plan_check *a, const struct plan_check *b)
{
	double off = a->mean_hops - b->mean_hops;

	return a->pairs == b->pairs && a->unreachable == b->unreachable &&
	       a->cut_off == b->cut_off && a->loops == b->loops && a->holes == b->holes &&
	       a->misdelivered == b->misdelivered && a->credit_loops == b->credit_loops &&
	       a->max_hops == b->max_hops && off < 1e-6 && off > -1e-6;
}

static void
judge(struct subnet *s, const struct proof_job *j)
{
	/* Other tables run by now: they have a proof to come. */
	if (!s->plan || s->plan->lids != j->plan->lids || s->proof.due)
		return;
	s->proof.whole = true;
	if (j->verdict == 0 && agree(&j->report, &j->plan->check))
		return;
	s->proof.distrust = s->want_route = true;
	subnet_event(s, EVENT_UNROUTED, LOG_L_ERROR, 0, 0, "the whole proof of the tables that run "
		     "does not agree with that of the repair (%llu of %llu pairs are not reached%s"
		     "%s): they are made from nothing; please report this",
		     (unsigned long long)j->report.unreachable,
		     (unsigned long long)j->report.pairs, j->report.first[0] ? "; " : "",
		     j->report.first);
	subnet_want_sweep(s, SWEEP_PARTIAL);
}

static void
done(void *arg)
{
	struct proof_job *j = arg;

	if (j->s) {
		j->s->proof.job = NULL;
		judge(j->s, j);
	}
	plan_unref(j->plan);
	mem_free(j);
}

void
proof_begin(void *subnet)
{
	struct subnet *s = subnet;
	struct proof_job *j;

	if (!s->proof.due || s->proof.job || !s->plan)
		return;
	if (s->stage != SUBNET_IDLE || s->wanted != SWEEP_NONE || s->want_route) {
		loop_timer_set(s->proof.timer, QUIET);
		return;
	}
	j = mem_zalloc(sizeof(*j));
	j->s = s;
	j->plan = plan_ref(s->plan);
	j->threads = s->env.threads;
	s->proof.due = false;
	s->proof.job = j;
	loop_work(s->env.loop, run, done, j, MSEC(1));
}

void
proof_published(struct subnet *s, bool repaired)
{
	s->proof.due = repaired;
	s->proof.whole = !repaired;
	s->proof.distrust = false;
	if (repaired)
		loop_timer_set(s->proof.timer, QUIET);
	else
		loop_timer_cancel(s->proof.timer);
}

void
proof_drop(struct subnet *s)
{
	if (s->proof.job)
		s->proof.job->s = NULL;
	s->proof.job = NULL;
	s->proof.due = false;
	loop_timer_cancel(s->proof.timer);
}
