/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_LINES_H
#define TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/base/mem.h"

/* A reader of line-based text, and of the words in the present line. Private to sm/text. */
struct lines {
	const char *file;	/* names the text in errors */
	const char *next;	/* first byte of the lines to come */
	const char *end;	/* end of the text */
	const char *p;		/* what is left of the present line */
	const char *stop;	/* its end, without line ends and trailing blanks */
	struct error *e;	/* filled by lines_error() */
	uint32_t line;		/* number of the present line, from 1 */
};

void
lines_start(struct lines *l, const char *text, size_t size, const char *file, struct error *e);
/* Step to the next line: 1, 0 at the end, or a negative code for one that is too long or binary. */
int
lines_next(struct lines *l, size_t max);
/* Fill the error with "file:line: ..." and return ERR_FORMAT. */
int
lines_error(const struct lines *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void
lines_blanks(struct lines *l);		/* skip blanks */
bool
lines_eat(struct lines *l, const char *word);	/* skip `word` if the line goes on with it */
/* Skip and return a number: decimal or 0x hex, or (bare) hex digits without 0x. */
bool
lines_number(struct lines *l, uint64_t *value);
bool
lines_hex(struct lines *l, uint64_t *value);
/* As memchr and memrchr on the rest of the line, NULL if it is not there. */
const char *
lines_find(const struct lines *l, char c);
const char *
lines_find_last(const struct lines *l, char c);
const char *
lines_find_word(const struct lines *l, const char *word);

/* A copy of text for people, at most `max` bytes; control characters become '?'. */
char *
text_copy(struct region *r, const char *s, size_t len, size_t max);
/* A whole file ("-": standard input) into `b`. */
int
text_load(struct buf *b, const char *path, struct error *e);

#endif
