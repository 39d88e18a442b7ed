/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_TRAFFIC_IMPL_H
#define SIM_TRAFFIC_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/counters.h"
#include "sim/model/model_impl.h"
#include "sim/traffic/share.h"
#include "sim/traffic/traffic.h"
#include "sm/base/map.h"

/* What the files of the traffic model share. A link, here, is one direction of a cable: the port
 * that sends, numbered by base[node] + port. */

/* ---- traffic_way.c: where flows go ---- */

#define WAY_BROKEN UINT32_MAX
#define JUNCTION_HERE (UINT32_MAX - 1)	/* data have arrived */

/* One of the ports by which data go on. */
struct branch {
	uint32_t link;		/* out of the switch */
	uint32_t next;		/* junction behind it, or JUNCTION_HERE */
	float share;		/* of what comes to the junction; all are 1 together */
	uint8_t lane;		/* VL on the link */
};

/* Where data for one LID go on from a switch; those it leads to have lower numbers. */
struct junction {
	size_t first;		/* of its branches */
	uint32_t way;		/* that begins here, or WAY_BROKEN */
	uint16_t mtu;		/* bytes, the least of all links from here on */
	uint8_t len;		/* branches, >= 1 */
	uint8_t hops;		/* links from here on at most */
	bool adapts;		/* its shares follow what the ports can take; else they stay even */
};

struct way {
	uint32_t root;		/* junction that it begins at, or JUNCTION_HERE */
	uint16_t mtu;		/* bytes, the least of its links; 0 without links */
	uint8_t sl;		/* service level */
};

struct trails {
	const struct model *m;		/* the fabric */
	const uint32_t *base;		/* first link of each node, borrowed */
	uint32_t nlinks;		/* of all nodes */
	struct junction *junctions;	/* njunctions */
	struct branch *branches;	/* nbranches, of all junctions */
	size_t nbranches, branches_size;	/* in use, allocated */
	uint32_t njunctions, junctions_size;	/* in use, allocated */
	bool adapts;			/* one of the junctions does */
	struct share_way *shares;	/* nways, where the steps of each are */
	struct way *info;		/* nways */
	struct share_step *steps;	/* nsteps, once they are spelled out */
	uint8_t *lanes;			/* nsteps: VL on each link */
	size_t nsteps, steps_size;	/* in use, allocated */
	uint32_t nways, ways_size;	/* in use, allocated */
	struct map known;		/* junctions by where data are and go */
	uint32_t stamp;			/* of the walk under way */
	uint32_t *seen;			/* by link: stamp of a walk that came in there */
	uint32_t *used;			/* by link: the last way that crosses it, + 1 */
	size_t *step_of;		/* by link: its step in that way */
};

void
trails_init(struct trails *w, const struct model *m, const uint32_t *base, uint32_t nlinks);
void
trails_free(struct trails *w);
/* The way of data that came into a node by a port, on to a LID; WAY_BROKEN if some of it would not
 * arrive. Pointers into `w` are good until the next call. */
uint32_t
trails_find(struct trails *w, uint32_t node, unsigned in, uint16_t dlid, unsigned sl);
/* All ways as steps, by the shares of branches as they are. */
void
trails_spell(struct trails *w);
/* Data may leave a node by this port: the link is ACTIVE at both ends and the SL has a lane. */
bool
trails_open(const struct model *m, uint32_t node, unsigned in, unsigned out, unsigned sl);

/* ---- traffic_split.c: how data split over the ports of a group ---- */

/* Flows have their ways: shares of branches that adapt, from what they are now. */
void
splits_adapt(struct trails *w, const double *capacity, const struct share_flow *flows,
	     uint32_t nflows);

/* ---- traffic.c: the flows ---- */

struct meter {
	meter_sum sum;		/* what was counted up to `since` */
	uint64_t rate;		/* at which it grows */
};

/* The meters of one kind, `per_port` for each port of the fabric. */
struct meters {
	struct meter *m;	/* all; NULL: nothing of the kind was ever counted */
	unsigned per_port;	/* how many */
};

struct pattern {
	int id;			/* for people */
	struct traffic_spec spec;	/* as it was asked for */
	uint64_t flows, broken;	/* that it is made of, and those without a path */
	double offered, delivered;	/* bytes a second */
};

/* A cabled end port of a host. */
struct end {
	uint32_t node;		/* the channel adapter */
	uint8_t port;		/* its port */
	uint16_t rail;		/* which of its host's end ports it is, from 0 */
};

/* What a flow is beside its share. */
struct flow_info {
	struct end src, dst;	/* its ends */
	uint32_t pattern;	/* index */
};

/* What a link carries. */
struct load {
	double capacity, offered, carried;	/* bytes a second */
	double packets;		/* a second */
};

struct traffic {
	struct model *m;		/* the fabric */
	struct counter_source source;	/* what the fabric asks of it */
	uint32_t *base;			/* first link of each node */
	uint32_t nlinks;		/* ports of all nodes, with port 0 */
	struct pattern *patterns;	/* npatterns that run */
	uint32_t npatterns;		/* how many */
	int last_id;			/* given to a pattern */
	struct share_flow *flows;	/* nflows with a path, then nbroken without */
	struct flow_info *info;		/* the same of each */
	uint32_t nflows, nbroken;	/* of the flows */
	uint32_t flows_size;		/* allocated */
	struct load *loads;		/* by link; NULL before the first pattern */
	struct meters all;		/* METERS a port */
	struct meters by_sl[16];	/* XMIT_DATA and RCV_DATA a port */
	struct meters by_vl[16];	/* waiting, 1 a port */
	monotime since;			/* all meters grow from here on */
	monotime looked;		/* when somebody last looked at counters */
	monotime changed;		/* first change that the rates do not know of */
	monotime patience;		/* until they shall */
	bool stale;			/* there is such a change */
	bool even;			/* flows split evenly, whatever ports can take */
	struct loop_timer *timer;	/* until they shall */
};

/* ---- traffic_load.c: what links carry, and what counters make of it ---- */

/* Links can carry so much, and carry nothing. Returns the former; the caller frees it. */
double *
loads_start(struct traffic *t);
/* Flows have their ways and rates: what links carry, and at what rate counters grow. */
void
loads_set(struct traffic *t, const struct trails *w);
/* Counters grow up to a moment, and then no more. */
void
loads_fold(struct traffic *t, monotime until);
/* What flows had added to a counter (enum sim_counter) when somebody last looked. */
uint64_t
loads_counter(const struct traffic *t, uint32_t node, unsigned port, unsigned counter);
/* The share of its time that a link has data and waits for credits. */
double
load_waiting(const struct load *l);
/* What a port's link can carry, bytes a second. */
double
port_capacity(const struct sim_port *p);

#endif
