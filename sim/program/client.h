/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <stddef.h>
#include "sim/attach.h"
#include "sm/base/error.h"

/* The other end of serve/server.c's socket, as the commands of weftsim need it: one question, or a
 * control session. Blocking, with a time limit. Private to the program. */

/* Connect and ask; the reply may be an error of the server's, in its status and text. The
 * connection's descriptor, or ERR_CLOSED (nobody is there), ERR_TIMEOUT, ERR_INVALID, ERR_FORMAT
 * with a sentence. */
int
client_open(const char *path, enum attach_kind kind, const char *node, struct attach_reply *reply,
	    struct error *e);
/* Of a control session: one line; what is answered goes through `print` piece by piece. 0,
 * ERR_REFUSED with the server's sentence, or as above. */
int
client_command(int fd, const char *line, void (*print)(const char *text, size_t len),
	       struct error *e);

#endif
