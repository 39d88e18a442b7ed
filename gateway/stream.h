/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_STREAM_H
#define GATEWAY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <openssl/types.h>
#include "sm/base/error.h"

/*
 * A connection as a stream of bytes, with TLS or without. Nothing here waits.
 */
struct stream {
	int fd;			/* owned; -1: closed */
	SSL *ssl;		/* owned; NULL: without TLS */
	unsigned wanted;	/* LOOP_READ, LOOP_WRITE: what the last call that came back with
				 * STREAM_LATER waits for */
};

enum stream_outcome {
	STREAM_LATER = 0,
	STREAM_ENDED = -1,	/* the other side is done, or something failed */
};

/*
 * What TLS needs, of files in PEM: a certificate (with those that lead to its root) and its key.
 * TLS 1.2 and later. NULL and a sentence if they cannot be used. The caller frees it with
 * tls_free(); streams that are open keep what they need of it.
 */
SSL_CTX *
tls_new(const char *cert, const char *key, struct error *e);
void
tls_free(SSL_CTX *tls);		/* NULL is allowed */

/* `tls` NULL: without. The descriptor, which does not block, is the stream's from now on; false: it
 * is closed, there is no memory for TLS. */
bool
stream_open(struct stream *s, int fd, SSL_CTX *tls);
/* Bytes read or written, 1 or more, or enum stream_outcome. */
int
stream_read(struct stream *s, void *data, size_t size);
int
stream_write(struct stream *s, const void *data, size_t len);
/* Nothing more is written; what the other side sends may still be read. */
void
stream_finish(struct stream *s);
void
stream_close(struct stream *s);

#endif
