/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/loop.h"

#include <stddef.h>
#include "sm/base/error.h"
#include "sm/base/list.h"
#include "sm/base/loop_impl.h"
#include "sm/base/mem.h"

/*
 * A loop in which time is a number: it jumps to the next timer when nothing else is left to do at
 * the present instant, so tests run hours in milliseconds, and the same way each time.
 *
 * Work is done on the loop itself, at the instant at which its worker would begin it, and its
 * done() follows when the stated cost has passed; only then does that worker's next job begin.
 */
#define WALL_START INT64_C(1767225600000000)	/* 2026-01-01T00:00:00Z */

struct virtual_job {
	struct list list;	/* of its worker's jobs */
	loop_fn run;		/* the work */
	loop_fn done;		/* what follows it */
	void *arg;		/* of both */
	const char *site;	/* where `done` was named */
	monotime cost;		/* what passes between them */
};

/* What stands for a thread. */
struct virtual_worker {
	struct loop *loop;	/* whose it is */
	struct list jobs;	/* waiting; the first may be in progress */
	bool ran;		/* the first job ran and its cost is passing */
	struct loop_timer *timer;	/* begins or ends the first job */
};

struct virtual_loop {
	struct loop loop;	/* the common part; first */
	monotime now;		/* the present instant */
	struct virtual_worker workers[LOOP_WORKERS];
};

static struct virtual_loop *
virtual_of(struct loop *l)
{
	return (struct virtual_loop *)(void *)l;
}

static monotime
virtual_now(const struct loop *l)
{
	return ((const struct virtual_loop *)(const void *)l)->now;
}

static int64_t
virtual_wall(const struct loop *l)
{
	return WALL_START + virtual_now(l) / 1000;
}

static bool
virtual_wait(struct loop *l, monotime until)
{
	if (until == MONOTIME_NEVER)
		return false;
	if (until > virtual_of(l)->now)
		virtual_of(l)->now = until;
	return true;
}

/* The loop never sleeps, so there is nothing to wake. */
static void
virtual_wake(struct loop *l)
{
	(void)l;
}

static void
run_job(struct loop *l, struct virtual_job *job)
{
	monotime start = clock_processor();

	job->run(job->arg);
	l->worked += clock_processor() - start;
}

static void
job_step(void *arg)
{
	struct virtual_worker *w = arg;
	struct virtual_job *job = list_entry(w->jobs.next, struct virtual_job, list);

	if (!w->ran) {
		w->ran = true;
		loop_timer_set(w->timer, job->cost);
		run_job(w->loop, job);
		return;
	}
	w->ran = false;
	list_remove(&job->list);
	if (!list_empty(&w->jobs))
		loop_timer_set(w->timer, 0);
	loop_doing(w->loop, job->site);
	if (job->done)
		job->done(job->arg);
	mem_free(job);
}

static void
virtual_work(struct loop *l, enum loop_worker which, loop_fn run, loop_fn done, void *arg,
	     monotime cost, const char *site)
{
	struct virtual_worker *w = &virtual_of(l)->workers[which];
	struct virtual_job *job = mem_zalloc(sizeof(*job));

	job->run = run;
	job->done = done;
	job->arg = arg;
	job->cost = cost;
	job->site = site;
	if (list_empty(&w->jobs))
		loop_timer_set(w->timer, 0);
	list_append(&w->jobs, &job->list);
}

static struct loop_fd *
virtual_fd_new(struct loop *l, int fd, loop_fd_fn fn, void *arg, const char *site)
{
	(void)l;
	(void)fd;
	(void)fn;
	(void)arg;
	(void)site;
	return NULL;
}

static int
virtual_signal(struct loop *l, int signo, loop_fn fn, void *arg, const char *site)
{
	(void)l;
	(void)signo;
	(void)fn;
	(void)arg;
	(void)site;
	return ERR_UNSUPPORTED;
}

static void
virtual_free(struct loop *l)
{
	struct virtual_loop *v = virtual_of(l);
	struct list *it;

	for (int i = 0; i < LOOP_WORKERS; i++) {
		while ((it = list_pop(&v->workers[i].jobs)))
			mem_free(list_entry(it, struct virtual_job, list));
		loop_timer_free(v->workers[i].timer);
	}
	loop_clear(l);
	mem_free(v);
}

static const struct loop_ops virtual_ops = {
	.is_virtual = true,
	.now = virtual_now,
	.wall = virtual_wall,
	.wait = virtual_wait,
	.wake = virtual_wake,
	.work = virtual_work,
	.fd_new = virtual_fd_new,
	.signal = virtual_signal,
	.free = virtual_free,
};

struct loop *
loop_new_virtual(uint64_t seed)
{
	struct virtual_loop *v = mem_zalloc(sizeof(*v));

	loop_init(&v->loop, &virtual_ops, seed);
	for (int i = 0; i < LOOP_WORKERS; i++) {
		struct virtual_worker *w = &v->workers[i];

		w->loop = &v->loop;
		list_init(&w->jobs);
		w->timer = loop_timer_new(&v->loop, job_step, w);
	}
	return &v->loop;
}
