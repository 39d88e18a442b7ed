/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include "sm/base/clock.h"
#include "sm/base/error.h"

/* Command lines as words. Private to sim. */
#define WORDS_MAX 32u
#define WORDS_LINE 4096u	/* bytes of a line */
#define TIME_MAX (SEC(86400) * 10000)	/* so that sums of some times cannot overflow */

struct words {
	char text[WORDS_LINE];		/* the words, each NUL-terminated */
	char *word[WORDS_MAX + 1];	/* len of them, then NULL */
	unsigned at[WORDS_MAX];		/* where each begins in the line */
	unsigned len;			/* how many */
};

/* Split at blanks. "..." and '...' keep blanks, a backslash keeps the character behind it, quotes
 * may begin and end inside of a word ("a b"/3); # at the beginning of a word begins a comment. */
int
words_split(struct words *w, const char *line, struct error *e);

/* A time with a unit, also with a fraction: 10s, 1.5ms, 2h; 0 needs no unit. Nanoseconds, up to
 * TIME_MAX. */
bool
time_parse(const char *s, monotime *t);
/* The same, or ERR_INVALID with a sentence. */
int
time_read(const char *s, monotime *t, struct error *e);
/* Seconds with six digits behind the point, as in the event log. */
#define SECONDS_TEXT_SIZE 32
const char *
seconds_text(char buf[SECONDS_TEXT_SIZE], monotime t);
/* 12.5, with an optional sign behind it (%): within [min, max]. */
bool
decimal_parse(const char *s, double min, double max, double *value);

#endif
