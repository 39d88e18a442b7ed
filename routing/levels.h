/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LEVELS_H
#define ROUTING_LEVELS_H

#include "sm/fabric/fabric.h"

/* What the cabling tells of the order of switches, as in a tree. */

#define LEVELS_FAR UINT16_MAX

/* Breadth-first distance of every switch from those with dist[] 0; the others hold LEVELS_FAR. */
void
levels_spread(const struct fabric *f, uint16_t *dist);
/*
 * Who gets a packet to its destination, if silent switches forward by their tables and all others
 * as one likes: what engines route and what the checker demands. `exits` holds for each switch the
 * one port by which it forwards (LFT_NO_PORT: none), LEVELS_FREE for those that obey; NULL: all do.
 *
 * list[] holds `len` switches that do, with their dist[], by rising distance; dist[] of the others
 * is LEVELS_FAR and gets its value. order[] gets them all by rising distance; returns how many.
 * queue[] is scratch for nedges switches.
 */
#define LEVELS_FREE 0
uint32_t
levels_reach(const struct fabric *f, const uint8_t *exits, uint16_t *dist, const uint32_t *list,
	     uint32_t len, uint32_t *order, uint32_t *queue);

/* May the switch behind edge `e` reversed (its `in` port as out port) forward over that link? */
static inline bool
levels_exit_ok(const uint8_t *exits, const struct fabric_edge *e)
{
	return !exits || exits[e->to] == LEVELS_FREE || exits[e->to] == e->in;
}

/* Hosts' ports on every switch (mem_array, nswitches). */
uint32_t *
levels_hosts(const struct fabric *f);
/* Level of every switch: distance from the nearest leaf, a switch with hosts in numbers. */
void
levels_heights(const struct fabric *f, uint16_t *level);
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
