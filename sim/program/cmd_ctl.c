/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sim/control/sim.h"
#include "sim/program/client.h"
#include "sim/program/cmd.h"
#include "sim/program/console.h"

/*
 * weftsim ctl: commands to a served fabric, one from the command line or many from a console. What
 * cannot be done is a line on standard error and ends nothing; the exit status tells of the last.
 */
struct session {
	int fd;			/* of the control session */
	int status;		/* enum cmd_status, of the last command */
	bool warned;		/* of what quit does */
};

static int
usage(FILE *out, int status)
{
	struct buf b = { 0 };

	sim_help(&b);
	fprintf(out, "usage: weftsim ctl [-s SOCKET] [COMMAND...]\n\n"
		"Look into the fabric that \"weftsim serve\" simulates, and change it. Without\n"
		"COMMAND: a console, or commands from standard input, one a line.\n\n"
		"  -s, --socket SOCKET  where the fabric is served\n\n"
		"Commands; \"at\", \"every\" and \"random\" also make up scripts:\n%s", b.data);
	buf_free(&b);
	return status;
}

static void
print(const char *text, size_t len)
{
	fwrite(text, 1, len, stdout);
}

/* False: there will be no more answers. */
static bool
say(struct session *s, const char *line)
{
	struct error e = { 0 };
	int rc = client_command(s->fd, line, print, &e);

	s->status = cmd_status(rc);
	fflush(stdout);
	if (rc < 0)
		cmd_fail(&e, s->status);
	return s->status == CMD_DONE || s->status == CMD_REFUSED;
}

/* A person who types quit may mean the console alone: said once before it is done. */
static bool
on_typed(void *arg, const char *line)
{
	struct session *s = arg;
	size_t blank = strspn(line, " \t"), len = strcspn(line + blank, " \t\r\n#");

	if (!len)
		return true;
	if (len == 4 && !strncmp(line + blank, "exit", 4))
		return false;
	if (len == 4 && !strncmp(line + blank, "quit", 4)) {
		if (s->warned)
			return say(s, "quit") && false;
		printf("This ends the simulation for all programs; once more if you mean it. "
		       "\"exit\" leaves the console.\n");
		s->warned = true;
		return true;
	}
	s->warned = false;
	return say(s, line);
}

static void
read_lines(struct session *s)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	bool more = true;
	int worst = CMD_DONE;

	while (more && (len = getline(&line, &size, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!line[strspn(line, " \t\r")] || line[strspn(line, " \t\r")] == '#')
			continue;
		more = say(s, line);
		worst = s->status > worst ? s->status : worst;
	}
	s->status = worst;
	free(line);
}

/* The words of the command line as one line. */
static void
say_words(struct session *s, int argc, char **argv)
{
	struct buf line = { 0 };

	for (int i = 0; i < argc; i++) {
		if (i)
			buf_char(&line, ' ');
		sim_quote(&line, argv[i]);
	}
	say(s, line.data);
	buf_free(&line);
}

static int
control(const char *socket, int argc, char **argv)
{
	struct session s = { 0 };
	struct attach_reply reply;
	struct error e = { 0 };

	s.fd = client_open(socket, ATTACH_CONTROL, NULL, &reply, &e);
	if (s.fd < 0)
		return cmd_fail(&e, cmd_status(s.fd));
	if (argc)
		say_words(&s, argc, argv);
	else if (isatty(STDIN_FILENO))
		console_run(on_typed, &s);
	else
		read_lines(&s);
	close(s.fd);
	if (fflush(stdout) != 0) {
		error_set(&e, ERR_IO, "the answer cannot be written: %s", strerror(errno));
		return cmd_fail(&e, CMD_REFUSED);
	}
	return s.status;
}

int
cmd_ctl(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "socket", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	const char *socket = NULL;
	char buf[CMD_PATH_SIZE];
	int c;

	while ((c = getopt_long(argc, argv, "+hs:", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMD_DONE);
		if (c != 's')
			return CMD_USAGE;
		socket = optarg;
	}
	return control(socket ? socket : cmd_socket(buf), argc - optind, argv + optind);
}
