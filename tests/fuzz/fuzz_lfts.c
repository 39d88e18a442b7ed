/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sm/text/lfts.h"

/* Any bytes into the parser of dump_lfts text; what it accepts must survive writing and reading. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf first = { 0 };
	struct lfts *a, *b;
	struct error e;

	if (lfts_parse(&a, (const char *)data, size, "fuzz", &e) < 0)
		return 0;
	lfts_write(&first, a, NULL);
	if (lfts_parse(&b, first.data, first.len, "fuzz", &e) < 0)
		abort();
	if (a->nswitches != b->nswitches)
		abort();
	for (uint32_t i = 0; i < a->nswitches; i++) {
		const struct lfts_switch *s = &a->switches[i], *t = &b->switches[i];

		if (s->guid != t->guid || s->lid != t->lid || s->len != t->len ||
		    memcmp(s->ports, t->ports, s->len))
			abort();
	}
	lfts_free(a);
	lfts_free(b);
	buf_free(&first);
	return 0;
}
