/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * A configuration back into text: as YAML, as the differences to another one, and the options
 * themselves as manual. Everything walks the rows of the schema in their order, so no option can
 * be forgotten. Nothing here changes a configuration.
 */

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

/* `lead` stands instead of `indent` in the first line. Rows of one group stand together. */
static void
print_rows(const struct option *table, const void *base, const char *lead, const char *indent,
	   struct buf *out)
{
	const char *before = NULL;

	for (const struct option *o = table; o->name; o++) {
		const char *word = o->name;
		size_t open = open_groups(before, o->name);
		int depth = 0;

		if (o->type == OPTION_SUBNETS)
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
		buf_printf(out, "%s: ", word);
		option_text(o, base, out);
		buf_char(out, '\n');
		lead = indent;
	}
}

void
config_print(const struct config *c, struct buf *out)
{
	print_rows(schema_root, c, "", "", out);
	buf_str(out, "subnets:\n");
	for (unsigned i = 0; i < c->nsubnets; i++)
		print_rows(schema_subnet, &c->subnets[i], "  - ", "    ", out);
}

/* Where differences go, and the earliest stage so far. */
struct diff {
	config_diff_fn fn;		/* may be NULL */
	void *arg;			/* its first argument */
	enum config_stage stage;	/* smallest of all differences */
};

static void
diff_row(struct diff *d, const struct option *o, const char *prefix, const void *old,
	 const void *new)
{
	struct buf name = { 0 }, a = { 0 }, b = { 0 };

	option_text(o, old, &a);
	option_text(o, new, &b);
	if (strcmp(a.data, b.data) != 0) {
		if (o->stage < d->stage)
			d->stage = o->stage;
		buf_printf(&name, "%s%s", prefix, o->name);
		if (d->fn)
			d->fn(d->arg, name.data, o->secret ? "(hidden)" : a.data,
			      o->secret ? "(hidden)" : b.data, o->stage);
	}
	buf_free(&name);
	buf_free(&a);
	buf_free(&b);
}

static void
diff_rows(struct diff *d, const struct option *table, const char *prefix, const void *old,
	  const void *new)
{
	for (const struct option *o = table; o->name; o++) {
		if (o->type != OPTION_SUBNETS)
			diff_row(d, o, prefix, old, new);
	}
}

/* A subnet that came or went. */
static void
diff_subnet(struct diff *d, const char *name, const char *old, const char *new)
{
	d->stage = STAGE_RESTART;
	if (d->fn)
		d->fn(d->arg, name, old ? old : "absent", new ? new : "absent", STAGE_RESTART);
}

enum config_stage
config_diff(const struct config *old, const struct config *new, config_diff_fn fn, void *arg)
{
	struct diff d = { fn, arg, STAGE_NONE };
	char prefix[32];

	diff_rows(&d, schema_root, "", old, new);
	for (unsigned i = 0; i < old->nsubnets || i < new->nsubnets; i++) {
		if (i < old->nsubnets && i < new->nsubnets) {
			snprintf(prefix, sizeof(prefix), "subnets[%u].", i);
			diff_rows(&d, schema_subnet, prefix, &old->subnets[i], &new->subnets[i]);
			continue;
		}
		snprintf(prefix, sizeof(prefix), "subnets[%u]", i);
		diff_subnet(&d, prefix, i < old->nsubnets ? old->subnets[i].name : NULL,
			    i < new->nsubnets ? new->subnets[i].name : NULL);
	}
	return d.stage;
}

static void
keep_value(const struct option *o, struct region *r, void *fresh, const void *old)
{
	char *to = (char *)fresh + o->offset;
	const char *from = (const char *)old + o->offset;

	switch (o->type) {
	case OPTION_NUMBER:
		memcpy(to, from, sizeof(unsigned));
		break;
	case OPTION_NUMBER64:
		memcpy(to, from, sizeof(uint64_t));
		break;
	case OPTION_DURATION:
		memcpy(to, from, sizeof(monotime));
		break;
	case OPTION_BOOL:
		memcpy(to, from, sizeof(bool));
		break;
	case OPTION_TEXT: {
		const char *text;

		memcpy(&text, from, sizeof(text));
		text = text ? region_strdup(r, text) : NULL;
		memcpy(to, &text, sizeof(text));
		break;
	}
	case OPTION_WORD:
	case OPTION_WORDS:
	case OPTION_GUIDS:
	case OPTION_SELECTIONS:
	case OPTION_SUBNETS:
		break;	/* none of these waits for a restart, but the list of subnets as a whole */
	}
}

static void
keep_rows(const struct option *table, struct region *r, void *fresh, const void *old)
{
	for (const struct option *o = table; o->name; o++)
		if (o->stage == STAGE_RESTART)
			keep_value(o, r, fresh, old);
}

void
config_keep(struct config *fresh, const struct config *old)
{
	keep_rows(schema_root, fresh->region, fresh, old);
	for (unsigned i = 0; i < old->nsubnets && i < fresh->nsubnets; i++)
		keep_rows(schema_subnet, fresh->region, &fresh->subnets[i], &old->subnets[i]);
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
manual_row(FILE *out, const struct option *o, const char *prefix)
{
	struct buf expected = { 0 };

	option_expected(o, &expected);
	fprintf(out, ".It Sy %s%s\n", prefix, o->name);
	manual_text(out, o->help);
	fputs("\nExpected: ", out);
	manual_text(out, expected.data);
	fputs(".\nDefault: ", out);
	manual_text(out, o->initial);
	fprintf(out, ".\n%s\n", stage_sentence(o->stage));
	buf_free(&expected);
}

void
config_manual(FILE *out)
{
	for (const struct option *o = schema_root; o->name; o++)
		manual_row(out, o, "");
	for (const struct option *o = schema_subnet; o->name; o++)
		manual_row(out, o, "subnets[].");
}
