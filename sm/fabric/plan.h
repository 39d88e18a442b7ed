/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PLAN_H
#define FABRIC_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/fabric/adaptive.h"
#include "sm/fabric/fabric.h"
#include "sm/fabric/levels.h"
#include "sm/fabric/pkeys.h"
#include "sm/fabric/plan_row.h"
#include "sm/fabric/sls.h"

/*
 * A plan: what the devices should hold. A pure function of snapshot + configuration + previous
 * plan, made of reference-counted immutable sections, so that a new plan shares what did not
 * change. References are atomic.
 */

/* Where packets to one LID go. */
struct plan_dest {
	uint32_t port;		/* fabric port index that owns the LID; FABRIC_NONE: nobody */
	uint32_t sw;		/* home switch index: the switch itself, or the one the CA hangs on;
				 * FABRIC_NONE: none (two CAs back to back, or alone) */
	uint8_t out;		/* out port at the home switch, 0 for the switch itself */
	uint8_t offset;		/* LID - base LID, 0 .. 2^LMC - 1 */
};

/* Section: LIDs. */
struct plan_lids {
	uint32_t refs;			/* atomic */
	uint16_t top;			/* highest LID in use, 0 if none */
	uint32_t nports;		/* length of base[], = fabric nports */
	uint16_t *base;			/* by fabric port index: base LID, 0 none */
	uint8_t *lmc;			/* by fabric port index */
	struct plan_dest *dest;		/* by LID, 0..top */
};

#define PLAN_LANE_DROP 255

/* Section: path class and lane of a packet; NULL functions mean 0 (one class, one lane). */
struct plan_lanes {
	uint32_t refs;			/* atomic */
	uint8_t classes;		/* path classes C, 1..SLS_LEN */
	uint8_t lanes;			/* virtual lanes V, 1..SLS_VLS */
	/* Instead of path_class(), where the packets from the sources at a switch to a LID need
	 * not be of one class (tables of others): bit n for class n. NULL. */
	uint32_t (*path_classes)(const struct plan_lanes *l, uint32_t src_sw, uint16_t dst_lid);
	bool by_switch;			/* it tells the same of all LIDs at one switch */
	/* class(a, b) = class(b, a), by switch index of the two ends. */
	uint8_t (*path_class)(const struct plan_lanes *l, uint32_t src_sw, uint32_t dst_sw);
	/* Lane on the link out of `out` at switch `sw` for a packet of `class` that came in by port
	 * `in` (0: the switch itself), by whichever lane: no table of a switch asks for that;
	 * PLAN_LANE_DROP: it goes no further. */
	uint8_t (*lane)(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out,
			uint8_t class);
	/* lane() of all classes, where there is a table that has them: vl[], by class, SLS_DROP for
	 * PLAN_LANE_DROP. Equal tables of a switch are at one address. NULL. */
	const struct sls_map *(*map)(const struct plan_lanes *l, uint32_t sw, uint8_t in,
				     uint8_t out);
	void (*free)(struct plan_lanes *l);
	void *state;			/* the engine's own */
};

/* Section: the root GUIDs, as configured, that ranks were made from. */
struct plan_roots {
	uint32_t refs;			/* atomic */
	uint32_t len;			/* how many */
	uint64_t guid[];		/* in ascending order */
};

/* Section: multicast trees that an engine has made, each through all switches that it has; trees of
 * groups are parts of these. By tree, then switch. */
struct plan_trees {
	uint32_t refs;			/* atomic */
	uint32_t ntrees;
	uint32_t nswitches;
	uint32_t *parent;		/* edge that leads to it from above; FABRIC_NONE at roots */
	uint32_t *root;			/* the root above it, itself for one */
};

/* Outcome of the checker; see routing/check.h for how it is found. */
struct plan_check {
	uint64_t pairs;			/* ordered pairs of distinct CA ports that have a LID */
	uint64_t unreachable;		/* pairs joined by cables that the tables do not join */
	uint64_t cut_off;		/* pairs that no cables join: not an error of the routing */
	uint64_t loops;			/* (switch, LID) entries on or into a forwarding loop */
	uint64_t holes;			/* (switch, LID) without a port though cables lead there */
	uint64_t misdelivered;		/* (switch, LID) that leave at a wrong CA or a dead port */
	uint32_t credit_loops;		/* 1 if the channel dependency graph has a cycle (0, 1) */
	uint32_t max_hops;		/* switches on the longest path between CA ports */
	double mean_hops;		/* over pairs */
	char first[400];		/* one sentence with the first fault found, "" if none */
	char cycle[1200];		/* the credit loop, link by link, "" if none */
};

/* Section: what an engine wants to know again when it runs next, so that it need not find out anew
 * what did not change; opaque to all others. */
struct plan_memo {
	uint32_t refs;			/* atomic */
	const void *owner;		/* the engine (struct engine) that made it */
	void (*free)(struct plan_memo *m);
	void *state;			/* the engine's own */
};

/* Section: what the proof found of each LID, so that a change need not be proved from nothing; made
 * by the checker of tables that are sound throughout, and of use to nobody else. */
struct plan_proof_lid {
	uint32_t hops;			/* of a port's base LID: switches on the ways to its last
					 * LID, summed over all CA ports that have a LID */
	uint8_t max_hops;		/* the longest of these ways */
};

struct plan_proof {
	uint32_t refs;			/* atomic */
	uint16_t top;			/* as in plan_lids */
	uint64_t hops;			/* sum over the pairs that are reached */
	uint64_t reached;		/* their number */
	struct plan_proof_lid lid[];	/* 0..top */
};

struct plan {
	uint32_t refs;			/* atomic */
	const struct fabric *fabric;	/* reference held */
	struct plan_lids *lids;
	struct plan_row **rows;		/* by switch index; NULL: silent, nothing is known */
	bool *fixed;			/* by switch index: silent, the row is what it holds */
	struct plan_lanes *lanes;	/* NULL: one class, one lane; where there are `sls`, as
					 * they have it */
	struct plan_pkeys *pkeys;	/* P_Key tables of ports; NULL: what they have stays, with
					 * the default key at index 0 */
	struct plan_levels *levels;	/* which path is of which level of service; NULL: there
					 * is one */
	struct plan_sls *sls;		/* tables from service levels to lanes; NULL: any will do */
	struct plan_adaptive *adaptive;	/* which switches route adaptively, and how; NULL: none */
	struct plan_adaptive *offered;	/* alternatives of the engine, as candidate sets (see
					 * routing/alternatives.h); NULL: others find them */
	struct plan_trees *trees;	/* multicast trees of its; NULL: others find them */
	bool doubtful;			/* silent switches may hold tables with which freedom from
					 * deadlock is not proved */
	uint8_t *ranks;			/* by switch index, for engines that rank; NULL */
	struct plan_roots *roots;	/* they were made from; NULL: from roots that were found */
	char engine_requested[32];	/* first of the configured chain */
	char engine_running[32];
	char reason[400];		/* why running differs from requested, "" if it does not */
	char note[400];			/* the engine's remark, \"\" if none */
	struct plan_check check;	/* of these very rows */
	struct plan_memo *memo;		/* of the engine that is running; NULL */
	struct plan_proof *proof;	/* of them on this snapshot; NULL: none to go on from */
	int64_t route_us;		/* time that routing took */
	int64_t check_us;		/* time that the proof took */
};

/* A LID section for a fabric: zeroed base[] and lmc[]; fill them, then plan_lids_index(). */
struct plan_lids *
plan_lids_new(const struct fabric *f);
/* Derives top and dest[] from base[] and lmc[]. */
void
plan_lids_index(struct plan_lids *l, const struct fabric *f);
/* The LIDs that the ports hold in the snapshot (0 where two ports claim one LID). */
struct plan_lids *
plan_lids_from_fabric(const struct fabric *f);
struct plan_lids *
plan_lids_ref(struct plan_lids *l);
void
plan_lids_unref(struct plan_lids *l);

struct plan_lanes *
plan_lanes_ref(struct plan_lanes *l);
void
plan_lanes_unref(struct plan_lanes *l);

struct plan_roots *
plan_roots_ref(struct plan_roots *r);	/* NULL is allowed */
void
plan_roots_unref(struct plan_roots *r);

struct plan_trees *
plan_trees_new(uint32_t ntrees, uint32_t nswitches);	/* all FABRIC_NONE */
struct plan_trees *
plan_trees_ref(struct plan_trees *t);	/* NULL is allowed */
void
plan_trees_unref(struct plan_trees *t);	/* NULL is allowed */

struct plan_memo *
plan_memo_ref(struct plan_memo *m);	/* NULL is allowed */
void
plan_memo_unref(struct plan_memo *m);

struct plan_proof *
plan_proof_new(uint16_t top);		/* zeroed */
struct plan_proof *
plan_proof_ref(struct plan_proof *p);	/* NULL is allowed */
void
plan_proof_unref(struct plan_proof *p);

/* An empty plan for a snapshot (rows[] and fixed[] allocated, entries NULL/false). */
struct plan *
plan_new(const struct fabric *f);
/* The same plan on a newer snapshot `f` of the same nodes, ports and links (port states may have
 * changed), sharing all sections; NULL if the snapshots do not have the same shape. */
struct plan *
plan_on_fabric(const struct plan *p, const struct fabric *f);
/* The same plan with other P_Key tables, of which a reference is taken. */
struct plan *
plan_with_pkeys(const struct plan *p, struct plan_pkeys *pkeys);
struct plan *
plan_ref(const struct plan *p);
void
plan_unref(const struct plan *p);	/* NULL is allowed */

/*
 * One path through the tables, for `weft path` and the SA.
 */
struct plan_hop {
	uint32_t node;		/* node index */
	uint8_t in;		/* port number, 0 at the start of the path at a CA or switch */
	uint8_t out;		/* port number, 0 at the end */
	uint8_t vl;		/* lane on the link out of `out` */
};

#define PLAN_MAX_HOPS 64
struct plan_path {
	uint16_t src_lid;
	uint16_t dst_lid;
	uint8_t sl;
	unsigned len;		/* hops, both ends included */
	struct plan_hop hops[PLAN_MAX_HOPS + 2];
};

/* The service level of packets between two different ports, the same both ways. */
uint8_t
plan_path_sl(const struct plan *p, const struct plan_dest *a, const struct plan_dest *b);
/* The same of a configured level of service, by number; plan_path_sl() is that of level 0. */
uint8_t
plan_level_sl(const struct plan *p, const struct plan_dest *a, const struct plan_dest *b,
	      unsigned level);
/* Walk from a LID to a LID on a level of service, plan_path() on level 0. ERR_NOT_FOUND with a
 * sentence naming the node where it ends. */
int
plan_path_on(const struct plan *p, uint16_t src_lid, uint16_t dst_lid, unsigned level,
	     struct plan_path *path, struct error *e);
int
plan_path(const struct plan *p, uint16_t src_lid, uint16_t dst_lid, struct plan_path *path,
	  struct error *e);

#endif
