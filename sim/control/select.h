/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SELECT_H
#define SIM_SELECT_H

#include "sim/control/sim.h"

/*
 * Several nodes by one word: a NODE as names.h has it, "all", a /regular expression/ (POSIX
 * extended) that is searched in descriptions and names, or a pattern with * ? [] that a whole
 * description or name matches. Private to sim.
 */
struct selection {
	uint32_t *nodes;	/* len of them, in the file's order; from malloc */
	uint32_t len;		/* at least 1 */
};

/* `switches`: of switches alone. ERR_NOT_FOUND if there is none, ERR_INVALID for a bad expression,
 * with a sentence; *s is then empty. */
int
select_nodes(struct selection *s, const struct sim *sim, const char *word, bool switches,
	     struct error *e);
void
select_free(struct selection *s);

#endif
