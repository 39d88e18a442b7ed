/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_SA_HELP_H
#define TEST_SA_HELP_H

#include <stdint.h>
#include <string.h>

#include "sm/wire/sa_record.h"

/* Every type, by the list of attribute ids: sa_type_find() knows 20. */
#define SA_TYPES 20

static inline unsigned
all_types(const struct sa_type *types[SA_TYPES])
{
	unsigned n = 0;

	for (unsigned id = 0; id <= UINT16_MAX; id++)
		if (sa_type_find((uint16_t)id) && n < SA_TYPES)
			types[n++] = sa_type_find((uint16_t)id);
	return n;
}

/* Room for any record's struct, and for any record's bytes. */
union any_record {
	struct sa_class_port_info class_port_info;
	struct sa_service service;
	struct sa_port port;
	struct sa_node node;
	uint64_t align[64];
};
#define RECORD_ROOM 192

/* Marsaglia's xorshift64. */
static inline uint64_t
sa_random(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static inline void
sa_random_bytes(uint8_t *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(sa_random() >> 24);
}

/* `bits` bits of a big-endian bit string; the slow and obvious way. */
static inline uint64_t
bits_at(const uint8_t *data, unsigned at, unsigned bits)
{
	uint64_t v = 0;

	for (unsigned i = at; i < at + bits; i++)
		v = v << 1 | (data[i / 8] >> (7 - i % 8) & 1u);
	return v;
}

/* A number of 1, 2, 4 or 8 bytes in a struct. */
static inline uint64_t
number_at(const void *record, size_t offset, unsigned size)
{
	const uint8_t *p = (const uint8_t *)record + offset;

	switch (size) {
	case 1:
		return *p;
	case 2:
		return *(const uint16_t *)(const void *)p;
	case 4:
		return *(const uint32_t *)(const void *)p;
	}
	return *(const uint64_t *)(const void *)p;
}

static inline const struct sa_component *
component(const struct sa_type *t, const char *name)
{
	for (unsigned i = 0; i < t->len; i++)
		if (!strcmp(t->components[i].name, name))
			return &t->components[i];
	return NULL;
}

#endif
