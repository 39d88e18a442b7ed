/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PLAN_TEXT_H
#define FABRIC_PLAN_TEXT_H

#include "sm/fabric/plan.h"
#include "sm/text/lfts.h"

/* The fabric with the plan's LIDs, for lfts_owners_new(). Caller frees with ibnet_free(). */
struct ibnet *
plan_to_ibnet(const struct plan *p);
/* The table of a switch, for lfts_write_switch(), its entries in `room`, of p->lids->top + 1 bytes;
 * it borrows from both. `ports` is NULL for a switch without a row: there is nothing to write
 * then. */
struct lfts_switch
plan_to_lfts(const struct plan *p, uint32_t sw, uint8_t *room);

#endif
