/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/text.h"

/*
 * One option: a value from YAML into its field. Lists have a file of their own (option_list.c), and
 * so has the way back into text (option_text.c).
 *
 * Everything here is told what to do by a row of the schema and knows no option by name. Values
 * live in the configuration's region. A value of the wrong kind, out of range, or of an unknown
 * word is refused at its own line and column with what was expected; nothing is ever rounded,
 * cut off or taken as 0. Fields are written through their declared width only.
 */

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
	option_number_text(o, o->min, out);
	buf_str(out, " to ");
	option_number_text(o, o->max, out);
	if (o->zero)
		buf_str(out, ", or 0");
}

static void
list_expected(const struct option *o, struct buf *out)
{
	switch (o->type) {
	case OPTION_NUMBERS:
		range_text(o, "one whole number, or a list of them,", out);
		break;
	case OPTION_RANGES:
		range_text(o, "a number or a range such as 0x10-0x1f, or a list of them,", out);
		break;
	case OPTION_PKEY_RANGES:
		buf_str(out, "a P_Key or a range such as 0x10-0x1f, or a list of them");
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
	case OPTION_PORTS:
		buf_str(out, "a selection of ports, or a list of them");
		break;
	case OPTION_NAMES:
		buf_printf(out, "%s, or a list of them", o->form);
		break;
	case OPTION_PAIRS:
		buf_str(out, "a map of options, each with one value");
		break;
	case OPTION_MAP:
		buf_str(out, "true, false or a map");
		break;
	default:
		buf_str(out, o->form ? o->form : o->min ? "a list of at least one map" :
			"a list of maps");
		break;
	}
}

/* Without the word for a value of its own. */
static void
scalar_expected(const struct option *o, struct buf *out)
{
	switch (o->type) {
	case OPTION_NUMBER:
		if (o->words)
			words_text(o->words, out);
		else
			range_text(o, "a whole number", out);
		break;
	case OPTION_NUMBER64:
		range_text(o, o->hex ? "a number" : "a whole number", out);
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
	case OPTION_PKEY:
		buf_str(out, "a P_Key from 0x0001 to 0x7fff, with or without the bit 0x8000");
		break;
	case OPTION_MTU:
		buf_str(out, "256, 512, 1024, 2048 or 4096 bytes, or the code of one, 1 to 5");
		break;
	case OPTION_RATE:
		words_text(o->words + 1, out);
		buf_str(out, ", the code of one (2 to 24), or a link such as 4xHDR");
		break;
	default:
		list_expected(o, out);
		break;
	}
}

void
option_expected(const struct option *o, struct buf *out)
{
	scalar_expected(o, out);
	if (o->word)
		buf_printf(out, ", or %s", o->word);
	else if (o->initial && strcmp(o->initial, "null") == 0 && o->type != OPTION_TEXT)
		buf_str(out, ", or null");
}

int
option_unexpected(const struct option *o, const struct doc *d, const struct doc_node *n)
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
	else if (near && o->type != OPTION_RATE)
		buf_printf(&b, "; did you mean \"%s\"?", near);
	rc = doc_error(d, n, ERR_INVALID, "%s", b.data);
	buf_free(&b);
	return rc;
}

bool
option_is_nested(const struct option *o)
{
	return o->type == OPTION_LIST || o->type == OPTION_MAP;
}

void *
option_entries(const struct option *o, const void *base, unsigned *len)
{
	void *entries;

	memcpy(&entries, (const char *)base + o->offset, sizeof(entries));
	memcpy(len, (const char *)base + o->count, sizeof(*len));
	return entries;
}

void
option_set_entries(const struct option *o, void *base, void *entries, unsigned len)
{
	memcpy((char *)base + o->offset, &entries, sizeof(entries));
	memcpy((char *)base + o->count, &len, sizeof(len));
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

bool
option_read_number(const struct option *o, const char *s, uint64_t *v)
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

bool
option_read_bool(const char *s, bool *v)
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

bool
option_read_pkey(const char *s, uint64_t *v)
{
	if (ambiguous(s) || !number_parse(s, 1, 0xffff, v))
		return false;
	*v &= 0x7fff;
	return *v;
}

static bool
read_mtu(const char *s, uint64_t *v)
{
	if (ambiguous(s) || !number_parse(s, 1, 4096, v))
		return false;
	if (!mtu_bytes((unsigned)*v))
		*v = mtu_code((unsigned)*v);
	return *v;
}

/* What all lanes of a link carry together, in the words that codes are named by. */
static void
link_rate(enum link_width width, enum link_speed speed, char *word, size_t size)
{
	static const double lane[] = {
		[SPEED_SDR] = 2.5, [SPEED_DDR] = 5, [SPEED_QDR] = 10, [SPEED_FDR10] = 10,
		[SPEED_FDR] = 14, [SPEED_EDR] = 25, [SPEED_HDR] = 50, [SPEED_NDR] = 100,
		[SPEED_XDR] = 200,
	};

	snprintf(word, size, "%gGb", lane[speed] * link_lanes(width));
}

/* `words` are in the order of the codes from 2 on, behind one that is none. */
static bool
read_rate(const struct option *o, const char *s, uint64_t *v)
{
	enum link_width width;
	enum link_speed speed;
	char word[16];

	if (link_parse(s, &width, &speed)) {
		link_rate(width, speed, word, sizeof(word));
		s = word;
	}
	for (*v = 2; o->words[*v - 1]; (*v)++)
		if (strcmp(o->words[*v - 1], s) == 0)
			return true;
	return !ambiguous(s) && number_parse(s, 2, *v - 1, v);
}

/* Numbers that have a form of their own, and those with a word for one of their values. */
static bool
set_special(const struct option *o, void *field, const char *s)
{
	uint64_t v = 0;
	bool ok;

	if (o->word && strcmp(s, o->word) == 0) {
		*(unsigned *)field = o->word_value;
		return true;
	}
	if (o->type == OPTION_PKEY)
		ok = option_read_pkey(s, &v);
	else if (o->type == OPTION_MTU)
		ok = read_mtu(s, &v);
	else if (o->type == OPTION_RATE)
		ok = read_rate(o, s, &v);
	else
		ok = option_read_number(o, s, &v);
	*(unsigned *)field = (unsigned)v;
	return ok;
}

static bool
set_number(const struct option *o, void *field, const char *s)
{
	uint64_t v;

	if (!option_read_number(o, s, &v))
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
		return o->initial && strcmp(o->initial, "null") == 0;
	}
	if (*n->text && !o->check)
		kept = in_words(o->words, n->text) ? n->text : NULL;
	else if (*n->text)
		kept = o->check(d->keep, n->text);
	if (kept == n->text)
		kept = region_strdup(d->keep, kept);
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
		return option_unexpected(o, d, n);
	switch (o->type) {
	case OPTION_NUMBER:
	case OPTION_NUMBER64:
		ok = o->word ? set_special(o, field, n->text) : set_number(o, field, n->text);
		break;
	case OPTION_PKEY:
	case OPTION_MTU:
	case OPTION_RATE:
		ok = set_special(o, field, n->text);
		break;
	case OPTION_DURATION:
		ok = read_duration(o, n->text, field);
		break;
	case OPTION_BOOL:
		ok = option_read_bool(n->text, field);
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
	return ok ? 0 : option_unexpected(o, d, n);
}

int
option_set(const struct option *o, void *base, const struct doc *d, const struct doc_node *value)
{
	switch (o->type) {
	case OPTION_WORDS:
	case OPTION_GUIDS:
	case OPTION_NUMBERS:
	case OPTION_RANGES:
	case OPTION_PKEY_RANGES:
	case OPTION_NAMES:
	case OPTION_SELECTIONS:
	case OPTION_PORTS:
	case OPTION_PAIRS:
		return option_set_list(o, base, d, value);
	default:
		return set_scalar(o, (char *)base + o->offset, d, value);
	}
}

/* An initial value as the tree that libyaml would give: a scalar, a list of them in brackets, or a
 * map of nothing. */
static struct doc_node *
initial_node(struct region *r, const char *text, size_t len)
{
	struct doc_node *n = region_alloc(r, sizeof(*n));
	struct doc_item **last = &n->items;

	if (strcmp(text, "{}") == 0) {
		n->kind = DOC_MAP;
		return n;
	}
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
option_set_initial(const struct option *table, void *base, const struct doc *d)
{
	struct doc ours = { .region = d->region, .keep = d->keep };
	int rc;

	for (const struct option *o = table; o->name; o++) {
		if (option_is_nested(o) || o->required)
			continue;
		ours.name = o->name;
		rc = option_set(o, base, &ours,
				initial_node(d->region, o->initial, strlen(o->initial)));
		assert(rc == 0);
		(void)rc;
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
