/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Schedules of faults by the thousand, in as many processes as there are processors. A schedule
 * that fails is told with the command that replays it, and one that shrinks it; one that ends its
 * process, or does not end, is told as well.
 *
 * usage: test_harness [-n SCHEDULES] [-f FIRST] [-p SECONDS] [-j PROCESSES] [-w]
 *							-w: without adaptive switches, those alone
 *        test_harness -s SEED [-t] [-x]		one; -t: tell all; -x: shrink
 *        test_harness -l 'SCHEDULE' [-t] [-x]		one, as it was printed
 *        test_harness -c NAME [-t] [-x]		one of harness_cases.h
 */
#include "tests/unit/harness.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit/harness_cases.h"

#define PROCESSES 64
#define FAILURES 256		/* of a process that are told again at the end; and so many crashes
				 * end its work */
/*
 * One schedule in so many may find what is not mended yet, but never may the manager crash, hang,
 * or lose memory: a port that stays in INIT (4779, 9604), a block of a multicast table that is
 * written once more than it needs (2761); and with adaptive switches circles (522: a switch that
 * nobody has found goes by what it holds; 6345).
 */
#define OPEN_SHARE 1000
#define OPEN_SHARE_ADAPTIVE 500
#define SECONDS 60		/* of processor time for one schedule */
#define PATIENCE 210		/* seconds for all, without -n: on a busy machine they are fewer */
#define WARM 50			/* schedules after which memory stays as it is, */
#define GROWTH (512 * 1024)	/* but for what the allocator keeps at hand */
#ifdef __SANITIZE_ADDRESS__
#define SCHEDULES 250
#define IS_SANITIZED 1
#else
#define SCHEDULES 10000
#define IS_SANITIZED 0
#endif

struct failure {
	uint64_t seed;		/* of the schedule */
	char why[700];		/* what was wrong */
};

/* Shared by all processes. */
struct board {
	struct harness_counts counts[PROCESSES];	/* of each */
	uint64_t seed[PROCESSES];	/* that each is at */
	struct failure failures[PROCESSES][FAILURES];
	unsigned nfailures[PROCESSES];	/* of these */
	uint64_t open[PROCESSES];	/* schedules that found something wrong, */
	uint64_t open_adaptive[PROCESSES];	/* with adaptive switches, */
	uint64_t bad[PROCESSES];	/* and something else */
	char why[700];			/* of a trial */
	time_t stop;			/* no schedule begins after that; 0: whenever */
};

static struct board *board;
static bool plain;		/* schedules with adaptive switches are passed over */

static void
limit_time(unsigned seconds)
{
	struct itimerval t = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &t, NULL);
}

/* ---- One ---- */

static void
print_schedule(const struct harness_schedule *s)
{
	static char text[HARNESS_TEXT];

	harness_print(s, text, sizeof(text));
	printf("%s\n", text);
}

/* In a process of its own; "" if all is well. */
static const char *
trial(const struct harness_schedule *s, bool trace)
{
	int status;
	pid_t pid;

	snprintf(board->why, sizeof(board->why), "ended: the process is gone");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		limit_time(SECONDS);
		harness_run(s, &board->counts[0], trace, board->why, sizeof(board->why));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		snprintf(board->why, sizeof(board->why), "ended: by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGPROF ? ", it takes too long" : "");
	return board->why;
}

static bool
fails_alike(const struct harness_schedule *s, const char *tag)
{
	const char *why = trial(s, false);

	return !strncmp(why, tag, strcspn(tag, ":") + 1);
}

/* ---- Smaller ---- */

static bool
without(struct harness_schedule *s, unsigned at, unsigned len, const char *tag)
{
	struct harness_schedule less = *s;

	memmove(&less.faults[at], &less.faults[at + len],
		(s->nfaults - at - len) * sizeof(less.faults[0]));
	less.nfaults = (uint8_t)(s->nfaults - len);
	if (!fails_alike(&less, tag))
		return false;
	*s = less;
	return true;
}

static bool
fewer_faults(struct harness_schedule *s, const char *tag)
{
	bool less = false;

	for (unsigned len = s->nfaults; len; len /= 2)
		for (unsigned at = 0; at + len <= s->nfaults;)
			if (without(s, at, len, tag))
				less = true;
			else
				at += len;
	return less;
}

static void
simpler(struct harness_schedule *s, uint8_t *field, uint8_t value, const char *tag)
{
	uint8_t before = *field;

	if (before == value)
		return;
	*field = value;
	if (!fails_alike(s, tag))
		*field = before;
}

static void
simpler_all(struct harness_schedule *s, const char *tag)
{
	simpler(s, &s->lmc, 0, tag);
	simpler(s, &s->levels, 0, tag);
	simpler(s, &s->tenants, 0, tag);
	simpler(s, &s->sms, 1, tag);
	simpler(s, &s->sms, 2, tag);
	simpler(s, &s->sweep, 10, tag);
	simpler(s, &s->adaptive, 0, tag);
	if (s->adaptive)
		simpler(s, &s->adaptive, 1, tag);
	for (unsigned i = 0; i < s->nfaults; i++) {
		simpler(s, &s->faults[i].mads, 0, tag);
		simpler(s, &s->faults[i].place, HARNESS_ANYWHERE, tag);
	}
}

static void
shrink(struct harness_schedule *s)
{
	char tag[sizeof(board->why)];

	snprintf(tag, sizeof(tag), "%s", trial(s, false));
	if (!tag[0])
		return;
	do
		simpler_all(s, tag);
	while (fewer_faults(s, tag));
	print_schedule(s);
	printf("%s\n", trial(s, false));
}

static int
run_one(struct harness_schedule *s, bool trace, bool smaller)
{
	const char *why;

	print_schedule(s);
	if (smaller) {
		shrink(s);
		return 0;
	}
	why = trial(s, trace);
	printf("%s\n", why[0] ? why : "all is well");
	return why[0] != '\0';
}

/* ---- Many ---- */

static bool
is_open(const char *why)
{
	return strncmp(why, "ended:", 6) && strncmp(why, "memory:", 7);
}

static void
fail(unsigned process, uint64_t seed, bool adaptive, const char *why)
{
	struct failure *f = &board->failures[process][board->nfailures[process]];

	if (is_open(why) && adaptive)
		board->open_adaptive[process]++;
	else if (is_open(why))
		board->open[process]++;
	else
		board->bad[process]++;
	printf("FAILED: schedule %" PRIu64 ": %s\n", seed, why);
	fflush(stdout);
	if (board->nfailures[process] == FAILURES)
		return;
	board->nfailures[process]++;
	f->seed = seed;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static size_t
held(void)
{
	return IS_SANITIZED ? 0 : mallinfo2().uordblks;
}

static void
run_seed(unsigned process, uint64_t seed)
{
	struct harness_schedule s;
	char why[700];

	harness_draw(&s, seed);
	if (plain && s.adaptive)
		return;
	if (!harness_run(&s, &board->counts[process], false, why, sizeof(why)))
		fail(process, seed, s.adaptive, why);
}

/* What a schedule leaves behind adds up; lost blocks of any size are for LeakSanitizer. */
static void
work(unsigned process, unsigned processes, uint64_t end)
{
	size_t warm = 0;
	char why[100];

	for (unsigned n = 0; board->seed[process] < end && board->bad[process] < FAILURES &&
	     (!board->stop || time(NULL) < board->stop); n++) {
		if (n == WARM)
			warm = held();
		limit_time(SECONDS);
		run_seed(process, board->seed[process]);
		board->seed[process] += processes;
	}
	if (!warm || held() <= warm + GROWTH)
		return;
	snprintf(why, sizeof(why), "memory: %zu bytes are not given back", held() - warm);
	fail(process, board->seed[process], false, why);
}

/* A process that ended amid a schedule is followed by one that goes on behind it. */
static void
employ(unsigned process, unsigned processes, uint64_t end, pid_t pids[])
{
	fflush(stdout);
	pids[process] = fork();
	if (pids[process])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	work(process, processes, end);
	exit(0);
}

/* The first seed that nobody came to: where a later run may go on. */
static uint64_t
next_seed(unsigned processes, uint64_t end)
{
	uint64_t next = end;

	for (unsigned i = 0; i < processes; i++)
		if (board->seed[i] < next)
			next = board->seed[i];
	return next;
}

static void
run_many(uint64_t first, uint64_t schedules, unsigned processes)
{
	pid_t pids[PROCESSES], pid;
	int status;

	for (unsigned i = 0; i < processes; i++) {
		board->seed[i] = first + i;
		employ(i, processes, first + schedules, pids);
	}
	while ((pid = wait(&status)) > 0)
		for (unsigned i = 0; i < processes; i++) {
			char why[100];

			if (pids[i] != pid || (WIFEXITED(status) && !WEXITSTATUS(status)))
				continue;
			snprintf(why, sizeof(why), "ended: the process ended with status 0x%x",
				 (unsigned)status);
			fail(i, board->seed[i], false, why);
			board->seed[i] += processes;
			if (board->bad[i] < FAILURES)
				employ(i, processes, first + schedules, pids);
		}
}

/* ---- What came of it ---- */

static void
sum_counts(struct harness_counts *sum, unsigned processes)
{
	uint64_t *to = (uint64_t *)(void *)sum;

	for (unsigned i = 0; i < processes; i++) {
		const uint64_t *from = (const uint64_t *)(const void *)&board->counts[i];

		for (size_t k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
	}
}

static unsigned
print_counts(const char *what, const uint64_t *counts, unsigned len, const char *(*name)(unsigned))
{
	unsigned none = 0;

	printf("%s:", what);
	for (unsigned i = 0; i < len; i++) {
		if (!strcmp(name(i), "any") || (len == HARNESS_PLACES && i == SUBNET_PUSH))
			continue;
		printf(" %s %" PRIu64 ",", name(i), counts[i]);
		none += !counts[i];
	}
	printf(" none of %u\n", none);
	return none;
}

/* How many of them are more than may be. */
static uint64_t
print_failures(const char *program, unsigned processes, const struct harness_counts *c)
{
	uint64_t bad = 0, open = 0, adaptive = 0;

	for (unsigned i = 0; i < processes; i++) {
		for (unsigned k = 0; k < board->nfailures[i]; k++)
			printf("%s\n  again: %s -s %" PRIu64 " -t    smaller: %s -s %" PRIu64
			       " -x\n", board->failures[i][k].why, program,
			       board->failures[i][k].seed, program, board->failures[i][k].seed);
		bad += board->bad[i];
		open += board->open[i];
		adaptive += board->open_adaptive[i];
	}
	printf("%" PRIu64 " schedules found something wrong, %" PRIu64 " more with adaptive "
	       "switches; %" PRIu64 " crashed, hung or lost memory\n", open, adaptive, bad);
	return bad + (open > (c->schedules - c->adaptive) / OPEN_SHARE + 1 ? open : 0) +
		(adaptive > c->adaptive / OPEN_SHARE_ADAPTIVE + 1 ? adaptive : 0);
}

static const char *
step_name(unsigned step)
{
	return harness_place_name(HARNESS_AR(step));
}

static int
tell(const char *program, unsigned processes, double seconds, bool all)
{
	struct harness_counts c = { 0 };
	uint64_t failures;
	unsigned none;

	sum_counts(&c, processes);
	failures = print_failures(program, processes, &c);
	none = print_counts("faults", c.kinds, HARNESS_KINDS, harness_kind_name);
	none += print_counts("interrupted", c.places, HARNESS_PLACES, harness_place_name);
	none += print_counts("interrupted at adaptive switches", c.steps, HARNESS_AR_STEPS,
			     step_name);
	printf("%" PRIu64 " schedules with adaptive switches: %" PRIu64 " of %" PRIu64 " on at "
	       "rest, %" PRIu64 " ways over groups\n", c.adaptive, c.on, c.able, c.spread);
	printf("%" PRIu64 " schedules in %.0f s (%.0f a second), %" PRIu64 " on 20 switches or "
	       "more; %" PRIu64 " faults, %" PRIu64 " rests, %" PRIu64 " states between, %" PRIu64
	       " ways, %" PRIu64 " registrations, %" PRIu64 " Sets, %" PRIu64 " questions while "
	       "things failed, %" PRIu64 " answered\n", c.schedules, seconds,
	       (double)c.schedules / seconds, c.large, c.faults, c.rests, c.judged, c.pairs,
	       c.registrations, c.sets, c.questions, c.answers);
	printf("%" PRIu64 " single faults at rest: %" PRIu64 " Sets, where %" PRIu64 " entries, "
	       "blocks and attributes differed; %" PRIu64 " of them restarts, and no Set\n",
	       c.frugal, c.frugal_sets, c.frugal_needs, c.restarts);
	/* So few as a sanitizer's build has time for do not come by every place. */
	all = all && !IS_SANITIZED && c.schedules + 1 >= SCHEDULES;
	return failures || (all && (none || c.large * 2 < c.schedules || !c.answers ||
				    !c.restarts || !c.frugal_sets ||
				    c.adaptive < 1000 || c.on * 2 < c.able ||
				    c.faults < 10 * c.schedules));
}

static unsigned
run_cases(void)
{
	struct harness_schedule s;
	unsigned failed = 0;

	for (size_t i = 0; i < HARNESS_CASES; i++) {
		const char *why = "no schedule";

		if (harness_parse(&s, harness_cases[i].text))
			why = trial(&s, false);
		if (why[0])
			printf("FAILED: case %s: %s\n", harness_cases[i].name, why);
		failed += why[0] != '\0';
	}
	return failed;
}

static bool
find_case(struct harness_schedule *s, const char *name)
{
	for (size_t i = 0; i < HARNESS_CASES; i++)
		if (!strcmp(harness_cases[i].name, name))
			return harness_parse(s, harness_cases[i].text);
	return false;
}

int
main(int argc, char **argv)
{
	uint64_t schedules = SCHEDULES, first = 1;
	unsigned processes = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), failed;
	bool one = false, trace = false, smaller = false, good = true;
	struct harness_schedule s;
	struct timeval from, to;
	time_t patience = PATIENCE;
	int c;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	while ((c = getopt(argc, argv, "n:f:p:j:s:l:c:twx")) != -1)
		switch (c) {
		case 'n':
			patience = 0;
			schedules = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			first = strtoull(optarg, NULL, 10);
			break;
		case 'p':
			patience = (time_t)strtoul(optarg, NULL, 10);
			break;
		case 'j':
			processes = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			harness_draw(&s, strtoull(optarg, NULL, 10));
			one = true;
			break;
		case 'l':
			good = harness_parse(&s, optarg);
			one = true;
			break;
		case 'c':
			good = find_case(&s, optarg);
			one = true;
			break;
		case 't':
			trace = true;
			break;
		case 'w':
			plain = true;
			break;
		case 'x':
			smaller = true;
			break;
		default:
			return 2;
		}
	if (!good || board == MAP_FAILED) {
		fprintf(stderr, "there is no such schedule\n");
		return 2;
	}
	if (one)
		return run_one(&s, trace, smaller);
	if (processes < 1 || processes > PROCESSES)
		processes = 1;
	board->stop = patience ? time(NULL) + patience : 0;
	failed = run_cases();
	memset(board->counts, 0, sizeof(board->counts));
	gettimeofday(&from, NULL);
	run_many(first, schedules, processes);
	gettimeofday(&to, NULL);
	printf("seeds %" PRIu64 " to %" PRIu64 ", to go on: -f %" PRIu64 "\n", first,
	       next_seed(processes, first + schedules) - 1,
	       next_seed(processes, first + schedules));
	return tell(argv[0], processes, (double)(to.tv_sec - from.tv_sec) +
		    (double)(to.tv_usec - from.tv_usec) / 1e6, schedules >= SCHEDULES) || failed;
}
