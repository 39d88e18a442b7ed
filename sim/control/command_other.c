/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/capture.h"
#include "sim/control/command.h"
#include "sim/control/script.h"
#include "sim/control/words.h"
#include "sm/base/mem.h"

/*
 * Commands that begin or end something: timed commands, recordings, the simulation.
 */

/* The words of the command are a line of a script. */
static int
run_timed(const struct call *c)
{
	struct buf line = { 0 };
	struct words *w = mem_zalloc(sizeof(*w));
	int rc;

	buf_str(&line, c->command->name);
	for (unsigned i = 0; i < c->nargs; i++) {
		buf_char(&line, ' ');
		sim_quote(&line, c->args[i]);
	}
	rc = words_split(w, line.data, c->e);
	if (!rc)
		rc = script_line(c->s->script, line.data, w, "command", true, c->e);
	if (!rc && !c->check)
		rc = script_line(c->s->script, line.data, w, "command", false, c->e);
	mem_free(w);
	buf_free(&line);
	return rc;
}

static int
capture_stop(const struct call *c)
{
	uint64_t n;
	int rc;

	if (c->check)
		return 0;
	if (!c->s->capture)
		return error_set(c->e, ERR_NOT_FOUND, "no MADs are recorded");
	n = capture_count(c->s->capture);
	if ((rc = sim_capture_end(c->s, c->e)) < 0)
		return rc;
	buf_printf(c->out, "%" PRIu64 " MADs recorded\n", n);
	return 0;
}

static int
run_capture(const struct call *c)
{
	static const char *const words[] = { "pcap", "text", NULL };
	unsigned format = capture_is_text(c->args[0]);
	int rc = 0;

	if (c->nargs == 1 && strcmp(c->args[0], "stop") == 0)
		return capture_stop(c);
	if (c->nargs == 2)
		rc = arg_word(c, 1, words, &format);
	if (rc < 0 || c->check)
		return rc;
	return sim_capture(c->s, c->args[0], format == 1, c->e);
}

static int
run_quit(const struct call *c)
{
	if (c->check)
		return 0;
	if (!c->s->host.quit)
		return error_set(c->e, ERR_UNSUPPORTED,
				 "this simulation runs inside of a program and "
				 "ends with it");
	c->s->host.quit(c->s->host.quit_arg);
	return 0;
}

const struct command command_others[] = {
	{ "capture", "FILE [pcap|text]|stop", "record every MAD in a file", 1, 2, run_capture },
	{ "at", "TIME COMMAND...", "run a command at a time from now", 2, WORDS_MAX - 1,
	  run_timed },
	{ "every", "TIME [from T] [until T] [times N] COMMAND...", "run it again and again", 2,
	  WORDS_MAX - 1, run_timed },
	{ "random", "N flaps [of switches|hosts|all] over TIME ...",
	  "random cables, cut and mended",
	  4, WORDS_MAX - 1, run_timed },
	{ "quit", "", "end the simulation", 0, 0, run_quit },
	{ 0 },
};
