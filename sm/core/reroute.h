/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_REROUTE_H
#define CORE_REROUTE_H

#include <stdbool.h>
#include "sm/core/drain.h"
#include "sm/fabric/change.h"

/* The administrator's commands that change the routing: reroute.c. */
struct fabric;
struct subnet;

/* `weft reroute`, `fail`, `drain`, `undrain`: one at a time. */
struct reroute {
	change_done_fn done;	/* NULL: no command */
	void *arg;		/* for it */
	struct change c;	/* what is asked; its engine is the next */
	char engine[32];	/* asked for, "" = the configured chain */
	char before[32];	/* engine_override to go back to when it is refused */
	struct drains drains;	/* what was drained before, to go back to */
	struct change_report report;	/* the outcome */
	char text[1600];	/* the answer, while the store writes */
	bool waiting;		/* for the present stage to end */
};

/* reroute.c */
/* The stage that the command waited for has ended. */
void
reroute_begin(struct subnet *s);
/* It asked for a rehearsal, which is what runs now. */
bool
reroute_is_dry(const struct subnet *s);
/* The tables are in: the answer goes out when what it changed is in the store. */
void
reroute_done(struct subnet *s);
/* The command gets its answer, if there is one. */
void
reroute_answer(struct subnet *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What it asked for was refused: the engine before it is tried first again. */
void
reroute_undo(struct subnet *s);
/* What routing is shown of a snapshot if the change is made, or rehearsed, while `drains` (which it
 * may change) are kept off: a reference. report->cables and ->kept are filled. Any thread. */
const struct fabric *
reroute_shown(const struct change *c, struct drains *drains, const struct fabric *whole,
	      struct change_report *report);

#endif
