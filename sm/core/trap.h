/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_TRAP_H
#define CORE_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"
#include "sm/base/map.h"

/* What traps lead to: trap.c. */
struct notice;
struct subnet;

/* Where traps come from; see trap.c. */
struct trap_source;
struct traps {
	struct trap_source *sources;	/* a ring; NULL: none came yet */
	struct map by_key;		/* sender, trap and port -> index in it */
	uint32_t next;			/* slot of the next new one */
	struct map later;		/* node GUIDs to look at when the timer fires */
	bool look;			/* and a light sweep is wanted then */
	struct loop_timer *timer;	/* for these */
};

/* trap.c */
void
trap_init(struct subnet *s);
void
trap_free(struct subnet *s);
/* A trap of LID `from` with this transaction; it was repressed. */
void
trap_came(struct subnet *s, uint16_t from, uint64_t tid, const struct notice *n);

#endif
