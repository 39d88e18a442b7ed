/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_TREE_ORDER_H
#define ROUTING_TREE_ORDER_H

#include "sm/fabric/fabric.h"

/*
 * Keep the order of a fabric that has lost something: where links are missing, several switches of
 * one part may have nobody above. rank[] (by switch; ties by index) is changed so that as many of
 * these as possible have somebody above again, and every way between two switches that climbs and
 * then descends still does. False if nothing was changed.
 */
bool
tree_order_settle(const struct fabric *f, uint16_t *rank);

#endif
