/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "sm/ctl/command.h"

/* One connection. The list it is in belongs to ctl.c; a client leaves it when it dies. */
#define CLIENT_OUT_LIMIT 65536u		/* pending output at which an answer waits for its reader */

struct ctl_client {
	struct list list;		/* in the server's clients */
	const struct ctl_host *host;	/* borrowed */
	struct loop *loop;		/* borrowed */
	struct ctl_gate *gate;		/* the server's, borrowed */
	int fd;				/* -1: fed, no socket */
	struct loop_fd *watch;		/* of fd */
	struct loop_timer *turn;	/* goes on with what is left to do */
	bool changes;			/* may change things */
	bool eof;			/* it sends no more */
	bool closing;			/* close once the output is out */
	bool dead;			/* freed at the end of this turn */
	struct buf in;			/* bytes not yet taken up */
	size_t scanned;			/* of `in`: no newline in them */
	struct buf out;			/* bytes not yet sent */
	struct ctl_req *req;		/* the one at work; NULL */
	monotime active;		/* a line began, was answered, or output was taken */
	unsigned *count;		/* the server's number of clients */
};

/* Takes over fd. Says hello. NULL if it cannot be watched (fd is closed then). */
struct ctl_client *
client_new(struct list *clients, unsigned *count, struct loop *l, int fd,
	   const struct ctl_host *host, struct ctl_gate *gate, bool changes);
void
client_free(struct ctl_client *c);
/* Closes it if it has been idle, or its reader stuck, for too long, or if it has hung up. */
void
client_tick(struct ctl_client *c);
void
client_hello(struct buf *out);

#endif
