/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LINEUP_H
#define ROUTING_LINEUP_H

#include "sm/fabric/fabric.h"

/*
 * The topological order of switches: those below one switch of a tree stand next to each other,
 * and in the same order below each switch of its level, so that "the next leaf" means the same
 * everywhere. Routing numbers hosts by it, and shift permutations are measured along it.
 */

/* place[]: by switch, 0 .. nswitches - 1. `level` holds each switch's distance from the roots. */
void
lineup_switches(const struct fabric *f, const uint16_t *level, uint32_t *place);
/* The same with roots that are found (levels.h). */
void
lineup_found(const struct fabric *f, uint32_t *place);

#endif
