/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model_impl.h"

/* Adaptive routing of a simulated switch: the vendor's SMP attributes. */
const struct sma_attribute *
sma_ar_find(const struct sim_node *n, uint16_t id)
{
	(void)n;
	(void)id;
	return NULL;
}
