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
 * Frees the loop; the owner has freed its timers and watches before. Waits for the jobs that
 * workers are in; waiting jobs and posts are dropped: their `arg` is the owner's again.
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

/*
 * Callbacks that held up all others: by more than LOOP_SLOW of processor time, or by LOOP_STUCK of
 * the clock's, as when one waits for a device. They are counted, and logged (info) with the place
 * in the sources that the callback was named at. What a virtual loop does in a worker's stead is
 * left out.
 */
#define LOOP_SLOW MSEC(10)
#define LOOP_STUCK MSEC(500)
struct loop_turns {
	uint64_t slow;			/* so many callbacks */
	monotime longest;		/* processor time of the longest of all, to a millisecond */
	const char *site;		/* of that one: "sm/core/main.c on_hup"; NULL: none yet */
};

const struct loop_turns *
loop_turns(const struct loop *l);
/* What the callback in progress is about, for the log; `what` outlives it. */
void
loop_doing(struct loop *l, const char *what);
/* The place that names a callback. */
#define LOOP_SITE(fn) (__FILE__ " " #fn)

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
#define loop_timer_new(l, fn, arg) loop_timer_new_at(l, fn, arg, LOOP_SITE(fn))
struct loop_timer *
loop_timer_new_at(struct loop *l, loop_fn fn, void *arg, const char *site);
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
#define loop_post(l, fn, arg) loop_post_at(l, fn, arg, LOOP_SITE(fn))
void
loop_post_at(struct loop *l, loop_fn fn, void *arg, const char *site);

/*
 * Work for a thread: run(arg) on a worker, then done(arg) on the loop. `arg` belongs to the worker
 * between the two calls. There are two workers, each with one job at a time in order of submission
 * (a job may use parallel_run()): loop_work() is for what may take seconds, as a routing does;
 * loop_errand() for what takes some tenths of one at most, as files do that are read, and must not
 * wait behind that. `virtual_cost` is what a virtual loop lets pass before done.
 */
enum loop_worker {
	LOOP_LABOURER,			/* of loop_work() */
	LOOP_MESSENGER,			/* of loop_errand() */
	LOOP_WORKERS
};

#define loop_work(l, run, done, arg, virtual_cost) \
	loop_work_at(l, LOOP_LABOURER, run, done, arg, virtual_cost, LOOP_SITE(done))
#define loop_errand(l, run, done, arg, virtual_cost) \
	loop_work_at(l, LOOP_MESSENGER, run, done, arg, virtual_cost, LOOP_SITE(done))
void
loop_work_at(struct loop *l, enum loop_worker which, loop_fn run, loop_fn done, void *arg,
	     monotime virtual_cost, const char *site);

/* Descriptor watches and signals: event loops only (a virtual loop returns NULL). */
enum loop_fd_events {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
};
typedef void (*loop_fd_fn)(void *arg, int fd, unsigned events);

#define loop_fd_new(l, fd, fn, arg) loop_fd_new_at(l, fd, fn, arg, LOOP_SITE(fn))
struct loop_fd *
loop_fd_new_at(struct loop *l, int fd, loop_fd_fn fn, void *arg, const char *site);
void
loop_fd_set(struct loop_fd *w, unsigned events);	/* 0 pauses */
void
loop_fd_free(struct loop_fd *w);	/* does not close the descriptor; NULL is allowed */

/* fn(arg) on the loop's thread each time signo arrives; lasts until the loop is freed. */
#define loop_signal(l, signo, fn, arg) loop_signal_at(l, signo, fn, arg, LOOP_SITE(fn))
int
loop_signal_at(struct loop *l, int signo, loop_fn fn, void *arg, const char *site);

#endif
