/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_KEEP_H
#define ROUTING_KEEP_H

#include "routing/engine.h"

/* Not for configurations: for a subnet manager that takes over (chain_options.only). The tables of
 * the previous plan, which is of the very same snapshot and has the LIDs that ports hold. */
extern const struct engine engine_keep;

#endif
