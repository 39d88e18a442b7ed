/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BITS_H
#define CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of port numbers 0..255. */
struct bits256 {
	uint64_t w[4];		/* bit n of word n / 64 */
};

static inline void
bits_set(struct bits256 *b, unsigned n)
{
	b->w[n >> 6] |= 1ull << (n & 63);
}

static inline void
bits_clear(struct bits256 *b, unsigned n)
{
	b->w[n >> 6] &= ~(1ull << (n & 63));
}

static inline bool
bits_has(const struct bits256 *b, unsigned n)
{
	return b->w[n >> 6] >> (n & 63) & 1;
}

static inline bool
bits_empty(const struct bits256 *b)
{
	return !(b->w[0] | b->w[1] | b->w[2] | b->w[3]);
}

/* Lowest member, or -1. */
static inline int
bits_first(const struct bits256 *b)
{
	for (int i = 0; i < 4; i++)
		if (b->w[i])
			return i * 64 + __builtin_ctzll(b->w[i]);
	return -1;
}

/* Take the lowest member out; -1 if there is none. */
static inline int
bits_pop(struct bits256 *b)
{
	int n = bits_first(b);

	if (n >= 0)
		bits_clear(b, (unsigned)n);
	return n;
}

#endif
