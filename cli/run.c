/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * How commands run: most are one request and one answer. wait asks in slices while somebody
 * watches, so that it can say what is missing; events --follow asks again from the last event on.
 */
#define GRACE SEC(5)			/* for a daemon that has just been started */
#define RETRY_MS 100
#define SLICE_MS 1000			/* of wait, on a terminal */
#define FOLLOW_MS 30000			/* of one request of events --follow */

static int
fail(int status, const struct error *e)
{
	emit(stderr, "weft: %s\n", e->text);
	return status;
}

/* What goes on for ever is one value a line. */
static void
show_json_lines(const json_t *events)
{
	size_t i;
	json_t *event;

	json_array_foreach(events, i, event) {
		json_dumpf(event, stdout, JSON_COMPACT);
		putchar('\n');
	}
}

void
cli_show(const struct cli *c, const json_t *data)
{
	if (json_is_false(json_object_get(data, "current")) && field_str(data, "as_of")[0])
		emit(stderr, "weft: what follows is as of %s: %s\n", field_str(data, "as_of"),
		     field_str(data, "why"));
	if (c->json && c->follow) {
		show_json_lines(json_object_get(data, "events"));
	} else if (c->json) {
		json_dumpf(data, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
		putchar('\n');
	} else {
		c->command->print(c, data);
	}
}

int
cli_run(struct cli *c)
{
	struct error e = { 0 };
	json_t *data = NULL;
	int ret = connection_open(c, &e);

	/* Who reads JSON wants all of it. */
	if (c->json && c->command->options) {
		for (const struct cli_option *o = c->command->options; o->name; o++) {
			if (strcmp(o->name, "all") == 0)
				json_object_set_new(c->args, "all", json_true());
		}
	}
	if (!ret)
		ret = connection_request(c, &data, &e);
	if (ret)
		return fail(ret, &e);
	cli_show(c, data);
	if (c->command->verdict)
		ret = c->command->verdict(data);
	json_decref(data);
	return ret;
}

int
run_routes(struct cli *c)
{
	if (json_object_get(c->args, "node") || json_object_get(c->args, "dump"))
		return cli_run(c);
	emit(stderr, "weft: usage: weft %s %s; see weft %s --help\n", c->command->name,
	     c->command->synopsis, c->command->name);
	return CLI_USAGE;
}

/* The daemon may still be starting: try for a while. */
static int
open_patiently(struct cli *c, monotime deadline, struct error *e)
{
	monotime until = clock_monotonic() + GRACE;
	int ret;

	if (deadline < until)
		until = deadline;
	while ((ret = connection_open(c, e)) == CLI_NO_DAEMON && clock_monotonic() < until)
		poll(NULL, 0, RETRY_MS);
	return ret;
}

int
run_wait(struct cli *c)
{
	monotime start = clock_monotonic();
	monotime deadline = c->timeout_ms < 0 ? MONOTIME_NEVER : start + MSEC(c->timeout_ms), left;
	bool sliced = isatty(STDERR_FILENO), shown = false;
	struct error e = { 0 };
	json_t *data = NULL;
	int ret = open_patiently(c, deadline, &e);

	for (bool last; !ret; ) {
		left = deadline - clock_monotonic();
		left = left < 0 ? 0 : left / MSEC(1);
		last = !sliced || left <= SLICE_MS;
		if (!sliced && deadline == MONOTIME_NEVER)
			json_object_del(c->args, "timeout_ms");
		else
			json_object_set_new(c->args, "timeout_ms",
					    json_integer(last ? left : SLICE_MS));
		ret = connection_request(c, &data, &e);
		if (ret != CLI_TIMEOUT || last)
			break;
		fputs("\r\033[K", stderr);
		emit(stderr, "%s", e.text);
		shown = true;
		ret = 0;
	}
	if (shown)
		fputs("\r\033[K", stderr);
	if (ret)
		return fail(ret, &e);
	cli_show(c, data);
	json_decref(data);
	return 0;
}

int
run_events(struct cli *c)
{
	struct error e = { 0 };
	json_t *data;
	int ret;

	if (!c->follow)
		return cli_run(c);
	ret = connection_open(c, &e);
	while (!ret) {
		ret = connection_request(c, &data, &e);
		if (ret)
			break;
		cli_show(c, data);
		fflush(stdout);
		json_object_del(c->args, "last");
		json_object_set(c->args, "after", json_object_get(data, "last"));
		json_object_set_new(c->args, "wait_ms", json_integer(FOLLOW_MS));
		json_decref(data);
	}
	return fail(ret, &e);
}

int
check_verdict(const json_t *data)
{
	const char *first = field_str(data, "first");

	if (field_bool(data, "ok"))
		return CLI_DONE;
	if (!first[0] && field_uint(data, "credit_loops"))
		first = "the routing has a credit loop";
	emit(stderr, "weft: the routing is not proved: %s\n", first);
	return CLI_REFUSED;
}

int
route_verdict(const json_t *data)
{
	if (field_bool(data, "ok"))
		return CLI_DONE;
	emit(stderr, "weft: %s\n", field_str(data, "reason"));
	return CLI_REFUSED;
}
