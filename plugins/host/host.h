/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_HOST_HOST_H
#define PLUGINS_HOST_HOST_H

#include <stdbool.h>
#include "plugins/layout.h"
#include "plugins/plugin.h"

/*
 * weft-plugin-host: the process that a plugin runs in. It takes away from itself all that it does
 * not need, and only then loads the plugin and calls it.
 */
struct host {
	const struct layout_input *in;	/* what the daemon gives */
	struct layout_output *out;	/* what we make, or how far we are */
	const struct weft_plugin *theirs;	/* as it stands */
	struct weft_plugin plugin;	/* the same as far as it goes, then zeros */
	struct weft_engine engine;	/* likewise, if there is one */
	struct weft_consumer consumer;
	struct weft_host table;		/* what it may call */
	int64_t started;		/* the call in progress, ms of the monotonic clock */
};

/* Say on standard error why this process is of no use, and end. */
void
host_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Why the plugin is refused; the process ends with that as its answer. */
void
host_refuse(struct host *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* Where it is, for the daemon to tell if it ends there. */
void
host_stage(struct host *h, enum layout_stage stage);
/* Leave at once, whatever threads the plugin has left. */
void
host_leave(void) __attribute__((noreturn));

/* No other user's powers, no more memory than is allowed, no system calls but those that are of
 * use. Before anything of the plugin runs. */
void
guard(const struct layout_input *in);

/* Load it, and look whether it can be used. */
void
load_plugin(struct host *h);
/* The option at place `n`, as far as it goes. */
struct weft_option
host_option(const struct host *h, uint32_t n);

/* Make the table of functions; each call of the plugin's begins with call_begin(). */
void
table_init(struct host *h);
void
call_begin(struct host *h);

/* The modes. They return when all is done. */
void
describe(struct host *h);
void
route(struct host *h);
void
consume(struct host *h);

/* Whatever `in` has at an offset; NULL for 0. */
static inline const void *
host_at(const struct host *h, uint64_t offset)
{
	return offset ? (const char *)h->in + offset : NULL;
}

#endif
