/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

/*
 * A growing byte buffer, always NUL-terminated behind `len`. Zero-initialise; buf_free() frees.
 * Unless buf_consume() was used, `data` may be taken away instead, and freed with mem_free().
 */
struct buf {
	char *data;		/* NULL while empty */
	size_t len;		/* bytes used, without the NUL */
	size_t size;		/* bytes allocated, from `data` on */
	size_t head;		/* bytes consumed before `data`, which the next growth takes back */
};

void
buf_add(struct buf *b, const void *data, size_t len);
void
buf_char(struct buf *b, char c);
void
buf_str(struct buf *b, const char *s);
void
buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void
buf_consume(struct buf *b, size_t len);	/* drop the first len bytes */
void
buf_clear(struct buf *b);		/* len = 0, memory kept */
void
buf_free(struct buf *b);

#endif
