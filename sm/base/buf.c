/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * A growing byte buffer. The bytes belong to the buffer, the buffer to its user.
 *
 * Consuming only moves `data` on: a long answer that leaves through a socket piece by piece would
 * otherwise be copied once a piece. The space in front is taken back when room is needed, and the
 * block grows when less than a quarter of it would be free then, so that each byte is moved a
 * bounded number of times.
 */
#define SIZE_MIN 64u

static void
reserve(struct buf *b, size_t extra)
{
	char *base = b->data ? b->data - b->head : NULL;
	size_t total = b->size + b->head;
	size_t need;

	if (b->size > b->len && b->size - b->len - 1 >= extra)
		return;
	if (__builtin_add_overflow(b->len + 1, extra, &need))
		need = SIZE_MAX;
	if (b->head)
		memmove(base, b->data, b->len + 1);
	if (need > total / 4 * 3) {
		total = total < SIZE_MIN ? SIZE_MIN : total;
		while (total < need)
			total = total > SIZE_MAX / 2 ? need : total * 2;
		base = mem_realloc(base, total, 1);
	}
	b->data = base;
	b->size = total;
	b->head = 0;
}

void
buf_add(struct buf *b, const void *data, size_t len)
{
	reserve(b, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

/* Most texts fit into what is free already; only the others are formatted twice. */
void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	int len;

	reserve(b, 32);
	va_start(args, fmt);
	len = vsnprintf(b->data + b->len, b->size - b->len, fmt, args);
	va_end(args);
	if (len < 0) {
		b->data[b->len] = '\0';
		return;
	}
	if ((size_t)len >= b->size - b->len) {
		reserve(b, (size_t)len);
		va_start(args, fmt);
		vsnprintf(b->data + b->len, b->size - b->len, fmt, args);
		va_end(args);
	}
	b->len += (size_t)len;
}

void
buf_consume(struct buf *b, size_t len)
{
	if (len >= b->len) {
		buf_clear(b);
		return;
	}
	b->data += len;
	b->head += len;
	b->len -= len;
	b->size -= len;
}

void
buf_clear(struct buf *b)
{
	if (!b->data)
		return;
	b->data -= b->head;
	b->size += b->head;
	b->head = 0;
	b->len = 0;
	b->data[0] = '\0';
}

void
buf_free(struct buf *b)
{
	if (b->data)
		mem_free(b->data - b->head);
	*b = (struct buf){ 0 };
}
