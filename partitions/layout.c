/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/compile_i.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * The keys of one port after the other get their places, and equal tables are kept once. A port of
 * a switch that leads to a host takes that host's table.
 */

/* ---- Tables ---- */

static uint64_t
hash_keys(const uint16_t *keys, uint32_t len)
{
	return map_text((const char *)keys, len * sizeof(*keys));
}

/* The table can be found by what it has. */
static void
index_table(struct layout *l, uint32_t t)
{
	const struct pkey_table *table = &l->out->tables[t];
	uint64_t hash = hash_keys(l->out->keys + table->first, table->len);

	l->next[t] = map_get(&l->tables, hash);
	map_set(&l->tables, hash, t);
}

static bool
is_table(const struct plan_pkeys *p, uint32_t t, const uint16_t *keys, uint32_t len)
{
	return p->tables[t].len == len &&
	       !memcmp(p->keys + p->tables[t].first, keys, len * sizeof(*keys));
}

static void
add_table(struct layout *l, const uint16_t *keys, uint32_t len)
{
	struct plan_pkeys *p = l->out;

	if (p->ntables == l->tables_size) {
		l->tables_size = l->tables_size ? 2 * l->tables_size : 64;
		p->tables = mem_realloc(p->tables, l->tables_size, sizeof(*p->tables));
		l->next = mem_realloc(l->next, l->tables_size, sizeof(*l->next));
	}
	if (p->nkeys + len > l->keys_size) {
		l->keys_size = 2 * (p->nkeys + len);
		p->keys = mem_realloc(p->keys, l->keys_size, sizeof(*p->keys));
	}
	memcpy(p->keys + p->nkeys, keys, len * sizeof(*keys));
	p->tables[p->ntables++] = (struct pkey_table){ p->nkeys, len };
	p->nkeys += len;
}

/* The number of a table: of one that is there, or of a new one. */
static uint32_t
intern(struct layout *l, const uint16_t *keys, uint32_t len)
{
	uint32_t t = map_get(&l->tables, hash_keys(keys, len));

	while (t != MAP_NONE && !is_table(l->out, t, keys, len))
		t = l->next[t];
	if (t != MAP_NONE)
		return t;
	add_table(l, keys, len);
	index_table(l, l->out->ntables - 1);
	return l->out->ntables - 1;
}

/* ---- Places ---- */

/* The table of one port. */
struct places {
	uint16_t *keys;		/* 0: a hole */
	uint32_t room;		/* places */
	uint32_t len;		/* up to the last key */
	uint32_t hole;		/* there is none below */
};

static void
put(struct places *p, uint32_t place, uint16_t key)
{
	p->keys[place] = key;
	if (place >= p->len)
		p->len = place + 1;
}

/* Remember where the port has its keys; index 0 is given by other rules. */
static void
note_held(struct layout *l, uint32_t port, uint32_t room, const struct pkeys_held *h)
{
	for (uint32_t i = 1; h->keys && i < h->len && i < room; i++) {
		uint16_t key = h->keys[i];

		if (!(key & PKEY_NUMBER) || l->stamp[key] == port + 1)
			continue;
		l->stamp[key] = port + 1;
		l->at[key] = i;
	}
}

/* The key's place in what the port holds; 0: it has none. */
static uint32_t
place_of(const struct layout *l, uint32_t port, uint16_t key)
{
	return l->stamp[key] == port + 1 ? l->at[key] : 0;
}

/* The key that belongs to index 0: the first that was said to, or the default one. */
static uint32_t
choose_first(const struct grant *g, uint32_t len)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < len; i++)
		if (g[i].index0)
			return i;
	for (uint32_t i = 0; i < len; i++)
		if ((g[i].key & PKEY_NUMBER) == PKEY_DEFAULT)
			best = i;	/* the full one comes last */
	return best;
}

static void
lay_out(struct layout *l, uint32_t port, const struct grant *g, uint32_t len, struct places *p,
	struct pkeys_held held)
{
	uint32_t zero = choose_first(g, len);

	note_held(l, port, p->room, &held);
	put(p, 0, g[zero].key);
	for (uint32_t i = 0; i < len; i++) {
		uint32_t place = place_of(l, port, g[i].key);

		if (i != zero && place && !p->keys[place])
			put(p, place, g[i].key);
		else
			place = 0;
		l->at[g[i].key] = place;	/* what it has got */
		l->stamp[g[i].key] = i == zero || place ? UINT32_MAX : 0;
	}
	/* Its membership changed: the place of the other bit, unless that is wanted as well. */
	for (uint32_t i = 0; i < len; i++) {
		uint32_t place = place_of(l, port, g[i].key ^ PKEY_FULL);

		if (l->stamp[g[i].key] == UINT32_MAX || !place || p->keys[place])
			continue;
		put(p, place, g[i].key);
		l->stamp[g[i].key] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < len; i++) {
		if (l->stamp[g[i].key] == UINT32_MAX)
			continue;
		while (p->keys[p->hole])
			p->hole++;
		put(p, p->hole, g[i].key);
	}
	for (uint32_t i = 0; i < len; i++)
		l->stamp[g[i].key] = 0;
}

static void
overflows(struct layout *l, uint32_t port, uint32_t keys, uint32_t room, bool enforced)
{
	struct pkeys_report *r = l->report;

	if (r->overflows < PKEYS_OVERFLOWS)
		r->overflow[r->overflows] = (struct pkeys_overflow){ port, keys, room, enforced };
	r->overflows++;
}

void
layout_port(struct layout *l, uint32_t port, const struct port_grants *grants,
	    struct pkeys_held held)
{
	const struct fabric_node *n = &l->f->nodes[l->f->ports[port].node];
	struct places p = { .keys = l->keys, .room = n->pkey_cap ? n->pkey_cap : 1, .hole = 1 };
	const struct grant *g = grants->list;
	uint32_t len = grants->len;

	if (len > p.room) {
		overflows(l, port, len, p.room, false);
		/* Which is the last, by its number. */
		g += len - 1;
		len = 1;
	}
	memset(l->keys, 0, p.room * sizeof(*l->keys));
	lay_out(l, port, g, len, &p, held);
	l->out->table[port] = intern(l, l->keys, p.len);
}

/* ---- Ports of switches that lead to hosts ---- */

bool
layout_is_enforced(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	return f->nodes[p->node].type == NODE_SWITCH && p->number && p->peer != FABRIC_NONE &&
	       f->nodes[f->ports[p->peer].node].type != NODE_SWITCH;
}

uint8_t
layout_wanted(const struct port_grants *g)
{
	bool only_default = !g->len || (g->list[0].key & PKEY_NUMBER) == PKEY_DEFAULT;

	return only_default ? g->default_enforce : g->enforce;
}

static uint32_t
pack(const struct plan_pkeys *p, uint32_t t, uint16_t *keys)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < p->tables[t].len; i++) {
		uint16_t key = p->keys[p->tables[t].first + i];

		if (key)
			keys[len++] = key;
	}
	return len;
}

void
layout_enforced(struct layout *l, uint32_t port, const struct port_grants *g)
{
	const struct fabric_port *p = &l->f->ports[port];
	uint32_t room = l->f->nodes[p->node].enforce_cap, table = l->out->table[p->peer], len;
	uint8_t bits = layout_wanted(g);

	l->out->enforce[port] = room ? bits : 0;
	l->out->table[port] = room && bits ? table : PKEYS_NONE;
	if (!room)
		l->report->unenforced += bits != 0;
	if (!room || !bits || l->out->tables[table].len <= room)
		return;
	len = pack(l->out, table, l->keys);
	if (len > room) {
		overflows(l, port, len, room, true);
		l->keys[0] = g->list[g->len - 1].key;
		len = 1;
	}
	l->out->table[port] = intern(l, l->keys, len);
}

/* ---- Sections ---- */

struct pkeys_held
layout_held(const struct plan_pkeys *p, uint32_t port)
{
	uint32_t t = p->table[port];

	return t == PKEYS_NONE ? (struct pkeys_held){ 0 } :
	       (struct pkeys_held){ p->keys + p->tables[t].first, p->tables[t].len };
}

static void
copy_section(struct layout *l, const struct plan_pkeys *base)
{
	struct plan_pkeys *p = l->out;

	memcpy(p->table, base->table, base->nports * sizeof(*p->table));
	memcpy(p->enforce, base->enforce, base->nports);
	l->tables_size = base->ntables + 64;
	l->keys_size = base->nkeys + 1024;
	p->tables = mem_array(l->tables_size, sizeof(*p->tables));
	p->keys = mem_array(l->keys_size, sizeof(*p->keys));
	l->next = mem_array(l->tables_size, sizeof(*l->next));
	if (base->nkeys)
		memcpy(p->keys, base->keys, base->nkeys * sizeof(*p->keys));
	p->nkeys = base->nkeys;
	for (; p->ntables < base->ntables; p->ntables++) {
		p->tables[p->ntables] = base->tables[p->ntables];
		index_table(l, p->ntables);
	}
}

struct layout *
layout_new(const struct fabric *f, const struct plan_pkeys *base, struct pkeys_report *report)
{
	struct layout *l = mem_zalloc(sizeof(*l));
	struct plan_pkeys *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->nports = f->nports;
	p->table = mem_array(f->nports + 1u, sizeof(*p->table));
	p->enforce = mem_array(f->nports + 1u, sizeof(*p->enforce));
	l->f = f;
	l->out = p;
	l->report = report;
	memset(report, 0, sizeof(*report));
	for (uint32_t i = 0; i < f->nports; i++)
		p->table[i] = PKEYS_NONE;
	if (base)
		copy_section(l, base);
	return l;
}

void
layout_free(struct layout *l)
{
	map_free(&l->tables);
	mem_free(l->next);
	mem_free(l);
}

void
layout_compact(struct layout *l)
{
	struct plan_pkeys *p = l->out;
	uint32_t *to = mem_array(p->ntables + 1u, sizeof(*to));	/* new number + 1 */
	uint32_t tables = 0, keys = 0;

	for (uint32_t port = 0; port < p->nports; port++)
		if (p->table[port] != PKEYS_NONE)
			to[p->table[port]] = 1;
	for (uint32_t t = 0; t < p->ntables; t++) {
		struct pkey_table table = p->tables[t];

		if (!to[t])
			continue;
		memmove(p->keys + keys, p->keys + table.first, table.len * sizeof(*p->keys));
		p->tables[tables] = (struct pkey_table){ keys, table.len };
		keys += table.len;
		to[t] = ++tables;
	}
	for (uint32_t port = 0; port < p->nports; port++)
		if (p->table[port] != PKEYS_NONE)
			p->table[port] = to[p->table[port]] - 1;
	p->ntables = tables;
	p->nkeys = keys;
	mem_free(to);
}
