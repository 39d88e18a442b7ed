/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/loop_impl.h"

#include <stddef.h>
#include "sm/base/mem.h"

/*
 * Timers of both kinds of loop: a binary heap ordered by (due time, sequence of setting), so that
 * timers of one instant fire in the order in which they were set, always.
 *
 * A timer belongs to its creator and has at most one slot in the heap. Most timers are time-outs
 * that are moved on or cancelled long before they fire; both only note so in the timer. The slot
 * stays where it is, earlier than the truth, and is put right when it comes to the top.
 */
struct loop_timer {
	struct loop *loop;	/* where it fires */
	loop_fn fn;		/* what it calls */
	void *arg;		/* with what */
	const char *site;	/* where that was named */
	monotime due;		/* when; valid while pending */
	uint64_t sequence;	/* order among timers of one instant */
	size_t slot;		/* index into the heap plus 1; 0: none */
	bool pending;		/* set and neither fired nor cancelled */
};

struct timer_slot {
	monotime due;		/* at most the timer's own */
	uint64_t sequence;	/* at most the timer's own, if `due` is equal */
	struct loop_timer *timer;	/* whose slot it is */
};

static bool
before(const struct timer_slot *a, const struct timer_slot *b)
{
	return a->due != b->due ? a->due < b->due : a->sequence < b->sequence;
}

static void
place(struct loop_timers *ts, size_t i, struct timer_slot s)
{
	ts->heap[i] = s;
	s.timer->slot = i + 1;
}

/* Move the slot at `i` to where it belongs. */
static void
sift(struct loop_timers *ts, size_t i)
{
	struct timer_slot s = ts->heap[i];
	size_t child;

	while (i && before(&s, &ts->heap[(i - 1) / 2])) {
		place(ts, i, ts->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	while ((child = 2 * i + 1) < ts->len) {
		if (child + 1 < ts->len && before(&ts->heap[child + 1], &ts->heap[child]))
			child++;
		if (!before(&ts->heap[child], &s))
			break;
		place(ts, i, ts->heap[child]);
		i = child;
	}
	place(ts, i, s);
}

static void
take_out(struct loop_timers *ts, struct loop_timer *t)
{
	size_t i = t->slot - 1;

	t->slot = 0;
	if (i == --ts->len)
		return;
	place(ts, i, ts->heap[ts->len]);
	sift(ts, i);
}

/* Put the top right until it tells the truth; NULL if no timer is set. */
static struct loop_timer *
top(struct loop_timers *ts)
{
	while (ts->len) {
		struct timer_slot *s = &ts->heap[0];
		struct loop_timer *t = s->timer;

		if (!t->pending) {
			take_out(ts, t);
		} else if (t->due != s->due || t->sequence != s->sequence) {
			s->due = t->due;
			s->sequence = t->sequence;
			sift(ts, 0);
		} else {
			return t;
		}
	}
	return NULL;
}

monotime
loop_timers_next(struct loop_timers *ts)
{
	struct loop_timer *t = top(ts);

	return t ? t->due : MONOTIME_NEVER;
}

struct loop_timer *
loop_timers_pop(struct loop_timers *ts, monotime now, uint64_t sequence)
{
	struct loop_timer *t = top(ts);

	if (!t || t->due > now || t->sequence > sequence)
		return NULL;
	take_out(ts, t);
	t->pending = false;
	return t;
}

/* The callback may free the timer. */
void
loop_timer_fire(struct loop_timer *t)
{
	loop_call(t->loop, t->fn, t->arg, t->site);
}

struct loop_timer *
loop_timer_new_at(struct loop *l, loop_fn fn, void *arg, const char *site)
{
	struct loop_timer *t = mem_zalloc(sizeof(*t));

	t->loop = l;
	t->fn = fn;
	t->arg = arg;
	t->site = site;
	return t;
}

static void
add_slot(struct loop_timers *ts, struct loop_timer *t)
{
	if (ts->len == ts->size) {
		ts->size = ts->size ? ts->size * 2 : 64;
		ts->heap = mem_realloc(ts->heap, ts->size, sizeof(ts->heap[0]));
	}
	place(ts, ts->len++, (struct timer_slot){ t->due, t->sequence, t });
	sift(ts, t->slot - 1);
}

void
loop_timer_set(struct loop_timer *t, monotime delay)
{
	struct loop_timers *ts = &t->loop->timers;
	monotime now = loop_now(t->loop);

	if (delay < 0)
		delay = 0;
	if (delay >= MONOTIME_NEVER - now) {
		loop_timer_cancel(t);
		return;
	}
	t->due = now + delay;
	t->sequence = ++ts->sequence;
	t->pending = true;
	if (!t->slot) {
		add_slot(ts, t);
	} else if (t->due < ts->heap[t->slot - 1].due) {
		place(ts, t->slot - 1, (struct timer_slot){ t->due, t->sequence, t });
		sift(ts, t->slot - 1);
	}
}

void
loop_timer_cancel(struct loop_timer *t)
{
	t->pending = false;
}

bool
loop_timer_pending(const struct loop_timer *t)
{
	return t->pending;
}

void
loop_timer_free(struct loop_timer *t)
{
	if (!t)
		return;
	if (t->slot)
		take_out(&t->loop->timers, t);
	mem_free(t);
}
