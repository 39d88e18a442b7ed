/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_COPY_I_H
#define SA_COPY_I_H

#include "sm/sa/copy.h"
#include "sm/sa/group.h"
#include "sm/sa/kept.h"

/* copy.h, as its owner in sa.c calls it. */
struct sa_copy;

struct sa_copy *
sa_copy_new(struct sa_kept *kept, struct sa_groups *groups);	/* borrowed */
void
sa_copy_free(struct sa_copy *c);
void
sa_copy_start(struct sa_copy *c);
bool
sa_copy_take(struct sa_copy *c, enum sa_copied kind, const uint8_t *record);
bool
sa_copy_finish(struct sa_copy *c, enum sa_copied kind, uint32_t work);

#endif
