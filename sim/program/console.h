/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_CONSOLE_H
#define SIM_CONSOLE_H

#include <stdbool.h>

/* Lines typed at a terminal, with editing and history, until `line` returns false or the input
 * ends. Private to the program. */
void
console_run(bool (*line)(void *arg, const char *text), void *arg);

#endif
