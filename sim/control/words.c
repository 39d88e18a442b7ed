/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/control/sim.h"
#include "sm/base/text.h"

/*
 * Command lines as words, and the numbers in them that sm/base/text does not read: times and
 * decimal numbers with a fraction.
 */
struct split {
	const char *p;		/* what is read next */
	char *out;		/* where the next character of a word goes */
	struct error *e;	/* for a sentence */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A part in quotes, from its opening one on. */
static int
take_quoted(struct split *s)
{
	char quote = *s->p++;

	while (*s->p && *s->p != quote) {
		if (*s->p == '\\' && quote == '"' && s->p[1])
			s->p++;
		*s->out++ = *s->p++;
	}
	if (!*s->p)
		return error_set(s->e, ERR_FORMAT, "a quotation that begins with %c does not end",
				 quote);
	s->p++;
	return 0;
}

static int
take_word(struct split *s)
{
	int rc;

	while (*s->p && !is_blank(*s->p)) {
		if (*s->p == '"' || *s->p == '\'') {
			if ((rc = take_quoted(s)) < 0)
				return rc;
			continue;
		}
		if (*s->p == '\\' && s->p[1])
			s->p++;
		*s->out++ = *s->p++;
	}
	*s->out++ = '\0';
	return 0;
}

int
words_split(struct words *w, const char *line, struct error *e)
{
	struct split s = { .p = line, .out = w->text, .e = e };
	int rc;

	w->len = 0;
	w->word[0] = NULL;
	if (strlen(line) >= WORDS_LINE)
		return error_set(e, ERR_FULL, "the line is longer than %u bytes", WORDS_LINE - 1);
	for (;;) {
		while (is_blank(*s.p))
			s.p++;
		if (!*s.p || *s.p == '#')
			return 0;
		if (w->len == WORDS_MAX)
			return error_set(e, ERR_FULL, "the line has more than %u words", WORDS_MAX);
		w->at[w->len] = (unsigned)(s.p - line);
		w->word[w->len++] = s.out;
		w->word[w->len] = NULL;
		if ((rc = take_word(&s)) < 0)
			return rc;
	}
}

void
sim_quote(struct buf *line, const char *word)
{
	if (*word && !strpbrk(word, " \t\r\n\"'\\#")) {
		buf_str(line, word);
		return;
	}
	buf_char(line, '"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\')
			buf_char(line, '\\');
		buf_char(line, *word);
	}
	buf_char(line, '"');
}

/* A unit alone: how long one of it is. */
static bool
unit_parse(const char *unit, int64_t *ns)
{
	char one[8] = "1";

	if (strlen(unit) > sizeof(one) - 2)
		return false;
	strcat(one, unit);
	return duration_parse(one, ns);
}

bool
decimal_parse(const char *s, double min, double max, double *value)
{
	size_t whole = strspn(s, "0123456789"), all = strspn(s, "0123456789.");
	double v;

	if (!whole || all > 18 || (s[all] && strcmp(s + all, "%") != 0) ||
	    (s[whole] == '.' && strspn(s + whole + 1, "0123456789") != all - whole - 1) ||
	    s[all - 1] == '.')
		return false;
	v = strtod(s, NULL);
	if (!(v >= min && v <= max))
		return false;
	*value = v;
	return true;
}

bool
time_parse(const char *s, monotime *t)
{
	size_t len = strspn(s, "0123456789.");
	char number[24];
	int64_t unit;
	double v;

	if (strcmp(s, "0") == 0) {
		*t = 0;
		return true;
	}
	if (duration_parse(s, t))
		return *t <= TIME_MAX;
	if (len >= sizeof(number) || !unit_parse(s + len, &unit))
		return false;
	memcpy(number, s, len);
	number[len] = '\0';
	if (!decimal_parse(number, 0, (double)TIME_MAX / (double)unit, &v))
		return false;
	*t = (monotime)(v * (double)unit + 0.5);
	return true;
}

int
time_read(const char *s, monotime *t, struct error *e)
{
	if (time_parse(s, t))
		return 0;
	return error_set(e, ERR_INVALID, "\"%.60s\" is no time: a number and us, ms, s, min, h "
			 "or d", s);
}

const char *
seconds_text(char buf[SECONDS_TEXT_SIZE], monotime t)
{
	snprintf(buf, SECONDS_TEXT_SIZE, "%" PRId64 ".%06" PRId64, t / SEC(1),
		 t % SEC(1) / USEC(1));
	return buf;
}
