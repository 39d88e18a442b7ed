/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QOS_CONGESTION_H
#define QOS_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/conf/policy.h"
#include "sm/fabric/fabric.h"
#include "sm/wire/congestion.h"

/*
 * What devices should hold of congestion control (IBA volume 1, annex A10): a pure function of the
 * configuration and a snapshot.
 *
 * - Switches mark at the ports that lead to hosts and routers even where these are victims of
 *   congestion, for there it begins with the host; elsewhere where it is their own (Victim_Mask). A
 *   host that is away for a while still counts. An enhanced port 0 is such a port, too.
 * - Where it is wished and the switch can, the same ports mark for want of credits (Credit_Mask).
 * - A host has one table of delays for all service levels, and the same step, timer and bounds for
 *   each but those that are off, which stay at step 0: they are never marked up, and what they had
 *   before runs out by the timer.
 * - A host whose table is shorter than the configured one gets its beginning.
 * - With `enabled` false it is what undoes all of that: no port marks, no host goes up.
 */
#define CONGESTION_STEPS 256u		/* of a table at most */
#define CONGESTION_LINEAR 128u		/* of the one that is taken where none is configured */
#define CONGESTION_BLOCKS (CONGESTION_STEPS / CC_TABLE_BLOCK)

struct congestion_table {
	struct cc_delay step[CONGESTION_STEPS];	/* len of them */
	unsigned len;				/* 1..CONGESTION_STEPS */
};

/* `text` is what qos.congestion.table says, checked by the schema; NULL: a linear one. */
void
congestion_table(const char *text, struct congestion_table *t);
/* Steps that a host with so many blocks of table holds: 0..t->len. */
unsigned
congestion_steps(const struct congestion_table *t, unsigned blocks);
/* A block, below those that congestion_steps() needs. */
void
congestion_block(const struct congestion_table *t, unsigned blocks, unsigned block,
		 struct cc_table *w);
/* Of a switch; `starvation`: it can mark for want of credits. The map names what counts. */
void
congestion_switch(const struct config_congestion *c, const struct fabric *f, uint32_t node,
		  bool starvation, struct cc_switch_setting *w);
/* Of one port of a switch, instead of what somebody else has said of it. */
void
congestion_port(const struct config_congestion *c, bool starvation, struct cc_port_setting *w);
/* Of a host's port that holds so many steps. */
void
congestion_ca(const struct config_congestion *c, unsigned steps, struct cc_ca_setting *w);
/* The same but for maps and what they leave out. */
bool
congestion_same_switch(const struct cc_switch_setting *a, const struct cc_switch_setting *b);
bool
congestion_same_ca(const struct cc_ca_setting *a, const struct cc_ca_setting *b);

#endif
