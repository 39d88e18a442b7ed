/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_LEVELS_H
#define FABRIC_LEVELS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/sls.h"

/*
 * Section of a plan: which level of service a path is of. Made by qos/rules.h; immutable, one
 * region. Ports are told by their index in the plan's snapshot; who is a member of a partition, by
 * the plan's P_Keys at the moment of the question.
 */
struct config;
struct plan;
struct region;

enum level_application {
	LEVEL_ANY,
	LEVEL_IPOIB,		/* a partition with an IPoIB group, and no service ID */
	LEVEL_SRP,		/* the service ID is the GUID of a node at one end */
	LEVEL_SERVICE,		/* by `applied` */
};

struct level_range {
	uint64_t from, to;	/* both included */
};

struct level_ranges {
	uint32_t len;			/* 0: whichever */
	struct level_range *list;
};

/* P_Keys without the membership bit. */
struct level_keys {
	bool said;			/* else whichever; with none in it the rule is for nobody */
	uint32_t len;
	uint16_t *list;
};

struct level_ports {
	bool said;			/* else whichever */
	uint64_t *bits;			/* by port index */
	struct level_keys members;	/* and members of these partitions */
};

struct level_rule {
	uint8_t level;			/* number of the level */
	uint8_t application;		/* enum level_application */
	struct level_ranges applied;	/* service IDs of the application */
	struct level_keys partitions;
	struct level_ranges pkeys;
	struct level_ranges services;
	struct level_ranges classes;
	struct level_ports source;
	struct level_ports destination;
	struct level_ports either;
};

struct level_partition {
	uint16_t pkey;			/* number */
	bool ipoib;			/* it has an IPoIB group */
	uint8_t level;			/* of its traffic; SLS_FREE: no word of that */
};

struct level_limits {
	const char *name;
	uint8_t rate;			/* most that paths are told, code; 0: any */
	uint8_t mtu;			/* likewise */
	uint8_t life;			/* lifetime code; 0: as all others */
};

struct plan_levels {
	uint32_t refs;			/* atomic */
	struct region *region;		/* holds all, this too */
	const struct config *conf;	/* for weights and arbitration; a reference */
	void (*drop)(const struct config *);	/* that is given back by */
	uint32_t nports;		/* of the snapshot */
	unsigned len;			/* levels, 1..16 */
	struct level_limits level[SLS_LEN];
	uint32_t nrules;
	struct level_rule *rules;	/* in order */
	uint32_t npartitions;
	struct level_partition *partitions;	/* by P_Key */
	bool named;			/* rules select ports by names of nodes */
	uint32_t others;		/* ports that have such a name now, and are not selected */
	char first_other[120];		/* one of them, for people; "" */
};

struct level_query {
	uint16_t pkey;			/* the path's; 0: none */
	uint64_t service_id;		/* if it is said */
	uint16_t class;			/* QoS class, if it is said */
	bool has_service;
	bool has_class;
	uint32_t src, dst;		/* port indices */
};

/* Why it is of that level. */
enum level_why {
	LEVEL_BY_RULE,			/* `rule` */
	LEVEL_BY_PARTITION,
	LEVEL_FIRST,			/* no word of it: the first level */
};

struct level_found {
	unsigned level;			/* number */
	enum level_why why;
	uint32_t rule;			/* place in rules[] */
};

struct plan_levels *
plan_levels_ref(struct plan_levels *l);		/* NULL is allowed */
void
plan_levels_unref(struct plan_levels *l);	/* NULL is allowed */

/* Rules in order, then the partition, then the first level. Without levels it is level 0. */
struct level_found
plan_level(const struct plan *p, const struct level_query *q);
/*
 * The same for a multicast group, which is of a partition and perhaps one of IPoIB. It has no
 * service ID and no class, and whoever joins sends to it: rules that ask for any of these, or name
 * ports, are not for it.
 */
struct level_found
plan_group_level(const struct plan *p, uint16_t pkey, bool ipoib);
/* The service level of what is sent to groups of a level: that of path class 0. */
uint8_t
plan_group_sl(const struct plan *p, unsigned level);

#endif
