/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/find.h"

#include <string.h>
#include <strings.h>
#include "sm/base/mem.h"
#include "sm/conf/config.h"

/*
 * From words to nodes. Node names are free text: they hold blanks and slashes, several switches
 * may share one, and a name may look like a number; so the order of attempts matters, and what is
 * ambiguous is refused with the candidates instead of guessed. Nothing here keeps state.
 */
#define CANDIDATES 6	/* listed in a refusal */

typedef bool (*name_fn)(const char *name, const char *text, size_t len);

/* What some words mean. */
struct match {
	name_fn name;		/* by which the names of nodes match; NULL: by GUID or LID */
	const char *text;	/* with which part of the words: its start */
	size_t len;		/* and its length */
	uint32_t count;		/* nodes that match */
	int number;		/* port number behind a slash, -1 if none */
	struct found first;	/* the first that matches */
};

struct filter {
	struct selection *expression;	/* NULL: words, or everything */
	char *text;			/* the words; NULL: none */
	struct match match;		/* of the words */
};

static bool
equal(const char *name, const char *text, size_t len)
{
	return strncmp(name, text, len) == 0 && name[len] == '\0';
}

static bool
equal_nocase(const char *name, const char *text, size_t len)
{
	return strncasecmp(name, text, len) == 0 && name[len] == '\0';
}

static bool
begins(const char *name, const char *text, size_t len)
{
	return strncasecmp(name, text, len) == 0;
}

static void
ambiguous(const struct fabric *f, const struct match *m, struct error *e)
{
	struct buf list = { 0 };
	char guid[GUID_TEXT_SIZE];
	unsigned told = 0;

	for (uint32_t n = 0; n < f->nnodes && told < CANDIDATES; n++) {
		if (!m->name(f->nodes[n].name, m->text, m->len))
			continue;
		buf_printf(&list, "%s%s (%.40s)", told++ ? ", " : "",
			   guid_text(guid, f->nodes[n].guid), f->nodes[n].name);
	}
	error_set(e, ERR_INVALID, "%u nodes match \"%.*s\": %s%s", m->count,
		  (int)(m->len < 64 ? m->len : 64), m->text, list.data,
		  m->count > told ? ", ..." : "");
	buf_free(&list);
}

static bool
by_name(const struct fabric *f, name_fn name, const char *text, size_t len, struct match *m)
{
	m->count = 0;
	for (uint32_t n = 0; n < f->nnodes; n++) {
		if (!name(f->nodes[n].name, text, len))
			continue;
		if (!m->count++)
			m->first = (struct found){ .node = n, .number = -1 };
	}
	m->name = name;
	m->text = text;
	m->len = len;
	return m->count > 0;
}

static bool
by_guid(const struct fabric *f, const char *text, struct found *found)
{
	uint64_t guid;
	uint32_t n, port;

	if (!guid_parse(text, &guid) || guid == 0)
		return false;
	n = fabric_node_by_guid(f, guid);
	if (n != FABRIC_NONE) {
		*found = (struct found){ .node = n, .number = -1 };
		return true;
	}
	port = fabric_port_by_guid(f, guid);
	if (port == FABRIC_NONE)
		return false;
	*found = (struct found){ .node = f->ports[port].node, .number = f->ports[port].number };
	return true;
}

static bool
by_lid(const struct plan *p, const char *text, struct found *found)
{
	const struct fabric_port *port;
	uint64_t lid;

	if (!p->lids || !number_parse(text, 1, p->lids->top, &lid) ||
	    p->lids->dest[lid].port == FABRIC_NONE)
		return false;
	port = &p->fabric->ports[p->lids->dest[lid].port];
	*found = (struct found){ .node = port->node, .number = port->number, .lid = (uint16_t)lid };
	return true;
}

/* Exactly, as GUID, as LID. */
static bool
strict(const struct plan *p, const char *text, size_t len, struct match *m)
{
	char word[24];

	if (by_name(p->fabric, equal, text, len, m))
		return true;
	if (len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	m->name = NULL;
	m->count = by_guid(p->fabric, word, &m->first) || by_lid(p, word, &m->first);
	return m->count > 0;
}

static bool
loose(const struct plan *p, const char *text, size_t len, struct match *m)
{
	return len && (by_name(p->fabric, equal_nocase, text, len, m) ||
		       by_name(p->fabric, begins, text, len, m));
}

/* "NODE/NUMBER": the length of NODE, and the number; 0 if it is not of that form. */
static size_t
split_port(const char *text, unsigned *number)
{
	const char *slash = strrchr(text, '/');
	uint64_t value;

	if (!slash || slash == text || !number_parse(slash + 1, 0, 254, &value))
		return 0;
	*number = (unsigned)value;
	return (size_t)(slash - text);
}

static int
has_port(const struct fabric *f, struct found *found, unsigned number, struct error *e)
{
	const struct fabric_node *n = &f->nodes[found->node];

	if (number > n->nports || (number == 0 && n->type != NODE_SWITCH))
		return error_set(e, ERR_NOT_FOUND, "%s has no port %u: its ports are 1 to %u",
				 n->name, number, n->nports);
	found->number = (int)number;
	found->lid = 0;
	return 0;
}

/* The words by the rule of find.h: ERR_NOT_FOUND, or what they mean. */
static int
resolve(const struct plan *p, const char *text, bool port, struct match *m, struct error *e)
{
	size_t len = strlen(text), head;
	unsigned number = 0;

	*m = (struct match){ .number = -1 };
	head = port ? split_port(text, &number) : 0;
	if (strict(p, text, len, m))
		return 0;
	if (!(head && strict(p, text, head, m))) {
		if (loose(p, text, len, m))
			return 0;
		if (!(head && loose(p, text, head, m)))
			return error_set(e, ERR_NOT_FOUND,
					 "no node matches \"%.100s\" by name, GUID or LID", text);
	}
	m->number = (int)number;
	return m->count == 1 ? has_port(p->fabric, &m->first, number, e) : 0;
}

int
find_node(const struct plan *p, const char *text, bool port, struct found *found, struct error *e)
{
	struct match m;
	int ret = resolve(p, text, port, &m, e);

	if (ret)
		return ret;
	if (m.count > 1) {
		ambiguous(p->fabric, &m, e);
		return ERR_INVALID;
	}
	*found = m.first;
	return 0;
}

bool
find_is_inner(const struct plan *p, const struct found *found)
{
	return found->number > 0 && p->fabric->nodes[found->node].type == NODE_SWITCH;
}

int
find_lid(const struct plan *p, const struct found *found, uint16_t *lid, struct error *e)
{
	const struct fabric_node *n = &p->fabric->nodes[found->node];

	*lid = found->lid;
	if (!*lid && found->number > 0 && n->type != NODE_SWITCH)
		*lid = port_lid(p, n->first_port + (uint32_t)found->number);
	else if (!*lid)
		*lid = node_lid(p, found->node);
	if (!*lid)
		return error_set(e, ERR_NOT_FOUND, "%s has no LID", n->name);
	return 0;
}

struct filter *
filter_new(const struct plan *p, const char *text, bool port, struct error *e)
{
	struct filter *f = mem_zalloc(sizeof(*f));
	int ret = 0;

	f->match.number = -1;
	if (!text)
		return f;
	if (*text == '/' || !*text) {
		f->expression = selection_new(text, e);
		ret = f->expression ? 0 : ERR_FORMAT;
	} else {
		f->text = mem_strdup(text);
		ret = resolve(p, f->text, port, &f->match, e);
	}
	if (!ret)
		return f;
	filter_free(f);
	return NULL;
}

bool
filter_match(const struct filter *f, const struct plan *p, uint32_t node)
{
	const struct fabric_node *n = &p->fabric->nodes[node];

	if (f->expression)
		return selection_match(f->expression, n->name, n->guid);
	if (f->match.name)
		return f->match.name(n->name, f->match.text, f->match.len);
	return !f->text || f->match.first.node == node;
}

int
filter_port(const struct filter *f)
{
	return f->match.number;
}

void
filter_free(struct filter *f)
{
	if (!f)
		return;
	selection_free(f->expression);
	mem_free(f->text);
	mem_free(f);
}

/* Where the far port misses it too, the end with the lower index stands for both. */
static bool
is_without(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port], *far;
	uint32_t node;

	if (p->peer != FABRIC_NONE || !p->lost_peer)
		return false;
	node = fabric_node_by_guid(f, p->lost_peer);
	if (node == FABRIC_NONE || p->lost_number > f->nodes[node].nports)
		return true;
	far = fabric_port_at(f, node, p->lost_number);
	return far->peer != FABRIC_NONE || far->lost_peer != f->nodes[p->node].guid ||
	       far->lost_number != p->number ||
	       port <= f->nodes[node].first_port + p->lost_number;
}

bool
link_lost(const struct fabric *f, uint32_t port)
{
	return is_without(f, port) && fabric_cable_end(f, port) == FABRIC_NONE;
}

bool
link_drained(const struct fabric *f, uint32_t port)
{
	return f->ports[port].peer == FABRIC_NONE && fabric_cable_end(f, port) != FABRIC_NONE;
}

uint16_t
port_lid(const struct plan *p, uint32_t port)
{
	return p->lids && port < p->lids->nports ? p->lids->base[port] : 0;
}

uint16_t
node_lid(const struct plan *p, uint32_t node)
{
	const struct fabric_node *n = &p->fabric->nodes[node];
	unsigned last = n->type == NODE_SWITCH ? 0 : n->nports;
	uint16_t lid = 0;

	for (unsigned i = 0; i <= last && !lid; i++)
		lid = port_lid(p, n->first_port + i);
	return lid;
}

const char *
node_type_name(unsigned type)
{
	return type == NODE_SWITCH ? "switch" : type == NODE_ROUTER ? "router" : "ca";
}

void
put_port(struct json *j, const char *key, const struct fabric *f, uint32_t port)
{
	const struct fabric_node *n;

	if (port == FABRIC_NONE) {
		jw_null(j, key);
		return;
	}
	n = &f->nodes[f->ports[port].node];
	jw_object(j, key);
	jw_str(j, "node", n->name);
	jw_guid(j, "guid", n->guid);
	jw_uint(j, "port", f->ports[port].number);
	jw_end(j);
}
