/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_IMPORT_HELP_H
#define TESTS_IMPORT_HELP_H

#include <string.h>
#include "offline/import.h"

/* For tests of what is imported: a configuration that grows, and what is said of it. */
static struct import_notes notes;
static struct import_said said;
static struct config *conf;

static inline int
import_begin(const struct import_said *is_said)
{
	notes = (struct import_notes){ .region = region_new() };
	said = *is_said;
	conf = config_load(NULL, NULL);
	return conf ? 0 : -1;
}

static inline int
end(void **state)
{
	(void)state;
	region_free(notes.region);
	config_free(conf);
	return 0;
}

static inline struct import_text
text_of(const char *s)
{
	return (struct import_text){ .file = "file", .at = s, .end = s + strlen(s) };
}

/* Only what is asked for, and nothing else, is said; this is part of the last. */
static inline void
expect_notes(unsigned len, const char *part)
{
	const struct import_note *note = notes.first;

	for (unsigned i = 0; note && i + 1 < notes.len; i++)
		note = note->next;
	if (notes.len != len)
		fail_msg("%u notes, the last is \"%s\"", notes.len, note ? note->text : "");
	if (part && (!note || !strstr(note->text, part)))
		fail_msg("\"%s\" is not in \"%s\"", part, note ? note->text : "");
}

#endif
