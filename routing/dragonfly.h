/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DRAGONFLY_H
#define ROUTING_DRAGONFLY_H

#include "routing/engine.h"

extern const struct engine engine_dragonfly;	/* see dragonfly.c */

#endif
