/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_ROWS_H
#define ROUTING_ROWS_H

#include "routing/links.h"
#include "sm/base/error.h"

/*
 * The shape of a HyperX (Ahn, Binkert, Davis, McLaren, Schreiber 2009): switches at the places of a
 * grid in which all that differ in one coordinate only are neighbours. A full mesh has one
 * dimension, a flattened butterfly two or more, a hypercube sides of two.
 *
 * It is found by the cabling alone, once; afterwards it is known by the GUIDs of the switches.
 */
#define ROWS_DIMS 8u

struct rows {
	uint32_t refs;			/* atomic */
	unsigned dims;			/* in use */
	uint32_t side[ROWS_DIMS];	/* places along each, the longest first */
	uint32_t n;			/* switches */
	uint64_t *guid;			/* of them, ascending */
	uint32_t *at;			/* by the same: dims coordinates */
};

/* The shape (a reference), or ERR_REFUSED and what fits none. */
int
rows_find(const struct links *l, struct rows **rows, struct error *e);
struct rows *
rows_ref(struct rows *r);
void
rows_unref(void *rows);		/* a struct rows; NULL is allowed */
/* Coordinates by switch of a snapshot, dims each; NULL: some switch or link does not fit. The
 * caller frees them. */
uint32_t *
rows_fit(const struct rows *r, const struct links *l);
/* "HyperX of 4 x 4 switches", "full mesh of 12 switches". */
#define ROWS_TEXT_SIZE 128
const char *
rows_text(char text[ROWS_TEXT_SIZE], const struct rows *r);

#endif
