/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_WATCHDOG_H
#define CORE_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/loop.h"

/*
 * Stages of a subnet that take too long, told of by name while they last.
 */
struct watchdog {
	struct loop_timer *timer;	/* while a stage runs that should end */
	const char *doing;		/* what it does; NULL: it may last */
	monotime since;			/* it began */
	monotime patience;		/* after which it is told of */
	uint64_t answered;		/* requests, till then, */
	uint64_t timed_out;		/* and those that were never answered */
	bool told;			/* of this stage */
};

struct subnet;

void
watchdog_init(struct subnet *s);
void
watchdog_free(struct subnet *s);
/* Another stage has begun. */
void
watchdog_stage(struct subnet *s);
/* What takes too long, and what came of it so far; NULL: nothing does. */
const char *
watchdog_text(const struct subnet *s, char *to, size_t size);

#endif
