/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/base/mem.h"

/*
 * Both kinds of loop: what the interface promises of both is asked of both; the virtual one is
 * compared with a model of timers, the event one meets threads, descriptors and signals.
 */
#define LONG SEC(30)	/* a deadline that only a failing test meets */

struct step {
	struct loop *l;		/* under test */
	struct loop_timer *t;	/* its timer, if any */
	char *trace;		/* where steps leave their letter; NUL-terminated */
	char letter;		/* this step's */
	int left;		/* how often it goes on */
	bool flag;		/* set by step_flag() */
};

static void
step_trace(void *arg)
{
	struct step *s = arg;
	size_t len = strlen(s->trace);

	s->trace[len] = s->letter;
	s->trace[len + 1] = '\0';
}

static void
step_flag(void *arg)
{
	struct step *s = arg;

	s->flag = true;
}

static void
step_stop(void *arg)
{
	struct step *s = arg;

	step_trace(s);
	loop_stop(s->l);
}

/* Posts itself again. */
static void
step_repost(void *arg)
{
	struct step *s = arg;

	step_trace(s);
	if (--s->left > 0)
		loop_post(s->l, step_repost, s);
}

/* Sets its timer again. */
static void
step_retime(void *arg)
{
	struct step *s = arg;

	step_trace(s);
	if (--s->left > 0)
		loop_timer_set(s->t, 0);
}

static struct loop *
loop_of_kind(int kind)
{
	return kind ? loop_new_event() : loop_new_virtual(1);
}

/* Posts come in order, never inside loop_post(), and leave timers their turn. */
static void
test_turns(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct loop *l = loop_of_kind(kind);
		char trace[64] = "";
		struct step a = { .l = l, .trace = trace, .letter = 'a' };
		struct step p = { .l = l, .trace = trace, .letter = 'p', .left = 3 };
		struct step t = { .l = l, .trace = trace, .letter = 't', .left = 3 };
		struct step z = { .l = l, .trace = trace, .letter = 'z' };

		t.t = loop_timer_new(l, step_retime, &t);
		z.t = loop_timer_new(l, step_stop, &z);
		loop_timer_set(t.t, -5);
		loop_timer_set(z.t, MSEC(1));
		loop_post(l, step_repost, &p);
		loop_post(l, step_trace, &a);
		assert_string_equal(trace, "");
		loop_run(l);
		assert_string_equal(trace, "patptptz");
		loop_timer_free(t.t);
		loop_timer_free(z.t);
		loop_free(l);
	}
}

/* A stop holds back what is left for the next run. A stop before a run ends that run. */
static void
test_stop(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct loop *l = loop_of_kind(kind);
		char trace[64] = "";
		struct step a = { .l = l, .trace = trace, .letter = 'a' };
		struct step s = { .l = l, .trace = trace, .letter = 's' };
		struct step f = { .l = l, .trace = trace };

		loop_post(l, step_stop, &s);
		loop_post(l, step_trace, &a);
		loop_post(l, step_flag, &f);
		loop_run(l);
		assert_string_equal(trace, "s");
		loop_stop(l);
		assert_false(loop_run_until(l, loop_now(l) + LONG, &f.flag));
		assert_string_equal(trace, "s");
		assert_true(loop_run_until(l, loop_now(l) + LONG, &f.flag));
		assert_string_equal(trace, "sa");
		/* a flag that is set already ends the run before anything happens */
		loop_post(l, step_trace, &a);
		assert_true(loop_run_until(l, loop_now(l) + LONG, &f.flag));
		assert_string_equal(trace, "sa");
		loop_free(l);	/* with a post due */
	}
}

static void
test_timer_states(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct loop *l = loop_of_kind(kind);
		char trace[64] = "";
		struct step a = { .l = l, .trace = trace, .letter = 'a' };
		struct step z = { .l = l, .trace = trace, .letter = 'z' };
		monotime start = loop_now(l);

		a.t = loop_timer_new(l, step_trace, &a);
		z.t = loop_timer_new(l, step_stop, &z);
		assert_false(loop_timer_pending(a.t));
		loop_timer_set(a.t, MSEC(1));
		assert_true(loop_timer_pending(a.t));
		loop_timer_cancel(a.t);
		assert_false(loop_timer_pending(a.t));
		loop_timer_set(a.t, MSEC(3));		/* earlier than it will be in the end */
		loop_timer_set(a.t, MSEC(20));
		loop_timer_set(z.t, MSEC(10));
		loop_run(l);
		assert_string_equal(trace, "z");
		assert_true(loop_now(l) - start >= MSEC(10));
		assert_false(loop_timer_pending(z.t));
		loop_timer_set(z.t, MSEC(15));
		loop_run(l);
		assert_string_equal(trace, "zaz");
		assert_true(loop_now(l) - start >= MSEC(25));
		loop_timer_set(a.t, MONOTIME_NEVER);
		assert_false(loop_timer_pending(a.t));
		loop_timer_set(a.t, SEC(1));
		loop_timer_free(a.t);		/* while pending */
		loop_timer_free(NULL);
		loop_timer_free(z.t);
		loop_free(l);
	}
}

static void
test_virtual_time(void **state)
{
	struct loop *l = loop_new_virtual(1);
	char trace[64] = "";
	struct step a = { .l = l, .trace = trace, .letter = 'a' };

	(void)state;
	/* 2026-01-01 is day 20454 of Unix time */
	assert_true(loop_wall(l) - loop_now(l) / 1000 == INT64_C(20454) * 86400 * 1000000);
	a.t = loop_timer_new(l, step_trace, &a);
	loop_timer_set(a.t, SEC(3600));
	loop_run_until(l, loop_now(l) + SEC(3599), NULL);
	assert_string_equal(trace, "");
	loop_run_until(l, loop_now(l) + SEC(1), NULL);	/* due at the deadline: happens */
	assert_string_equal(trace, "a");
	loop_run_until(l, loop_now(l) + SEC(86400), NULL);	/* nothing to do: time passes */
	assert_true(loop_wall(l) - INT64_C(20454) * 86400 * 1000000 == INT64_C(90000) * 1000000);
	loop_run(l);					/* nothing left: ends, time stays */
	assert_true(loop_wall(l) - INT64_C(20454) * 86400 * 1000000 == INT64_C(90000) * 1000000);
	assert_null(loop_fd_new(l, 0, NULL, NULL));
	assert_int_equal(loop_signal(l, SIGUSR1, step_trace, &a), ERR_UNSUPPORTED);
	loop_timer_free(a.t);
	loop_free(l);
}

enum { TIMERS = 60 };

struct model {
	struct loop *l;			/* under test */
	struct model_timer {
		struct model *m;	/* to find the rest */
		struct loop_timer *t;	/* under test */
		monotime due;		/* MONOTIME_NEVER: not set */
		unsigned sequence;	/* of its setting */
	} timers[TIMERS];		/* the same timers, in the simplest way */
	unsigned sequence;		/* of the last setting */
	unsigned fired;			/* timers that fired */
};

/* Nothing that is due earlier, or as early but set before, may still wait. */
static void
model_fire(void *arg)
{
	struct model_timer *me = arg;
	struct model *m = me->m;

	assert_true(me->due == loop_now(m->l));
	for (size_t i = 0; i < TIMERS; i++) {
		const struct model_timer *t = &m->timers[i];

		assert_false(t->due < me->due);
		assert_false(t->due == me->due && t->sequence < me->sequence);
	}
	me->due = MONOTIME_NEVER;
	m->fired++;
}

static void
model_change(struct model *m)
{
	struct model_timer *t = &m->timers[loop_random(m->l) % TIMERS];
	monotime delay = (monotime)(loop_random(m->l) % 20);

	switch (loop_random(m->l) % 8) {
	case 0:
		loop_timer_cancel(t->t);
		t->due = MONOTIME_NEVER;
		break;
	case 1:
		loop_timer_free(t->t);
		t->t = loop_timer_new(m->l, model_fire, t);
		t->due = MONOTIME_NEVER;
		break;
	default:
		loop_timer_set(t->t, delay);
		t->due = loop_now(m->l) + delay;
		t->sequence = ++m->sequence;
	}
	assert_int_equal(loop_timer_pending(t->t), t->due != MONOTIME_NEVER);
}

static void
test_timers_model(void **state)
{
	struct model *m = mem_zalloc(sizeof(*m));

	(void)state;
	m->l = loop_new_virtual(7);
	for (size_t i = 0; i < TIMERS; i++)
		m->timers[i] = (struct model_timer){
			m, loop_timer_new(m->l, model_fire, &m->timers[i]), MONOTIME_NEVER, 0,
		};
	for (int round = 0; round < 20000; round++) {
		monotime deadline = loop_now(m->l) + (monotime)(loop_random(m->l) % 4);

		for (uint64_t n = loop_random(m->l) % 6; n; n--)
			model_change(m);
		loop_run_until(m->l, deadline, NULL);
		assert_true(loop_now(m->l) == deadline);
		for (size_t i = 0; i < TIMERS; i++)
			assert_true(m->timers[i].due > deadline);
	}
	assert_true(m->fired > 10000);
	for (size_t i = 0; i < TIMERS; i++)
		loop_timer_free(m->timers[i].t);
	loop_free(m->l);
	mem_free(m);
}

/* xoshiro256** over SplitMix64 of the seed, computed by another program. */
static void
test_random(void **state)
{
	static const uint64_t want[] = {
		0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1,
	};
	struct loop *l = loop_new_virtual(42);
	struct loop *a = loop_new_event(), *b = loop_new_event();

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_true(loop_random(l) == want[i]);
	assert_true(loop_random(a) != loop_random(b));
	loop_free(l);
	loop_free(a);
	loop_free(b);
}

struct work {
	struct loop *l;		/* under test */
	char *trace;		/* letters of the jobs that are done */
	char letter;		/* of this job */
	monotime ran;		/* when it ran */
	monotime done;		/* when that was told */
	pthread_t thread;	/* where it ran */
	struct work *then;	/* job to submit from done(), if any */
};

static void
work_trace(struct work *w, char letter)
{
	size_t len = strlen(w->trace);

	w->trace[len] = letter;
	w->trace[len + 1] = '\0';
}

static void
work_run(void *arg)
{
	struct work *w = arg;

	w->ran = loop_now(w->l);
	w->thread = pthread_self();
}

static void
work_done(void *arg)
{
	struct work *w = arg;

	w->done = loop_now(w->l);
	work_trace(w, w->letter);
	if (w->then)
		loop_work(w->l, work_run, work_done, w->then, MSEC(7));
	else if (w->letter == 'd')
		loop_stop(w->l);
}

static void
submit(struct work jobs[4], struct loop *l, char *trace)
{
	for (int i = 0; i < 4; i++)
		jobs[i] = (struct work){ .l = l, .trace = trace, .letter = (char)('a' + i) };
	jobs[2].then = &jobs[3];
	for (int i = 0; i < 3; i++)
		loop_work(l, work_run, work_done, &jobs[i], MSEC(10));
}

/* Jobs one after the other: at 0, 10 and 20 ms; the one that the third brings begins at 30. */
static void
test_work_virtual(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct work jobs[4];
	char trace[64] = "";
	monotime start = loop_now(l);

	(void)state;
	submit(jobs, l, trace);
	assert_string_equal(trace, "");
	loop_run_until(l, start + SEC(1), NULL);
	assert_string_equal(trace, "abcd");
	for (int i = 0; i < 4; i++) {
		assert_true(jobs[i].ran == start + MSEC(10) * i);
		assert_true(jobs[i].done == jobs[i].ran + (i < 3 ? MSEC(10) : MSEC(7)));
	}
	loop_work(l, work_run, NULL, &jobs[0], SEC(1));	/* never begun: freed with the loop */
	loop_free(l);
}

static void
test_work_event(void **state)
{
	struct loop *l = loop_new_event();
	struct work jobs[4];
	char trace[64] = "";

	(void)state;
	submit(jobs, l, trace);
	loop_run_until(l, loop_now(l) + LONG, NULL);
	assert_string_equal(trace, "abcd");
	for (int i = 0; i < 4; i++) {
		assert_false(pthread_equal(jobs[i].thread, pthread_self()));
		assert_true(pthread_equal(jobs[i].thread, jobs[0].thread));
		assert_true(jobs[i].done >= jobs[i].ran);
	}
	loop_free(l);
}

struct priority {
	int nice;	/* of the worker */
	bool known;	/* the work is done */
};

static void
priority_run(void *arg)
{
	((struct priority *)arg)->nice = getpriority(PRIO_PROCESS, 0);
}

static void
priority_done(void *arg)
{
	((struct priority *)arg)->known = true;
}

/* Work gives way to the loop, whose own priority stays, as far as there is a lower one. */
static void
test_work_priority(void **state)
{
	struct loop *l = loop_new_event();
	int own = getpriority(PRIO_PROCESS, 0);
	struct priority p = { 0 };

	(void)state;
	loop_work(l, priority_run, priority_done, &p, 0);
	assert_true(loop_run_until(l, loop_now(l) + LONG, &p.known));
	assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
	assert_true(p.nice > own || own == 19);
	loop_free(l);
}

static void
work_open(void *arg)
{
	atomic_bool *begun = arg;

	atomic_store(begun, true);
}

/* Freeing the loop waits for the job in progress and drops the others, with dones that are due. */
static void
test_work_free(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct loop *l = loop_new_event();
		atomic_bool begun[3] = { false, false, false };

		for (int k = 0; k < 3; k++)
			loop_work(l, work_open, k == 1 ? NULL : work_open, &begun[k], 0);
		loop_free(l);
		assert_false(begun[1] && !begun[0]);
		assert_false(begun[2] && !begun[1]);
	}
}

enum { POSTERS = 4, POSTS_EACH = 100000 };

struct poster {
	struct loop *l;		/* where to */
	unsigned sent;		/* posts so far; the poster's */
	unsigned seen;		/* posts that came; the loop's */
	bool *all;		/* to set when all came */
	unsigned *total;	/* of all posters */
};

static void
post_seen(void *arg)
{
	struct poster *p = arg;

	p->seen++;
	*p->all = ++*p->total == POSTERS * POSTS_EACH;
}

static void *
post_many(void *arg)
{
	struct poster *p = arg;

	for (p->sent = 0; p->sent < POSTS_EACH; p->sent++)
		loop_post(p->l, post_seen, p);
	return NULL;
}

static void
test_posts_from_threads(void **state)
{
	struct loop *l = loop_new_event();
	struct poster posters[POSTERS];
	pthread_t threads[POSTERS];
	unsigned total = 0;
	bool all = false;

	(void)state;
	for (int i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){ .l = l, .all = &all, .total = &total };
		assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
	}
	assert_true(loop_run_until(l, loop_now(l) + LONG, &all));
	for (int i = 0; i < POSTERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(posters[i].seen, POSTS_EACH);
	}
	loop_free(l);
}

struct ping {
	struct loop *l;		/* that sleeps */
	pthread_mutex_t lock;	/* of turn */
	pthread_cond_t moved;	/* the turn changed */
	bool turn;		/* true: the thread may post */
	int rounds;		/* left to do */
	bool done;		/* all rounds are through */
};

static void
ping_seen(void *arg)
{
	struct ping *p = arg;

	pthread_mutex_lock(&p->lock);
	p->turn = true;
	p->done = --p->rounds == 0;
	pthread_cond_signal(&p->moved);
	pthread_mutex_unlock(&p->lock);
}

static void *
ping_thread(void *arg)
{
	struct ping *p = arg;
	bool more = true;

	while (more) {
		pthread_mutex_lock(&p->lock);
		while (!p->turn)
			pthread_cond_wait(&p->moved, &p->lock);
		p->turn = false;
		more = p->rounds > 0;
		pthread_mutex_unlock(&p->lock);
		if (more)
			loop_post(p->l, ping_seen, p);
	}
	return NULL;
}

/* Each post comes to a loop that sleeps or is about to: a wake-up that is lost hangs here. */
static void
test_wake(void **state)
{
	struct ping p = { .l = loop_new_event(), .turn = true, .rounds = 5000 };
	pthread_t thread;

	(void)state;
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.moved, NULL);
	assert_int_equal(pthread_create(&thread, NULL, ping_thread, &p), 0);
	assert_true(loop_run_until(p.l, loop_now(p.l) + LONG, &p.done));
	pthread_join(thread, NULL);
	pthread_cond_destroy(&p.moved);
	pthread_mutex_destroy(&p.lock);
	loop_free(p.l);
}

static void *
stop_thread(void *arg)
{
	loop_stop(arg);
	return NULL;
}

static void
test_stop_from_thread(void **state)
{
	struct loop *l = loop_new_event();
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(pthread_create(&thread, NULL, stop_thread, l), 0);
		loop_run(l);	/* ends, whichever comes first */
		pthread_join(thread, NULL);
	}
	loop_free(l);
}

struct stream {
	struct loop_fd *in, *out;	/* ends of a pipe */
	unsigned written;		/* bytes so far */
	unsigned got;			/* bytes so far, all as expected */
	bool end;			/* end of file was seen */
	bool idle;			/* the writer asked for a pause */
};

static void
stream_write(void *arg, int fd, unsigned events)
{
	struct stream *s = arg;
	unsigned char c = (unsigned char)s->written;

	assert_int_equal(events, LOOP_WRITE);
	assert_false(s->idle);
	assert_int_equal(write(fd, &c, 1), 1);
	if (++s->written == 1000) {
		loop_fd_free(s->out);	/* inside its own callback */
		s->out = NULL;
		close(fd);
	} else if (s->written % 100 == 0) {
		loop_fd_set(s->out, 0);
		s->idle = true;
	}
}

static void
stream_read(void *arg, int fd, unsigned events)
{
	struct stream *s = arg;
	unsigned char c;

	assert_int_equal(events, LOOP_READ);
	if (read(fd, &c, 1) == 0) {
		loop_fd_set(s->in, 0);
		s->end = true;
		return;
	}
	assert_int_equal(c, s->got++ % 256);
	if (s->idle && s->got == s->written) {
		s->idle = false;
		loop_fd_set(s->out, LOOP_WRITE);
	}
}

static void
test_fds(void **state)
{
	struct loop *l = loop_new_event();
	struct stream s = { 0 };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	s.in = loop_fd_new(l, fds[0], stream_read, &s);
	s.out = loop_fd_new(l, fds[1], stream_write, &s);
	/* watches begin paused */
	loop_run_until(l, loop_now(l) + MSEC(1), NULL);
	assert_int_equal(s.written, 0);
	loop_fd_set(s.in, LOOP_READ);
	loop_fd_set(s.out, LOOP_WRITE);
	assert_true(loop_run_until(l, loop_now(l) + LONG, &s.end));
	assert_int_equal(s.got, 1000);
	loop_fd_free(s.in);
	loop_fd_free(NULL);
	close(fds[0]);
	loop_free(l);
}

/* A stream of posts does not keep descriptors from being looked at. */
static void
post_forever(void *arg)
{
	struct step *s = arg;

	loop_post(s->l, post_forever, s);
}

static void
fd_flag(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	step_flag(arg);
}

static void
test_fairness(void **state)
{
	struct step s = { .l = loop_new_event() };
	struct loop_fd *w;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	w = loop_fd_new(s.l, fds[0], fd_flag, &s);
	loop_fd_set(w, LOOP_READ);
	loop_post(s.l, post_forever, &s);
	assert_true(loop_run_until(s.l, loop_now(s.l) + LONG, &s.flag));
	s.flag = false;
	loop_fd_set(w, 0);
	assert_false(loop_run_until(s.l, loop_now(s.l) + MSEC(2), &s.flag));	/* it ends */
	loop_fd_free(w);
	close(fds[0]);
	close(fds[1]);
	loop_free(s.l);
}

static void
test_signals(void **state)
{
	char trace[64] = "";
	struct step s = { .l = loop_new_event(), .trace = trace, .letter = 's' };

	(void)state;
	assert_int_equal(loop_signal(s.l, SIGUSR1, step_stop, &s), 0);
	assert_int_not_equal(loop_signal(s.l, SIGKILL, step_stop, &s), 0);
	for (int i = 0; i < 3; i++) {
		raise(SIGUSR1);
		loop_run_until(s.l, loop_now(s.l) + LONG, NULL);
	}
	assert_string_equal(trace, "sss");
	loop_free(s.l);
}

/* Takes more of the processor than one callback may. */
static void
step_burn(void *arg)
{
	monotime until = clock_processor() + LOOP_SLOW + MSEC(2);

	(void)arg;
	while (clock_processor() < until)
		;
}

static void
burn(struct loop *l, bool worker)
{
	struct step s = { .l = l };

	if (worker) {
		loop_work(l, step_burn, step_flag, &s, 0);
	} else {
		loop_post(l, step_burn, &s);
		loop_post(l, step_flag, &s);
	}
	loop_run_until(l, loop_now(l) + LONG, &s.flag);
	assert_true(s.flag);
}

/* Who holds up the others is counted and named; workers do not, real or not. */
static void
test_slow(void **state)
{
	struct loop *loops[] = { loop_new_event(), loop_new_virtual(1) };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		burn(loops[i], true);
		assert_int_equal(loop_turns(loops[i])->slow, 0);
		assert_true(loop_turns(loops[i])->longest < LOOP_SLOW);
		burn(loops[i], false);
		assert_int_equal(loop_turns(loops[i])->slow, 1);
		assert_true(loop_turns(loops[i])->longest > LOOP_SLOW);
		assert_non_null(strstr(loop_turns(loops[i])->site, "test_base_loop.c step_burn"));
		loop_free(loops[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_timer_states),
		cmocka_unit_test(test_virtual_time),
		cmocka_unit_test(test_timers_model),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_work_virtual),
		cmocka_unit_test(test_work_event),
		cmocka_unit_test(test_work_priority),
		cmocka_unit_test(test_work_free),
		cmocka_unit_test(test_posts_from_threads),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_stop_from_thread),
		cmocka_unit_test(test_fds),
		cmocka_unit_test(test_fairness),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
