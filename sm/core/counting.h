/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_COUNTING_H
#define CORE_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"
#include "sm/wire/perf.h"

/* Error counters of ports, read again and again as the rest of a subnet sees it; see counting.c. */
struct counted;
struct subnet;
struct transact;

/* Too many errors of one kind at one port. */
struct error_finding {
	uint64_t guid;			/* node GUID, */
	uint8_t port;			/* and port that counted them */
	enum perf_error kind;
	bool full;			/* nobody knows since when: the counter was found at, or
					 * past, where that of PortCounters stops */
	uint32_t score;			/* how bad: 16 = as many as are allowed; 0 if full */
	uint64_t count;			/* errors, */
	monotime time;			/* in this time */
	uint64_t value;			/* what the counter stands at */
};

#define COUNTING_WORST 16u	/* told one by one after a sweep */

struct counting {
	struct loop_timer *tick;	/* walks on, or begins the next sweep */
	struct transact *transact;	/* of its own, with a small window; NULL before the first */
	struct counted **table;		/* by place in topo.table; entries may be of another device
					 * by now, or NULL */
	uint32_t size;			/* places allocated */
	uint32_t sweep;			/* number of the one that runs, or ran last */
	uint32_t at;			/* place where the walk goes on */
	uint64_t ports;			/* of all devices when it began, */
	uint64_t walked;		/* and of those that the walk has passed */
	unsigned under_way;		/* devices that are being asked */
	monotime started;		/* of this sweep */
	monotime took;			/* the last one, from start to end */
	uint64_t sent;			/* MADs sent when it began */
	uint16_t pkey_index;		/* of the default partition in our own port's table */
	bool running;			/* a sweep is under way */
	bool telling;			/* it has ended, and its findings are told */
	uint32_t read;			/* ports read in this sweep, */
	uint32_t unread;		/* that did not answer, refused, or were left alone, */
	uint32_t over;			/* cables with findings that were not told before */
	struct error_finding worst[COUNTING_WORST];	/* of these, the worst first */
	unsigned nworst;
	unsigned told;			/* of them, so many have been seen to */
	uint32_t over_told;		/* how many more there were when that was told last */
	struct {
		uint32_t ports, unread, over;
		uint64_t mads;
	} last;				/* of the last sweep that has ended */
};

void
counting_init(struct subnet *s);
void
counting_free(struct subnet *s);
/* We lead, or the configuration has changed: begin, unless it runs. */
void
counting_begin(struct subnet *s);
/* We lead no more: forget all readings. */
void
counting_stop(struct subnet *s);
/* How long a port may go unread. */
monotime
counting_pause(const struct subnet *s);

#endif
