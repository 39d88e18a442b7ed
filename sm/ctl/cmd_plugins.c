/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/clock.h"
#include "sm/fabric/plugin_view.h"

/*
 * show plugins: what the configuration names of them, what they are and what became of them; and
 * plugin reload, which reads their files again. There are at most 64.
 */
static void
put_time(struct json *j, const char *key, int64_t wall)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall)
		jw_str(j, key, clock_text(text, wall));
	else
		jw_null(j, key);
}

/* As a text, like the values: not all readers know such large ones. */
static void
put_number(struct json *j, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	jw_str(j, key, text);
}

void
plugin_put_options(struct ctl_req *r, struct json *j, unsigned i)
{
	struct plugin_option_row o;

	jw_array(j, "options");
	for (unsigned n = 0; r->host->plugin_option(r->host->arg, i, n, &o); n++) {
		jw_object(j, NULL);
		jw_str(j, "name", o.name);
		jw_str(j, "type", o.type);
		jw_str(j, "value", o.value);
		jw_str(j, "initial", o.initial);
		if (strcmp(o.type, "number") == 0) {
			put_number(j, "min", o.min);
			put_number(j, "max", o.max);
		}
		if (o.words) {
			jw_array(j, "words");
			for (const char *const *w = o.words; *w; w++)
				jw_str(j, NULL, *w);
			jw_end(j);
		}
		jw_str(j, "help", o.help);
		jw_end(j);
	}
	jw_end(j);
}

static void
put_known(struct json *j, const struct plugin_row *p)
{
	jw_str(j, "version", p->version);
	jw_str(j, "help", p->help);
	jw_uint(j, "abi_major", p->abi >> 16);
	jw_uint(j, "abi_minor", p->abi & 0xffff);
	put_time(j, "loaded", p->loaded);
	jw_uint(j, "runs", p->runs);
	jw_uint(j, "failures", p->failures);
	jw_real(j, "last_ms", p->last_ms);
	jw_real(j, "most_ms", p->most_ms);
	put_time(j, "failed", p->failed);
	jw_str(j, "failure", p->failed ? p->failure : NULL);
	if (strcmp(p->kind, "consumer"))
		return;
	jw_uint(j, "sent", p->sent);
	jw_uint(j, "lost", p->lost);
	jw_uint(j, "waiting", p->waiting);
	put_time(j, "since", p->since);
}

static void
show_plugins(struct ctl_req *r)
{
	struct json *j = req_begin(r);
	struct plugin_row p;

	jw_array(j, "plugins");
	for (unsigned i = 0; r->host->plugin && r->host->plugin(r->host->arg, i, &p); i++) {
		jw_object(j, NULL);
		jw_str(j, "name", p.name);
		jw_str(j, "kind", p.kind);
		jw_str(j, "state", p.state);
		jw_str(j, "file", p.file);
		jw_str(j, "refused", p.refused);
		if (p.kind) {
			put_known(j, &p);
			plugin_put_options(r, j, i);
		}
		jw_end(j);
	}
	jw_end(j);
	req_end(r);
}

static void
plugin_reload(struct ctl_req *r)
{
	const struct ctl_reload what = {
		.dry_run = req_flag(r, "dry_run"), .plugins = true,
		.plugin = req_string(r, "plugin"),
	};

	reload_ask(r, &what);
}

static const struct ctl_arg reload_args[] = {
	{ .name = "plugin" },
	{ .name = "dry_run", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_plugins[] = {
	{ .name = "show plugins", .scope = SCOPE_ALL, .run = show_plugins },
	{ .name = "plugin reload",
	  .args = reload_args,
	  .scope = SCOPE_ALL,
	  .change = true,
	  .run = plugin_reload },
	{ 0 },
};
