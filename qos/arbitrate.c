/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VL arbitration tables from the weights of levels. Both tables are filled lane by lane, in the
 * order of levels; then what does not fit is moved. Whatever an administrator wrote for this kind
 * of port goes in as it was written, but for lanes that the link does not run.
 */
#include "qos/arbitrate.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX 255u

static const char *const words[] = {
	[ARBITRATE_HOSTS] = "hosts",
	[ARBITRATE_ROUTERS] = "routers",
	[ARBITRATE_PORT0] = "port0",
	[ARBITRATE_SWITCHES] = "switches",
};

const char *
arbitrate_word(enum arbitrate_ports kind)
{
	return words[kind];
}

/* What is written for this kind of port, or for all; NULL: nothing. */
static const struct config_arbitration *
written(const struct config_qos *q, enum arbitrate_ports kind)
{
	const struct config_arbitration *all = NULL;

	for (unsigned i = 0; i < q->narbitration; i++) {
		const struct config_arbitration *a = &q->arbitration[i];

		if (!strcmp(a->ports, words[kind]))
			return a;
		if (!strcmp(a->ports, "all"))
			all = a;
	}
	return all;
}

static uint8_t
fold(unsigned vl, unsigned vls)
{
	return (uint8_t)(vl < vls ? vl : vls ? vls - 1 : 0);
}

/* ---- As it is written ---- */

/* "VL:WEIGHT, ...", which was checked when it was read. Returns the entries. */
static uint8_t
from_text(const char *text, unsigned vls, struct vlarb_entry *table)
{
	uint8_t len = 0;
	char *end;

	while (*text && len < ARBITRATE_MAX) {
		unsigned long vl = strtoul(text, &end, 10), weight;

		if (*end != ':')
			break;
		weight = strtoul(end + 1, &end, 10);
		table[len++] = (struct vlarb_entry){ .vl = fold((unsigned)vl, vls),
						     .weight = (uint8_t)weight };
		text = end + strspn(end, ", ");
	}
	return len;
}

/* ---- By the levels ---- */

static void
add(struct vlarb_entry *table, uint8_t *len, uint8_t vl, unsigned weight)
{
	unsigned i = 0;

	while (i < *len && table[i].vl != vl)
		i++;
	if (i == *len)
		table[(*len)++] = (struct vlarb_entry){ .vl = vl };
	weight += table[i].weight;
	table[i].weight = (uint8_t)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX);
}

/* Lanes of one level; there are 15 at most. */
static void
add_level(const struct plan_sls *s, unsigned level, const struct arbitrate_port *p, unsigned weight,
	  struct vlarb_entry *table, uint8_t *len)
{
	unsigned first = s ? s->vl[s->place[level]] : 0, lanes = s && p->inner ? s->lanes : 1;

	for (unsigned i = 0; i < lanes; i++)
		add(table, len, fold(first + i, p->vls), weight);
}

static void
by_levels(const struct config_qos *q, const struct plan_sls *s, const struct arbitrate_port *p,
	  bool high, struct vlarb_entry *table, uint8_t *len)
{
	static const struct config_level one = { .weight = 32, .priority = PRIORITY_LOW };
	unsigned n = q->nlevels ? q->nlevels : 1;

	for (unsigned i = 0; i < n; i++) {
		const struct config_level *l = q->nlevels ? &q->levels[i] : &one;

		if (s && i >= s->asked)
			break;
		if ((l->priority == PRIORITY_HIGH) == high)
			add_level(s, i, p, l->weight, table, len);
	}
}

/* ---- What fits ---- */

static bool
sends(const struct vlarb_entry *table, unsigned len, uint8_t vl)
{
	for (unsigned i = 0; i < len; i++)
		if (table[i].vl == vl && table[i].weight)
			return true;
	return false;
}

/* From one table, which ends at `cap`, to the other: lanes that would not send otherwise. Returns
 * entries that there was no room for. */
static unsigned
move(struct vlarb_entry *from, uint8_t *len, unsigned cap, struct vlarb_entry *to, uint8_t *to_len,
     unsigned to_cap)
{
	unsigned left = 0;

	for (unsigned i = cap; i < *len; i++) {
		struct vlarb_entry e = from[i];

		from[i] = (struct vlarb_entry){ 0 };
		if (!e.weight || sends(from, cap, e.vl) ||
		    sends(to, *to_len < to_cap ? *to_len : to_cap, e.vl))
			continue;
		if (*to_len < to_cap)
			to[(*to_len)++] = e;
		else
			left++;
	}
	if (*len > cap)
		*len = (uint8_t)cap;
	return left;
}

/* ---- What waits for ever ---- */

/* Lanes of levels; the weights of both tables do not matter. */
static uint8_t
count_silent(const struct config_qos *q, const struct plan_sls *s, const struct arbitrate_port *p,
	     const struct arbitration *a)
{
	struct vlarb_entry used[ARBITRATE_MAX] = { 0 };
	uint8_t len = 0, silent = 0;

	by_levels(q, s, p, true, used, &len);
	by_levels(q, s, p, false, used, &len);
	for (unsigned i = 0; i < len; i++)
		if (!sends(a->high, a->nhigh, used[i].vl) && !sends(a->low, a->nlow, used[i].vl))
			silent++;
	return silent;
}

void
arbitrate(const struct config_qos *qos, const struct plan_sls *sls, const struct arbitrate_port *p,
	  struct arbitration *a)
{
	const struct config_arbitration *w = written(qos, p->kind);
	unsigned limit = w ? w->high_limit : qos->high_limit;
	unsigned high_cap = p->high_cap < ARBITRATE_MAX ? p->high_cap : ARBITRATE_MAX;
	unsigned low_cap = p->low_cap < ARBITRATE_MAX ? p->low_cap : ARBITRATE_MAX;

	memset(a, 0, sizeof(*a));
	a->high_limit = (uint8_t)limit;
	if (w && w->high)
		a->nhigh = from_text(w->high, p->vls, a->high);
	else
		by_levels(qos, sls, p, true, a->high, &a->nhigh);
	if (w && w->low)
		a->nlow = from_text(w->low, p->vls, a->low);
	else
		by_levels(qos, sls, p, false, a->low, &a->nlow);
	a->left = (uint8_t)move(a->high, &a->nhigh, high_cap, a->low, &a->nlow, low_cap);
	a->left = (uint8_t)(a->left +
			    move(a->low, &a->nlow, low_cap, a->high, &a->nhigh, high_cap));
	a->silent = count_silent(qos, sls, p, a);
}
