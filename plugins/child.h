/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_CHILD_H
#define PLUGINS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "plugins/layout.h"
#include "plugins/plugins.h"

/*
 * Processes of plugins. One is started with all that it will ever have, says lines for the log, and
 * ends by itself or is ended; whatever it did on the way, its end is one sentence. Nothing here
 * blocks but child_wait().
 */
struct child;

struct child_start {
	const struct plugin *plugin;		/* whose code; it must outlive the process */
	int input, output;			/* memory, see memory.h; -1: none */
	int channel;				/* socket for a consumer; -1: none */
};

/* Threads that end take their processes with them: whoever calls this must live as long. NULL and
 * a sentence. */
struct child *
child_start(const struct child_start *s, struct error *e);
/* Becomes readable when the process has ended; and what it says comes out of the other. */
int
child_ended_fd(const struct child *c);
int
child_lines_fd(const struct child *c);
/* Log what it has said up to now. False: it has closed its end, and says no more. */
bool
child_log(struct child *c);
/* End it now, whatever it does. */
void
child_kill(struct child *c);
/* Free what is known of a process, which is ended if it still runs. */
void
child_free(struct child *c);

/* Has it ended? */
bool
child_ended(struct child *c);
/* Wait for its end, until so many milliseconds after its start; it is ended if it takes longer,
 * which counts as a failure. */
void
child_wait(struct child *c, unsigned time_ms);
/*
 * 0 if it has ended by itself, with status 0; else what became of it while it was `doing` ("routed
 * 27,648 hosts"): "was ended by SIGSEGV while it routed 27,648 hosts". ERR_TIMEOUT: it took too
 * long.
 */
int
child_verdict(const struct child *c, const char *doing, struct error *e);

#endif
