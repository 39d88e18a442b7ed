/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos/congestion.h"

#include <stdlib.h>
#include <string.h>

/*
 * A policy of congestion control as attributes of devices. Nothing is kept, nothing can fail.
 */

/* ---- Tables of hosts ---- */

static void
linear(struct congestion_table *t)
{
	for (t->len = 0; t->len < CONGESTION_LINEAR; t->len++)
		t->step[t->len] = (struct cc_delay){ .multiplier = (uint16_t)t->len };
}

void
congestion_table(const char *text, struct congestion_table *t)
{
	char *end;

	memset(t, 0, sizeof(*t));
	while (text && t->len < CONGESTION_STEPS) {
		struct cc_delay *d = &t->step[t->len];

		d->shift = (uint8_t)(strtoul(text, &end, 10) & 3);
		if (*end != ':')
			break;
		d->multiplier = (uint16_t)(strtoul(end + 1, &end, 10) & 0x3fff);
		t->len++;
		text = *end == ',' ? end + 1 : NULL;
	}
	if (!t->len)
		linear(t);
}

unsigned
congestion_steps(const struct congestion_table *t, unsigned blocks)
{
	return t->len < blocks * CC_TABLE_BLOCK ? t->len : blocks * CC_TABLE_BLOCK;
}

void
congestion_block(const struct congestion_table *t, unsigned blocks, unsigned block,
		 struct cc_table *w)
{
	unsigned steps = congestion_steps(t, blocks), first = block * CC_TABLE_BLOCK;

	memset(w, 0, sizeof(*w));
	w->limit = (uint16_t)(steps ? steps - 1 : 0);
	for (unsigned i = 0; i < CC_TABLE_BLOCK && first + i < steps; i++)
		w->entries[i] = t->step[first + i];
}

/* ---- Switches ---- */

/* Whoever is, or was, behind it sends and receives. */
static bool
leads_to_host(const struct fabric *f, const struct fabric_port *p)
{
	uint32_t end = fabric_cable_end(f, (uint32_t)(p - f->ports));

	if (end != FABRIC_NONE)
		return f->nodes[f->ports[end].node].type != NODE_SWITCH;
	return p->lost_peer && p->lost_type && p->lost_type != NODE_SWITCH;
}

static void
add_ends(const struct fabric *f, uint32_t node, struct cc_ports *to)
{
	const struct fabric_node *n = &f->nodes[node];

	if (n->flags & FABRIC_NODE_ENHANCED_PORT0)
		cc_ports_add(to, 0);
	for (unsigned i = 1; i <= n->nports; i++)
		if (leads_to_host(f, fabric_port_at(f, node, i)))
			cc_ports_add(to, i);
}

void
congestion_switch(const struct config_congestion *c, const struct fabric *f, uint32_t node,
		  bool starvation, struct cc_switch_setting *w)
{
	memset(w, 0, sizeof(*w));
	w->map = starvation ? CC_MAP_ALL :
		CC_MAP_VICTIM | CC_MAP_THRESHOLD | CC_MAP_MARKING;
	if (!c->enabled)
		return;
	add_ends(f, node, &w->victim);
	w->threshold = (uint8_t)c->threshold;
	w->packet_size = (uint8_t)c->packet_size;
	w->marking_rate = (uint16_t)c->marking_rate;
	if (!starvation || !c->credit_starvation)
		return;
	w->credit = w->victim;
	w->starvation = (uint8_t)c->threshold;
}

void
congestion_port(const struct config_congestion *c, bool starvation, struct cc_port_setting *w)
{
	memset(w, 0, sizeof(*w));
	w->valid = true;
	w->starvation = starvation;
	if (!c->enabled || (starvation && !c->credit_starvation))
		return;
	w->threshold = (uint8_t)c->threshold;
	if (starvation)
		return;
	w->packet_size = (uint8_t)c->packet_size;
	w->marking_rate = (uint16_t)c->marking_rate;
}

bool
congestion_same_switch(const struct cc_switch_setting *a, const struct cc_switch_setting *b)
{
	bool starvation = a->map & b->map & CC_MAP_STARVATION;

	return !memcmp(&a->victim, &b->victim, sizeof(a->victim)) &&
	       a->threshold == b->threshold && a->packet_size == b->packet_size &&
	       a->marking_rate == b->marking_rate &&
	       (!starvation || (!memcmp(&a->credit, &b->credit, sizeof(a->credit)) &&
				a->starvation == b->starvation &&
				a->return_delay.shift == b->return_delay.shift &&
				a->return_delay.multiplier == b->return_delay.multiplier));
}

/* ---- Hosts ---- */

static bool
is_off(const struct config_congestion *c, unsigned sl)
{
	for (unsigned i = 0; i < c->nlevels_off; i++)
		if (c->levels_off[i] == sl)
			return true;
	return !c->enabled;
}

void
congestion_ca(const struct config_congestion *c, unsigned steps, struct cc_ca_setting *w)
{
	unsigned last = steps ? steps - 1 : 0;

	memset(w, 0, sizeof(*w));
	w->map = UINT16_MAX;
	for (unsigned sl = 0; sl < CC_LEVELS; sl++) {
		struct cc_ca_entry *e = &w->entries[sl];

		e->timer = (uint16_t)c->timer;
		if (is_off(c, sl))
			continue;
		e->increase = (uint8_t)c->increase;
		e->trigger = (uint8_t)c->trigger;
		e->least = (uint8_t)(c->least < last ? c->least : last);
	}
}

bool
congestion_same_ca(const struct cc_ca_setting *a, const struct cc_ca_setting *b)
{
	if (a->port_control != b->port_control)
		return false;
	for (unsigned sl = 0; sl < CC_LEVELS; sl++) {
		const struct cc_ca_entry *x = &a->entries[sl], *y = &b->entries[sl];

		if (x->timer != y->timer || x->increase != y->increase ||
		    x->trigger != y->trigger || x->least != y->least)
			return false;
	}
	return true;
}
