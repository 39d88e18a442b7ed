/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A routing engine that does what it should not, as its option says: for tests of what that costs.
 * Where it comes back at all, its tables are whatever the host put there.
 */
#include <fcntl.h>
#include <netinet/in.h>
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
#include <sys/wait.h>
#include <unistd.h>
#include <weft/plugin.h>

#define FOREVER for (;;)

struct call {
	const struct weft_host *host;
	const struct weft_fabric *f;
	struct weft_result *r;
};

static void *
spin(void *arg)
{
	volatile unsigned long *n = arg;

	FOREVER
		++*n;
	return NULL;
}

static void
segv(struct call *c)
{
	(void)c;
	*(volatile int *)8 = 1;
}

static void
do_abort(struct call *c)
{
	(void)c;
	abort();
}

static void
do_exit(struct call *c)
{
	(void)c;
	exit(0);
}

static void
quick_exit_now(struct call *c)
{
	(void)c;
	_exit(3);
}

static void
hang(struct call *c)
{
	(void)c;
	FOREVER
		pause();
}

static void
loop(struct call *c)
{
	volatile unsigned long n = 0;

	(void)c;
	spin((void *)&n);
}

static void
hog(struct call *c)
{
	(void)c;
	FOREVER {
		char *p = malloc(1 << 20);

		if (!p)
			abort();
		memset(p, 1, 1 << 20);
	}
}

/* Over all that may be written of what the host handed over, and beyond. */
static void
wild(struct call *c)
{
	memset(c->r->lft, 0x5a, (size_t)c->f->nswitches * c->f->row_len);
	memset(c->r, 0x5a, sizeof(*c->r));
	memset((void *)c->host, 0x5a, sizeof(*c->host));
}

static void
overrun(struct call *c)
{
	for (volatile uint8_t *p = c->r->lft;; p++)
		*p = 0x5a;
}

static void
write_input(struct call *c)
{
	*(uint32_t *)c->f->link_to = 12345;
}

static void
garbage(struct call *c)
{
	unsigned state = 1;

	for (size_t i = 0; i < (size_t)c->f->nswitches * c->f->row_len; i++)
		c->r->lft[i] = (uint8_t)rand_r(&state);
	c->r->has_rank = c->r->has_sets = 1;
	for (uint32_t s = 0; s < c->f->nswitches; s++) {
		c->r->rank[s] = (uint8_t)rand_r(&state);
		c->r->nsets[s] = (uint16_t)rand_r(&state);
		for (uint32_t h = 0; h < c->f->nswitches; h++) {
			c->r->set_of[s * c->f->nswitches + h] = (uint16_t)rand_r(&state);
			c->r->path_class[s * c->f->nswitches + h] = (uint8_t)rand_r(&state);
		}
		c->r->tree[s] = (uint32_t)rand_r(&state);
	}
	c->r->classes = 16;
	c->r->lanes = 15;
	c->r->ntrees = 1;
}

static void
counts(struct call *c)
{
	c->r->classes = c->r->lanes = c->r->ntrees = c->r->sets_max = c->r->has_sets = UINT32_MAX;
	memset(c->r->nsets, 0xff, c->f->nswitches * sizeof(*c->r->nsets));
}

/* A tree whose switches hang on each other. */
static void
tree_cycle(struct call *c)
{
	for (uint32_t s = 0; s < c->f->nswitches; s++)
		c->r->tree[s] = c->f->link_first[s];
	c->r->ntrees = 1;
}

static void
threads(struct call *c)
{
	static unsigned long n[8];
	pthread_t id;

	(void)c;
	for (int i = 0; i < 8; i++)
		pthread_create(&id, NULL, spin, &n[i]);
}

static void
fork_bomb(struct call *c)
{
	(void)c;
	for (int i = 0; i < 1000; i++)
		if (fork() == 0)
			FOREVER
				fork();
}

static void
do_exec(struct call *c)
{
	(void)c;
	execl("/bin/sh", "sh", "-c", "sleep 1000", (char *)NULL);
}

static void
close_all(struct call *c)
{
	(void)c;
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
}

static void
kill_parent(struct call *c)
{
	(void)c;
	kill(getppid(), SIGKILL);
	kill(-1, SIGKILL);
	kill(0, SIGTERM);
}

static void
stop_self(struct call *c)
{
	(void)c;
	raise(SIGSTOP);
}

static void
terminate_self(struct call *c)
{
	(void)c;
	raise(SIGTERM);
}

/* What it would do to go on when it is told to end. */
static void
stubborn(struct call *c)
{
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, 0);
	hang(c);
}

static void
new_file(struct call *c)
{
	int fd = open(c->host->text(c->host, "file"), O_CREAT | O_WRONLY, 0666);

	if (fd >= 0 && write(fd, "x", 1) < 0)
		abort();
}

static void
call_out(struct call *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)c;
	if (fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		abort();
}

static void
trace_parent(struct call *c)
{
	(void)c;
	if (ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0)
		hang(c);
}

/* What its parent waits for, and reads. */
static void
truncate_all(struct call *c)
{
	(void)c;
	for (int fd = 0; fd < 64; fd++)
		if (ftruncate(fd, 0) < 0)
			continue;
}

static void
unmap(struct call *c)
{
	munmap((void *)((uintptr_t)c->r->lft & ~UINT64_C(4095)), 1u << 30);
}

static size_t
recurse_from(volatile char *above)
{
	volatile char big[65536];

	big[0] = *above;
	return above ? recurse_from(big) + (size_t)big[1] : 0;
}

static void
recurse(struct call *c)
{
	volatile char first = 1;

	c->r->lft[0] = (uint8_t)recurse_from(&first);
}

static void
chatter(struct call *c)
{
	for (int i = 0; i < 1000000; i++) {
		c->host->log(c->host, WEFT_LOG_ERROR, "chatter \033[31m\n\n chatter");
		if (printf("chatter on standard output %d\n", i) < 0)
			return;
	}
}

static void
long_line(struct call *c)
{
	static char text[1 << 22];

	memset(text, 'x', sizeof(text) - 1);
	c->host->log(c->host, WEFT_LOG_ERROR, text);
	c->host->note(c->host, text);
	c->host->refuse(c->host, text);
	puts(text);
}

static void
limits(struct call *c)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	for (int i = 0; i < 16; i++)
		setrlimit(i, &all);
	hog(c);
}

static void
at_exit(void)
{
	pause();
}

static void
exit_slowly(struct call *c)
{
	(void)c;
	atexit(at_exit);
	exit(0);
}

static const struct {
	const char *name;
	void (*act)(struct call *c);
} acts[] = {
	{ "segv", segv }, { "abort", do_abort }, { "exit", do_exit }, { "_exit", quick_exit_now },
	{ "hang", hang }, { "loop", loop }, { "hog", hog }, { "wild", wild },
	{ "overrun", overrun }, { "write-input", write_input }, { "garbage", garbage },
	{ "counts", counts }, { "tree-cycle", tree_cycle }, { "threads", threads },
	{ "fork-bomb", fork_bomb }, { "exec", do_exec }, { "close-all", close_all },
	{ "kill-parent", kill_parent }, { "stop", stop_self }, { "terminate", terminate_self },
	{ "stubborn", stubborn }, { "new-file", new_file }, { "call-out", call_out },
	{ "trace-parent", trace_parent }, { "truncate", truncate_all }, { "unmap", unmap },
	{ "recurse", recurse }, { "chatter", chatter }, { "long-line", long_line },
	{ "limits", limits }, { "exit-slowly", exit_slowly },
};

static int
route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	struct call c = { host, f, r };

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(acts[i].name, host->text(host, "what")))
			acts[i].act(&c);
	return WEFT_OK;
}

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "what", "", 0, 31, NULL, "What it does." },
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "file", "/nonexistent", 0, 4095, NULL,
	  "File that it would like to make." },
};
static const struct weft_engine engine = { sizeof(engine), 0, "any", route };
WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	WEFT_PLUGIN_ABI, sizeof(weft_plugin), "unruly", "1", "does what it should not", options,
	2, &engine, NULL,
};
