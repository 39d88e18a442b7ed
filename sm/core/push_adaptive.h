/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PUSH_ADAPTIVE_H
#define CORE_PUSH_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/plan.h"

/* Tables of switches that route adaptively, as requests, and in a push: push_adaptive.c. */
struct device;
struct subnet;
struct transact_request;
struct transact_result;

/* Blocks of the groups of a switch; Set one of them. */
unsigned
push_adaptive_group_blocks(const struct plan_ar_switch *s);
void
push_adaptive_set_group(const struct plan_ar_switch *s, unsigned block, struct transact_request *r);
/* A block of the adaptive LFT. */
void
push_adaptive_encode_row(const struct plan_ar_switch *s, const struct plan_row *row,
			 const struct plan_lids *lids, unsigned block,
			 uint8_t data[SMP_DATA_SIZE]);
/* Set it, with the static ports of `row`. */
void
push_adaptive_set_row(const struct plan_ar_switch *s, const struct plan_row *row,
		      const struct plan_lids *lids, unsigned block, struct transact_request *r);

/* Some switch that is on has other groups than this step (PUSH_GROUPS_LESS, PUSH_GROUPS) wants. */
bool
push_groups_due(const struct subnet *s, unsigned step);
/* Begin with a device; false: nothing is to be done. */
bool
push_groups_start(struct subnet *s, struct device *d);
bool
push_groups_next(struct subnet *s, struct device *d, struct transact_request *r);
/* One of the two steps before rows (PUSH_GROUPS_LESS, PUSH_NUMBERS) is over. */
void
push_groups_ended(struct subnet *s);
/* Whoever does not know the attributes need not answer. */
bool
push_adaptive_may_fail(const struct device *d, const struct transact_result *res);
/* An answer to any adaptive attribute in a push. True: it is no failure. */
bool
push_adaptive_answer(struct subnet *s, struct device *d, const struct transact_result *res);

/* Rows of a switch that is on: as push_table.c has it for others. The next block, from
 * device.lft_next on; false: none. */
bool
push_adaptive_row_next(struct subnet *s, struct device *d, const struct plan_row *goal,
		       struct transact_request *r);
/* Its entries are to get other numbers before rows change. */
bool
push_adaptive_renumbers(const struct subnet *s, const struct device *d);
/* Its entries differ from those of the row and the plan, or may. */
bool
push_adaptive_row_differs(const struct subnet *s, const struct device *d,
			  const struct plan_row *goal);
/* All is acknowledged. */
void
push_adaptive_row_held(struct subnet *s, struct device *d);

/* Before a routing: is the switch on, and what does it hold? Nothing is read of one that cannot be,
 * or is known to be off. As push_table.c has it for plain
 * tables; push_adaptive_reads() says whether that is what is read. */
void
push_adaptive_read_start(struct subnet *s, struct device *d);
bool
push_adaptive_reads(const struct device *d);
bool
push_adaptive_read_next(struct device *d, struct transact_request *r);
/* All is answered; false: not yet. */
bool
push_adaptive_read_settled(struct device *d);
/* It is not on, or not all was answered. */
void
push_adaptive_read_drop(struct device *d);

/* ---- Switches that are turned off: push_leave.c ---- */

/* Before a table that nobody knows is written whole: the switch may be on, unless it was reset. */
void
push_leave_start(struct subnet *s, struct device *d);
/* Its plain table is written as part of this, or not yet. */
bool
push_leaving(const struct device *d);
/* It did not do what is asked for, and goes on by what it held. */
bool
push_leave_stuck(const struct device *d);
bool
push_leave_next(struct subnet *s, struct device *d, struct transact_request *r);
void
push_leave_answer(struct subnet *s, struct device *d, const struct transact_result *res);

#endif
