/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_MEMORY_H
#define PLUGINS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/error.h"

/*
 * Memory that a process of a plugin is given, or fills. It is a descriptor without a name anywhere,
 * of a size that nobody can change.
 */
struct memory {
	int fd;			/* -1: none */
	uint8_t *at;		/* mapped here; NULL: it is not */
	size_t size;
};

#define MEMORY_NONE ((struct memory){ .fd = -1 })

/* Of zeros, mapped to be written. `code`: it may be executed by who gets it. */
int
memory_new(struct memory *m, const char *name, size_t size, bool code, struct error *e);
/* No longer mapped here; nobody can write it any more. ERR_BUSY: somebody still can. */
int
memory_seal(struct memory *m, struct error *e);
/* No longer mapped here, to be filled by another. */
void
memory_leave(struct memory *m);
/* Map what is sealed, to be read. */
int
memory_look(struct memory *m, struct error *e);
/* Copy from memory that is not mapped: where it is looked at once, that costs less. Bytes that are
 * not there are 0. */
void
memory_read(const struct memory *m, void *to, size_t size, uint64_t offset);
void
memory_free(struct memory *m);

#endif
