/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows and time-outs, learned from answers and losses. No clock, no I/O.
 *
 * Time-outs. A first try waits for the smoothed answer time plus four deviations (the rule of
 * RFC 6298), or twice the device's own answer time where that is more, and at least timeout_min.
 *
 * Growth. Up to `start` the limit rises by one with each full window of answers. Past it more
 * outstanding requests may only fill queues, and a queue that overflows costs more than it gave
 * (packaged ibsim halves its rate between 128 and 256). So a limit larger by a quarter is tried
 * for TRIAL_ROUNDS windows of answers, and kept if the rate rose by a TRIAL_GAIN-th of that
 * quarter; else the old one returns. TRIAL_HOLD measurements later a smaller limit is tried, and
 * kept unless the rate fell by as much; and so on by turns. Chance thus drives it down, not up.
 *
 * Loss. One silent device says nothing about the fabric. The limit is halved only when at least
 * WINDOW_LOSS_TARGETS devices that answered before lose requests within one time-out, and these are
 * at least one in LOSS_SHARE of all that were answered lately; then not again for a time-out. The
 * window of the device itself falls to one at once.
 */
#include "sm/port/window.h"

#include <string.h>

#define WINDOW_MIN 4		/* losses never shrink the limit below */
#define LOSS_SHARE 32		/* one in this many requests must be lost */
#define TRIAL_ROUNDS 8		/* windows of answers that one measurement takes */
#define TRIAL_GAIN 4		/* the rate must rise by this part of the limit's rise */
#define TRIAL_HOLD 32		/* measurements between trials that failed */
#define TIMEOUT_GROWTH 4	/* an adapted time-out is at most this many times `timeout` */

void
window_init(struct window *w, const struct transact_options *o)
{
	memset(w, 0, sizeof(*w));
	w->limit = w->start = o->window_start;
	w->max = o->window_max;
	w->target_max = o->target_max;
	w->timeout = o->timeout;
	w->timeout_min = o->timeout_min;
}

unsigned
window_target_limit(const struct window *w, const struct transact_target *target)
{
	return target->window < w->target_max ? target->window : w->target_max;
}

bool
window_target_lives(const struct transact_target *target)
{
	return target->heard && !target->silent;
}

/* ---- answer times ---- */

void
window_rtt(struct window *w, struct transact_target *target, monotime sample)
{
	monotime off = sample > w->rtt ? sample - w->rtt : w->rtt - sample;
	uint32_t us = sample < SEC(1000) ? (uint32_t)(sample / 1000) : UINT32_MAX;

	if (!w->rtt) {
		w->rtt = sample > 0 ? sample : 1;
		w->rtt_var = sample / 2;
	} else {
		w->rtt_var += (off - w->rtt_var) / 4;
		w->rtt += (sample - w->rtt) / 8;
	}
	if (us > target->rtt_us)
		target->rtt_us = us;
	else
		target->rtt_us -= (target->rtt_us - us) / 8;
}

monotime
window_timeout(const struct window *w, const struct transact_target *target)
{
	monotime wait = w->rtt ? w->rtt + 4 * w->rtt_var : w->timeout;
	monotime own = 2 * USEC(target->rtt_us);

	if (wait < own)
		wait = own;
	if (wait > TIMEOUT_GROWTH * w->timeout)
		wait = TIMEOUT_GROWTH * w->timeout;
	return wait < w->timeout_min ? w->timeout_min : wait;
}

/* ---- loss ---- */

static void
roll_period(struct window *w, const struct transact_target *target, monotime now)
{
	struct window_loss *loss = &w->loss;
	monotime size;

	if (now < loss->until)
		return;
	size = window_timeout(w, target);
	loss->before = now < loss->until + size ? loss->answered : 0;
	loss->targets = loss->lost = loss->answered = 0;
	loss->until = now + size;
}

static void
note_target(struct window_loss *loss, const struct transact_target *target)
{
	loss->lost++;
	for (unsigned i = 0; i < loss->targets; i++)
		if (loss->seen[i] == (uintptr_t)target)
			return;
	if (loss->targets < WINDOW_LOSS_TARGETS)
		loss->seen[loss->targets++] = (uintptr_t)target;
}

void
window_lost(struct window *w, struct transact_target *target, monotime now)
{
	struct window_loss *loss = &w->loss;

	target->window = 1;
	target->answered = 0;
	if (!window_target_lives(target))
		return;
	roll_period(w, target, now);
	note_target(loss, target);
	if (now < loss->quiet || loss->targets < WINDOW_LOSS_TARGETS ||
	    loss->lost * LOSS_SHARE < loss->lost + loss->answered + loss->before)
		return;
	loss->quiet = now + window_timeout(w, target);
	memset(&w->trial, 0, sizeof(w->trial));
	w->grown = 0;
	if (w->limit > WINDOW_MIN)
		w->limit = w->limit / 2 > WINDOW_MIN ? w->limit / 2 : WINDOW_MIN;
}

/* ---- growth ---- */

static bool
trial_failed(const struct window *w, uint64_t rate)
{
	const struct window_trial *trial = &w->trial;
	unsigned step = trial->down ? trial->from - w->limit : w->limit - trial->from;
	uint64_t part = trial->rate * step / (trial->from * TRIAL_GAIN);

	return trial->down ? rate + part < trial->rate : rate < trial->rate + part;
}

static void
start_trial(struct window *w, uint64_t rate)
{
	struct window_trial *trial = &w->trial;
	unsigned step = w->limit / 4 ? w->limit / 4 : 1;

	if (w->start == w->max)
		return;
	if (w->limit <= w->start || w->limit >= w->max)
		trial->down = w->limit >= w->max;
	trial->from = w->limit;
	trial->rate = rate;
	if (trial->down)
		w->limit = w->limit - w->start > step ? w->limit - step : w->start;
	else
		w->limit = w->max - w->limit > step ? w->limit + step : w->max;
}

/* A measurement has ended: settle the trial that ran, and perhaps begin the next. */
static void
settle_trial(struct window *w, uint64_t rate)
{
	struct window_trial *trial = &w->trial;

	if (trial->from && trial_failed(w, rate)) {
		w->limit = trial->from;
		trial->from = 0;
		trial->hold = TRIAL_HOLD;
		trial->down = !trial->down;
		return;
	}
	trial->from = 0;
	if (trial->hold)
		trial->hold--;
	else
		start_trial(w, rate);
}

static void
measure(struct window *w, monotime now)
{
	struct window_trial *trial = &w->trial;
	monotime took = now - trial->began;

	if (!trial->answers++)
		trial->began = now;
	if (trial->answers <= TRIAL_ROUNDS * w->limit)
		return;
	settle_trial(w, (uint64_t)(trial->answers - 1) * 1000000000u /
		     (uint64_t)(took > 0 ? took : 1));
	trial->answers = 0;
}

static void
grow_target(const struct window *w, struct transact_target *target)
{
	target->heard = true;
	target->silent = 0;
	if (++target->answered < target->window)
		return;
	target->answered = 0;
	if (target->window < w->target_max)
		target->window++;
}

void
window_answer(struct window *w, struct transact_target *target, bool full, monotime now)
{
	grow_target(w, target);
	roll_period(w, target, now);
	w->loss.answered++;
	if (!full) {
		w->trial.answers = 0;
		return;
	}
	if (w->limit >= w->start) {
		measure(w, now);
		return;
	}
	if (++w->grown < w->limit)
		return;
	w->grown = 0;
	w->limit++;
}
