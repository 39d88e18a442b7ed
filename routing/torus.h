/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_TORUS_H
#define ROUTING_TORUS_H

#include "routing/engine.h"

extern const struct engine engine_torus;	/* see torus.c */

#endif
