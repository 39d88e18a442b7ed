/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include "sm/text/sl2vl.h"

/* Any bytes into the parser of SL to VL tables; what it accepts is as the header says. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl2vl *t;
	struct error e;

	if (sl2vl_parse(&t, (const char *)data, size, "fuzz", &e) < 0)
		return 0;
	for (uint32_t i = 0; i < t->len; i++)
		for (unsigned sl = 0; sl < SL2VL_SLS; sl++)
			if (t->rows[i].vl[sl] > 15 || !t->rows[i].lid == !t->rows[i].guid)
				abort();
	sl2vl_free(t);
	return 0;
}
