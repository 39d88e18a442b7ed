/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/selected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * One selection after the other adds to a set: a word its kinds, a GUID itself, a name the GUIDs of
 * end ports, a group what it says without what it excepts. The set is put in order at the end.
 *
 * What a group excepts is taken from the GUIDs and kinds that it names; a group of a kind without
 * some GUIDs cannot be said by kinds, so its ports are named one by one as far as they are known.
 */
#define DEPTH_MAX 16u		/* groups in groups */

/* A set being made. */
struct set {
	struct selecting *s;		/* how */
	struct selected *out;		/* what it has so far */
	uint32_t size;			/* GUIDs that there is room for */
	unsigned depth;			/* groups that led here */
	bool except;			/* these are excepted */
};

static const struct word {
	const char *text;
	unsigned kinds;
} words[] = {
	{ "all", SELECTED_ALL }, { "all-hosts", SELECTED_HOSTS },
	{ "all-switches", SELECTED_SWITCHES }, { "all-routers", SELECTED_ROUTERS },
	{ "self", SELECTED_SELF },
};

unsigned
selected_kind_of(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	switch (f->nodes[p->node].type) {
	case NODE_SWITCH:
		return p->number ? 0 : SELECTED_SWITCHES;
	case NODE_ROUTER:
		return p->guid ? SELECTED_ROUTERS : 0;
	default:
		return p->guid ? SELECTED_HOSTS : 0;
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint32_t
order(uint64_t *guids, uint32_t len)
{
	uint32_t n = 0;

	if (len > 1)
		qsort(guids, len, sizeof(*guids), compare);
	for (uint32_t i = 0; i < len; i++)
		if (!n || guids[i] != guids[n - 1])
			guids[n++] = guids[i];
	return n;
}

static void
add(struct set *t, uint64_t guid)
{
	if (t->out->len == t->size) {
		t->size = t->size ? 2 * t->size : 16;
		t->out->guids = mem_realloc(t->out->guids, t->size, sizeof(*t->out->guids));
	}
	t->out->guids[t->out->len++] = guid;
}

bool
selected_has(const struct selected *s, uint64_t guid)
{
	return s->len && bsearch(&guid, s->guids, s->len, sizeof(guid), compare);
}

bool
selected_port(const struct selected *s, const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];
	unsigned kind = selected_kind_of(f, port);

	if (!kind)
		return false;
	return s->kinds & kind || (s->kinds & SELECTED_SELF && port == f->sm_port) ||
	       selected_has(s, p->guid) || selected_has(s, f->nodes[p->node].guid);
}

void
selected_free(struct selected *s)
{
	mem_free(s->guids);
	*s = (struct selected){ 0 };
}

/* ---- Names ---- */

/* The GUIDs of a node's end ports, or of the one with this number. */
static void
add_node(struct set *t, uint32_t node, int number)
{
	const struct fabric *f = t->s->fabric;
	const struct fabric_node *n = &f->nodes[node];

	for (uint32_t i = 0; i <= n->nports; i++)
		if (f->ports[n->first_port + i].guid && selected_kind_of(f, n->first_port + i) &&
		    (number < 0 || (uint32_t)number == i))
			add(t, f->ports[n->first_port + i].guid);
}

/* Those that the name map says so of, or all. */
static void
add_named(struct set *t, const struct selection *name, int number, bool mapped_only)
{
	const struct fabric *f = t->s->fabric;

	for (uint32_t i = 0; f && i < f->nnodes; i++) {
		const struct fabric_node *n = &f->nodes[i];

		if (mapped_only && !strcmp(n->name, n->desc))
			continue;
		if (selection_match(name, n->name, n->guid))
			add_node(t, i, number);
	}
}

/* Ports that would be meant now, were the name applied. */
static void
count_others(struct set *t, const struct selection *name, int number)
{
	struct selected now = { 0 };
	struct set all = { .s = t->s, .out = &now };
	struct selecting *s = t->s;

	add_named(&all, name, number, false);
	now.len = order(now.guids, now.len);
	for (uint32_t i = 0; i < now.len; i++) {
		uint32_t port;

		if (bsearch(&now.guids[i], t->out->guids, t->out->len, sizeof(uint64_t), compare))
			continue;
		port = fabric_port_by_guid(s->fabric, now.guids[i]);
		if (!s->others++ && port != FABRIC_NONE)
			snprintf(s->first, sizeof(s->first), "%s",
				 s->fabric->nodes[s->fabric->ports[port].node].name);
	}
	selected_free(&now);
}

/* What the pin says, or is made to say; an exception's grows by whoever has the name now. */
static void
add_pinned(struct set *t, const struct selection *name, const char *text, int number)
{
	struct selecting *s = t->s;
	struct buf key = { 0 };
	const uint64_t *pinned;
	bool holds;
	uint32_t len;

	buf_printf(&key, "%s%c%s", s->owner, t->except ? ':' : '/', text);
	pinned = pins_get(s->pins, key.data, &len);
	holds = pinned && s->names == NAMES_PINNED;
	for (uint32_t i = 0; holds && i < len; i++)
		add(t, pinned[i]);
	add_named(t, name, number, holds && !t->except);
	t->out->len = order(t->out->guids, t->out->len);
	if (s->fabric && (!holds || t->except))
		pins_set(s->pins, key.data, t->out->guids, t->out->len);
	buf_free(&key);
}

static int
add_name(struct set *t, const char *text, int number, const char *whole, struct error *e)
{
	struct selection *name = selection_new(text, e);
	struct selected mine = { 0 };
	struct set one = { .s = t->s, .out = &mine, .except = t->except };

	if (!name)
		return e ? e->code : ERR_FORMAT;
	t->s->named = true;
	if (t->s->names == NAMES_TRUSTED)
		add_named(&one, name, number, false);
	else
		add_pinned(&one, name, whole, number);
	mine.len = order(mine.guids, mine.len);
	if (t->s->names == NAMES_PINNED && t->s->fabric && !t->except)
		count_others(&one, name, number);
	for (uint32_t i = 0; i < mine.len; i++)
		add(t, mine.guids[i]);
	selected_free(&mine);
	selection_free(name);
	return 0;
}

/* ---- Groups ---- */

static int
add_list(struct set *t, const char *const *texts, struct error *e);

static void
take_kinds(struct set *t, const struct selected *some, const struct selected *except)
{
	const struct fabric *f = t->s->fabric;
	unsigned kinds = some->kinds & ~except->kinds;

	if (!except->len && !(except->kinds & SELECTED_SELF)) {
		t->out->kinds |= kinds;
		return;
	}
	for (uint32_t i = 0; f && i < f->nports; i++)
		if (selected_kind_of(f, i) & kinds && f->ports[i].guid &&
		    !selected_port(except, f, i))
			add(t, f->ports[i].guid);
}

static bool
excepted(const struct set *t, const struct selected *except, uint64_t guid)
{
	const struct fabric *f = t->s->fabric;
	uint32_t port = f ? fabric_port_by_guid(f, guid) : FABRIC_NONE;

	return selected_has(except, guid) ||
	       (port != FABRIC_NONE && selected_port(except, f, port));
}

static int
add_group(struct set *t, const char *name, struct error *e)
{
	const struct config_partitions *groups = t->s->groups;
	const struct config_node_group *g = NULL;
	struct selected some = { 0 }, except = { 0 };
	struct set in = { .s = t->s, .out = &some, .depth = t->depth + 1, .except = t->except };
	struct set out = { .s = t->s, .out = &except, .depth = t->depth + 1,
			   .except = !t->except };
	int rc;

	for (unsigned i = 0; groups && i < groups->ngroups; i++)
		if (!strcmp(groups->groups[i].name, name))
			g = &groups->groups[i];
	if (!g || t->depth == DEPTH_MAX)
		return error_set(e, ERR_NOT_FOUND, "there is no group of nodes \"%s\" in `groups`",
				 name);
	rc = add_list(&in, g->nodes, e);
	if (!rc)
		rc = add_list(&out, g->except, e);
	except.len = order(except.guids, except.len);
	/* Whom an exception is about is known when he is there. */
	t->s->named |= except.len || except.kinds;
	if (!rc) {
		take_kinds(t, &some, &except);
		for (uint32_t i = 0; i < some.len; i++)
			if (!excepted(t, &except, some.guids[i]))
				add(t, some.guids[i]);
	}
	selected_free(&some);
	selected_free(&except);
	return rc;
}

/* ---- Selections ---- */

static bool
add_word(struct set *t, const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].text, text)) {
			t->out->kinds |= words[i].kinds;
			return true;
		}
	return false;
}

static int
add_one(struct set *t, const char *text, struct error *e)
{
	const char *slash = *text == '/' ? NULL : strrchr(text, '/');
	uint64_t guid, number;
	char *node;
	int rc;

	if (add_word(t, text))
		return 0;
	if (!strncmp(text, "group:", 6))
		return add_group(t, text + 6, e);
	if (guid_parse(text, &guid) && guid) {
		add(t, guid);
		return 0;
	}
	if (!slash || !number_parse(slash + 1, 1, 254, &number))
		return add_name(t, text, -1, text, e);
	node = mem_strdup(text);
	node[slash - text] = '\0';
	rc = add_name(t, node, (int)number, text, e);
	mem_free(node);
	return rc;
}

static int
add_list(struct set *t, const char *const *texts, struct error *e)
{
	int rc = 0;

	for (; texts && *texts && !rc; texts++)
		rc = add_one(t, *texts, e);
	return rc;
}

int
selected_of(struct selecting *s, const char *const *texts, struct selected *out, struct error *e)
{
	struct set t = { .s = s, .out = out, .except = s->exceptions };
	int rc;

	*out = (struct selected){ 0 };
	rc = add_list(&t, texts, e);
	out->len = order(out->guids, out->len);
	if (rc)
		selected_free(out);
	return rc;
}
