/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Hash map from a 64-bit key (a GUID, say) to a 32-bit index. Open addressing, power-of-two size,
 * mixed keys (GUIDs of one vendor differ in few bits). Any key is allowed; the value MAP_NONE is
 * reserved. Zero-initialise; map_free() frees. Iteration order is unspecified.
 */
#define MAP_NONE UINT32_MAX

struct map {
	uint64_t *keys;		/* size slots */
	uint32_t *values;	/* size slots, MAP_NONE = empty */
	size_t len;		/* keys held */
	size_t size;		/* slots, 0 or a power of two */
};

uint32_t
map_get(const struct map *m, uint64_t key);	/* MAP_NONE if absent */
void
map_set(struct map *m, uint64_t key, uint32_t value);
void
map_remove(struct map *m, uint64_t key);
void
map_clear(struct map *m);
void
map_free(struct map *m);

/* A text as a key. Two texts may have one key: who finds something compares. */
uint64_t
map_text(const char *s, size_t len);

#endif
