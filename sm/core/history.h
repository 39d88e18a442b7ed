/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_HISTORY_H
#define CORE_HISTORY_H

#include "sm/base/loop.h"
#include "sm/fabric/event.h"
#include "sm/store/store.h"

/*
 * What happened, over restarts: the ring of events, filled with what the state file has of earlier
 * runs, and each new one written there.
 */
struct history;

/* At most `keep` events, in memory and in the file, and none that is older than `days` there (0:
 * however old). Before the loop runs. Both are borrowed until history_free(). */
struct history *
history_new(struct loop *l, struct store *s, unsigned keep, unsigned days);
void
history_free(struct history *h);	/* NULL is allowed */
void
history_set_days(struct history *h, unsigned days);
struct event_ring *
history_events(struct history *h);

#endif
