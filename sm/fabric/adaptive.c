/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/adaptive.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"

#define BY_PORT 256u	/* length of group[] by port */

static uint32_t
table_len(const struct plan_ar_switch *s, unsigned table)
{
	return s->table[table].by_port ? BY_PORT : s->nhomes;
}

struct plan_adaptive *
plan_adaptive_new(uint32_t nswitches)
{
	struct plan_adaptive *a = mem_alloc(sizeof(*a));

	*a = (struct plan_adaptive){ .refs = 1, .nswitches = nswitches };
	a->sw = mem_array(nswitches, sizeof(struct plan_ar_switch *));
	return a;
}

struct plan_adaptive *
plan_adaptive_ref(struct plan_adaptive *a)
{
	if (a)
		__atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
	return a;
}

void
plan_adaptive_unref(struct plan_adaptive *a)
{
	if (!a || __atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < a->nswitches; i++) {
		plan_ar_switch_unref(a->sw[i]);
		plan_ar_switch_unref(a->less ? a->less[i] : NULL);
	}
	mem_free(a->less);
	mem_free(a->sw);
	mem_free(a);
}

struct plan_ar_switch *
plan_ar_switch_new(uint32_t nhomes, uint16_t top, unsigned subs, unsigned ntables)
{
	struct plan_ar_switch *s = mem_alloc(sizeof(*s));

	*s = (struct plan_ar_switch){
		.refs = 1, .nhomes = nhomes, .top = top, .subs = (uint8_t)subs,
		.ntables = (uint8_t)ntables, .mode = AR_FREE,
	};
	s->ports = mem_array((top + 1u) * subs, sizeof(*s->ports));
	for (unsigned t = 0; t < ntables; t++)
		s->table[t].group = mem_array(nhomes > BY_PORT ? nhomes : BY_PORT,
					      sizeof(*s->table[t].group));
	return s;
}

struct plan_ar_switch *
plan_ar_switch_copy(const struct plan_ar_switch *s, uint32_t nhomes)
{
	struct plan_ar_switch *new = plan_ar_switch_new(nhomes, s->top, s->subs, s->ntables);
	struct plan_ar_switch copy = *s;

	copy.refs = 1;
	copy.nhomes = nhomes;
	copy.ports = new->ports;
	copy.told = NULL;
	memcpy(copy.ports, s->ports, (s->top + 1u) * s->subs * sizeof(*s->ports));
	for (unsigned t = 0; t < s->ntables; t++) {
		uint32_t len = table_len(s, t);

		copy.table[t].group = new->table[t].group;
		if (!s->table[t].by_port && len > nhomes)
			len = nhomes;
		memcpy(copy.table[t].group, s->table[t].group, len * sizeof(uint16_t));
	}
	*new = copy;
	return new;
}

struct plan_ar_switch *
plan_ar_switch_ref(struct plan_ar_switch *s)
{
	if (s)
		__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
plan_ar_switch_unref(struct plan_ar_switch *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (unsigned t = 0; t < s->ntables; t++)
		mem_free(s->table[t].group);
	mem_free(s->ports);
	mem_free(s->told);
	mem_free(s);
}

static bool
tables_equal(const struct plan_ar_switch *a, const struct plan_ar_switch *b)
{
	for (unsigned t = 0; t < a->ntables; t++)
		if (a->table[t].by_port != b->table[t].by_port ||
		    memcmp(a->table[t].group, b->table[t].group,
			   table_len(a, t) * sizeof(*a->table[t].group)))
			return false;
	return !memcmp(a->table_of, b->table_of, sizeof(a->table_of));
}

bool
plan_ar_switch_equal(const struct plan_ar_switch *a, const struct plan_ar_switch *b)
{
	if (a == b)
		return true;
	return !a->told && !b->told && a->nhomes == b->nhomes && a->top == b->top &&
		a->subs == b->subs && a->ntables == b->ntables && a->mode == b->mode &&
		a->recovery == b->recovery && a->sls == b->sls && a->transports == b->transports &&
		a->ageing_us == b->ageing_us && a->left_out == b->left_out &&
		!memcmp(a->ports, b->ports, (a->top + 1u) * a->subs * sizeof(*a->ports)) &&
		tables_equal(a, b);
}

unsigned
plan_ar_group(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
	      uint8_t port)
{
	const struct plan_ar_table *t = &s->table[table];

	if (port == LFT_NO_PORT || !port || dest->port == FABRIC_NONE)
		return 0;
	if (t->by_port)
		return t->group[port];
	return dest->sw < s->nhomes ? t->group[dest->sw] : 0;
}

struct ar_lft_entry
plan_ar_entry(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
	      uint8_t port)
{
	unsigned group = plan_ar_group(s, table, dest, port);
	const struct ar_ports *ports = s->told ? s->told : s->ports;

	if (!group || !ar_ports_has(&ports[group * s->subs], port))
		return (struct ar_lft_entry){ .state = AR_STATIC, .port = port };
	return (struct ar_lft_entry){ .state = s->mode, .port = port, .group = (uint16_t)group };
}

struct ar_ports
plan_ar_choices(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
		uint8_t port)
{
	struct ar_lft_entry e = plan_ar_entry(s, table, dest, port);
	struct ar_ports all = { { 0 } };

	for (unsigned sub = 0; e.group && sub < s->subs; sub++)
		for (unsigned w = 0; w < 4; w++)
			all.word[w] |= plan_ar_ports(s, e.group, sub)->word[w];
	all.word[port / 64] &= ~(UINT64_C(1) << port % 64);
	return all;
}
