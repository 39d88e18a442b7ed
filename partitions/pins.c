/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/selected.h"

#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Pins: what names were found to mean when an administrator applied them. A flat list, and an index
 * by the hash of the key; two keys of one hash are told apart by a chain.
 */
struct pin {
	char *key;		/* owned */
	uint64_t *guids;	/* owned, never NULL */
	uint32_t len;		/* GUIDs */
	uint32_t next;		/* another of the same hash; MAP_NONE */
	bool used;		/* since pins_note() */
};

struct pins {
	struct pin *list;	/* in order of being made */
	uint32_t len;		/* pins */
	struct map by_key;	/* hash of the key -> the newest of it */
};

struct pins *
pins_new(void)
{
	return mem_zalloc(sizeof(struct pins));
}

void
pins_free(struct pins *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->len; i++) {
		mem_free(p->list[i].key);
		mem_free(p->list[i].guids);
	}
	mem_free(p->list);
	map_free(&p->by_key);
	mem_free(p);
}

static struct pin *
find(const struct pins *p, const char *key)
{
	uint32_t i = map_get(&p->by_key, map_text(key, strlen(key)));

	while (i != MAP_NONE && strcmp(p->list[i].key, key))
		i = p->list[i].next;
	return i == MAP_NONE ? NULL : &p->list[i];
}

const uint64_t *
pins_get(const struct pins *p, const char *key, uint32_t *len)
{
	struct pin *pin = find(p, key);

	*len = pin ? pin->len : 0;
	if (pin)
		pin->used = true;
	return pin ? pin->guids : NULL;
}

static struct pin *
add(struct pins *p, const char *key)
{
	uint64_t hash = map_text(key, strlen(key));
	struct pin *pin;

	p->list = mem_realloc(p->list, p->len + 1u, sizeof(*p->list));
	pin = &p->list[p->len];
	*pin = (struct pin){ .key = mem_strdup(key), .next = map_get(&p->by_key, hash) };
	map_set(&p->by_key, hash, p->len++);
	return pin;
}

void
pins_set(struct pins *p, const char *key, const uint64_t *guids, uint32_t len)
{
	struct pin *pin = find(p, key);

	if (!pin)
		pin = add(p, key);
	mem_free(pin->guids);
	pin->guids = mem_array(len + 1u, sizeof(*guids));
	if (len)
		memcpy(pin->guids, guids, len * sizeof(*guids));
	pin->len = len;
	pin->used = true;
}

struct pins *
pins_copy(const struct pins *p)
{
	struct pins *copy = pins_new();

	for (uint32_t i = 0; i < p->len; i++)
		pins_set(copy, p->list[i].key, p->list[i].guids, p->list[i].len);
	return copy;
}

void
pins_each(const struct pins *p, pins_fn fn, void *arg)
{
	for (uint32_t i = 0; i < p->len; i++)
		fn(arg, p->list[i].key, p->list[i].guids, p->list[i].len);
}

void
pins_note(struct pins *p)
{
	for (uint32_t i = 0; i < p->len; i++)
		p->list[i].used = false;
}

void
pins_forget_others(struct pins *p)
{
	struct pins *kept = pins_new(), old = *p;

	for (uint32_t i = 0; i < old.len; i++)
		if (old.list[i].used)
			pins_set(kept, old.list[i].key, old.list[i].guids, old.list[i].len);
	*p = *kept;
	*kept = old;
	pins_free(kept);
}
