/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_WINDOW_H
#define PORT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/port/transact.h"

/*
 * How many requests may be outstanding, and how long to wait for each: what the answers and the
 * losses so far teach. Pure arithmetic on times that the caller reads; window.c tells the rules.
 */

#define WINDOW_LOSS_TARGETS 3		/* devices that must lose requests before it shrinks */

/* Losses within one time-out: what decides whether the fabric is overloaded. */
struct window_loss {
	monotime until;				/* end of the period */
	monotime quiet;				/* until then the window shrinks no more */
	uintptr_t seen[WINDOW_LOSS_TARGETS];	/* distinct targets, for comparison only */
	unsigned targets;			/* how many of them */
	unsigned lost;				/* tries lost by live targets */
	unsigned answered;			/* answers in the period */
	unsigned before;			/* answers in the one before: what is found
						 * lost now was sent then */
};

/* Another window on trial: the larger must raise the rate of answers, the smaller keep it. */
struct window_trial {
	monotime began;		/* of the measurement */
	unsigned answers;	/* in it */
	unsigned from;		/* the window to go back to, 0: no trial runs */
	uint64_t rate;		/* answers a second at that window */
	unsigned hold;		/* measurements to skip before the next trial */
	bool down;		/* the trial, or the next, is of a smaller one */
};

struct window {
	unsigned limit;			/* requests that may be outstanding now */
	unsigned start;			/* where it starts; it grows back to here without trials */
	unsigned max;			/* where it ends */
	unsigned target_max;		/* end of the targets' windows */
	unsigned grown;			/* answers at a full window since the limit last changed */
	monotime rtt;			/* smoothed answer time, 0: none yet */
	monotime rtt_var;		/* smoothed deviation */
	monotime timeout;		/* before anything is known */
	monotime timeout_min;		/* never less */
	struct window_loss loss;	/* of the present period */
	struct window_trial trial;	/* of another limit */
};

void
window_init(struct window *w, const struct transact_options *o);
/* An answer came, at a time when the limit was reached (full) or not. */
void
window_answer(struct window *w, struct transact_target *target, bool full, monotime now);
/* A try went unanswered. */
void
window_lost(struct window *w, struct transact_target *target, monotime now);
/* One answer took this long. */
void
window_rtt(struct window *w, struct transact_target *target, monotime sample);
/* How long to wait for a first try. */
monotime
window_timeout(const struct window *w, const struct transact_target *target);
unsigned
window_target_limit(const struct window *w, const struct transact_target *target);
/* Has answered, and not been given up since. */
bool
window_target_lives(const struct transact_target *target);

#endif
