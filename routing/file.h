/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_FILE_H
#define ROUTING_FILE_H

#include "routing/engine.h"

extern const struct engine engine_file;

#endif
