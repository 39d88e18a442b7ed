/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/model.h"
#include "sm/base/buf.h"
#include "sm/base/error.h"

/*
 * Data traffic between end ports, as steady flows: what each link carries, what each flow gets, and
 * the port counters that follow from both.
 *
 * A flow goes from one end port to one LID at a rate, over the path that the switches' tables give
 * it now. Where a switch forwards adaptively flows split over the ports of the group: by what these
 * and all that is behind them can take (traffic_split.c), evenly where a hash chooses. Flows share
 * links max-min fairly: no flow can get more without another, that has no more, getting less. The
 * shares are computed anew when somebody looks at them, and soon after tables, links or flows have
 * changed; counters grow by them with time. One struct traffic belongs to one model, and is freed
 * before it.
 *
 * Hosts are the channel adapters, in the order of the fabric's text; those that follow each other
 * with one system image GUID are one host. Where hosts have several cabled ports, a pattern runs
 * among all first ports, among all second ports, and so on (rails, planes), each port with the rate
 * that the pattern says; a flow runs between ports of equal number, if both hosts have one. Bytes
 * are those that counters count, with headers.
 */
struct traffic;

enum traffic_pattern {
	TRAFFIC_FLOW,		/* one source, one destination */
	TRAFFIC_ALL_TO_ALL,	/* every host to every other, the rate split evenly */
	TRAFFIC_RING,		/* host i to host i + 1 */
	TRAFFIC_SHIFT,		/* host i to host i + `shift` */
	TRAFFIC_INCAST,		/* all to one */
};

struct traffic_spec {
	enum traffic_pattern pattern;
	uint32_t src, dst;	/* nodes: of a flow; dst of an incast */
	uint32_t shift;		/* TRAFFIC_SHIFT */
	double rate;		/* bytes a second that a source offers to all its destinations
				 * together; 0: all that its link can */
	uint8_t sl;		/* service level */
};

struct traffic_report {
	uint64_t flows;		/* offered */
	uint64_t broken;	/* of these without a path now */
	double offered, delivered;	/* bytes a second, all flows */
	double min_share, mean_share;	/* delivered / offered of a flow, worst and mean; 1 if
					 * there are none, broken ones count 0 */
	double min_rate;	/* bytes a second of the slowest flow with a path: n bytes a flow
				 * take n / min_rate, for where the slowest is held back nobody
				 * has more, and so nobody who is done leaves it anything */
	double max_load;	/* offered load of the busiest link / what it carries */
};

struct traffic *
traffic_new(struct model *m);
void
traffic_free(struct traffic *t);
/* Returns an id > 0, or ERR_* with a sentence. */
int
traffic_start(struct traffic *t, const struct traffic_spec *spec, struct error *e);
/* 0: all of it. ERR_NOT_FOUND if there is none of this id. */
int
traffic_stop(struct traffic *t, int id, struct error *e);
/* Flows split evenly over the ports of any group, as if a hash chose; not so at first. */
void
traffic_split_evenly(struct traffic *t, bool even);
void
traffic_report(struct traffic *t, struct traffic_report *r);
/* One line a pattern that runs. */
void
traffic_list(struct traffic *t, struct buf *out);

/* One flow, as things are now. */
struct traffic_flow {
	int id;			/* of its pattern */
	uint32_t src, dst;	/* nodes */
	uint8_t sl;		/* service level */
	bool broken;		/* it has no path */
	double offered, delivered;	/* bytes a second */
};
typedef void (*traffic_flow_fn)(void *arg, const struct traffic_flow *flow);
void
traffic_flows(struct traffic *t, traffic_flow_fn fn, void *arg);

/* One direction of a cable, as things are now. */
struct traffic_link {
	uint32_t node;		/* that sends */
	uint8_t port;		/* through this port */
	double capacity;	/* bytes a second that it can carry */
	double offered;		/* that flows would send if nothing held them back */
	double carried;		/* that it carries */
	double wait;		/* share of the time in which data wait for credits */
};
/* The links of the largest offered / capacity, that one first; returns how many (0..max). */
unsigned
traffic_busiest(struct traffic *t, struct traffic_link *links, unsigned max);

#endif
