/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * The process's log: one sink, which this file owns; any thread writes. A line is made on the
 * writer's stack and leaves in one write(), so lines of several threads or processes that share
 * a file do not mix. Text may hold what a device calls itself: control bytes and broken UTF-8 are
 * escaped, so that nobody forges lines or speaks to the reader's terminal, and length is bounded.
 *
 * Before log_open() lines go to stderr at level notice. systemd names the journal's stream by
 * device and inode in JOURNAL_STREAM; only if stderr is that stream are lines marked <3>..<7>
 * (syslog(3) priorities) instead of with time and level, which the journal keeps itself. Lines with
 * fields go to the journal by a way of their own, which log_set_journal() lends.
 */
#define TEXT_MAX 2000		/* bytes of a line's text, escapes included */
#define LEAD_MAX 64		/* bytes before it */
#define FIELDS_MAX 24		/* for the journal, of one line */
#define FIELDS_ROOM 2048	/* bytes of them */
#define LIMIT_WINDOW SEC(10)

struct sink {
	char *path;		/* of a file; NULL for stderr */
	int fd;			/* where lines go */
	bool journal;		/* mark lines for the journal */
};

static struct sink sink = { .fd = STDERR_FILENO };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of `sink`, and of every limit */
static atomic_int threshold = LOG_L_NOTICE;
static int (*send_journal)(const struct iovec *iov, int n);	/* NULL: none was lent */

static const char *const level_names[] = {
	[LOG_L_ERROR] = "error",
	[LOG_L_WARNING] = "warning",
	[LOG_L_NOTICE] = "notice",
	[LOG_L_INFO] = "info",
	[LOG_L_DEBUG] = "debug",
};
#define LEVELS (sizeof(level_names) / sizeof(level_names[0]))

int
log_level_parse(const char *name)
{
	for (size_t i = 0; i < LEVELS; i++) {
		if (strcmp(name, level_names[i]) == 0)
			return (int)i;
	}
	return -1;
}

const char *
log_level_name(enum log_level level)
{
	return (size_t)level < LEVELS ? level_names[level] : "?";
}

bool
log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &dev, &ino) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static int
open_file(const char *path)
{
	/* A pipe that nobody reads must not hold us up; with a reader it is as good as a file. */
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		      0640);

	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static void
replace_sink(struct sink *fresh)
{
	struct sink old;

	pthread_mutex_lock(&lock);
	old = sink;
	sink = *fresh;
	pthread_mutex_unlock(&lock);
	if (old.path)
		close(old.fd);
	mem_free(old.path);
}

int
log_open(const char *to, enum log_level level, struct error *e)
{
	struct sink fresh = { .fd = STDERR_FILENO };

	if (strcmp(to, "journal") == 0) {
		fresh.journal = stderr_is_journal();
	} else if (strcmp(to, "stderr") != 0) {
		fresh.fd = open_file(to);
		if (fresh.fd < 0)
			return error_set(e, ERR_IO, "cannot open the log file %s: %s", to,
					 strerror(errno));
		fresh.path = mem_strdup(to);
	}
	replace_sink(&fresh);
	atomic_store(&threshold, (int)level);
	return 0;
}

void
log_reopen(void)
{
	int fd, old = -1, reason = 0;

	pthread_mutex_lock(&lock);
	if (sink.path) {
		fd = open_file(sink.path);
		if (fd >= 0) {
			old = sink.fd;
			sink.fd = fd;
		} else {
			reason = errno;
		}
	}
	pthread_mutex_unlock(&lock);
	if (old >= 0)
		close(old);
	if (reason)
		log_error("cannot reopen the log file, the old one stays in use: %s",
			  strerror(reason));
}

/* One character of `s` as the line shows it; returns the bytes written to `to` (at most 4). */
static size_t
show_char(char to[5], const char *s, size_t n, uint32_t cp)
{
	unsigned char c = (unsigned char)*s;

	if (c == '\n' || c == '\t' || c == '\r')
		return (size_t)snprintf(to, 5, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	if (!n || cp < 0x20 || cp == 0x7f)
		return (size_t)snprintf(to, 5, "\\x%02x", c);
	memcpy(to, s, n);
	return n;
}

/* Escapes `text` into `out`, which holds TEXT_MAX bytes; a longer text ends in "...". */
static size_t
show_text(char *out, const char *text, bool cut)
{
	size_t len = strlen(text), used = 0, n, m;
	char shown[5];
	uint32_t cp;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = utf8_decode(text + i, len - i, &cp);
		if (n == 2 && cp < 0xa0)	/* C1 controls: terminals obey them */
			n = 0;
		m = show_char(shown, text + i, n, cp);
		if (used + m > TEXT_MAX - 3) {
			cut = true;
			break;
		}
		memcpy(out + used, shown, m);
		used += m;
	}
	if (cut) {
		memcpy(out + used, "...", 3);
		used += 3;
	}
	return used;
}

static size_t
show_lead(char *out, size_t size, bool journal, enum log_level level)
{
	char when[CLOCK_TEXT_SIZE];
	int len;

	if (journal)	/* LOG_ERR is 3, and our levels follow syslog's from there */
		len = snprintf(out, size, "<%d>", 3 + (int)level);
	else
		len = snprintf(out, size, "%s %s ", clock_text(when, clock_wall()),
			       log_level_name(level));
	return (size_t)len;
}

/* A sink that takes nothing (a full disk) loses the line: there is nowhere else to say so. */
static void
put(int fd, const char *line, size_t len)
{
	while (len) {
		ssize_t n = write(fd, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

/* A line for the journal with its fields: "MESSAGE=" is before the text. False: it did not take
 * it. */
static bool
send_fields(enum log_level level, char *text, size_t len, const struct log_field *fields)
{
	char priority[16], room[FIELDS_ROOM];
	struct iovec iov[FIELDS_MAX + 2];
	size_t used = 0;
	int n = 0, want;

	iov[n++] = (struct iovec){ text, len };
	want = snprintf(priority, sizeof(priority), "PRIORITY=%d", 3 + (int)level);
	iov[n++] = (struct iovec){ priority, (size_t)want };
	for (; n < FIELDS_MAX + 2 && fields->name; n++, fields++) {
		want = snprintf(room + used, sizeof(room) - used, "%s=%s", fields->name,
				fields->value);
		if (want < 0 || (size_t)want >= sizeof(room) - used)
			break;
		iov[n] = (struct iovec){ room + used, (size_t)want };
		used += (size_t)want + 1;
	}
	return send_journal(iov, n) >= 0;
}

/* `cut`: there was more of the text. */
static void
write_text(enum log_level level, uint64_t held_back, const struct log_field *fields,
	   const char *text, bool cut)
{
	char lead[LEAD_MAX], line[LEAD_MAX + TEXT_MAX + 64];
	char *shown = line + LEAD_MAX;
	size_t len = show_text(shown, text, cut), before;

	if (held_back)
		len += (size_t)snprintf(shown + len, 60, " (%llu more held back)",
					(unsigned long long)held_back);
	pthread_mutex_lock(&lock);
	if (fields && send_journal && sink.journal) {
		memcpy(shown - 8, "MESSAGE=", 8);
		if (send_fields(level, shown - 8, len + 8, fields)) {
			pthread_mutex_unlock(&lock);
			return;
		}
	}
	before = show_lead(lead, sizeof(lead), sink.journal, level);
	memcpy(shown - before, lead, before);
	shown[len++] = '\n';
	put(sink.fd, shown - before, before + len);
	pthread_mutex_unlock(&lock);
}

void
log_set_journal(int (*send)(const struct iovec *iov, int n))
{
	send_journal = send;
}

void
log_write(enum log_level level, const char *fmt, ...)
{
	char text[TEXT_MAX + 1];
	va_list args;
	int want;

	if (!log_enabled(level))
		return;
	va_start(args, fmt);
	want = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (want >= 0)
		write_text(level, 0, NULL, text, (size_t)want >= sizeof(text));
}

/* Is there room for a line at all? What there is no room for need not be put into words. */
static bool
limit_open(struct log_limit *limit)
{
	monotime now = clock_monotonic();
	bool room;

	pthread_mutex_lock(&lock);
	if (now - limit->window >= LIMIT_WINDOW) {
		limit->window = now;
		limit->in_window = 0;
	}
	room = limit->in_window < LOG_LIMIT_LINES;
	limit->suppressed += !room;
	pthread_mutex_unlock(&lock);
	return room;
}

/* May this text pass? Two of one hash are taken for the same. Takes over the count of those that
 * did not. */
static bool
limit_pass(struct log_limit *limit, const char *text, uint64_t *held_back)
{
	uint64_t hash = map_text(text, strlen(text));
	bool pass;

	pthread_mutex_lock(&lock);
	pass = limit->in_window < LOG_LIMIT_LINES;
	for (unsigned i = 0; i < limit->in_window; i++)
		pass = pass && limit->said[i] != hash;
	if (pass) {
		limit->said[limit->in_window++] = hash;
		*held_back = limit->suppressed;
		limit->suppressed = 0;
	} else {
		limit->suppressed++;
	}
	pthread_mutex_unlock(&lock);
	return pass;
}

static void
write_limited(struct log_limit *limit, enum log_level level, const struct log_field *fields,
	      const char *fmt, va_list args)
{
	char text[TEXT_MAX + 1];
	uint64_t held_back;
	int want;

	if (!log_enabled(level) || !limit_open(limit))
		return;
	want = vsnprintf(text, sizeof(text), fmt, args);
	if (want >= 0 && limit_pass(limit, text, &held_back))
		write_text(level, held_back, fields, text, (size_t)want >= sizeof(text));
}

void
log_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	write_limited(limit, level, NULL, fmt, args);
	va_end(args);
}

void
log_fields(struct log_limit *limit, enum log_level level, const struct log_field *fields,
	   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	write_limited(limit, level, fields, fmt, args);
	va_end(args);
}
