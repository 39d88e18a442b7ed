/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITIONS_COMPILE_H
#define PARTITIONS_COMPILE_H

#include "partitions/policy.h"
#include "sm/fabric/pkeys.h"

/*
 * A policy into P_Key tables of ports: a pure function, of all ports or of those that a change
 * touches.
 *
 * - Every end port has the default key at index 0, unless another of its keys belongs there; then
 *   the default key is at the place of any other. The subnet manager's port keeps it at index 0.
 * - A key that the port holds stays at its index, whatever else changes, also when its membership
 *   bit does. One that goes leaves a hole, which the next new one takes: the lowest first, new keys
 *   in ascending order.
 * - A port of a switch that leads to an end port of another kind gets that port's table (packed if
 *   it would not fit otherwise), and enforces it as the port's partitions say. Between switches
 *   nothing is enforced.
 * - What does not fit (PartitionCap, PartitionEnforcementCap) is reported by port; such a port gets
 *   nothing but its default key, so that access is never wider than was said.
 */

/* What a port holds now. */
struct pkeys_held {
	const uint16_t *keys;	/* NULL: it is not known */
	uint32_t len;
};

struct pkeys_alias {
	uint64_t alias;
	uint64_t port;		/* GUID of the port that has it */
};

struct pkeys_report;

/* What was compiled before, and is held by all ports now. */
struct pkeys_base {
	const struct policy *policy;
	const struct fabric *fabric;
	const struct plan_pkeys *pkeys;		/* the result */
	const struct pkeys_report *report;	/* likewise */
	const struct pkeys_alias *aliases;	/* as they were */
	uint32_t naliases;
};

struct pkeys_input {
	const struct policy *policy;
	const struct fabric *fabric;
	const struct pkeys_held *held;	/* by fabric port index; NULL: nothing is known */
	const struct pkeys_alias *aliases;	/* by alias */
	uint32_t naliases;
	/* NULL: all ports are compiled. Else its snapshot is this one (fabric_is_same()), what it
	 * gave is what ports hold, `held` is not looked at, and where the policy differs in few
	 * members the tables of all ports but those that this touches are the base's. */
	const struct pkeys_base *base;
};

struct pkeys_overflow {
	uint32_t port;		/* fabric port index */
	uint32_t keys;		/* that it should have */
	uint32_t room;		/* that it can have */
	bool enforced;		/* an outer port of a switch */
};

#define PKEYS_OVERFLOWS 16u	/* that are told one by one */
struct pkeys_report {
	struct pkeys_overflow overflow[PKEYS_OVERFLOWS];
	uint32_t overflows;	/* how many there are */
	uint32_t unenforced;	/* ports to hosts of switches that cannot enforce partitions */
	uint32_t pending;	/* GUIDs of members that nobody has */
	uint32_t foreign;	/* those of members and exceptions that no port and no node has: an
				 * alias perhaps, now or when it is set */
};

/* The result has one reference. `report` may be NULL. */
struct plan_pkeys *
pkeys_compile(const struct pkeys_input *in, struct pkeys_report *report);
/* One sentence about the first overflow. */
const char *
pkeys_overflow_text(const struct pkeys_overflow *o, const struct fabric *f, char *text,
		    size_t size);

#endif
