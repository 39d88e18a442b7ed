/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "gateway/auth.h"

/*
 * Any text as a file of tokens and as one of users; the first line of it as the credentials of a
 * request, under each scheme, where there are tokens: what a hash of users costs is its maker's
 * will.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned answers;	/* that came */

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
on_verdict(void *arg, const struct auth_outcome *outcome)
{
	(void)arg;
	must(outcome->verdict == AUTH_GRANTED || !outcome->name);
	answers++;
}

static void
ask(struct loop *l, struct auth *a, const char *scheme, const char *text)
{
	size_t len = strlen(scheme) + strcspn(text, "\n") + 1;
	char *header = calloc(1, len);

	must(header != NULL);
	strcpy(header, scheme);
	strncat(header, text, strcspn(text, "\n"));
	answers = 0;
	auth_check(a, header, on_verdict, NULL);
	loop_run_until(l, loop_now(l) + SEC(1), NULL);
	must(answers == 1);
	free(header);
}

static void
with_file(struct loop *l, const char *text, bool tokens)
{
	struct auth *a = auth_new(l);
	struct error e = { 0 };

	if (auth_parse(a, text, tokens, "fuzz", &e))
		must(e.text[0] != '\0');
	if (tokens) {
		ask(l, a, "Bearer ", text);
		ask(l, a, "Basic ", text);
		ask(l, a, "", text);
	}
	auth_unref(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loop *l = loop_new_virtual(1);
	char *text = malloc(size + 1);

	must(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	with_file(l, text, true);
	with_file(l, text, false);
	free(text);
	loop_free(l);
	return 0;
}
