/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITIONS_POLICY_H
#define PARTITIONS_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "partitions/selected.h"
#include "sm/fabric/pkeys.h"

/*
 * The partitions of one subnet, as the configuration and commands say together: members are GUIDs
 * and kinds of ports, names are resolved. Immutable once made, reference-counted (atomically), and
 * so is each partition, so that a change of one shares the others.
 *
 * How file and commands go together: of a partition that both name the file says P_Key, groups,
 * levels and enforcement, and a command's P_Key must be the same; its members are those of both;
 * where both name a GUID the file says the membership. What the file says no command can take back.
 *
 * Membership of a port: by its own GUID or an alias of it, else by its node's GUID, else as `self`,
 * else by its kind; among entries of one sort the last one counts. Who is in `except` is no member.
 * Of the default partition (0x7fff) every port is at least a limited member and the subnet manager
 * a full one, whatever is said, for without it nobody reaches the subnet manager. Where the file
 * names no partition at all, every port is a full one.
 */
enum part_origin {
	PART_FILE = 1,
	PART_COMMAND = 2,
};

#define PART_NAME_MAX 63u	/* bytes */
#define PART_MAX 32767u		/* partitions */

struct part_member {
	uint64_t guid;		/* port, node or alias */
	uint8_t membership;	/* enum config_membership */
	uint8_t origin;		/* enum part_origin, of this membership */
	bool index0;		/* its key belongs to index 0 */
};

/* Ports by what they are. */
struct part_kind {
	bool on;		/* they are members */
	uint8_t membership;	/* enum config_membership */
	bool index0;
};

enum part_kinds {
	PART_HOSTS,
	PART_SWITCHES,
	PART_ROUTERS,
	PART_SELF,
	PART_KINDS,
};

struct partition {
	uint32_t refs;			/* atomic */
	uint16_t pkey;			/* number, 1..0x7fff */
	uint8_t origin;			/* enum part_origin: who names it, both perhaps */
	uint8_t enforce;		/* enum config_enforce */
	bool ipoib;			/* a command gave it the broadcast group of IPoIB */
	char name[PART_NAME_MAX + 1];
	const struct config_partition *conf;	/* what the file says; NULL: nothing */
	struct part_kind kind[PART_KINDS];
	struct part_member *members;	/* by GUID, none twice */
	uint32_t nmembers;
	struct selected except;
	uint32_t others;		/* ports that have a name of its now and are no members: an
					 * administrator may apply it */
	char first_other[120];		/* one of them; "" */
};

struct policy {
	uint32_t refs;		/* atomic */
	const struct config *conf;	/* that it is of; reference held */
	bool names;		/* some are selected by name */
	uint32_t len;
	struct partition **list;	/* by P_Key */
	uint32_t *named;		/* places in the list, by name; NULL: it is being made */
};

/* What a command left: a partition, and members of it. */
struct part_row {
	const char *name;
	uint16_t pkey;			/* number; 0: of a partition of the file */
	bool ipoib;			/* with the broadcast group of IPoIB */
	const struct part_member *members;	/* by GUID, none twice */
	uint32_t nmembers;
};

struct policy_input {
	const struct config *conf;	/* a reference is taken */
	const char *subnet;		/* name: which entries of the file are for it */
	const struct part_row *rows;	/* of commands */
	uint32_t nrows;
	const struct fabric *fabric;	/* for names; NULL: none is known yet */
	struct pins *pins;		/* read, and written */
	const char *apply;		/* names of this partition are applied anew; NULL: none; "":
					 * of all */
	/* One of the same configuration and names of nodes, whose partitions are taken as they are
	 * but the one of this name; NULL: all are made. */
	const struct policy *base;
	const char *changed;
};

/* What the file says of it is for this subnet. */
bool
partition_is_for(const struct config_partition *c, const char *subnet);
/* Does anybody say anything of partitions? Else ports keep what they have (see compile.h). */
bool
policy_wanted(const struct policy_input *in);
/*
 * 0 with *out; or a sentence: ERR_EXISTS (two partitions of one name or P_Key), ERR_NOT_FOUND (a
 * command's partition that has no P_Key and is not in the file), and those of selected_of().
 * Partitions without a P_Key get the least that is free from 1 on, in their order; so a P_Key that
 * was chosen for another may change when one is put before it: give them P_Keys.
 */
int
policy_new(const struct policy_input *in, struct policy **out, struct error *e);
struct policy *
policy_ref(struct policy *p);		/* NULL is allowed */
void
policy_unref(struct policy *p);		/* NULL is allowed */

/* NULL: there is none. */
const struct partition *
policy_by_name(const struct policy *p, const char *name);
const struct partition *
policy_by_pkey(const struct policy *p, uint16_t pkey);
const struct part_member *
partition_member(const struct partition *p, uint64_t guid);

#endif
