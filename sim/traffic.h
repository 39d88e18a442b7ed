/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_TRAFFIC_H
#define SIM_TRAFFIC_H

#include <stdint.h>
#include "sim/model.h"
#include "sm/base/buf.h"
#include "sm/base/error.h"

/*
 * Data traffic between end ports, as steady flows: what each link carries, what each flow gets, and
 * the port counters that follow from both.
 *
 * A flow goes from one end port to one LID at a rate, over the path that the switches' tables give
 * it now; where a switch forwards adaptively it is split over the ports of the group. Flows share
 * links max-min fairly: no flow can get more without another, that has no more, getting less. The
 * shares are computed anew when tables, links or flows have changed and somebody looks; counters
 * grow by them with time. One struct traffic belongs to one model.
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
	double rate;		/* bytes a second a source offers; 0: all that its link can */
	uint8_t sl;		/* service level */
};

struct traffic_report {
	uint64_t flows;		/* offered */
	uint64_t broken;	/* of these without a path now */
	double offered, delivered;	/* bytes a second, all flows */
	double min_share, mean_share;	/* delivered / offered of a flow, worst and mean */
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
void
traffic_report(struct traffic *t, struct traffic_report *r);
/* One line a pattern that runs. */
void
traffic_list(struct traffic *t, struct buf *out);

#endif
