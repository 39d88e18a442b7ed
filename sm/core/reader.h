/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_READER_H
#define CORE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/list.h"
#include "sm/base/loop.h"

/* What ports hold, read in the background: reader.c. */
struct agent;
struct device;
struct subnet;
struct transact_request;
struct transact_result;

/* Tables that are read in the background; see reader.c. */
struct reader {
	struct loop_timer *timer;	/* gives new credit; begins after a while */
	uint64_t seen;			/* requests of clients up to the last tick */
	struct list devices;		/* device_tables.active: that are being read */
	uint32_t at;			/* place in topo.table where the next is looked for */
	uint32_t credit;		/* requests that may be sent until the next tick */
	bool asked;			/* somebody has asked for what is not known */
	bool again;			/* some did not answer */
};

/* reader.c */
void
reader_init(struct subnet *s);
void
reader_free(struct subnet *s);
/* Another stage has begun: it gives way, or goes on. */
void
reader_stage(struct subnet *s);
/* What this device holds is asked for, and not known. */
void
reader_want(struct subnet *s, struct device *d);
bool
reader_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
reader_done(struct subnet *s, struct agent *a, const struct transact_result *res);

#endif
