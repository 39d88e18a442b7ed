/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_TRIAL_H
#define OFFLINE_TRIAL_H

#include "sm/fabric/fabric.h"

/*
 * Fabrics that engines are tried with (`weft plugin test`): those that people forget, and small
 * ones of the usual kinds, each the same whenever it is made.
 */
struct trial {
	const char *name;		/* "empty", "49151-lids" */
	const char *what;		/* one line for people */
	/* Variant 0 .. variants - 1 of the fabric; the caller unrefs it. */
	struct fabric *(*make)(unsigned variant);
	unsigned variants;		/* at least one */
	unsigned lmc;			/* of host ports */
	bool silent;			/* its first switch does not answer */
	bool follow;			/* each variant comes after the one before: one cable is
					 * lost, or back */
};

extern const struct trial trials[];	/* ends with a NULL name */

#endif
