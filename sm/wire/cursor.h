/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A cursor reads or writes big-endian wire bytes in a straight line, with bounds checks and a
 * sticky error: past the end every read gives 0, every write is dropped, and `bad` stays set.
 * Check cursor_ok() once at the end. Bit fields of up to 32 bits go through cursor_bits(), most
 * significant bit first, and must end on a byte border before a byte-wide access.
 */
struct cursor {
	uint8_t *data;		/* borrowed; written only by the writers */
	size_t size;		/* bytes at data */
	size_t bit;		/* position in bits */
	bool bad;		/* an access crossed the end or was misaligned */
};

void
cursor_read(struct cursor *c, const uint8_t *data, size_t size);
void
cursor_write(struct cursor *c, uint8_t *data, size_t size);
bool
cursor_ok(const struct cursor *c);
uint8_t
cursor_u8(struct cursor *c);
uint16_t
cursor_u16(struct cursor *c);
uint32_t
cursor_u24(struct cursor *c);
uint32_t
cursor_u32(struct cursor *c);
uint64_t
cursor_u64(struct cursor *c);
uint32_t
cursor_bits(struct cursor *c, unsigned n);
void
cursor_bytes(struct cursor *c, void *to, size_t n);
void
cursor_skip(struct cursor *c, size_t bytes);
void
cursor_put_u8(struct cursor *c, uint8_t v);
void
cursor_put_u16(struct cursor *c, uint16_t v);
void
cursor_put_u24(struct cursor *c, uint32_t v);
void
cursor_put_u32(struct cursor *c, uint32_t v);
void
cursor_put_u64(struct cursor *c, uint64_t v);
void
cursor_put_bits(struct cursor *c, unsigned n, uint32_t v);
void
cursor_put_bytes(struct cursor *c, const void *from, size_t n);
void
cursor_put_zero(struct cursor *c, size_t bytes);

#endif
