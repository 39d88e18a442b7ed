/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

/*
 * Files with a GUID in each line: roots, compute nodes, I/O nodes; and guid2lid of OpenSM's cache,
 * lines of a GUID and the lowest and highest LID of its port. What stands behind the numbers of a
 * line is skipped, as OpenSM does.
 */
#define LID_MAX 0xbfffu

/* The next word of a line. */
static struct import_word
take_word(struct import_word *line)
{
	struct import_word w = { line->s, 0 };

	*line = import_trim(*line);
	w.s = line->s;
	while (w.len < line->len && w.s[w.len] != ' ' && w.s[w.len] != '\t')
		w.len++;
	line->s += w.len;
	line->len -= w.len;
	return w;
}

static struct import_guid *
read_all(struct import_text *t, struct import_notes *n, bool lids)
{
	struct import_guid *first = NULL, **tail = &first;
	struct import_word line;

	while (import_line(t, &line)) {
		struct import_guid *g;
		uint64_t guid, min = 0, max = 0;
		struct import_word whole = line;

		if (!line.len)
			continue;
		if (!import_number(take_word(&line), UINT64_MAX, &guid) || !guid ||
		    (lids && (!import_number(take_word(&line), LID_MAX, &min) || !min ||
			      !import_number(take_word(&line), LID_MAX, &max) || max < min))) {
			import_note(n, t->file, t->line, "\"%.*s\" is left out: it is no %s",
				    IMPORT_WORD(whole), lids ? "GUID with two LIDs" : "GUID");
			continue;
		}
		g = region_alloc(n->region, sizeof(*g));
		*g = (struct import_guid){ NULL, guid, (unsigned)min, (unsigned)max, t->line };
		*tail = g;
		tail = &g->next;
	}
	return first;
}

struct import_guid *
import_guids_read(struct import_text *t, struct import_notes *n)
{
	return read_all(t, n, false);
}

struct import_guid *
import_lids_read(struct import_text *t, struct import_notes *n)
{
	return read_all(t, n, true);
}
