/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/alias.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Alias GUIDs (alias.h). A port that ever had one has its table here, found by its GUID; aliases
 * are found in a map of their own. A row of the store for each entry, "SUBNET guid PORTGUID INDEX"
 * -> "ALIAS". An entry that was freed keeps its row, with 0, until the device has let go of it too,
 * so that a restart in between does not leave it there for good.
 */
#define KEY_SIZE 128
#define PORTS_MAX 49152u	/* that are copied: as there are LIDs */
#define LOCAL UINT64_C(0x0200000000000000)	/* the U/L bit of an EUI-64: nobody's own */

struct entry {
	uint64_t alias;		/* 0: none */
	bool row;		/* the store has a row for it */
	bool served;		/* its GID is in service, as subscribers know */
	uint32_t copy;		/* the last copy that it was in; see copy.h */
};

struct table {
	uint64_t port;		/* GUID of the port */
	unsigned len;		/* of entries */
	struct entry *entries;	/* by index */
};

struct sa_aliases {
	struct sa_env env;	/* the owner's */
	struct table *tables;	/* in the order of their first alias; they stay */
	uint32_t len;		/* how many */
	uint32_t size;		/* allocated */
	struct map by_port;	/* port GUID -> index of its table */
	struct map by_alias;	/* alias -> index of the table that has it */
};

static struct table *
table_of(const struct sa_aliases *a, uint64_t port)
{
	uint32_t i = map_get(&a->by_port, port);

	return i == MAP_NONE ? NULL : &a->tables[i];
}

static struct entry *
entry_of(struct sa_aliases *a, uint64_t port, unsigned index)
{
	struct table *t = table_of(a, port);

	if (!t) {
		if (a->len == a->size) {
			a->size = a->size ? 2 * a->size : 16;
			a->tables = mem_realloc(a->tables, a->size, sizeof(*a->tables));
		}
		map_set(&a->by_port, port, a->len);
		t = &a->tables[a->len++];
		*t = (struct table){ .port = port };
	}
	if (index >= t->len) {
		unsigned len = (index / SA_GUID_BLOCK + 1) * SA_GUID_BLOCK;

		t->entries = mem_realloc(t->entries, len, sizeof(*t->entries));
		memset(t->entries + t->len, 0, (len - t->len) * sizeof(*t->entries));
		t->len = len;
	}
	return &t->entries[index];
}

/* ---- Finding ---- */

void
sa_aliases_each(const struct sa_aliases *a, void (*fn)(void *arg, uint64_t alias, uint64_t port),
		void *arg)
{
	for (uint32_t i = 0; i < a->len; i++)
		for (unsigned j = 0; j < a->tables[i].len; j++)
			if (a->tables[i].entries[j].alias)
				fn(arg, a->tables[i].entries[j].alias, a->tables[i].port);
}

uint64_t
sa_aliases_port(const struct sa_aliases *a, uint64_t alias)
{
	uint32_t i = map_get(&a->by_alias, alias);

	return i == MAP_NONE ? 0 : a->tables[i].port;
}

uint64_t
sa_aliases_at(const struct sa_aliases *a, uint64_t port, unsigned index)
{
	const struct table *t = table_of(a, port);

	return t && index < t->len ? t->entries[index].alias : 0;
}

bool
sa_aliases_block(const struct sa_aliases *a, uint64_t port, unsigned block,
		 uint64_t guids[SA_GUID_BLOCK])
{
	const struct table *t = table_of(a, port);
	bool any = false;

	if (!t || (block + 1) * SA_GUID_BLOCK > t->len)
		return false;
	for (unsigned i = 0; i < SA_GUID_BLOCK; i++) {
		const struct entry *e = &t->entries[block * SA_GUID_BLOCK + i];

		guids[i] = e->alias;
		any |= e->row;
	}
	return any;
}

/* A bijection whose results differ in about half of their bits (the finaliser of splitmix64). */
static uint64_t
stir(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t
sa_aliases_invent(const struct sa_aliases *a, const struct fabric *f, uint64_t port,
		  unsigned index)
{
	uint64_t guid = stir(stir(port) + index);

	for (;; guid = stir(guid + 1)) {
		uint64_t g = LOCAL | (guid & (LOCAL / 2 - 1));
		uint64_t owner = sa_aliases_port(a, g);

		if (owner == port && sa_aliases_at(a, port, index) == g)
			return g;
		if (!owner && fabric_port_by_guid(f, g) == FABRIC_NONE)
			return g;
	}
}

/* ---- Changing ---- */

static void
keep(const struct sa_aliases *a, uint64_t port, unsigned index, const struct entry *e)
{
	char key[KEY_SIZE], value[20];

	snprintf(key, sizeof(key), "%s guid %016" PRIx64 " %x", a->env.conf(a->env.arg)->name, port,
		 index);
	snprintf(value, sizeof(value), "%" PRIx64, e->alias);
	if (e->row)
		store_put(a->env.store, STORE_CLIENTS, key, value);
	else
		store_delete(a->env.store, STORE_CLIENTS, key);
}

void
sa_aliases_put(struct sa_aliases *a, uint64_t port, unsigned index, uint64_t alias)
{
	struct entry *e = entry_of(a, port, index);

	if (e->alias)
		map_remove(&a->by_alias, e->alias);
	if (alias)
		map_set(&a->by_alias, alias, map_get(&a->by_port, port));
	e->alias = alias;
	e->row = true;
	e->served = false;
	keep(a, port, index, e);
}

/* Whoever has the alias has it no more. */
static void
take_from(struct sa_aliases *a, uint64_t alias)
{
	const struct table *t = table_of(a, sa_aliases_port(a, alias));

	for (unsigned i = 0; t && i < t->len; i++)
		if (t->entries[i].alias == alias) {
			sa_aliases_put(a, t->port, i, 0);
			return;
		}
}

bool
sa_aliases_copy(struct sa_aliases *a, uint64_t port, unsigned index, uint64_t alias, uint32_t copy)
{
	struct entry *e;

	if (!port || !alias || alias == port || !index || index >= SA_GUIDS_MAX ||
	    (!table_of(a, port) && a->len >= PORTS_MAX))
		return false;
	if (sa_aliases_at(a, port, index) != alias) {
		take_from(a, alias);
		sa_aliases_put(a, port, index, alias);
	}
	e = entry_of(a, port, index);
	e->served = true;
	e->copy = copy;
	return true;
}

bool
sa_aliases_copied(struct sa_aliases *a, uint32_t copy, uint64_t *at, uint32_t work)
{
	for (; *at < a->len && work; (*at)++, work--) {
		const struct table *t = &a->tables[*at];

		for (unsigned i = 0; i < t->len; i++)
			if (t->entries[i].alias && t->entries[i].copy != copy)
				sa_aliases_put(a, t->port, i, 0);
	}
	return *at < a->len;
}

bool
sa_aliases_serve(struct sa_aliases *a, uint64_t port, unsigned index, bool in)
{
	struct table *t = table_of(a, port);
	struct entry *e = t && index < t->len ? &t->entries[index] : NULL;

	if (!e || !e->alias || e->served == in)
		return false;
	e->served = in;
	return true;
}

void
sa_aliases_written(struct sa_aliases *a, uint64_t port, unsigned block)
{
	struct table *t = table_of(a, port);
	bool changed = false;

	if (!t || (block + 1) * SA_GUID_BLOCK > t->len)
		return;
	for (unsigned i = block * SA_GUID_BLOCK; i < (block + 1) * SA_GUID_BLOCK; i++) {
		struct entry *e = &t->entries[i];

		if (!e->row || e->alias)
			continue;
		e->row = false;
		keep(a, port, i, e);
		changed = true;
	}
	if (changed)
		store_commit(a->env.store, NULL, NULL);
}

/* ---- Life ---- */

struct sa_aliases *
sa_aliases_new(const struct sa_env *env)
{
	struct sa_aliases *a = mem_zalloc(sizeof(*a));

	a->env = *env;
	return a;
}

void
sa_aliases_free(struct sa_aliases *a)
{
	for (uint32_t i = 0; i < a->len; i++)
		mem_free(a->tables[i].entries);
	mem_free(a->tables);
	map_free(&a->by_port);
	map_free(&a->by_alias);
	mem_free(a);
}

bool
sa_aliases_load(struct sa_aliases *a, const char *name, const char *value)
{
	uint64_t port, alias;
	struct entry *e;
	unsigned index;
	int end = 0;

	if (sscanf(name, "%16" SCNx64 " %3x%n", &port, &index, &end) != 2 || name[end] || !port ||
	    !index || index >= SA_GUIDS_MAX)
		return false;
	if (sscanf(value, "%16" SCNx64 "%n", &alias, &end) != 1 || value[end])
		return false;
	if (alias && sa_aliases_port(a, alias))
		return false;
	e = entry_of(a, port, index);
	e->alias = alias;
	e->row = true;
	e->served = alias != 0;
	if (alias)
		map_set(&a->by_alias, alias, map_get(&a->by_port, port));
	return true;
}

void
sa_aliases_forget(struct sa_aliases *a, const char *name)
{
	uint64_t port;
	struct table *t;
	struct entry *e;
	unsigned index;

	if (sscanf(name, "%16" SCNx64 " %3x", &port, &index) != 2)
		return;
	t = table_of(a, port);
	if (!t || index >= t->len)
		return;
	e = &t->entries[index];
	if (e->alias)
		map_remove(&a->by_alias, e->alias);
	e->alias = 0;
	e->row = e->served = false;
	a->env.guids_changed(a->env.arg, port);
}
