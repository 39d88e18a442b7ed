/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "routing/engine.h"
#include "sm/base/mem.h"
#include "sm/ctl/find.h"

/*
 * What changes things: reroute, drain, undrain, reload, each also as a dry run; fail, which is only
 * that; and show engines, for the words that reroute takes. The work is the core's: it ends by a
 * callback, long after the client may have gone.
 */
#define LINES_AT_ONCE 64u	/* of a report, before others have their turn */

/* What a reload says. */
struct report {
	char *text;		/* lines; owned */
	char *next;		/* the first that is not written; NULL: none */
};

/* Plugin number `i`; false: there are fewer. */
static bool
next_plugin(const struct ctl_req *r, unsigned i, struct plugin_row *p)
{
	return r->host->plugin && r->host->plugin(r->host->arg, i, p);
}

static bool
engine_known(struct ctl_req *r, const char *name)
{
	struct buf words = { 0 };
	struct plugin_row p;

	if (!name || engine_find(name))
		return true;
	for (unsigned i = 0; next_plugin(r, i, &p); i++) {
		if (strcmp(p.name, name) != 0)
			continue;
		if (!p.kind)
			req_fail(r, EXIT_REFUSED, "%s", p.refused);
		else if (strcmp(p.kind, "engine"))
			req_fail(r, EXIT_USAGE, "plugin %s is a consumer of events, and no engine",
				 p.name);
		return p.kind && strcmp(p.kind, "engine") == 0;
	}
	for (const struct engine *const *e = engines; *e; e++)
		buf_printf(&words, "%s\"%s\"", e == engines ? "" : e[1] ? ", " : " or ",
			   (*e)->name);
	if (next_plugin(r, 0, &p))
		buf_str(&words, ", or one of weft show plugins");
	req_fail(r, EXIT_USAGE, "there is no routing engine \"%.60s\": it is %.300s", name,
		 words.data);
	buf_free(&words);
	return false;
}

static void
put_change(struct json *j, const struct change_report *c)
{
	jw_str(j, "engine", c->engine);
	jw_uint(j, "entries", c->entries);
	jw_uint(j, "blocks", c->blocks);
	jw_uint(j, "writes", c->writes);
	jw_uint(j, "group_writes", c->group_writes);
	jw_uint(j, "switches", c->switches);
	jw_bool(j, "waits", c->waits);
	jw_uint(j, "cables", c->cables);
	jw_uint(j, "kept", c->kept);
	jw_uint(j, "cut_off", c->cut_off);
	if (c->measured) {
		jw_uint(j, "load_before", c->load_before);
		jw_uint(j, "load_after", c->load_after);
	} else {
		jw_null(j, "load_before");
		jw_null(j, "load_after");
	}
}

static void
changed(void *arg, int error, const char *text, const struct change_report *report)
{
	struct ctl_req *r = arg;
	struct error e = { .code = error };
	struct json *j;

	if (r->client && error) {
		snprintf(e.text, sizeof(e.text), "%s", text);
		req_error(r, &e);
	} else if (r->client) {
		j = req_begin(r);
		jw_str(j, "subnet", r->subnet->name);
		jw_bool(j, "dry_run", req_flag(r, "dry_run"));
		jw_str(j, "place", r->state);
		jw_str(j, "text", text);
		put_change(j, report);
		jw_real(j, "took_ms", (double)(loop_now(r->loop) - r->started) / 1e6);
		req_end(r);
	}
	req_release(r);
}

static void
ask(struct ctl_req *r, struct change *c)
{
	struct error e = { 0 };
	int ret;

	c->dry_run = req_flag(r, "dry_run");
	req_hold(r);
	ret = r->subnet->change(r->subnet->subnet, c, changed, r, &e);
	if (ret) {
		e.code = ret;
		req_error(r, &e);
		r->held--;
	}
}

static void
reroute(struct ctl_req *r)
{
	struct change c = {
		.kind = CHANGE_ROUTE, .engine = req_string(r, "engine"),
		.full = req_flag(r, "full"), .forget_lost = req_flag(r, "forget_lost"),
		.forget_levels = req_flag(r, "forget_levels"),
	};

	if (engine_known(r, c.engine))
		ask(r, &c);
}

/* Names in rules select who has them now. */
static void
apply(struct ctl_req *r)
{
	struct change c = { .kind = CHANGE_ROUTE, .apply_names = true };

	ask(r, &c);
}

/* NODE or NODE/PORT, as it is named in the answer. */
static void
at_place(struct ctl_req *r, enum change_kind kind)
{
	struct change c = { .kind = kind };
	struct error e = { 0 };
	struct buf place = { 0 };
	struct found found;

	if (find_node(r->plan, req_string(r, "place"), true, &found, &e)) {
		req_error(r, &e);
		return;
	}
	c.guid = r->plan->fabric->nodes[found.node].guid;
	c.port = found.number < 0 ? CHANGE_ALL_PORTS : found.number;
	if (c.port == 0) {
		req_fail(r, EXIT_USAGE, "port 0 of a switch is the switch itself: name it without "
			 "a port");
		return;
	}
	buf_str(&place, r->plan->fabric->nodes[found.node].name);
	if (c.port != CHANGE_ALL_PORTS)
		buf_printf(&place, "/%d", c.port);
	r->state = place.data;
	r->state_free = mem_free;
	ask(r, &c);
}

static void
fail(struct ctl_req *r)
{
	if (req_flag(r, "dry_run"))
		at_place(r, CHANGE_FAIL);
	else
		req_fail(r, EXIT_USAGE, "a loss can only be foretold: add --dry-run");
}

static void
drain(struct ctl_req *r)
{
	at_place(r, CHANGE_DRAIN);
}

static void
undrain(struct ctl_req *r)
{
	at_place(r, CHANGE_UNDRAIN);
}

/* What changed is as long as the file: some lines at a time. */
static enum ctl_step
put_lines(struct ctl_req *r)
{
	struct report *report = r->state;

	for (unsigned n = 0; n < LINES_AT_ONCE; n++) {
		char *line = strsep(&report->next, "\n");

		if (!line || !*line)
			return STEP_DONE;
		jw_str(&r->json, NULL, line);
	}
	return STEP_MORE;
}

static void
report_free(void *state)
{
	struct report *report = state;

	mem_free(report->text);
	mem_free(report);
}

static void
reloaded(void *arg, int error, const char *text, const char *changes)
{
	struct ctl_req *r = arg;
	struct error e = { .code = error };

	if (r->client && error) {
		snprintf(e.text, sizeof(e.text), "%s", text);
		req_error(r, &e);
	} else if (r->client) {
		struct report *report = mem_zalloc(sizeof(*report));
		struct json *j = req_begin(r);

		report->text = report->next = mem_strdup(changes ? changes : "");
		r->state = report;
		r->state_free = report_free;
		jw_bool(j, "dry_run", req_flag(r, "dry_run"));
		jw_array(j, "changes");
		req_stream(r, put_lines);
	}
	req_release(r);
}

void
reload_ask(struct ctl_req *r, const struct ctl_reload *what)
{
	struct error e = { 0 };
	int ret;

	if (!r->host->reload) {
		req_fail(r, EXIT_REFUSED, "this daemon has no configuration to read again");
		return;
	}
	req_hold(r);
	ret = r->host->reload(r->host->arg, what, reloaded, r, &e);
	if (ret) {
		e.code = ret;
		req_error(r, &e);
		r->held--;
	}
}

static void
reload(struct ctl_req *r)
{
	reload_ask(r, &(struct ctl_reload){ .dry_run = req_flag(r, "dry_run") });
}

/* For each subnet the engine it asked for, and the one it runs. */
static void
put_use(struct ctl_req *r, struct json *j)
{
	jw_array(j, "subnets");
	for (unsigned i = 0; i < r->host->nsubnets; i++) {
		struct subnet_status st = { 0 };

		if (r->subnet && r->subnet != &r->host->subnets[i])
			continue;
		r->host->subnets[i].status(r->host->subnets[i].subnet, &st);
		jw_object(j, NULL);
		jw_str(j, "name", r->host->subnets[i].name);
		jw_str(j, "engine_requested", st.engine_requested);
		jw_str(j, "engine_running", st.engine_running);
		jw_bool(j, "engine_override", st.override);
		jw_str(j, "reason", st.reason);
		jw_end(j);
	}
	jw_end(j);
}

/* Those that others made. */
static void
put_plugins(struct ctl_req *r, struct json *j)
{
	struct plugin_row p;

	for (unsigned i = 0; next_plugin(r, i, &p); i++) {
		if (!p.kind || strcmp(p.kind, "engine"))
			continue;
		jw_object(j, NULL);
		jw_str(j, "name", p.name);
		jw_str(j, "help", p.help);
		jw_str(j, "topologies", p.topologies);
		jw_bool(j, "deadlock_free", p.deadlock_free);
		jw_str(j, "version", p.version);
		plugin_put_options(r, j, i);
		jw_end(j);
	}
}

static void
show_engines(struct ctl_req *r)
{
	struct json *j = req_begin(r);

	jw_array(j, "engines");
	for (const struct engine *const *e = engines; *e; e++) {
		jw_object(j, NULL);
		jw_str(j, "name", (*e)->name);
		jw_str(j, "help", (*e)->help);
		jw_str(j, "topologies", (*e)->topologies);
		jw_bool(j, "deadlock_free", (*e)->deadlock_free);
		jw_end(j);
	}
	put_plugins(r, j);
	jw_end(j);
	put_use(r, j);
	req_end(r);
}

static const struct ctl_arg reroute_args[] = {
	{ .name = "engine" },
	{ .name = "full", .kind = ARG_FLAG },
	{ .name = "forget_lost", .kind = ARG_FLAG },
	{ .name = "forget_levels", .kind = ARG_FLAG },
	{ .name = "dry_run", .kind = ARG_FLAG },
	{ 0 },
};

static const struct ctl_arg place_args[] = {
	{ .name = "place", .required = true },
	{ .name = "dry_run", .kind = ARG_FLAG },
	{ 0 },
};

static const struct ctl_arg reload_args[] = {
	{ .name = "dry_run", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_admin[] = {
	{ .name = "reroute",
	  .args = reroute_args,
	  .scope = SCOPE_SUBNET,
	  .change = true,
	  .run = reroute },
	{ .name = "qos apply", .scope = SCOPE_SUBNET, .change = true, .run = apply },
	{ .name = "fail", .args = place_args, .scope = SCOPE_PLAN, .change = true, .run = fail },
	{ .name = "drain",
	  .args = place_args,
	  .scope = SCOPE_PLAN,
	  .change = true,
	  .run = drain },
	{ .name = "undrain",
	  .args = place_args,
	  .scope = SCOPE_PLAN,
	  .change = true,
	  .run = undrain },
	{ .name = "reload",
	  .args = reload_args,
	  .scope = SCOPE_ALL,
	  .change = true,
	  .run = reload },
	{ .name = "show engines", .scope = SCOPE_ALL, .run = show_engines },
	{ 0 },
};
