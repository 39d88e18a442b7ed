/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/frame.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * The command line. Global options may stand anywhere; the first words name the command, what
 * follows are its words and options. "--" ends the options, for names that begin with a dash. What
 * is not known is refused with the nearest word that is.
 */
#define NEXT_WORDS 40	/* that may come next, and room for a NULL */
#define SHORT_WORD 5	/* letters of a word whose hint must be all but equal */

struct words {
	const char **word;	/* all that is no option; the array is owned */
	unsigned len;		/* of them */
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

/* What of a command's name stands behind its first n words; "" for nothing. */
static const char *
word_at(const char *name, unsigned n)
{
	for (; n && *name; n--) {
		name += strcspn(name, " ");
		name += *name == ' ';
	}
	return name;
}

/* So many words, one after the other, are those with which the name begins. */
static unsigned
begins_with(const char *name, const struct words *w, unsigned max)
{
	unsigned n = 0;

	for (; n < max && *name; n++, name = word_at(name, 1)) {
		size_t len = strcspn(name, " ");

		if (strncmp(name, w->word[n], len) != 0 || w->word[n][len])
			break;
	}
	return n;
}

static const struct cli_command *
find_command(const struct words *w, unsigned *used)
{
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		*used = begins_with(k->name, w, w->len);
		if (*used && !word_at(k->name, *used)[0])
			return k;
	}
	return NULL;
}

/* "show", "partition member": the words with which commands begin that have more; NULL: none. */
static const char *
find_group(const struct words *w)
{
	static char text[64];
	unsigned most = 0;

	for (const struct cli_command *k = cli_commands; k->name; k++) {
		unsigned n = begins_with(k->name, w, w->len);

		if (n <= most || !word_at(k->name, n)[0])
			continue;
		most = n;
		snprintf(text, sizeof(text), "%.*s", (int)(word_at(k->name, n) - k->name - 1),
			 k->name);
	}
	return most ? text : NULL;
}

/* The command is of the group; NULL: of the program. */
static bool
is_of_group(const struct cli_command *k, const char *group)
{
	size_t len = group ? strlen(group) : 0;

	return !group || (strncmp(k->name, group, len) == 0 && k->name[len] == ' ');
}

/* The words that may come next, each once. */
static void
next_words(const char *group, const char *words[NEXT_WORDS], char text[NEXT_WORDS][32])
{
	size_t len = 0, skip = group ? strlen(group) + 1 : 0;

	for (const struct cli_command *k = cli_commands; k->name && len + 1 < NEXT_WORDS; k++) {
		size_t n = 0;

		if (!is_of_group(k, group))
			continue;
		snprintf(text[len], sizeof(text[len]), "%.*s",
			 (int)strcspn(k->name + skip, " "), k->name + skip);
		while (n < len && strcmp(text[n], text[len]) != 0)
			n++;
		if (n == len) {
			words[len] = text[len];
			len++;
		}
	}
	words[len] = NULL;
}

static int
unknown_command(const struct cli *c, const struct words *w)
{
	const char *words[NEXT_WORDS];
	char text[NEXT_WORDS][32], what[64];
	unsigned at = c->group ? begins_with(c->group, w, w->len) : 0;
	bool show = c->group && strcmp(c->group, "show") == 0;

	next_words(c->group, words, text);
	snprintf(what, sizeof(what), show ? "there is nothing to show named" :
		 c->group ? "weft %s has no" : "unknown command", c->group);
	if (w->len > at)
		return usage(c, what, w->word[at], near_word(w->word[at], words));
	emit(stderr, "weft: %s what?", c->group);
	for (size_t i = 0; words[i]; i++)
		emit(stderr, "%s%s", i == 0 ? " " : words[i + 1] ? ", " : " or ", words[i]);
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

		bool rest = i == sizeof(k->words) / sizeof(k->words[0]) || !k->words[i];

		if (!s || (rest && !k->rest)) {
			json_decref(s);
			return usage(c, s ? "too many words:" : "no UTF-8 text:", w->word[used],
				     NULL);
		}
		if (!rest)
			json_object_set_new(c->args, k->words[i], s);
		else if (!json_object_get(c->args, k->rest))
			json_object_set_new(c->args, k->rest, json_pack("[o]", s));
		else
			json_array_append_new(json_object_get(c->args, k->rest), s);
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

static void
collect_words(int argc, char **argv, struct words *w)
{
	bool plain = false;

	w->word = mem_array((size_t)argc + 1, sizeof(*w->word));
	for (int i = 1; i < argc; i++) {
		const char *name;

		if (!plain && strcmp(argv[i], "--") == 0) {
			plain = true;
		} else if (plain || !is_option(argv[i])) {
			w->word[w->len++] = argv[i];
		} else if (argv[i][1] == '-') {
			i += !strchr(argv[i], '=') && takes_value(w, argv[i] + 2);
		} else {
			name = short_name(argv[i][1]);
			i += name && takes_value(w, name) && !argv[i][2];
		}
	}
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

static int
parse(struct cli *c, int argc, char **argv, struct words *w)
{
	unsigned used = 0;
	int ret;

	if (w->len && strcmp(w->word[0], "help") == 0) {
		c->help = true;
		memmove(w->word, w->word + 1, --w->len * sizeof(w->word[0]));
	}
	c->command = w->len ? find_command(w, &used) : NULL;
	c->group = w->len && !c->command ? find_group(w) : NULL;
	if (w->len && !c->command && !c->group)
		return unknown_command(c, w);
	ret = apply_options(c, argc, argv);
	if (ret)
		return ret;
	if (!w->len)
		return no_command(c);
	if (c->group && !c->help && !c->version)
		return unknown_command(c, w);
	if (c->help || c->version)
		return 0;
	if (!c->socket)
		c->socket = getenv(FRAME_SOCKET_ENV);
	if (!c->socket || !c->socket[0])
		c->socket = FRAME_DEFAULT_SOCKET;
	ret = set_words(c, w, used);
	return ret ? ret : set_output(c);
}

int
options_parse(struct cli *c, int argc, char **argv)
{
	struct words w = { 0 };
	int ret;

	collect_words(argc, argv, &w);
	ret = parse(c, argc, argv, &w);
	mem_free(w.word);
	return ret;
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
	fprintf(out, "usage: weft %s WHAT ...\n\n", group);
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		if (is_of_group(k, group))
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
		fprintf(out, "  %-23s  %s\n", k->name, k->help);
	fprintf(out, "\nOptions:\n");
	help_options(globals, out);
	fprintf(out, "\nThe socket is --socket, else $" FRAME_SOCKET_ENV
		     ", else " FRAME_DEFAULT_SOCKET ".\n"
		     "Exit status: 0 done, 1 refused or not found, 2 usage, 3 no daemon, "
		     "4 timed out.\n");
}
