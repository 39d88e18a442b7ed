/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "plugins/impl.h"
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/log.h"

/*
 * A process of a plugin: the program weft-plugin-host, started by posix_spawn(3), which does not
 * copy the daemon's memory, with an empty environment and no descriptors but those of enum
 * layout_fd. What it writes to its standard output and error comes through a pipe as lines, which
 * go to the log within limits. It is waited for by its own number and nobody else's.
 */
#define PROGRAM "weft-plugin-host"
#define LINE_MAX_LEN 300u	/* bytes of a line that are shown */
#define LINES_AT_ONCE (16u << 10)	/* bytes that are read at once */
#define LOW_FDS 16		/* descriptors of ours are above this while one is started */

struct child {
	char name[32];		/* of the plugin */
	pid_t pid;		/* its process; 0: it is gone, and `status` says how */
	int pidfd;
	int lines;		/* end of the pipe */
	int status;		/* as waitpid() has it */
	uint64_t peak;		/* bytes of memory that it had at most */
	uint64_t limit;		/* that it might have */
	monotime started;	/* when */
	unsigned late_ms;	/* it was ended because it took longer than this; 0: it was not */
	struct buf line;	/* that is not complete */
	char last[LINE_MAX_LEN + 1];	/* line that was complete; "" */
	struct log_limit limits;	/* of lines in the log */
};

/* The program stands beside ours, or in ../libexec/weft. */
static int
find_program(char path[PATH_MAX], struct error *e)
{
	static const char *const places[] = { "", "../libexec/weft/" };
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 64);

	while (len > 0 && path[len - 1] != '/')
		len--;
	for (size_t i = 0; len > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path + len, 64, "%s%s", places[i], PROGRAM);
		if (access(path, X_OK) == 0)
			return 0;
	}
	return error_set(e, ERR_NOT_FOUND, "cannot be run: " PROGRAM " is neither beside this "
			 "program nor in ../libexec/weft of it");
}

/* ---- Start ---- */

/* Descriptors on their way to the process: above those that they become there. */
struct fds {
	int from[LAYOUT_FDS];	/* -1: none */
};

static int
lift(struct fds *f, int number, int fd, struct error *e)
{
	if (fd < 0)
		return 0;
	f->from[number] = fcntl(fd, F_DUPFD_CLOEXEC, LOW_FDS);
	return f->from[number] >= 0 ? 0 : error_set(e, ERR_IO, "cannot be run: %s",
						      strerror(errno));
}

static void
drop(struct fds *f)
{
	for (unsigned i = 0; i < LAYOUT_FDS; i++)
		if (f->from[i] >= 0)
			close(f->from[i]);
}

static int
spawn(struct child *c, const char *path, const struct fds *f)
{
	char program[] = PROGRAM, *argv[] = { program, c->name, NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t set;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	for (int i = 1; i < LAYOUT_FDS; i++) {
		if (f->from[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, f->from[i], i);
		else
			posix_spawn_file_actions_addclose(&actions, i);
	}
	posix_spawn_file_actions_addclosefrom_np(&actions, LAYOUT_FDS);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETSID);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	rc = posix_spawn(&c->pid, path, &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (rc)
		c->pid = 0;
	return rc;
}

static int
start(struct child *c, const struct child_start *s, struct error *e)
{
	struct fds f = { .from = { [0 ... LAYOUT_FDS - 1] = -1 } };
	char path[PATH_MAX];
	int ends[2], rc;

	rc = find_program(path, e);
	if (rc)
		return rc;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(e, ERR_IO, "cannot be run: %s", strerror(errno));
	c->lines = ends[0];
	fcntl(c->lines, F_SETFL, O_NONBLOCK);
	if (lift(&f, 1, ends[1], e) || lift(&f, 2, ends[1], e) ||
	    lift(&f, LAYOUT_CODE, s->plugin->core->code.fd, e) ||
	    lift(&f, LAYOUT_INPUT, s->input, e) || lift(&f, LAYOUT_OUTPUT, s->output, e) ||
	    lift(&f, LAYOUT_CHANNEL, s->channel, e)) {
		rc = e->code;
	} else if ((rc = spawn(c, path, &f))) {
		rc = error_set(e, ERR_IO, "cannot be run: %s: %s", path, strerror(rc));
	} else if ((c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0)) < 0) {
		rc = error_set(e, ERR_IO, "cannot be run: %s", strerror(errno));
	}
	close(ends[1]);
	drop(&f);
	return rc;
}

struct child *
child_start(const struct child_start *s, struct error *e)
{
	struct child *c = mem_zalloc(sizeof(*c));

	snprintf(c->name, sizeof(c->name), "%s", s->plugin->core->about.name);
	c->limit = s->plugin->limits.memory;
	c->pidfd = c->lines = -1;
	c->started = clock_monotonic();
	if (!start(c, s, e))
		return c;
	child_free(c);
	return NULL;
}

/* ---- Lines ---- */

void
text_take(char *to, size_t size, const char *from, size_t len)
{
	size_t at = 0;

	for (size_t i = 0, n; i < len && from[i]; i += n) {
		uint32_t cp = 0;

		n = utf8_decode(from + i, len - i, &cp);
		if (at + (n ? n : 1) >= size)
			break;
		if (!n || cp < ' ' || (cp >= 0x7f && cp < 0xa0)) {
			to[at++] = cp == '\t' ? ' ' : '?';
			n = n ? n : 1;
		} else {
			memcpy(to + at, from + i, n);
			at += n;
		}
	}
	to[at] = '\0';
}

/* "<4>text", as log() of struct weft_host writes it, or whatever it printed. */
static void
say(struct child *c, const char *line, size_t len)
{
	enum log_level level = LOG_L_INFO;
	char text[LINE_MAX_LEN + 1];
	bool printed = true;		/* and not by log() of struct weft_host */

	if (len > 2 && line[0] == '<' && line[1] >= '0' && line[1] <= '4' && line[2] == '>') {
		level = (enum log_level)(line[1] - '0');
		line += 3;
		len -= 3;
		printed = false;
	}
	text_take(text, sizeof(text), line, len);
	if (!text[0])
		return;
	if (printed || level <= LOG_L_WARNING)
		memcpy(c->last, text, sizeof(text));
	log_limited(&c->limits, level, "plugin %s: %s", c->name, text);
}

bool
child_log(struct child *c)
{
	char chunk[4096];
	ssize_t n = 1;

	for (size_t all = 0; all < LINES_AT_ONCE; all += (size_t)n) {
		n = read(c->lines, chunk, sizeof(chunk));
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] != '\n') {
				if (c->line.len <= LINE_MAX_LEN)
					buf_char(&c->line, chunk[i]);
				continue;
			}
			say(c, c->line.len ? c->line.data : "", c->line.len);
			buf_clear(&c->line);
		}
	}
	if (!c->pid && c->line.len) {
		say(c, c->line.data, c->line.len);
		buf_clear(&c->line);
	}
	return n != 0;
}

int
child_ended_fd(const struct child *c)
{
	return c->pidfd;
}

int
child_lines_fd(const struct child *c)
{
	return c->lines;
}

/* ---- End ---- */

static bool
reap(struct child *c, int flags)
{
	struct rusage usage;
	pid_t rc;

	if (!c->pid)
		return true;
	do {
		rc = wait4(c->pid, &c->status, flags, &usage);
	} while (rc < 0 && errno == EINTR);
	if (!rc)
		return false;
	c->peak = rc > 0 ? (uint64_t)usage.ru_maxrss << 10 : 0;
	c->pid = 0;
	child_log(c);
	return true;
}

bool
child_ended(struct child *c)
{
	return reap(c, WNOHANG);
}

void
child_kill(struct child *c)
{
	if (c->pid)
		kill(c->pid, SIGKILL);
}

void
child_free(struct child *c)
{
	child_kill(c);
	reap(c, 0);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->lines >= 0)
		close(c->lines);
	buf_free(&c->line);
	mem_free(c);
}

void
child_wait(struct child *c, unsigned time_ms)
{
	monotime end = c->started + MSEC(time_ms), left;
	bool closed = false;		/* it has closed its end of the pipe */

	while (!child_ended(c) && (left = end - clock_monotonic()) > 0) {
		struct pollfd p[] = { { .fd = c->pidfd, .events = POLLIN },
				      { .fd = closed ? -1 : c->lines, .events = POLLIN } };
		int n = poll(p, 2, (int)(left / MSEC(1)) + 1);

		if (n > 0 && p[1].revents)
			child_log(c);
		closed |= n > 0 && (p[1].revents & POLLHUP);
	}
	if (child_ended(c))
		return;
	c->late_ms = time_ms;
	child_kill(c);
	reap(c, 0);
}

static void
signal_text(const struct child *c, int signal, char *text, size_t size)
{
	const char *name = sigabbrev_np(signal);

	if (signal == SIGXCPU)
		snprintf(text, size, "used up its processor time");
	else if (name)
		snprintf(text, size, "was ended by SIG%s", name);
	else
		snprintf(text, size, "was ended by signal %d", signal);
	if (c->limit && c->peak > c->limit - c->limit / 8)
		snprintf(text + strlen(text), size - strlen(text),
			 ", as good as out of its %llu MiB of memory,",
			 (unsigned long long)(c->limit >> 20));
}

int
child_verdict(const struct child *c, const char *doing, struct error *e)
{
	char what[128], last[LINE_MAX_LEN + 32] = "", time[DURATION_TEXT_SIZE];

	if (c->late_ms)
		return error_set(e, ERR_TIMEOUT, "took longer than %s while it %s",
				 duration_text(time, MSEC(c->late_ms)), doing);
	if (WIFSIGNALED(c->status))
		signal_text(c, WTERMSIG(c->status), what, sizeof(what));
	else if (WEXITSTATUS(c->status))
		snprintf(what, sizeof(what), "ended with status %d", WEXITSTATUS(c->status));
	else
		return 0;
	if (c->last[0])
		snprintf(last, sizeof(last), "; its last words: %s", c->last);
	return error_set(e, ERR_REFUSED, "%s while it %s%.200s", what, doing, last);
}
