/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_RELOAD_H
#define CORE_RELOAD_H

#include "sm/base/buf.h"
#include "sm/base/loop.h"
#include "plugins/set.h"
#include "sm/core/named.h"

/*
 * The configuration read again, as a transaction: a worker reads the files, loads the plugins,
 * checks all of it and finds what differs from what is in force; then the loop takes it on, or
 * everything stays as it is. One reload at a time; others wait their turn, and read the files when
 * it comes.
 */
struct reload;

/* What is in force, or is to be. */
struct reloaded {
	const struct config *conf;
	struct named *named;
	const struct plugin_set *plugins;
};

void
reloaded_free(struct reloaded *r);		/* the end of all that is not NULL there */

/* What is read, and who takes it on. */
struct reload_host {
	struct loop *loop;		/* borrowed */
	const char *file;		/* borrowed; NULL: built-in defaults */
	/* What is in force; it stays until take() or reload_free(). */
	void (*running)(void *arg, struct reloaded *now);
	/* Take it on, from `stage`, and own it; or an error with a sentence: then nothing is.
	 * Without `conf` and `named` only the plugins are other ones; subnets know what that means
	 * for them. */
	int (*take)(void *arg, const struct reloaded *fresh, enum config_stage stage,
		    struct error *e);
	/*
	 * What the partitions of subnet number `i` of it would do, as lines for the report; done()
	 * comes once, at once perhaps. NULL: nobody knows.
	 */
	void (*rehearse)(void *arg, const struct config *conf, unsigned i, struct buf *report,
			 void (*done)(void *done_arg), void *done_arg);
	/* An event: how a reload ended. */
	void (*tell)(void *arg, enum log_level level, const char *text);
	void *arg;			/* of these */
};

struct reload_order {
	bool dry_run;			/* only say what differs */
	bool plugins;			/* only their files are read again, by the configuration in
					 * force: */
	char plugin[32];		/* that of one, "": all */
	bool signalled;			/* nobody waits for the report: it goes into the log, and
					 * such orders are one while they wait */
	void (*done)(void *arg, int error, const char *text, const char *report);
	void *arg;			/* of done() */
};

struct reload *
reload_new(const struct reload_host *host);	/* copied */
/*
 * Read again and take it on. *o is copied. done() comes once, on the loop, when it is in force:
 * with error 0 and the report, a line for each change, NULL if there are none; or with an error
 * code and one sentence. ERR_BUSY and ERR_REFUSED come at once, and no done(): too many wait, or
 * it ends.
 */
int
reload_start(struct reload *r, const struct reload_order *o, struct error *e);
/* What is no longer in force, nor lent to anybody: freed by the worker. NULL is allowed. */
void
reload_discard(struct reload *r, const struct reloaded *old);
/* Nothing is taken on any more; whoever waits hears so. */
void
reload_end(struct reload *r);
/* After reload_end() and loop_free(). NULL is allowed, for both. */
void
reload_free(struct reload *r);

#endif
