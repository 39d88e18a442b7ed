/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model_impl.h"

/* The performance management agent of a simulated device (IBA volume 1, 16.1). */
bool
pma_answer(struct model *m, uint32_t node, unsigned in, uint8_t mad[MAD_SIZE])
{
	(void)m;
	(void)node;
	(void)in;
	(void)mad;
	return false;
}
