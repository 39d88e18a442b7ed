/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_ENGINE_H
#define ROUTING_ENGINE_H

#include "routing/alternatives.h"
#include "sm/base/error.h"
#include "sm/fabric/plan.h"

struct engine;
struct lfts;

/*
 * A routing engine is a function: const snapshot + LIDs + options + previous plan in, tables and
 * a report out. It does no I/O, keeps nothing, and gives equal output for equal input whatever
 * the number of threads. It runs on a worker.
 *
 * An engine fills a row for every switch that is not fixed, of plan_row_len(lids->top) entries:
 * the out port for every LID in use that it can reach, LFT_NO_PORT for the rest, 0 for the
 * switch's own LIDs. Fixed switches (silent ones) forward by `fixed` whatever the engine wishes;
 * it must route so that this works, or leave it to the checker to refuse. A switch with
 * FABRIC_NODE_SILENT and no fixed row is not known to forward anything: it gets no row either.
 */
struct engine_options {
	/* GUIDs of root switches, or of CAs on them (the note says which switch that is); NULL. */
	const uint64_t *roots;
	unsigned nroots;
	unsigned threads;		/* 0: one per core */
	unsigned max_vls;		/* lanes for data at most, whatever links have; 0: any */
	unsigned lanes;			/* engines for any fabric take at most; 0: their choice */
	const struct lfts *tables;	/* saved ones (sm/text/lfts.h), for engine `file`; NULL */
	/* By fabric node index: which nodes to spread apart from others (see routing/classes.h);
	 * NULL: all are of one class. */
	const uint8_t *node_class;
	/* Route for the fabric as it is, however much that moves; fattree keeps to that until
	 * nothing is lost, others always do. */
	bool full;
};

struct engine_input {
	const struct fabric *fabric;
	const struct plan_lids *lids;
	struct plan_row *const *fixed;	/* by switch: row of a silent one, NULL elsewhere; NULL */
	const struct plan *previous;	/* NULL on the first run; its fabric may be another */
	const struct engine_options *options;
	const struct engine *engine;	/* who is asked: one route() may serve many */
};

struct engine_output {
	struct plan_row **rows;		/* allocated by the caller, nswitches NULLs; engine fills */
	struct plan_lanes *lanes;	/* engine sets, or leaves NULL: one class, one lane */
	uint8_t *ranks;			/* engine sets (mem_alloc, nswitches), or leaves NULL */
	struct plan_memo *memo;		/* engine sets for its next run, or leaves NULL */
	struct plan_roots *roots;	/* configured roots that ranks were made from, or NULL */
	struct plan_adaptive *offered;	/* as plan->offered; engine sets, or leaves NULL */
	struct plan_trees *trees;	/* as plan->trees; likewise */
	char note[400];			/* a remark for people, or "" */
};

/* What an engine that chooses among others made of a fabric. */
#define ENGINE_CHOICES 4u
struct engine_choice {
	const struct engine *engine[ENGINE_CHOICES];	/* which suit it, the best first */
	unsigned n;					/* how many: at least one */
	char name[160];					/* the fabric: "8x8x8 torus" */
	char lost[160];					/* what it lacks: ", 1 ring broken"; "" */
};

struct engine {
	const char *name;		/* as in `routing.engines` */
	const char *help;		/* one line */
	const char *topologies;		/* "any", "fat trees, any with roots" ... */
	bool deadlock_free;		/* claims it; the checker proves it anyway */
	/* 0, or a negative code and the exact node or link that breaks the engine's assumption. */
	int (*route)(const struct engine_input *in, struct engine_output *out, struct error *e);
	/* Instead of route(): leaves it to others, which the chain tries in its place. */
	void (*choose)(const struct engine_input *in, struct engine_choice *c);
	/* What groups of adaptive routing are made of (routing/alternatives.h). NULL: of ways up
	 * and down where its plan has ranks, else of parallel cables. */
	alternatives_fn alternatives;
	/* Longer ways, for second sub-groups: out[] is as it was found by the former, and gets them
	 * for the switches in wanted[]. NULL: it has none. */
	void (*longer)(const struct plan *plan, const bool *wanted, struct plan_ar_switch **out);
};

/* The built-in engines, NULL-terminated, in order of documentation. */
extern const struct engine *const engines[];

/* Does the switch forward as it likes, so that the engine gives it no row? */
static inline bool
engine_is_fixed(const struct engine_input *in, uint32_t sw)
{
	return (in->fixed && in->fixed[sw]) ||
		(fabric_switch_node(in->fabric, sw)->flags & FABRIC_NODE_SILENT);
}

const struct engine *
engine_find(const char *name);		/* NULL if there is none */

/*
 * Run a chain of engines until one's result passes the checker, and fill `plan` (rows, lanes,
 * sls, ranks, fixed, engine names, reason, note, check, times); plan->fabric and plan->lids are set
 * by the caller. `fallback` false: only the first engine is tried; all that it chooses, if it does
 * so. plan->engine_running is one that routes: that of the plan before is known by it. With NULL
 * rows nothing is left half-filled: on error plan's routing fields are untouched and `e` says for
 * each engine why it was refused. Returns 0 or ERR_REFUSED.
 */
struct chain_options {
	/* By switch whose row is fixed: another that it may hold instead, in part or as a whole;
	 * NULL where there is none. Whatever it holds is to close no credit loop with the rest; if
	 * no engine can have that it is not asked for, and plan->doubtful is set. NULL. */
	struct plan_row *const *maybe;
	const char *const *engines;	/* names, NULL-terminated, at least one */
	const struct engine *const *more;	/* NULL-terminated: engines besides those that are
						 * built in, which come first; borrowed; NULL */
	bool fallback;
	/*
	 * Makes of an engine's classes and lanes the tables from service levels to lanes that
	 * switches will be given (qos/compose.h); the proof is of these. *sls stays NULL where none
	 * need be written. ERR_REFUSED, with a sentence: the engine's are more than there are.
	 * NULL: classes and lanes are taken for SLs and VLs as they are.
	 */
	int (*compose)(void *arg, const struct plan *plan, const char *engine,
		       struct plan_lanes *lanes, struct plan_sls **sls, struct error *e);
	void *compose_arg;		/* handed to it */
	const struct engine *only;	/* instead of `engines`; NULL */
	unsigned shared_vls;		/* lanes for an engine that is refused with engine.max_vls,
					 * if these are more: levels of service share them then */
	struct engine_options engine;
};
int
engine_chain(struct plan *plan, struct plan_row *const *fixed, const struct plan *previous,
	     const struct chain_options *o, struct error *e);

#endif
