/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PLUGGED_H
#define CORE_PLUGGED_H

#include "plugins/set.h"
#include "sm/fabric/status.h"

/*
 * Engines that others made, as a subnet sees them: the set that it routes with, and which of them
 * failed when they ran last.
 */
struct plan_job;
struct subnet;
struct plugged_state;

struct plugged {
	const struct plugin_set *set;	/* a reference; NULL: none */
	struct plugged_state *states;	/* by its entries */
};

/* Of a routing job: what became of them in it. */
struct plugged_run;
struct plugged_job {
	const struct plugin_set *set;	/* a reference; NULL */
	struct plugged_run *runs;	/* by its entries */
	const struct engine **engines;	/* for the chain, NULL-terminated; NULL */
};

/* `command`: all are asked, also those that rest. */
void
plugged_begin(struct plugged_job *j, const struct subnet *s, bool command);
/* On the worker, around the routing: nothing else runs engines meanwhile. */
void
plugged_before(struct plugged_job *j);
void
plugged_after(struct plugged_job *j);
/* Tell what failed, and what works again. */
void
plugged_done(struct subnet *s, const struct plugged_job *j);
void
plugged_end(struct plugged_job *j);
/* Let go of the set. */
void
plugged_free(struct subnet *s);
/* Call warn() for each thing to warn of. */
void
plugged_warn(const struct subnet *s, struct subnet_status *st,
	     void (*warn)(struct subnet_status *st, const char *fmt, ...));

#endif
