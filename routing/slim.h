/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_SLIM_H
#define ROUTING_SLIM_H

#include "routing/links.h"

/*
 * The shape of a Slim Fly (Besta, Hoefler 2014): the 2 q q switches of a graph of McKay, Miller and
 * Siran, of which any two are neighbours or have one in common; q is a power of a prime.
 */
struct slim {
	unsigned q;			/* as above */
	uint32_t n;			/* switches that it has when whole: 2 q q */
	unsigned degree;		/* neighbours of each */
};

/* Is it one? Known by its numbers: switches, neighbours, and how few are further apart than two
 * links; some of them may be missing. */
bool
slim_find(const struct links *l, struct slim *s);

#endif
