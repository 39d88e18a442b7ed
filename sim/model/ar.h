/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_AR_H
#define SIM_AR_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/model.h"
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/wire/ar.h"

/*
 * Switches that route adaptively: which ones do and what they can, how they forward, and what they
 * hold. They are set up by SMPs with the vendor's attributes (sm/wire/ar.h).
 *
 * A switch forwards by its adaptive LFT (0xFF23) instead of the plain one while adaptive routing or
 * fast recovery is on. A packet takes a port of its LID's group, from the first sub-group that has
 * one whose link is active, if the LID is free, bounded or hashed, its SL and transport may, and
 * the group is not above GroupTop; else, or if no port is left, the static port. With fast recovery
 * a packet whose static port is dead takes a port of the group. SMPs take the static port.
 */
enum ar_feature {
	AR_GENERAL = 0x01,	/* GeneralInfo; without AR_ADAPTIVE it says that there is no more */
	AR_ADAPTIVE = 0x02,	/* AdaptiveRoutingInfo, group tables, adaptive LFT */
	AR_RECOVERY = 0x04,	/* fast link fault recovery (FRSup) */
	AR_COPYING = 0x08,	/* group table copies */
	AR_CALC = 0x10,		/* tells GroupCap of another configuration */
	AR_PLFT = 0x20,		/* private LFTs, ExtendedNodeInfo */
	AR_NOTIFY = 0x40,	/* routing notifications (ARN, FRN) */
	AR_HASHING = 0x80,	/* hash-based forwarding, weighted too */
	AR_PFRN = 0x100,	/* pFRN */
	AR_ALL = 0x1ff,
};

struct ar_support {
	unsigned features;	/* enum ar_feature; 0: the switch knows none of the attributes */
	uint16_t group_cap;	/* groups with one sub-group, 1..4095; fewer with more */
	uint8_t group_tables;	/* 1..14 */
	uint8_t sub_groups_cap;	/* most sub-groups of a group, 1..15 */
	uint8_t plfts;		/* 1..36 */
	bool glb_groups;	/* one group table for all pLFTs */
	bool group_top;		/* GroupTop is kept, and groups above it are not used */
	bool lft_leaves;	/* a Set of LinearForwardingTable turns adaptive routing off */
};

struct ar_options {
	struct ar_support support;	/* of the switches that the next line says */
	uint16_t any_order;		/* bit n: hosts take packets of SL n in any order, and
					 * say so in ExtendedPortInfo; 0: they do not say it */
	bool all_switches;		/* all; else those of the vendor, by the file's vendor id */
	struct ar_layout layout;	/* of the attributes of all switches */
};

/* All features, 2048 groups in 1 table shared by 4 pLFTs, 2 sub-groups, the rest true; and the
 * default layout. */
extern const struct ar_options ar_options_default;
/* Change what "features=ar+fr,group_cap=512,plft_shift=20,..." names: features general, ar, fr,
 * copy, calc, plft, rn, hbf, pfrn, or all, or none; numbers by the members' names; flags as yes or
 * no; switches=all or vendor; anything else is for ar_layout_parse(). On error *o is as it was. */
int
ar_options_parse(struct ar_options *o, const char *text, struct error *e);
/* The support as such a text. */
void
ar_support_print(struct buf *out, const struct ar_support *s);
/* One line a word of it, for help texts. */
extern const char ar_options_help[];

/* Which switch supports what: replaces what the options gave it, as if a new one came in its place,
 * with empty tables. NULL: it knows none of the attributes. ERR_INVALID for impossible numbers or a
 * node that is no switch. */
int
model_ar_support(struct model *m, uint32_t node, const struct ar_support *s, struct error *e);

/* ---- Forwarding ---- */

struct ar_packet {
	uint16_t slid, dlid;	/* choose the port of the group */
	uint8_t sl;		/* service level; above 15: as 0 */
	uint8_t transport;	/* enum ar_transport; 0: an SMP, to the static port */
};

/* The port that a switch sends a packet to, by whichever table counts now; 0: none. */
unsigned
ar_forward(const struct model *m, uint32_t node, unsigned in, const struct ar_packet *p);
/* All ports over which a switch spreads reliable data of one flow that comes through port `in`;
 * room for 254. Where it does not spread it, the one port; returns 0 if there is none. A LID in
 * hashed state spreads flows, not the packets of one: its ports are the choice. */
unsigned
ar_ports(const struct model *m, uint32_t node, unsigned in, uint16_t lid, unsigned sl,
	 uint8_t ports[]);
/* Flows of such data go by a hash, and not by what the ports can take. */
bool
ar_is_hashed(const struct model *m, uint32_t node, unsigned in, uint16_t lid, unsigned sl);

/* ---- Looking in ---- */

/* As a Get would tell it; false if the switch is not adaptive. */
bool
model_ar_info(const struct model *m, uint32_t node, struct ar_info *a);
/* Its sub-groups now; 0 if the switch is not adaptive. */
unsigned
model_ar_sub_groups(const struct model *m, uint32_t node);
bool
model_ar_plft_info(const struct model *m, uint32_t node, struct ar_plft_info *a);
/* NULL if it knows none of the attributes. */
const struct ar_support *
model_ar_supported(const struct model *m, uint32_t node);
/* Forwarding goes by the adaptive LFT now. */
bool
model_ar_is_on(const struct model *m, uint32_t node);
/* Ports of a sub-group; none if nothing was written. */
struct ar_ports
model_ar_group(const struct model *m, uint32_t node, const struct ar_mod *table, unsigned group,
	       unsigned sub_group);	/* table->block does not count */
/* An entry of a private LFT (0 if there are none): static without port if it was not written. */
struct ar_lft_entry
model_ar_lft(const struct model *m, uint32_t node, unsigned plft, uint16_t lid);
/* The private LFT that a packet is forwarded by. */
unsigned
model_ar_plft(const struct model *m, uint32_t node, unsigned in, unsigned sl);
/* Bytes that the tables of a switch take. */
size_t
model_ar_memory(const struct model *m, uint32_t node);

#endif
