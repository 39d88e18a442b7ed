/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_NUE_H
#define ROUTING_NUE_H

#include "routing/engine.h"

extern const struct engine engine_nue;

#endif
