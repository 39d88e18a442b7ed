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

bool
plan_pkeys_equal(const struct plan_pkeys *a, const struct plan_pkeys *b)
{
	return a->nports == b->nports && a->ntables == b->ntables && a->nkeys == b->nkeys &&
	       !memcmp(a->table, b->table, a->nports * sizeof(*a->table)) &&
	       !memcmp(a->enforce, b->enforce, a->nports) &&
	       (!a->ntables || !memcmp(a->tables, b->tables, a->ntables * sizeof(*a->tables))) &&
	       (!a->nkeys || !memcmp(a->keys, b->keys, a->nkeys * sizeof(*a->keys)));
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
