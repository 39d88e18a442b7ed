/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/map.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Hash map from GUIDs, or any 64-bit keys, to indices: linear probing over two flat arrays that
 * belong to the map. A removal shifts the rest of its run back, so there are no tombstones and
 * a map that lives for months probes no longer than a fresh one.
 */
#define SIZE_MIN 16u

/* Spreads keys that differ in few bits over all of them: xor-shifts and odd multipliers. */
static uint64_t
mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

static size_t
home_of(const struct map *m, uint64_t key)
{
	return (size_t)mix(key) & (m->size - 1);
}

/* The slot that holds `key`, or the empty one where it belongs; the map has an empty slot. */
static size_t
find(const struct map *m, uint64_t key)
{
	size_t i = home_of(m, key);

	while (m->values[i] != MAP_NONE && m->keys[i] != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

static void
empty_all(struct map *m)
{
	if (m->size)	/* all ones is MAP_NONE */
		memset(m->values, 0xff, m->size * sizeof(m->values[0]));
	m->len = 0;
}

static void
resize(struct map *m, size_t size)
{
	struct map old = *m;

	m->keys = mem_array(size, sizeof(m->keys[0]));
	m->values = mem_array(size, sizeof(m->values[0]));
	m->size = size;
	empty_all(m);
	for (size_t i = 0; i < old.size; i++) {
		if (old.values[i] != MAP_NONE)
			map_set(m, old.keys[i], old.values[i]);
	}
	map_free(&old);
}

uint32_t
map_get(const struct map *m, uint64_t key)
{
	return m->len ? m->values[find(m, key)] : MAP_NONE;
}

void
map_set(struct map *m, uint64_t key, uint32_t value)
{
	size_t i;

	assert(value != MAP_NONE);
	if ((m->len + 1) * 4 > m->size * 3)
		resize(m, m->size ? m->size * 2 : SIZE_MIN);
	i = find(m, key);
	if (m->values[i] == MAP_NONE) {
		m->keys[i] = key;
		m->len++;
	}
	m->values[i] = value;
}

/* May the key whose home is `home` move from slot `from` back to slot `to`? */
static bool
may_move(const struct map *m, size_t home, size_t from, size_t to)
{
	size_t mask = m->size - 1;

	return ((from - home) & mask) >= ((from - to) & mask);
}

void
map_remove(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->len)
		return;
	hole = find(m, key);
	if (m->values[hole] == MAP_NONE)
		return;
	for (i = (hole + 1) & (m->size - 1); m->values[i] != MAP_NONE;
	     i = (i + 1) & (m->size - 1)) {
		if (!may_move(m, home_of(m, m->keys[i]), i, hole))
			continue;
		m->keys[hole] = m->keys[i];
		m->values[hole] = m->values[i];
		hole = i;
	}
	m->values[hole] = MAP_NONE;
	m->len--;
}

void
map_clear(struct map *m)
{
	empty_all(m);
}

void
map_free(struct map *m)
{
	mem_free(m->keys);
	mem_free(m->values);
	*m = (struct map){ 0 };
}

/* FNV-1a (Fowler, Noll, Vo). */
uint64_t
map_text(const char *s, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	while (len--)
		h = (h ^ (uint8_t)*s++) * UINT64_C(0x100000001b3);
	return h;
}
