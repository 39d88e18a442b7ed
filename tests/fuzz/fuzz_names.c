/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include "sm/base/error.h"
#include "sm/conf/config.h"

/* Any bytes into the reader of node-name maps: a map, or a sentence. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error e = { 0 };
	struct name_map *m = name_map_parse((const char *)data, size, "fuzz", &e);
	const char *name = name_map_get(m, 1);

	if ((!m && !e.code) || (name && !*name))
		abort();
	name_map_free(m);
	return 0;
}
