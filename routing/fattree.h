/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_FATTREE_H
#define ROUTING_FATTREE_H

#include "routing/engine.h"

extern const struct engine engine_fattree;

#endif
