/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "plugins/plugin.h"

/*
 * An engine that does what it is told by option `act`: break in all the ways there are, reach for
 * what it must not have (and say in its note what it got), or make a result that is wrong.
 */
static const char *const acts[] = {
	"route", "segv", "abort", "exit", "exit3", "hang", "hog", "raise", "stack", "refuse",
	"mute", "value", "reach", "threads", "bomb", "close", "print", "flood", "wild", "garbage",
	"ranks", "lanes", "classes", "sets", "noset", "trees", "ring", "other", "offer", "time",
	"options", NULL,
};

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_WORD, "act", "route", 0, 0, acts,
	  "What to do." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "number", "5", 1, UINT64_MAX, NULL,
	  "A number." },
	{ sizeof(struct weft_option), WEFT_OPTION_FLAG, "flag", "true", 0, 0, NULL, "A flag." },
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "text", "t", 0, 100, NULL, "A text." },
};

/* Shortest ways, to each LID by the lowest port. */
static void
shortest(const struct weft_fabric *f, struct weft_result *r)
{
	uint32_t *queue = malloc((f->nswitches + 1u) * sizeof(*queue));

	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		uint32_t home = f->lid_switch[lid], len = 0;

		if (home == WEFT_NONE)
			continue;
		r->lft[(size_t)home * f->row_len + lid] = f->lid_port[lid];
		queue[len++] = home;
		for (uint32_t i = 0; i < len; i++)
			for (uint32_t l = f->link_first[queue[i]];
			     l < f->link_first[queue[i] + 1]; l++) {
				uint8_t *entry = r->lft + (size_t)f->link_to[l] * f->row_len + lid;

				if (*entry != WEFT_DROP || f->link_to[l] == home)
					continue;
				*entry = f->link_in[l];
				queue[len++] = f->link_to[l];
			}
	}
	free(queue);
}

static void
hog(void)
{
	for (;;) {
		char *p = malloc(1u << 20);

		if (!p)
			abort();
		memset(p, 1, 1u << 20);
		__asm__ volatile("" : : "r"(p) : "memory");
	}
}

static int __attribute__((noinline))
deeper(volatile char *from)
{
	volatile char room[4096];

	room[0] = *from;
	return room[0] == 'x' ? 0 : deeper(room) + room[0];
}

static void *
spin(void *arg)
{
	volatile int *stop = arg;

	while (!*stop)
		;
	return NULL;
}

static void *
sleeps(void *arg)
{
	volatile int *stop = arg;

	while (!*stop)
		sleep(1);
	return NULL;
}

/* What it can lay hands on, one letter each: it ought to be nothing. */
static void
reach(char *got)
{
	int fd[2], n;

	*got = '\0';
	if ((n = fork()) >= 0) {
		if (!n)
			_exit(0);
		strcat(got, "F");
	}
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		strcat(got, "S");
	if (open("/tmp/weft-hostile", O_CREAT | O_WRONLY, 0600) >= 0 || pipe(fd) == 0)
		strcat(got, "W");
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
		strcat(got, "P");
	if (kill(getppid(), 0) == 0 || kill(-1, SIGKILL) == 0)
		strcat(got, "K");
	if (geteuid() == 0 || getuid() == 0 || setuid(0) == 0)
		strcat(got, "U");
	if (getenv("PATH"))
		strcat(got, "E");
	for (n = 3; n < 1024; n++)
		if (fcntl(n, F_GETFD) >= 0)
			strcat(got, "D");
	execl("/bin/true", "true", (char *)NULL);
	if (errno != EPERM)
		strcat(got, "X");
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		strcat(got, "M");
	if (prctl(PR_SET_DUMPABLE, 1) == 0 || prctl(PR_SET_PDEATHSIG, 0) == 0)
		strcat(got, "G");
	if (setrlimit(RLIMIT_DATA, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0)
		strcat(got, "L");
}

/* So many threads as there can be, none of which ends. */
static void
bomb(void)
{
	static volatile int never;
	pthread_t t;

	for (int i = 0; i < 100000; i++)
		if (pthread_create(&t, NULL, sleeps, (void *)&never))
			return;
}

static int
run_threads(void)
{
	static volatile int stop;
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, spin, (void *)&stop))
			return -1;
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static int
is(const char *act, const char *name)
{
	return !strcmp(act, name);
}

/* Ways to an end. */
static void
break_down(const struct weft_host *host, const char *act)
{
	volatile int *volatile nowhere = (volatile int *)(uintptr_t)8;

	if (is(act, "segv"))
		*nowhere = 1;
	if (is(act, "abort"))
		abort();
	if (is(act, "exit"))
		exit(0);
	if (is(act, "exit3"))
		exit(3);
	if (is(act, "hog"))
		hog();
	if (is(act, "raise"))
		raise(SIGTERM);
	if (is(act, "stack"))
		deeper((volatile char *)act);
	if (is(act, "wild"))
		memset((void *)(uintptr_t)host, 0x55, 1u << 20);
	if (is(act, "hang"))
		for (;;)
			pause();
}

/* Two switches that hang on each other. */
static void
ring(const struct weft_fabric *f, struct weft_result *r)
{
	uint32_t l = f->link_first[0];

	r->ntrees = 1;
	r->tree[0] = l;
	r->tree[f->link_to[l]] = f->link_back[l];
}

/* At each switch a set of all ports to others, for packets to all of them; and a tree with the
 * first switch on top. */
static void
offer(const struct weft_fabric *f, struct weft_result *r)
{
	uint32_t *queue = malloc((f->nswitches + 1u) * sizeof(*queue)), len = 0;

	for (uint32_t s = 0; s < f->nswitches; s++) {
		uint64_t *set = r->set + (size_t)s * r->sets_max * WEFT_SET_WORDS;

		r->nsets[s] = 1;
		for (uint32_t l = f->link_first[s]; l < f->link_first[s + 1]; l++)
			set[f->link_out[l] / 64] |= UINT64_C(1) << f->link_out[l] % 64;
		for (uint32_t h = 0; h < f->nswitches; h++)
			r->set_of[(size_t)s * f->nswitches + h] = h != s;
	}
	r->ntrees = 1;
	queue[len++] = 0;
	for (uint32_t i = 0; i < len; i++)
		for (uint32_t l = f->link_first[queue[i]]; l < f->link_first[queue[i] + 1]; l++) {
			uint32_t to = f->link_to[l];

			if (!to || r->tree[to] != WEFT_NONE)
				continue;
			r->tree[to] = f->link_back[l];
			queue[len++] = to;
		}
	free(queue);
}

/* Results that cannot be. */
static void
spoil(const char *act, const struct weft_fabric *f, struct weft_result *r)
{
	size_t size = (size_t)f->nswitches * f->row_len;

	for (size_t i = 0; is(act, "garbage") && i < size; i++)
		r->lft[i] = (uint8_t)(i * 2654435761u >> 7);
	if (is(act, "ranks")) {
		r->has_rank = 1;
		memset(r->rank, 254, f->nswitches);
	}
	if (is(act, "lanes"))
		r->lanes = f->max_lanes + 1;
	if (is(act, "classes"))
		r->classes = 200;
	r->has_sets = is(act, "sets") || is(act, "noset") || is(act, "offer");
	if (is(act, "sets"))
		r->nsets[1] = 60000;
	if (is(act, "noset"))
		r->set_of[1] = 1;
	if (is(act, "trees"))
		r->ntrees = 1000;
	if (is(act, "ring"))
		ring(f, r);
	if (is(act, "other")) {
		r->ntrees = 1;
		r->tree[0] = f->nlinks - 1;
	}
	if (is(act, "offer"))
		offer(f, r);
}

static int
hostile_route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	static volatile int never;
	const char *act = host->text(host, "act");
	char note[300];
	pthread_t t;

	break_down(host, act);
	if (is(act, "refuse"))
		host->refuse(host, "switch \"\x1b[1m\" has \xff links");
	if (is(act, "refuse") || is(act, "mute"))
		return WEFT_REFUSED;
	if (is(act, "value"))
		return 77;
	shortest(f, r);
	host->note(host, "as it should be");
	spoil(act, f, r);
	if (is(act, "reach")) {
		reach(note);
		host->note(host, note[0] ? note : "nothing");
	}
	if (is(act, "threads") && run_threads())
		host->note(host, "no threads");
	if (is(act, "bomb"))
		bomb();
	if (is(act, "threads") && pthread_create(&t, NULL, spin, (void *)&never))
		host->note(host, "no thread");
	if (is(act, "close"))
		for (int i = 0; i < 1024; i++)
			close(i);
	if (is(act, "print"))
		printf("%s\n", "printed");
	for (int i = 0; is(act, "flood") && i < 200000; i++)
		host->log(host, WEFT_LOG_ERROR, "the same again and again");
	if (is(act, "time")) {
		snprintf(note, sizeof(note), "%d", host->time_left(host) <= 10000 &&
			 host->time_left(host) > 0);
		host->note(host, note);
	}
	if (is(act, "options")) {
		snprintf(note, sizeof(note), "%llu %d %s|%llu %s",
			 (unsigned long long)host->number(host, "number"),
			 host->flag(host, "flag"), host->text(host, "text"),
			 (unsigned long long)host->number(host, "text"),
			 host->text(host, "nothing"));
		host->note(host, note);
	}
	return WEFT_OK;
}

static const struct weft_engine engine = {
	.size = sizeof(engine), .topologies = "any", .route = hostile_route,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "hostile", .version = "1.2",
	.help = "does what it is told", .options = options,
	.noptions = sizeof(options) / sizeof(options[0]), .engine = &engine,
};
