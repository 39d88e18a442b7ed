/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include "sim/program/cmd.h"
#include "sim/program/stage.h"

/*
 * weftsim rehearse: a fabric and its script under virtual time, as fast as they can, and what
 * happens as text. One seed gives the same text each time.
 */
static int
usage(FILE *out, int status)
{
	fprintf(out,
		"usage: weftsim rehearse FABRIC --for TIME [OPTIONS]\n\n"
		"Let a fabric and its script run under virtual time, print what happens to the\n"
		"fabric, a line each with seconds since the start, and \"wrong\" at the end.\n"
		"One seed gives the same lines each time. No program attaches; with a subnet\n"
		"manager it is weftd --sim FABRIC --sim-for TIME.\n\n%s"
		"  --for TIME           how long, such as 90s, 2h, 1d\n", stage_help);
	return status;
}

static int
rehearse(struct stage_options *o, const char *fabric, monotime time)
{
	struct error e = { 0 };
	struct buf wrong = { 0 };
	struct stage g;
	int rc;

	o->virtual_time = true;
	o->log = o->log ? o->log : "-";
	if (stage_open(&g, o, fabric, NULL, &e) < 0)
		return cmd_fail(&e, CMD_REFUSED);
	setvbuf(g.log, NULL, _IOFBF, 1 << 16);
	loop_run_until(g.loop, loop_now(g.loop) + time, NULL);
	rc = sim_command(g.sim, "wrong", &wrong, &e);
	if (rc == 0)
		fprintf(g.log, "\n%.*s", (int)wrong.len, wrong.data);
	buf_free(&wrong);
	if (stage_close(&g, rc ? NULL : &e) < 0 || rc < 0)
		return cmd_fail(&e, CMD_REFUSED);
	return CMD_DONE;
}

int
cmd_rehearse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "for", required_argument, NULL, 't' },
		STAGE_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct stage_options o = { 0 };
	monotime time = 0;
	int c, rc = CMD_DONE;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMD_DONE);
		if (c == 't') {
			if (!duration_parse(optarg, &time) || time <= 0)
				return cmd_complain("--for takes a time such as 90s or 1d, not",
						    optarg);
		} else if (!stage_option(&o, c, optarg, &rc)) {
			return CMD_USAGE;
		}
		if (rc)
			return rc;
	}
	if (optind == argc)
		return usage(stderr, CMD_USAGE);
	if (!time)
		return cmd_complain("rehearse takes a time, such as --for 1d", NULL);
	if (optind + 1 < argc)
		return cmd_complain("rehearse takes one fabric; a recipe with blanks needs quotes; "
				    "one too many is", argv[optind + 1]);
	return rehearse(&o, argv[optind], time);
}
