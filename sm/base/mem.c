/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Checked allocation and regions.
 *
 * A region is a chain of chunks, newest first, each handed out from its front. Chunks double up
 * to CHUNK_MAX, so that a small region is one page and a large fabric takes few system calls; what
 * would fill much of a chunk gets one of its own, behind the newest, whose rest stays in use.
 * Chunks come from calloc(), whose large blocks are untouched zero pages.
 */
#define CHUNK_MIN 4096u
#define CHUNK_MAX (1024u * 1024u)
#define ALIGN 16u

struct chunk {
	struct chunk *next;	/* the one filled before */
	size_t size;		/* bytes of payload */
	size_t used;		/* bytes of payload handed out */
	alignas(ALIGN) unsigned char data[];	/* the payload */
};

struct region {
	struct chunk *chunks;	/* the one being filled first */
	size_t next_size;	/* payload of the chunk to come */
	size_t held;		/* bytes held from the system */
};

/* _exit(): another thread may hold any lock that an exit handler would want. */
static _Noreturn void
out_of_memory(size_t size)
{
	dprintf(STDERR_FILENO, "weft: out of memory: %zu bytes could not be had\n", size);
	_exit(1);
}

static size_t
product(size_t len, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(len, size, &bytes))
		out_of_memory(SIZE_MAX);
	return bytes;
}

void *
mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *
mem_zalloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *
mem_array(size_t len, size_t size)
{
	return mem_zalloc(product(len, size));
}

void *
mem_realloc(void *p, size_t len, size_t size)
{
	size_t bytes = product(len, size);
	void *q = realloc(p, bytes ? bytes : 1);

	if (!q)
		out_of_memory(bytes);
	return q;
}

char *
mem_strdup(const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(mem_alloc(size), s, size);
}

void
mem_free(void *p)
{
	free(p);
}

struct region *
region_new(void)
{
	struct region *r = mem_zalloc(sizeof(*r));

	r->next_size = CHUNK_MIN - sizeof(struct chunk);
	r->held = sizeof(*r);
	return r;
}

static struct chunk *
chunk_new(struct region *r, size_t size)
{
	struct chunk *c;

	if (size > SIZE_MAX - sizeof(*c))
		out_of_memory(size);
	c = mem_zalloc(sizeof(*c) + size);
	c->size = size;
	r->held += sizeof(*c) + size;
	return c;
}

/* A chunk with room for `size` bytes; it becomes the newest unless `size` wants one for itself. */
static struct chunk *
chunk_for(struct region *r, size_t size)
{
	struct chunk *c;

	if (r->chunks && size > r->next_size / 4) {
		c = chunk_new(r, size);
		c->next = r->chunks->next;
		r->chunks->next = c;
		return c;
	}
	c = chunk_new(r, size > r->next_size ? size : r->next_size);
	c->next = r->chunks;
	r->chunks = c;
	if (r->next_size < CHUNK_MAX - sizeof(*c))
		r->next_size = (r->next_size + sizeof(*c)) * 2 - sizeof(*c);
	return c;
}

void *
region_alloc(struct region *r, size_t size)
{
	struct chunk *c = r->chunks;
	void *p;

	if (size > SIZE_MAX - ALIGN)
		out_of_memory(size);
	size = size ? (size + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	if (!c || c->size - c->used < size)
		c = chunk_for(r, size);
	p = c->data + c->used;
	c->used += size;
	return p;
}

void *
region_array(struct region *r, size_t len, size_t size)
{
	return region_alloc(r, product(len, size));
}

char *
region_strdup(struct region *r, const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(region_alloc(r, size), s, size);
}

char *
region_printf(struct region *r, const char *fmt, ...)
{
	va_list args;
	int len;
	char *s;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return region_strdup(r, "");
	s = region_alloc(r, (size_t)len + 1);
	va_start(args, fmt);
	vsnprintf(s, (size_t)len + 1, fmt, args);
	va_end(args);
	return s;
}

size_t
region_size(const struct region *r)
{
	return r->held;
}

void
region_free(struct region *r)
{
	if (!r)
		return;
	for (struct chunk *c = r->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(r);
}
