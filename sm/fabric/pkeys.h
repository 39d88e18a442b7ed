/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PKEYS_H
#define FABRIC_PKEYS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/fabric.h"

/*
 * Section of a plan: the P_Key table of each port (IBA volume 1, 10.9 and 14.2.5.7), and where
 * switches enforce it. Thousands of ports have the same table, which is kept once.
 */
#define PKEYS_NONE UINT32_MAX
#define PKEY_FULL 0x8000u	/* bit of a key: full membership */
#define PKEY_NUMBER 0x7fffu	/* the rest: which partition */
#define PKEY_DEFAULT 0x7fffu	/* number of the default partition */

enum pkeys_enforce {
	PKEYS_ENFORCE_IN = 1,	/* PartitionEnforcementInbound */
	PKEYS_ENFORCE_OUT = 2,	/* PartitionEnforcementOutbound */
};

struct pkey_table {
	uint32_t first;		/* place in keys[] */
	uint32_t len;		/* keys, holes (0) included; the last is none */
};

struct plan_pkeys {
	uint32_t refs;			/* atomic */
	uint32_t nports;		/* length of table[] and enforce[], = fabric nports */
	uint32_t *table;		/* by fabric port index; PKEYS_NONE: it has none, or keeps
					 * what it has */
	uint8_t *enforce;		/* by fabric port index: enum pkeys_enforce; of ports of
					 * switches that lead to hosts */
	struct pkey_table *tables;	/* none is there twice */
	uint32_t ntables;
	uint16_t *keys;			/* of all tables */
	uint32_t nkeys;
};

struct plan_pkeys *
plan_pkeys_ref(struct plan_pkeys *p);	/* NULL is allowed */
void
plan_pkeys_unref(struct plan_pkeys *p);	/* NULL is allowed */

/* Ports whose table or enforcement is another: their indices in ascending order, owned by the
 * caller (mem_free()), and how many. Both have the same number of ports; what their tables are
 * numbered by does not matter. */
uint32_t *
plan_pkeys_differ(const struct plan_pkeys *a, const struct plan_pkeys *b, uint32_t *len);

/* The key at a place of a port's table: 0 behind its end, or where it has none. */
static inline uint16_t
plan_pkeys_at(const struct plan_pkeys *p, uint32_t port, uint32_t index)
{
	uint32_t t = p->table[port];

	return t == PKEYS_NONE || index >= p->tables[t].len ? 0 :
	       p->keys[p->tables[t].first + index];
}

/* The port's keys of this partition: 0, the limited one, the full one (also of a port that has
 * both). */
uint16_t
plan_pkeys_find(const struct plan_pkeys *p, uint32_t port, uint16_t pkey);

#endif
