/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sim/program/client.h"
#include "sim/program/cmd.h"

/*
 * weftsim exec: one program attached to a host of a served fabric. The program becomes this
 * process, with the preload library and what it needs to know in its environment.
 */
#define LIBRARY "libweftsim-umad.so"

static int
usage(FILE *out, int status)
{
	fputs("usage: weftsim exec [-s SOCKET] [-n NODE] [--] COMMAND...\n\n"
	      "Run a program that uses InfiniBand MADs on a host of the fabric that\n"
	      "\"weftsim serve\" simulates. Its exit status is the program's.\n\n"
	      "  -s, --socket SOCKET  where the fabric is served\n"
	      "  -n, --node NODE      the host, by description, name or GUID; or a switch;\n"
	      "                       the first host if not given\n", out);
	return status;
}

/* The library lies beside this program, or where `make install` puts it. */
static bool
find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "", "../lib/weft/" };
	char self[PATH_MAX / 2], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len <= 0)
		return false;
	self[len] = '\0';
	if ((slash = strrchr(self, '/')))
		slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, PATH_MAX, "%s%s" LIBRARY, self, places[i]);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static int
set_environment(const char *socket, const char *node, struct error *e)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], list[2 * PATH_MAX], full[PATH_MAX];

	if (!find_library(path))
		return error_set(e, ERR_NOT_FOUND, "the preload library " LIBRARY " is neither "
				 "beside weftsim nor in ../lib/weft");
	if (snprintf(list, sizeof(list), "%s%s%s", path, others && *others ? ":" : "",
		     others ? others : "") >= (int)sizeof(list))
		return error_set(e, ERR_FULL, "LD_PRELOAD is too long");
	/* The program may go to another folder. */
	if (!realpath(socket, full))
		snprintf(full, sizeof(full), "%s", socket);
	if (setenv("WEFTSIM_SOCKET", full, 1) || setenv("LD_PRELOAD", list, 1) ||
	    (node ? setenv("WEFTSIM_NODE", node, 1) : unsetenv("WEFTSIM_NODE")))
		return error_set(e, ERR_NOMEM, "the environment is full");
	return 0;
}

/* The fabric is there and has the host: known before the program is started. */
static int
ask_host(const char *socket, const char *node, struct error *e)
{
	struct attach_reply reply;
	int fd = client_open(socket, ATTACH_HOST, node, &reply, e);

	if (fd < 0)
		return fd;
	close(fd);
	if (!reply.status)
		return 0;
	reply.text[sizeof(reply.text) - 1] = '\0';
	return error_set(e, ERR_REFUSED, "%s", reply.text);
}

int
cmd_become(const char *socket, const char *node, char **argv)
{
	struct error e = { 0 };
	int rc = ask_host(socket, node, &e);

	if (rc < 0)
		return cmd_fail(&e, cmd_status(rc));
	if (set_environment(socket, node, &e) < 0)
		return cmd_fail(&e, CMD_REFUSED);
	execvp(argv[0], argv);
	fprintf(stderr, "weftsim: %s cannot be run: %s\n", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int
cmd_exec(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "node", required_argument, NULL, 'n' },
		{ "socket", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	char buf[CMD_PATH_SIZE];
	const char *socket = NULL, *node = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "+hn:s:", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMD_DONE);
		if (c == 'n')
			node = optarg;
		else if (c == 's')
			socket = optarg;
		else
			return CMD_USAGE;
	}
	if (optind == argc)
		return usage(stderr, CMD_USAGE);
	return cmd_become(socket ? socket : cmd_socket(buf), node, argv + optind);
}
