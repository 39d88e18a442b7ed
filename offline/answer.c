/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <stdio.h>

/* What the program says: one object on standard output, or one sentence on standard error. */
int
offline_refuse(const struct error *e)
{
	fprintf(stderr, "weft: %s\n", e->text);
	return OFFLINE_REFUSED;
}

int
offline_answer(const struct buf *b, int status)
{
	fwrite(b->data, 1, b->len, stdout);
	putchar('\n');
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "weft: the answer cannot be written\n");
	return OFFLINE_REFUSED;
}

int
offline_names(const struct offline *o, struct fabric *f, struct name_map **names, struct error *e)
{
	if (!o->names)
		return 0;
	*names = name_map_load(o->names, e);
	if (!*names)
		return e->code;
	for (uint32_t i = 0; i < f->nnodes; i++) {
		const char *name = name_map_get(*names, f->nodes[i].guid);

		f->nodes[i].name = name ? name : f->nodes[i].name;
	}
	return 0;
}
