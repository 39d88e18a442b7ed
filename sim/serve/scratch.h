/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SCRATCH_H
#define SIM_SCRATCH_H

#include "sm/base/error.h"

/*
 * A folder of this process's own, readable by its user alone; its path has at most 90 bytes, so
 * that a socket in it can be named. It is removed by scratch_free(), or, if the process was killed,
 * by the next scratch_new() of the user.
 */
struct scratch;

int
scratch_new(struct scratch **s, struct error *e);
void
scratch_free(struct scratch *s);	/* with all that is in it; NULL is allowed */
const char *
scratch_path(const struct scratch *s);

#endif
