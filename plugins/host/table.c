/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * What a plugin may call: struct weft_host. All of it works on memory of this process; a line for
 * the log is one write to the pipe that the daemon reads.
 */
static struct host *
host_of(const struct weft_host *t)
{
	return t->handle;
}

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
call_begin(struct host *h)
{
	h->started = now_ms();
}

static void
log_line(const struct weft_host *t, enum weft_log_level level, const char *text)
{
	char line[LAYOUT_TEXT + 8];
	int len;

	(void)t;
	if ((unsigned)level > WEFT_LOG_DEBUG)
		level = WEFT_LOG_DEBUG;
	len = snprintf(line, sizeof(line) - 1, "<%d>%.300s", (int)level, text ? text : "");
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)len) < 0)
		return;
}

static void
keep_text(char to[LAYOUT_TEXT], const char *text)
{
	snprintf(to, LAYOUT_TEXT, "%.300s", text ? text : "");
}

static void
refuse(const struct weft_host *t, const char *why)
{
	struct host *h = host_of(t);

	if (h->out)
		keep_text(h->out->why, why);
	else
		log_line(t, WEFT_LOG_WARNING, why);
}

static void
note(const struct weft_host *t, const char *text)
{
	struct host *h = host_of(t);

	if (h->out)
		keep_text(h->out->note, text);
}

/* The value of an option of one of two types; NULL. */
static const char *
value(const struct weft_host *t, const char *name, enum weft_option_type a, enum weft_option_type b)
{
	const struct host *h = host_of(t);
	const char *at = host_at(h, h->in->options);

	for (uint32_t i = 0; name && i < h->in->noptions; i++) {
		const char *text = at + strlen(at) + 1;
		struct weft_option o = host_option(h, i);

		if (!strcmp(at, name))
			return o.type == a || o.type == b ? text : NULL;
		at = text + strlen(text) + 1;
	}
	return NULL;
}

static uint64_t
number(const struct weft_host *t, const char *option)
{
	const char *text = value(t, option, WEFT_OPTION_NUMBER, WEFT_OPTION_NUMBER);

	return text ? strtoull(text, NULL, 0) : 0;
}

static int
flag(const struct weft_host *t, const char *option)
{
	const char *text = value(t, option, WEFT_OPTION_FLAG, WEFT_OPTION_FLAG);

	return text && !strcmp(text, "true");
}

static const char *
text_of(const struct weft_host *t, const char *option)
{
	const char *text = value(t, option, WEFT_OPTION_TEXT, WEFT_OPTION_WORD);

	return text ? text : "";
}

static uint64_t
time_left(const struct weft_host *t)
{
	const struct host *h = host_of(t);
	int64_t left = h->started + h->in->time_ms - now_ms();

	return !h->in->time_ms ? UINT64_MAX : left > 0 ? (uint64_t)left : 0;
}

void
table_init(struct host *h)
{
	h->table = (struct weft_host){
		.size = sizeof(h->table), .abi = WEFT_PLUGIN_ABI, .handle = h,
		.threads = h->in->threads, .log = log_line, .refuse = refuse, .note = note,
		.number = number, .flag = flag, .text = text_of, .time_left = time_left,
	};
	call_begin(h);
}
