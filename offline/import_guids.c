/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

/*
 * Files with a GUID in each line: roots, I/O nodes. What stands behind it in its line is skipped,
 * as OpenSM does.
 */

/* The first word of a line. */
static struct import_word
first_word(struct import_word line)
{
	size_t len = 0;

	while (len < line.len && line.s[len] != ' ' && line.s[len] != '\t')
		len++;
	return (struct import_word){ line.s, len };
}

struct import_guid *
import_guids_read(struct import_text *t, struct import_notes *n)
{
	struct import_guid *first = NULL, **tail = &first;
	struct import_word line;
	uint64_t guid;

	while (import_line(t, &line)) {
		struct import_guid *g;

		if (!line.len)
			continue;
		if (!import_number(first_word(line), UINT64_MAX, &guid) || !guid) {
			import_note(n, t->file, t->line, "\"%.*s\" is left out: it is no GUID",
				    IMPORT_WORD(line));
			continue;
		}
		g = region_alloc(n->region, sizeof(*g));
		g->guid = guid;
		*tail = g;
		tail = &g->next;
	}
	return first;
}
