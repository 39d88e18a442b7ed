/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import_policy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "sm/base/map.h"

/*
 * Groups of ports of OpenSM's policy as selections of Weft. What cannot be said as one is left out
 * of its group, so that a rule matches less rather than more.
 */
#define DEFAULT_PKEY 0x7fffu
#define GUIDS_MAX 256u		/* that a range is written out to */
#define GUIDS_ALL 65536u	/* likewise all ranges together */
#define NODE_NAME_LEN 64u	/* a NodeDescription */

#define NOTE(w, line, ...) import_note((w)->n, (w)->file, line, __VA_ARGS__)

/* Selections that grow. */
struct chosen {
	const char **list;		/* in the configuration's region; NULL at the end */
	unsigned len;			/* how many */
	unsigned room;			/* for so many */
	struct map seen;		/* map_text() of each -> its place */
};

/* A port may be in several groups, or twice in one. */
static bool
is_chosen(struct chosen *to, const char *text)
{
	uint64_t key = map_text(text, strlen(text));
	uint32_t at = map_get(&to->seen, key);

	if (at != MAP_NONE)
		return strcmp(to->list[at], text) == 0;
	map_set(&to->seen, key, to->len);
	return false;
}

static void
choose(struct import_picker *w, struct chosen *to, const char *text)
{
	if (is_chosen(to, text))
		return;
	if (to->len + 1 >= to->room) {
		const char **more;

		to->room = to->room ? 2 * to->room : 8;
		more = region_array(w->c->region, to->room, sizeof(*more));
		if (to->len)
			memcpy(more, to->list, to->len * sizeof(*more));
		to->list = more;
	}
	to->list[to->len++] = text;
}

static void
choose_guids(struct import_picker *w, struct chosen *to, const struct import_ranges *r,
	     unsigned line)
{
	for (unsigned i = 0; i < r->len; i++) {
		uint64_t from = r->list[i].from, last = r->list[i].to;

		from += !from;	/* 0 is nobody's */
		if (last < from)
			continue;
		if (last - from >= GUIDS_MAX || w->guids + (last - from) >= GUIDS_ALL) {
			NOTE(w, line, "GUIDs from 0x%016llx to 0x%016llx are left out: Weft has no "
			     "ranges of them; write those that there are", (unsigned long long)from,
			     (unsigned long long)last);
			continue;
		}
		for (uint64_t k = 0; k <= last - from; k++, w->guids++)
			choose(w, to, region_printf(w->c->region, "0x%016llx",
						    (unsigned long long)(from + k)));
	}
}

/* A name that Weft takes for one. */
static bool
is_plain(struct import_word name)
{
	static const char *const others[] = { "all", "self", "0x", "group:", "partition:", "/" };

	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.s[i] < ' ' || (unsigned char)name.s[i] >= 0x7f)
			return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (name.len >= strlen(others[i]) &&
		    strncasecmp(name.s, others[i], strlen(others[i])) == 0)
			return false;
	return name.len > 0 && name.len <= NODE_NAME_LEN;
}

/* "NODE/P1" is one port of a node. */
static void
choose_name(struct import_picker *w, struct chosen *to, const char *text, unsigned line)
{
	const char *slash = strrchr(text, '/'), *digits = slash ? slash + 1 : "";
	uint64_t port = 0;

	digits += *digits == 'p' || *digits == 'P' ? 1 : strlen(digits);
	if (!import_number((struct import_word){ digits, strlen(digits) }, 254, &port) || !port)
		NOTE(w, line, "port \"%.60s\" is left out: it is no NODE/P1", text);
	else if (!is_plain((struct import_word){ text, (size_t)(slash - text) }))
		NOTE(w, line, "port \"%.60s\" is left out: Weft takes it for another thing than a "
		     "name; write its GUID", text);
	else
		choose(w, to, region_printf(w->c->region, "%.*s/%u", (int)(slash - text), text,
					    (unsigned)port));
}

/* Partitions of the same number have one name in Weft. */
static const char *
partition_name(const struct import_picker *w, const char *name)
{
	const struct config_partitions *all = &w->c->partitions;

	for (unsigned i = 0; i < all->len; i++)
		if (strcmp(all->list[i].name, name) == 0 ||
		    (all->list[i].pkey == DEFAULT_PKEY && strcmp(name, "Default") == 0))
			return all->list[i].name;
	return NULL;
}

static void
choose_partitions(struct import_picker *w, struct chosen *to, const struct import_group *g)
{
	const struct config_partitions *all = &w->c->partitions;

	for (unsigned i = 0; i < g->partitions.len; i++) {
		const char *name = partition_name(w, g->partitions.list[i]);

		if (name)
			choose(w, to, region_printf(w->c->region, "partition:%s", name));
		else
			NOTE(w, g->line, "partition %.60s is left out: there is none",
			     g->partitions.list[i]);
	}
	for (unsigned i = 0; i < g->pkeys.len; i++)
		for (unsigned k = 0; k < all->len; k++)
			if (all->list[k].pkey >= g->pkeys.list[i].from &&
			    all->list[k].pkey <= g->pkeys.list[i].to)
				choose(w, to, region_printf(w->c->region, "partition:%s",
							    all->list[k].name));
}

static void
choose_group(struct import_picker *w, struct chosen *to, const struct import_group *g)
{
	static const struct {
		unsigned kind;
		const char *word;
	} kinds[] = {
		{ IMPORT_KIND_ALL, "all" }, { IMPORT_KIND_CA, "all-hosts" },
		{ IMPORT_KIND_SWITCH, "all-switches" }, { IMPORT_KIND_ROUTER, "all-routers" },
		{ IMPORT_KIND_SELF, "self" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (g->kinds & kinds[i].kind)
			choose(w, to, kinds[i].word);
	choose_guids(w, to, &g->guids, g->line);
	for (unsigned i = 0; i < g->ports.len; i++)
		choose_name(w, to, g->ports.list[i], g->line);
	choose_partitions(w, to, g);
}

static const struct import_group *
group_by_name(const struct import_picker *w, const char *name)
{
	size_t len = 0;
	char plain[256];

	for (; *name && len + 1 < sizeof(plain); name++)
		if (!isspace((unsigned char)*name))
			plain[len++] = *name;
	plain[len] = '\0';
	for (const struct import_group *g = w->p->groups; g; g = g->next)
		if (strcasecmp(g->name, plain) == 0)
			return g;
	return NULL;
}

bool
import_ports(struct import_picker *w, const struct import_rule *r, const struct import_list *groups,
	     const struct import_ranges *guids, const char ***ports)
{
	struct chosen all = { 0 };

	*ports = NULL;
	if (!groups->len && !guids->len)
		return true;
	for (unsigned i = 0; i < groups->len; i++) {
		const struct import_group *g = group_by_name(w, groups->list[i]);

		if (g)
			choose_group(w, &all, g);
		else
			NOTE(w, r->line, "there is no group %.60s; OpenSM takes nothing of a file "
			     "with that", groups->list[i]);
	}
	choose_guids(w, &all, guids, r->line);
	*ports = all.list;
	map_free(&all.seen);
	if (!all.len)
		NOTE(w, r->line, "the rule is left out: there is nobody for it");
	return all.len > 0;
}
