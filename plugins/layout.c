/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/layout.h"
#include "plugins/plugin.h"

/*
 * Where arrays of a result are: one behind the other, each at the beginning of a page, so that what
 * an engine does not touch costs no memory. The same sum is done by the daemon and by the process.
 */
#define PAGE UINT64_C(4096)

static uint64_t
place(uint64_t *end, uint64_t size)
{
	uint64_t at = *end;

	*end += (size + PAGE - 1) / PAGE * PAGE;
	return at;
}

void
layout_result(struct layout_result *r, uint32_t nswitches, uint32_t nlinks, uint32_t row_len,
	      uint32_t ports)
{
	uint64_t n = nswitches, end = 0;

	place(&end, sizeof(struct layout_output));
	r->lft = place(&end, n * row_len);
	r->rank = place(&end, n);
	r->path_class = place(&end, n * n);
	r->lane = place(&end, (uint64_t)nlinks * WEFT_CLASSES * ports);
	r->nsets = place(&end, n * sizeof(uint16_t));
	r->set = place(&end, n * LAYOUT_SETS * WEFT_SET_WORDS * sizeof(uint64_t));
	r->set_of = place(&end, n * n * sizeof(uint16_t));
	r->tree = place(&end, n * LAYOUT_TREES * sizeof(uint32_t));
	r->size = end;
}
