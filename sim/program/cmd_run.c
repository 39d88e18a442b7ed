/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim/program/cmd.h"
#include "sim/program/stage.h"
#include "sim/serve/scratch.h"

/*
 * weftsim run: a fabric for one program, and gone with it.
 *
 * The program is a child, attached like any other. What the terminal sends goes to both; this
 * process leaves it to the program, and passes on what is sent to itself alone. Its exit status is
 * the program's, 128 and the signal's number if a signal ended it. Programs that it left behind on
 * the fabric are told to end: a manager without a device would only wait, and keep its socket.
 */
#define PATIENCE SEC(10)	/* with a program that is to end */

struct show {
	struct stage stage;		/* the simulation */
	pid_t child;			/* the program */
	int status;			/* as waitpid() told it */
	bool ended;			/* it did */
};

static int
usage(FILE *out, int status)
{
	fprintf(out, "usage: weftsim run FABRIC [OPTIONS] [--] [COMMAND...]\n\n"
		"Simulate a fabric and run a program on a host of it; a shell without COMMAND.\n"
		"The fabric is gone when the program ends, and programs that are left on it are\n"
		"ended. The exit status is the program's.\n\n%s"
		"  -n, --node NODE      the host, the first one if not given\n", stage_help);
	return status;
}

static void
on_child(void *arg)
{
	struct show *w = arg;

	if (w->ended || waitpid(w->child, &w->status, WNOHANG) != w->child)
		return;
	w->ended = true;
	loop_stop(w->stage.loop);
}

/* A program that has been stopped must go on to see it. */
static void
pass_on(struct show *w, int signo)
{
	if (w->ended)
		return;
	kill(w->child, signo);
	kill(w->child, SIGCONT);
}

static void
on_terminate(void *arg)
{
	pass_on(arg, SIGTERM);
}

static void
on_hangup(void *arg)
{
	pass_on(arg, SIGHUP);
}

static void
on_terminal(void *arg)
{
	(void)arg;
}

/* The command "quit", while the program runs: it has the fabric until it ends, but not for ever. */
static void
end_child(struct show *w)
{
	pass_on(w, SIGTERM);
	loop_run_until(w->stage.loop, loop_now(w->stage.loop) + PATIENCE, &w->ended);
	if (w->ended)
		return;
	kill(w->child, SIGKILL);
	while (waitpid(w->child, &w->status, 0) < 0 && errno == EINTR)
		;
}

static int
start(struct show *w, const char *socket, const char *node, char **argv)
{
	w->child = fork();
	if (w->child < 0) {
		fprintf(stderr, "weftsim: no process could be had: %s\n", strerror(errno));
		return CMD_REFUSED;
	}
	if (!w->child) {
		stage_shield(false);
		_exit(cmd_become(socket, node, argv));
	}
	return CMD_DONE;
}

static int
play(struct show *w, const char *socket, const char *node, char **argv)
{
	struct error e = { 0 };
	int rc;

	loop_signal(w->stage.loop, SIGCHLD, on_child, w);
	stage_signal(&w->stage, SIGTERM, on_terminate, w);
	stage_signal(&w->stage, SIGHUP, on_hangup, w);
	stage_signal(&w->stage, SIGINT, on_terminal, w);
	stage_signal(&w->stage, SIGQUIT, on_terminal, w);
	rc = start(w, socket, node, argv);
	if (!rc) {
		loop_run(w->stage.loop);
		if (!w->ended)
			end_child(w);
		rc = WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status) :
			WEXITSTATUS(w->status);
	}
	server_end_programs(w->stage.server);
	if (stage_close(&w->stage, &e) < 0)
		return cmd_fail(&e, rc ? rc : CMD_REFUSED);
	return rc;
}

static int
run(const struct stage_options *o, const char *fabric, const char *node, char **argv)
{
	struct scratch *folder;
	char socket[CMD_PATH_SIZE];
	struct show w = { 0 };
	struct error e = { 0 };
	int rc;

	if (scratch_new(&folder, &e) < 0)
		return cmd_fail(&e, CMD_REFUSED);
	snprintf(socket, sizeof(socket), "%s/socket", scratch_path(folder));
	stage_shield(true);
	if (stage_open(&w.stage, o, fabric, socket, &e) < 0)
		rc = cmd_fail(&e, CMD_REFUSED);
	else
		rc = play(&w, socket, node, argv);
	scratch_free(folder);
	return rc;
}

int
cmd_run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "node", required_argument, NULL, 'n' },
		STAGE_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	const char *shell = getenv("SHELL"), *node = NULL, *fabric = NULL;
	char *shell_argv[] = { NULL, NULL };
	struct stage_options o = { 0 };
	int c, rc = CMD_DONE;

	/* FABRIC may stand before options; what follows the next word is the program's. */
	while ((c = getopt_long(argc, argv, "+hn:", options, NULL)) != -1 ||
	       (!fabric && optind < argc)) {
		if (c == -1)
			fabric = argv[optind++];
		else if (c == 'h')
			return usage(stdout, CMD_DONE);
		else if (c == 'n')
			node = optarg;
		else if (!stage_option(&o, c, optarg, &rc))
			return CMD_USAGE;
		if (rc)
			return rc;
	}
	if (!fabric)
		return usage(stderr, CMD_USAGE);
	if (optind < argc)
		return run(&o, fabric, node, argv + optind);
	shell_argv[0] = (char *)(shell && *shell ? shell : "/bin/sh");
	return run(&o, fabric, node, shell_argv);
}
