/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_NOMINAL_H
#define ROUTING_NOMINAL_H

#include "sm/fabric/fabric.h"

/*
 * The nominal fabric: a snapshot with its lost cables put back. A port that has lost its cable
 * remembers what was there (fabric_port.lost_peer); a node that is gone whole comes back as a
 * ghost, without a name, but with the cables that its neighbours remember or that are listed
 * (fabric.lost). Returns a reference, of `f` itself if nothing is lost.
 */
const struct fabric *
nominal_fabric(const struct fabric *f);

#endif
