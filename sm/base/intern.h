/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include "sm/base/map.h"

/*
 * Values of one size that many hold and of which few differ: each is kept once, and its holders
 * have a number instead. A value goes when its last holder has dropped it. INTERN_NONE is no value.
 */
#define INTERN_NONE 0u

struct intern {
	size_t size;		/* bytes of a value */
	uint8_t *values;	/* room for `room` of them; that of INTERN_NONE is unused */
	uint32_t *refs;		/* holders of each; 0: its place is free */
	uint32_t *next;		/* another of the same hash, or the next free place */
	struct map by_hash;	/* hash -> the first value that has it */
	uint32_t len;		/* places used so far */
	uint32_t room;		/* places allocated */
	uint32_t unused;	/* first free place; INTERN_NONE: none below len */
};

void
intern_init(struct intern *t, size_t size);
void
intern_free(struct intern *t);
/* The number of a value of t->size bytes, for one holder more. */
uint32_t
intern_take(struct intern *t, const void *value);
/* One holder more of what has a number already; INTERN_NONE is allowed. */
uint32_t
intern_share(struct intern *t, uint32_t n);
/* One holder less; INTERN_NONE is allowed. */
void
intern_drop(struct intern *t, uint32_t n);
/* The value, valid until the next intern_take(). Not for INTERN_NONE. */
static inline const uint8_t *
intern_at(const struct intern *t, uint32_t n)
{
	return t->values + n * t->size;
}

#endif
