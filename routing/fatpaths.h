/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_FATPATHS_H
#define ROUTING_FATPATHS_H

#include "routing/engine.h"

extern const struct engine engine_fatpaths;

#endif
