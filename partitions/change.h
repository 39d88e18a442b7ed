/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITIONS_CHANGE_H
#define PARTITIONS_CHANGE_H

#include "partitions/compile.h"

/* What an administrator asks of partitions while the daemon runs, and what it did or would do:
 * between the commands and the core. */
enum partition_change_kind {
	PARTITION_ADD,		/* a new partition, with members perhaps */
	PARTITION_REMOVE,	/* what commands said of one */
	PARTITION_MEMBER_ADD,	/* or set their membership */
	PARTITION_MEMBER_REMOVE,
	PARTITION_APPLY,	/* names are taken as they are now */
	PARTITION_RELOAD,	/* another configuration; only as a rehearsal */
};

struct partition_change {
	enum partition_change_kind kind;
	bool dry_run;			/* nothing is changed */
	bool idempotent;		/* what is so already, or not there, is no error */
	bool ipoib;			/* PARTITION_ADD: with the broadcast group of IPoIB */
	const char *name;		/* of the partition; PARTITION_APPLY: "" for all;
					 * PARTITION_RELOAD: "" */
	const struct config *conf;	/* PARTITION_RELOAD; the copy has a reference */
	uint16_t pkey;			/* PARTITION_ADD: number; 0: the least that is free */
	const struct part_member *members;
	uint32_t nmembers;
};

/* A port whose access changes. */
struct partition_access {
	uint64_t guid;		/* of the port */
	uint16_t pkey;		/* number */
	uint8_t before;		/* bits: 1 limited, 2 full */
	uint8_t after;
};

#define PARTITION_ACCESSES 1000u	/* that are listed */
struct partition_report {
	struct partition_access *list;	/* owned by the core until done() returns */
	uint32_t len;		/* listed */
	uint32_t gain;		/* memberships of ports that begin, */
	uint32_t lose;		/* end, */
	uint32_t other;		/* or are other ones than before */
	uint32_t pending;	/* GUIDs of members that nobody has, in all partitions */
	uint32_t blocks;	/* P_Key blocks of ports that differ */
	uint16_t pkey;		/* number of the partition; 0: of several, or of one that is gone */
};

/* 0 or an error code, one sentence, and (NULL on an error) the report. */
typedef void (*partition_done_fn)(void *arg, int error, const char *text,
				  const struct partition_report *report);

/* The copy is the caller's. */
struct partition_change *
partition_change_copy(const struct partition_change *c);
void
partition_change_free(struct partition_change *c);	/* NULL is allowed */

/* What is in force, for whoever shows it; its P_Keys are in the published plan. */
struct partition_view {
	struct policy *policy;		/* reference held; NULL: nobody says anything */
	struct pkeys_report report;	/* of its P_Keys */
	struct pkeys_alias *aliases;	/* owned */
	uint32_t naliases;
	char refused[500];		/* why what is said is not in force; "" */
};

/* Lets go of what it holds. */
void
partition_view_free(struct partition_view *v);

#endif
