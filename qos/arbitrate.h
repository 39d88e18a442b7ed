/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QOS_ARBITRATE_H
#define QOS_ARBITRATE_H

#include "sm/conf/config.h"
#include "sm/fabric/sls.h"
#include "sm/wire/attr.h"

/*
 * VL arbitration of a port (IBA volume 1, 7.6.9 and 14.2.5.9): which lane sends next. A pure
 * function of the levels of service, their lanes and what the port can hold.
 *
 * - A level's weight is that of each of its lanes, in the table of its priority; levels that share
 *   a lane of one table add up, to 255. A link to a host carries each level on one lane, and on its
 *   last one what has a higher one elsewhere (sls.h), so that the tables are folded alike.
 * - What a table has no entries left for goes to the other one, lest such a lane never sends.
 * - An `arbitration` of the configuration takes the place of what it says something of: that for
 *   the kind of port, else the one for all. Its lanes are folded too. It is taken as it stands,
 *   and what it does not send from is counted.
 */
#define ARBITRATE_MAX 64u	/* entries of a table */

enum arbitrate_ports {
	ARBITRATE_HOSTS,	/* ports of hosts, of routers, */
	ARBITRATE_ROUTERS,
	ARBITRATE_PORT0,	/* port 0 of a switch, */
	ARBITRATE_SWITCHES,	/* its other ports */
};

struct arbitrate_port {
	enum arbitrate_ports kind;
	bool inner;		/* it leads from a switch to a switch */
	uint8_t vls;		/* lanes that the link runs, 1..15 */
	uint8_t high_cap;	/* VLArbitrationHighCap and LowCap: entries, 0..64 */
	uint8_t low_cap;
};

struct arbitration {
	struct vlarb_entry high[ARBITRATE_MAX];	/* the rest is 0 */
	struct vlarb_entry low[ARBITRATE_MAX];
	uint8_t nhigh;		/* entries that say something */
	uint8_t nlow;
	uint8_t high_limit;	/* PortInfo.VLHighLimit */
	uint8_t left;		/* entries that neither table had room for */
	uint8_t silent;		/* lanes of levels that neither table sends from */
};

/* `sls` may be NULL: one level on lane 0. */
void
arbitrate(const struct config_qos *qos, const struct plan_sls *sls, const struct arbitrate_port *p,
	  struct arbitration *a);
/* The word of the configuration for a kind. */
const char *
arbitrate_word(enum arbitrate_ports kind);

#endif
