/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_DUMP_H
#define OFFLINE_DUMP_H

#include "sm/fabric/plan.h"
#include "sm/text/lfts.h"
#include "sm/text/mfts.h"
#include "sm/text/paths.h"
#include "sm/text/sl2vl.h"

/*
 * What a folder of dumps holds. Files are known by their contents, not by their names: one topology
 * (ibnetdiscover), the forwarding tables (dump_lfts before opensm-lfts.dump before opensm.fdbs),
 * and if they are there multicast tables (dump_mfts before opensm.mcfdbs), SL to VL tables and path
 * records (saquery PR).
 */
struct dump {
	struct region *region;		/* owns the names */
	struct fabric *fabric;		/* of the topology */
	const char *topology;		/* its file */
	struct lfts *lfts;		/* forwarding tables */
	struct mfts *mfts;		/* multicast tables; NULL */
	struct paths *paths;		/* path records; NULL */
	struct sl2vl **sl2vl;		/* SL to VL tables, a part from each file */
	unsigned nsl2vl;		/* how many files */
};

/* 0, or a code and a sentence: which file is missing, which one there is twice, what is wrong in
 * which line. dump_free() in any case. */
int
dump_load(struct dump *d, const char *folder, struct error *e);
void
dump_free(struct dump *d);

/* Lanes by the SL to VL tables: a class for each SL. A pair is in those of its path records, or in
 * all of them where there are none. NULL and a sentence if a table between switches is missing, or
 * there are two that differ. With `hosts`, packets that switches send themselves are left out.
 * *guessed: how many (switch, LID) are in all classes. */
struct plan_lanes *
dump_lanes(const struct dump *d, const struct plan_lids *lids, bool hosts, uint64_t *guessed,
	   struct error *e);

#endif
