/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/plugged.h"

#include <stdio.h>
#include <string.h>
#include "plugins/consumer.h"
#include "routing/engine.h"
#include "sm/base/mem.h"
#include "sm/core/subnet_i.h"

/*
 * Routing by plugins. The chain of engines treats them as its own, and goes on with the next one
 * when they fail; here it is noted which of them failed, for one event and a warning until they
 * work again. One worker makes all routings, one after the other: what the figures of a plugin gain
 * between the begin and the end of a job came of that job, whoever else uses the plugin.
 *
 * One that hangs must not hold up each repair for as long as it may take: after a failure that took
 * its time it rests, longer each time, and is only asked by commands, until it works or plugins are
 * read again. An engine that says so stands in chains for it meanwhile.
 */
#define SLOW_US 1000000u	/* a failure that took longer is followed by a rest */
#define REST SEC(60)		/* the first one */
#define REST_MAX SEC(3600)

struct plugged_state {
	bool fails;			/* when it ran last */
	char why[320];			/* for people */
	monotime rest;			/* the last one; 0: none */
	monotime rests_until;
};

struct plugged_run {
	uint64_t runs, failures;	/* before the job, then gained in it */
	uint64_t us;			/* how long it took */
	char why[320];			/* if it failed */
	struct engine rests;		/* for the chain, if it rests, */
	char rests_why[400];		/* and what that says */
};

static int
rest_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	const struct plugged_run *run = (const void *)((const char *)in->engine -
						       offsetof(struct plugged_run, rests));

	(void)out;
	return error_set(e, ERR_REFUSED, "%s", run->rests_why);
}

/* What stands in chains for the engine of an entry. */
static const struct engine *
engine_now(const struct subnet *s, const struct plugin_entry *x, const struct plugged_state *state,
	   struct plugged_run *run)
{
	if (loop_now(s->env.loop) >= state->rests_until)
		return x->engine;
	snprintf(run->rests_why, sizeof(run->rests_why), "the plugin %s; until it has rested it is "
		 "asked by commands alone", state->why);
	run->rests = *x->engine;
	run->rests.route = rest_route;
	return &run->rests;
}

static bool
is_engine(const struct plugin_entry *x)
{
	return x->plugin && x->engine;
}

void
plugged_begin(struct plugged_job *j, const struct subnet *s, bool command)
{
	const struct plugin_set *set = s->plugged.set;
	unsigned n = 0;

	if (!set)
		return;
	j->set = plugin_set_ref(set);
	j->runs = mem_array(set->len, sizeof(*j->runs));
	j->engines = mem_array(set->len + 1, sizeof(*j->engines));
	for (unsigned i = 0; i < set->len; i++) {
		const struct plugin_entry *x = &set->entries[i];

		if (x->engine)
			j->engines[n++] = command ? x->engine :
				engine_now(s, x, &s->plugged.states[i], &j->runs[i]);
	}
}

void
plugged_before(struct plugged_job *j)
{
	struct plugin_figures f;

	for (unsigned i = 0; j->set && i < j->set->len; i++) {
		if (!is_engine(&j->set->entries[i]))
			continue;
		plugin_figures(j->set->entries[i].plugin, &f);
		j->runs[i].runs = f.runs;
		j->runs[i].failures = f.failures;
	}
}

void
plugged_after(struct plugged_job *j)
{
	struct plugin_figures f;

	for (unsigned i = 0; j->set && i < j->set->len; i++) {
		struct plugged_run *run = &j->runs[i];

		if (!is_engine(&j->set->entries[i]))
			continue;
		plugin_figures(j->set->entries[i].plugin, &f);
		run->runs = f.runs - run->runs;
		run->failures = f.failures - run->failures;
		run->us = f.last_us;
		snprintf(run->why, sizeof(run->why), "%s", f.failure);
	}
}

static void
note_run(struct subnet *s, const struct plugin_entry *x, struct plugged_state *state,
	 const struct plugged_run *run)
{
	if (run->failures) {
		if (!state->fails || strcmp(state->why, run->why))
			subnet_event(s, EVENT_PLUGIN, LOG_L_WARNING, 0, 0, "plugin %s %s",
				     x->conf->name, run->why);
		snprintf(state->why, sizeof(state->why), "%s", run->why);
		state->fails = true;
		if (run->us > SLOW_US) {
			state->rest = !state->rest ? REST : 2 * state->rest < REST_MAX ?
				2 * state->rest : REST_MAX;
			state->rests_until = loop_now(s->env.loop) + state->rest;
		}
	} else if (run->runs && state->fails) {
		state->fails = false;
		state->rest = state->rests_until = 0;
		subnet_event(s, EVENT_PLUGIN, LOG_L_NOTICE, 0, 0, "plugin %s works again",
			     x->conf->name);
	}
}

void
plugged_done(struct subnet *s, const struct plugged_job *j)
{
	const struct plugged *p = &s->plugged;

	for (unsigned i = 0; j->set && p->set && i < j->set->len; i++) {
		const struct plugin_entry *ran = &j->set->entries[i];
		const struct plugin_entry *x = plugin_set_find(p->set, ran->conf->name);

		if (x && is_engine(x) && is_engine(ran) && plugin_same(x->plugin, ran->plugin))
			note_run(s, x, &p->states[x - p->set->entries], &j->runs[i]);
	}
}

void
plugged_end(struct plugged_job *j)
{
	mem_free(j->runs);
	mem_free(j->engines);
	plugin_set_unref(j->set);
}

void
plugged_free(struct subnet *s)
{
	mem_free(s->plugged.states);
	plugin_set_unref(s->plugged.set);
	s->plugged = (struct plugged){ 0 };
}

/* Is what routes under this name another one? */
static bool
differs(const struct plugin_set *a, const struct plugin_set *b, const char *name)
{
	const struct plugin_entry *x = plugin_set_find(a, name), *y = plugin_set_find(b, name);

	if (!x || !y)
		return x != y;
	if (!x->plugin || !y->plugin)
		return x->plugin != y->plugin;
	return !plugin_same(x->plugin, y->plugin);
}

static bool
routes_by_other(const struct subnet *s, const struct plugin_set *fresh)
{
	const struct plugin_set *set = s->plugged.set;

	for (const char *const *name = (const char *const *)s->conf->routing.engines; *name; name++)
		if (differs(set, fresh, *name))
			return true;
	return (s->engine_override[0] && differs(set, fresh, s->engine_override)) ||
		(s->plan && differs(set, fresh, s->plan->engine_running));
}

bool
subnet_set_plugins(struct subnet *s, const struct plugin_set *set)
{
	struct plugged fresh = { .set = plugin_set_ref(set) };
	bool other = routes_by_other(s, set);

	fresh.states = set ? mem_array(set->len, sizeof(*fresh.states)) : NULL;
	for (unsigned i = 0; set && i < set->len; i++) {
		const char *name = set->entries[i].conf->name;
		const struct plugin_entry *was = plugin_set_find(s->plugged.set, name);

		if (!was || differs(s->plugged.set, set, name))
			continue;
		fresh.states[i] = s->plugged.states[was - s->plugged.set->entries];
		/* Its options may be others now: it is asked again. */
		fresh.states[i].rests_until = 0;
	}
	if (s->engine_override[0] && !engine_find(s->engine_override) &&
	    !plugin_set_engine(set, s->engine_override))
		s->engine_override[0] = '\0';
	plugged_free(s);
	s->plugged = fresh;
	return other;
}

static bool
in_chain(const struct subnet *s, const char *name)
{
	for (const char *const *e = (const char *const *)s->conf->routing.engines; *e; e++)
		if (strcmp(*e, name) == 0)
			return true;
	return false;
}

void
plugged_warn(const struct subnet *s, struct subnet_status *st,
	     void (*warn)(struct subnet_status *st, const char *fmt, ...))
{
	const struct plugged *p = &s->plugged;
	struct consumer_state c;

	for (unsigned i = 0; p->set && i < p->set->len; i++) {
		const struct plugin_entry *x = &p->set->entries[i];
		const struct plugged_state *state = &p->states[i];

		if (x->why.code && (in_chain(s, x->conf->name) || !x->conf->routes.line))
			warn(st, "%s%s", x->why.text, x->plugin ? "; the one of before stays" : "");
		if (s->env.consumers && consumers_state(s->env.consumers, x->conf->name, &c) &&
		    c.fails)
			warn(st, "plugin %s %s", x->conf->name, c.why);
		if (state->fails && !(s->plan && strstr(s->plan->reason, state->why)))
			warn(st, "plugin %s %s", x->conf->name, state->why);
	}
}
