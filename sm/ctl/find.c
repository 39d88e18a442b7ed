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

struct filter {
	struct selection *selection;	/* NULL: everything */
	uint64_t lid;			/* the text as a number, 0 if it is none */
	uint64_t guid;			/* the text as a GUID, 0 if it is none */
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

typedef bool (*name_fn)(const char *name, const char *text, size_t len);

static void
ambiguous(const struct fabric *f, name_fn match, const char *text, size_t len, uint32_t count,
	  struct error *e)
{
	struct buf list = { 0 };
	char guid[GUID_TEXT_SIZE];
	unsigned told = 0;

	for (uint32_t n = 0; n < f->nnodes && told < CANDIDATES; n++) {
		if (!match(f->nodes[n].name, text, len))
			continue;
		buf_printf(&list, "%s%s (%.40s)", told++ ? ", " : "",
			   guid_text(guid, f->nodes[n].guid), f->nodes[n].name);
	}
	error_set(e, ERR_INVALID, "%u nodes match \"%.*s\": %s%s", count,
		  (int)(len < 64 ? len : 64), text, list.data, count > told ? ", ..." : "");
	buf_free(&list);
}

/* 1 found, 0 not found, ERR_INVALID ambiguous. */
static int
by_name(const struct fabric *f, name_fn match, const char *text, size_t len, struct found *found,
	struct error *e)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < f->nnodes; n++) {
		if (!match(f->nodes[n].name, text, len))
			continue;
		if (!count++)
			*found = (struct found){ .node = n, .number = -1 };
	}
	if (count > 1) {
		ambiguous(f, match, text, len, count, e);
		return ERR_INVALID;
	}
	return (int)count;
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

/* The text as a whole: exactly, as GUID, as LID. */
static int
strict(const struct plan *p, const char *text, size_t len, struct found *found, struct error *e)
{
	char word[24];
	int got = by_name(p->fabric, equal, text, len, found, e);

	if (got || len >= sizeof(word))
		return got;
	memcpy(word, text, len);
	word[len] = '\0';
	return by_guid(p->fabric, word, found) || by_lid(p, word, found);
}

static int
loose(const struct plan *p, const char *text, size_t len, struct found *found, struct error *e)
{
	int got = len ? by_name(p->fabric, equal_nocase, text, len, found, e) : 0;

	return got || !len ? got : by_name(p->fabric, begins, text, len, found, e);
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

int
find_node(const struct plan *p, const char *text, bool port, struct found *found, struct error *e)
{
	size_t len = strlen(text), head;
	unsigned number = 0;
	int got;

	head = port ? split_port(text, &number) : 0;
	got = strict(p, text, len, found, e);
	if (!got && head) {
		got = strict(p, text, head, found, e);
		if (got > 0)
			return has_port(p->fabric, found, number, e);
	}
	if (!got)
		got = loose(p, text, len, found, e);
	if (!got && head) {
		got = loose(p, text, head, found, e);
		if (got > 0)
			return has_port(p->fabric, found, number, e);
	}
	if (!got)
		return error_set(e, ERR_NOT_FOUND, "no node has the name, GUID or LID \"%.100s\"",
				 text);
	return got > 0 ? 0 : got;
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
filter_new(const char *text, struct error *e)
{
	struct filter *f = mem_zalloc(sizeof(*f));

	if (!text)
		return f;
	f->selection = selection_new(text, e);
	if (!f->selection) {
		mem_free(f);
		return NULL;
	}
	if (!number_parse(text, 1, 0xbfff, &f->lid))
		f->lid = 0;
	if (!guid_parse(text, &f->guid))
		f->guid = 0;
	return f;
}

static bool
has_lid(const struct plan *p, uint32_t node, uint64_t lid)
{
	return p->lids && lid <= p->lids->top && p->lids->dest[lid].port != FABRIC_NONE &&
	       p->fabric->ports[p->lids->dest[lid].port].node == node;
}

bool
filter_match(const struct filter *f, const struct plan *p, uint32_t node)
{
	const struct fabric_node *n = &p->fabric->nodes[node];

	if (!f->selection || selection_match(f->selection, n->name, n->guid))
		return true;
	for (unsigned i = 0; f->guid && i <= n->nports; i++) {
		if (fabric_port_at(p->fabric, node, i)->guid == f->guid)
			return true;
	}
	return f->lid && has_lid(p, node, f->lid);
}

void
filter_free(struct filter *f)
{
	if (!f)
		return;
	selection_free(f->selection);
	mem_free(f);
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
