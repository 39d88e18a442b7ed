/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/engine.h"
#include <stdio.h>
#include <string.h>
#include "routing/check.h"
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/mem.h"

/*
 * The chain of engines. Each is run in turn and its tables proved; the first that passes fills the
 * plan. What an engine claims of itself does not count, and neither a plugin nor a built-in engine
 * is trusted with the shape of its output. The plan is touched only when all is proved. An engine
 * that chooses stands for those that it chooses; none is run twice, but for one that its lanes do
 * not suffice: with those of all levels of service, where these may share.
 */
#define TRIED_MAX 64u		/* engines there can be */

struct chain {
	struct plan *plan;			/* to be filled */
	const struct engine_input *in;		/* what is routed */
	const struct chain_options *o;		/* and how */
	struct buf reasons;			/* why engines so far were refused */
	int64_t choose_us;			/* time that choosing took */
	const struct engine *tried[TRIED_MAX];	/* those */
	unsigned ntried;			/* how many */
};

struct attempt {
	const struct engine_input *in;		/* what is routed */
	const struct chain_options *o;		/* and how */
	const struct plan *plan;		/* for which plan */
	const struct engine *engine;		/* who routes */
	const struct engine_choice *choice;	/* who was chosen for this; NULL: asked for */
	struct engine_output out;		/* what it made; rows are ours */
	struct plan_sls *sls;			/* tables from its classes to lanes; NULL */
	struct plan_check check;		/* the proof's report */
	struct plan_proof *proof;		/* what the next one can go on from; NULL */
	int64_t route_us;
	int64_t check_us;
};

static void
attempt_free(struct attempt *a)
{
	for (uint32_t sw = 0; a->out.rows && sw < a->in->fabric->nswitches; sw++)
		plan_row_unref(a->out.rows[sw]);
	mem_free(a->out.rows);
	mem_free(a->out.ranks);
	plan_lanes_unref(a->out.lanes);
	plan_sls_unref(a->sls);
	plan_roots_unref(a->out.roots);
	plan_adaptive_unref(a->out.offered);
	plan_trees_unref(a->out.trees);
	plan_memo_unref(a->out.memo);
	plan_proof_unref(a->proof);
}

/* A row for each switch, silent ones' rows put in their places. */
static int
complete_rows(struct attempt *a, struct error *e)
{
	const struct fabric *f = a->in->fabric;
	char name[FABRIC_NAME_SIZE];

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (engine_is_fixed(a->in, sw)) {
			plan_row_unref(a->out.rows[sw]);
			a->out.rows[sw] = plan_row_ref(a->in->fixed ? a->in->fixed[sw] : NULL);
		} else if (!a->out.rows[sw]) {
			return error_set(e, ERR_REFUSED, "it gives no table to %s",
					 fabric_node_text(name, f, f->switches[sw],
							  FABRIC_NAME_LEN));
		}
	}
	return 0;
}

/* The tables from service levels to lanes; what is proved and told from now on is their view. */
static int
make_sls(struct attempt *a, struct error *e)
{
	struct plan_lanes *view;
	int rc;

	if (!a->o->compose)
		return 0;
	rc = a->o->compose(a->o->compose_arg, a->plan, a->engine->name, a->out.lanes, &a->sls, e);
	if (rc || !a->sls)
		return rc;
	view = plan_sls_lanes(a->sls, a->out.lanes, a->plan->lids);
	plan_lanes_unref(a->out.lanes);
	a->out.lanes = view;
	return 0;
}

/* With what fixed switches may hold instead. */
static int
prove_maybe(struct attempt *a, const struct check_input *check)
{
	uint32_t n = a->in->fabric->nswitches;
	struct check_input both = *check;
	struct plan_check report;
	struct plan_row **also;
	int rc;

	if (!a->o->maybe)
		return 0;
	also = mem_array(n, sizeof(*also));
	for (uint32_t sw = 0; sw < n; sw++)
		also[sw] = a->o->maybe[sw] && engine_is_fixed(a->in, sw) ? a->o->maybe[sw] :
			   a->out.rows[sw];
	both.also = also;
	rc = check_union(&both, &report);
	if (rc)
		snprintf(a->check.first, sizeof(a->check.first), "credit loop with what switches "
			 "that do not answer may hold: %.300s", report.cycle);
	mem_free(also);
	return rc;
}

static int
prove_all(struct attempt *a, const struct check_input *check)
{
	int rc = check_prove(check, a->in->previous, &a->check, &a->proof);

	if (!rc && (rc = prove_maybe(a, check))) {
		plan_proof_unref(a->proof);
		a->proof = NULL;
		a->check.credit_loops = 1;
	}
	return rc;
}

/* The proof; with service levels that hosts may still have from earlier plans, if that can be. */
static int
prove(struct attempt *a)
{
	struct check_input check = {
		.fabric = a->in->fabric, .lids = a->in->lids, .rows = a->out.rows,
		.lanes = a->out.lanes, .ranks = a->out.ranks, .threads = a->in->options->threads,
	};
	int rc;

	if (a->sls)
		a->sls->stale_proved = a->sls->stale != 0;
	rc = prove_all(a, &check);
	if (!rc || !a->sls || !a->sls->stale_proved || !a->check.credit_loops)
		return rc;
	a->sls->stale_proved = false;
	return prove_all(a, &check);
}

/* Run and prove one engine; on failure `e` says what is wrong with it. */
static int
attempt_run(struct attempt *a, struct error *e)
{
	struct engine_input in = *a->in;
	monotime start = clock_monotonic(), routed;
	int rc;

	in.engine = a->engine;
	a->out.rows = mem_array(a->in->fabric->nswitches, sizeof(struct plan_row *));
	rc = a->engine->route(&in, &a->out, e);
	if (rc == 0)
		rc = complete_rows(a, e);
	if (rc == 0)
		rc = make_sls(a, e);
	if (rc)
		return rc;
	routed = clock_monotonic();
	a->route_us = (routed - start) / 1000;
	rc = prove(a);
	a->check_us = (clock_monotonic() - routed) / 1000;
	return rc ? error_set(e, rc, "its tables are not sound: %s", a->check.first) : 0;
}

/* Length of the first part of a text, if that is it; else 0. */
static size_t
beginning(const char *text, const char *part)
{
	return strncmp(text, part, strlen(part)) ? 0 : strlen(part);
}

/* What was chosen why, and then what the engine says but for what the fabric is and lacks. */
static void
tell(struct plan *p, const struct attempt *a)
{
	const struct engine_choice *c = a->choice;
	const char *note = a->out.note;

	if (!c) {
		snprintf(p->note, sizeof(p->note), "%s", note);
		return;
	}
	note += beginning(note, c->name);
	note += beginning(note, c->lost);
	note += strspn(note, ",; ");
	snprintf(p->note, sizeof(p->note), "%s%s: engine %s (for: %s)%s%s", c->name, c->lost,
		 a->engine->name, a->engine->topologies, note[0] ? "; " : "", note);
}

static void
fill_plan(struct plan *p, struct attempt *a, const char *requested, const char *reason)
{
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		plan_row_unref(p->rows[sw]);
		p->rows[sw] = a->out.rows[sw];
		p->fixed[sw] = engine_is_fixed(a->in, sw);
		a->out.rows[sw] = NULL;
	}
	plan_lanes_unref(p->lanes);
	p->lanes = a->out.lanes;
	plan_sls_unref(p->sls);
	p->sls = a->sls;
	a->sls = NULL;
	mem_free(p->ranks);
	p->ranks = a->out.ranks;
	plan_adaptive_unref(p->offered);
	p->offered = a->out.offered;
	a->out.offered = NULL;
	plan_trees_unref(p->trees);
	p->trees = a->out.trees;
	a->out.trees = NULL;
	plan_roots_unref(p->roots);
	p->roots = a->out.roots;
	a->out.roots = NULL;
	a->out.lanes = NULL;
	a->out.ranks = NULL;
	snprintf(p->engine_requested, sizeof(p->engine_requested), "%s", requested);
	snprintf(p->engine_running, sizeof(p->engine_running), "%s", a->engine->name);
	snprintf(p->reason, sizeof(p->reason), "%.399s", reason);
	tell(p, a);
	p->check = a->check;
	plan_memo_unref(p->memo);
	p->memo = a->out.memo;
	a->out.memo = NULL;
	plan_proof_unref(p->proof);
	p->proof = a->proof;
	a->proof = NULL;
	p->route_us = a->route_us;
	p->check_us = a->check_us;
}

static const struct engine *
find_engine(const struct chain_options *o, const char *name)
{
	const struct engine *engine = engine_find(name);

	for (const struct engine *const *i = o->more; i && *i && !engine; i++)
		if (!strcmp((*i)->name, name))
			engine = *i;
	return engine;
}

static int
unknown_engine(const struct chain_options *o, struct error *e)
{
	static const struct engine *const none[] = { NULL };
	const struct engine *const *more = o->more ? o->more : none;
	struct buf all = { 0 };

	for (const struct engine *const *i = engines; *i; i++)
		buf_printf(&all, "%s%s", i == engines ? "" : i[1] || *more ? ", " : " and ",
			   (*i)->name);
	for (; *more; more++)
		buf_printf(&all, "%s%s", more[1] ? ", " : " and ", (*more)->name);
	error_set(e, ERR_NOT_FOUND, "there is no such engine: there are %s", all.data);
	buf_free(&all);
	return ERR_NOT_FOUND;
}

static void
refuse(struct chain *c, const char *name, const struct error *why)
{
	buf_printf(&c->reasons, "%sengine %s is refused: %s", c->reasons.len ? "; " : "", name,
		   why->text);
}

static bool
was_tried(struct chain *c, const struct engine *engine)
{
	for (unsigned i = 0; i < c->ntried; i++)
		if (c->tried[i] == engine)
			return true;
	if (c->ntried < TRIED_MAX)
		c->tried[c->ntried++] = engine;
	return false;
}

/* It routed and was proved, or *why. */
static bool
try_with(struct chain *c, const struct engine_input *in, const struct engine *engine,
	 const struct engine_choice *choice, struct error *why)
{
	struct attempt a = { .in = in, .o = c->o, .plan = c->plan, .engine = engine,
			     .choice = choice };
	int rc = attempt_run(&a, why);

	a.route_us += c->choose_us;
	if (!rc)
		fill_plan(c->plan, &a, c->o->engines[0], c->reasons.len ? c->reasons.data : "");
	attempt_free(&a);
	return rc == 0;
}

/* One engine that routes; false: it is refused. */
static bool
try_engine(struct chain *c, const struct engine *engine, const struct engine_choice *choice)
{
	struct engine_options shared = c->o->engine;
	struct engine_input in = *c->in;
	struct error why = { 0 };

	if (was_tried(c, engine))
		return false;
	if (try_with(c, c->in, engine, choice, &why))
		return true;
	shared.max_vls = c->o->shared_vls;
	in.options = &shared;
	if (shared.max_vls > c->o->engine.max_vls && try_with(c, &in, engine, choice, &why))
		return true;
	refuse(c, engine->name, &why);
	return false;
}

static bool
try_choices(struct chain *c, const struct engine *engine)
{
	monotime start = clock_monotonic();
	struct engine_choice choice = { 0 };

	engine->choose(c->in, &choice);
	c->choose_us += (clock_monotonic() - start) / 1000;
	for (unsigned i = 0; i < choice.n; i++)
		if (try_engine(c, choice.engine[i], &choice))
			return true;
	return false;
}

int
engine_chain(struct plan *plan, struct plan_row *const *fixed, const struct plan *previous,
	     const struct chain_options *o, struct error *e)
{
	struct engine_input in = { .fabric = plan->fabric, .lids = plan->lids, .fixed = fixed,
				   .previous = previous, .options = &o->engine };
	struct chain c = { .plan = plan, .in = &in, .o = o };
	bool done = o->only && try_engine(&c, o->only, NULL);

	for (const char *const *name = o->engines; *name && !done && !o->only; name++) {
		const struct engine *engine = find_engine(o, *name);
		struct error why = { 0 };

		if (engine) {
			done = engine->choose ? try_choices(&c, engine) :
						try_engine(&c, engine, NULL);
		} else {
			unknown_engine(o, &why);
			refuse(&c, *name, &why);
		}
		if (!o->fallback)
			break;
	}
	if (!done)
		error_set(e, ERR_REFUSED, "%.490s", c.reasons.len ? c.reasons.data :
			  "no routing engine is named");
	buf_free(&c.reasons);
	if (!done && o->maybe) {
		struct chain_options less = *o;

		less.maybe = NULL;
		done = !engine_chain(plan, fixed, previous, &less, e);
		plan->doubtful = done;
	}
	return done ? 0 : ERR_REFUSED;
}
