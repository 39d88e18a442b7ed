/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/option.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include "sm/base/text.h"

/*
 * Values back into YAML, each in one line, as its row wants to see it; and whether two values are
 * the same, for which no text is made: lists may be long.
 */

/* A field of a struct that only its row knows. */
static const void *
field_of(const struct option *o, const void *base)
{
	return (const char *)base + o->offset;
}

static unsigned
count_of(const struct option *o, const void *base)
{
	unsigned n;

	memcpy(&n, (const char *)base + o->count, sizeof(n));
	return n;
}

static void
print_duration(int64_t ns, struct buf *out)
{
	static const struct {
		int64_t ns;		/* length of the unit */
		const char *name;	/* as written behind a number */
	} units[] = {
		{ SEC(3600), "h" }, { SEC(60), "min" }, { SEC(1), "s" }, { MSEC(1), "ms" },
	};

	for (size_t i = 0; ns && i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns % units[i].ns == 0) {
			buf_printf(out, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
			return;
		}
	}
	buf_printf(out, ns ? "%" PRId64 "us" : "%" PRId64 "s", ns / USEC(1));
}

void
option_number_text(const struct option *o, uint64_t v, struct buf *out)
{
	if (o->word && v == o->word_value)
		buf_str(out, o->word);
	else if (o->type == OPTION_DURATION)
		print_duration((int64_t)v, out);
	else if (o->type == OPTION_PKEY || o->type == OPTION_PKEY_RANGES)
		buf_printf(out, "0x%04" PRIx64, v);
	else if (o->type == OPTION_MTU)
		buf_printf(out, "%u", mtu_bytes((unsigned)v));
	else if (o->type == OPTION_RATE)
		buf_str(out, o->words[v - 1]);
	else
		buf_printf(out, o->hex ? "0x%" PRIx64 : "%" PRIu64, v);
}

/* Plain where no YAML reader could take it for anything but a text; and GUIDs, as in lists of
 * them. */
static void
text_text(const char *s, struct buf *out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"/0123456789_-.";
	static const char *const taken[] = {
		"true", "false", "yes", "no", "on", "off", "null", "y", "n", NULL,
	};
	bool plain = (*s == '/' || isalpha((unsigned char)*s)) && !s[strspn(s, letters)];
	uint64_t guid;

	for (size_t i = 0; plain && taken[i]; i++)
		plain = strcmp(taken[i], s) != 0;
	if (plain || (s[0] == '0' && s[1] == 'x' && guid_parse(s, &guid))) {
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
texts_text(const char *const *texts, struct buf *out)
{
	if (!texts) {
		buf_str(out, "null");
		return;
	}
	buf_char(out, '[');
	for (unsigned i = 0; texts[i]; i++) {
		buf_str(out, i ? ", " : "");
		text_text(texts[i], out);
	}
	buf_char(out, ']');
}

static void
range_text(const struct option *o, const struct config_range *r, struct buf *out)
{
	option_number_text(o, r->from, out);
	if (r->from == r->to)
		return;
	buf_char(out, '-');
	option_number_text(o, r->to, out);
}

/* Lists with a count beside them. */
static void
counted_text(const struct option *o, const void *base, struct buf *out)
{
	const void *list;
	char text[GUID_TEXT_SIZE];

	if (!count_of(o, base) && strcmp(o->initial, "null") == 0) {
		buf_str(out, "null");
		return;
	}
	memcpy(&list, field_of(o, base), sizeof(list));
	buf_char(out, '[');
	for (unsigned i = 0; i < count_of(o, base); i++) {
		buf_str(out, i ? ", " : "");
		if (o->type == OPTION_GUIDS)
			buf_str(out, guid_text(text, ((const uint64_t *)list)[i]));
		else if (o->type == OPTION_NUMBERS)
			option_number_text(o, ((const unsigned *)list)[i], out);
		else
			range_text(o, &((const struct config_range *)list)[i], out);
	}
	buf_char(out, ']');
}

bool
option_is_initial(const struct option *o, const void *entry)
{
	struct buf b = { 0 };
	unsigned len;
	bool same;

	if (option_is_nested(o)) {
		option_entries(o, entry, &len);
		return !len;
	}
	if (!o->initial)
		return false;
	option_text(o, entry, &b);
	same = strcmp(b.data, o->initial) == 0;
	buf_free(&b);
	return same;
}

void
option_entry_text(const struct option *o, const void *entry, struct buf *out)
{
	const char *comma = "";

	buf_char(out, '{');
	for (const struct option *field = o->fields; field->name; field++) {
		if (option_is_initial(field, entry))
			continue;
		buf_printf(out, "%s%s: ", comma, field->name);
		option_text(field, entry, out);
		comma = ", ";
	}
	buf_char(out, '}');
}

/* Names and values of others: a number stays one to the eye. */
static void
pair_text(const char *s, struct buf *out)
{
	if (*s && !s[strspn(s, "0123456789")])
		buf_str(out, s);
	else if (strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
		buf_str(out, s);
	else
		text_text(s, out);
}

static void
pairs_text(const struct option *o, const void *base, struct buf *out)
{
	unsigned len;
	const struct config_pair *pairs = option_entries(o, base, &len);

	buf_char(out, '{');
	for (unsigned i = 0; i < len; i++) {
		buf_str(out, i ? ", " : "");
		pair_text(pairs[i].name, out);
		buf_str(out, ": ");
		pair_text(pairs[i].text, out);
	}
	buf_char(out, '}');
}

static void
entries_text(const struct option *o, const void *base, struct buf *out)
{
	unsigned len;
	const char *entries = option_entries(o, base, &len);
	struct buf only = { 0 };

	if (o->type == OPTION_MAP) {
		if (len)
			option_entry_text(o, entries, &only);
		buf_str(out, !len ? "false" : strcmp(only.data, "{}") == 0 ? "true" : only.data);
		buf_free(&only);
		return;
	}
	buf_char(out, '[');
	for (unsigned i = 0; i < len; i++) {
		buf_str(out, i ? ", " : "");
		option_entry_text(o, entries + i * o->size, out);
	}
	buf_char(out, ']');
}

void
option_text(const struct option *o, const void *base, struct buf *out)
{
	const void *field = field_of(o, base);
	const char *text;

	switch (o->type) {
	case OPTION_NUMBER:
	case OPTION_PKEY:
	case OPTION_MTU:
	case OPTION_RATE:
		option_number_text(o, *(const unsigned *)field, out);
		break;
	case OPTION_NUMBER64:
		option_number_text(o, *(const uint64_t *)field, out);
		break;
	case OPTION_DURATION:
		option_number_text(o, (uint64_t)*(const monotime *)field, out);
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
	case OPTION_SELECTIONS:
	case OPTION_NAMES:
	case OPTION_PORTS:
		texts_text(*(const char *const *const *)field, out);
		break;
	case OPTION_GUIDS:
	case OPTION_NUMBERS:
	case OPTION_RANGES:
	case OPTION_PKEY_RANGES:
		counted_text(o, base, out);
		break;
	case OPTION_PAIRS:
		pairs_text(o, base, out);
		break;
	case OPTION_LIST:
	case OPTION_MAP:
		entries_text(o, base, out);
		break;
	}
}

static bool
same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
same_texts(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

/* Lists with a count: of entries, or of plain items of `size` bytes without padding. */
static bool
same_counted(const struct option *o, const void *a, const void *b, size_t size)
{
	const char *one, *two;
	unsigned len = count_of(o, a);

	if (len != count_of(o, b))
		return false;
	memcpy(&one, field_of(o, a), sizeof(one));
	memcpy(&two, field_of(o, b), sizeof(two));
	if (!option_is_nested(o))
		return !len || memcmp(one, two, len * size) == 0;
	for (unsigned i = 0; i < len; i++)
		for (const struct option *field = o->fields; field->name; field++)
			if (!option_equal(field, one + i * size, two + i * size))
				return false;
	return true;
}

static bool
same_pairs(const struct option *o, const void *a, const void *b)
{
	unsigned len, other;
	const struct config_pair *one = option_entries(o, a, &len);
	const struct config_pair *two = option_entries(o, b, &other);

	if (len != other)
		return false;
	for (unsigned i = 0; i < len; i++)
		if (strcmp(one[i].name, two[i].name) || strcmp(one[i].text, two[i].text))
			return false;
	return true;
}

bool
option_equal(const struct option *o, const void *a, const void *b)
{
	const void *one = field_of(o, a), *two = field_of(o, b);

	switch (o->type) {
	case OPTION_NUMBER:
	case OPTION_PKEY:
	case OPTION_MTU:
	case OPTION_RATE:
	case OPTION_WORD:
		return *(const unsigned *)one == *(const unsigned *)two;
	case OPTION_NUMBER64:
		return *(const uint64_t *)one == *(const uint64_t *)two;
	case OPTION_DURATION:
		return *(const monotime *)one == *(const monotime *)two;
	case OPTION_BOOL:
		return *(const bool *)one == *(const bool *)two;
	case OPTION_TEXT:
		return same_text(*(const char *const *)one, *(const char *const *)two);
	case OPTION_WORDS:
	case OPTION_SELECTIONS:
	case OPTION_NAMES:
	case OPTION_PORTS:
		return same_texts(*(const char *const *const *)one,
				  *(const char *const *const *)two);
	case OPTION_GUIDS:
		return same_counted(o, a, b, sizeof(uint64_t));
	case OPTION_NUMBERS:
		return same_counted(o, a, b, sizeof(unsigned));
	case OPTION_RANGES:
	case OPTION_PKEY_RANGES:
		return same_counted(o, a, b, sizeof(struct config_range));
	case OPTION_PAIRS:
		return same_pairs(o, a, b);
	case OPTION_LIST:
	case OPTION_MAP:
		return same_counted(o, a, b, o->size);
	}
	return false;
}
