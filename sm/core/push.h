/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PUSH_H
#define CORE_PUSH_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"

/* Programming, as the other stages see it: push.c, and push_port.c for what a port should hold.
 * What its own files share is in push_i.h. */
struct agent;
struct device;
struct fabric;
struct live_port;
struct plan;
struct plan_row;
struct portinfo;
struct push_few;
struct subnet;
struct transact_request;
struct transact_result;

/* Fields of PortInfo that the subnet manager sets; bits of live_port.stubborn. */
enum push_field {
	FIELD_M_KEY = 1 << 0,
	FIELD_M_KEY_LEASE = 1 << 1,
	FIELD_M_KEY_PROTECT = 1 << 2,
	FIELD_PREFIX = 1 << 3,
	FIELD_LID = 1 << 4,
	FIELD_SM_LID = 1 << 5,
	FIELD_SM_SL = 1 << 6,
	FIELD_LMC = 1 << 7,
	FIELD_SUBNET_TIMEOUT = 1 << 8,
	FIELD_MTU = 1 << 9,
	FIELD_OP_VLS = 1 << 10,
	FIELD_HOQ_LIFE = 1 << 11,
	FIELD_VL_STALL = 1 << 12,
	FIELD_PHY_ERRORS = 1 << 13,
	FIELD_OVERRUN_ERRORS = 1 << 14,
	FIELD_STATE = 1 << 15,
	FIELD_LIFE_TIME = 1 << 16,	/* SwitchInfo, kept at port 0 */
	FIELD_FDB_TOP = 1 << 17,	/* SwitchInfo, kept at port 0 */
	FIELD_ENFORCE = 1 << 18,	/* of partitions, both ways */
	FIELD_HIGH_LIMIT = 1 << 19,
};
#define FIELD_COUNT 20
/* Without these a port does not forward as planned. */
#define FIELDS_FORWARDING \
	(FIELD_LID | FIELD_LMC | FIELD_MTU | FIELD_OP_VLS | FIELD_STATE | FIELD_FDB_TOP)

enum push_step {
	PUSH_READ_TABLES,	/* learn what switches of a live fabric hold, before routing */
	PUSH_READ_LANES,	/* the same of SL to VL maps, where a plan has some */
	PUSH_OWN_PORT,		/* our own LID first */
	PUSH_PKEYS_SWITCHES,	/* P_Keys: ports of switches that lead to hosts, */
	PUSH_PKEYS_HOSTS,	/* and end ports */
	PUSH_GROUPS_LESS,	/* groups of adaptive routing lose what they will not have */
	PUSH_NUMBERS,		/* and entries the numbers of those that they will have */
	PUSH_DROP,		/* live fabric: a set of rows that only drop, before links come */
	PUSH_LANES,		/* SL to VL maps, before anything that is proved with them */
	PUSH_ARBITRATION,	/* VL arbitration tables, where QoS is configured */
	PUSH_NEW,		/* live fabric: tables of switches that forward nothing yet */
	PUSH_LINKS,		/* and links between switches that have tables: fields, ARMED */
	PUSH_LINKS_PROVE,	/* who is at their ends, asked once more; */
	PUSH_LINKS_UP,		/* and ACTIVE, before any table leads packets there */
	PUSH_STAGE,		/* old and new do not mix: entries that change, set by set */
	PUSH_DRAIN_WAIT,	/* packets of the old tables leave the fabric */
	PUSH_CONFIG,		/* tables, port fields, ARMED */
	PUSH_GROUPS,		/* groups of adaptive routing get all that they will have */
	PUSH_PROVE,		/* hosts whose links are ARMED are asked once more who they are, */
	PUSH_PROVE_CABLES,	/* and switches who is behind their ports */
	PUSH_ACTIVATE,		/* ARMED to ACTIVE */
	PUSH_DONE,
};

/* What is left to do at all ports when the last answer is in, in this order. */
enum push_end {
	PUSH_END_CABLES,	/* note what the Sets passed */
	PUSH_END_TABLES,	/* see who does not hold its table, */
	PUSH_END_PORTS,		/* and which ports do not forward */
	PUSH_END_STATES,	/* publish their states */
	PUSH_ENDED,
};

/* Sets of rows that are written one after the other before those of the plan, where packets must
 * not meet any mixture of old and new. */
#define STAGES_MAX 16
struct plan_stages {
	unsigned len;			/* sets */
	bool drops;			/* the first set only drops: it needs nothing but its
					 * switches, and is for links too that are yet to come up */
	bool drain;			/* it drops what changes, and is the only one */
	bool shifts;			/* so that SL to VL maps can change: it drops all that
					 * leads to other switches, and is waited for at once */
	uint32_t nswitches;		/* length of each set */
	struct plan_row **rows[STAGES_MAX + 1];	/* by switch; NULL: it stays as it is */
};

/* The way of a request that proves cables. */
#define PUSH_WAY_HOPS 15
struct push_way {
	uint32_t version;		/* topo.path_version then */
	uint8_t hops;			/* ports in `out` */
	uint8_t out[PUSH_WAY_HOPS];	/* that it leaves by, the last one first */
};

struct push {
	enum push_step step;
	struct plan *plan;		/* being programmed; reference held */
	struct plan_stages *stages;	/* owned; NULL: none is needed */
	unsigned stage;			/* the set that is being written */
	bool live;			/* some switch forwarded already when the push began */
	struct push_way *ways;		/* of requests that prove cables, owned; */
	uint32_t nways;			/* of these, */
	uint32_t ways_size;		/* and room for so many */
	bool astray;			/* a cable does not lead where it did: requests go astray */
	bool cut;			/* a set did not get through: the rest is left for later */
	bool starting;			/* the step has not begun at all devices yet */
	enum push_end end;		/* in PUSH_DONE: what is being done */
	struct push_few *few;		/* the only devices that are looked at, owned; NULL: all */
	uint32_t at;			/* place in topo.table, or there, where the walk goes on */
	monotime started;
	uint32_t blocks;		/* LFT blocks written, adaptive ones too */
	uint32_t group_blocks;		/* blocks of groups of adaptive routing */
	uint32_t entries;		/* LFT entries that changed, against what was known */
	uint32_t pkey_blocks;		/* P_Key blocks written */
	uint32_t sets;			/* Sets sent */
	uint32_t failed_tables;		/* LFT or LinearFDBTop Sets refused or lost */
	uint32_t failed_ports;		/* ports that do not forward as planned */
	uint32_t refused;		/* Sets answered with an error status */
	uint32_t lost;			/* requests that were never answered */
	char first_failure[300];	/* one sentence */
};

/* push.c */
/* True if switches hold tables that nobody here knows: read them before routing. */
bool
push_needs_tables(struct subnet *s);
/* Trust no table: those of switches that forward are read back before the next routing. */
void
push_doubt_tables(struct subnet *s);
void
push_start_reading(struct subnet *s);
/* Nothing could be proved with the tables of those that refuse others: they are tried again. */
void
push_tables_forgive(struct subnet *s);
/* push_lanes.c: a sweep is to try a map that the switch refused; its Set, and its answer. */
bool
push_lanes_due(const struct subnet *s, const struct device *d);
void
push_lanes_try(const struct device *d, struct transact_request *r);
void
push_lanes_tried(struct subnet *s, struct device *d, const struct transact_result *res);
/* The same of SL to VL maps that packets pass by, for a plan that has some. */
bool
push_needs_lanes(struct subnet *s);
void
push_start_reading_lanes(struct subnet *s);
/* `reregister`: every host that can is asked to register again. */
void
push_start(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister);
bool
push_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
push_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
push_idle(struct subnet *s);
/* The next bit of what a step does at all devices. */
void
push_turn(struct subnet *s);
/* A trap told of a link of this switch: cables that went carry no more requests. */
void
push_link_changed(struct subnet *s, struct device *d);
/* Timer: the packets of the old tables have left the fabric. */
void
push_drain_waited(void *subnet);
/* The rows that switches are known to hold, as a plan on this snapshot; NULL if none is known. */
struct plan *
push_shadow_plan(struct subnet *s, const struct fabric *f);
/* How long a packet may live in the fabric: 4.096 us x 2^LifeTimeValue a switch (IBA 18.2.5.4),
 * bounded to what an administrator would wait for. */
monotime
push_packet_lifetime(const struct subnet *s);
/* push_port.c: what a port should hold, and how that differs from what it holds. */
uint32_t
push_port_want(const struct subnet *s, const struct live_port *p, struct portinfo *want);
/* Whether anything that the subnet manager sets is different. */
bool
push_ports_differ(const struct portinfo *a, const struct portinfo *b);
/* An end port was read to hold another address than the published plan gives it. */
bool
push_end_port_off(const struct subnet *s, const struct live_port *p);
/* The fields in which a Set differs from what the port is known to hold. */
uint32_t
push_port_diff(const struct live_port *p, const struct portinfo *set);
/* Compare an answer with what was set: fields that kept another value. */
uint32_t
push_port_kept(const struct portinfo *got, const struct portinfo *want, uint32_t set);
bool
push_port_wants_reregister(const struct subnet *s, const struct live_port *p);
/* Whether the port takes part: it is up and its far end, which is known, can be programmed too. */
bool
push_port_counts(const struct live_port *p);
/* Forget refusals: after a change of configuration. */
void
push_forget_stubborn(struct subnet *s);
const char *
push_field_name(unsigned bit);

/* push_vlarb.c: what was told of VL arbitration is forgotten. */
void
push_arbitration_forget(struct subnet *s);

#endif
