/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/cursor.h"

/*
 * The part of the cursor that is not worth inlining: bit fields that cross a byte border, and the
 * error cases of all bit fields. No attribute of IBA volume 1 chapter 14 takes this path while its
 * codec is right. A field is put together a byte's share at a time, most significant share first.
 *
 * A used-up byte never comes back, so "the first bit of a byte clears it" is all the state that a
 * writer needs; a field of no bits touches nothing, at the end of the data too.
 */

/* May n bits be read or written here? If not, the cursor is bad from now on. */
static bool
room(struct cursor *c, unsigned n)
{
	if (c->bad || n > 32 || n > c->size * 8 - c->bit)
		c->bad = true;
	return !c->bad;
}

/* How many of the next n bits lie in the present byte. */
static unsigned
share(const struct cursor *c, unsigned n)
{
	unsigned left = 8 - (unsigned)(c->bit % 8);

	return n < left ? n : left;
}

uint32_t
cursor_bits_slow(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (!room(c, n))
		return 0;
	while (n) {
		unsigned some = share(c, n);
		unsigned shift = 8 - (unsigned)(c->bit % 8) - some;

		v = v << some | (c->data[c->bit / 8] >> shift & ((1u << some) - 1));
		c->bit += some;
		n -= some;
	}
	return (uint32_t)v;
}

void
cursor_put_bits_slow(struct cursor *c, unsigned n, uint32_t v)
{
	if (!room(c, n))
		return;
	while (n) {
		unsigned some = share(c, n);
		unsigned shift = 8 - (unsigned)(c->bit % 8) - some;
		uint8_t *to = &c->data[c->bit / 8];
		uint8_t bits = (uint8_t)((v >> (n - some) & ((1u << some) - 1)) << shift);

		*to = c->bit % 8 ? (uint8_t)(*to | bits) : bits;
		c->bit += some;
		n -= some;
	}
}
