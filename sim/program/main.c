/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sim/program/cmd.h"
#include "sm/base/text.h"
#include "sm/base/version.h"

/* weftsim, the simulated fabric's program: each command has a file of its own, cmd_*.c. */
static const struct command {
	const char *name;			/* the word on the command line */
	int (*run)(int argc, char **argv);	/* returns the exit status */
	const char *help;			/* one line */
} commands[] = {
	{ "run", cmd_run, "simulate a fabric and run a program on a host of it" },
	{ "serve", cmd_serve, "simulate a fabric that programs attach to" },
	{ "exec", cmd_exec, "run a program on a host of a served fabric" },
	{ "ctl", cmd_ctl, "look into a served fabric and change it" },
	{ "rehearse", cmd_rehearse, "let a fabric and its faults run under virtual time" },
	{ "generate", cmd_generate, "print a fabric by recipe as ibnetdiscover text" },
};
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

int
cmd_complain(const char *what, const char *detail)
{
	fprintf(stderr, "weftsim: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	return CMD_USAGE;
}

int
cmd_fail(const struct error *e, int status)
{
	fprintf(stderr, "weftsim: %s\n", e->text);
	return status;
}

int
cmd_status(int rc)
{
	return rc >= 0 ? CMD_DONE : rc == ERR_CLOSED ? CMD_NO_SERVER :
		rc == ERR_TIMEOUT ? CMD_TIMEOUT : CMD_REFUSED;
}

/* A path that does not fit is cut, and then found by nobody: the environment's fault. */
const char *
cmd_socket(char buf[CMD_PATH_SIZE])
{
	const char *set = getenv("WEFTSIM_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (set && *set)
		snprintf(buf, CMD_PATH_SIZE, "%s", set);
	else if (!getuid())
		snprintf(buf, CMD_PATH_SIZE, "/run/weft/weftsim.sock");
	else if (runtime && *runtime)
		snprintf(buf, CMD_PATH_SIZE, "%s/weftsim.sock", runtime);
	else
		snprintf(buf, CMD_PATH_SIZE, "/tmp/weftsim-%u.sock", getuid());
	return buf;
}

static int
usage(FILE *out, int status)
{
	fputs("usage: weftsim COMMAND [ARGUMENTS]\n\n", out);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nweftsim COMMAND --help tells more; weftsim --version tells the version.\n", out);
	return status;
}

static int
unknown(const char *word)
{
	const char *words[NCOMMANDS + 1] = { NULL }, *near;

	for (size_t i = 0; i < NCOMMANDS; i++)
		words[i] = commands[i].name;
	near = nearest_word(word, words);
	fprintf(stderr, "weftsim: there is no command \"%s\"%s%s%s; see weftsim --help\n", word,
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return CMD_USAGE;
}

/* What is printed must not go into a socket or file of ours that got a standard stream's number. */
static void
open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int
main(int argc, char **argv)
{
	open_standard();
	if (argc < 2)
		return usage(stderr, CMD_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return usage(stdout, CMD_DONE);
	if (!strcmp(argv[1], "--version"))
		return printf("weftsim " WEFT_VERSION "\n") < 0;
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return unknown(argv[1]);
}
