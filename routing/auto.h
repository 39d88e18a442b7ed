/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_AUTO_H
#define ROUTING_AUTO_H

#include "routing/engine.h"

extern const struct engine engine_auto;

#endif
