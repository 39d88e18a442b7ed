/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/wire/sa_rate.h"

/*
 * The answer as it grows: records that fit are encoded one behind the other. A Get is over with the
 * second, for then there are too many; a table when it is larger than what is told at once.
 *
 * It grows in slices, between which the loop does other things. The clock is read once in a number
 * of units of work; on a virtual loop, where it stands still, the units alone end a slice.
 */
#define LOOK_EACH 64		/* units of work */
#define SLICE_TIME MSEC(1)

void
sa_slice(struct sa_ask *a, unsigned units)
{
	a->paused = false;
	a->look = a->work + (units < LOOK_EACH ? units : LOOK_EACH);
	a->slice_end = a->work + units;
	a->slice_until = MONOTIME_NEVER;
}

/* The first look of a slice starts its clock, so that what is short never reads it. */
bool
sa_slice_over(struct sa_ask *a)
{
	monotime now = loop_now(a->env->loop);

	if (a->slice_until == MONOTIME_NEVER)
		a->slice_until = now + SLICE_TIME;
	a->paused = a->work > a->slice_end || now >= a->slice_until;
	a->look = a->work + LOOK_EACH;
	if (a->look > a->slice_end)
		a->look = a->slice_end;
	return a->paused;
}

bool
sa_offer(struct sa_ask *a, const void *record)
{
	uint8_t bytes[SA_DATA_SIZE] = { 0 };

	if (!sa_query_fits(&a->query, record))
		return true;
	if (a->h.h.method == MAD_GET && a->hits) {
		a->status = SA_STATUS_TOO_MANY;
		return false;
	}
	if (a->out.len + sa_stride(a->type) > SA_TABLE_MAX ||
	    a->out.len + *a->held > SA_OPEN_SIZE_MAX) {
		a->status = SA_STATUS_NO_RESOURCES;
		return false;
	}
	sa_encode(a->type, record, bytes);
	buf_add(&a->out, bytes, sa_is_table(a) ? sa_stride(a->type) : SA_DATA_SIZE);
	a->hits++;
	return true;
}

bool
sa_offer_held(struct sa_ask *a, enum sa_held held, unsigned lid_bit, const void *record)
{
	switch (held) {
	case SA_HELD:
		return sa_offer(a, record);
	case SA_HELD_NOT:
		return true;
	case SA_SILENT:
		if (!sa_asks(a, lid_bit))
			return true;
		break;
	case SA_UNREAD:
		break;
	}
	a->status = MAD_STATUS_BUSY;
	return false;
}

void
sa_reply(struct sa_ask *a, const void *record)
{
	uint8_t bytes[SA_DATA_SIZE] = { 0 };

	sa_encode(a->type, record, bytes);
	buf_add(&a->out, bytes, SA_DATA_SIZE);
	a->hits++;
}

uint32_t
sa_asker(const struct sa_ask *a)
{
	const struct plan_lids *l = a->plan->lids;

	return a->in->lid && a->in->lid <= l->top ? l->dest[a->in->lid].port : FABRIC_NONE;
}

uint32_t
sa_port_by_guid(const struct sa_ask *a, uint64_t guid)
{
	uint32_t port = guid ? fabric_port_by_guid(a->f, guid) : FABRIC_NONE;
	uint64_t own = port == FABRIC_NONE ? sa_aliases_port(a->kept->aliases, guid) : 0;

	return own ? fabric_port_by_guid(a->f, own) : port;
}

/* ---- Partitions ---- */

#define KEYS 32		/* of a block */

/* A block of the table that is planned for the port; false behind its end. */
static bool
planned_pkeys(const struct plan_pkeys *p, uint32_t port, unsigned block, uint16_t keys[KEYS])
{
	uint32_t t = p->table[port];

	if (t == PKEYS_NONE || block * KEYS >= p->tables[t].len)
		return false;
	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = plan_pkeys_at(p, port, block * KEYS + i);
	return true;
}

/* A block of the port's table; false behind its end. Where none is planned and it is not known, or
 * has nothing, it is that of a full member of the default partition. */
static bool
read_pkeys(const struct sa_ask *a, uint32_t port, unsigned block, uint16_t keys[KEYS])
{
	if (block >= SA_PKEY_BLOCKS)
		return false;
	if (a->plan->pkeys)
		return planned_pkeys(a->plan->pkeys, port, block, keys);
	if (a->env->pkey_block && a->env->pkey_block(a->env->arg, sa_node_of(a, port)->guid,
						     a->f->ports[port].number, block,
						     keys) == SA_HELD)
		return true;
	memset(keys, 0, KEYS * sizeof(keys[0]));
	keys[0] = SA_PKEY_FULL | SA_PKEY_DEFAULT;
	return block == 0;
}

void
sa_first_pkeys_forget(struct sa_first_pkeys *c)
{
	plan_unref(c->plan);
	mem_free(c->of);
	*c = (struct sa_first_pkeys){ 0 };
}

/* Those of the plan of this question; NULL if there are none, or it is an old one's. */
static uint16_t *
first_pkeys(const struct sa_ask *a)
{
	struct sa_first_pkeys *c = a->first_pkeys;
	uint64_t changed;

	if (!a->env->pkeys_changed || (c->plan != a->plan && a->env->plan(a->env->arg) != a->plan))
		return NULL;
	changed = a->env->pkeys_changed(a->env->arg);
	if (c->plan != a->plan || c->changed != changed) {
		sa_first_pkeys_forget(c);
		c->plan = plan_ref(a->plan);
		c->changed = changed;
		c->of = mem_array(a->f->nports + 1, sizeof(*c->of));
	}
	return c->of;
}

/* The first P_Key of a table that is known, if it is one of a full member: nearly always it is the
 * one that ports have in common, and the table need not be looked at. 0: it must. */
static uint16_t
first_pkey(const struct sa_ask *a, uint32_t port)
{
	uint16_t *of = first_pkeys(a), keys[KEYS];

	if (!of)
		return 0;
	if (!of[port] && a->plan->pkeys)
		of[port] = plan_pkeys_at(a->plan->pkeys, port, 0);
	else if (!of[port] && a->env->pkey_block(a->env->arg, sa_node_of(a, port)->guid,
						 a->f->ports[port].number, 0, keys) == SA_HELD)
		of[port] = keys[0];
	return of[port] & SA_PKEY_FULL && of[port] & SA_PKEY_NUMBER ? of[port] : 0;
}

/* The P_Key as the table has it, 0 if it does not; the one of a full member if it has both. */
static uint16_t
find_pkey(const struct sa_ask *a, uint32_t port, uint16_t pkey)
{
	uint16_t keys[KEYS], found = 0, first = first_pkey(a, port);

	if (!(pkey & SA_PKEY_NUMBER))
		return 0;
	if (!((first ^ pkey) & SA_PKEY_NUMBER))
		return first;
	for (unsigned block = 0; !(found & SA_PKEY_FULL) && read_pkeys(a, port, block, keys);
	     block++)
		for (unsigned i = 0; i < KEYS; i++)
			if (!((keys[i] ^ pkey) & SA_PKEY_NUMBER))
				found |= keys[i];
	return found;
}

bool
sa_has_pkey(const struct sa_ask *a, uint32_t port, uint16_t pkey)
{
	return port != FABRIC_NONE && find_pkey(a, port, pkey) != 0;
}

/* May `from`, which holds it so, talk to `to` by it? */
static bool
may_talk(const struct sa_ask *a, uint32_t to, uint16_t held)
{
	uint16_t theirs = held ? find_pkey(a, to, held) : 0;

	return theirs && (held | theirs) & SA_PKEY_FULL;
}

uint16_t
sa_common_pkey(const struct sa_ask *a, uint32_t from, uint32_t to, uint16_t wanted)
{
	uint16_t keys[KEYS], first;

	if (wanted)
		return may_talk(a, to, find_pkey(a, from, wanted)) ? wanted : 0;
	first = first_pkey(a, from);
	if (first && may_talk(a, to, first))
		return first;
	for (unsigned block = 0; read_pkeys(a, from, block, keys); block++)
		for (unsigned i = 0; i < KEYS; i++) {
			uint16_t key = keys[i];

			if (!(key & SA_PKEY_FULL))
				key = find_pkey(a, from, key);
			if (may_talk(a, to, key))
				return key;
		}
	return 0;
}

bool
sa_may_know(const struct sa_ask *a, uint32_t port)
{
	uint32_t asker = a->trusted || !a->env->pkey_block ? port : sa_asker(a);

	return asker == port ||
		(asker != FABRIC_NONE && sa_common_pkey(a, asker, port, 0) != 0);
}

/* ---- Rates ---- */

uint8_t
sa_port_rate(const struct fabric_port *p)
{
	return sa_rate_of((enum link_width)p->width, (enum link_speed)p->speed);
}

uint8_t
sa_rate_max(const struct sa_ask *a)
{
	unsigned max = a->env->conf(a->env->arg)->max_rate;
	uint32_t asker = sa_asker(a);
	const struct fabric_port *p;
	const struct portinfo *i;
	uint8_t known = SA_RATE_MAX_BASE;

	max = max ? max + 1 : SA_RATE_MAX;
	if (asker == FABRIC_NONE)
		return (uint8_t)max;
	p = &a->f->ports[asker];
	i = a->env->port_info(a->env->arg, sa_node_of(a, asker)->guid, p->number);
	if (i && i->cap_mask & CAP_EXTENDED_SPEEDS)
		known = SA_RATE_MAX_FIRST_EXTENDED;
	if (i && i->cap_mask & CAP_MASK2 &&
	    i->cap_mask2 & (CAP2_WIDTH_2X | CAP2_HDR | CAP2_NDR | CAP2_XDR))
		known = SA_RATE_MAX;
	/* It must know what its own link runs at. */
	if (sa_port_rate(p) > known)
		known = sa_port_rate(p);
	return (uint8_t)(known < max ? known : max);
}

/* ---- Ports ---- */

void
sa_each_port(struct sa_ask *a, unsigned bit, uint16_t lid,
	     bool (*fn)(struct sa_ask *a, uint32_t port))
{
	const struct plan_lids *l = a->plan->lids;

	if (sa_asks(a, bit)) {
		if (lid && lid <= l->top && l->dest[lid].port != FABRIC_NONE &&
		    sa_may_know(a, l->dest[lid].port))
			fn(a, l->dest[lid].port);
		return;
	}
	for (uint32_t p = (uint32_t)a->at; p < l->nports; p++) {
		if (!l->base[p])
			continue;
		if (sa_pause(a)) {
			a->at = p;
			return;
		}
		if (sa_may_know(a, p) && !fn(a, p))
			return;
	}
}
