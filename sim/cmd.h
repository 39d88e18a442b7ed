/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_CMD_H
#define SIM_CMD_H

/* The commands of the program weftsim: each reads its options from argv[1] on, argv[0] being its
 * name, and returns the exit status: 0 done, 1 refused or not possible, 2 wrong usage. */
int
cmd_generate(int argc, char **argv);

/* "weftsim: what: detail" on standard error (detail may be NULL); returns 2. */
int
cmd_complain(const char *what, const char *detail);

#endif
