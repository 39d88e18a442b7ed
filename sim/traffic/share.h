/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SHARE_H
#define SIM_SHARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Max-min fair shares of links among flows. A flow crosses a link of its own (where it enters the
 * fabric) and a way; a way crosses links, of each with a part of what it carries, and is shared by
 * flows. No flow gets more than its demand.
 */
#define SHARE_NONE UINT32_MAX

struct share_step {
	uint32_t link;		/* index */
	float part;		/* of what the way carries, > 0 */
};

struct share_way {
	size_t first;		/* of its steps */
	uint32_t len;		/* how many */
};

struct share_flow {
	double demand;		/* > 0 */
	double rate;		/* out: what it gets */
	uint32_t way;		/* index */
	uint32_t link;		/* that it enters by, or SHARE_NONE */
};

struct share {
	const double *capacity;		/* nlinks; > 0 where a flow crosses */
	const struct share_step *steps;	/* of all ways */
	const struct share_way *ways;	/* nways */
	struct share_flow *flows;	/* nflows */
	uint32_t nlinks, nways, nflows;	/* counts */
};

void
share_solve(struct share *s);

#endif
