/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/*
 * Checked allocation. Sizes that come from the wire, a file or a socket are bounded by their
 * decoders before they get here; what is left can fail only when the machine has no memory, and
 * then the process says so in one line and exits with status 1 (a restart keeps all durable
 * state). All return non-NULL, except for size 0, where they return a pointer that may be freed.
 */
void *
mem_alloc(size_t size);
void *
mem_zalloc(size_t size);
void *
mem_array(size_t len, size_t size);	/* zeroed; multiplication is checked */
void *
mem_realloc(void *p, size_t len, size_t size);
char *
mem_strdup(const char *s);
void
mem_free(void *p);

/* A region (arena) owns a lifetime: everything taken from it goes at once. Not thread-safe. */
struct region;

struct region *
region_new(void);
void *
region_alloc(struct region *r, size_t size);	/* zeroed, aligned to 16 */
void *
region_array(struct region *r, size_t len, size_t size);	/* zeroed; product is checked */
char *
region_strdup(struct region *r, const char *s);
char *
region_printf(struct region *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t
region_size(const struct region *r);	/* bytes held from the system */
void
region_free(struct region *r);		/* NULL is allowed */

#endif
