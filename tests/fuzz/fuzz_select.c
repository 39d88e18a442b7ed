/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/conf/config.h"

/* A selection, a NUL, and the node name that it is tried on: any bytes, and never for long. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_zalloc(size + 2), *name;
	struct error e = { 0 };
	struct selection *s;

	log_open("stderr", LOG_L_ERROR, NULL);	/* what hits a bound is logged as warning */
	if (size)
		memcpy(text, data, size);
	name = text + strlen(text) + 1;
	s = selection_new(text, &e);
	if (!s && !e.code)
		abort();
	/* A name without slashes selects the node that has it. */
	if (s && *text != '/' && !selection_match(s, text, 0))
		abort();
	if (s && name < text + size)
		selection_match(s, name, 1);
	selection_free(s);
	mem_free(text);
	return 0;
}
