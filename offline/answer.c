/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <stdio.h>
#include <unistd.h>
#include "routing/report.h"

#define MANY_PORTS 10000u	/* whose measuring takes a while */

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

void
offline_measure(const struct offline *o, const struct check_input *in, struct quality_report *q)
{
	uint32_t ports = report_host_ports(in);

	if (ports > MANY_PORTS && isatty(STDERR_FILENO))
		fprintf(stderr, "weft: measuring the load between %u ports of hosts "
			"(--no-quality leaves that out)\n", ports);
	report_measure(in, o->seed, o->samples, q);
}
