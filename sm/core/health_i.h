/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_HEALTH_I_H
#define CORE_HEALTH_I_H

#include "sm/core/subnet_i.h"

/* Shared by health.c, which decides, and health_show.c: the slot of a port (0: the device) and a
 * condition; NULL. */
struct ailment *
health_find(const struct health *h, uint64_t guid, unsigned port, enum health_condition why);

#endif
