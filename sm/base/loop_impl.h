/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOOP_IMPL_H
#define BASE_LOOP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include "sm/base/log.h"
#include "sm/base/loop.h"

/*
 * What the two kinds of loop share; private to sm/base/loop*.c. Posts, timers, random numbers and
 * the turn are common (loop.c, loop_timers.c); a kind knows what time it is and how to let it pass.
 */
struct loop_ops {
	monotime (*now)(const struct loop *l);
	int64_t (*wall)(const struct loop *l);
	/*
	 * Let time pass until `until` (MONOTIME_NEVER: without end) or until something happens.
	 * A past `until` only looks at descriptors. False: nothing can happen any more.
	 */
	bool (*wait)(struct loop *l, monotime until);
	void (*wake)(struct loop *l);	/* end a wait; any thread */
	void (*work)(struct loop *l, enum loop_worker which, loop_fn run, loop_fn done, void *arg,
		     monotime cost, const char *site);
	struct loop_fd *(*fd_new)(struct loop *l, int fd, loop_fd_fn fn, void *arg,
				  const char *site);
	int (*signal)(struct loop *l, int signo, loop_fn fn, void *arg, const char *site);
	bool is_virtual;		/* time jumps */
	void (*free)(struct loop *l);	/* stop threads, release what the kind holds, and `l` */
};

struct loop_post {
	loop_fn fn;		/* what to call */
	void *arg;		/* with what */
	const char *site;	/* where it was named */
};

struct loop_queue {
	struct loop_post *posts;	/* in order */
	size_t len;			/* posts held */
	size_t size;			/* posts allocated */
};

/* Binary heap of timers, see loop_timers.c. */
struct loop_timers {
	struct timer_slot *heap;	/* earliest first */
	size_t len;			/* slots used */
	size_t size;			/* slots allocated */
	uint64_t sequence;		/* of the last timer set */
};

struct loop {
	const struct loop_ops *ops;	/* which kind it is */
	struct loop_timers timers;	/* set, or not yet cleared away */
	struct loop_queue batch;	/* posts of the present turn; loop's thread only */
	size_t batch_pos;		/* the next of them to call */
	const bool *flag;		/* ends the present run when true; may be NULL */
	uint64_t random[4];		/* generator state */
	struct loop_turns turns;	/* see loop_turns() */
	struct log_limit slow_limit;	/* for the log of slow ones */
	const char *doing;		/* of the present callback: see loop_doing() */
	monotime worked;		/* of the present callback: a worker's processor time */
	monotime sampled;		/* when processor time was looked at, */
	monotime processor;		/* and what it was */
	pthread_mutex_t lock;		/* of the fields below */
	struct loop_queue incoming;	/* posts that arrived since the batch was taken */
	bool waiting;			/* a post must wake the loop */
	atomic_bool stopped;		/* loop_stop() was called and no run has ended by it */
};

void
loop_init(struct loop *l, const struct loop_ops *ops, uint64_t seed);
void
loop_clear(struct loop *l);		/* what loop_init() and posts took; not `l` itself */
/* Declare that the loop is about to sleep; false if posts or a stop are there already. */
bool
loop_wait_begin(struct loop *l);
void
loop_wait_end(struct loop *l);

/* Due time of the earliest timer, MONOTIME_NEVER if none is set. */
monotime
loop_timers_next(struct loop_timers *ts);
/* Take the next timer that is due at `now` and was set no later than `sequence`, or NULL. */
struct loop_timer *
loop_timers_pop(struct loop_timers *ts, monotime now, uint64_t sequence);
void
loop_timer_fire(struct loop_timer *t);
/* Call, and note how long it takes. */
void
loop_call(struct loop *l, loop_fn fn, void *arg, const char *site);

#endif
