/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

/*
 * Data-parallel loops for the long sums of engines and the checker. Threads live for one call: to
 * start them costs tens of microseconds against slices of milliseconds, and nothing outlives the
 * call. Slices are claimed from one atomic cursor, so that a slow one holds up nobody. A thread
 * that cannot be had is done without. Signals stay with the threads that were there before.
 */
#define THREADS_MAX 64u

struct job {
	parallel_fn fn;		/* the caller's function */
	void *arg;		/* its argument */
	size_t len;		/* items in all */
	size_t grain;		/* items of a slice */
	atomic_size_t slice;	/* the next slice to claim */
};

struct crew {
	struct job *job;	/* what is being done */
	unsigned thread;	/* number of this thread, from 1 */
	pthread_t id;		/* to join it */
};

unsigned
parallel_threads(unsigned threads)
{
	cpu_set_t set;
	int count;

	if (!threads) {
		count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
		threads = count > 0 ? (unsigned)count : 1;
	}
	return threads < THREADS_MAX ? threads : THREADS_MAX;
}

static void
work(struct job *job, unsigned thread)
{
	size_t slices = job->len / job->grain + (job->len % job->grain != 0);
	size_t i;

	while ((i = atomic_fetch_add(&job->slice, 1)) < slices) {
		size_t first = i * job->grain;
		size_t rest = job->len - first;

		job->fn(job->arg, thread, first, first + (rest < job->grain ? rest : job->grain));
	}
}

static void *
crew_main(void *arg)
{
	struct crew *c = arg;

	work(c->job, c->thread);
	return NULL;
}

/* Returns how many were started. */
static unsigned
crew_start(struct crew *crew, unsigned wanted, struct job *job)
{
	sigset_t all, before;
	unsigned n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < wanted) {
		crew[n] = (struct crew){ .job = job, .thread = n + 1 };
		if (pthread_create(&crew[n].id, NULL, crew_main, &crew[n]))
			break;
		n++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

void
parallel_run(unsigned threads, size_t len, size_t grain, parallel_fn fn, void *arg)
{
	struct job job = { .fn = fn, .arg = arg, .len = len, .grain = grain ? grain : 1 };
	struct crew crew[THREADS_MAX];
	unsigned started = 0;
	size_t slices;

	if (!len)
		return;
	slices = (len - 1) / job.grain + 1;
	threads = parallel_threads(threads);
	if (threads > slices)
		threads = (unsigned)slices;
	if (threads > 1)
		started = crew_start(crew, threads - 1, &job);
	work(&job, 0);
	for (unsigned i = 0; i < started; i++)
		pthread_join(crew[i].id, NULL);
}
