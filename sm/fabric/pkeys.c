/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/pkeys.h"

#include <string.h>
#include "sm/base/mem.h"

struct plan_pkeys *
plan_pkeys_ref(struct plan_pkeys *p)
{
	if (p)
		__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

void
plan_pkeys_unref(struct plan_pkeys *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(p->table);
	mem_free(p->enforce);
	mem_free(p->tables);
	mem_free(p->keys);
	mem_free(p);
}

static bool
same_table(const struct plan_pkeys *a, uint32_t x, const struct plan_pkeys *b, uint32_t y)
{
	const struct pkey_table *s, *t;

	if (x == PKEYS_NONE || y == PKEYS_NONE)
		return x == y;
	s = &a->tables[x];
	t = &b->tables[y];
	return s->len == t->len &&
	       (!s->len || !memcmp(a->keys + s->first, b->keys + t->first,
				   s->len * sizeof(*a->keys)));
}

/* Thousands of ports have the same two tables: two that were found to be one are remembered. */
uint32_t *
plan_pkeys_differ(const struct plan_pkeys *a, const struct plan_pkeys *b, uint32_t *len)
{
	uint32_t *same = mem_array(a->ntables + 1u, sizeof(*same)), *list = NULL;
	uint32_t size = 0;

	*len = 0;
	for (uint32_t port = 0; port < a->nports; port++) {
		uint32_t x = a->table[port], y = b->table[port];

		if (a->enforce[port] == b->enforce[port]) {
			if (x != PKEYS_NONE && y != PKEYS_NONE && same[x] == y + 1)
				continue;
			if (same_table(a, x, b, y)) {
				if (x != PKEYS_NONE)
					same[x] = y + 1;
				continue;
			}
		}
		if (*len == size) {
			size = size ? 2 * size : 64;
			list = mem_realloc(list, size, sizeof(*list));
		}
		list[(*len)++] = port;
	}
	mem_free(same);
	return list;
}

uint16_t
plan_pkeys_find(const struct plan_pkeys *p, uint32_t port, uint16_t pkey)
{
	uint32_t t = p->table[port];
	uint16_t found = 0;

	if (t == PKEYS_NONE || !(pkey & PKEY_NUMBER))
		return 0;
	for (uint32_t i = 0; i < p->tables[t].len && !(found & PKEY_FULL); i++) {
		uint16_t key = p->keys[p->tables[t].first + i];

		if (!((key ^ pkey) & PKEY_NUMBER))
			found = key;
	}
	return found;
}
