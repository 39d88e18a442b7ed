/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SCRIPT_H
#define SIM_SCRIPT_H

#include "sim/control/sim.h"
#include "sim/control/words.h"

/*
 * What a simulation will do one day: lines of scripts and links that come back. Private to sim.
 *
 *   at TIME COMMAND
 *   every TIME [from TIME] [until TIME] [times N] COMMAND
 *   random N flaps [of switches|hosts|all] over TIME [from TIME] [hold MIN..MAX] [seed N]
 *
 * Times count from when the line was read. `every` begins after its first interval unless `from`
 * says when. `random` cuts cables between switches unless told otherwise, each for a time between
 * 1 s and 10 s unless told otherwise.
 */
struct script *
script_new(struct sim *s);
void
script_free(struct script *k);	/* NULL is allowed */

/* Take one line in, `w` being its words; `where` names it in the event log. With `check` it is only
 * looked at. */
int
script_line(struct script *k, const char *line, const struct words *w, const char *where,
	    bool check, struct error *e);
unsigned
script_waiting(const struct script *k);	/* events that are to come */

#endif
