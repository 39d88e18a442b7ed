/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <stdio.h>
#include <string.h>
#include "offline/trial.h"
#include "plugins/plugins.h"
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "sm/base/mem.h"

/*
 * plugin test FILE: an engine is run on fabrics that people forget (offline/trial.h), each twice,
 * the second time with another number of threads, and its tables are proved. It may refuse a
 * fabric, in words; what it may not is to fail, to give tables that do not reach what cables reach,
 * or other tables the second time. Tables that close a credit loop are told of, and are a fault
 * only of an engine that claims to be free of deadlock.
 */
struct outcome {
	unsigned runs;
	unsigned routed;
	unsigned refused;	/* by the engine */
	unsigned looped;	/* credit loops that it does not claim not to make */
	unsigned faults;	/* of any kind that counts */
	int64_t longest_us;
	char said[700];		/* the first fault, else the first refusal, else the first loop */
};

struct tester {
	const struct plugin *plugin;
	const struct engine *engine;
	const struct plan *previous;	/* of the variant before; NULL */
};

/* One run: what the engine made of the fabric. */
struct run {
	struct plan_row **rows;		/* nswitches */
	struct engine_output out;
	int rc;
	bool failed;			/* it did not refuse: the plugin failed */
	struct error why;
};

static void
say(struct outcome *o, const char *trial, unsigned variant, const char *what, const char *text)
{
	if (!o->said[0])
		snprintf(o->said, sizeof(o->said), "%s %u: %.100s%s%.500s", trial, variant, what,
			 text[0] ? ": " : "", text);
}

static void
fault(struct outcome *o, const struct trial *t, unsigned variant, const char *what,
      const char *text)
{
	if (!o->faults++)
		o->said[0] = '\0';
	say(o, t->name, variant, what, text);
}

static void
run_free(struct run *r, uint32_t nswitches)
{
	for (uint32_t sw = 0; sw < nswitches; sw++)
		plan_row_unref(r->rows[sw]);
	mem_free(r->rows);
	mem_free(r->out.ranks);
	plan_lanes_unref(r->out.lanes);
	plan_roots_unref(r->out.roots);
	plan_memo_unref(r->out.memo);
}

static void
run_engine(struct tester *t, const struct plan *p, struct plan_row *const *fixed, unsigned threads,
	   struct outcome *o, struct run *r)
{
	struct engine_options options = { .threads = threads };
	struct engine_input in = {
		.engine = t->engine, .fabric = p->fabric, .lids = p->lids, .fixed = fixed,
		.previous = t->previous, .options = &options,
	};
	struct plugin_figures before, after;
	monotime start = clock_monotonic();
	int64_t took;

	plugin_figures(t->plugin, &before);
	*r = (struct run){ .rows = mem_array(p->fabric->nswitches, sizeof(*r->rows)) };
	r->out.rows = r->rows;
	r->rc = t->engine->route(&in, &r->out, &r->why);
	took = (clock_monotonic() - start) / 1000;
	plugin_figures(t->plugin, &after);
	r->failed = after.failures > before.failures;
	o->runs++;
	o->longest_us = took > o->longest_us ? took : o->longest_us;
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		if (!r->rc && engine_is_fixed(&in, sw)) {
			plan_row_unref(r->rows[sw]);
			r->rows[sw] = plan_row_ref(fixed ? fixed[sw] : NULL);
		}
}

static bool
equal(const struct run *a, const struct run *b, uint32_t nswitches)
{
	for (uint32_t sw = 0; sw < nswitches; sw++)
		if (!a->rows[sw] != !b->rows[sw] ||
		    (a->rows[sw] && !plan_row_equal(a->rows[sw], b->rows[sw])))
			return false;
	return true;
}

static void
judge(struct tester *t, const struct trial *trial, unsigned variant, const struct plan *p,
      struct run *r, struct outcome *o)
{
	struct check_input check = {
		.fabric = p->fabric, .lids = p->lids, .rows = r->rows, .lanes = r->out.lanes,
		.ranks = r->out.ranks,
	};
	struct plan_check report;

	if (r->failed) {
		fault(o, trial, variant, "it failed", r->why.text);
	} else if (r->rc) {
		o->refused++;
		say(o, trial->name, variant, "it refuses", r->why.text);
	} else if (!check_routing(&check, &report)) {
		o->routed++;
	} else if (report.credit_loops && !t->engine->deadlock_free) {
		o->looped++;
		say(o, trial->name, variant, "its tables close a credit loop", "");
	} else {
		fault(o, trial, variant, "its tables are not sound", report.first);
	}
}

/* The row that a silent switch holds: that of tables which are sound. */
static void
silence(struct fabric *f, const struct plan *p, struct plan_row **fixed)
{
	static const char *const names[] = { "updn", NULL };
	struct chain_options o = { .engines = names };
	struct plan *whole = plan_new(f);
	struct error e = { 0 };

	whole->lids = plan_lids_ref(p->lids);
	if (!engine_chain(whole, NULL, NULL, &o, &e)) {
		fixed[0] = plan_row_ref(whole->rows[0]);
		f->nodes[f->switches[0]].flags |= FABRIC_NODE_SILENT;
	}
	plan_unref(whole);
}

/* The plan that the engine's tables are, for the next variant to come after. */
static void
keep(struct tester *t, struct plan *p, struct run *r)
{
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		p->rows[sw] = plan_row_ref(r->rows[sw]);
	snprintf(p->engine_running, sizeof(p->engine_running), "%s", t->engine->name);
	plan_unref(t->previous);
	t->previous = plan_ref(p);
}

static void
try_variant(struct tester *t, const struct trial *trial, unsigned variant, struct outcome *o)
{
	struct fabric *f = trial->make(variant);
	struct plan *p = plan_new(f);
	struct plan_row **fixed = mem_array(f->nswitches + 1, sizeof(*fixed));
	struct error e = { 0 };
	struct run a, b;

	p->lids = offline_lids(f, trial->lmc, &e);
	if (trial->silent)
		silence(f, p, fixed);
	run_engine(t, p, fixed, 1, o, &a);
	run_engine(t, p, fixed, 2, o, &b);
	judge(t, trial, variant, p, &a, o);
	if (!a.failed && (a.rc != b.rc || b.failed || !equal(&a, &b, f->nswitches)))
		fault(o, trial, variant, b.failed ? "it failed when it was run again" :
		      "it was run twice, with one thread and with two, and the results differ",
		      b.failed ? b.why.text : "");
	if (trial->follow && !a.rc)
		keep(t, p, &a);
	run_free(&a, f->nswitches);
	run_free(&b, f->nswitches);
	plan_row_unref(fixed[0]);
	mem_free(fixed);
	plan_unref(p);
	fabric_unref(f);
}

static unsigned
try_all(struct tester *t, struct json *j)
{
	unsigned faults = 0;

	jw_array(j, "trials");
	for (const struct trial *i = trials; i->name; i++) {
		struct outcome o = { 0 };

		for (unsigned v = 0; v < i->variants; v++)
			try_variant(t, i, v, &o);
		plan_unref(t->previous);
		t->previous = NULL;
		faults += o.faults;
		jw_object(j, NULL);
		jw_str(j, "name", i->name);
		jw_str(j, "what", i->what);
		jw_uint(j, "fabrics", i->variants);
		jw_uint(j, "runs", o.runs);
		jw_uint(j, "routed", o.routed);
		jw_uint(j, "refused", o.refused);
		jw_uint(j, "credit_loops", o.looped);
		jw_uint(j, "faults", o.faults);
		jw_real(j, "longest_ms", (double)o.longest_us / 1000);
		jw_str(j, "said", o.said);
		jw_end(j);
	}
	jw_end(j);
	return faults;
}

int
offline_plugin_test(const struct offline *o)
{
	struct tester t = { 0 };
	struct offline with = *o;
	struct error e = { 0 };
	const struct plugin_about *about;
	struct plugin *p;
	char reason[120] = "";
	struct buf b = { 0 };
	struct json j;
	unsigned faults;

	with.plugin = o->path;
	if (offline_plugin(&with, &p, &e))
		return offline_refuse(&e);
	about = plugin_about(p);
	t.plugin = p;
	t.engine = plugin_engine(p);
	jw_init(&j, &b);
	jw_object(&j, NULL);
	jw_str(&j, "plugin", about->name);
	jw_str(&j, "version", about->version);
	faults = try_all(&t, &j);
	if (faults)
		snprintf(reason, sizeof(reason), "plugin %s: %u fault%s", about->name, faults,
			 faults == 1 ? "" : "s");
	jw_bool(&j, "ok", !faults);
	jw_str(&j, "reason", reason);
	jw_end(&j);
	plugin_unref(p);
	faults = (unsigned)offline_answer(&b, faults ? OFFLINE_REFUSED : OFFLINE_DONE);
	buf_free(&b);
	return (int)faults;
}
