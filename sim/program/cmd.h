/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_CMD_H
#define SIM_CMD_H

#include "sm/base/error.h"

/* The commands of the program weftsim: each reads its options from argv[1] on, argv[0] being its
 * name, and returns the exit status, one of these or what a program returned that it ran. */
enum cmd_status {
	CMD_DONE,
	CMD_REFUSED,		/* or not possible */
	CMD_USAGE,		/* wrong usage */
	CMD_NO_SERVER,		/* nobody serves a fabric on the socket */
	CMD_TIMEOUT,		/* no answer in time */
};

int
cmd_generate(int argc, char **argv);
int
cmd_rehearse(int argc, char **argv);
int
cmd_serve(int argc, char **argv);
int
cmd_run(int argc, char **argv);
int
cmd_exec(int argc, char **argv);
int
cmd_ctl(int argc, char **argv);

/* "weftsim: what: detail" on standard error (detail may be NULL); returns CMD_USAGE. */
int
cmd_complain(const char *what, const char *detail);
/* "weftsim: sentence" on standard error; returns `status`. */
int
cmd_fail(const struct error *e, int status);

/* The exit status after 0 or an ERR_* of client.h. */
int
cmd_status(int rc);

#define CMD_PATH_SIZE 108	/* of a socket's path, as struct sockaddr_un has it */
/* Where a fabric is served unless said otherwise: WEFTSIM_SOCKET, for root
 * /run/weft/weftsim.sock, else weftsim.sock in XDG_RUNTIME_DIR, or /tmp/weftsim-UID.sock. */
const char *
cmd_socket(char buf[CMD_PATH_SIZE]);

/* cmd_exec.c: become the program argv[0], attached to the host `node` of the fabric that is served
 * on `socket`; NULL: the first host. Returns an exit status if that fails, having said why. */
int
cmd_become(const char *socket, const char *node, char **argv);

#endif
