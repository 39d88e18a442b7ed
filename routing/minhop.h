/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_MINHOP_H
#define ROUTING_MINHOP_H

#include "routing/engine.h"

extern const struct engine engine_minhop;

#endif
