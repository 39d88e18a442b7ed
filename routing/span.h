/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_SPAN_H
#define ROUTING_SPAN_H

#include "routing/check.h"

/*
 * One tree through all switches whose packets, whoever sends them, close no credit loop with those
 * of a routing that takes lanes: where no order of switches tells how a tree must turn. The trees
 * of all multicast groups are parts of it.
 */
struct span {
	uint32_t refs;		/* atomic */
	uint32_t nswitches;	/* length of both */
	uint32_t *parent;	/* by switch: edge that leads to it; FABRIC_NONE at roots */
	uint32_t *root;		/* by switch: the root above it, itself for one; FABRIC_NONE: it is
				 * in no tree */
};

/*
 * For packets of the SLs in `sls` (bit n for SL n) beside those of in->rows by in->lanes; trees and
 * `also` of the input do not count. `near`: the switch that is tried as the root at first, so that
 * a tree stays where it was; FABRIC_NONE. Silent switches are in no tree. Switches that no tree can
 * reach without a loop are left out. A pure function; the caller frees it.
 */
struct span *
span_make(const struct check_input *in, uint16_t sls, uint32_t near);
struct span *
span_ref(struct span *s);
void
span_free(struct span *s);	/* a reference; NULL is allowed */

#endif
