/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_CONGESTION_H
#define CORE_CONGESTION_H

#include "sm/base/loop.h"
#include "sm/conf/config.h"
#include "sm/port/transact.h"

/* Congestion control of devices as the rest of a subnet sees it; see congestion.c. */
struct agent;
struct live_port;
struct subnet;

struct congestion_policy;
struct congestion {
	struct loop_timer *again;	/* what did not get through, or was refused */
	struct loop_timer *resume;	/* a round that was broken off */
	struct congestion_policy *policy;	/* what is wanted; NULL: nothing was ever */
	const struct config *conf;	/* that it was made from; a reference */
	uint32_t version;		/* of the policy */
	unsigned failures;		/* rounds in a row that left something */
	monotime not_before;		/* this goes on then */
	uint16_t pkey_index;		/* of the default partition in our own port's table */
	bool on;			/* it is enabled, or what was written is to be undone */
	bool all;			/* every port is to be compared */
	bool failed;			/* some port left something in this round */
	bool broken;			/* the round was broken off */
};

void
congestion_init(struct subnet *s);
void
congestion_end(struct subnet *s);
/* Compare every port before long: a plan was published. */
void
congestion_all(struct subnet *s);
/* The port came up, or its device was away: what it held may be gone. */
void
congestion_forget(struct subnet *s, struct live_port *p);
/* Somebody else may have written it. */
void
congestion_doubt(struct subnet *s);
/* As mft_write() and what belongs to it. */
bool
congestion_write(struct subnet *s);
bool
congestion_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
congestion_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
congestion_idle(struct subnet *s);
/* congestion_show.c: one line for status of what is not as it should be, "" if all is. */
void
congestion_text(const struct subnet *s, char *text, size_t size);

#endif
