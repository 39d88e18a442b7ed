/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include "sm/text/paths.h"

/* Any bytes into the parser of path records; what it accepts is as the header says. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct paths *p;
	struct error e;

	if (paths_parse(&p, (const char *)data, size, "fuzz", &e) < 0)
		return 0;
	for (uint32_t i = 0; i < p->len; i++)
		if (!p->entries[i].src || !p->entries[i].dst || p->entries[i].src > 0xbfff ||
		    p->entries[i].dst > 0xbfff || p->entries[i].sl > 15)
			abort();
	paths_free(p);
	return 0;
}
