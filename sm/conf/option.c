/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/option.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/text.h"

/*
 * One option: a value from YAML into its field, and the field back as YAML.
 *
 * Everything here is told what to do by a row of the schema and knows no option by name. Values
 * live in the configuration's region. A value of the wrong kind, out of range, or of an unknown
 * word is refused at its own line and column with what was expected; nothing is ever rounded,
 * cut off or taken as 0. Fields are written through their declared width only.
 */

#define SELECTIONS_MAX 256u	/* of one list; each is tried on every node */

/* A number as its row wants to see it. */
static void
number_text(const struct option *o, uint64_t v, struct buf *out)
{
	static const struct {
		int64_t ns;		/* length of the unit */
		const char *name;	/* as written behind a number */
	} units[] = {
		{ SEC(3600), "h" }, { SEC(60), "min" }, { SEC(1), "s" }, { MSEC(1), "ms" },
	};
	int64_t ns = (int64_t)v;

	if (o->type == OPTION_NUMBER64 || o->type == OPTION_GUIDS) {
		buf_printf(out, "0x%" PRIx64, v);
		return;
	}
	if (o->type != OPTION_DURATION) {
		buf_printf(out, "%" PRIu64, v);
		return;
	}
	for (size_t i = 0; ns && i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns % units[i].ns == 0) {
			buf_printf(out, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
			return;
		}
	}
	buf_printf(out, ns ? "%" PRId64 "us" : "%" PRId64 "s", ns / USEC(1));
}

static void
words_text(const char *const *words, struct buf *out)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			buf_str(out, words[i + 1] ? ", " : " or ");
		buf_str(out, words[i]);
	}
}

static void
range_text(const struct option *o, const char *what, struct buf *out)
{
	buf_printf(out, "%s from ", what);
	number_text(o, o->min, out);
	buf_str(out, " to ");
	number_text(o, o->max, out);
	if (o->zero)
		buf_str(out, ", or 0");
}

void
option_expected(const struct option *o, struct buf *out)
{
	switch (o->type) {
	case OPTION_NUMBER:
		if (o->words)
			words_text(o->words, out);
		else
			range_text(o, "a whole number", out);
		break;
	case OPTION_NUMBER64:
		range_text(o, "a number", out);
		break;
	case OPTION_DURATION:
		range_text(o, "a time with a unit (us, ms, s, min, h)", out);
		break;
	case OPTION_BOOL:
		buf_str(out, "true or false");
		break;
	case OPTION_WORD:
		words_text(o->words, out);
		break;
	case OPTION_TEXT:
		buf_str(out, o->form);
		break;
	case OPTION_WORDS:
		buf_str(out, "a list of at least one of ");
		words_text(o->words, out);
		break;
	case OPTION_GUIDS:
		buf_str(out, "a list of GUIDs such as 0x0002c903000a1b2c");
		break;
	case OPTION_SELECTIONS:
		buf_str(out, "a list of names, GUIDs or /regular expressions/");
		break;
	case OPTION_SUBNETS:
		buf_str(out, "a list of maps, one for each subnet");
		break;
	}
}

/* "expected ..., found ...; did you mean ...?" for a value or for one element of a list. */
static int
unexpected(const struct option *o, const struct doc *d, const struct doc_node *n)
{
	const char *near = NULL;
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "%s: expected ", o->name);
	option_expected(o, &b);
	buf_printf(&b, ", found %s", o->secret && n->kind == DOC_SCALAR && *n->text ?
		   "something else" : doc_describe(d, n));
	if (o->words && o->type != OPTION_NUMBER && n->kind == DOC_SCALAR)
		near = nearest_word(n->text, o->words);
	if (near && !strcmp(near, n->text))
		buf_printf(&b, "; write [%s]", near);	/* right word, but no list */
	else if (near)
		buf_printf(&b, "; did you mean \"%s\"?", near);
	rc = doc_error(d, n, ERR_INVALID, "%s", b.data);
	buf_free(&b);
	return rc;
}

/* A leading zero is octal to some YAML readers and decimal to others. */
static bool
ambiguous(const char *s)
{
	return s[0] == '0' && s[1] >= '0' && s[1] <= '9';
}

static bool
in_words(const char *const *words, const char *s)
{
	for (; *words; words++) {
		if (strcmp(*words, s) == 0)
			return true;
	}
	return false;
}

static bool
read_number(const struct option *o, const char *s, uint64_t *v)
{
	if (ambiguous(s) || !number_parse(s, 0, o->max, v))
		return false;
	if (*v < o->min && !(o->zero && *v == 0))
		return false;
	return true;
}

static bool
read_duration(const struct option *o, const char *s, int64_t *ns)
{
	if (strcmp(s, "0") == 0)
		*ns = 0;
	else if (ambiguous(s) || !duration_parse(s, ns))
		return false;
	if (*ns == 0)
		return o->zero || o->min == 0;
	return (uint64_t)*ns >= o->min && (uint64_t)*ns <= o->max;
}

/* The words of YAML 1.1, which people use whatever version a reader follows. */
static bool
read_bool(const char *s, bool *v)
{
	static const char *const yes[] = { "true", "yes", "on", NULL };
	static const char *const no[] = { "false", "no", "off", NULL };

	*v = in_words(yes, s);
	return *v || in_words(no, s);
}

static bool
read_word(const struct option *o, const char *s, unsigned *v)
{
	for (*v = 0; o->words[*v]; (*v)++) {
		if (strcmp(o->words[*v], s) == 0)
			return true;
	}
	return false;
}

static bool
set_number(const struct option *o, void *field, const char *s)
{
	uint64_t v;

	if (!read_number(o, s, &v))
		return false;
	if (o->type == OPTION_NUMBER64) {
		*(uint64_t *)field = v;
		return true;
	}
	if (o->words && !in_words(o->words, s))
		return false;
	*(unsigned *)field = (unsigned)v;
	return true;
}

static bool
set_text(const struct option *o, void *field, const struct doc *d, const struct doc_node *n)
{
	const char *kept = NULL;

	if (doc_is_null(n)) {
		*(const char **)field = NULL;
		return strcmp(o->initial, "null") == 0;
	}
	if (*n->text)
		kept = o->check(d->region, n->text);
	*(const char **)field = kept;
	return kept;
}

/* Enums are stored as the unsigned that the ABI makes them. */
_Static_assert(sizeof(enum log_level) == sizeof(unsigned), "enums are stored as unsigned");
_Static_assert(sizeof(enum config_fallback) == sizeof(unsigned), "enums are stored as unsigned");

static int
set_scalar(const struct option *o, void *field, const struct doc *d, const struct doc_node *n)
{
	bool ok = false;

	if (n->kind != DOC_SCALAR)
		return unexpected(o, d, n);
	switch (o->type) {
	case OPTION_NUMBER:
	case OPTION_NUMBER64:
		ok = set_number(o, field, n->text);
		break;
	case OPTION_DURATION:
		ok = read_duration(o, n->text, field);
		break;
	case OPTION_BOOL:
		ok = read_bool(n->text, field);
		break;
	case OPTION_WORD:
		ok = read_word(o, n->text, field);
		break;
	case OPTION_TEXT:
		ok = set_text(o, field, d, n);
		break;
	default:
		break;
	}
	return ok ? 0 : unexpected(o, d, n);
}

static int
twice(const struct option *o, const struct doc *d, const struct doc_node *n)
{
	return doc_error(d, n, ERR_EXISTS, "%s: %s is in the list twice", o->name,
			 doc_describe(d, n));
}

static int
set_words(const struct option *o, const char ***field, const struct doc *d,
	  const struct doc_node *list)
{
	struct buf known = { 0 };
	const char **words;
	unsigned n = 0, word;
	int rc;

	if (list->kind != DOC_LIST || !list->len)
		return unexpected(o, d, list);
	words = region_array(d->region, list->len + 1, sizeof(*words));
	for (const struct doc_item *i = list->items; i; i = i->next) {
		const struct doc_node *v = i->value;

		if (v->kind == DOC_SCALAR && o->later && in_words(o->later, v->text)) {
			words_text(o->words, &known);
			rc = doc_error(d, v, ERR_UNSUPPORTED, "%s: this version does not have %s "
				       "yet: use %s", o->name, doc_describe(d, v), known.data);
			buf_free(&known);
			return rc;
		}
		if (v->kind != DOC_SCALAR || !read_word(o, v->text, &word))
			return unexpected(o, d, v);
		if (in_words(words, v->text))
			return twice(o, d, v);
		words[n++] = o->words[word];
	}
	*field = words;
	return 0;
}

static int
read_guids(const struct option *o, const struct doc *d, const struct doc_node *list,
	   struct map *seen, uint64_t *guids)
{
	uint32_t n = 0;

	for (const struct doc_item *i = list->items; i; i = i->next, n++) {
		const struct doc_node *v = i->value;

		if (v->kind != DOC_SCALAR || !guid_parse(v->text, &guids[n]) || !guids[n])
			return unexpected(o, d, v);
		if (map_get(seen, guids[n]) != MAP_NONE)
			return twice(o, d, v);
		map_set(seen, guids[n], n);
	}
	return 0;
}

static int
set_guids(const struct option *o, void *base, const struct doc *d, const struct doc_node *list)
{
	struct map seen = { 0 };
	uint64_t *guids;
	int rc;

	if (list->kind != DOC_LIST)
		return unexpected(o, d, list);
	guids = region_array(d->region, list->len, sizeof(*guids));
	rc = read_guids(o, d, list, &seen, guids);
	map_free(&seen);
	if (rc)
		return rc;
	*(uint64_t **)(void *)((char *)base + o->offset) = guids;
	*(unsigned *)(void *)((char *)base + o->count) = list->len;
	return 0;
}

static int
check_selection(const struct option *o, const struct doc *d, const struct doc_node *n)
{
	struct error e = { 0 };
	struct selection *s = selection_new(n->text, &e);

	selection_free(s);
	return s ? 0 : doc_error(d, n, e.code, "%s: %s", o->name, e.text);
}

static int
set_selections(const struct option *o, const char ***field, const struct doc *d,
	       const struct doc_node *list)
{
	const char **texts;
	unsigned n = 0;
	int rc = 0;

	if (list->kind != DOC_LIST)
		return unexpected(o, d, list);
	if (list->len > SELECTIONS_MAX)
		return doc_error(d, list, ERR_FULL, "%s: expected at most %u", o->name,
				 SELECTIONS_MAX);
	texts = region_array(d->region, list->len + 1, sizeof(*texts));
	for (const struct doc_item *i = list->items; i && !rc; i = i->next) {
		const struct doc_node *v = i->value;

		if (v->kind != DOC_SCALAR)
			return unexpected(o, d, v);
		if (in_words(texts, v->text))
			return twice(o, d, v);
		texts[n++] = region_strdup(d->region, v->text);
		rc = check_selection(o, d, v);
	}
	*field = texts;
	return rc;
}

int
option_set(const struct option *o, void *base, const struct doc *d, const struct doc_node *value)
{
	void *field = (char *)base + o->offset;

	switch (o->type) {
	case OPTION_WORDS:
		return set_words(o, field, d, value);
	case OPTION_GUIDS:
		return set_guids(o, base, d, value);
	case OPTION_SELECTIONS:
		return set_selections(o, field, d, value);
	default:
		return set_scalar(o, field, d, value);
	}
}

/* An initial value as the tree that libyaml would give: a scalar, or a list of them in brackets. */
static struct doc_node *
initial_node(struct region *r, const char *text, size_t len)
{
	struct doc_node *n = region_alloc(r, sizeof(*n));
	struct doc_item **last = &n->items;

	if (*text != '[') {
		n->text = region_printf(r, "%.*s", (int)len, text);
		return n;
	}
	n->kind = DOC_LIST;
	while (*++text != ']') {
		text += strspn(text, " ,");
		len = strcspn(text, ",]");
		*last = region_alloc(r, sizeof(**last));
		(*last)->value = initial_node(r, text, len);
		last = &(*last)->next;
		text += len - 1;
		n->len++;
	}
	return n;
}

void
option_set_initial(const struct option *table, void *base, struct region *r)
{
	int rc;

	for (const struct option *o = table; o->name; o++) {
		struct doc d = { .region = r, .name = o->name };

		if (o->type == OPTION_SUBNETS)
			continue;
		rc = option_set(o, base, &d, initial_node(r, o->initial, strlen(o->initial)));
		assert(rc == 0);
		(void)rc;
	}
}

/* Plain where no YAML reader could take it for anything but a text. */
static void
text_text(const char *s, struct buf *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"/0123456789_-.";
	static const char *const taken[] = {
		"true", "false", "yes", "no", "on", "off", "null", "y", "n", NULL,
	};
	bool plain = (*s == '/' || isalpha((unsigned char)*s)) && !s[strspn(s, letters)];

	if (plain && !in_words(taken, s)) {
		buf_str(out, s);
		return;
	}
	buf_char(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_char(out, '\\');
		buf_char(out, *s);
	}
	buf_char(out, '"');
}

static void
list_text(const struct option *o, const void *base, struct buf *out)
{
	const void *field = (const char *)base + o->offset;
	const void *count = (const char *)base + o->count;
	char text[GUID_TEXT_SIZE];

	buf_char(out, '[');
	if (o->type != OPTION_GUIDS) {
		const char *const *words = *(const char *const *const *)field;

		for (unsigned i = 0; words[i]; i++) {
			buf_str(out, i ? ", " : "");
			text_text(words[i], out);
		}
	} else {
		const uint64_t *guids = *(const uint64_t *const *)field;

		for (unsigned i = 0; i < *(const unsigned *)count; i++)
			buf_printf(out, "%s%s", i ? ", " : "", guid_text(text, guids[i]));
	}
	buf_char(out, ']');
}

void
option_text(const struct option *o, const void *base, struct buf *out)
{
	const void *field = (const char *)base + o->offset;
	const char *text;

	switch (o->type) {
	case OPTION_NUMBER:
		number_text(o, *(const unsigned *)field, out);
		break;
	case OPTION_NUMBER64:
		number_text(o, *(const uint64_t *)field, out);
		break;
	case OPTION_DURATION:
		number_text(o, (uint64_t)*(const monotime *)field, out);
		break;
	case OPTION_BOOL:
		buf_str(out, *(const bool *)field ? "true" : "false");
		break;
	case OPTION_WORD:
		buf_str(out, o->words[*(const unsigned *)field]);
		break;
	case OPTION_TEXT:
		text = *(const char *const *)field;
		if (text)
			text_text(text, out);
		else
			buf_str(out, "null");
		break;
	case OPTION_WORDS:
	case OPTION_GUIDS:
	case OPTION_SELECTIONS:
		list_text(o, base, out);
		break;
	case OPTION_SUBNETS:
		break;
	}
}

const char *
option_stage(enum config_stage stage)
{
	static const char *const names[] = {
		[STAGE_RESTART] = "restart",
		[STAGE_DISCOVER] = "discover",
		[STAGE_LIDS] = "lids",
		[STAGE_ROUTING] = "routing",
		[STAGE_PARTITIONS] = "partitions",
		[STAGE_PUSH] = "push",
		[STAGE_LIVE] = "live",
		[STAGE_NONE] = "none",
	};

	return names[stage];
}
