/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_SLS_H
#define FABRIC_SLS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/fabric.h"

/*
 * Section of a plan: the service levels that packets have, and by which tables switches choose
 * their lanes (IBA volume 1, 7.6.6 and 14.2.5.8). An engine numbers path classes and lanes of its
 * own (struct plan_lanes); qos/compose.h gives each (level of service, class) an SL and each
 * (level, engine's lane) a VL. What is proved, and what path records tell, is made from the tables
 * here, not from what the engine wished.
 */
#define SLS_LEN 16		/* service levels */
#define SLS_VLS 15		/* lanes for data at most */
#define SLS_DROP 15		/* VL 15 in a table: such packets go no further */
#define SLS_FREE 255		/* no (level, class) has this SL */

/* One table of a switch for (in port, out port), or of a host's port. */
struct sls_map {
	uint8_t vl[SLS_LEN];	/* by SL: 0..14, or SLS_DROP */
};

struct plan_sls {
	uint32_t refs;		/* atomic */
	uint8_t levels;		/* of service, Q >= 1 */
	uint8_t classes;	/* path classes C >= 1; Q x C <= 16 */
	uint8_t lanes;		/* lanes V >= 1 of each level: VL = vl[level] + the engine's lane */
	uint8_t vls;		/* lanes that links between switches must run: the highest VL + 1 */
	uint8_t vl[SLS_LEN];	/* by level: its first lane; levels may share lanes */
	uint8_t asked;		/* levels that are configured, more than `levels` if some share */
	uint8_t place[SLS_LEN];	/* by configured level: which of `levels` it is */
	char merged[160];	/* sentence: what levels share that would have their own; "" */
	uint8_t sl[SLS_LEN];	/* by level x C + class: its SL */
	uint8_t slot[SLS_LEN];	/* by SL: level x C + class, or SLS_FREE */
	uint16_t stale;		/* bit n: SL n was given out earlier, by other rules */
	uint64_t pairs;		/* a digest of which pairs of switches, by GUID, have which class */
	bool stale_proved;	/* packets with them close no credit loop, whoever sends them */
	uint32_t nswitches;	/* length of first[] and ports[] */
	uint32_t nmaps;		/* length of maps[] */
	struct sls_map *maps;	/* none is there twice */
	uint8_t *ports;		/* by switch: its ports, without port 0 */
	uint32_t *first;	/* by switch: place in at[] */
	uint16_t *at;		/* by in port 0..ports, then out port 0..ports: index into maps[] */
};

struct plan_lanes;
struct plan_lids;

/* Tables of no maps for the switches of `f`; every at[] is 0. */
struct plan_sls *
plan_sls_new(const struct fabric *f);
struct plan_sls *
plan_sls_ref(struct plan_sls *s);	/* NULL is allowed */
void
plan_sls_unref(struct plan_sls *s);	/* NULL is allowed */
/* The same levels, classes, lanes and SLs, and at each switch, by index, the same tables. */
bool
plan_sls_equal(const struct plan_sls *a, const struct plan_sls *b);

/* The switch's table for packets that come in by `in` (0: its own) and leave by `out`. */
static inline const struct sls_map *
plan_sls_map(const struct plan_sls *s, uint32_t sw, unsigned in, unsigned out)
{
	return &s->maps[s->at[s->first[sw] + in * (s->ports[sw] + 1u) + out]];
}

/* Table of a link that leads to or comes from a host and runs `vls` lanes: by level of service
 * alone, as far as these lanes last. */
struct sls_map
plan_sls_host_map(const struct plan_sls *s, unsigned vls);

/*
 * Classes and lanes as these tables make them: path_class() tells the SL of level 0, path_classes()
 * those of all levels and the stale ones, lane() the VL. A reference to all three is held; `engine`
 * is who tells the class of a pair, NULL if it has one class and lane.
 */
struct plan_lanes *
plan_sls_lanes(struct plan_sls *s, struct plan_lanes *engine, struct plan_lids *lids);

/* Lanes for data that a VLCap or OperVLs code stands for (IBA 14.2.5.6): 1, 2, 4, 8, 15; 0: none
 * that is known. */
static inline unsigned
vls_of_code(unsigned code)
{
	return code < 1 || code > 5 ? 0 : code == 5 ? 15 : 1u << (code - 1);
}

#endif
