/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "sm/base/text.h"
#include "sm/conf/check.h"
#include "sm/conf/doc.h"
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * A file into a configuration.
 *
 * The document becomes a tree (doc.c), the tree is walked along the schema (schema.c) and each
 * value is read by its row (option.c); what concerns several options is checked last (check.c). The
 * tree goes away then; values are in a fresh region that becomes the configuration's, or is freed
 * at the first error: a caller that reloads keeps its old configuration untouched until the new one
 * is whole.
 *
 * A key that is not an option is an error: a misspelt one gets the nearest word, one that stands
 * in the wrong place is told where it belongs, and one that a later version knows is told so.
 */
#define LISTED_MAX 16u		/* so many possible words fit into a message */

/* One level of keys: the options that are its rows, and where their values go. */
struct level {
	const struct option *table;	/* rows */
	const char *prefix;		/* of the names of rows that are meant: "" or "log." */
	const char *entry;		/* what has these rows: "a subnet"; NULL: the whole file */
	void *base;			/* the struct that the rows' offsets are in */
};

static int
set_map(const struct level *l, const struct doc *d, const struct doc_node *map);

static void
list_words(const char *const *words, struct buf *out)
{
	size_t n = 0;

	while (words[n])
		n++;
	for (size_t i = 0; n <= LISTED_MAX && i < n; i++)
		buf_printf(out, "%s%s", i ? i + 1 < n ? ", " : " or " : "; expected ", words[i]);
}

static bool
has_rows(const struct option *table, const char *name)
{
	return schema_find(table, name) || schema_is_group(table, name);
}

/* The list at the top of the file whose entries have such an option, or NULL. */
static const char *
owner(const char *name)
{
	for (const struct option *o = schema_root; o->name; o++)
		if (option_is_nested(o) && has_rows(o->fields, name))
			return o->name;
	return NULL;
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
	else if (l->entry)
		buf_printf(&b, " in %s", l->entry);
	if (!l->entry && owner(name))
		buf_printf(&b, " here: it belongs to an entry of %s", owner(name));
	else if (l->entry && !*l->prefix && has_rows(schema_root, name))
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

static int
check_required(const struct option *o, const struct doc *d, const struct doc_node *map)
{
	for (const struct option *field = o->fields; field->name; field++)
		if (field->required && !doc_get(map, field->name))
			return doc_error(d, map, ERR_INVALID, "%s: %s needs %s", o->name, o->entry,
					 field->name);
	return 0;
}

static int
set_entry(const struct option *o, void *entry, const struct doc *d, const struct doc_node *map)
{
	struct level inner = { o->fields, "", o->entry, entry };
	int rc;

	if (map->kind != DOC_MAP)
		return doc_error(d, map, ERR_INVALID, "%s: expected a map of options, found %s",
				 o->name, doc_describe(d, map));
	rc = set_map(&inner, d, map);
	return rc ? rc : check_required(o, d, map);
}

/* What is no list of maps, where that is short for a single map. */
static bool
is_short(const struct option *o, const struct doc_node *n)
{
	if (!o->shorthand || (n->kind == DOC_LIST && !n->len))
		return false;
	return n->kind == DOC_SCALAR ||
		(n->kind == DOC_LIST && n->items->value->kind == DOC_SCALAR);
}

static int
set_short(const struct level *l, const struct doc *d, const struct option *o,
	  const struct doc_node *n)
{
	void *entry = region_alloc(d->keep, o->size);

	option_set_initial(o->fields, entry, d);
	option_set_entries(o, l->base, entry, 1);
	return option_set(schema_find(o->fields, o->shorthand), entry, d, n);
}

static int
set_entries(const struct level *l, const struct doc *d, const struct option *o,
	    const struct doc_node *list)
{
	char *entries, *initial;
	unsigned n = 0;
	int rc = 0;

	if (list->kind != DOC_LIST || list->len < o->min)
		return option_unexpected(o, d, list);
	if (list->len > o->max)
		return doc_error(d, list, ERR_FULL, "%s: expected at most %u", o->name,
				 (unsigned)o->max);
	initial = region_alloc(d->keep, o->size);
	option_set_initial(o->fields, initial, d);
	entries = region_array(d->keep, list->len, o->size);
	for (const struct doc_item *i = list->items; i && !rc; i = i->next, n++) {
		memcpy(entries + n * o->size, initial, o->size);
		rc = set_entry(o, entries + n * o->size, d, i->value);
	}
	option_set_entries(o, l->base, entries, list->len);
	return rc;
}

/* One map or none: true and false say only that. */
static int
set_one(const struct level *l, const struct doc *d, const struct option *o,
	const struct doc_node *n)
{
	bool on = n->kind == DOC_MAP;
	void *entry;

	if (n->kind == DOC_LIST || (n->kind == DOC_SCALAR && !doc_is_null(n) &&
				    !option_read_bool(n->text, &on)))
		return option_unexpected(o, d, n);
	if (!on) {
		option_set_entries(o, l->base, NULL, 0);
		return 0;
	}
	entry = region_alloc(d->keep, o->size);
	option_set_initial(o->fields, entry, d);
	option_set_entries(o, l->base, entry, 1);
	return n->kind == DOC_MAP ? set_entry(o, entry, d, n) : 0;
}

static int
set_key(const struct level *l, const struct doc *d, const struct doc_item *item)
{
	const char *name = region_printf(d->region, "%s%s", l->prefix, item->key->text);
	const struct option *o = schema_find(l->table, name);

	if (strchr(item->key->text, '.'))	/* groups are maps: log.level is no key */
		return unknown_key(l, d, name, item->key);
	if (o && o->late)
		return 0;
	if (o && o->type == OPTION_MAP)
		return set_one(l, d, o, item->value);
	if (o && o->type == OPTION_LIST)
		return is_short(o, item->value) ? set_short(l, d, o, item->value) :
			set_entries(l, d, o, item->value);
	if (o)
		return option_set(o, l->base, d, item->value);
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
	struct level l = { schema_root, "", NULL, c };

	if (!d->root || doc_is_null(d->root))
		return 0;
	if (d->root->kind != DOC_MAP)
		return doc_error(d, d->root, ERR_INVALID, "expected a map of options, found %s",
				 doc_describe(d, d->root));
	return set_map(&l, d, d->root);
}

/* `d`: where to put it. */
static struct config *
defaults(const struct doc *d)
{
	struct config *c = region_alloc(d->keep, sizeof(*c));

	c->region = d->keep;
	c->refs = 1;
	option_set_initial(schema_root, c, d);
	c->subnets = region_array(d->keep, 1, sizeof(*c->subnets));
	c->nsubnets = 1;
	option_set_initial(schema_subnet, c->subnets, d);
	return c;
}

struct config *
config_parse(const char *text, size_t len, const char *name, struct error *e)
{
	struct doc d = { .region = region_new(), .keep = region_new(), .name = name, .error = e };
	struct config *c = defaults(&d);

	if (name)
		c->file = region_strdup(c->region, name);
	if (doc_parse(&d, text, len) || set_root(c, &d) || check_config(c, &d)) {
		config_free(c);
		c = NULL;
	}
	region_free(d.region);
	return c;
}

/* A key that other users can read is no key, but no reason to let the fabric go without manager. */
static void
warn_if_readable(const struct config *c)
{
	struct stat st;

	if (stat(c->file, &st) || !(st.st_mode & (S_IROTH | S_IWOTH)))
		return;
	if (c->qos.congestion.key)
		log_warning("%s holds the key of congestion control and any user may open it: "
			    "chmod o= %s", c->file, c->file);
	for (unsigned i = 0; i < c->nsubnets; i++) {
		if (!c->subnets[i].m_key)
			continue;
		log_warning("%s holds the m_key of subnet %s and any user may open it: chmod o= %s",
			    c->file, c->subnets[i].name, c->file);
		return;
	}
}

static bool
has_sl(const struct config_qos *q, unsigned sl)
{
	for (unsigned i = 0; i < q->nlevels; i++)
		if (q->levels[i].sl == sl)
			return true;
	return false;
}

/* What can be said, but this version does not act on. To pass over a partition in silence would
 * mislead. */
static int
refuse_unbuilt(const struct config *c, struct error *e)
{
	for (unsigned i = 0; i < c->partitions.len; i++) {
		const struct config_partition *p = &c->partitions.list[i];

		if (p->sl && p->sl != CONFIG_SL_FREE && !has_sl(&c->qos, p->sl))
			return error_set(e, ERR_UNSUPPORTED, "%s:1:1: partitions[%s].sl: no level "
					 "of qos.levels is given service level %u", c->file,
					 p->name, p->sl);
	}
	return 0;
}

struct config *
config_load(const char *path, struct error *e)
{
	struct config *c;
	char *text;
	size_t len;

	if (!path)
		return config_parse("", 0, NULL, e);
	text = doc_read_file(path, DOC_TEXT_MAX, &len, e);
	if (!text)
		return NULL;
	c = config_parse(text, len, path, e);
	mem_free(text);
	if (c && refuse_unbuilt(c, e)) {
		config_free(c);
		c = NULL;
	}
	if (c)
		warn_if_readable(c);
	return c;
}

const struct config *
config_ref(const struct config *c)
{
	if (c)
		__atomic_add_fetch(&((struct config *)(uintptr_t)c)->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void
config_free(const struct config *c)
{
	if (c && !__atomic_sub_fetch(&((struct config *)(uintptr_t)c)->refs, 1,
				     __ATOMIC_ACQ_REL))
		region_free(c->region);
}
