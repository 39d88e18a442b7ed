/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_ADAPTIVE_H
#define FABRIC_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/plan_row.h"
#include "sm/wire/ar.h"

/*
 * Section of a plan: which switches route adaptively, and among which ports. Immutable, reference-
 * counted; switches that did not change share their part with the plan before.
 *
 * The row of such a switch is its static routing, complete and proved without anything here.
 * Beside it the switch has groups, numbered from 1: sets of ports, any of which a packet to some
 * LIDs may take. The group of a LID goes by its home switch (all LIDs there have one), or by the
 * port that the row gives it, where a group is nothing but the parallel cables to one neighbour.
 * Group 0 is empty. Numbers stay with their sets, or with most of the destinations they were for,
 * from plan to plan, so that a lost cable changes groups and not forwarding entries.
 *
 * What the wire has for a LID follows from the row, its home and this (plan_ar_entry()); no table
 * by LID is kept.
 */
#define PLAN_AR_TABLES 4u	/* private LFTs that a plan uses at most */
#define PLAN_AR_SUBS 2u		/* sub-groups of a group at most */

struct plan_dest;

/* What a packet that asks nothing special meets: one table of groups by LID. */
struct plan_ar_table {
	bool by_port;		/* group[] is by port of the row, 256; else by home switch */
	uint16_t *group;	/* numbers; 0: static */
};

struct plan_ar_switch {
	uint32_t refs;		/* atomic */
	uint32_t nhomes;	/* switches of the snapshot, length of group[] by home */
	uint16_t top;		/* highest group number in use */
	uint16_t used;		/* groups in use */
	uint8_t subs;		/* sub-groups of each, 1..PLAN_AR_SUBS */
	uint8_t ntables;	/* private LFTs, 1..PLAN_AR_TABLES; all have the row's ports */
	uint8_t mode;		/* enum ar_lid_state of LIDs that have a group */
	bool recovery;		/* a dead static port is replaced from the group */
	uint16_t sls;		/* bit n: packets of SL n may be spread */
	uint8_t transports;	/* enum ar_transport that are not */
	uint32_t ageing_us;	/* idle gap that ends a burst, where LIDs are bounded */
	uint16_t left_out;	/* sets that found no number: their LIDs are static */
	struct ar_ports *ports;	/* of group g, sub-group s: [g * subs + s], g = 0..top */
	struct ar_ports *told;	/* the same as entries were made by, while groups hold less, in a
				 * push; NULL: as `ports` */
	struct plan_ar_table table[PLAN_AR_TABLES];
	uint8_t table_of[256];	/* by in port: index into table[] */
};

struct plan_adaptive {
	uint32_t refs;			/* atomic */
	uint32_t nswitches;		/* of the snapshot */
	struct plan_ar_switch **sw;	/* by switch; NULL: it forwards by its row alone */
	bool apart;			/* old and new do not mix: groups are emptied before rows
					 * change, and filled again */
	struct plan_ar_switch **less;	/* by switch, in a push: as sw[], with what groups hold
					 * while rows change, and `told`; NULL, or NULL entries:
					 * what they are to hold anyway */
	bool doubtful;			/* a switch that does not answer spreads packets by groups
					 * that are not proved with the rows */
	uint32_t adaptive;		/* switches that have an entry */
	uint32_t cut;			/* groups that had to be cut, or left, to be safe */
	char cut_first[200];		/* one sentence on the first of them; "" */
};

struct plan_adaptive *
plan_adaptive_new(uint32_t nswitches);
struct plan_adaptive *
plan_adaptive_ref(struct plan_adaptive *a);	/* NULL is allowed */
void
plan_adaptive_unref(struct plan_adaptive *a);	/* NULL is allowed */

/* For one switch: no groups yet, room for numbers 0..top; table 0 for all ports, by home. */
struct plan_ar_switch *
plan_ar_switch_new(uint32_t nhomes, uint16_t top, unsigned subs, unsigned ntables);
/* One to be changed, for `nhomes` switches; beyond those of `s` all is static. */
struct plan_ar_switch *
plan_ar_switch_copy(const struct plan_ar_switch *s, uint32_t nhomes);
struct plan_ar_switch *
plan_ar_switch_ref(struct plan_ar_switch *s);	/* NULL is allowed */
void
plan_ar_switch_unref(struct plan_ar_switch *s);	/* NULL is allowed */
/* The same groups, tables and parameters. One that is amid a push is like no other. */
bool
plan_ar_switch_equal(const struct plan_ar_switch *a, const struct plan_ar_switch *b);

static inline const struct ar_ports *
plan_ar_ports(const struct plan_ar_switch *s, unsigned group, unsigned sub)
{
	return &s->ports[group * s->subs + sub];
}

/* The group of packets to a destination whose entry in the row is `port`; 0: they are static. */
unsigned
plan_ar_group(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
	      uint8_t port);
/* What the adaptive LFT of table `table` holds for a destination. Where the row's port is not in
 * the group, or the home is the switch itself, the LID is static. */
struct ar_lft_entry
plan_ar_entry(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
	      uint8_t port);
/* The ports, besides the row's, that such a packet may take out of a switch; none if it is
 * static. */
struct ar_ports
plan_ar_choices(const struct plan_ar_switch *s, unsigned table, const struct plan_dest *dest,
		uint8_t port);

#endif
