/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_LANES_H
#define CORE_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/plan.h"

/*
 * What a switch is known to hold of SL to VL maps, as a worker can read it: made from the tables of
 * its ports (tables.h), immutable, references are atomic.
 */
struct lane_tables {
	uint32_t refs;		/* atomic */
	uint8_t ports;		/* of the switch, without port 0 */
	uint32_t nmaps;		/* length of maps[] */
	uint32_t size;		/* allocated */
	struct sls_map *maps;	/* none is there twice */
	uint16_t at[];		/* by in port, then out port: index into maps[], or none */
};

struct device;
struct tables;
struct plan_job;

/* The device's, made anew if it has changed; borrowed. */
struct lane_tables *
lanes_of_device(const struct tables *t, struct device *d);
struct lane_tables *
lane_tables_ref(struct lane_tables *t);		/* NULL is allowed */
void
lane_tables_unref(struct lane_tables *t);	/* NULL is allowed */
/* The map for packets that come in by `in` (0: its own) and leave by `out`; NULL: not known. */
const struct sls_map *
lane_tables_map(const struct lane_tables *t, unsigned in, unsigned out);

/* Do packets with any SL that the plan has given out, or has proved, find the same lane by both? */
bool
lanes_agree(const struct plan_sls *s, const struct sls_map *a, const struct sls_map *b);
/* Is the switch's map of the plan what it holds? */
bool
lanes_are_held(const struct plan_sls *s, uint32_t sw, const struct lane_tables *held, unsigned in,
	       unsigned out);
/* The link at this port, to another switch, runs less lanes than the plan takes. */
bool
lanes_too_few(const struct plan_sls *s, unsigned op_vls);

/*
 * Compose for a job (see routing/engine.h; the argument is the job): the tables of the engine's
 * wish, refused where a switch that does not answer, or does not take what it is given, holds
 * others.
 */
int
lanes_compose(void *job, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e);
/* Of tables that are as they were the old section is kept: they are known by its address. */
void
lanes_share(struct plan_job *j);
/* Somewhere packets pass by maps that the new plan changes, or over a link that runs too few lanes
 * for it: not while packets are on their way. */
bool
lanes_shift(const struct plan_job *j);
/* All links between switches run as many lanes as the plan takes, which has maps. */
bool
lanes_run(const struct plan_job *j);

#endif
