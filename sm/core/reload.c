/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reloads. A file of a thousand partitions takes a tenth of a second to read and to compare, so a
 * worker does that, and not the one that routes: who repairs a configuration does not wait for the
 * routing that suffers from it. The loop only takes on what was found good.
 *
 * What a job is held against, the configuration in force, cannot change meanwhile: only a reload
 * replaces it, and there is one at a time. Orders of signals that wait are one order; those of
 * commands are answered one by one, for each may have written the file before it asked.
 *
 * A pipe is read at the start of the daemon, but a second time it is empty, or never ends: that is
 * refused before it is opened.
 */
#include "sm/core/reload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "sm/base/list.h"
#include "sm/base/mem.h"

#define WAITING_MAX 16u		/* orders; a client that has gone leaves its own behind */

struct reload {
	struct reload_host host;	/* what is read, and who takes it on */
	struct list waiting;		/* of struct order, in the order in which they came */
	unsigned nwaiting;		/* how many */
	struct job *job;		/* with the worker, or NULL */
	struct list waste;		/* of struct waste */
	bool ending;			/* nothing is taken on any more */
};

struct order {
	struct list list;		/* in reload.waiting */
	struct reload_order what;	/* was asked */
};

/* A reload, on the worker and back. */
struct job {
	struct reload *owner;		/* whose it is; only the loop looks */
	struct reload_order what;	/* was asked */
	bool answered;			/* done() was called: the daemon ends; only the loop's */
	const char *file;		/* that is read */
	struct reloaded now;		/* in force; references, `named` borrowed */
	struct config *read;		/* the file, while it is made ready */
	struct reloaded fresh;		/* found good, to take on; NULLs */
	enum config_stage stage;	/* from which it is taken on */
	unsigned rehearsed;		/* subnets whose partitions were, in a dry run */
	struct buf report;		/* a line for each change */
	unsigned restart;		/* options that only a restart takes on */
	unsigned changed;		/* all that differ */
	bool broken;			/* a file is, or cannot be read */
	struct error e;			/* .code 0: none */
};

/* What the worker frees. */
struct waste {
	struct list list;		/* in reload.waste */
	struct reloaded what;		/* owned */
};

/* ---- On the worker ---- */

static void
report_change(void *arg, const char *option, const char *old_value, const char *new_value,
	      enum config_stage stage)
{
	static const char *const effects[] = {
		[STAGE_RESTART] = "only a restart takes it on",
		[STAGE_DISCOVER] = "the subnet is discovered again",
		[STAGE_LIDS] = "LIDs are assigned again: those of hosts may change",
		[STAGE_ROUTING] = "the subnet is routed again",
		[STAGE_PARTITIONS] = "partitions are compiled again",
		[STAGE_PUSH] = "written to the devices that differ",
		[STAGE_LIVE] = "at once",
	};
	struct job *j = arg;

	j->changed++;
	j->restart += stage == STAGE_RESTART;
	if (j->what.signalled)
		log_notice("configuration: %s: %s -> %s (%s)", option, old_value, new_value,
			   effects[stage]);
	else
		buf_printf(&j->report, "%s: %s -> %s (%s)\n", option, old_value, new_value,
			   effects[stage]);
}

static int
refuse_pipe(const char *path, struct error *e)
{
	struct stat st;

	if (!path || stat(path, &st) || !S_ISFIFO(st.st_mode))
		return 0;	/* what else is wrong with it, its reader says */
	return error_set(e, ERR_REFUSED, "%s is a pipe, which cannot be read a second time", path);
}

static int
load(struct job *j)
{
	struct config *c;

	if (refuse_pipe(j->file, &j->e))
		return j->e.code;
	j->fresh.conf = j->read = c = config_load(j->file, &j->e);
	if (!c || refuse_pipe(c->names, &j->e))
		return j->e.code;
	for (unsigned i = 0; i < c->nsubnets; i++)
		if (refuse_pipe(c->subnets[i].routing.file, &j->e))
			return j->e.code;
	j->fresh.named = named_load(c, &j->e);
	if (!j->fresh.named)
		return j->e.code;
	j->fresh.plugins = plugin_set_load(c, j->now.plugins, NULL);
	return plugin_set_wrong(j->fresh.plugins, &j->e);
}

/* Of one that was asked for by name the answer is what became of it. */
static void
load_plugins(struct job *j)
{
	const char *only = j->what.plugin[0] ? j->what.plugin : NULL;
	const struct plugin_entry *x;

	if (only && !plugin_set_find(j->now.plugins, only)) {
		error_set(&j->e, ERR_NOT_FOUND, "the configuration has no plugin %s", only);
		return;
	}
	j->fresh.plugins = plugin_set_load(j->now.conf, j->now.plugins, only);
	if (plugin_set_wrong(j->fresh.plugins, &j->e))
		return;
	x = only ? plugin_set_find(j->fresh.plugins, only) : NULL;
	if (x && x->why.code)
		error_set(&j->e, ERR_REFUSED, "%s%s", x->why.text,
			  x->plugin ? "; the one of before stays" : "");
	else
		plugin_set_diff(j->now.plugins, j->fresh.plugins, report_change, j);
}

static bool
same_subnets(const struct config *a, const struct config *b)
{
	if (a->nsubnets != b->nsubnets)
		return false;
	for (unsigned i = 0; i < a->nsubnets; i++)
		if (strcmp(a->subnets[i].name, b->subnets[i].name))
			return false;
	return true;
}

/* What is found is for the loop to take on, if it may. */
static void
compare(struct job *j)
{
	enum config_stage named;

	config_diff(j->now.conf, j->read, report_change, j);
	named = named_diff(j->now.named, j->fresh.named, report_change, j);
	plugin_set_diff(j->now.plugins, j->fresh.plugins, report_change, j);
	j->stage = config_diff(j->now.conf, j->read, NULL, NULL);
	if (j->what.dry_run)
		return;
	if (!same_subnets(j->now.conf, j->read)) {
		error_set(&j->e, ERR_REFUSED, "%s adds, removes or renames a subnet, which needs a "
			  "restart: the running configuration stays", j->file);
		return;
	}
	config_keep(j->read, j->now.conf);
	j->stage = config_diff(j->now.conf, j->read, NULL, NULL);
	if (named < j->stage)
		j->stage = named;
}

void
reloaded_free(struct reloaded *r)
{
	config_free(r->conf);
	named_free(r->named);
	plugin_set_unref(r->plugins);
	*r = (struct reloaded){ 0 };
}

static void
run(void *arg)
{
	struct job *j = arg;

	if (j->what.plugins)
		load_plugins(j);
	else if (!(j->broken = load(j) != 0))
		compare(j);
	if (j->e.code)
		reloaded_free(&j->fresh);
}

static void
waste_run(void *arg)
{
	struct waste *w = arg;

	reloaded_free(&w->what);
}

/* ---- On the loop ---- */

static void
waste_free(void *arg)
{
	struct waste *w = arg;

	waste_run(w);
	list_remove(&w->list);
	mem_free(w);
}

void
reload_discard(struct reload *r, const struct reloaded *old)
{
	struct waste *w;

	if (!old->conf && !old->named && !old->plugins)
		return;
	w = mem_zalloc(sizeof(*w));
	w->what = *old;
	list_append(&r->waste, &w->list);
	loop_errand(r->host.loop, waste_run, waste_free, w, 0);
}

static void
job_free(struct job *j)
{
	reloaded_free(&j->fresh);
	config_free(j->now.conf);
	plugin_set_unref(j->now.plugins);
	buf_free(&j->report);
	mem_free(j);
}

/* For the event. */
static const char *
outcome(const struct job *j)
{
	if (j->what.plugins)
		return j->changed ? "files of plugins were read again and taken on" :
			"files of plugins were read again: nothing has changed";
	return !j->changed ? "the configuration was read again: nothing has changed" :
		j->restart ? "the configuration was read again; some changes need a restart" :
		"the configuration was read again and taken on";
}

/* The daemon may have begun to end while the worker was at it. */
static void
take(struct reload *r, struct job *j)
{

	if (j->broken)
		r->host.tell(r->host.arg, LOG_L_ERROR, j->e.text);
	if (j->e.code || j->what.dry_run ||
	    r->host.take(r->host.arg, &j->fresh, j->stage, &j->e))
		return;
	j->fresh = (struct reloaded){ 0 };
	r->host.tell(r->host.arg, LOG_L_NOTICE, outcome(j));
}

static void
next(struct reload *r);

/* It is over: nothing of it is under way any more. */
static void
finish(struct job *j)
{
	struct reload *r = j->owner;

	r->job = NULL;
	if (!j->answered) {
		take(r, j);
		j->what.done(j->what.arg, j->e.code, j->e.code ? j->e.text : "", j->report.data);
	}
	/* What was refused at the last moment, or only looked at. */
	reload_discard(r, &j->fresh);
	j->fresh = (struct reloaded){ 0 };
	job_free(j);
	next(r);
}

/* A dry run that touches partitions says what they would do, subnet by subnet. */
static void
rehearse(void *arg)
{
	struct job *j = arg;
	const struct reload_host *h = &j->owner->host;

	if (!j->what.dry_run || j->e.code || j->answered || !h->rehearse ||
	    j->what.plugins || j->stage > STAGE_PARTITIONS ||
	    !same_subnets(j->now.conf, j->fresh.conf) ||
	    j->rehearsed == j->fresh.conf->nsubnets)
		finish(j);
	else
		h->rehearse(h->arg, j->fresh.conf, j->rehearsed++, &j->report, rehearse, j);
}

static void
next(struct reload *r)
{
	struct list *it = r->job ? NULL : list_pop(&r->waiting);
	struct order *o = it ? list_entry(it, struct order, list) : NULL;
	struct job *j;

	if (!o)
		return;
	r->nwaiting--;
	j = mem_zalloc(sizeof(*j));
	j->owner = r;
	j->what = o->what;
	j->file = r->host.file;
	r->host.running(r->host.arg, &j->now);
	config_ref(j->now.conf);
	plugin_set_ref(j->now.plugins);
	j->stage = STAGE_NONE;
	mem_free(o);
	r->job = j;
	loop_errand(r->host.loop, run, rehearse, j, MSEC(1));
}

static bool
signal_waits(const struct reload *r)
{
	list_each(it, &r->waiting)
		if (list_entry(it, struct order, list)->what.signalled)
			return true;
	return false;
}

int
reload_start(struct reload *r, const struct reload_order *what, struct error *e)
{
	struct order *o;

	if (r->ending)
		return error_set(e, ERR_REFUSED, "weftd is ending: nothing is taken on any more");
	if (what->signalled && signal_waits(r))
		return 0;
	if (r->nwaiting >= WAITING_MAX)
		return error_set(e, ERR_BUSY, "%u reloads wait for the one that runs: try again "
				 "when it has ended", r->nwaiting);
	o = mem_zalloc(sizeof(*o));
	o->what = *what;
	list_append(&r->waiting, &o->list);
	r->nwaiting++;
	next(r);
	return 0;
}

/* ---- Life ---- */

struct reload *
reload_new(const struct reload_host *host)
{
	struct reload *r = mem_zalloc(sizeof(*r));

	r->host = *host;
	list_init(&r->waiting);
	list_init(&r->waste);
	return r;
}

static void
answer_ending(const struct reload_order *what)
{
	what->done(what->arg, ERR_REFUSED, "weftd is ending: the configuration was not taken on",
		   NULL);
}

void
reload_end(struct reload *r)
{
	struct list *it;

	if (!r || r->ending)
		return;
	r->ending = true;
	if (r->job) {
		r->job->answered = true;
		answer_ending(&r->job->what);
	}
	while ((it = list_pop(&r->waiting))) {
		struct order *o = list_entry(it, struct order, list);

		answer_ending(&o->what);
		mem_free(o);
	}
	r->nwaiting = 0;
}

void
reload_free(struct reload *r)
{
	if (!r)
		return;
	if (r->job)
		job_free(r->job);
	list_each(it, &r->waste)
		waste_free(list_entry(it, struct waste, list));
	mem_free(r);
}
