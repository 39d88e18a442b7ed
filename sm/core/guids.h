/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_GUIDS_H
#define CORE_GUIDS_H

#include <stdbool.h>
#include "sm/base/loop.h"
#include "sm/base/map.h"

/* Alias GUIDs in devices: guids.c. */
struct live_port;
struct agent;
struct device;
struct subnet;
struct transact_request;
struct transact_result;

/* Alias GUIDs; see guids.c. */
struct guids {
	struct loop_timer *timer;	/* collects changes; repeats what did not get through */
	struct loop_timer *again;	/* repeats what was refused */
	unsigned refusals;		/* so often in a row */
	bool refused;			/* something was in this round */
	struct map changed;		/* GUIDs of ports whose aliases are to be compared */
	bool all;			/* those of every port, but not before then: */
	monotime not_before;
	bool failed;			/* some device did not answer in this round */
};

/* guids.c */
void
guids_init(struct subnet *s);
void
guids_free(struct subnet *s);
/* Aliases of this port have changed. */
void
guids_changed(struct subnet *s, uint64_t port_guid);
/* Compare every port before long. */
void
guids_all(struct subnet *s);
/* The port came up, or its device was away: what it held may be gone. */
void
guids_forget(struct subnet *s, struct live_port *p);
/* Somebody else may have written them. */
void
guids_doubt(struct subnet *s);
/* As mft_write() and what belongs to it. */
bool
guids_write(struct subnet *s);
bool
guids_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
guids_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
guids_idle(struct subnet *s);

#endif
