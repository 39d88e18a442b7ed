/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LEVELS_H
#define ROUTING_LEVELS_H

#include "sm/fabric/fabric.h"

/* What the cabling tells of the order of switches, as in a tree. */

#define LEVELS_FAR UINT16_MAX

/* Breadth-first distance of every switch from those with dist[] 0; the others hold LEVELS_FAR. */
void
levels_spread(const struct fabric *f, uint16_t *dist);
/* Hosts' ports on every switch (mem_array, nswitches). */
uint32_t *
levels_hosts(const struct fabric *f);
/* Marks (1) the switches that make good roots; returns how many. At least one if there is any. */
uint32_t
levels_roots(const struct fabric *f, uint8_t *root);
/* Labels of LEVELS_LABEL_BITS bits: switches that stand in the same place of different parts of a
 * tree come in the same order in each part. Distinct while there are no more switches than that. */
#define LEVELS_LABEL_BITS 12
void
levels_label(const struct fabric *f, uint16_t *label);
/* Connected component of every switch, numbered by its least switch index. */
void
levels_components(const struct fabric *f, uint32_t *component);

#endif
