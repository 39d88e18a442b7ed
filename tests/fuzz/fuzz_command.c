/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/words.h"

/*
 * Any text as a script, and each of its lines as a command, to a simulation of two hosts and a
 * switch. The script is run for a second of virtual time if it is accepted. Left out are files
 * (capture) and more random flaps than a fuzzer has time for.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fabric[] =
	"switchguid=0xa0\nSwitch 4 \"A\"\n[1] \"h1\"[1]\n[2] \"h 2\"[1]\n[3] \"A\"[4]\n\n"
	"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 1 \"h 2\"\n";

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* A word comes back from its quoted form. */
static void
check_quotes(const struct words *w)
{
	struct words *again = malloc(sizeof(*again));
	struct buf line = { 0 };
	struct error e;

	must(again != NULL);
	for (unsigned i = 0; i < w->len; i++) {
		buf_char(&line, ' ');
		sim_quote(&line, w->word[i]);
	}
	if (w->len && words_split(again, line.data, &e) == 0) {
		must(again->len == w->len);
		for (unsigned i = 0; i < w->len; i++)
			must(strcmp(again->word[i], w->word[i]) == 0);
	}
	buf_free(&line);
	free(again);
}

static void
run_line(struct sim *s, const char *line)
{
	struct words *w = malloc(sizeof(*w));
	struct buf out = { 0 };
	struct error e = { 0 };

	must(w != NULL);
	if (words_split(w, line, &e) == 0) {
		check_quotes(w);
		if (w->len && strcmp(w->word[0], "capture") != 0 &&
		    strcmp(w->word[0], "random") != 0 &&
		    sim_command(s, line, &out, &e) < 0)
			must(e.text[0] != '\0');
	}
	buf_free(&out);
	free(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line;
	struct loop *l = loop_new_virtual(1);
	struct ibnet *net = NULL;
	struct error e = { 0 };
	struct sim *s;

	must(text && ibnet_parse(&net, fabric, strlen(fabric), "net", &e) == 0);
	must(sim_new(&s, l, net, NULL, &e) == 0);
	memcpy(text, data, size);
	text[size] = '\0';
	if (!strstr(text, "capture") && !strstr(text, "random") && !strstr(text, "us") &&
	    sim_script(s, text, size, "fuzz", &e) == 0)
		loop_run_until(l, loop_now(l) + SEC(1), NULL);
	while ((line = strsep(&rest, "\n")))
		run_line(s, line);
	loop_run_until(l, loop_now(l) + MSEC(1), NULL);
	sim_free(s);
	loop_free(l);
	free(text);
	return 0;
}
