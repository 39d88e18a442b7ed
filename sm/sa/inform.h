/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_INFORM_H
#define SA_INFORM_H

#include "sm/base/map.h"
#include "sm/sa/kept.h"
#include "sm/sa/slots.h"

/* Who is told of events, shared by inform.c (subscriptions) and report.c (Reports). */

/* A subscription. */
struct inform {
	struct list link;	/* in subscriber.informs, by number */
	struct sa_inform r;	/* as InformInfoRecord tells it */
	bool trusted;		/* came with our SM_Key: security traps too */
	uint32_t copy;		/* the last copy that it was in; see copy.h */
};

/* A port that has subscriptions. */
struct subscriber {
	struct list link;	/* in sa_informs.all */
	struct list ready;	/* in sa_informs.ready, or nowhere */
	struct list informs;	/* its subscriptions */
	struct list waiting;	/* Reports to send, oldest first */
	uint64_t guid;		/* of the port */
	unsigned len;		/* subscriptions, at least one */
	unsigned nwaiting;	/* Reports to send */
	unsigned flying;	/* Reports that it has not answered yet */
	unsigned silent;	/* Reports one after the other that it never answered */
	monotime silent_since;	/* the last of them was given up then */
	uint64_t sent;		/* Reports, since it is known, */
	uint64_t answered;	/* of these */
	uint64_t lost;		/* never answered, or there was no room for them */
};

struct sa_informs {
	struct sa_env env;	/* the owner's */
	struct list all;	/* subscribers, in the order of their first subscription */
	struct list ready;	/* those with Reports to send and room for them */
	struct list flying;	/* Reports under way, oldest first */
	struct sa_slots by_number;	/* of struct subscriber */
	struct map by_guid;	/* port GUID -> number in by_number */
	uint32_t len;		/* subscriptions of all */
	unsigned nflying;	/* Reports under way */
	uint32_t tid;		/* of the last Report */
	struct loop_timer *timer;	/* for the Report that is overdue first */
	struct loop_timer *pause;	/* the transport takes nothing for now */
	struct sa_report_counters count;	/* since the start */
	struct plan *told;	/* the last settled plan: its ports are in service; NULL */
};

struct subscriber *
inform_find(const struct sa_informs *s, uint64_t guid);
/* Forget a subscriber, its subscriptions and its Reports, in the store too. */
void
inform_drop(struct sa_informs *s, struct subscriber *u);
/* Let go of the Reports to a subscriber. */
void
report_forget(struct sa_informs *s, struct subscriber *u);
void
report_init(struct sa_informs *s);
void
report_end(struct sa_informs *s);

#endif
