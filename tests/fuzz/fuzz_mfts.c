/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include "sm/text/mfts.h"

/* Any bytes into the parser of dump_mfts text; what it accepts is as the header says. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mfts *t;
	struct error e;

	if (mfts_parse(&t, (const char *)data, size, "fuzz", &e) < 0)
		return 0;
	for (uint32_t i = 0; i < t->len; i++)
		if (t->entries[i].mlid < MFTS_MLID_MIN || t->entries[i].mlid > MFTS_MLID_MAX ||
		    t->entries[i].ports[3] >> 63)
			abort();
	mfts_free(t);
	return 0;
}
