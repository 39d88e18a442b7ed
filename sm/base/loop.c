/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/loop.h"

#include "sm/base/log.h"
#include "sm/base/loop_impl.h"
#include "sm/base/mem.h"

/*
 * The event loop, as far as both kinds are alike. A turn calls the posts that had come when it
 * began, in order, then the timers that were due and set when their part began; what these bring
 * about waits for the next turn, so that neither posts nor timers starve the other or descriptors.
 * Between turns the kind lets time pass: loop_event.c sleeps in libevent, loop_virtual.c jumps.
 *
 * Posts cross threads through one array under a mutex. The thread that posts wakes the loop only
 * if the loop said that it sleeps and nobody woke it since, so a burst costs one wake-up.
 */

#define SAMPLE MSEC(1)		/* between looks at processor time, at least */

/* SplitMix64 spreads one seed over the state of xoshiro256** (Blackman and Vigna). */
static uint64_t
splitmix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t
rotate(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

bool
loop_is_virtual(const struct loop *l)
{
	return l->ops->is_virtual;
}

uint64_t
loop_random(struct loop *l)
{
	uint64_t *s = l->random;
	uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

void
loop_init(struct loop *l, const struct loop_ops *ops, uint64_t seed)
{
	l->ops = ops;
	for (unsigned i = 0; i < 4; i++)
		l->random[i] = splitmix(&seed);
	pthread_mutex_init(&l->lock, NULL);
	atomic_init(&l->stopped, false);
}

void
loop_clear(struct loop *l)
{
	mem_free(l->timers.heap);
	mem_free(l->batch.posts);
	mem_free(l->incoming.posts);
	pthread_mutex_destroy(&l->lock);
}

void
loop_free(struct loop *l)
{
	l->ops->free(l);
}

monotime
loop_now(const struct loop *l)
{
	return l->ops->now(l);
}

int64_t
loop_wall(const struct loop *l)
{
	return l->ops->wall(l);
}

void
loop_post_at(struct loop *l, loop_fn fn, void *arg, const char *site)
{
	struct loop_queue *q = &l->incoming;
	bool wake;

	pthread_mutex_lock(&l->lock);
	if (q->len == q->size) {
		q->size = q->size ? q->size * 2 : 64;
		q->posts = mem_realloc(q->posts, q->size, sizeof(q->posts[0]));
	}
	q->posts[q->len++] = (struct loop_post){ fn, arg, site };
	wake = l->waiting;
	l->waiting = false;
	pthread_mutex_unlock(&l->lock);
	if (wake)
		l->ops->wake(l);
}

void
loop_stop(struct loop *l)
{
	bool wake;

	pthread_mutex_lock(&l->lock);
	atomic_store(&l->stopped, true);
	wake = l->waiting;
	l->waiting = false;
	pthread_mutex_unlock(&l->lock);
	if (wake)
		l->ops->wake(l);
}

bool
loop_wait_begin(struct loop *l)
{
	bool idle;

	pthread_mutex_lock(&l->lock);
	idle = !l->incoming.len && !atomic_load(&l->stopped);
	l->waiting = idle;
	pthread_mutex_unlock(&l->lock);
	return idle;
}

void
loop_wait_end(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	l->waiting = false;
	pthread_mutex_unlock(&l->lock);
}

/* Should the present run end, whatever else there is to do? */
static bool
ended(const struct loop *l)
{
	return atomic_load_explicit(&l->stopped, memory_order_relaxed) || (l->flag && *l->flag);
}

/* The arrays swap places, so that a busy loop allocates nothing. */
static void
take_posts(struct loop *l)
{
	struct loop_queue empty = l->batch;

	empty.len = 0;
	pthread_mutex_lock(&l->lock);
	l->batch = l->incoming;
	l->incoming = empty;
	pthread_mutex_unlock(&l->lock);
	l->batch_pos = 0;
}

/* A callback took so long by the clock: was it its own doing, or that of a machine with much else
 * to do? */
static void
judge(struct loop *l, monotime took, const char *site)
{
	monotime own = clock_processor() - l->processor - l->worked;
	char clock[DURATION_TEXT_SIZE], processor[DURATION_TEXT_SIZE];

	if (own > took)
		own = took;
	if (own > l->turns.longest) {
		l->turns.longest = own;
		l->turns.site = site;
	}
	if (own <= LOOP_SLOW && took - l->worked <= LOOP_STUCK)
		return;
	l->turns.slow++;
	log_limited(&l->slow_limit, LOG_L_INFO, "everything else waited %s, %s of it processor "
		    "time, for %s%s%s%s", duration_text(clock, took),
		    duration_text(processor, own), site, l->doing ? " (" : "",
		    l->doing ? l->doing : "", l->doing ? ")" : "");
}

/* To look at processor time is a system call, too much for each of many short callbacks. */
void
loop_call(struct loop *l, loop_fn fn, void *arg, const char *site)
{
	monotime start = clock_monotonic(), took;

	if (start - l->sampled >= SAMPLE || !l->sampled) {
		l->sampled = start;
		l->processor = clock_processor();
	}
	l->worked = 0;
	l->doing = NULL;
	fn(arg);
	took = clock_monotonic() - start;
	if (took > l->turns.longest || took > LOOP_SLOW)
		judge(l, took, site);
}

const struct loop_turns *
loop_turns(const struct loop *l)
{
	return &l->turns;
}

void
loop_doing(struct loop *l, const char *what)
{
	l->doing = what;
}

/* A turn; what an ended run leaves of its batch is there for the next run. */
static void
turn(struct loop *l)
{
	struct loop_timer *t;
	uint64_t sequence;
	monotime now;

	if (l->batch_pos == l->batch.len)
		take_posts(l);
	while (l->batch_pos < l->batch.len && !ended(l)) {
		struct loop_post *p = &l->batch.posts[l->batch_pos++];

		loop_call(l, p->fn, p->arg, p->site);
	}
	now = loop_now(l);
	sequence = l->timers.sequence;
	while (!ended(l) && (t = loop_timers_pop(&l->timers, now, sequence)))
		loop_timer_fire(t);
}

static bool
has_posts(struct loop *l)
{
	bool yes;

	if (l->batch_pos < l->batch.len)
		return true;
	pthread_mutex_lock(&l->lock);
	yes = l->incoming.len > 0;
	pthread_mutex_unlock(&l->lock);
	return yes;
}

/*
 * Turns until the run ends. Events due exactly at the deadline still happen: that is how far a
 * virtual loop gets, while real time is past it before one can look.
 */
static void
run(struct loop *l, monotime deadline)
{
	while (turn(l), !ended(l)) {
		monotime now = loop_now(l);
		monotime until = loop_timers_next(&l->timers);

		if (now > deadline)
			break;
		if (has_posts(l) || until < now)
			until = now;
		else if (now == deadline && until > now)
			break;
		if (!l->ops->wait(l, until < deadline ? until : deadline))
			break;
	}
}

void
loop_run(struct loop *l)
{
	loop_run_until(l, MONOTIME_NEVER, NULL);
}

bool
loop_run_until(struct loop *l, monotime deadline, const bool *flag)
{
	l->flag = flag;
	run(l, deadline);
	l->flag = NULL;
	atomic_store(&l->stopped, false);
	return flag && *flag;
}

void
loop_work_at(struct loop *l, enum loop_worker which, loop_fn run_fn, loop_fn done, void *arg,
	     monotime virtual_cost, const char *site)
{
	l->ops->work(l, which, run_fn, done, arg, virtual_cost, site);
}

struct loop_fd *
loop_fd_new_at(struct loop *l, int fd, loop_fd_fn fn, void *arg, const char *site)
{
	return l->ops->fd_new(l, fd, fn, arg, site);
}

int
loop_signal_at(struct loop *l, int signo, loop_fn fn, void *arg, const char *site)
{
	return l->ops->signal(l, signo, fn, arg, site);
}
