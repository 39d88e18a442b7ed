/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/error.h"

/*
 * HTTP/1.1 as far as a gateway of short JSON messages needs it (RFC 9112): the head of a request,
 * from bytes to a plain struct, and the head of an answer. It knows no sockets.
 */
#define HTTP_HEAD_MAX 8192u	/* bytes of a request's head, its empty line included */
#define HTTP_HEADERS_MAX 64u
#define HTTP_PATH_MAX 512u
#define HTTP_WORD_MAX 1024u	/* of Authorization */

struct http_head {
	char method[16];
	char path[HTTP_PATH_MAX];	/* of the target, its %XX decoded */
	char query[HTTP_PATH_MAX];	/* what follows the "?", as it was sent; "" */
	char authorization[HTTP_WORD_MAX];	/* "" */
	uint64_t body_size;		/* Content-Length; 0 */
	bool keep_alive;		/* the client may send another request */
	bool expect_continue;		/* it waits to be told to send the body */
};

enum http_progress {
	HTTP_PARTIAL = 0,	/* there is more to come */
	HTTP_WHOLE = 1,
};

/*
 * The head at the front of `data`. Returns HTTP_WHOLE with *used bytes, HTTP_PARTIAL, or the status
 * (400 .. 505) with which to refuse it, and a sentence: what follows cannot be understood then.
 */
int
http_head_parse(const char *data, size_t len, struct http_head *h, size_t *used, struct error *e);

/* "Not Found"; never NULL. */
const char *
http_status_text(int status);

/* Whether the query has a parameter `name` whose value is "true". */
bool
http_query_true(const char *query, const char *name);

/* The head of an answer with `len` bytes of JSON. `more` is "" or further header lines, each with
 * its end. `wall` is microseconds since 1970. */
void
http_answer_head(struct buf *out, int status, size_t len, bool keep_alive, const char *more,
		 int64_t wall);

#endif
