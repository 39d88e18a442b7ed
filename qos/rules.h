/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QOS_RULES_H
#define QOS_RULES_H

#include "partitions/policy.h"
#include "sm/base/error.h"
#include "sm/conf/config.h"
#include "sm/fabric/levels.h"

/*
 * From `qos.rules`, and what partitions say of levels, to the section of a plan by which paths find
 * theirs. A function of its input alone. Names select the GUIDs that they meant when an
 * administrator applied them (partitions/selected.h), lest whoever renames a host gets a level that
 * is not its own; with `trust_names` they are taken as they are now.
 *
 * Service IDs of applications, those of the connection manager of RDMA (0x01060000 + TCP port):
 *	sdp	0x00010000 - 0x0001ffff
 *	rds	port 18634
 *	iser	ports 860 and 3260
 *	lustre	port 987
 *	nvmeof	ports 4420 and 8009
 *	srp	the GUID of a node or port at either end, as targets offer it
 */
struct rules_input {
	const struct config *conf;
	const char *subnet;		/* which partitions are for it */
	const struct policy *policy;	/* P_Keys of partitions; NULL: as configured */
	const struct fabric *fabric;
	struct pins *pins;		/* of rules; read, and written: what no rule names any more
					 * is forgotten. NULL: names are trusted */
	bool apply;			/* names are applied anew */
};

/* *out: NULL where there is no level, else one reference. ERR_NOT_FOUND, ERR_FORMAT, ERR_INVALID as
 * selected_of(), with the rule that it is about. */
int
rules_compile(const struct rules_input *in, struct plan_levels **out, struct error *e);

#endif
