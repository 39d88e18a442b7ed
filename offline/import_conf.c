/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <string.h>

/*
 * opensm.conf: lines of a key, blanks and a value, which may be in quotes; (null) is no value. The
 * same file is what `opensm -c` writes, with every key and its default.
 */
static const char *
value_of(struct import_notes *n, struct import_word w)
{
	w = import_trim(w);
	if (w.len >= 2 && *w.s == '"' && w.s[w.len - 1] == '"')
		w = (struct import_word){ w.s + 1, w.len - 2 };
	return import_is(w, "(null)") ? "" : import_copy(n->region, w);
}

struct import_option *
import_conf_read(struct import_text *t, struct import_notes *n)
{
	struct import_option *first = NULL, **tail = &first;
	struct import_word line;

	while (import_line(t, &line)) {
		struct import_option *o;
		size_t len = 0;

		while (len < line.len && line.s[len] != ' ' && line.s[len] != '\t')
			len++;
		if (!len)
			continue;
		o = region_alloc(n->region, sizeof(*o));
		o->name = import_copy(n->region, (struct import_word){ line.s, len });
		o->value = value_of(n, (struct import_word){ line.s + len, line.len - len });
		o->line = t->line;
		*tail = o;
		tail = &o->next;
	}
	return first;
}

const struct import_option *
import_option_of(const struct import_option *list, const char *name)
{
	const struct import_option *found = NULL;

	for (; list; list = list->next)
		if (strcmp(list->name, name) == 0)
			found = list;
	return found;
}
