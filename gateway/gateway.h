/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include "gateway/auth.h"
#include "gateway/control.h"
#include "gateway/server.h"
#include "sm/base/log.h"

/*
 * Requests on their way: who asks, what for, the daemon's answer. All is borrowed; it outlives the
 * server's exchanges.
 */
struct gateway {
	struct loop *loop;
	struct control *control;
	struct auth *auth;	/* may be replaced at any time */
	const char *subnet;	/* that is asked about; NULL: the only one */
	monotime patience;	/* with the daemon, for one request */
	struct log_limit limit;	/* of messages that strangers can cause */
};

/* The server's handler; `arg` is a struct gateway. */
void
gateway_handle(void *arg, struct exchange *x);

/* What the program is started with; strings are borrowed from the command line. */
#define GATEWAY_LISTEN_MAX 16u
#define GATEWAY_PORT "8043"

struct options {
	const char *listen[GATEWAY_LISTEN_MAX];
	unsigned nlisten;	/* 0: loopback */
	const char *cert;	/* TLS; NULL: without */
	const char *key;
	const char *users;	/* NULL: none */
	const char *tokens;	/* NULL: none */
	bool no_auth;
	const char *socket;	/* the daemon's */
	const char *subnet;	/* NULL: the only one */
	const char *user;	/* to become; NULL: stay */
	const char *log;	/* "journal", "stderr", a file */
	int level;		/* enum log_level */
	unsigned connections;	/* at a time */
	unsigned requests;	/* at a time */
	monotime patience;	/* with the daemon */
	monotime receive;	/* for a whole request to come */
};

/* -1: go on; or the exit status to end with, all said. */
int
options_parse(struct options *o, int argc, char **argv);

#endif
