/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * A configuration back into text, as YAML, and the options themselves as manual. Everything walks
 * the rows of the schema in their order, so no option can be forgotten.
 */
struct printing {
	struct buf *out;	/* where it goes */
	bool changed;		/* only what is not initial, and the first row of each entry */
};

#define WIDTH 70u		/* where lists are folded */

static void
print_entries(const struct printing *p, const struct option *o, const void *base,
	      const char *indent);

/* Where a group that `before` (NULL: nothing) left open ends in the name of the next row. */
static size_t
open_groups(const char *before, const char *name)
{
	size_t open = 0;

	for (size_t i = 0; before && name[i] && name[i] == before[i]; i++)
		if (name[i] == '.')
			open = i + 1;
	return open;
}

/* A list of texts or numbers, which YAML allows to go on in the next line; blanks in quotes are no
 * place for that. */
static void
print_folded(const char *text, const char *indent, struct buf *out)
{
	bool quoted = false;
	size_t column = 0;

	for (const char *s = text; *s; s++, column++) {
		if (*s == '\\' && quoted)
			buf_char(out, *s++);
		else if (*s == '"')
			quoted = !quoted;
		if (*s == ' ' && !quoted && column > WIDTH) {
			buf_printf(out, "\n%s    ", indent);
			column = 0;
		} else {
			buf_char(out, *s);
		}
	}
	buf_char(out, '\n');
}

static void
print_value(const struct printing *p, const struct option *o, const void *base, const char *indent)
{
	struct buf text = { 0 };

	buf_char(p->out, ' ');
	option_text(o, base, &text);
	if (p->changed && *text.data == '[')
		print_folded(text.data, indent, p->out);
	else
		buf_printf(p->out, "%s\n", text.data);
	buf_free(&text);
}

/* `lead` stands instead of `indent` in the first line. Rows of one group stand together. */
static void
print_rows(const struct printing *p, const struct option *table, const void *base,
	   const char *lead, const char *indent)
{
	const char *before = NULL;
	struct buf *out = p->out;

	for (const struct option *o = table; o->name; o++) {
		const char *word = o->name;
		size_t open = open_groups(before, o->name);
		int depth = 0;

		if (p->changed && o != table && option_is_initial(o, base))
			continue;
		before = o->name;
		buf_str(out, lead);
		for (const char *dot; (dot = strchr(word, '.')); word = dot + 1) {
			depth += 2;
			if (dot < o->name + open)
				buf_str(out, "  ");
			else
				buf_printf(out, "%.*s:\n%s%*s", (int)(dot - word), word, indent,
					   depth, "");
		}
		buf_printf(out, "%s:", word);
		if (option_is_nested(o)) {
			struct buf deeper = { 0 };

			buf_printf(&deeper, "%s%*s", indent, depth + 2, "");
			print_entries(p, o, base, deeper.data);
			buf_free(&deeper);
		} else {
			print_value(p, o, base, indent);
		}
		lead = indent;
	}
}

/* What follows the key: a list has a dash for each entry, a map stands below, none is in line. */
static void
print_entries(const struct printing *p, const struct option *o, const void *base,
	      const char *indent)
{
	struct buf *out = p->out;
	struct buf first = { 0 }, others = { 0 };
	unsigned len;
	const char *entries = option_entries(o, base, &len);

	if (!len) {
		buf_char(out, ' ');
		option_text(o, base, out);
	}
	buf_char(out, '\n');
	buf_printf(&first, "%s%s", indent, o->type == OPTION_LIST ? "- " : "");
	buf_printf(&others, "%s%s", indent, o->type == OPTION_LIST ? "  " : "");
	for (unsigned i = 0; i < len; i++)
		print_rows(p, o->fields, entries + i * o->size, first.data, others.data);
	buf_free(&first);
	buf_free(&others);
}

void
config_print(const struct config *c, struct buf *out)
{
	print_rows(&(struct printing){ out, false }, schema_root, c, "", "");
}

void
config_print_changed(const struct config *c, struct buf *out)
{
	print_rows(&(struct printing){ out, true }, schema_root, c, "", "");
}

static const char *
stage_sentence(enum config_stage stage)
{
	switch (stage) {
	case STAGE_RESTART:
		return "A change needs a restart.";
	case STAGE_DISCOVER:
		return "A change discovers the subnet again.";
	case STAGE_LIDS:
		return "A change assigns LIDs again.";
	case STAGE_ROUTING:
		return "A change routes the subnet again.";
	case STAGE_PARTITIONS:
		return "A change compiles the partitions again.";
	case STAGE_PUSH:
		return "A change is written to the devices that differ.";
	case STAGE_LIVE:
	case STAGE_NONE:
		break;
	}
	return "A change takes effect with the reload.";
}

/* Each sentence starts a line, as roff wants it to space them. */
static void
manual_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (s[0] == '.' && s[1] == ' ') {
			fputs(".\n", out);
			s++;
		} else {
			putc(*s, out);
		}
	}
}

static void
manual_rows(FILE *out, const struct option *table, const char *prefix);

static void
manual_row(FILE *out, const struct option *o, const char *prefix)
{
	struct buf text = { 0 };

	option_expected(o, &text);
	fprintf(out, ".It Sy %s%s\n", prefix, o->name);
	manual_text(out, o->help);
	fputs("\nExpected: ", out);
	manual_text(out, text.data);
	fputs(".\nDefault: ", out);
	manual_text(out, o->required ? "none, it must be set" : o->initial);
	fprintf(out, ".\n%s\n", stage_sentence(o->stage));
	buf_clear(&text);
	if (option_is_nested(o)) {
		buf_printf(&text, "%s%s%s.", prefix, o->name, o->type == OPTION_LIST ? "[]" : "");
		manual_rows(out, o->fields, text.data);
	}
	buf_free(&text);
}

static void
manual_rows(FILE *out, const struct option *table, const char *prefix)
{
	for (const struct option *o = table; o->name; o++)
		manual_row(out, o, prefix);
}

void
config_manual(FILE *out)
{
	manual_rows(out, schema_root, "");
}
