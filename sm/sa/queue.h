/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_QUEUE_H
#define SA_QUEUE_H

#include "sm/base/list.h"
#include "sm/base/map.h"
#include "sm/port/port.h"
#include "sm/sa/slots.h"

/*
 * Who asks, and what of theirs waits: a queue for each source, served in turn. A source is a port,
 * by its base LID, or, behind a router, by its GID. What one source has waiting takes no room from
 * another: each may always have SA_WAITING_FEW. Beside them stand requests that are to be refused
 * when there is time for it, so that no flood of them keeps others waiting.
 */
#define SA_WAITING_PER_SOURCE 1024	/* requests, while there are few in all; */
#define SA_WAITING_MAX 65536		/* from so many in all on */
#define SA_WAITING_FEW 2
#define SA_WAITING_SIZE 16384u		/* bytes of a request; a longer one is not kept */
#define SA_REFUSED_PER_SOURCE 1024	/* requests that are to be refused, */
#define SA_REFUSED_MAX 16384		/* and of all */

/* One port that asked something lately. */
struct sa_source {
	struct list link;	/* in sa_queue.ring while it has something to do, else in .idle */
	struct list waiting;	/* struct sa_waiting, oldest first */
	struct list refused;	/* struct sa_waiting that are to be refused, oldest first */
	struct list open;	/* questions under way, which are the user's */
	uint64_t key;		/* who */
	uint32_t number;	/* in sa_queue.all */
	unsigned nwaiting;	/* in `waiting` */
	unsigned nrefused;	/* in `refused` */
	unsigned nopen;		/* in `open` */
	monotime asked;		/* when all its requests so far were due, at the rate that it may
				 * ask */
	monotime told;		/* the same of what it was told to come again */
};

/* A request that waits for its turn. */
struct sa_waiting {
	struct list link;	/* in sa_source.waiting, or in .refused */
	struct port_mad m;	/* its data is `data` */
	uint8_t data[];		/* of a request longer than a MAD */
};

struct sa_queue {
	struct list ring;	/* sources that have something to do, the next first */
	struct list idle;	/* the others, the longest idle first */
	struct sa_slots all;	/* of struct sa_source */
	struct map by_key;	/* key -> number */
	unsigned sources;	/* in both lists */
	unsigned waiting;	/* requests of all */
	unsigned refused;	/* that are to be refused, of all */
	unsigned open;		/* questions of all */
};

void
sa_queue_init(struct sa_queue *q);
/* Frees sources and what waits; no question is open any more. */
void
sa_queue_end(struct sa_queue *q);

/* The source of that key. It stays while it has something waiting or open, else until the next
 * call. */
struct sa_source *
sa_queue_source(struct sa_queue *q, uint64_t key, monotime now);
/* One more event at `now`: is it within `rate` a second, of which a second's worth may come at
 * once? *due is the source's. Rate 0 allows any. */
bool
sa_queue_within(monotime *due, monotime now, unsigned rate);

/* Keep a copy of a request; false: there is no room for it. */
bool
sa_queue_put(struct sa_queue *q, struct sa_source *s, const struct port_mad *m);
/* The oldest request of a source, NULL if there is none; to be freed with mem_free(). */
struct sa_waiting *
sa_queue_take(struct sa_queue *q, struct sa_source *s);
/* The same with requests that are to be refused, of which no more than the first MAD is kept. */
bool
sa_queue_refuse(struct sa_queue *q, struct sa_source *s, const struct port_mad *m);
struct sa_waiting *
sa_queue_take_refused(struct sa_queue *q, struct sa_source *s);
/* A question is under way, or is over. */
void
sa_queue_open(struct sa_queue *q, struct sa_source *s, struct list *question);
void
sa_queue_close(struct sa_queue *q, struct sa_source *s, struct list *question);
/* The source whose turn it is, which becomes the last; NULL: nobody has anything to do. */
struct sa_source *
sa_queue_next(struct sa_queue *q);

#endif
