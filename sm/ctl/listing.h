/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_LISTING_H
#define CTL_LISTING_H

#include "sm/ctl/command.h"
#include "sm/ctl/find.h"

/*
 * Lists of things in a plan: a first pass, in slices, counts and picks the rows; then the answer
 * is written piece by piece. Unless asked for ("all", a filter, a narrowing flag), a list longer
 * than LISTING_SHORT rows is cut down to those worth a look.
 *
 * Data of the answer: what head() writes, then "matched", "notable", "shown", and the array.
 */
#define LISTING_SHORT 50u

enum listing_pick {
	PICK_NO,		/* not asked for */
	PICK_PLAIN,
	PICK_NOTABLE,		/* shown even where the list is cut */
};

struct listing;

struct listing_ops {
	const char *array;	/* key of the array */
	bool ports;		/* of ports: the filter may name one */
	uint32_t (*count)(const struct plan *p);	/* candidates */
	void (*start)(struct listing *l);		/* before the first; may be NULL */
	enum listing_pick (*pick)(struct listing *l, uint32_t i);
	void (*head)(struct listing *l, struct json *j);	/* the summary, after all picks */
	void (*row)(struct listing *l, struct json *j, uint32_t i);
};

#define LISTING_COUNTS 6
#define RATE_CLASSES 2		/* links between switches; links to hosts */
#define SPEED_ROWS 64

struct listing_speed {
	uint8_t width;		/* enum link_width */
	uint8_t speed;		/* enum link_speed */
	uint32_t rate_mbps;	/* of a link that runs so */
	uint32_t count;		/* how many do */
};

struct listing {
	const struct listing_ops *ops;	/* of what */
	const struct plan *plan;	/* the request's */
	struct filter *filter;		/* by name, GUID, LID; takes all if none was given */
	bool all;			/* every row that matches */
	int type;			/* enum node_type wanted, 0 any */
	bool down;			/* only what is not active */
	bool slow;			/* only what runs below its kind's common rate */
	bool silent;			/* only what does not answer */
	int port;			/* only ports of this number, -1 any */
	uint32_t next;			/* candidate, then row, to look at */
	uint32_t *rows;			/* picked; the top bit marks notable ones */
	uint32_t len;			/* of rows */
	uint32_t size;			/* allocated */
	uint32_t matched;		/* rows picked in all */
	uint32_t notable;		/* of them */
	uint32_t shown;			/* rows that will be written */
	bool writing;			/* second pass */
	uint32_t node;			/* the node looked at last, */
	bool node_match;		/* and whether the filter takes it */
	uint32_t usual[RATE_CLASSES];	/* commonest rate of a kind of link, Mb/s */
	uint32_t states[8];		/* rows by port state or node type */
	uint32_t counts[LISTING_COUNTS];	/* what else head() wants to tell */
	struct listing_speed speeds[SPEED_ROWS];	/* rows by width and speed */
	unsigned nspeeds;		/* of speeds */
};

/* Run a request as a listing; its arguments: "filter", "all", "type", "down", "slow", "silent". */
void
listing_run(struct ctl_req *r, const struct listing_ops *ops);
/* Does the filter take this node (kept for runs of ports of one node)? */
bool
listing_takes(struct listing *l, uint32_t node);
bool
listing_takes_port(struct listing *l, const struct fabric_port *p);
/* The kind of link that a cabled port is on: 0 between switches, 1 to a host. */
unsigned
listing_kind(const struct fabric *f, const struct fabric_port *p);
/* Fills usual[]. */
void
listing_rates(struct listing *l);
bool
listing_is_slow(const struct listing *l, const struct fabric_port *p);
void
listing_count_speed(struct listing *l, const struct fabric_port *p);
/* {"4xNDR": 12, ...} under `key`, fastest first. */
void
listing_speeds(struct listing *l, struct json *j, const char *key);

#endif
