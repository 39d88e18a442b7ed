/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DFSSSP_H
#define ROUTING_DFSSSP_H

#include "routing/engine.h"

extern const struct engine engine_dfsssp;

#endif
