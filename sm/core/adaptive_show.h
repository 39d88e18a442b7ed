/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_ADAPTIVE_SHOW_H
#define CORE_ADAPTIVE_SHOW_H

#include "sm/fabric/adaptive_view.h"

/* Adaptive routing of a subnet as `weft show adaptive` tells it: adaptive_show.c. */
struct subnet;

void
subnet_adaptive(const struct subnet *s, struct adaptive_view *v);
/* The first switch from a row's `next` or 0 on; false: there is none. */
bool
subnet_adaptive_row(const struct subnet *s, uint64_t from, struct adaptive_row *row);

#endif
