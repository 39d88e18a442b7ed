/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DRAGONFLY_H
#define ROUTING_DRAGONFLY_H

#include "routing/engine.h"

extern const struct engine engine_dragonfly;	/* see dragonfly.c */

/* See engine.h, `longer`, and dragonfly_longer.c. */
void
dragonfly_longer(const struct plan *plan, const bool *wanted, struct plan_ar_switch **out);

#endif
