/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"

/*
 * The event loop that everything live reacts in. Two kinds with one interface:
 *  - loop_new_event(): libevent, real clocks, worker threads;
 *  - loop_new_virtual(): no descriptors, time jumps to the next timer, workers run inline at a
 *    stated virtual cost, and one seed gives one order of events.
 * All callbacks run on the loop's thread, never inside the call that arranged them. Only
 * loop_post() and loop_stop() may be called from other threads.
 */
struct loop;
struct loop_timer;
struct loop_fd;

typedef void (*loop_fn)(void *arg);

struct loop *
loop_new_event(void);
struct loop *
loop_new_virtual(uint64_t seed);
/*
 * Frees the loop; the owner has freed its timers and watches before. Waits for the job that a
 * worker is in; waiting jobs and posts are dropped: their `arg` is the owner's again.
 */
void
loop_free(struct loop *l);

monotime
loop_now(const struct loop *l);
int64_t
loop_wall(const struct loop *l);	/* microseconds since 1970; virtual: starts at 2026-01-01 */
bool
loop_is_virtual(const struct loop *l);
uint64_t
loop_random(struct loop *l);		/* seeded by the clock, or by the virtual loop's seed */

/* The longest that one callback took of the machine's time since the last call: until it ended
 * nothing else could happen. What a virtual loop does in a worker's stead is left out. */
monotime
loop_longest(struct loop *l);

/* Run until loop_stop(), or (virtual) until nothing is left to happen. */
void
loop_run(struct loop *l);
/* Run until `deadline` on loop_now()'s clock, or until *flag becomes true (flag may be NULL), or
 * until loop_stop(). Returns true if *flag was set. Virtual: time ends at the deadline. */
bool
loop_run_until(struct loop *l, monotime deadline, const bool *flag);
/* Ends the present run after the callback in progress, or else the next one at once. */
void
loop_stop(struct loop *l);

/* One-shot timers. A timer belongs to its creator; setting it again moves it. */
struct loop_timer *
loop_timer_new(struct loop *l, loop_fn fn, void *arg);
void
loop_timer_set(struct loop_timer *t, monotime delay);	/* from now; <= 0: at the next turn;
							 * MONOTIME_NEVER: cancels */
void
loop_timer_cancel(struct loop_timer *t);
bool
loop_timer_pending(const struct loop_timer *t);
void
loop_timer_free(struct loop_timer *t);	/* NULL is allowed */

/* Call fn(arg) soon on the loop's thread. Thread-safe; order of posts from one thread is kept. */
void
loop_post(struct loop *l, loop_fn fn, void *arg);

/*
 * Long work: run(arg) on a worker thread, then done(arg) on the loop. `arg` belongs to the worker
 * between the two calls. Jobs run one at a time in order of submission (a job may use
 * parallel_run()). `virtual_cost` is what a virtual loop lets pass before done.
 */
void
loop_work(struct loop *l, loop_fn run, loop_fn done, void *arg, monotime virtual_cost);

/* Descriptor watches and signals: event loops only (a virtual loop returns NULL). */
enum loop_fd_events {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
};
typedef void (*loop_fd_fn)(void *arg, int fd, unsigned events);

struct loop_fd *
loop_fd_new(struct loop *l, int fd, loop_fd_fn fn, void *arg);
void
loop_fd_set(struct loop_fd *w, unsigned events);	/* 0 pauses */
void
loop_fd_free(struct loop_fd *w);	/* does not close the descriptor; NULL is allowed */

/* fn(arg) on the loop's thread each time signo arrives; lasts until the loop is freed. */
int
loop_signal(struct loop *l, int signo, loop_fn fn, void *arg);

#endif
