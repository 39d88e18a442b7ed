/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/frame.h"
#include "sm/base/text.h"

/*
 * The command line. Global options may stand anywhere; the first words name the command, what
 * follows are its words and options. "--" ends the options, for names that begin with a dash. What
 * is not known is refused with the nearest word that is.
 */
#define MAX_WORDS 16
#define SHORT_WORD 5	/* letters of a word whose hint must be all but equal */

struct words {
	const char *word[MAX_WORDS];	/* all that is no option */
	unsigned len;			/* of them */
};

struct option_use {
	const char *name;		/* as given, without dashes and value */
	const char *value;		/* NULL: none */
};

static const struct cli_option globals[] = {
	{ "socket", "PATH", NULL, CLI_STRING, "the daemon's control socket (-s)", NULL },
	{ "output", "FORM", NULL, CLI_STRING, "table or json (-o)", NULL },
	{ "subnet", "NAME", NULL, CLI_STRING, "which subnet, where the daemon runs several", NULL },
	{ "help", NULL, NULL, CLI_FLAG, "of the program, or of a command (-h)", NULL },
	{ "version", NULL, NULL, CLI_FLAG, "print the version (-V)", NULL },
	{ 0 },
};

/* Which help to look at: "weft show nodes --help", or that of the program. */
static const char *
help_of(const struct cli *c)
{
	static char text[64];
	const char *name = c->command ? c->command->name : c->group;

	snprintf(text, sizeof(text), "weft %s%s--help", name ? name : "", name ? " " : "");
	return text;
}

static int
usage(const struct cli *c, const char *what, const char *name, const char *near)
{
	if (near)
		emit(stderr, "weft: %s \"%s\"; did you mean \"%s\"?\n", what, name, near);
	else
		emit(stderr, "weft: %s \"%s\"; see %s\n", what, name, help_of(c));
	return CLI_USAGE;
}

/* One letter more, less or other, or two swapped. */
static bool
one_slip(const char *a, const char *b)
{
	size_t x, y;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	for (x = strlen(a), y = strlen(b); x && y && a[x - 1] == b[y - 1]; x--, y--)
		;
	return (x <= 1 && y <= 1) || (x == 2 && y == 2 && a[0] == b[1] && a[1] == b[0]);
}

/* In short words two slips leave nothing of the word that was meant. */
static const char *
near_word(const char *s, const char *const *words)
{
	if (strlen(s) > SHORT_WORD)
		return nearest_word(s, words);
	while (*words && !one_slip(s, *words))
		words++;
	return *words;
}

static const struct cli_option *
find_option(const struct cli_option *o, const char *name)
{
	while (o && o->name && strcmp(o->name, name) != 0)
		o++;
	return o && o->name ? o : NULL;
}

static int
unknown_option(const struct cli *c, const char *name)
{
	const struct cli_option *o;
	const char *words[32], *near;
	char dashed[2][80];
	size_t len = 0;

	for (const struct cli_command *k = cli_commands; c->command && k->name; k++) {
		if (!find_option(k->options, name))
			continue;
		emit(stderr, "weft: weft %s has no option --%s, weft %s has; see %s\n",
		     c->command->name, name, k->name, help_of(c));
		return CLI_USAGE;
	}
	for (o = globals; o->name; o++)
		words[len++] = o->name;
	o = c->command ? c->command->options : NULL;
	for (; o && o->name; o++)
		words[len++] = o->name;
	words[len] = NULL;
	near = near_word(name, words);
	snprintf(dashed[0], sizeof(dashed[0]), "--%s", name);
	snprintf(dashed[1], sizeof(dashed[1]), "--%s", near ? near : "");
	return usage(c, "unknown option", dashed[0], near ? dashed[1] : NULL);
}

/* A value that is none of those that there are: all of them are said. */
static int
wrong_word(const char *option, const char *value, const char *const *words)
{
	struct buf list = { 0 };

	for (const char *const *w = words; *w; w++)
		buf_printf(&list, "%s%s", w == words ? "" : w[1] ? ", " : " or ", *w);
	emit(stderr, "weft: --%s cannot be \"%s\": it is %s\n", option, value, list.data);
	buf_free(&list);
	return CLI_USAGE;
}

static bool
has_word(const char *const *words, const char *value)
{
	while (*words && strcmp(*words, value) != 0)
		words++;
	return *words != NULL;
}

static int
set_global(struct cli *c, const char *name, const char *value)
{
	if (strcmp(name, "socket") == 0)
		c->socket = value;
	else if (strcmp(name, "output") == 0)
		c->output = value;
	else if (strcmp(name, "subnet") == 0)
		c->subnet = value;
	else if (strcmp(name, "help") == 0)
		c->help = true;
	else
		c->version = true;
	return 0;
}

static bool
parse_seconds(const char *text, int64_t *ms)
{
	uint64_t seconds;
	int64_t ns;

	if (number_parse(text, 0, 7 * 24 * 3600, &seconds)) {
		*ms = (int64_t)seconds * 1000;
		return true;
	}
	if (!duration_parse(text, &ns) || ns < 0 || ns > SEC(7 * 24 * 3600))
		return false;
	*ms = ns / MSEC(1);
	return true;
}

static int
wrong_value(const struct cli *c, const struct cli_option *o, const char *what, const char *value)
{
	emit(stderr, "weft: --%s %s: \"%s\" is %s; see %s\n", o->name, o->value, value, what,
	     help_of(c));
	return CLI_USAGE;
}

static int
set_option(struct cli *c, const struct cli_option *o, const char *value)
{
	uint64_t number;

	if (o->kind == CLI_FLAG && !o->key) {
		c->follow = true;
	} else if (o->kind == CLI_SECONDS) {
		if (!parse_seconds(value, &c->timeout_ms))
			return wrong_value(c, o, "no time", value);
	} else if (o->kind == CLI_NUMBER) {
		if (!number_parse(value, 0, INT64_MAX, &number))
			return wrong_value(c, o, "no number", value);
		json_object_set_new(c->args, o->key, json_integer((json_int_t)number));
	} else if (o->kind == CLI_FLAG) {
		json_object_set_new(c->args, o->key, json_true());
	} else if (o->words && !has_word(o->words, value)) {
		return wrong_word(o->name, value, o->words);
	} else {
		json_t *s = json_string(value);

		if (!s)
			return wrong_value(c, o, "no UTF-8 text", value);
		if (o->kind == CLI_LIST && !json_object_get(c->args, o->key))
			json_object_set_new(c->args, o->key, json_array());
		if (o->kind == CLI_LIST)
			json_array_append_new(json_object_get(c->args, o->key), s);
		else
			json_object_set_new(c->args, o->key, s);
	}
	return 0;
}

static const char *
short_name(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = { { 's', "socket" }, { 'o', "output" }, { 'h', "help" }, { 'V', "version" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].letter == letter)
			return names[i].name;
	}
	return NULL;
}

/* One argument that begins with a dash: -o json, -ojson, --output json, --output=json. */
static int
split_option(const struct cli *c, char *arg, struct option_use *use)
{
	char letter[3] = { '-' }, *equals;

	*use = (struct option_use){ 0 };
	if (arg[1] != '-') {
		use->name = short_name(arg[1]);
		use->value = arg[2] ? arg + 2 : NULL;
		letter[1] = arg[1];
		return use->name ? 0 : usage(c, "unknown option", letter, NULL);
	}
	equals = strchr(arg, '=');
	if (equals)
		*equals = '\0';
	use->name = arg + 2;
	use->value = equals ? equals + 1 : NULL;
	return 0;
}

static bool
is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] != '\0';
}

static const struct cli_command *
find_command(const struct words *w, unsigned *used)
{
	char two[128];

	snprintf(two, sizeof(two), "%s %s", w->len > 0 ? w->word[0] : "",
		 w->len > 1 ? w->word[1] : "");
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		*used = strchr(k->name, ' ') ? 2 : 1;
		if (strcmp(k->name, *used == 2 ? two : w->word[0]) == 0)
			return k;
	}
	return NULL;
}

static int
unknown_command(const struct cli *c, const struct words *w)
{
	bool show = strcmp(w->word[0], "show") == 0;
	const char *names[32];
	size_t len = 0;

	for (const struct cli_command *k = cli_commands; k->name; k++) {
		if (show == (strncmp(k->name, "show ", 5) == 0))
			names[len++] = show ? k->name + 5 : k->name;
	}
	if (!show)
		names[len++] = "show";
	names[len] = NULL;
	if (!show)
		return usage(c, "unknown command", w->word[0], near_word(w->word[0], names));
	if (w->len > 1)
		return usage(c, "there is nothing to show named", w->word[1],
			     near_word(w->word[1], names));
	emit(stderr, "weft: show what?");
	for (size_t i = 0; i < len; i++)
		emit(stderr, "%s%s", i == 0 ? " " : i + 1 < len ? ", " : " or ", names[i]);
	emit(stderr, "\n");
	return CLI_USAGE;
}

static int
set_words(struct cli *c, const struct words *w, unsigned used)
{
	const struct cli_command *k = c->command;
	unsigned i;

	for (i = 0; used < w->len; i++, used++) {
		json_t *s = json_string(w->word[used]);

		if (i == sizeof(k->words) / sizeof(k->words[0]) || !k->words[i] || !s) {
			json_decref(s);
			return usage(c, s ? "too many words:" : "no UTF-8 text:", w->word[used],
				     NULL);
		}
		json_object_set_new(c->args, k->words[i], s);
	}
	if (i < k->need) {
		emit(stderr, "weft: usage: weft %s %s; see %s\n", k->name, k->synopsis, help_of(c));
		return CLI_USAGE;
	}
	return 0;
}

static int
set_output(struct cli *c)
{
	static const char *const forms[] = { "table", "json", NULL };
	static const char *const topology[] = { "ibnetdiscover", "dot", "json", NULL };
	bool topo = c->command && strcmp(c->command->name, "show topology") == 0;

	/* The table of a topology is its default form. */
	if (!c->output || (topo && strcmp(c->output, "table") == 0))
		return 0;
	if (!has_word(topo ? topology : forms, c->output))
		return wrong_word("output", c->output, topo ? topology : forms);
	c->json = strcmp(c->output, "json") == 0;
	if (topo)
		json_object_set_new(c->args, "format", json_string(c->output));
	return 0;
}

/*
 * The command must be known before its options are: words first. Whether an option takes a value
 * (and swallows the next argument) the command says that the words so far name; before there is
 * one, the first command that has such an option.
 */
static bool
takes_value(const struct words *w, const char *name)
{
	const struct cli_option *o = find_option(globals, name);
	unsigned used;
	const struct cli_command *named = w->len ? find_command(w, &used) : NULL;

	if (!o && named)
		o = find_option(named->options, name);
	for (const struct cli_command *k = cli_commands; !o && k->name; k++)
		o = find_option(k->options, name);
	return o && o->value;
}

static int
collect_words(const struct cli *c, int argc, char **argv, struct words *w)
{
	bool plain = false;

	for (int i = 1; i < argc; i++) {
		const char *name;

		if (!plain && strcmp(argv[i], "--") == 0) {
			plain = true;
		} else if (plain || !is_option(argv[i])) {
			if (w->len == MAX_WORDS)
				return usage(c, "too many words:", argv[i], NULL);
			w->word[w->len++] = argv[i];
		} else if (argv[i][1] == '-') {
			i += !strchr(argv[i], '=') && takes_value(w, argv[i] + 2);
		} else {
			name = short_name(argv[i][1]);
			i += name && takes_value(w, name) && !argv[i][2];
		}
	}
	return 0;
}

static int
value_of_option(const struct cli *c, const struct cli_option *o, const char *what)
{
	emit(stderr, "weft: the option --%s %s; see %s\n", o->name, what, help_of(c));
	return CLI_USAGE;
}

static int
apply_options(struct cli *c, int argc, char **argv)
{
	const struct cli_option *o;
	struct option_use use;
	int ret;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!is_option(argv[i]))
			continue;
		if ((ret = split_option(c, argv[i], &use)))
			return ret;
		o = find_option(globals, use.name);
		if (!o && c->command)
			o = find_option(c->command->options, use.name);
		if (!o)
			return unknown_option(c, use.name);
		if (!o->value && use.value)
			return value_of_option(c, o, "takes no value");
		if (o->value && !use.value && i + 1 < argc)
			use.value = argv[++i];
		if (o->value && !use.value)
			return value_of_option(c, o, "needs a value");
		ret = find_option(globals, use.name) ? set_global(c, use.name, use.value)
						     : set_option(c, o, use.value);
		if (ret)
			return ret;
	}
	return 0;
}

static int
no_command(const struct cli *c)
{
	if (c->help || c->version)
		return 0;
	options_help(c, stderr);
	return CLI_USAGE;
}

int
options_parse(struct cli *c, int argc, char **argv)
{
	struct words w = { 0 };
	unsigned used = 0;
	int ret = collect_words(c, argc, argv, &w);

	if (ret)
		return ret;
	if (w.len && strcmp(w.word[0], "help") == 0) {
		c->help = true;
		memmove(w.word, w.word + 1, --w.len * sizeof(w.word[0]));
	}
	c->command = w.len ? find_command(&w, &used) : NULL;
	c->group = w.len && !c->command && strcmp(w.word[0], "show") == 0 ? w.word[0] : NULL;
	if (w.len && !c->command && !c->group)
		return unknown_command(c, &w);
	ret = apply_options(c, argc, argv);
	if (ret)
		return ret;
	if (!w.len)
		return no_command(c);
	if (c->group && !c->help && !c->version)
		return unknown_command(c, &w);
	if (c->help || c->version)
		return 0;
	if (!c->socket)
		c->socket = getenv(FRAME_SOCKET_ENV);
	if (!c->socket || !c->socket[0])
		c->socket = FRAME_DEFAULT_SOCKET;
	ret = set_words(c, &w, used);
	return ret ? ret : set_output(c);
}

static void
help_options(const struct cli_option *o, FILE *out)
{
	char text[64];

	for (; o && o->name; o++) {
		snprintf(text, sizeof(text), "--%s%s%s", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		fprintf(out, "  %-20s  %s\n", text, o->help);
	}
}

static void
help_command(const struct cli_command *k, FILE *out)
{
	fprintf(out, "usage: weft %s%s%s\n\n%s\n", k->name, k->synopsis[0] ? " " : "", k->synopsis,
		k->help);
	fprintf(out, "%s%s", k->more ? "\n" : "", k->more ? k->more : "");
	fprintf(out, "%s", k->options ? "\nOptions:\n" : "");
	help_options(k->options, out);
	fprintf(out, "\nFor all commands:\n");
	help_options(globals, out);
}

static void
help_group(const char *group, FILE *out)
{
	size_t len = strlen(group);

	fprintf(out, "usage: weft %s WHAT ...\n\n", group);
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		if (strncmp(k->name, group, len) == 0 && k->name[len] == ' ')
			fprintf(out, "  weft %s%s%s\n      %s\n", k->name,
				k->synopsis[0] ? " " : "", k->synopsis, k->help);
	}
	fprintf(out, "\nweft %s WHAT --help tells more.\n\nFor all commands:\n", group);
	help_options(globals, out);
}

void
options_help(const struct cli *c, FILE *out)
{
	if (c->command) {
		help_command(c->command, out);
		return;
	}
	if (c->group) {
		help_group(c->group, out);
		return;
	}
	fprintf(out, "usage: weft [OPTIONS] COMMAND ...\n\n"
		     "Commands (weft COMMAND --help tells more):\n");
	for (const struct cli_command *k = cli_commands; k->name; k++)
		fprintf(out, "  %-18s  %s\n", k->name, k->help);
	fprintf(out, "\nOptions:\n");
	help_options(globals, out);
	fprintf(out, "\nThe socket is --socket, else $" FRAME_SOCKET_ENV
		     ", else " FRAME_DEFAULT_SOCKET ".\n"
		     "Exit status: 0 done, 1 refused or not found, 2 usage, 3 no daemon, "
		     "4 timed out.\n");
}
