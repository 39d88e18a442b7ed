/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "routing/engine.h"

/*
 * What changes things, reroute and reload, each also as a dry run; and show engines, for the words
 * that reroute takes. The work is the core's: a reroute ends by its callback, long after its
 * client may have gone.
 */
static bool
engine_known(struct ctl_req *r, const char *name)
{
	struct buf words = { 0 };

	if (!name || engine_find(name))
		return true;
	for (const struct engine *const *e = engines; *e; e++)
		buf_printf(&words, "%s\"%s\"", e == engines ? "" : e[1] ? ", " : " or ",
			   (*e)->name);
	req_fail(r, EXIT_USAGE, "there is no routing engine \"%.60s\": it is %.300s", name,
		 words.data);
	buf_free(&words);
	return false;
}

static void
rerouted(void *arg, int error, const char *text)
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
		jw_str(j, "text", text);
		jw_real(j, "took_ms", (double)(loop_now(r->loop) - r->started) / 1e6);
		req_end(r);
	}
	req_release(r);
}

static void
reroute(struct ctl_req *r)
{
	const char *engine = req_string(r, "engine");
	struct error e = { 0 };
	int ret;

	if (!engine_known(r, engine))
		return;
	req_hold(r);
	ret = r->subnet->reroute(r->subnet->subnet, engine, req_flag(r, "full"),
				 req_flag(r, "dry_run"), rerouted, r, &e);
	if (ret) {
		e.code = ret;
		req_error(r, &e);
		r->held--;
	}
}

static void
reload(struct ctl_req *r)
{
	struct buf report = { 0 };
	struct error e = { 0 };
	struct json *j;
	char *line, *rest;
	int ret;

	if (!r->host->reload) {
		req_fail(r, EXIT_REFUSED, "this daemon has no configuration to read again");
		return;
	}
	ret = r->host->reload(r->host->arg, req_flag(r, "dry_run"), &report, &e);
	if (ret) {
		e.code = ret;
		req_error(r, &e);
	} else {
		j = req_begin(r);
		jw_bool(j, "dry_run", req_flag(r, "dry_run"));
		jw_array(j, "changes");
		for (line = report.len ? strtok_r(report.data, "\n", &rest) : NULL; line;
		     line = strtok_r(NULL, "\n", &rest))
			jw_str(j, NULL, line);
		req_end(r);
	}
	buf_free(&report);
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
	jw_end(j);
	put_use(r, j);
	req_end(r);
}

static const struct ctl_arg reroute_args[] = {
	{ .name = "engine" },
	{ .name = "full", .kind = ARG_FLAG },
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
	{ .name = "reload",
	  .args = reload_args,
	  .scope = SCOPE_ALL,
	  .change = true,
	  .run = reload },
	{ .name = "show engines", .scope = SCOPE_ALL, .run = show_engines },
	{ 0 },
};
