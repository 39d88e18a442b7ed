/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "sm/base/text.h"
#include "sm/conf/doc.h"
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * A file into a configuration.
 *
 * The document becomes a tree (doc.c), the tree is walked along the schema (schema.c) and each
 * value is read by its row (option.c); what concerns several options is checked last. All of it
 * happens in one fresh region that becomes the configuration's, or is freed at the first error:
 * a caller that reloads keeps its old configuration untouched until the new one is whole.
 *
 * A key that is not an option is an error: a misspelt one gets the nearest word, one that stands
 * in the wrong place is told where it belongs, and one that a later version knows is told so,
 * since to pass over a partition in silence would open the fabric.
 */
#define FILE_MAX (1024u * 1024u)
#define SUBNETS_MAX 64u
#define LISTED_MAX 8u		/* so many possible words fit into a message */

/* One level of keys: the options that are its rows, and where their values go. */
struct level {
	const struct option *table;	/* rows */
	const char *prefix;		/* of the names of rows that are meant: "" or "log." */
	void *base;			/* the struct that the rows' offsets are in */
	struct config *config;		/* the whole */
};

/* Keys of versions to come. */
static const struct later {
	const struct option *table;	/* where the key would stand */
	const char *name;		/* with its prefix */
	const char *allowed;		/* a value that means what this version does, or NULL */
	const char *why;		/* one sentence */
} laters[] = {
	{ schema_root, "partitions", NULL,
	  "this version programs only the default partition" },
	{ schema_root, "qos", NULL,
	  "this version programs no QoS: all traffic has one service level" },
	{ schema_subnet, "routing.adaptive", "off",
	  "this version routes statically; only off is possible" },
};

static int
set_map(const struct level *l, const struct doc *d, const struct doc_node *map);

static int
check_later(const struct level *l, const struct doc *d, const char *name,
	    const struct doc_item *item, bool *known)
{
	for (size_t i = 0; i < sizeof(laters) / sizeof(laters[0]); i++) {
		const struct later *later = &laters[i];

		if (later->table != l->table || strcmp(later->name, name) != 0)
			continue;
		*known = true;
		if (later->allowed && item->value->kind == DOC_SCALAR &&
		    strcmp(item->value->text, later->allowed) == 0)
			return 0;
		return doc_error(d, later->allowed ? item->value : item->key, ERR_UNSUPPORTED,
				 "%s: %s", name, later->why);
	}
	return 0;
}

static void
list_words(const char *const *words, struct buf *out)
{
	size_t n = 0;

	while (words[n])
		n++;
	for (size_t i = 0; n <= LISTED_MAX && i < n; i++)
		buf_printf(out, "%s%s", i ? i + 1 < n ? ", " : " or " : "; expected ", words[i]);
}

static int
unknown_key(const struct level *l, const struct doc *d, const char *name,
	    const struct doc_node *key)
{
	const char **words = schema_words(d->region, l->table, l->prefix);
	const char *near = nearest_word(key->text, words);
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "unknown option %s", doc_describe(d, key));
	if (*l->prefix)
		buf_printf(&b, " in %.*s", (int)strlen(l->prefix) - 1, l->prefix);
	else if (l->table == schema_subnet)
		buf_str(&b, " in a subnet");
	if (l->table == schema_root &&
	    (schema_find(schema_subnet, name) || schema_is_group(schema_subnet, name)))
		buf_str(&b, " here: it belongs to an entry of subnets");
	else if (l->table == schema_subnet && !*l->prefix &&
		 (schema_find(schema_root, name) || schema_is_group(schema_root, name)))
		buf_str(&b, ": it belongs to the top of the file");
	else if (near)
		buf_printf(&b, "; did you mean \"%s\"?", near);
	else
		list_words(words, &b);
	rc = doc_error(d, key, ERR_INVALID, "%s", b.data);
	buf_free(&b);
	return rc;
}

static int
set_group(const struct level *l, const struct doc *d, const char *name,
	  const struct doc_node *value)
{
	struct level inner = *l;

	if (doc_is_null(value))		/* all of its options are commented out */
		return 0;
	if (value->kind != DOC_MAP)
		return doc_error(d, value, ERR_INVALID, "%s: expected a map of options, found %s",
				 name, doc_describe(d, value));
	inner.prefix = region_printf(d->region, "%s.", name);
	return set_map(&inner, d, value);
}

static const struct doc_node *
place(const struct doc_node *map, const char *key)
{
	const struct doc_node *n = doc_get(map, key);

	return n ? n : map;
}

/* What one option says about another, within a subnet. */
static int
check_subnet(const struct config_subnet *s, const struct doc *d, const struct doc_node *map)
{
	const struct doc_node *routing = place(map, "routing");

	for (unsigned i = 0; s->routing.engines[i]; i++)
		if (strcmp(s->routing.engines[i], "file") == 0 && !s->routing.file)
			return doc_error(d, place(routing, "engines"), ERR_INVALID,
					 "routing.engines: file needs routing.file, the tables");
	if (s->m_key_protect && !s->m_key)
		return doc_error(d, place(map, "m_key_protect"), ERR_INVALID,
				 "m_key_protect: protects nothing without an m_key");
	if (s->m_key_lease && SEC(s->m_key_lease) <= s->sweep_interval)
		return doc_error(d, place(map, "m_key_lease"), ERR_INVALID,
				 "m_key_lease: expected 0, or more than sweep_interval");
	return 0;
}

/* Each subnet needs a name and a port of its own. */
static int
check_distinct(const struct config *c, unsigned n, const struct doc *d, const struct doc_node *map)
{
	const struct config_subnet *s = &c->subnets[n], *other = c->subnets;

	for (; other < s; other++) {
		if (strcmp(other->name, s->name) == 0)
			return doc_error(d, place(map, "name"), ERR_EXISTS,
					 "name: two subnets are called %s", s->name);
		if (strcmp(other->port, "auto") == 0 || strcmp(s->port, "auto") == 0)
			return doc_error(d, place(map, "port"), ERR_INVALID,
					 "port: auto is for a single subnet; each of several needs "
					 "a port of its own");
		if (strcmp(other->port, s->port) == 0)
			return doc_error(d, place(map, "port"), ERR_EXISTS,
					 "port: %s is the port of subnet %s already", s->port,
					 other->name);
	}
	return 0;
}

static int
set_subnets(const struct level *l, const struct doc *d, const struct doc_node *list)
{
	struct config *c = l->config;
	int rc = 0;

	if (list->kind != DOC_LIST || !list->len)
		return doc_error(d, list, ERR_INVALID, "subnets: expected a list of at least one "
				 "map, found %s", doc_describe(d, list));
	if (list->len > SUBNETS_MAX)
		return doc_error(d, list, ERR_FULL, "subnets: expected at most %u", SUBNETS_MAX);
	c->subnets = region_array(d->region, list->len, sizeof(*c->subnets));
	c->nsubnets = 0;
	for (const struct doc_item *i = list->items; i && !rc; i = i->next) {
		struct config_subnet *s = &c->subnets[c->nsubnets];
		struct level inner = { schema_subnet, "", s, c };

		if (i->value->kind != DOC_MAP)
			return doc_error(d, i->value, ERR_INVALID, "subnets: expected a map of "
					 "options, found %s", doc_describe(d, i->value));
		option_set_initial(schema_subnet, s, d->region);
		rc = set_map(&inner, d, i->value);
		if (!rc)
			rc = check_subnet(s, d, i->value);
		if (!rc)
			rc = check_distinct(c, c->nsubnets, d, i->value);
		c->nsubnets++;
	}
	return rc;
}

static int
set_key(const struct level *l, const struct doc *d, const struct doc_item *item)
{
	const char *name = region_printf(d->region, "%s%s", l->prefix, item->key->text);
	const struct option *o = schema_find(l->table, name);
	bool known = false;
	int rc;

	if (strchr(item->key->text, '.'))	/* groups are maps: log.level is no key */
		return unknown_key(l, d, name, item->key);
	if (o && o->type == OPTION_SUBNETS)
		return set_subnets(l, d, item->value);
	if (o)
		return option_set(o, l->base, d, item->value);
	rc = check_later(l, d, name, item, &known);
	if (known)
		return rc;
	if (schema_is_group(l->table, name))
		return set_group(l, d, name, item->value);
	return unknown_key(l, d, name, item->key);
}

static int
set_map(const struct level *l, const struct doc *d, const struct doc_node *map)
{
	int rc = 0;

	for (const struct doc_item *i = map->items; i && !rc; i = i->next)
		rc = set_key(l, d, i);
	return rc;
}

static int
set_root(struct config *c, const struct doc *d)
{
	struct level l = { schema_root, "", c, c };

	if (!d->root || doc_is_null(d->root))
		return 0;
	if (d->root->kind != DOC_MAP)
		return doc_error(d, d->root, ERR_INVALID, "expected a map of options, found %s",
				 doc_describe(d, d->root));
	return set_map(&l, d, d->root);
}

static struct config *
defaults(void)
{
	struct region *r = region_new();
	struct config *c = region_alloc(r, sizeof(*c));

	c->region = r;
	option_set_initial(schema_root, c, r);
	c->subnets = region_array(r, 1, sizeof(*c->subnets));
	c->nsubnets = 1;
	option_set_initial(schema_subnet, c->subnets, r);
	return c;
}

struct config *
config_parse(const char *text, size_t len, const char *name, struct error *e)
{
	struct config *c = defaults();
	struct doc d = { .region = c->region, .name = name, .error = e };

	c->file = region_strdup(c->region, name);
	if (doc_parse(&d, text, len) || set_root(c, &d)) {
		config_free(c);
		return NULL;
	}
	return c;
}

/* A key that other users can read is no key, but no reason to let the fabric go without manager. */
static void
warn_if_readable(const struct config *c)
{
	struct stat st;

	if (stat(c->file, &st) || !(st.st_mode & (S_IROTH | S_IWOTH)))
		return;
	for (unsigned i = 0; i < c->nsubnets; i++) {
		if (!c->subnets[i].m_key)
			continue;
		log_warning("%s holds the m_key of subnet %s and any user may open it: chmod o= %s",
			    c->file, c->subnets[i].name, c->file);
		return;
	}
}

struct config *
config_load(const char *path, struct error *e)
{
	struct config *c;
	char *text;
	size_t len;

	if (!path)
		return defaults();
	text = doc_read_file(path, FILE_MAX, &len, e);
	if (!text)
		return NULL;
	c = config_parse(text, len, path, e);
	mem_free(text);
	if (c)
		warn_if_readable(c);
	return c;
}

void
config_free(struct config *c)
{
	if (c)
		region_free(c->region);
}
