/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_SETS_H
#define ROUTING_SETS_H

#include <stdint.h>

/* Disjoint sets of numbers: set[x] leads to the least of x's set, which leads to itself. */

static inline uint32_t
sets_root(uint32_t *set, uint32_t x)
{
	while (set[x] != x)
		x = set[x] = set[set[x]];
	return x;
}

static inline void
sets_join(uint32_t *set, uint32_t a, uint32_t b)
{
	a = sets_root(set, a);
	b = sets_root(set, b);
	if (a < b)
		set[b] = a;
	else
		set[a] = b;
}

#endif
