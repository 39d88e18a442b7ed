/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_SERVER_H
#define GATEWAY_SERVER_H

#include <openssl/types.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "gateway/http.h"
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/error.h"
#include "sm/base/loop.h"

/*
 * The HTTP server: listening sockets, connections, one request of each at a time. Every limit of
 * what strangers can cost is here: how many connections and requests, how large and how slow.
 * Whatever is refused, here or by the handler, is answered by one JSON object with "error".
 */
struct server;
struct exchange;

struct server_limits {
	unsigned connections;	/* open at a time */
	unsigned requests;	/* with the handler at a time */
	size_t body;		/* bytes of a request's body */
	monotime receive;	/* for a whole request, from its first byte; and for TLS to begin */
	monotime idle;		/* between requests */
	monotime send;		/* without progress of an answer */
};

/* A whole request. The handler answers it now or later, exactly once. */
struct exchange {
	struct http_head head;
	struct buf body;	/* as it was received */
	char from[64];		/* address and port of the client */
	const char *user;	/* borrowed, for the log: the handler sets it; NULL */
	monotime began;		/* when it was received whole */
};

typedef void (*server_handler)(void *arg, struct exchange *x);

/*
 * `limits` is copied, the loop borrowed. `tls` NULL: without; else a reference is taken.
 * server_free() drops what is under way: no exchange may be answered after it.
 */
struct server *
server_new(struct loop *l, const struct server_limits *limits, server_handler handler, void *arg);
void
server_free(struct server *s);		/* NULL is allowed */
void
server_set_tls(struct server *s, SSL_CTX *tls);
/* ERR_IO and a sentence, if it cannot be. */
int
server_listen(struct server *s, const struct sockaddr *address, socklen_t size, struct error *e);
/* No more connections and requests; done(arg) once when all that is under way has been answered
 * and sent. */
void
server_finish(struct server *s, loop_fn done, void *arg);

/* Answer with `status` and a JSON body, which is taken; the exchange is gone then. `more`: further
 * header lines, each with its end, or "". */
void
exchange_answer(struct exchange *x, int status, struct buf *body, const char *more);
/* {"error": sentence, "status": status} */
void
exchange_refuse(struct exchange *x, int status, const char *more, const char *sentence);
/* Likewise, and the connection ends: a stranger gets one short answer of each, which needs nobody
 * to read it, and so holds no place. */
void
exchange_dismiss(struct exchange *x, int status, const char *more, const char *sentence);

#endif
