/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/base/error.h"

/*
 * One line an event: time, level, text. The log is the process's one sink (stderr, a file, or the
 * journal, whose priority prefix <N> is written when stderr is the journal's). Thread-safe.
 * Names, GUIDs and LIDs belong into the text. What a peer can trigger goes through log_limited().
 */
enum log_level {
	LOG_L_ERROR,		/* something the administrator must see to */
	LOG_L_WARNING,		/* works, but not as asked */
	LOG_L_NOTICE,		/* normal, and worth a line in production */
	LOG_L_INFO,		/* for the curious */
	LOG_L_DEBUG,		/* for developers */
};

/* A budget of lines for one kind of message; zero-initialise. Suppressed lines are counted and
 * the count is told with the next line that passes. */
#define LOG_LIMIT_LINES 10
struct log_limit {
	monotime window;	/* start of the present window */
	unsigned in_window;	/* lines passed in it */
	uint64_t said[LOG_LIMIT_LINES];	/* hashes of their texts */
	uint64_t suppressed;	/* lines held back since the last one that passed */
};

/* "error" .. "debug", or -1. */
int
log_level_parse(const char *name);
const char *
log_level_name(enum log_level level);

/* `to`: "stderr", "journal" or a path; a file is appended to. On error the old sink stays. */
int
log_open(const char *to, enum log_level level, struct error *e);
/* Reopen a file sink (after logrotate). */
void
log_reopen(void);
bool
log_enabled(enum log_level level);

void
log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* At most 10 lines in 10 s by one limit, and of those that say the same one. */
void
log_limited(struct log_limit *limit, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same with fields, which the journal keeps beside the text; the list ends where `name` is
 * NULL. Names are of A..Z, 0..9 and _, values any text. Other sinks have the text alone.
 */
struct log_field {
	const char *name;
	const char *value;
};
void
log_fields(struct log_limit *limit, enum log_level level, const struct log_field *fields,
	   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* How such lines reach the journal: as sd_journal_sendv(3), once, before other threads are there.
 * Without it, or where it fails (negative), they go to it without their fields. */
struct iovec;
void
log_set_journal(int (*send)(const struct iovec *iov, int n));

#define log_error(...) log_write(LOG_L_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_L_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_L_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_L_INFO, __VA_ARGS__)
#define log_debug(...) \
	do { \
		if (log_enabled(LOG_L_DEBUG)) \
			log_write(LOG_L_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
