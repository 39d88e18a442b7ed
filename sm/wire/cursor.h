/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A cursor reads or writes big-endian wire bytes in a straight line, with bounds checks and a
 * sticky error: past the end every read gives 0, every write is dropped, and `bad` stays set.
 * Check cursor_ok() once at the end. Bit fields of up to 32 bits go through cursor_bits(), most
 * significant bit first, and must end on a byte border before a byte-wide access.
 *
 * The first bit written into a byte clears the rest of that byte, so a writer needs no cleared
 * buffer. All is inline: where the buffer's size is a constant, as in the attribute codecs, the
 * compiler proves the bounds checks away.
 */
struct cursor {
	uint8_t *data;		/* borrowed; written only by the writers */
	size_t size;		/* bytes at data */
	size_t bit;		/* position in bits, never past size * 8 */
	bool bad;		/* an access crossed the end or was misaligned */
};

#define CURSOR_INLINE static inline __attribute__((always_inline))

CURSOR_INLINE void
cursor_write(struct cursor *c, uint8_t *data, size_t size)
{
	*c = (struct cursor){ .data = data, .size = size };
}

CURSOR_INLINE void
cursor_read(struct cursor *c, const uint8_t *data, size_t size)
{
	cursor_write(c, (uint8_t *)data, size);
}

CURSOR_INLINE bool
cursor_ok(const struct cursor *c)
{
	return !c->bad;
}

/* Step over n whole bytes: where they start, or NULL and `bad` set. */
CURSOR_INLINE uint8_t *
cursor_take(struct cursor *c, size_t n)
{
	size_t at = c->bit / 8;

	if (c->bad || c->bit % 8 || n > c->size - at) {
		c->bad = true;
		return NULL;
	}
	c->bit += n * 8;
	return c->data + at;
}

CURSOR_INLINE uint8_t
cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 1);

	return p ? *p : 0;
}

CURSOR_INLINE uint16_t
cursor_u16(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 2);

	if (!p)
		return 0;
	return (uint16_t)(p[0] << 8 | p[1]);
}

CURSOR_INLINE uint32_t
cursor_u24(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 3);

	return p ? (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2] : 0;
}

CURSOR_INLINE uint32_t
cursor_u32(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 4);

	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

CURSOR_INLINE uint64_t
cursor_u64(struct cursor *c)
{
	const uint8_t *p = cursor_take(c, 8);

	if (!p)
		return 0;
	return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
	    (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
	    (uint64_t)p[6] << 8 | p[7];
}

/* The general case of cursor_bits() and cursor_put_bits(): fields across byte borders, errors. */
uint32_t
cursor_bits_slow(struct cursor *c, unsigned n);
void
cursor_put_bits_slow(struct cursor *c, unsigned n, uint32_t v);

CURSOR_INLINE uint32_t
cursor_bits(struct cursor *c, unsigned n)
{
	size_t at = c->bit / 8;
	unsigned used = (unsigned)(c->bit % 8);

	if (c->bad || used + n > 8 || at >= c->size)
		return cursor_bits_slow(c, n);
	c->bit += n;
	return (uint32_t)c->data[at] >> (8 - used - n) & ((1u << n) - 1);
}

/* A field of at most 8 bits. */
CURSOR_INLINE uint8_t
cursor_bits8(struct cursor *c, unsigned n)
{
	return (uint8_t)cursor_bits(c, n);
}

CURSOR_INLINE bool
cursor_flag(struct cursor *c)
{
	return cursor_bits(c, 1) != 0;
}

/* Past the end `to` becomes n zeros. */
CURSOR_INLINE void
cursor_bytes(struct cursor *c, void *to, size_t n)
{
	const uint8_t *p = cursor_take(c, n);

	if (p)
		memcpy(to, p, n);
	else
		memset(to, 0, n);
}

CURSOR_INLINE void
cursor_skip(struct cursor *c, size_t bytes)
{
	cursor_take(c, bytes);
}

CURSOR_INLINE void
cursor_put_u8(struct cursor *c, uint8_t v)
{
	uint8_t *p = cursor_take(c, 1);

	if (p)
		*p = v;
}

CURSOR_INLINE void
cursor_put_u16(struct cursor *c, uint16_t v)
{
	uint8_t *p = cursor_take(c, 2);

	if (!p)
		return;
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

CURSOR_INLINE void
cursor_put_u24(struct cursor *c, uint32_t v)
{
	uint8_t *p = cursor_take(c, 3);

	if (!p)
		return;
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

CURSOR_INLINE void
cursor_put_u32(struct cursor *c, uint32_t v)
{
	uint8_t *p = cursor_take(c, 4);

	if (!p)
		return;
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

CURSOR_INLINE void
cursor_put_u64(struct cursor *c, uint64_t v)
{
	uint8_t *p = cursor_take(c, 8);

	if (!p)
		return;
	p[0] = (uint8_t)(v >> 56);
	p[1] = (uint8_t)(v >> 48);
	p[2] = (uint8_t)(v >> 40);
	p[3] = (uint8_t)(v >> 32);
	p[4] = (uint8_t)(v >> 24);
	p[5] = (uint8_t)(v >> 16);
	p[6] = (uint8_t)(v >> 8);
	p[7] = (uint8_t)v;
}

/* The low n bits of v; what is above them is dropped. */
CURSOR_INLINE void
cursor_put_bits(struct cursor *c, unsigned n, uint32_t v)
{
	size_t at = c->bit / 8;
	unsigned used = (unsigned)(c->bit % 8);
	uint8_t bits;

	if (c->bad || used + n > 8 || at >= c->size) {
		cursor_put_bits_slow(c, n, v);
		return;
	}
	bits = (uint8_t)((v & ((1u << n) - 1)) << (8 - used - n));
	c->data[at] = used ? (uint8_t)(c->data[at] | bits) : bits;
	c->bit += n;
}

CURSOR_INLINE void
cursor_put_bytes(struct cursor *c, const void *from, size_t n)
{
	uint8_t *p = cursor_take(c, n);

	if (p)
		memcpy(p, from, n);
}

CURSOR_INLINE void
cursor_put_zero(struct cursor *c, size_t bytes)
{
	uint8_t *p = cursor_take(c, bytes);

	if (p)
		memset(p, 0, bytes);
}

#endif
