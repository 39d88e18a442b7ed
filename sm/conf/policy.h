/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_POLICY_H
#define CONF_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a configuration says of partitions and of quality of service. It is of all subnets, but
 * where an entry names those that it is for. Part of struct config: one region owns it, and it
 * never changes.
 *
 * Selections ("members", "source", ...) are lists of texts, NULL-terminated, each of which is
 *	all | all-hosts | all-switches | all-routers | self (the port of the subnet manager)
 *	group:NAME		an entry of `groups`
 *	partition:NAME		whoever is a member (QoS rules only)
 *	NAME | /EXPRESSION/	nodes by their names
 *	0xGUID			a node, a port, or an alias GUID; it need not be there yet
 *	NODE/NUMBER		one port of it, 1..254
 * GUIDs are written as guid_text() does, and no text is in a list twice. Lists are there, if empty,
 * but where NULL is said to mean something.
 */

enum config_membership {
	MEMBERSHIP_LIMITED,
	MEMBERSHIP_FULL,
	MEMBERSHIP_BOTH,	/* the port holds both keys */
};

/* What a switch does at a port that leads to a host (PortInfo.PartitionEnforcementInbound and
 * -Outbound). */
enum config_enforce {
	ENFORCE_BOTH,
	ENFORCE_IN,		/* what comes from the host */
	ENFORCE_OUT,		/* what goes to it */
	ENFORCE_OFF,
};

/* `groups`: nodes and ports that other entries name together. */
struct config_node_group {
	const char *name;		/* as a subnet's */
	const char **nodes;		/* selections, of groups only those further up */
	const char **except;		/* likewise: not these */
};

/* Some members of a partition. */
struct config_members {
	const char **nodes;		/* selections */
	enum config_membership membership;	/* MEMBERSHIP_FULL */
	bool index0;			/* the key is at index 0, not the default's */
};

#define CONFIG_SL_FREE 255u		/* no SL is said */
#define CONFIG_VL_FREE 255u

/* A multicast group that is there from the start. */
struct config_group {
	const char *mgid;		/* as text; NULL in `ipoib` */
	unsigned mtu;			/* code: 1 (256) .. 5 (4096); 4 */
	unsigned rate;			/* code; 3 (10Gb) */
	unsigned *scopes;		/* `ipoib`: 1..15, each a group; [2] */
	unsigned nscopes;
	unsigned sl;			/* CONFIG_SL_FREE: by rules and levels, or 0 */
	unsigned qkey;			/* 0x0b1b for IPoIB */
	unsigned tclass;
	unsigned flow_label;
};

/* `partitions`. */
struct config_partition {
	const char *name;		/* 1..63 bytes without "/", ":" and controls */
	unsigned pkey;			/* 1..0x7fff without the membership bit; 0: one is chosen */
	const char **subnets;		/* names; NULL: all */
	struct config_members *members;
	unsigned nmembers;
	const char **except;		/* selections: never members of it, whoever says so */
	struct config_group *ipoib;	/* nipoib = 1: its IPoIB broadcast groups */
	unsigned nipoib;
	struct config_group *groups;	/* further multicast groups */
	unsigned ngroups;
	const char *level;		/* QoS level of its traffic; NULL: by rules */
	unsigned sl;			/* CONFIG_SL_FREE: by level */
	enum config_enforce enforce;	/* ENFORCE_BOTH */
	bool trust_names;		/* a node is a member by the name it has now */
};

enum config_priority {
	PRIORITY_LOW,
	PRIORITY_HIGH,
};

/* Whether switches may spread packets of a level. */
enum config_level_spread {
	LEVEL_SPREAD_AUTO,		/* as service levels are without it */
	LEVEL_SPREAD_YES,
	LEVEL_SPREAD_NO,
};

/* `qos.levels`. The first is that of all traffic that no rule names. */
struct config_level {
	const char *name;		/* as a subnet's */
	unsigned weight;		/* share among levels of its priority, in 64 bytes:
					 * 1..255; 32 */
	enum config_priority priority;	/* table that it is in */
	unsigned sl;			/* its SL, of the engine's class 0; CONFIG_SL_FREE */
	unsigned vl;			/* its first lane, levels may share; CONFIG_VL_FREE */
	unsigned rate;			/* most that paths are told, code; 0: any */
	unsigned mtu;			/* likewise; 0: any */
	unsigned packet_life;		/* lifetime code told, 1..63; 0: `subnet_timeout` */
	enum config_level_spread adaptive;	/* by switches that route adaptively */
};

/* A range of numbers, both ends included. */
struct config_range {
	uint64_t from;
	uint64_t to;
};

/* `qos.rules`: all that is said must hold; the first such rule counts. */
struct config_rule {
	const char *level;		/* name of the level */
	const char *application;	/* ipoib, sdp, srp, iser, rds, lustre, nvmeof; any, NULL:
					 * whichever */
	const char **partitions;	/* names; NULL: whichever */
	struct config_range *pkeys;	/* without membership bit */
	unsigned npkeys;		/* 0: whichever */
	struct config_range *service_ids;
	unsigned nservice_ids;		/* 0: whichever */
	struct config_range *classes;	/* QoS classes of PathRecord, 0..4095 */
	unsigned nclasses;		/* 0: whichever */
	const char **source;		/* selections; NULL: whoever */
	const char **destination;	/* likewise */
	const char **either;		/* source or destination is one of these; NULL */
};

/* VL arbitration of one kind of link, where the levels' weights are not what is wanted. */
struct config_arbitration {
	const char *ports;		/* all, hosts (their own ports), port0, switches
					 * (ports of switches), routers */
	const char *high;		/* "VL:WEIGHT, ..." in order; NULL: by the levels */
	const char *low;		/* likewise */
	unsigned high_limit;		/* PortInfo.VLHighLimit, 0..255 (255: no limit); that
					 * of `qos` */
};

/* Congestion control (IBA annex A10), class 0x21. */
struct config_congestion {
	bool enabled;			/* false */
	uint64_t key;			/* CC_Key; 0: none */
	unsigned threshold;		/* switches: 0 (never marks) .. 15 (soonest); 15 */
	unsigned packet_size;		/* switches: smaller ones are not marked, in 64 bytes; 0 */
	unsigned marking_rate;		/* switches: mean number of packets between marks; 0 */
	bool credit_starvation;		/* switches: mark for want of credits too */
	unsigned *levels_off;		/* SLs that are not controlled */
	unsigned nlevels_off;
	unsigned increase;		/* hosts: steps in the table for each mark; 1 */
	unsigned timer;			/* hosts: until a step is taken back, in 1.024 us; 150 */
	unsigned trigger;		/* hosts: index at which an event is logged; 2 */
	unsigned least;			/* hosts: index that delays never go below; 0 */
	const char *table;		/* hosts: "SHIFT:MULTIPLIER, ..."; NULL: a linear one */
};

struct config_qos {
	struct config_level *levels;	/* none: one level, and nothing is written */
	unsigned nlevels;
	struct config_rule *rules;
	unsigned nrules;
	struct config_arbitration *arbitration;
	unsigned narbitration;
	unsigned high_limit;		/* VLHighLimit where arbitration is silent: 4 KB
					 * units; 255 */
	bool merge;			/* levels share lanes and SLs where there are too
					 * few, last ones first, with a warning; false:
					 * that is refused */
	bool trust_names;		/* rules select nodes by the names they have now */
	struct config_congestion congestion;
};

struct config_partitions {
	struct config_node_group *groups;
	unsigned ngroups;
	struct config_partition *list;
	unsigned len;
};

#endif
