/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/text.h"
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * Plugins in the configuration: what they are called, which chains of engines name them, and their
 * own options.
 *
 * A plugin may stand behind the subnets that route by it, so that chains of engines are read when
 * all names are known. Its options are known still later, when it has been loaded: until then they
 * are texts that know their places. Rows of the schema are made of what it declares, and so its
 * options are read, and refused, as all others are.
 */
static struct config_place
place_of(const struct doc_node *n)
{
	return (struct config_place){ n->line, n->column };
}

static bool
is_word(const char *const *words, const char *s)
{
	for (; *words; words++)
		if (strcmp(*words, s) == 0)
			return true;
	return false;
}

static int
check_names_of(struct check *k, struct check_known *known)
{
	const struct doc_node *list = doc_get(k->d->root, "plugins");
	const struct doc_item *item = list ? list->items : NULL;

	for (const char *const *engine = schema_engines; *engine; engine++)
		check_known_add(known, *engine);
	for (unsigned i = 0; item && i < k->c->nplugins; i++, item = item->next) {
		struct config_plugin *p = &k->c->plugins[i];
		const struct doc_node *at = doc_get(item->value, "name");

		p->at = place_of(at);
		if (is_word(schema_engines, p->name))
			return doc_error(k->d, at, ERR_EXISTS, "plugins.name: %s is an engine of "
					 "Weft's own: the plugin needs another name", p->name);
		if (!check_known_add(known, p->name))
			return doc_error(k->d, at, ERR_EXISTS, "plugins.name: two plugins are "
					 "called %s", p->name);
	}
	return 0;
}

/* Where a chain names a plugin first. */
static void
note_use(struct config *c, const struct doc_node *list)
{
	for (const struct doc_item *i = list->items; i; i = i->next)
		for (unsigned n = 0; n < c->nplugins; n++)
			if (!c->plugins[n].routes.line &&
			    strcmp(c->plugins[n].name, i->value->text) == 0)
				c->plugins[n].routes = place_of(i->value);
}

static int
check_chains(struct check *k, const struct check_known *known)
{
	const struct doc_node *list = doc_get(k->d->root, "subnets"), *engines;
	struct option row = *schema_find(schema_subnet, "routing.engines");
	const struct doc_item *item = list ? list->items : NULL;
	int rc = 0;

	row.words = known->texts;
	for (unsigned i = 0; item && !rc; i++, item = item->next) {
		engines = doc_get(item->value, "routing");
		if (engines && engines->kind == DOC_MAP)
			engines = doc_get(engines, "engines");
		else
			engines = NULL;
		if (!engines)
			continue;
		rc = option_set(&row, &k->c->subnets[i], k->d, engines);
		if (!rc)
			note_use(k->c, engines);
	}
	return rc;
}

int
check_plugins(struct check *k)
{
	struct check_known known = { 0 };
	int rc = check_names_of(k, &known);

	if (!rc)
		rc = check_chains(k, &known);
	check_known_free(&known);
	return rc;
}

int
check_plugin_subnets(struct check *k)
{
	const struct doc_node *list = doc_get(k->d->root, "plugins"), *names;
	const struct doc_item *item = list ? list->items : NULL;
	int rc = 0;

	for (unsigned i = 0; item && i < k->c->nplugins && !rc; i++, item = item->next) {
		names = doc_get(item->value, "subnets");
		if (names)
			rc = check_names(k, "subnets", "subnet",
					 (const char *const *)k->c->plugins[i].subnets,
					 &k->subnets, names);
	}
	return rc;
}

int
config_wrong(const struct config *c, struct config_place at, struct error *e, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return error_set(e, ERR_INVALID, "%s:%u:%u: %s", c->file, at.line, at.column, text);
}

/* One value on its way through its row. */
struct value {
	uint64_t number;
	const char *text;
	unsigned word;
	bool flag;
};

static void
make_row(struct option *o, const struct config_plugin *p, const struct config_declared *d,
	 struct region *r)
{
	static const enum option_type types[] = {
		[CONFIG_KIND_NUMBER] = OPTION_NUMBER64, [CONFIG_KIND_FLAG] = OPTION_BOOL,
		[CONFIG_KIND_TEXT] = OPTION_TEXT, [CONFIG_KIND_WORD] = OPTION_WORD,
	};
	static const size_t offsets[] = {
		[CONFIG_KIND_NUMBER] = offsetof(struct value, number),
		[CONFIG_KIND_FLAG] = offsetof(struct value, flag),
		[CONFIG_KIND_TEXT] = offsetof(struct value, text),
		[CONFIG_KIND_WORD] = offsetof(struct value, word),
	};

	*o = (struct option){
		.name = region_printf(r, "plugins[%s].options.%s", p->name, d->name),
		.type = types[d->kind], .offset = offsets[d->kind], .min = d->min, .max = d->max,
		.words = d->words, .initial = "",
	};
}

/* A text as it is, if it is not too long; else as options of its kind are read. */
static int
read_value(const struct option *o, const struct config_declared *d, const struct doc *doc,
	   const struct config_pair *pair, const char **text)
{
	const struct doc_node n = {
		.text = pair->text, .quoted = true, .line = pair->text_at.line,
		.column = pair->text_at.column,
	};
	struct value v = { 0 };
	int rc;

	if (d->kind == CONFIG_KIND_TEXT) {
		*text = region_strdup(doc->keep, pair->text);
		return strlen(pair->text) <= d->max ? 0 :
			doc_error(doc, &n, ERR_INVALID, "%s: expected a text of at most %llu "
				  "bytes, found %s", o->name, (unsigned long long)d->max,
				  doc_describe(doc, &n));
	}
	rc = option_set(o, &v, doc, &n);
	if (rc)
		return rc;
	if (d->kind == CONFIG_KIND_NUMBER)
		*text = region_printf(doc->keep, "%llu", (unsigned long long)v.number);
	else if (d->kind == CONFIG_KIND_FLAG)
		*text = v.flag ? "true" : "false";
	else
		*text = region_strdup(doc->keep, d->words[v.word]);
	return 0;
}

static int
unknown_option(const struct config_plugin *p, const struct config_declared *declared, unsigned len,
	       const struct doc *doc, const struct config_pair *pair)
{
	const char **words = region_array(doc->region, len + 1, sizeof(*words)), *near;
	const struct doc_node at = {
		.text = pair->name, .quoted = true, .line = pair->name_at.line,
		.column = pair->name_at.column,
	};

	for (unsigned i = 0; i < len; i++)
		words[i] = declared[i].name;
	near = nearest_word(pair->name, words);
	if (near)
		return doc_error(doc, &at, ERR_INVALID, "unknown option %s in plugins[%s].options; "
				 "did you mean \"%s\"?", doc_describe(doc, &at), p->name, near);
	return doc_error(doc, &at, ERR_INVALID, "unknown option %s in plugins[%s].options%s",
			 doc_describe(doc, &at), p->name, len ? "" : ": it has none");
}

static int
read_pair(const struct config_plugin *p, const struct config_declared *declared, unsigned len,
	  const struct doc *doc, const struct config_pair *pair, const char **values)
{
	struct option o;

	for (unsigned i = 0; i < len; i++) {
		if (strcmp(declared[i].name, pair->name) != 0)
			continue;
		make_row(&o, p, &declared[i], doc->region);
		return read_value(&o, &declared[i], doc, pair, &values[i]);
	}
	return unknown_option(p, declared, len, doc, pair);
}

int
config_plugin_values(const struct config *c, const struct config_plugin *p,
		     const struct config_declared *declared, unsigned len, struct region *r,
		     const char **values, struct error *e)
{
	const struct doc doc = { .region = r, .keep = r, .name = c->file, .error = e };
	int rc = 0;

	for (unsigned i = 0; i < len; i++)
		values[i] = NULL;
	for (unsigned i = 0; i < p->noptions && !rc; i++)
		rc = read_pair(p, declared, len, &doc, &p->options[i], values);
	return rc;
}
