/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include "sm/base/error.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/loop_impl.h"
#include "sm/base/mem.h"

/*
 * The daemon's loop: real clocks; libevent for descriptors, signals and the sleep between turns.
 *
 * libevent is touched by the loop's thread only and needs no locks; other threads wake the sleep
 * through an eventfd. Timers live in our own heap, one libevent timer stands for the earliest.
 * Two worker threads, each started with its first job, take jobs in order; a job belongs to one
 * from submission until its done() is posted. The workers, and the threads that they start
 * (parallel.c), have a lower priority than the loop: where processors are short, who waits for an
 * answer comes before a routing that takes seconds. Threads of ours block all signals, so that
 * these reach the loop's thread.
 */
#define LOOK_EACH USEC(10)	/* at descriptors, while there is other work */
#define WORKER_NICE 5		/* of workers more than of the loop: a third of its weight */

struct worker {
	struct event_loop *owner;	/* whose it is */
	pthread_t thread;		/* valid if `started` */
	bool started;			/* the thread was; loop's thread only */
	pthread_cond_t more;		/* a job came, or the loop's quit was set */
	struct list jobs;		/* submitted and not begun; under the loop's lock */
};

struct event_loop {
	struct loop loop;		/* the common part; first */
	struct event_base *base;	/* libevent's side */
	struct event *tick;		/* ends a sleep when a timer is due */
	struct event *woken;		/* watches wake_fd */
	int wake_fd;			/* eventfd that ends a sleep */
	monotime looked;		/* when descriptors were looked at last */
	struct list signals;		/* of struct signal_watch */
	struct list finished;		/* jobs whose done() is posted; under `lock` */
	struct worker workers[LOOP_WORKERS];
	pthread_mutex_t lock;		/* of jobs, `finished` and `quit` */
	bool quit;			/* the workers shall end */
};

struct job {
	struct list list;		/* of its worker's jobs, then in finished */
	struct event_loop *owner;	/* whose worker does it */
	loop_fn run;			/* on the worker */
	loop_fn done;			/* on the loop */
	void *arg;			/* of both */
	const char *site;		/* where `done` was named */
};

struct signal_watch {
	struct list list;		/* in event_loop.signals */
	struct loop *loop;		/* that calls */
	struct event *event;		/* libevent's side */
	loop_fn fn;			/* what to call */
	void *arg;			/* with what */
	const char *site;		/* where it was named */
};

struct loop_fd {
	struct event_loop *loop;	/* where it is watched */
	struct event *event;		/* libevent's side */
	int fd;				/* borrowed */
	unsigned events;		/* LOOP_READ, LOOP_WRITE */
	loop_fd_fn fn;			/* what to call */
	void *arg;			/* with what */
	const char *site;		/* where it was named */
};

static struct event_loop *
event_of(struct loop *l)
{
	return (struct event_loop *)(void *)l;
}

static monotime
event_now(const struct loop *l)
{
	(void)l;
	return clock_monotonic();
}

static int64_t
event_wall(const struct loop *l)
{
	(void)l;
	return clock_wall();
}

/* Only its end of the sleep matters. */
static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void
on_woken(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	(void)arg;
	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void
event_wake(struct loop *l)
{
	const uint64_t one = 1;

	while (write(event_of(l)->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static bool
event_wait(struct loop *l, monotime until)
{
	struct event_loop *e = event_of(l);
	monotime now = clock_monotonic();
	monotime delay = until == MONOTIME_NEVER ? until : until - now;
	bool sleep = delay > 0 && loop_wait_begin(l);

	if (!sleep && now - e->looked < LOOK_EACH)
		return true;
	e->looked = now;
	if (sleep && until != MONOTIME_NEVER) {
		struct timeval tv = {
			.tv_sec = delay / SEC(1),
			.tv_usec = (delay % SEC(1) + 999) / 1000,
		};
		if (tv.tv_usec == 1000000) {
			tv.tv_sec++;
			tv.tv_usec = 0;
		}
		event_add(e->tick, &tv);
	} else if (sleep) {
		event_del(e->tick);
	}
	/* NONBLOCK alone would go on for as long as a descriptor stays ready */
	event_base_loop(e->base, sleep ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK);
	if (sleep)
		loop_wait_end(l);
	return true;
}

static void
job_done(void *arg)
{
	struct job *job = arg;

	pthread_mutex_lock(&job->owner->lock);
	list_remove(&job->list);
	pthread_mutex_unlock(&job->owner->lock);
	if (job->done)
		job->done(job->arg);
	mem_free(job);
}

/* The next job, or NULL when the worker shall end. */
static struct job *
next_job(struct worker *w)
{
	struct event_loop *e = w->owner;
	struct list *it = NULL;

	pthread_mutex_lock(&e->lock);
	while (!e->quit && !(it = list_pop(&w->jobs)))
		pthread_cond_wait(&w->more, &e->lock);
	pthread_mutex_unlock(&e->lock);
	return it ? list_entry(it, struct job, list) : NULL;
}

/* On Linux each thread has a nice value of its own, which threads that it starts inherit. */
static void
worker_yield(void)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	if (errno || setpriority(PRIO_PROCESS, 0, nice + WORKER_NICE))
		log_warning("a worker runs at the priority of the event loop: %s",
			    strerror(errno));
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct event_loop *e = w->owner;
	struct job *job;

	worker_yield();
	while ((job = next_job(w))) {
		job->run(job->arg);
		pthread_mutex_lock(&e->lock);
		list_append(&e->finished, &job->list);
		pthread_mutex_unlock(&e->lock);
		loop_post_at(&e->loop, job_done, job, job->site);
	}
	return NULL;
}

static void
worker_start(struct worker *w)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	w->started = pthread_create(&w->thread, NULL, worker_main, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Without a thread, which a machine short of them may refuse, the loop does the work itself. */
static void
job_inline(void *arg)
{
	struct job *job = arg;

	job->run(job->arg);
	job_done(job);
}

static void
event_work(struct loop *l, enum loop_worker which, loop_fn run, loop_fn done, void *arg,
	   monotime cost, const char *site)
{
	struct event_loop *e = event_of(l);
	struct worker *w = &e->workers[which];
	struct job *job = mem_zalloc(sizeof(*job));

	(void)cost;
	*job = (struct job){ .owner = e, .run = run, .done = done, .arg = arg,
			      .site = site };
	list_init(&job->list);
	if (!w->started)
		worker_start(w);
	pthread_mutex_lock(&e->lock);
	list_append(w->started ? &w->jobs : &e->finished, &job->list);
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&e->lock);
	if (!w->started) {
		log_warning("no thread for a worker: the work holds up the event loop");
		loop_post(l, job_inline, job);
	}
}

/* A descriptor that is ready. */
struct readiness {
	struct loop_fd *w;	/* whose it is */
	int fd;			/* itself */
	unsigned events;	/* LOOP_READ, LOOP_WRITE */
};

static void
call_fd(void *arg)
{
	const struct readiness *r = arg;

	r->w->fn(r->w->arg, r->fd, r->events);
}

/* The callback may free the watch. */
static void
on_fd(evutil_socket_t fd, short what, void *arg)
{
	struct readiness r = { .w = arg, .fd = fd };

	if (what & EV_READ)
		r.events |= LOOP_READ;
	if (what & EV_WRITE)
		r.events |= LOOP_WRITE;
	loop_call(&r.w->loop->loop, call_fd, &r, r.w->site);
}

static struct loop_fd *
event_fd_new(struct loop *l, int fd, loop_fd_fn fn, void *arg, const char *site)
{
	struct loop_fd *w = mem_zalloc(sizeof(*w));

	*w = (struct loop_fd){ .loop = event_of(l), .fd = fd, .fn = fn, .arg = arg,
			       .site = site };
	w->event = event_new(w->loop->base, fd, EV_PERSIST, on_fd, w);
	if (!w->event) {
		mem_free(w);
		return NULL;
	}
	return w;
}

void
loop_fd_set(struct loop_fd *w, unsigned events)
{
	short what = EV_PERSIST;

	if (events == w->events)
		return;
	w->events = events;
	event_del(w->event);
	if (events & LOOP_READ)
		what |= EV_READ;
	if (events & LOOP_WRITE)
		what |= EV_WRITE;
	event_assign(w->event, w->loop->base, w->fd, what, on_fd, w);
	if (events && event_add(w->event, NULL))
		log_error("descriptor %d cannot be watched: %s", w->fd, strerror(errno));
}

void
loop_fd_free(struct loop_fd *w)
{
	if (!w)
		return;
	event_free(w->event);
	mem_free(w);
}

static void
on_signal(evutil_socket_t signo, short what, void *arg)
{
	struct signal_watch *w = arg;

	(void)signo;
	(void)what;
	loop_call(w->loop, w->fn, w->arg, w->site);
}

static int
event_signal(struct loop *l, int signo, loop_fn fn, void *arg, const char *site)
{
	struct event_loop *e = event_of(l);
	struct signal_watch *w = mem_zalloc(sizeof(*w));

	w->loop = l;
	w->fn = fn;
	w->arg = arg;
	w->site = site;
	w->event = event_new(e->base, signo, EV_SIGNAL | EV_PERSIST, on_signal, w);
	if (!w->event || event_add(w->event, NULL)) {
		if (w->event)
			event_free(w->event);
		mem_free(w);
		return ERR_IO;
	}
	list_append(&e->signals, &w->list);
	return 0;
}

static void
drop_jobs(struct list *jobs)
{
	struct list *it;

	while ((it = list_pop(jobs)))
		mem_free(list_entry(it, struct job, list));
}

static void
workers_stop(struct event_loop *e)
{
	pthread_mutex_lock(&e->lock);
	e->quit = true;
	for (int i = 0; i < LOOP_WORKERS; i++)
		pthread_cond_signal(&e->workers[i].more);
	pthread_mutex_unlock(&e->lock);
	for (int i = 0; i < LOOP_WORKERS; i++) {
		struct worker *w = &e->workers[i];

		if (w->started)
			pthread_join(w->thread, NULL);
		drop_jobs(&w->jobs);
		pthread_cond_destroy(&w->more);
	}
	drop_jobs(&e->finished);
}

static void
event_loop_free(struct loop *l)
{
	struct event_loop *e = event_of(l);
	struct list *it;

	workers_stop(e);
	while ((it = list_pop(&e->signals))) {
		struct signal_watch *w = list_entry(it, struct signal_watch, list);

		event_free(w->event);
		mem_free(w);
	}
	event_free(e->tick);
	event_free(e->woken);
	event_base_free(e->base);
	close(e->wake_fd);
	pthread_mutex_destroy(&e->lock);
	loop_clear(l);
	mem_free(e);
}

static const struct loop_ops event_ops = {
	.now = event_now,
	.wall = event_wall,
	.wait = event_wait,
	.wake = event_wake,
	.work = event_work,
	.fd_new = event_fd_new,
	.signal = event_signal,
	.free = event_loop_free,
};

/* libevent's messages are the process's like any others. */
static void
on_message(int severity, const char *text)
{
	log_write(severity == EVENT_LOG_ERR ? LOG_L_ERROR
		  : severity == EVENT_LOG_WARN ? LOG_L_WARNING
		  : LOG_L_DEBUG, "libevent: %s", text);
}

/* Timers in whole microseconds, not in epoll's milliseconds. */
static struct event_base *
base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	event_set_log_callback(on_message);
	if (!config)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

struct loop *
loop_new_event(void)
{
	struct event_loop *e = mem_zalloc(sizeof(*e));

	loop_init(&e->loop, &event_ops,
		  (uint64_t)clock_wall() ^ (uint64_t)clock_monotonic() << 20 ^ (uint64_t)getpid());
	list_init(&e->signals);
	list_init(&e->finished);
	pthread_mutex_init(&e->lock, NULL);
	for (int i = 0; i < LOOP_WORKERS; i++) {
		e->workers[i].owner = e;
		list_init(&e->workers[i].jobs);
		pthread_cond_init(&e->workers[i].more, NULL);
	}
	e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->base = base_new();
	if (e->wake_fd < 0 || !e->base)
		goto fail;
	e->tick = event_new(e->base, -1, 0, on_tick, NULL);
	e->woken = event_new(e->base, e->wake_fd, EV_READ | EV_PERSIST, on_woken, NULL);
	if (!e->tick || !e->woken || event_add(e->woken, NULL))
		goto fail;
	return &e->loop;
fail:
	/* A process that may not even open an epoll descriptor has nothing else to do. */
	log_error("the event loop cannot start: %s", strerror(errno));
	_exit(1);
}
