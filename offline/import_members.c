/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <arpa/inet.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/text.h"

/*
 * Statements of partitions.conf as partitions of a configuration.
 *
 * OpenSM goes through the statements in order, and the last that says something of a port counts.
 * In Weft the closest counts: a GUID before `self`, that before a kind of ports, and order matters
 * among equals only. So what a later statement overrides is dropped here, and what is left says the
 * same in either way. Which kind of port a GUID has is not known here: it is taken for that of a
 * host, as nearly all are, and a note says so where it matters.
 *
 * Statements of one P_Key are one partition, with the first name. A statement without a P_Key is of
 * the partition of its name, or gets the least P_Key that no statement above it has; it is written
 * down, so that hosts keep theirs.
 */
#define DEFAULT_PKEY 0x7fffu
#define PKEYS 0x8000u
#define MEMBERSHIPS 3u
#define DEFAULT_SCOPE 2u

/* What is still true of what the statements said. */
struct item {
	struct import_member m;		/* whom, and how */
	bool index0;			/* the key is at index 0 */
};

struct items {
	struct item *list;		/* in order; mem_free() */
	unsigned len;			/* how many */
	unsigned room;			/* for so many */
};

/* A partition that grows. */
struct growing {
	struct growing *next;		/* in the order of the first statement */
	const char *name;		/* as in the file, "" */
	unsigned pkey;			/* number */
	unsigned line;			/* of its first statement; 0: none said it */
	struct items kinds;		/* `self` is one */
	struct items ports;		/* those with a GUID, none twice */
	struct map port_of;		/* GUID to place among these */
	bool index0;			/* of somebody */
	bool assumed[IMPORT_ROUTERS + 1];	/* said of the kind of its GUIDs, by kind */
	unsigned sl;			/* of its last statement */
	unsigned scopes;		/* of its broadcast groups, by bit; 0: it has none */
	struct import_flags ipoib;	/* of the first statement with `ipoib` */
	struct config_group *groups;	/* further ones */
	unsigned ngroups;		/* how many */
	unsigned room;			/* for groups */
};

struct members {
	const char *file;		/* for notes; NULL: there is none */
	const struct import_said *said;	/* of opensm.conf */
	struct config *c;		/* gets the partitions */
	struct import_notes *n;		/* what cannot be said */
	struct growing *first;		/* in order */
	struct growing **tail;		/* where the next one goes */
	struct growing **by_pkey;	/* PKEYS of them */
	unsigned len;			/* how many */
	unsigned last_chosen;		/* P_Key */
	struct map mgids;		/* that are taken */
	bool self_noted;		/* the note about SELF is made */
};

static struct growing *
new_partition(struct members *m, const char *name, unsigned pkey, unsigned line)
{
	struct growing *g = region_alloc(m->n->region, sizeof(*g));

	g->name = name;
	g->pkey = pkey;
	g->line = line;
	*m->tail = g;
	m->tail = &g->next;
	m->by_pkey[pkey] = g;
	m->len++;
	return g;
}

static struct growing *
by_name(struct members *m, const char *name)
{
	struct growing *g = m->first;

	while (g && strcmp(g->name, name) != 0)
		g = g->next;
	return *name ? g : NULL;
}

/* The least P_Key that no statement so far has; 0: all are taken. */
static unsigned
choose_pkey(struct members *m)
{
	while (m->last_chosen < DEFAULT_PKEY - 1)
		if (!m->by_pkey[++m->last_chosen])
			return m->last_chosen;
	return 0;
}

/* The partition of a statement; NULL: it has none, which is said. */
static struct growing *
partition_of(struct members *m, const struct import_partition *p)
{
	struct growing *g = p->pkey ? m->by_pkey[p->pkey] : by_name(m, p->name);
	unsigned pkey = p->pkey;

	if (g) {
		if (p->pkey && g->line && *p->name && strcmp(p->name, g->name) != 0)
			import_note(m->n, m->file, p->line, "%s has P_Key 0x%04x, which is that "
				    "of %s in line %u: as in OpenSM they are one partition, in "
				    "which all of their members meet", p->name, g->pkey, g->name,
				    g->line);
		g->line = g->line ? g->line : p->line;
		return g;
	}
	if (!pkey) {
		pkey = choose_pkey(m);
		if (!pkey) {
			import_note(m->n, m->file, p->line, "the statement is left out: there is "
				    "no P_Key left for it");
			return NULL;
		}
		import_note(m->n, m->file, p->line, "%s has no P_Key; 0x%04x is what OpenSM gives "
			    "it when it starts, and is written down so that it stays",
			    *p->name ? p->name : "the partition", pkey);
	}
	return new_partition(m, p->name, pkey, p->line);
}

/* Does the new kind take the place of the old one? ALL does of each. */
static bool
overrides(enum import_whom fresh, enum import_whom old)
{
	return fresh == IMPORT_ALL || fresh == old ||
		(fresh == IMPORT_CAS && old == IMPORT_SELF);
}

static void
add_item(struct items *to, const struct item *i)
{
	if (to->len == to->room) {
		to->room = to->room ? 2 * to->room : 16;
		to->list = mem_realloc(to->list, to->room, sizeof(*to->list));
	}
	to->list[to->len++] = *i;
}

static void
drop_kinds(struct growing *g, enum import_whom fresh)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < g->kinds.len; i++)
		if (!overrides(fresh, g->kinds.list[i].m.whom))
			g->kinds.list[kept++] = g->kinds.list[i];
	g->kinds.len = kept;
}

static void
drop_port(struct growing *g, uint64_t guid)
{
	uint32_t place = map_get(&g->port_of, guid);
	const struct item *last;

	if (place == MAP_NONE)
		return;
	last = &g->ports.list[g->ports.len - 1];
	g->ports.list[place] = *last;
	map_set(&g->port_of, last->m.guid, place);
	map_remove(&g->port_of, guid);
	g->ports.len--;
}

static bool
differ(const struct growing *g, enum config_membership membership)
{
	for (unsigned i = 0; i < g->ports.len; i++)
		if (g->ports.list[i].m.membership != membership)
			return true;
	return false;
}

/* A kind of ports after GUIDs with another membership: who has them matters. */
static void
note_kind(struct members *m, struct growing *g, const struct import_member *fresh)
{
	static const char *const words[] = {
		[IMPORT_CAS] = "ALL_CAS", [IMPORT_SWITCHES] = "ALL_SWITCHES",
		[IMPORT_ROUTERS] = "ALL_ROUTERS",
	};

	if (g->assumed[fresh->whom] || fresh->whom == IMPORT_ALL ||
	    (fresh->whom == IMPORT_SELF && (m->said->guid || m->self_noted)) ||
	    !differ(g, fresh->membership))
		return;
	if (fresh->whom == IMPORT_SELF) {
		m->self_noted = true;
		import_note(m->n, m->file, fresh->line, "SELF after GUIDs: if one of them is the "
			    "subnet manager's own port, take that GUID out, for in Weft a GUID "
			    "counts more than self");
	} else {
		g->assumed[fresh->whom] = true;
		import_note(m->n, m->file, fresh->line, "%s after GUIDs of partition 0x%04x: these "
			    "are taken for ports of hosts; check those of switches and routers, if "
			    "there are any", words[fresh->whom], g->pkey);
	}
}

static void
add_kind(struct members *m, struct growing *g, const struct item *i)
{
	enum import_whom whom = i->m.whom;

	if (i->index0 && g->pkey != DEFAULT_PKEY &&
	    (whom == IMPORT_ALL || whom == IMPORT_CAS || whom == IMPORT_SELF))
		import_note(m->n, m->file, i->m.line, "indx0: the subnet manager's own port keeps "
			    "the default key at index 0, by which it sends");
	note_kind(m, g, &i->m);
	drop_kinds(g, whom);
	if (whom == IMPORT_ALL || whom == IMPORT_CAS) {
		g->ports.len = 0;
		map_clear(&g->port_of);
	}
	if (whom == IMPORT_SELF && m->said->guid)
		drop_port(g, m->said->guid);
	add_item(&g->kinds, i);
}

/* A port has one key at index 0: that of the last statement which says so. */
static void
leave_index0(struct members *m, struct growing *g, const struct growing *to,
	     const struct import_member *who)
{
	bool all = who->whom == IMPORT_ALL || who->whom == IMPORT_CAS;
	uint32_t place = who->whom == IMPORT_PORT ? map_get(&g->port_of, who->guid) : MAP_NONE;

	for (unsigned i = 0; i < g->kinds.len; i++) {
		struct item *kind = &g->kinds.list[i];

		if (overrides(who->whom, kind->m.whom))
			kind->index0 = false;
		else if (kind->index0 && g->pkey < to->pkey)
			import_note(m->n, m->file, who->line, "indx0 of ports that have it in "
				    "partition 0x%04x already: in OpenSM the last counts, here the "
				    "lowest P_Key", g->pkey);
	}
	for (unsigned i = 0; i < g->ports.len && all; i++)
		g->ports.list[i].index0 = false;
	if (place != MAP_NONE)
		g->ports.list[place].index0 = false;
}

static void
take_index0(struct members *m, struct growing *g, const struct import_member *who)
{
	g->index0 = true;
	for (struct growing *other = m->first; other; other = other->next)
		if (other != g && other->index0)
			leave_index0(m, other, g, who);
}

static void
add_member(struct members *m, struct growing *g, const struct import_member *fresh, bool index0)
{
	struct item i = { *fresh, index0 };

	if (index0)
		take_index0(m, g, fresh);
	if (fresh->membership == MEMBERSHIP_BOTH && !m->said->both)
		i.m.membership = MEMBERSHIP_FULL;
	if (fresh->whom != IMPORT_PORT) {
		add_kind(m, g, &i);
		return;
	}
	drop_port(g, fresh->guid);
	if (m->said->guid == fresh->guid)
		drop_kinds(g, IMPORT_SELF);
	map_set(&g->port_of, fresh->guid, g->ports.len);
	add_item(&g->ports, &i);
}

/* False: another group has the address. */
static bool
take_mgid(struct members *m, const uint8_t gid[16], char text[INET6_ADDRSTRLEN])
{
	uint64_t key;

	inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN);
	key = map_text(text, strlen(text));
	if (map_get(&m->mgids, key) != MAP_NONE)
		return false;
	map_set(&m->mgids, key, 0);
	return true;
}

static void
set_group(const struct members *m, struct config_group *to, const struct import_flags *f)
{
	to->mtu = f->mtu;
	to->rate = f->rate;
	to->sl = m->said->qos ? f->sl : CONFIG_SL_FREE;
	to->qkey = f->qkey;
	to->tclass = f->tclass;
	to->flow_label = f->flow_label;
}

static void
add_group(struct members *m, struct growing *g, const struct import_mgid *said,
	  const uint8_t gid[16], uint32_t qkey)
{
	char text[INET6_ADDRSTRLEN];
	struct config_group *more;

	if (!take_mgid(m, gid, text))
		return;	/* it is there: the first counts */
	if (g->ngroups == g->room) {
		g->room = g->room ? 2 * g->room : 8;
		more = region_array(m->c->region, g->room, sizeof(*more));
		if (g->ngroups)
			memcpy(more, g->groups, g->ngroups * sizeof(*more));
		g->groups = more;
	}
	set_group(m, &g->groups[g->ngroups], &said->flags);
	g->groups[g->ngroups].qkey = said->flags.qkey ? said->flags.qkey : qkey;
	g->groups[g->ngroups++].mgid = region_strdup(m->c->region, text);
}

/* Groups of IP have the P_Key in their address, and the broadcast group's MTU and rate. */
static bool
fits_ip(struct members *m, const struct growing *g, const struct import_partition *p,
	const struct import_mgid *said)
{
	unsigned pkey = (unsigned)(said->gid[4] << 8 | said->gid[5]);

	if (pkey && (pkey & 0x7fff) != g->pkey)
		import_note(m->n, m->file, said->line, "the group is left out, as in OpenSM: its "
			    "address has P_Key 0x%04x, the partition 0x%04x", pkey, g->pkey);
	else if (said->flags.rate != p->flags.rate || said->flags.mtu != p->flags.mtu)
		import_note(m->n, m->file, said->line, "the group is left out, as in OpenSM: its "
			    "rate or MTU is not that of the partition");
	else
		return true;
	return false;
}

static void
add_groups(struct members *m, struct growing *g, const struct import_partition *p,
	   const struct import_mgid *said)
{
	unsigned scopes = said->flags.scopes ? said->flags.scopes : 1u << DEFAULT_SCOPE;
	unsigned signature = (unsigned)(said->gid[2] << 8 | said->gid[3]);
	bool ip = signature == 0x401b || signature == 0x601b;
	uint8_t gid[16];

	if (ip && !fits_ip(m, g, p, said))
		return;
	memcpy(gid, said->gid, sizeof(gid));
	if (ip) {
		gid[4] = (uint8_t)(0x80 | g->pkey >> 8);
		gid[5] = (uint8_t)g->pkey;
	}
	if (!said->flags.scopes && (gid[1] & 0xf) != DEFAULT_SCOPE)
		import_note(m->n, m->file, said->line, "OpenSM gives the group scope 2 whatever "
			    "its address says, for there is no scope=; so it is here");
	for (unsigned scope = 0; scope < 16; scope++) {
		if (!(scopes & 1u << scope))
			continue;
		gid[1] = (uint8_t)((gid[1] & 0xf0) | scope);
		add_group(m, g, said, gid, ip ? 0x0b1b : 0);
	}
}

static void
add_ipoib(struct members *m, struct growing *g, const struct import_flags *f)
{
	uint8_t gid[16] = {
		0xff, 0x10, 0x40, 0x1b, (uint8_t)(0x80 | g->pkey >> 8), (uint8_t)g->pkey,
		[12] = 0xff, 0xff, 0xff, 0xff,
	};
	unsigned scopes = f->scopes ? f->scopes : 1u << DEFAULT_SCOPE;
	char text[INET6_ADDRSTRLEN];

	if (!g->scopes) {
		g->ipoib = *f;
		g->ipoib.qkey = f->qkey ? f->qkey : 0x0b1b;
	}
	for (unsigned scope = 0; scope < 16; scope++) {
		gid[1] = (uint8_t)(0x10 | scope);
		if (scopes & 1u << scope && take_mgid(m, gid, text))
			g->scopes |= 1u << scope;
	}
}

static void
add_statement(struct members *m, const struct import_partition *p)
{
	struct growing *g = partition_of(m, p);

	if (!g)
		return;
	g->sl = p->flags.sl;
	if (p->ipoib)
		add_ipoib(m, g, &p->flags);
	for (const struct import_mgid *mgid = p->groups; mgid; mgid = mgid->next)
		add_groups(m, g, p, mgid);
	for (const struct import_member *one = p->members; one; one = one->next)
		add_member(m, g, one, p->index0);
}

/*
 * Into the configuration.
 */
static const char *
selection_of(struct region *r, const struct import_member *m)
{
	static const char *const words[] = {
		[IMPORT_SELF] = "self", [IMPORT_ALL] = "all", [IMPORT_CAS] = "all-hosts",
		[IMPORT_SWITCHES] = "all-switches", [IMPORT_ROUTERS] = "all-routers",
	};
	char text[GUID_TEXT_SIZE];

	if (m->whom != IMPORT_PORT)
		return words[m->whom];
	return region_strdup(r, guid_text(text, m->guid));
}

/* Those that are members like `like`, as an entry. */
static void
put_entry(struct members *m, struct config_partition *p, const struct item *from, unsigned len,
	  const struct item *like)
{
	struct config_members *entry = &p->members[p->nmembers];
	unsigned n = 0;

	for (unsigned i = 0; i < len; i++)
		n += from[i].m.membership == like->m.membership && from[i].index0 == like->index0;
	if (!n)
		return;
	entry->nodes = region_array(m->c->region, n + 1u, sizeof(*entry->nodes));
	n = 0;
	for (unsigned i = 0; i < len; i++)
		if (from[i].m.membership == like->m.membership && from[i].index0 == like->index0)
			entry->nodes[n++] = selection_of(m->c->region, &from[i].m);
	entry->membership = like->m.membership;
	entry->index0 = like->index0;
	p->nmembers++;
}

/* Kinds of ports are in order, each an entry of its own; GUIDs are together by membership. */
static void
put_members(struct members *m, struct config_partition *p, const struct growing *g)
{
	p->members = region_array(m->c->region, g->kinds.len + 2 * MEMBERSHIPS,
				  sizeof(*p->members));
	for (unsigned i = 0; i < g->kinds.len; i++)
		put_entry(m, p, &g->kinds.list[i], 1, &g->kinds.list[i]);
	for (unsigned k = 0; k < 2 * MEMBERSHIPS; k++) {
		struct item like = {
			.m.membership = (enum config_membership)(k % MEMBERSHIPS),
			.index0 = k >= MEMBERSHIPS,
		};

		put_entry(m, p, g->ports.list, g->ports.len, &like);
	}
}

static bool
is_taken(const struct members *m, const char *name)
{
	for (unsigned i = 0; i < m->c->partitions.len; i++)
		if (strcmp(m->c->partitions.list[i].name, name) == 0)
			return true;
	return false;
}

/* A name that Weft allows and no other partition has. */
static const char *
name_of(struct members *m, const struct growing *g)
{
	const char *unlike;
	char *name;

	if (g->pkey == DEFAULT_PKEY)
		return "default";
	name = region_printf(m->c->region, "%.46s", *g->name ? g->name : "pkey");
	for (char *s = name; *s; s++)
		if (strchr("/:", *s) || (unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f)
			*s = '-';
	if (*g->name && strcmp(name, "default") != 0 && !is_taken(m, name))
		return name;
	unlike = region_printf(m->c->region, "%s-%04x", name, g->pkey);
	for (unsigned i = 2; is_taken(m, unlike); i++)
		unlike = region_printf(m->c->region, "%s-%04x-%u", name, g->pkey, i);
	return unlike;
}

static void
put_ipoib(struct members *m, struct config_partition *p, const struct growing *g)
{
	p->nipoib = 1;
	p->ipoib = region_alloc(m->c->region, sizeof(*p->ipoib));
	set_group(m, p->ipoib, &g->ipoib);
	p->ipoib->scopes = region_array(m->c->region, 16, sizeof(unsigned));
	for (unsigned scope = 0; scope < 16; scope++)
		if (g->scopes & 1u << scope)
			p->ipoib->scopes[p->ipoib->nscopes++] = scope;
}

static void
put_partition(struct members *m, const struct growing *g)
{
	struct config_partition *p = &m->c->partitions.list[m->c->partitions.len];

	p->name = name_of(m, g);
	p->pkey = g->pkey;
	p->except = region_array(m->c->region, 1, sizeof(*p->except));
	p->groups = g->groups;
	p->ngroups = g->ngroups;
	p->sl = m->said->qos && g->sl ? g->sl : CONFIG_SL_FREE;
	p->enforce = m->said->enforce;
	if (g->scopes)
		put_ipoib(m, p, g);
	put_members(m, p, g);
	m->c->partitions.len++;
}

/* The last word of the file on the subnet manager's own port. */
static void
note_self(struct members *m, const struct growing *standard)
{
	const struct item *i = standard->kinds.list, *end = i + standard->kinds.len, *last = NULL;

	for (; i < end; i++)
		if (i->m.whom == IMPORT_SELF || i->m.whom == IMPORT_ALL || i->m.whom == IMPORT_CAS)
			last = i;
	if (last && last->m.membership == MEMBERSHIP_LIMITED)
		import_note(m->n, m->file, last->m.line, "OpenSM makes its own port a limited "
			    "member of the default partition by this; Weft keeps it a full one, as "
			    "OpenSM's manual says, for without it limited members do not reach the "
			    "subnet administrator");
}

static void
free_partitions(struct members *m)
{
	for (struct growing *g = m->first; g; g = g->next) {
		mem_free(g->kinds.list);
		mem_free(g->ports.list);
		map_free(&g->port_of);
	}
	map_free(&m->mgids);
	mem_free(m->by_pkey);
}

void
import_partitions(const struct import_partition *list, const char *file,
		  const struct import_said *said, struct config *c, struct import_notes *n)
{
	struct members m = { .file = file, .said = said, .c = c, .n = n };
	struct import_member all = { .whom = IMPORT_ALL, .membership = MEMBERSHIP_LIMITED };
	struct import_member self = { .whom = IMPORT_SELF, .membership = MEMBERSHIP_FULL };
	struct import_flags usual = { .mtu = 4, .rate = 3 };
	struct growing *standard;

	m.tail = &m.first;
	m.by_pkey = mem_array(PKEYS, sizeof(*m.by_pkey));
	standard = new_partition(&m, "Default", DEFAULT_PKEY, 0);
	if (!file)
		all.membership = MEMBERSHIP_FULL;
	add_member(&m, standard, &all, false);
	if (file)
		add_member(&m, standard, &self, false);
	else
		add_ipoib(&m, standard, &usual);
	for (; list; list = list->next)
		add_statement(&m, list);
	if (file)
		note_self(&m, standard);
	c->partitions.list = region_array(c->region, m.len, sizeof(*c->partitions.list));
	c->partitions.len = 0;
	for (const struct growing *g = m.first; g; g = g->next)
		put_partition(&m, g);
	free_partitions(&m);
}
