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

struct words {
	const char *word[MAX_WORDS];	/* all that is no option */
	unsigned len;			/* of them */
};

struct option_use {
	const char *name;		/* as given, without dashes and value */
	const char *value;		/* NULL: none */
};

static const struct cli_option globals[] = {
	{ "socket", "PATH", NULL, CLI_STRING, "the daemon's control socket (-s)" },
	{ "output", "FORM", NULL, CLI_STRING, "table or json (-o)" },
	{ "subnet", "NAME", NULL, CLI_STRING, "which subnet, where the daemon runs several" },
	{ "help", NULL, NULL, CLI_FLAG, "of the program, or of a command (-h)" },
	{ "version", NULL, NULL, CLI_FLAG, "print the version (-V)" },
	{ 0 },
};

static int
usage(const char *what, const char *name, const char *near)
{
	if (near)
		emit(stderr, "weft: %s \"%s\"; did you mean \"%s\"?\n", what, name, near);
	else
		emit(stderr, "weft: %s \"%s\"; see weft --help\n", what, name);
	return CLI_USAGE;
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
	static char dashed[80];
	const struct cli_option *o;
	const char *words[32], *near;
	size_t len = 0;

	for (o = globals; o->name; o++)
		words[len++] = o->name;
	o = c->command ? c->command->options : NULL;
	for (; o && o->name; o++)
		words[len++] = o->name;
	words[len] = NULL;
	near = nearest_word(name, words);
	if (near)
		snprintf(dashed, sizeof(dashed), "--%s", near);
	return usage("unknown option", name, near ? dashed : NULL);
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
set_option(struct cli *c, const struct cli_option *o, const char *value)
{
	uint64_t number;

	if (o->kind == CLI_FLAG && !o->key) {
		c->follow = true;
	} else if (o->kind == CLI_SECONDS) {
		if (!parse_seconds(value, &c->timeout_ms))
			return usage("no time in seconds:", value, NULL);
	} else if (o->kind == CLI_NUMBER) {
		if (!number_parse(value, 0, INT64_MAX, &number))
			return usage("no number:", value, NULL);
		json_object_set_new(c->args, o->key, json_integer((json_int_t)number));
	} else if (o->kind == CLI_FLAG) {
		json_object_set_new(c->args, o->key, json_true());
	} else {
		json_t *s = json_string(value);

		if (!s)
			return usage("no UTF-8 text:", value, NULL);
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
split_option(char *arg, struct option_use *use)
{
	static char letter[2];
	char *equals;

	*use = (struct option_use){ 0 };
	if (arg[1] != '-') {
		use->name = short_name(arg[1]);
		use->value = arg[2] ? arg + 2 : NULL;
		letter[0] = arg[1];
		return use->name ? 0 : usage("unknown option", letter, NULL);
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
unknown_command(const struct words *w)
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
		return usage("unknown command", w->word[0], nearest_word(w->word[0], names));
	if (w->len > 1)
		return usage("there is nothing to show named", w->word[1],
			     nearest_word(w->word[1], names));
	emit(stderr, "weft: show what? nodes, switches, ports, links, routes NODE, engines, "
		     "events or topology\n");
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
			return usage(s ? "too many words:" : "no UTF-8 text:", w->word[used], NULL);
		}
		json_object_set_new(c->args, k->words[i], s);
	}
	if (i < k->need) {
		emit(stderr, "weft: usage: weft %s %s\n", k->name, k->synopsis);
		return CLI_USAGE;
	}
	return 0;
}

static int
set_output(struct cli *c)
{
	static const char *const forms[] = { "table", "json", NULL };
	static const char *const topology[] = { "ibnetdiscover", "dot", "json", "table", NULL };
	bool topo = c->command && strcmp(c->command->name, "show topology") == 0;
	const char *const *f = topo ? topology : forms;

	if (!c->output)
		return 0;
	while (*f && strcmp(*f, c->output) != 0)
		f++;
	if (!*f)
		return usage("no output form:", c->output,
			     nearest_word(c->output, topo ? topology : forms));
	c->json = strcmp(c->output, "json") == 0;
	if (topo && strcmp(c->output, "table") != 0)
		json_object_set_new(c->args, "format", json_string(c->output));
	return 0;
}

/*
 * The command must be known before its options are: words first. Whether an option takes a value
 * (and swallows the next argument) is looked up in every command's list; names mean the same in
 * all of them.
 */
static bool
takes_value(const char *name)
{
	const struct cli_option *o = find_option(globals, name);

	for (const struct cli_command *k = cli_commands; !o && k->name; k++)
		o = find_option(k->options, name);
	return o && o->value;
}

static int
collect_words(int argc, char **argv, struct words *w)
{
	bool plain = false;

	for (int i = 1; i < argc; i++) {
		const char *name;

		if (!plain && strcmp(argv[i], "--") == 0) {
			plain = true;
		} else if (plain || !is_option(argv[i])) {
			if (w->len == MAX_WORDS)
				return usage("too many words:", argv[i], NULL);
			w->word[w->len++] = argv[i];
		} else if (argv[i][1] == '-') {
			i += !strchr(argv[i], '=') && takes_value(argv[i] + 2);
		} else {
			name = short_name(argv[i][1]);
			i += name && takes_value(name) && !argv[i][2];
		}
	}
	return 0;
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
		if ((ret = split_option(argv[i], &use)))
			return ret;
		o = find_option(globals, use.name);
		if (!o && c->command)
			o = find_option(c->command->options, use.name);
		if (!o)
			return unknown_option(c, use.name);
		if (!o->value && use.value)
			return usage("this option takes no value:", use.name, NULL);
		if (o->value && !use.value && i + 1 < argc)
			use.value = argv[++i];
		if (o->value && !use.value)
			return usage("this option needs a value:", use.name, NULL);
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
	options_help(NULL, stderr);
	return CLI_USAGE;
}

int
options_parse(struct cli *c, int argc, char **argv)
{
	struct words w = { 0 };
	unsigned used = 0;
	int ret = collect_words(argc, argv, &w);

	if (ret)
		return ret;
	if (w.len && strcmp(w.word[0], "help") == 0) {
		c->help = true;
		memmove(w.word, w.word + 1, --w.len * sizeof(w.word[0]));
	}
	c->command = w.len ? find_command(&w, &used) : NULL;
	ret = apply_options(c, argc, argv);
	if (ret)
		return ret;
	if (!w.len)
		return no_command(c);
	if (!c->command && c->help && w.len == 1 && strcmp(w.word[0], "show") == 0)
		return 0;
	if (!c->command)
		return unknown_command(&w);
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

void
options_help(const struct cli_command *command, FILE *out)
{
	if (command) {
		fprintf(out, "usage: weft %s%s%s\n\n%s%s", command->name,
			command->synopsis[0] ? " " : "", command->synopsis, command->help, "\n");
		fprintf(out, "%s%s", command->more ? "\n" : "", command->more ? command->more : "");
		fprintf(out, "%s", command->options ? "\nOptions:\n" : "");
		help_options(command->options, out);
		fprintf(out, "\nFor all commands:\n");
		help_options(globals, out);
		return;
	}
	fprintf(out, "usage: weft [OPTIONS] COMMAND ...\n\n"
		     "Commands (weft COMMAND --help tells more):\n");
	for (const struct cli_command *k = cli_commands; k->name; k++)
		fprintf(out, "  %-14s  %s\n", k->name, k->help);
	fprintf(out, "\nOptions:\n");
	help_options(globals, out);
	fprintf(out, "\nThe socket is --socket, else $" FRAME_SOCKET_ENV
		     ", else " FRAME_DEFAULT_SOCKET ".\n"
		     "Exit status: 0 done, 1 refused or not found, 2 usage, 3 no daemon, "
		     "4 timed out.\n");
}
