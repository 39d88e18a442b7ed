/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_UPDN_H
#define ROUTING_UPDN_H

#include "routing/engine.h"

extern const struct engine engine_updn;

#endif
