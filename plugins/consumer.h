/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_CONSUMER_H
#define PLUGINS_CONSUMER_H

#include "plugins/set.h"
#include "sm/base/loop.h"
#include "sm/fabric/event.h"

/*
 * Consumers of events, each in a process of its own for as long as the daemon lives. They take
 * events out of the ring at their own pace: one that is slow holds up nobody, and loses what the
 * ring has not kept. All of it is on the loop's thread, and nothing waits.
 */
struct consumers;

/* Both are borrowed. On a virtual loop none runs. */
struct consumers *
consumers_new(struct loop *l, struct event_ring *ring);
/* Those of the set (NULL: none) run from now on. One that has changed goes on, with its new code,
 * where it was. */
void
consumers_take(struct consumers *c, const struct plugin_set *set);
/* Ask all of them to end. True when they have; call again until then, or until patience ends. */
bool
consumers_end(struct consumers *c);
void
consumers_free(struct consumers *c);		/* NULL is allowed */

struct consumer_state {
	const char *state;		/* "opening", "running", "waiting" to be started again,
					 * "closing" */
	uint64_t sent;			/* events that it handled */
	uint64_t lost;			/* that it wanted and did not get */
	unsigned waiting;		/* that are still to be sent, at most */
	int64_t since;			/* of `state`, microseconds since 1970 */
	bool fails;			/* it was ended, and has handled nothing since */
	char why[320];			/* what became of it then, for people */
};

/* False: no consumer has that name. */
bool
consumers_state(const struct consumers *c, const char *name, struct consumer_state *s);

#endif
