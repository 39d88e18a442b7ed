/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "sim/control/names.h"
#include "sim/control/words.h"
#include "sm/base/mem.h"
#include "sm/wire/congestion.h"

/*
 * Command lines: found in the tables, counted, run. A line that did something is in the event log
 * before what came of it.
 */
static const struct command *const tables[] = {
	command_shows, command_faults, command_loads, command_ar, command_others,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))
#define COMMANDS_MAX 80u
#define HELP_COLUMN 42	/* where the help of a command begins */

static const struct command *
find_command(const char *name)
{
	for (size_t t = 0; t < TABLES; t++)
		for (const struct command *k = tables[t]; k->name; k++)
			if (strcmp(k->name, name) == 0)
				return k;
	return NULL;
}

static int
unknown_command(const char *name, struct error *e)
{
	const char *words[COMMANDS_MAX + 1], *near;
	size_t len = 0;

	for (size_t t = 0; t < TABLES; t++)
		for (const struct command *k = tables[t]; k->name && len < COMMANDS_MAX; k++)
			words[len++] = k->name;
	words[len] = NULL;
	near = nearest_word(name, words);
	if (near)
		return error_set(e, ERR_NOT_FOUND, "there is no command \"%.60s\"; did you mean "
				 "\"%s\"?", name, near);
	return error_set(e, ERR_NOT_FOUND, "there is no command \"%.60s\"; \"help\" lists them",
			 name);
}

static int
usage(const struct command *k, struct error *e)
{
	return error_set(e, ERR_INVALID, "usage: %s%s%s", k->name, *k->args ? " " : "", k->args);
}

static int
run(struct sim *s, const struct words *w, bool check, struct buf *out, struct error *e)
{
	const struct command *k = find_command(w->word[0]);
	struct call c = {
		.s = s, .command = k, .args = w->word + 1, .nargs = w->len - 1, .check = check,
		.out = out, .e = e,
	};

	if (!k)
		return unknown_command(w->word[0], e);
	if (c.nargs < k->min || c.nargs > k->max)
		return usage(k, e);
	return k->run(&c);
}

int
sim_command(struct sim *s, const char *line, struct buf *out, struct error *e)
{
	struct words *w = mem_zalloc(sizeof(*w));
	int rc;

	rc = words_split(w, line, e);
	if (!rc && w->len)
		rc = run(s, w, false, out, e);
	mem_free(w);
	return rc;
}

int
command_check(struct sim *s, const char *line, struct error *e)
{
	struct words *w = mem_zalloc(sizeof(*w));
	struct buf none = { 0 };
	int rc;

	rc = words_split(w, line, e);
	if (!rc && w->len)
		rc = run(s, w, true, &none, e);
	buf_free(&none);
	mem_free(w);
	return rc;
}

void
sim_help(struct buf *out)
{
	for (size_t t = 0; t < TABLES; t++) {
		for (const struct command *k = tables[t]; k->name; k++) {
			int used = (int)strlen(k->name) + 1 + (int)strlen(k->args);

			if (used >= HELP_COLUMN)
				buf_printf(out, "  %s %s\n  %*s%s\n", k->name, k->args,
					   HELP_COLUMN, "", k->help);
			else
				buf_printf(out, "  %s %s%*s%s\n", k->name, k->args,
					   HELP_COLUMN - used, "", k->help);
		}
		if (t + 1 < TABLES)
			buf_char(out, '\n');
	}
}

/* ---- Arguments ---- */

int
arg_node(const struct call *c, unsigned i, uint32_t *node)
{
	return names_node(c->s->names, c->args[i], node, c->e);
}

int
arg_port(const struct call *c, unsigned i, uint32_t *node, unsigned *port)
{
	return names_port(c->s->names, c->args[i], false, node, port, c->e);
}

int
arg_time(const struct call *c, unsigned i, monotime *t)
{
	return time_read(c->args[i], t, c->e);
}

int
arg_number(const struct call *c, unsigned i, const char *what, uint64_t min, uint64_t max,
	   uint64_t *value)
{
	if (number_parse(c->args[i], min, max, value))
		return 0;
	return error_set(c->e, ERR_INVALID, "%s is a number from %" PRIu64 " to %" PRIu64
			 ", not \"%.60s\"", what, min, max, c->args[i]);
}

int
arg_guid(const struct call *c, unsigned i, uint64_t *guid)
{
	if (guid_parse(c->args[i], guid) && *guid)
		return 0;
	return error_set(c->e, ERR_INVALID, "\"%.60s\" is no GUID: 0x and 1 to 16 hex digits, not "
			 "all 0", c->args[i]);
}

/* Names are compared by their letters and digits alone. */
static bool
same_letters(const char *a, const char *b)
{
	for (;;) {
		a += strcspn(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
		b += strcspn(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
		if (!*a || strncasecmp(a, b, 1) != 0)
			return !*a && !*b;
		a++;
		b++;
	}
}

/* The first attribute of the congestion control class that a name is for; those below share theirs
 * with subnet management. */
#define CC_FIRST MODEL_CC(CC_INFO)

static const char *
attr_name(uint16_t attr)
{
	if (attr == MODEL_CC(CC_CLASS_PORT_INFO))
		return "CongestionClassPortInfo";
	return attr >= CC_FIRST && attr <= MODEL_CC(CC_TIMESTAMP) ?
		cc_attr_name((uint16_t)(attr - MODEL_CC(0))) : mad_attr_name(attr);
}

int
arg_attr(const struct call *c, unsigned i, uint16_t *attr)
{
	const char *words[64], *name, *near;
	struct buf all = { 0 };
	uint64_t number;
	size_t len = 0;

	if (number_parse(c->args[i], 1, 0xffff, &number)) {
		*attr = (uint16_t)number;
		return 0;
	}
	for (uint16_t a = 1; a <= MODEL_CC(CC_TIMESTAMP); a++) {
		if (!(name = attr_name(a)))
			continue;
		if (same_letters(name, c->args[i])) {
			*attr = a;
			return 0;
		}
		words[len++] = name;
	}
	words[len] = NULL;
	near = nearest_word(c->args[i], words);
	if (near)
		return error_set(c->e, ERR_NOT_FOUND, "there is no attribute \"%.60s\"; did you "
				 "mean \"%s\"?", c->args[i], near);
	for (size_t k = 0; k < len; k++)
		buf_printf(&all, "%s%s", k ? ", " : "", words[k]);
	error_set(c->e, ERR_NOT_FOUND, "there is no attribute \"%.60s\": it takes a number, or one "
		  "of %s", c->args[i], all.data);
	buf_free(&all);
	return ERR_NOT_FOUND;
}

const char *
attr_text(char buf[8], uint16_t attr)
{
	const char *name = attr_name(attr);

	if (name)
		return name;
	snprintf(buf, 8, "0x%04x", attr);
	return buf;
}

int
arg_word(const struct call *c, unsigned i, const char *const *words, unsigned *which)
{
	struct buf all = { 0 };
	const char *near;

	for (*which = 0; words[*which]; ++*which)
		if (strcmp(words[*which], c->args[i]) == 0)
			return 0;
	near = nearest_word(c->args[i], words);
	if (near)
		return error_set(c->e, ERR_INVALID, "%s cannot do \"%.60s\"; did you mean \"%s\"?",
				 c->command->name, c->args[i], near);
	for (const char *const *w = words; *w; w++)
		buf_printf(&all, "%s%s", w == words ? "" : w[1] ? ", " : " or ", *w);
	error_set(c->e, ERR_INVALID, "%s cannot do \"%.60s\": it takes %s", c->command->name,
		  c->args[i], all.data);
	buf_free(&all);
	return ERR_INVALID;
}
