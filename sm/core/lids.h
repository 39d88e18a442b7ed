/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_LIDS_H
#define CORE_LIDS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/map.h"

/* Addresses, and what is remembered of them: lids.c. */
struct assignment;
struct fabric;
struct plan_lids;
struct subnet;

/* A persistent LID, key: port GUID. */
struct lid_record {
	uint64_t guid;
	int64_t last_seen;	/* Unix seconds */
	uint16_t lid;
	uint8_t lmc;
	bool present;		/* held by a port of the newest snapshot */
	bool seen;		/* held by a port of a snapshot of this run */
};

struct lid_commit;

struct lid_store {
	struct lid_commit *commit;	/* for commits under way; see lids.c */
	bool unsaved;			/* the store failed: everything is to be written again */
	uint32_t small_switches;	/* that hold fewer LIDs than the subnet needs */
	struct map by_guid;		/* port GUID -> index */
	struct lid_record *records;
	uint32_t len;
	uint32_t size;
};

/* lids.c */
void
lids_load(struct subnet *s);
/* A row that another manager changed (value NULL: deleted). */
void
lids_take(struct subnet *s, const char *key, const char *value);
bool
lids_known(const struct subnet *s, uint64_t guid);	/* a port has it, or had it */
void
lids_free(struct lid_store *l);
void
lids_save_again(struct subnet *s);	/* all records, if the store failed to take some */
/*
 * Assign LIDs to every end port of the snapshot; updates the records and puts them to the store.
 * Bit by bit: lids_slice() is called again until it returns true, then lids_end() gives what came
 * of it (the caller's) and frees the rest. lids_drop() instead of it lets go at any time.
 */
struct assignment *
lids_begin(struct subnet *s, const struct fabric *f);
bool
lids_slice(struct assignment *a);
struct plan_lids *
lids_end(struct assignment *a);
void
lids_drop(struct assignment *a);	/* NULL is allowed */

#endif
