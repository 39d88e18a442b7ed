/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/names.h"
#include "sim/program/cmd.h"
#include "sim/program/stage.h"

/*
 * weftsim serve: a fabric that programs attach to until somebody ends it, by SIGTERM, SIGINT, the
 * end of its terminal or the command "quit".
 */
static int
usage(FILE *out, int status)
{
	fprintf(out,
		"usage: weftsim serve FABRIC [OPTIONS]\n\n"
		"Simulate a fabric that programs attach to. When it is up, the last line that\n"
		"is printed is \"ready\". \"weftsim exec\" runs programs on its hosts, \"weftsim\n"
		"ctl\" is its console.\n\n%s"
		"  -s, --socket SOCKET  where programs attach; else WEFTSIM_SOCKET, for root\n"
		"                       /run/weft/weftsim.sock, or in XDG_RUNTIME_DIR\n",
		stage_help);
	return status;
}

static void
on_signal(void *arg)
{
	loop_stop(arg);
}

/* The host that a program is on if it names none. */
static const char *
first_host(const struct sim *s)
{
	for (uint32_t i = 0; i < s->net->nnodes; i++)
		if (s->net->nodes[i].type == IBNET_CA)
			return names_text(s->names, i);
	return names_text(s->names, 0);
}

static void
announce(const struct stage *g, const char *socket)
{
	struct buf b = { 0 }, line = { 0 };

	sim_command(g->sim, "status", &b, NULL);
	printf("%.*s\n", b.data ? (int)strcspn(b.data, "\n") : 0, b.data ? b.data : "");
	sim_quote(&line, first_host(g->sim));
	printf("socket    %s\n"
	       "programs  weftsim exec -s %s -n %s -- ibstat\n"
	       "console   weftsim ctl -s %s\n"
	       "ready\n", socket, socket, line.data, socket);
	fflush(stdout);
	buf_free(&line);
	buf_free(&b);
}

static int
serve(const struct stage_options *o, const char *fabric, const char *socket)
{
	struct error e = { 0 };
	struct stage g;

	stage_shield(true);
	if (stage_open(&g, o, fabric, socket, &e) < 0)
		return cmd_fail(&e, CMD_REFUSED);
	stage_signal(&g, SIGTERM, on_signal, g.loop);
	stage_signal(&g, SIGINT, on_signal, g.loop);
	stage_signal(&g, SIGHUP, on_signal, g.loop);
	announce(&g, socket);
	loop_run(g.loop);
	return stage_close(&g, &e) < 0 ? cmd_fail(&e, CMD_REFUSED) : CMD_DONE;
}

int
cmd_serve(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "socket", required_argument, NULL, 's' },
		STAGE_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct stage_options o = { 0 };
	const char *socket = NULL;
	char buf[CMD_PATH_SIZE];
	int c, rc = CMD_DONE;

	while ((c = getopt_long(argc, argv, "hs:", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMD_DONE);
		if (c == 's')
			socket = optarg;
		else if (!stage_option(&o, c, optarg, &rc))
			return CMD_USAGE;
		if (rc)
			return rc;
	}
	if (optind == argc)
		return usage(stderr, CMD_USAGE);
	if (optind + 1 < argc)
		return cmd_complain("serve takes one fabric; a recipe with blanks needs quotes; "
				    "one too many is", argv[optind + 1]);
	return serve(&o, argv[optind], socket ? socket : cmd_socket(buf));
}
