/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/intern.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * Places in a growing array, each with its count of holders. What has one hash is chained from the
 * map; free places are chained too.
 */
void
intern_init(struct intern *t, size_t size)
{
	*t = (struct intern){ .size = size, .len = 1 };
}

void
intern_free(struct intern *t)
{
	mem_free(t->values);
	mem_free(t->refs);
	mem_free(t->next);
	map_free(&t->by_hash);
	intern_init(t, t->size);
}

static uint64_t
hash_of(const struct intern *t, const void *value)
{
	return map_text(value, t->size);
}

static uint32_t
free_place(struct intern *t)
{
	uint32_t n = t->unused;

	if (n != INTERN_NONE) {
		t->unused = t->next[n];
		return n;
	}
	if (t->len >= t->room) {
		t->room = t->room ? t->room * 2 : 16;
		t->values = mem_realloc(t->values, t->room, t->size);
		t->refs = mem_realloc(t->refs, t->room, sizeof(*t->refs));
		t->next = mem_realloc(t->next, t->room, sizeof(*t->next));
	}
	return t->len++;
}

uint32_t
intern_take(struct intern *t, const void *value)
{
	uint64_t hash = hash_of(t, value);
	uint32_t first = map_get(&t->by_hash, hash), n;

	first = first == MAP_NONE ? INTERN_NONE : first;
	for (n = first; n != INTERN_NONE; n = t->next[n]) {
		if (memcmp(intern_at(t, n), value, t->size))
			continue;
		t->refs[n]++;
		return n;
	}
	n = free_place(t);
	memcpy(t->values + n * t->size, value, t->size);
	t->refs[n] = 1;
	t->next[n] = first;
	map_set(&t->by_hash, hash, n);
	return n;
}

uint32_t
intern_share(struct intern *t, uint32_t n)
{
	if (n != INTERN_NONE)
		t->refs[n]++;
	return n;
}

/* Out of the chain of its hash. */
static void
unchain(struct intern *t, uint32_t n)
{
	uint64_t hash = hash_of(t, intern_at(t, n));
	uint32_t at = map_get(&t->by_hash, hash);

	if (at != n) {
		while (t->next[at] != n)
			at = t->next[at];
		t->next[at] = t->next[n];
	} else if (t->next[n] != INTERN_NONE) {
		map_set(&t->by_hash, hash, t->next[n]);
	} else {
		map_remove(&t->by_hash, hash);
	}
}

void
intern_drop(struct intern *t, uint32_t n)
{
	if (n == INTERN_NONE || --t->refs[n])
		return;
	unchain(t, n);
	t->next[n] = t->unused;
	t->unused = n;
}
