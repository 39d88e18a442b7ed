/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer of events for tests: it writes a line for each event into a file and, by its option
 * `mode`, does something wrong at an event of type `at`.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "plugins/plugin.h"

#ifndef VERSION
#define VERSION "1"
#endif

static FILE *out;

static int
say(const struct weft_host *host, const char *text)
{
	(void)host;
	return fprintf(out, "%s\n", text) < 0 || fflush(out) ? WEFT_REFUSED : WEFT_OK;
}

static int
open_it(const struct weft_host *host, void **state)
{
	if (strcmp(host->text(host, "mode"), "refuse") == 0) {
		host->refuse(host, "it is a holiday");
		return WEFT_REFUSED;
	}
	out = fopen(host->text(host, "path"), "a");
	if (!out) {
		host->refuse(host, "its file cannot be opened");
		return WEFT_REFUSED;
	}
	*state = out;
	return say(host, "open " VERSION);
}

/* Signals and scheduling for somebody else, as a process of the same user could have them. */
static int
touches_others(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	return fcntl(0, F_SETOWN, getppid()) == 0 || fcntl(0, F_SETSIG, SIGKILL) == 0 ||
		sched_setaffinity(getppid(), sizeof(all), &all) == 0;
}

static void
misbehave(const struct weft_host *host, const char *mode)
{
	if (strcmp(mode, "crash") == 0 || strcmp(mode, "grieve") == 0)
		raise(SIGSEGV);
	/* Live on without the daemon; the kernel takes no notice of the upper half. */
	if (strcmp(mode, "outlive") == 0 && touches_others())
		_exit(0);
	if (strcmp(mode, "outlive") == 0 &&
	    syscall(SYS_prctl, (unsigned long)PR_SET_PDEATHSIG | 1ul << 32, 0ul) == 0)
		_exit(0);
	if (strcmp(mode, "hang") == 0)
		for (;;)
			pause();
	if (strcmp(mode, "exit") == 0)
		_exit(0);
	while (strcmp(mode, "flood") == 0)
		printf("%s\n", host->text(host, "path"));
	while (strcmp(mode, "chatter") == 0)
		if (write(6, "", 1) < 0)	/* what it has no business with */
			return;
}

static int
event(const struct weft_host *host, void *state, const struct weft_event *ev)
{
	const char *mode = host->text(host, "mode"), *at = host->text(host, "at");
	char line[1024];

	if (state != out || ev->size < sizeof(*ev))
		return WEFT_REFUSED;
	usleep((useconds_t)host->number(host, "slow_us"));
	snprintf(line, sizeof(line), "%llu %s %s%s%s", (unsigned long long)ev->sequence, ev->type,
		 ev->text, host->flag(host, "json") ? " " : "",
		 host->flag(host, "json") ? ev->json : "");
	if (!*at || strcmp(at, ev->type) == 0)
		misbehave(host, mode);
	if (strcmp(mode, "fail") == 0 && (!*at || strcmp(at, ev->type) == 0)) {
		host->refuse(host, "the disk is full");
		return WEFT_REFUSED;
	}
	return say(host, line);
}

static int
lost(const struct weft_host *host, void *state, uint64_t count)
{
	char line[64];

	(void)state;
	if (strcmp(host->text(host, "mode"), "grieve") == 0)
		raise(SIGSEGV);
	snprintf(line, sizeof(line), "lost %llu", (unsigned long long)count);
	return say(host, line);
}

static void
close_it(const struct weft_host *host, void *state)
{
	(void)state;
	say(host, "close");
}

static const char *const modes[] = {
	"record", "refuse", "crash", "hang", "exit", "flood", "chatter", "fail", "grieve",
	"outlive", NULL
};

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_WORD, "mode", "record", 0, 0, modes,
	  "What it does wrong." },
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "at", "", 0, 31, NULL,
	  "At events of which type; none: at all." },
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "path", "", 0, 255, NULL,
	  "File that lines go to." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "slow_us", "0", 0, 1000000, NULL,
	  "How long an event takes." },
	{ sizeof(struct weft_option), WEFT_OPTION_FLAG, "json", "false", 0, 0, NULL,
	  "The whole event, too." },
};

static const struct weft_consumer consumer = {
	.size = sizeof(consumer), .level = WEFT_LOG_DEBUG, .open = open_it, .event = event,
	.lost = lost, .close = close_it,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "trail", .version = VERSION,
	.help = "Appends events to a file.", .options = options,
	.noptions = sizeof(options) / sizeof(options[0]), .consumer = &consumer,
};
