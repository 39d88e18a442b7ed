/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Partition by partition, in order of P_Keys, each of its members is found among the ports; what
 * comes of it, (port, key), is put in order by port. Then port by port the keys get their places.
 *
 * A port is a member of a partition once: the best entry is looked for first, and the port is
 * marked. So GUIDs of ports go first, then GUIDs of nodes, `self`, and kinds.
 */
#define KEYS 0x10000u		/* P_Keys with their membership bit */

/* A key that a port is to have. */
struct grant {
	uint32_t port;		/* fabric port index */
	uint16_t key;		/* with the membership bit */
	bool index0;		/* it belongs there */
};

/* An end port. */
struct end {
	uint32_t port;		/* fabric port index */
	unsigned kind;		/* enum selected_kind */
};

struct compiler {
	const struct pkeys_input *in;	/* what is compiled */
	const struct fabric *f;		/* its snapshot */
	struct plan_pkeys *out;		/* being made */
	struct pkeys_report *report;	/* likewise */
	struct end *ends;		/* all end ports */
	uint32_t nends;
	struct map alias;		/* alias GUID -> place in in->aliases */
	uint32_t *done;			/* by port: the partition, from 1, that it is settled for */
	uint32_t *barred;		/* by port: likewise, that excepts it */
	uint8_t *enforce;		/* by port: what its partitions but the default one want */
	uint8_t *default_enforce;	/* and what that wants */
	struct grant *grants;		/* in order of partitions */
	size_t len, size;		/* grants, and room for them */
	uint32_t *first;		/* by port: its first in `sorted`; one more at the end */
	struct grant *sorted;		/* by port, then by P_Key */
	uint32_t at[KEYS];		/* by key: place + 1 in the table that is being made */
	uint32_t stamp[KEYS];		/* by key: for which port at[] is true */
	struct map tables;		/* hash -> newest table of it */
	uint32_t *next;			/* by table: another of the same hash; MAP_NONE */
	uint32_t tables_size;		/* tables that there is room for */
	uint32_t keys_size;		/* keys likewise */
};

/* ---- Who is a member ---- */

/* Most ports are outer ones of switches, so end ports are listed once. */
static void
list_ends(struct compiler *c)
{
	c->ends = mem_array(c->f->nports + 1u, sizeof(*c->ends));
	for (uint32_t port = 0; port < c->f->nports; port++) {
		unsigned kind = selected_kind_of(c->f, port);

		if (kind)
			c->ends[c->nends++] = (struct end){ port, kind };
	}
}

static void
grant(struct compiler *c, uint32_t port, uint16_t key, bool index0)
{
	if (c->len == c->size) {
		c->size = c->size ? 2 * c->size : 1024;
		c->grants = mem_realloc(c->grants, c->size, sizeof(*c->grants));
	}
	c->grants[c->len++] = (struct grant){ port, key, index0 };
}

static uint8_t
enforce_bits(unsigned enforce)
{
	switch (enforce) {
	case ENFORCE_BOTH:
		return PKEYS_ENFORCE_IN | PKEYS_ENFORCE_OUT;
	case ENFORCE_IN:
		return PKEYS_ENFORCE_IN;
	case ENFORCE_OUT:
		return PKEYS_ENFORCE_OUT;
	default:
		return 0;
	}
}

/* The keys of one membership; of the default partition nobody is without one. */
static void
settle(struct compiler *c, const struct partition *p, uint32_t index, uint32_t port,
       int membership, bool index0)
{
	bool is_default = p->pkey == PKEY_DEFAULT;

	if (c->done[port] == index + 1)
		return;
	c->done[port] = index + 1;
	if (c->barred[port] == index + 1)
		membership = -1;
	/* What the subnet manager sends it sends by index 0. */
	index0 &= port != c->f->sm_port;
	if (is_default && port == c->f->sm_port && membership != MEMBERSHIP_BOTH)
		membership = MEMBERSHIP_FULL;
	if (is_default && membership < 0)
		membership = MEMBERSHIP_LIMITED;
	if (membership < 0)
		return;
	if (is_default)
		c->default_enforce[port] |= enforce_bits(p->enforce);
	else
		c->enforce[port] |= enforce_bits(p->enforce);
	if (membership != MEMBERSHIP_FULL)
		grant(c, port, p->pkey, index0 && membership == MEMBERSHIP_LIMITED);
	if (membership != MEMBERSHIP_LIMITED)
		grant(c, port, p->pkey | PKEY_FULL, index0);
}

/* An alias is what a host asked for: it stands behind whatever devices have of their own. */
static uint32_t
port_of(struct compiler *c, uint64_t guid)
{
	uint32_t port = fabric_port_by_guid(c->f, guid);
	uint32_t alias;

	if (port != FABRIC_NONE || fabric_node_by_guid(c->f, guid) != FABRIC_NONE)
		return port;
	c->report->foreign++;
	alias = map_get(&c->alias, guid);
	return alias == MAP_NONE ? FABRIC_NONE :
	       fabric_port_by_guid(c->f, c->in->aliases[alias].port);
}

/* The node that has the GUID. A port's GUID is no node's but perhaps its own. */
static uint32_t
node_of(const struct compiler *c, uint64_t guid)
{
	uint32_t port = fabric_port_by_guid(c->f, guid);

	if (port == FABRIC_NONE)
		return fabric_node_by_guid(c->f, guid);
	return c->f->nodes[c->f->ports[port].node].guid == guid ? c->f->ports[port].node :
	       FABRIC_NONE;
}

static void
settle_members(struct compiler *c, const struct partition *p, uint32_t index)
{
	for (uint32_t i = 0; i < p->nmembers; i++) {
		const struct part_member *m = &p->members[i];
		uint32_t port = port_of(c, m->guid);

		if (port != FABRIC_NONE && selected_kind_of(c->f, port))
			settle(c, p, index, port, m->membership, m->index0);
		else
			c->report->pending += fabric_node_by_guid(c->f, m->guid) == FABRIC_NONE;
	}
	for (uint32_t i = 0; i < p->nmembers; i++) {
		const struct part_member *m = &p->members[i];
		uint32_t node = node_of(c, m->guid);

		for (unsigned n = 0; node != FABRIC_NONE && n <= c->f->nodes[node].nports; n++) {
			uint32_t port = c->f->nodes[node].first_port + n;

			if (selected_kind_of(c->f, port))
				settle(c, p, index, port, m->membership, m->index0);
		}
	}
}

/* Whoever the partition excepts. */
static void
bar(struct compiler *c, const struct selected *except, uint32_t index)
{
	for (uint32_t i = 0; i < except->len; i++) {
		uint32_t port = port_of(c, except->guids[i]);
		uint32_t node = fabric_node_by_guid(c->f, except->guids[i]);

		if (port != FABRIC_NONE)
			c->barred[port] = index + 1;
		for (unsigned n = 0; node != FABRIC_NONE && n <= c->f->nodes[node].nports; n++)
			c->barred[c->f->nodes[node].first_port + n] = index + 1;
	}
	for (uint32_t port = 0; except->kinds && port < c->f->nports; port++)
		if (selected_kind_of(c->f, port) & except->kinds ||
		    (except->kinds & SELECTED_SELF && port == c->f->sm_port))
			c->barred[port] = index + 1;
}

static int
kind_index(unsigned kind)
{
	return kind == SELECTED_HOSTS ? PART_HOSTS : kind == SELECTED_SWITCHES ? PART_SWITCHES :
	       kind == SELECTED_ROUTERS ? PART_ROUTERS : -1;
}

static void
settle_kinds(struct compiler *c, const struct partition *p, uint32_t index)
{
	const struct part_kind *self = &p->kind[PART_SELF];
	bool any = p->pkey == PKEY_DEFAULT;

	if (self->on && c->f->sm_port != FABRIC_NONE)
		settle(c, p, index, c->f->sm_port, self->membership, self->index0);
	for (unsigned k = 0; k < PART_SELF; k++)
		any |= p->kind[k].on;
	for (uint32_t i = 0; any && i < c->nends; i++) {
		int k = kind_index(c->ends[i].kind);

		if (k >= 0)
			settle(c, p, index, c->ends[i].port,
			       p->kind[k].on ? p->kind[k].membership : -1, p->kind[k].index0);
	}
}

/* Grants by port; those of a port stay in order of P_Keys. */
static void
sort_grants(struct compiler *c)
{
	uint32_t *next = mem_array(c->f->nports + 1u, sizeof(*next));

	c->first = mem_array(c->f->nports + 2u, sizeof(*c->first));
	c->sorted = mem_array(c->len + 1, sizeof(*c->sorted));
	for (size_t i = 0; i < c->len; i++)
		c->first[c->grants[i].port + 1]++;
	for (uint32_t port = 0; port < c->f->nports; port++) {
		c->first[port + 1] += c->first[port];
		next[port] = c->first[port];
	}
	for (size_t i = 0; i < c->len; i++)
		c->sorted[next[c->grants[i].port]++] = c->grants[i];
	mem_free(next);
}

/* ---- Tables ---- */

static uint64_t
hash_keys(const uint16_t *keys, uint32_t len)
{
	return map_text((const char *)keys, len * sizeof(*keys));
}

static bool
is_table(const struct plan_pkeys *p, uint32_t t, const uint16_t *keys, uint32_t len)
{
	return p->tables[t].len == len &&
	       !memcmp(p->keys + p->tables[t].first, keys, len * sizeof(*keys));
}

static void
add_table(struct compiler *c, const uint16_t *keys, uint32_t len)
{
	struct plan_pkeys *p = c->out;

	if (p->ntables == c->tables_size) {
		c->tables_size = c->tables_size ? 2 * c->tables_size : 64;
		p->tables = mem_realloc(p->tables, c->tables_size, sizeof(*p->tables));
		c->next = mem_realloc(c->next, c->tables_size, sizeof(*c->next));
	}
	if (p->nkeys + len > c->keys_size) {
		c->keys_size = 2 * (p->nkeys + len);
		p->keys = mem_realloc(p->keys, c->keys_size, sizeof(*p->keys));
	}
	memcpy(p->keys + p->nkeys, keys, len * sizeof(*keys));
	p->tables[p->ntables++] = (struct pkey_table){ p->nkeys, len };
	p->nkeys += len;
}

/* The number of a table: of one that is there, or of a new one. */
static uint32_t
intern(struct compiler *c, const uint16_t *keys, uint32_t len)
{
	uint64_t hash = hash_keys(keys, len);
	uint32_t head = map_get(&c->tables, hash), t = head;

	while (t != MAP_NONE && !is_table(c->out, t, keys, len))
		t = c->next[t];
	if (t != MAP_NONE)
		return t;
	add_table(c, keys, len);
	c->next[c->out->ntables - 1] = head;
	map_set(&c->tables, hash, c->out->ntables - 1);
	return c->out->ntables - 1;
}

/* ---- Places ---- */

/* One port's table while it is made. */
struct layout {
	uint16_t *keys;		/* the places; 0: a hole */
	uint32_t room;		/* places */
	uint32_t len;		/* up to the last key */
	uint32_t hole;		/* there is none below */
};

static void
put(struct layout *l, uint32_t place, uint16_t key)
{
	l->keys[place] = key;
	if (place >= l->len)
		l->len = place + 1;
}

/* Remember where the port has its keys; index 0 is given by other rules. */
static void
note_held(struct compiler *c, uint32_t port, uint32_t room)
{
	const struct pkeys_held *h = c->in->held ? &c->in->held[port] : NULL;

	for (uint32_t i = 1; h && h->keys && i < h->len && i < room; i++) {
		uint16_t key = h->keys[i];

		if (!(key & PKEY_NUMBER) || c->stamp[key] == port + 1)
			continue;
		c->stamp[key] = port + 1;
		c->at[key] = i;
	}
}

/* The key's place in what the port holds; 0: it has none. */
static uint32_t
place_of(const struct compiler *c, uint32_t port, uint16_t key)
{
	return c->stamp[key] == port + 1 ? c->at[key] : 0;
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
lay_out(struct compiler *c, uint32_t port, const struct grant *g, uint32_t len, struct layout *l)
{
	uint32_t zero = choose_first(g, len);

	note_held(c, port, l->room);
	put(l, 0, g[zero].key);
	for (uint32_t i = 0; i < len; i++) {
		uint32_t place = place_of(c, port, g[i].key);

		if (i != zero && place && !l->keys[place])
			put(l, place, g[i].key);
		else
			place = 0;
		c->at[g[i].key] = place;	/* what it has got */
		c->stamp[g[i].key] = i == zero || place ? UINT32_MAX : 0;
	}
	/* Its membership changed: the place of the other bit, unless that is wanted as well. */
	for (uint32_t i = 0; i < len; i++) {
		uint32_t place = place_of(c, port, g[i].key ^ PKEY_FULL);

		if (c->stamp[g[i].key] == UINT32_MAX || !place || l->keys[place])
			continue;
		put(l, place, g[i].key);
		c->stamp[g[i].key] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < len; i++) {
		if (c->stamp[g[i].key] == UINT32_MAX)
			continue;
		while (l->keys[l->hole])
			l->hole++;
		put(l, l->hole, g[i].key);
	}
	for (uint32_t i = 0; i < len; i++)
		c->stamp[g[i].key] = 0;
}

static void
overflows(struct compiler *c, uint32_t port, uint32_t keys, uint32_t room, bool enforced)
{
	struct pkeys_report *r = c->report;

	if (r->overflows < PKEYS_OVERFLOWS)
		r->overflow[r->overflows] = (struct pkeys_overflow){ port, keys, room, enforced };
	r->overflows++;
}

static void
make_table(struct compiler *c, uint32_t port, uint16_t *keys)
{
	const struct fabric_node *n = &c->f->nodes[c->f->ports[port].node];
	const struct grant *g = c->sorted + c->first[port];
	uint32_t len = c->first[port + 1] - c->first[port];
	struct layout l = { .keys = keys, .room = n->pkey_cap ? n->pkey_cap : 1, .hole = 1 };

	if (len > l.room) {
		overflows(c, port, len, l.room, false);
		/* Which is the last, by its number. */
		g += len - 1;
		len = 1;
	}
	memset(keys, 0, l.room * sizeof(*keys));
	lay_out(c, port, g, len, &l);
	c->out->table[port] = intern(c, keys, l.len);
}

/* ---- Ports of switches that lead to hosts ---- */

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

static void
make_enforced(struct compiler *c, uint32_t port, uint16_t *keys)
{
	const struct fabric_port *p = &c->f->ports[port];
	uint32_t room = c->f->nodes[p->node].enforce_cap, table = c->out->table[p->peer], len;
	uint8_t bits = c->enforce[p->peer] ? c->enforce[p->peer] : c->default_enforce[p->peer];
	const struct grant *first = &c->sorted[c->first[p->peer]];
	bool only_default = c->first[p->peer + 1] == c->first[p->peer] ||
		(first->key & PKEY_NUMBER) == PKEY_DEFAULT;	/* which comes last */

	if (!only_default)
		bits = c->enforce[p->peer];
	if (!room) {
		c->report->unenforced += bits != 0;
		return;
	}
	if (!bits)
		return;
	c->out->enforce[port] = bits;
	c->out->table[port] = table;
	if (c->out->tables[table].len <= room)
		return;
	len = pack(c->out, table, keys);
	if (len > room) {
		overflows(c, port, len, room, true);
		keys[0] = c->sorted[c->first[p->peer + 1] - 1].key;
		len = 1;
	}
	c->out->table[port] = intern(c, keys, len);
}

static void
make_tables(struct compiler *c)
{
	const struct fabric *f = c->f;
	uint16_t *keys = mem_array(KEYS, sizeof(*keys));

	for (uint32_t i = 0; i < c->nends; i++)
		make_table(c, c->ends[i].port, keys);
	for (uint32_t port = 0; port < f->nports; port++) {
		const struct fabric_port *p = &f->ports[port];

		if (f->nodes[p->node].type == NODE_SWITCH && p->number &&
		    p->peer != FABRIC_NONE && f->nodes[f->ports[p->peer].node].type != NODE_SWITCH)
			make_enforced(c, port, keys);
	}
	mem_free(keys);
}

static void
index_aliases(struct compiler *c)
{
	for (uint32_t i = 0; i < c->in->naliases; i++)
		map_set(&c->alias, c->in->aliases[i].alias, i);
}

static struct plan_pkeys *
section_new(const struct fabric *f)
{
	struct plan_pkeys *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->nports = f->nports;
	p->table = mem_array(f->nports + 1u, sizeof(*p->table));
	p->enforce = mem_array(f->nports + 1u, sizeof(*p->enforce));
	for (uint32_t i = 0; i < f->nports; i++)
		p->table[i] = PKEYS_NONE;
	return p;
}

struct plan_pkeys *
pkeys_compile(const struct pkeys_input *in, struct pkeys_report *report)
{
	struct compiler *c = mem_zalloc(sizeof(*c));
	const struct policy *policy = in->policy;
	struct pkeys_report unused;
	struct plan_pkeys *out;

	c->in = in;
	c->f = in->fabric;
	c->report = report ? report : &unused;
	memset(c->report, 0, sizeof(*c->report));
	c->out = out = section_new(c->f);
	c->done = mem_array(c->f->nports + 1u, sizeof(*c->done));
	c->barred = mem_array(c->f->nports + 1u, sizeof(*c->barred));
	c->enforce = mem_array(c->f->nports + 1u, 1);
	c->default_enforce = mem_array(c->f->nports + 1u, 1);
	index_aliases(c);
	list_ends(c);
	for (uint32_t i = 0; i < policy->len; i++) {
		bar(c, &policy->list[i]->except, i);
		settle_members(c, policy->list[i], i);
		settle_kinds(c, policy->list[i], i);
	}
	sort_grants(c);
	make_tables(c);
	map_free(&c->alias);
	map_free(&c->tables);
	mem_free(c->ends);
	mem_free(c->next);
	mem_free(c->first);
	mem_free(c->sorted);
	mem_free(c->grants);
	mem_free(c->done);
	mem_free(c->barred);
	mem_free(c->enforce);
	mem_free(c->default_enforce);
	mem_free(c);
	return out;
}

/* ---- For people ---- */

const char *
pkeys_overflow_text(const struct pkeys_overflow *o, const struct fabric *f, char *text, size_t size)
{
	const struct fabric_port *p = &f->ports[o->port];
	char name[FABRIC_NAME_SIZE];

	snprintf(text, size, "port %u of %s is to %s %u P_Keys and has room for %u (%s)", p->number,
		 fabric_node_text(name, f, p->node, FABRIC_NAME_LEN),
		 o->enforced ? "enforce" : "have", o->keys, o->room,
		 o->enforced ? "PartitionEnforcementCap" : "PartitionCap");
	return text;
}

int
pkeys_membership(const struct partition *p, const struct fabric *f, uint32_t port,
		 const struct pkeys_alias *aliases, uint32_t naliases)
{
	struct partition copy = *p, *list = &copy;
	struct policy one = { .refs = 1, .len = 1, .list = &list };
	struct pkeys_input in = { .policy = &one, .fabric = f, .aliases = aliases,
				  .naliases = naliases };
	struct plan_pkeys *pkeys = pkeys_compile(&in, NULL);
	uint16_t limited = 0, full = 0;
	uint32_t t = pkeys->table[port];

	for (uint32_t i = 0; t != PKEYS_NONE && i < pkeys->tables[t].len; i++) {
		uint16_t key = plan_pkeys_at(pkeys, port, i);

		limited |= key == p->pkey;
		full |= key == (p->pkey | PKEY_FULL);
	}
	plan_pkeys_unref(pkeys);
	return limited && full ? MEMBERSHIP_BOTH : full ? MEMBERSHIP_FULL :
	       limited ? MEMBERSHIP_LIMITED : -1;
}
