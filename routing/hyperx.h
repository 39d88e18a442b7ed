/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_HYPERX_H
#define ROUTING_HYPERX_H

#include "routing/engine.h"

extern const struct engine engine_hyperx;	/* see hyperx.c */

#endif
