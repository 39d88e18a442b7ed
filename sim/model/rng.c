/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/rng.h"

/*
 * The simulator's randomness: never the machine's, so that a fabric and its faults are the same
 * on every run of one seed. Sequence: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", 2014.
 */
uint64_t
rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t
rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}
