/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/ctl/client.h"

/*
 * Requests: a line of JSON is checked against the command table, its handler is run, and the
 * answer is framed. A request belongs to the client that sent it; a worker's job or a callback of
 * the core may hold it for longer. What is read here comes from outside: depth, size, duplicate
 * keys, unknown words, wrong types are refused with a sentence before any handler sees them.
 */
#define MAX_DEPTH 4		/* of a request: the object, "args", and some room */
#define GATE_INTERVAL MSEC(20)	/* of asking whether the worker is free */

struct ctl_gate {
	unsigned refs;		/* the server, and the request whose job is at work */
	bool busy;		/* there is one */
};

static const struct ctl_command *const tables[] = {
	ctl_cmd_status, ctl_cmd_show, ctl_cmd_routes, ctl_cmd_topology, ctl_cmd_events,
	ctl_cmd_path, ctl_cmd_qos, ctl_cmd_congestion, ctl_cmd_adaptive, ctl_cmd_plugins,
	ctl_cmd_counters, ctl_cmd_multicast,
	ctl_cmd_clients, ctl_cmd_check, ctl_cmd_admin, ctl_cmd_partition, ctl_cmd_partitions,
	ctl_cmd_health, ctl_cmd_ha, ctl_cmd_rails,
};

static void
fail(struct ctl_req *r, enum ctl_exit code, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static const struct ctl_command *
command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct ctl_command *c = tables[i]; c->name; c++) {
			if (strcmp(c->name, name) == 0)
				return c;
		}
	}
	return NULL;
}

static const char *
command_nearest(const char *name)
{
	const char *words[64];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct ctl_command *c = tables[i];
		     c->name && len + 1 < sizeof(words) / sizeof(words[0]); c++)
			words[len++] = c->name;
	}
	words[len] = NULL;
	return nearest_word(name, words);
}

/* The parser recurses: refuse deep nesting before it starts. */
static bool
too_deep(const char *line, size_t len)
{
	bool quoted = false;
	unsigned depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = line[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '[') && ++depth > MAX_DEPTH)
			return true;
		else if (!quoted && (c == '}' || c == ']') && depth)
			depth--;
	}
	return false;
}

static const char *
kind_name(enum ctl_arg_kind kind)
{
	return kind == ARG_STRING ? "a string" : kind == ARG_FLAG ? "true or false" :
	       kind == ARG_LIST ? "a list of strings" : "a number";
}

static bool
word_allowed(const struct ctl_arg *arg, const char *value)
{
	for (const char *const *w = arg->words; w && *w; w++) {
		if (strcmp(*w, value) == 0)
			return true;
	}
	return !arg->words;
}

static void
fail_word(struct ctl_req *r, const struct ctl_arg *arg, const char *value)
{
	struct buf words = { 0 };

	for (const char *const *w = arg->words; *w; w++)
		buf_printf(&words, "%s\"%s\"", w == arg->words ? "" : w[1] ? ", " : " or ", *w);
	req_fail(r, EXIT_USAGE, "\"%s\" cannot be \"%.100s\": it is %.300s", arg->name, value,
		 words.data);
	buf_free(&words);
}

static bool
is_list(const json_t *value)
{
	json_t *one;
	size_t i;

	json_array_foreach(value, i, one) {
		if (!json_is_string(one))
			return false;
	}
	return json_is_array(value);
}

static bool
check_value(struct ctl_req *r, const struct ctl_arg *arg, const json_t *value)
{
	bool right = arg->kind == ARG_STRING ? json_is_string(value)
		   : arg->kind == ARG_FLAG ? json_is_boolean(value)
		   : arg->kind == ARG_LIST ? is_list(value) : json_is_integer(value);

	if (!right) {
		req_fail(r, EXIT_USAGE, "\"%s\" must be %s", arg->name, kind_name(arg->kind));
	} else if (arg->kind == ARG_STRING && !word_allowed(arg, json_string_value(value))) {
		fail_word(r, arg, json_string_value(value));
	} else if (arg->kind == ARG_NUMBER && (json_integer_value(value) < 0 ||
		   (uint64_t)json_integer_value(value) > arg->max)) {
		req_fail(r, EXIT_USAGE, "\"%s\" must be from 0 to %llu", arg->name,
			 (unsigned long long)arg->max);
	}
	return !r->answered;
}

static const struct ctl_arg *
arg_find(const struct ctl_command *c, const char *name)
{
	const struct ctl_arg *a = c->args;

	while (a && a->name && strcmp(a->name, name) != 0)
		a++;
	return a && a->name ? a : NULL;
}

static bool
check_args(struct ctl_req *r)
{
	const struct ctl_arg *arg;
	const char *key;
	json_t *value;

	json_object_foreach(r->args, key, value) {
		arg = arg_find(r->command, key);
		if (!arg) {
			req_fail(r, EXIT_USAGE, "\"%s\" takes no argument \"%.100s\"",
				 r->command->name, key);
			return false;
		}
		if (!json_is_null(value) && !check_value(r, arg, value))
			return false;
	}
	for (arg = r->command->args; arg && arg->name; arg++) {
		value = json_object_get(r->args, arg->name);
		if (arg->required && (!value || json_is_null(value))) {
			req_fail(r, EXIT_USAGE, "\"%s\" needs the argument \"%s\"",
				 r->command->name, arg->name);
			return false;
		}
	}
	return true;
}

/* No subnet was named where one must be, or one that is not there: `name` is NULL, or which. */
static void
fail_which_subnet(struct ctl_req *r, const char *name)
{
	struct buf names = { 0 };

	for (unsigned i = 0; i < r->host->nsubnets; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", r->host->subnets[i].name);
	if (!r->host->nsubnets)
		req_fail(r, EXIT_REFUSED, "no subnet is configured");
	else if (name)
		req_fail(r, EXIT_REFUSED, "there is no subnet \"%.100s\"; the subnet%s: %.300s",
			 name, r->host->nsubnets == 1 ? " is" : "s are", names.data);
	else
		req_fail(r, EXIT_USAGE, "there are %u subnets, say which one by --subnet: %.300s",
			 r->host->nsubnets, names.data);
	buf_free(&names);
}

const char *
status_why(const struct subnet_status *st, char why[WHY_SIZE])
{
	bool standby = st->role && strcmp(st->role, "standby") == 0;

	if (standby)
		snprintf(why, WHY_SIZE, "this subnet manager is standby%s%s",
			 st->master[0] ? ", in charge is " : "", st->master);
	else
		snprintf(why, WHY_SIZE, "%s%s%s", st->state ? st->state : "unknown",
			 st->nwarnings ? ": " : "", st->nwarnings ? st->warnings[0] : "");
	return why;
}

static void
fail_no_plan(struct ctl_req *r)
{
	struct subnet_status st = { 0 };
	char why[WHY_SIZE];
	struct error e;

	r->subnet->status(r->subnet->subnet, &st);
	error_set(&e, ERR_BUSY, "subnet %s has no proved routing: %s (see weft status)",
		  r->subnet->name, status_why(&st, why));
	req_error(r, &e);
}

static bool
check_scope(struct ctl_req *r, const char *name)
{
	for (unsigned i = 0; name && i < r->host->nsubnets; i++) {
		if (strcmp(r->host->subnets[i].name, name) == 0)
			r->subnet = &r->host->subnets[i];
	}
	if (name && !r->subnet) {
		fail_which_subnet(r, name);
		return false;
	}
	if (!name && r->command->scope != SCOPE_ALL) {
		if (r->host->nsubnets != 1) {
			fail_which_subnet(r, NULL);
			return false;
		}
		r->subnet = &r->host->subnets[0];
	}
	if (r->command->scope != SCOPE_PLAN)
		return true;
	r->plan = r->subnet->plan(r->subnet->subnet);
	if (!r->plan)
		fail_no_plan(r);
	return r->plan != NULL;
}

/* The outer object: "command", and perhaps "subnet" and "args". */
static bool
check_root(struct ctl_req *r, const char **name, const char **subnet)
{
	const char *key;
	json_t *value;

	json_object_foreach(r->root, key, value) {
		if (strcmp(key, "command") == 0 && json_is_string(value)) {
			*name = json_string_value(value);
		} else if (strcmp(key, "subnet") == 0 && json_is_string(value)) {
			*subnet = json_string_value(value);
		} else if (strcmp(key, "args") == 0 && json_is_object(value)) {
			r->args = value;
		} else if (!json_is_null(value) || (strcmp(key, "subnet") && strcmp(key, "args"))) {
			req_fail(r, EXIT_USAGE, "a request has no \"%.100s\" of this form", key);
			return false;
		}
	}
	if (!*name)
		req_fail(r, EXIT_USAGE, "a request needs a \"command\"");
	return *name != NULL;
}

static bool
parse(struct ctl_req *r, const char *line, size_t len)
{
	json_error_t where;

	if (too_deep(line, len)) {
		req_fail(r, EXIT_USAGE, "the request is nested deeper than %u", MAX_DEPTH);
		return false;
	}
	r->root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &where);
	if (!r->root)
		req_fail(r, EXIT_USAGE, "the request is no JSON object: %s at byte %d", where.text,
			 where.position);
	else if (!json_is_object(r->root))
		req_fail(r, EXIT_USAGE, "the request is no JSON object");
	return !r->answered;
}

static bool
prepare(struct ctl_req *r, const char *line, size_t len)
{
	const char *name = NULL, *subnet = NULL, *near;

	if (!parse(r, line, len) || !check_root(r, &name, &subnet))
		return false;
	r->command = command_find(name);
	if (!r->command) {
		near = command_nearest(name);
		req_fail(r, EXIT_USAGE, "unknown command \"%.100s\"%s%s%s", name,
			 near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
		return false;
	}
	if (!check_args(r))
		return false;
	if (r->command->change && !r->client->changes && !req_flag(r, "dry_run")) {
		fail(r, EXIT_REFUSED, "denied",
		     "\"%s\" changes the fabric: only root, the daemon's user and members of the "
		     "control group may", r->command->name);
		return false;
	}
	return check_scope(r, subnet);
}

struct ctl_req *
req_start(struct ctl_client *client, const char *line, size_t len)
{
	struct ctl_req *r = mem_zalloc(sizeof(*r));

	r->client = client;
	r->host = client->host;
	r->loop = client->loop;
	r->out = &client->out;
	r->started = loop_now(r->loop);
	if (prepare(r, line, len)) {
		loop_doing(r->loop, r->command->name);
		r->command->run(r);
	}
	return r;
}

static void
req_free(struct ctl_req *r)
{
	loop_timer_free(r->timer);
	if (r->state_free)
		r->state_free(r->state);
	plan_unref(r->plan);
	json_decref(r->root);
	buf_free(&r->nowhere);
	mem_free(r);
}

void
req_drop(struct ctl_req *r)
{
	r->client = NULL;
	r->step = NULL;
	r->poll = NULL;
	r->out = r->json.out = &r->nowhere;
	loop_timer_free(r->timer);
	r->timer = NULL;
	if (!r->held)
		req_free(r);
}

void
req_hold(struct ctl_req *r)
{
	r->held++;
}

void
req_release(struct ctl_req *r)
{
	r->held--;
	if (r->client)
		client_kick(r->client);
	else if (!r->held)
		req_free(r);
}

/* A plan is of some time, which may be long ago. */
static void
put_currency(struct ctl_req *r)
{
	struct subnet_status st = { 0 };
	char why[WHY_SIZE], time[CLOCK_TEXT_SIZE];

	r->subnet->status(r->subnet->subnet, &st);
	jw_bool(&r->json, "current", st.current);
	if (st.current)
		return;
	jw_str(&r->json, "as_of", st.state_wall ? clock_text(time, st.state_wall) : NULL);
	jw_str(&r->json, "why", status_why(&st, why));
}

struct json *
req_begin(struct ctl_req *r)
{
	jw_init(&r->json, r->out);
	jw_object(&r->json, NULL);
	jw_bool(&r->json, "ok", true);
	jw_object(&r->json, "data");
	r->begun = true;
	if (r->plan)
		put_currency(r);
	return &r->json;
}

static void
finish(struct ctl_req *r)
{
	while (r->json.depth)
		jw_end(&r->json);
	buf_char(r->out, '\n');
	r->answered = true;
	r->step = NULL;
	r->poll = NULL;
}

void
req_end(struct ctl_req *r)
{
	finish(r);
}

static void
vfail(struct ctl_req *r, enum ctl_exit code, const char *reason, const char *fmt, va_list args)
{
	char text[600];

	vsnprintf(text, sizeof(text), fmt, args);
	jw_init(&r->json, r->out);
	jw_object(&r->json, NULL);
	jw_bool(&r->json, "ok", false);
	jw_str(&r->json, "error", text);
	jw_uint(&r->json, "code", code);
	jw_str(&r->json, "reason", reason);
	finish(r);
}

static void
fail(struct ctl_req *r, enum ctl_exit code, const char *reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfail(r, code, reason, fmt, args);
	va_end(args);
}

void
req_fail(struct ctl_req *r, enum ctl_exit code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfail(r, code, error_name(code == EXIT_USAGE ? ERR_INVALID : code == EXIT_TIMEOUT ?
				  ERR_TIMEOUT : ERR_REFUSED), fmt, args);
	va_end(args);
}

void
req_error(struct ctl_req *r, const struct error *e)
{
	fail(r, e->code == ERR_TIMEOUT ? EXIT_TIMEOUT : EXIT_REFUSED, error_name(e->code), "%s",
	     e->text);
}

void
req_stream(struct ctl_req *r, ctl_step_fn step)
{
	r->poll = NULL;
	r->step = step;
}

static void
on_poll(void *arg)
{
	struct ctl_req *r = arg;

	r->poll(r);
	if (r->poll)
		loop_timer_set(r->timer, r->interval);
	else
		client_kick(r->client);
}

void
req_poll(struct ctl_req *r, ctl_req_fn fn, monotime interval)
{
	r->poll = fn;
	r->interval = interval;
	r->timer = loop_timer_new(r->loop, on_poll, r);
	loop_timer_set(r->timer, interval);
}

static void
job_run(void *arg)
{
	struct ctl_req *r = arg;

	r->job_run(r);
}

static void
job_done(void *arg)
{
	struct ctl_req *r = arg;

	r->gate->busy = false;
	gate_unref(r->gate);
	r->gate = NULL;
	if (r->client)
		r->job_done(r);
	req_release(r);
}

static void
job_try(struct ctl_req *r)
{
	struct ctl_gate *g = r->client->gate;

	if (g->busy)
		return;
	g->busy = true;
	g->refs++;
	r->gate = g;
	r->poll = NULL;
	req_hold(r);
	loop_work(r->loop, job_run, job_done, r, r->job_cost);
}

void
req_job(struct ctl_req *r, ctl_req_fn run, ctl_req_fn done, monotime virtual_cost)
{
	r->job_run = run;
	r->job_done = done;
	r->job_cost = virtual_cost;
	job_try(r);
	if (!r->gate)
		req_poll(r, job_try, GATE_INTERVAL);
}

struct ctl_gate *
gate_new(void)
{
	struct ctl_gate *g = mem_zalloc(sizeof(*g));

	g->refs = 1;
	return g;
}

void
gate_unref(struct ctl_gate *g)
{
	if (--g->refs == 0)
		mem_free(g);
}

const char *
req_string(const struct ctl_req *r, const char *name)
{
	return json_string_value(json_object_get(r->args, name));
}

bool
req_flag(const struct ctl_req *r, const char *name)
{
	return json_is_true(json_object_get(r->args, name));
}

uint64_t
req_number(const struct ctl_req *r, const char *name, uint64_t absent)
{
	const json_t *value = json_object_get(r->args, name);

	return json_is_integer(value) ? (uint64_t)json_integer_value(value) : absent;
}
