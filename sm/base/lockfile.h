/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOCKFILE_H
#define BASE_LOCKFILE_H

#include "sm/base/error.h"

/* Who uses a file, or a socket: PATH.lock is locked for as long as a process holds it open, and has
 * its pid in it. */
#define LOCKFILE_PID_SIZE 24

/* Take it until the process ends or closes the descriptor that is returned. ERR_EXISTS: another
 * process holds it, and `holder` gets its pid ("unknown"); ERR_INVALID, ERR_IO, with a sentence. */
int
lockfile_take(const char *path, char holder[LOCKFILE_PID_SIZE], struct error *e);

#endif
