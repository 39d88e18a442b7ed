/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdint.h>

/* Numbers that one seed always gives in one order (the splitmix64 sequence). Private to sim. */
struct rng {
	uint64_t state;		/* the seed, then the sequence's place */
};

uint64_t
rng_next(struct rng *r);
/* Even over 0 .. n-1; n > 0. */
uint32_t
rng_below(struct rng *r, uint32_t n);

#endif
