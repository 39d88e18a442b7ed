/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/option.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "sm/base/map.h"
#include "sm/base/text.h"

/*
 * Options that are lists of words, numbers, names or selections, or maps of names to values.
 *
 * Each element is refused at its own place. What stands in a list twice is a mistake, and is found
 * by its value: however a GUID is spelt, it is the same. A list may name every host of a large
 * fabric, so that nothing here takes time with the square of its length.
 */
#define SELECTIONS_MAX 256u	/* of one list; each is tried on every node */
#define TEXTS_MAX 65536u	/* of one list of names, or of selections of ports */
#define EXPRESSIONS_MAX 256u	/* among them */
#define NUMBERS_MAX 1024u	/* of one list of numbers or ranges */
#define PORT_MAX 254u

/* One list while it is read. */
struct list {
	const struct option *o;		/* its row */
	const struct doc *d;		/* the document */
	const struct doc_item *first;	/* elements */
	unsigned len;			/* how many */
	struct map seen;		/* value, or text as a key, to index */
	const char **texts;		/* lists of texts: those that were read */
	unsigned expressions;		/* among them */
};

static bool
is_absent(const struct option *o, const struct doc_node *n)
{
	return doc_is_null(n) && o->initial && strcmp(o->initial, "null") == 0;
}

static int
twice(const struct list *l, const struct doc_node *n)
{
	return doc_error(l->d, n, ERR_EXISTS, "%s: %s is in the list twice", l->o->name,
			 doc_describe(l->d, n));
}

static bool
may_be_one(const struct option *o)
{
	return o->type != OPTION_WORDS && o->type != OPTION_GUIDS && o->type != OPTION_SELECTIONS;
}

/* A list, or one scalar where that is a list, too. */
static int
list_open(struct list *l, const struct doc_node *n, unsigned max)
{
	struct doc_item *one;

	if (n->kind == DOC_SCALAR && may_be_one(l->o)) {
		one = region_alloc(l->d->region, sizeof(*one));
		one->value = n;
		l->first = one;
		l->len = 1;
		return 0;
	}
	if (n->kind != DOC_LIST || (l->o->filled && !n->len))
		return option_unexpected(l->o, l->d, n);
	if (n->len > max)
		return doc_error(l->d, n, ERR_FULL, "%s: expected at most %u", l->o->name, max);
	l->first = n->items;
	l->len = n->len;
	return 0;
}

/* Values that are numbers, each once. */
static int
add_number(struct list *l, const struct doc_node *n, uint64_t v, uint32_t index)
{
	if (map_get(&l->seen, v) != MAP_NONE)
		return twice(l, n);
	map_set(&l->seen, v, index);
	return 0;
}

static bool
seen_text(struct list *l, const char *s, uint32_t index)
{
	uint64_t key = map_text(s, strlen(s));
	uint32_t at = map_get(&l->seen, key);

	if (at != MAP_NONE)
		return strcmp(l->texts[at], s) == 0;
	map_set(&l->seen, key, index);
	return false;
}

static int
unknown_word(const struct option *o, const struct doc *d, const struct doc_node *n)
{
	struct buf known = { 0 };
	int rc;

	for (const char *const *later = o->later; later && *later; later++) {
		if (strcmp(*later, n->text) != 0)
			continue;
		for (size_t i = 0; o->words[i]; i++)
			buf_printf(&known, "%s%s", i ? o->words[i + 1] ? ", " : " or " : "",
				   o->words[i]);
		rc = doc_error(d, n, ERR_UNSUPPORTED, "%s: this version does not have %s yet: "
			       "use %s", o->name, doc_describe(d, n), known.data);
		buf_free(&known);
		return rc;
	}
	return option_unexpected(o, d, n);
}

static int
read_word(struct list *l, const struct doc_node *n, const char **text)
{
	for (size_t i = 0; l->o->words[i]; i++) {
		*text = l->o->words[i];
		if (strcmp(*text, n->text) == 0)
			return 0;
	}
	return unknown_word(l->o, l->d, n);
}

static int
read_name(struct list *l, const struct doc_node *n, const char **text)
{
	*text = *n->text ? l->o->check(l->d->keep, n->text) : NULL;
	return *text ? 0 : option_unexpected(l->o, l->d, n);
}

static int
read_selection(struct list *l, const struct doc_node *n, const char **text)
{
	struct error e = { 0 };
	struct selection *s = selection_new(n->text, &e);

	selection_free(s);
	*text = n->text;
	return s ? 0 : doc_error(l->d, n, e.code, "%s: %s", l->o->name, e.text);
}

/* Texts that look like one of the words for kinds of ports, and are not, are misspelt. */
static bool
is_kind(const char *s, bool *meant)
{
	static const char *const kinds[] = {
		"all", "all-hosts", "all-switches", "all-routers", "self", NULL,
	};

	*meant = strcasecmp(s, "self") == 0 ||
		(strncasecmp(s, "all", 3) == 0 && (!s[3] || s[3] == '-' || s[3] == '_'));
	for (size_t i = 0; kinds[i]; i++)
		if (strcmp(s, kinds[i]) == 0)
			return true;
	return false;
}

/* "oss1/2": is what follows the last slash the number of a port, if it is one at all? */
static bool
port_is_right(const char *s)
{
	const char *slash = strrchr(s, '/');
	uint64_t port;

	if (!slash || slash == s || !slash[1] || slash[1 + strspn(slash + 1, "0123456789")])
		return true;
	return number_parse(slash + 1, 1, PORT_MAX, &port);
}

static int
read_ports(struct list *l, const struct doc_node *n, const char **text)
{
	const struct option *o = l->o;
	char guid[GUID_TEXT_SIZE];
	uint64_t v;
	bool meant;

	*text = n->text;
	if (!*n->text)
		return option_unexpected(o, l->d, n);
	if (is_kind(n->text, &meant))
		return 0;
	if (meant)
		return doc_error(l->d, n, ERR_INVALID, "%s: expected all, all-hosts, "
				 "all-switches, all-routers or self, found %s; a node that is "
				 "called so is /^%s$/", o->name, doc_describe(l->d, n), n->text);
	if (guid_parse(n->text, &v) && v) {
		*text = region_strdup(l->d->region, guid_text(guid, v));
		return 0;
	}
	if (strncmp(n->text, "0x", 2) == 0 && !strchr(n->text, '/'))
		return doc_error(l->d, n, ERR_INVALID, "%s: expected a GUID such as "
				 "0x0002c903000a1b2c behind 0x, found %s", o->name,
				 doc_describe(l->d, n));
	if (strncmp(n->text, "partition:", 10) == 0 && !o->rules)
		return doc_error(l->d, n, ERR_INVALID, "%s: partition:NAME is for rules of qos; "
				 "name the nodes in groups, and write group:NAME", o->name);
	if (*n->text == '/' && l->expressions++ == EXPRESSIONS_MAX)
		return doc_error(l->d, n, ERR_FULL, "%s: expected at most %u regular expressions",
				 o->name, EXPRESSIONS_MAX);
	if (*n->text != '/' && !port_is_right(n->text))
		return doc_error(l->d, n, ERR_INVALID, "%s: expected a port from 1 to %u behind "
				 "the last slash, found %s", o->name, PORT_MAX,
				 doc_describe(l->d, n));
	return read_selection(l, n, text);
}

static int
read_text(struct list *l, const struct doc_node *n, const char **text)
{
	switch (l->o->type) {
	case OPTION_WORDS:
		return read_word(l, n, text);
	case OPTION_NAMES:
		return read_name(l, n, text);
	case OPTION_SELECTIONS:
		return read_selection(l, n, text);
	default:
		return read_ports(l, n, text);
	}
}

static int
read_texts(struct list *l)
{
	uint32_t index = 0;
	const char *text;
	int rc = 0;

	for (const struct doc_item *i = l->first; index < l->len; i = i->next, index++) {
		if (i->value->kind != DOC_SCALAR)
			return option_unexpected(l->o, l->d, i->value);
		rc = read_text(l, i->value, &text);
		if (rc)
			return rc;
		if (seen_text(l, text, index))
			return twice(l, i->value);
		l->texts[index] = region_strdup(l->d->keep, text);
	}
	return 0;
}

static int
set_texts(struct list *l, void *base, const struct doc_node *n)
{
	const char ***field = (void *)((char *)base + l->o->offset);
	int rc;

	if (is_absent(l->o, n)) {
		*field = NULL;
		return 0;
	}
	rc = list_open(l, n, l->o->type == OPTION_SELECTIONS ? SELECTIONS_MAX : TEXTS_MAX);
	if (rc)
		return rc;
	l->texts = region_array(l->d->keep, l->len + 1, sizeof(*l->texts));
	rc = read_texts(l);
	*field = l->texts;
	return rc;
}

/* "5", or "0x10-0x1f", the right way round. */
static bool
read_range(const struct option *o, const char *s, struct config_range *r)
{
	const char *dash = strchr(s, '-');
	char first[32];
	bool pkeys = o->type == OPTION_PKEY_RANGES;

	if (!dash)
		dash = s + strlen(s);
	if ((size_t)(dash - s) >= sizeof(first))
		return false;
	snprintf(first, sizeof(first), "%.*s", (int)(dash - s), s);
	if (pkeys ? !option_read_pkey(first, &r->from) : !option_read_number(o, first, &r->from))
		return false;
	r->to = r->from;
	if (!*dash)
		return true;
	if (pkeys ? !option_read_pkey(dash + 1, &r->to) : !option_read_number(o, dash + 1, &r->to))
		return false;
	return r->from <= r->to;
}

static int
read_element(struct list *l, const struct doc_node *n, void *items, uint32_t index)
{
	const struct option *o = l->o;
	uint64_t v;

	if (n->kind != DOC_SCALAR)
		return option_unexpected(o, l->d, n);
	if (o->type == OPTION_GUIDS) {
		if (!guid_parse(n->text, &v) || !v)
			return option_unexpected(o, l->d, n);
		((uint64_t *)items)[index] = v;
		return add_number(l, n, v, index);
	}
	if (o->type == OPTION_NUMBERS) {
		if (!option_read_number(o, n->text, &v))
			return option_unexpected(o, l->d, n);
		((unsigned *)items)[index] = (unsigned)v;
		return add_number(l, n, v, index);
	}
	if (!read_range(o, n->text, &((struct config_range *)items)[index]))
		return option_unexpected(o, l->d, n);
	return 0;
}

static int
set_counted(struct list *l, void *base, const struct doc_node *n, size_t size)
{
	uint32_t index = 0;
	void *items;
	int rc = 0;

	if (!is_absent(l->o, n))
		rc = list_open(l, n, l->o->type == OPTION_GUIDS ? TEXTS_MAX : NUMBERS_MAX);
	if (rc)
		return rc;
	items = region_array(l->d->keep, l->len, size);
	for (const struct doc_item *i = l->first; index < l->len && !rc; i = i->next, index++)
		rc = read_element(l, i->value, items, index);
	option_set_entries(l->o, base, items, l->len);
	return rc;
}

static struct config_place
place_of(const struct doc_node *n)
{
	return (struct config_place){ n->line, n->column };
}

/* A map whose names only a plugin knows. */
static int
set_pairs(struct list *l, void *base, const struct doc_node *n)
{
	struct config_pair *pairs;
	unsigned len = 0;

	if (n->kind != DOC_MAP && !doc_is_null(n))
		return option_unexpected(l->o, l->d, n);
	pairs = region_array(l->d->keep, n->len, sizeof(*pairs));
	for (const struct doc_item *i = n->items; i; i = i->next, len++) {
		if (i->value->kind != DOC_SCALAR || doc_is_null(i->value))
			return doc_error(l->d, i->value, ERR_INVALID, "%s.%s: expected a number, "
					 "true, false or a text, found %s", l->o->name,
					 i->key->text, doc_describe(l->d, i->value));
		pairs[len] = (struct config_pair){
			.name = region_strdup(l->d->keep, i->key->text),
			.text = region_strdup(l->d->keep, i->value->text),
			.name_at = place_of(i->key), .text_at = place_of(i->value),
		};
	}
	option_set_entries(l->o, base, pairs, len);
	return 0;
}

int
option_set_list(const struct option *o, void *base, const struct doc *d,
		const struct doc_node *list)
{
	struct list l = { .o = o, .d = d };
	int rc;

	if (o->type == OPTION_GUIDS)
		rc = set_counted(&l, base, list, sizeof(uint64_t));
	else if (o->type == OPTION_NUMBERS)
		rc = set_counted(&l, base, list, sizeof(unsigned));
	else if (o->type == OPTION_RANGES || o->type == OPTION_PKEY_RANGES)
		rc = set_counted(&l, base, list, sizeof(struct config_range));
	else if (o->type == OPTION_PAIRS)
		rc = set_pairs(&l, base, list);
	else
		rc = set_texts(&l, base, list);
	map_free(&l.seen);
	return rc;
}
