/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/conf/config.h"

/*
 * Any bytes into the YAML loader. What it refuses has a sentence with a place; what it accepts is
 * printed to text that it reads back as the same configuration.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *first, *second;
	struct buf text = { 0 };
	struct error e = { 0 };

	first = config_parse((const char *)data, size, "fuzz", &e);
	if (!first) {
		if (!e.code || strncmp(e.text, "fuzz:", 5) != 0)
			abort();
		return 0;
	}
	config_print(first, &text);
	second = config_parse(text.data, text.len, "again", &e);
	if (!second || config_diff(first, second, NULL, NULL) != STAGE_NONE)
		abort();
	buf_free(&text);
	config_free(first);
	config_free(second);
	return 0;
}
