/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_ADAPTIVE_H
#define ROUTING_ADAPTIVE_H

#include "routing/alternatives.h"
#include "routing/depend_groups.h"

/*
 * Groups of adaptive routing for a plan whose rows are proved: candidate sets of the engine
 * (routing/alternatives.h), numbered within what each switch can hold, and proved
 * (check_adaptive()). What would not be safe is cut, and told; the rows stand in any case. A pure
 * function.
 */

/* What a switch can do, as it says itself; by switch index. */
struct adaptive_ability {
	bool able;		/* it routes adaptively, and is to */
	uint16_t groups;	/* group numbers below this can be used */
	uint8_t subs;		/* sub-groups of a group, >= 1 */
	uint8_t tables;		/* private LFTs, >= 1 */
	bool recovery;		/* it replaces dead static ports */
	bool by_sl;		/* it can spread some SLs only */
	bool by_transport;	/* and some transports */
	bool hash;		/* and by a hash */
};

struct adaptive_input {
	const struct plan *plan;		/* rows, LIDs, lanes, ranks: proved */
	const struct adaptive_ability *ability;	/* by switch */
	const struct plan_adaptive *held;	/* whose numbers stay, of the same switches, and
						 * what silent ones go on with; NULL */
	alternatives_fn alternatives;		/* the engine's; NULL: by what the plan has */
	bool longer;				/* with second sub-groups, if the engine has any */
	uint8_t mode;				/* enum ar_lid_state of LIDs that have a group */
	bool recovery;				/* where it is supported */
	uint16_t sls;				/* bit n: packets of SL n may be spread */
	uint8_t transports;			/* enum ar_transport that may not */
	uint32_t ageing_us;			/* of bounded LIDs */
	unsigned threads;			/* 0: one per core */
};

/* enum ar_lid_state of LIDs that have a group on such a switch: AR_STATIC where nothing may be
 * spread, or where it cannot be told what may not. */
uint8_t
adaptive_mode(const struct adaptive_input *in, const struct adaptive_ability *can);

/* The section; without any switch in it, if none is able. The caller has the reference. */
struct plan_adaptive *
adaptive_make(const struct adaptive_input *in);

/* What there is of it, for people. */
struct adaptive_summary {
	uint32_t switches;	/* that route adaptively */
	uint32_t groups;	/* in use, of all of them */
	uint32_t most;		/* in use at one switch */
	uint32_t left_out;	/* sets that found no number */
	uint32_t cut;		/* groups that would not have been safe */
};
struct adaptive_summary
adaptive_sum(const struct plan_adaptive *a);

/*
 * The proof of groups beside rows that are proved. Every port of every group that some entry uses
 * is taken as a way for all packets that may meet it: it must lead to a switch that knows the
 * destination, no packet may come back to where it was, and what waits for what, on whichever
 * mixture of rows and groups, must not close a circle. Returns 0 or ERR_REFUSED with a sentence;
 * *at, unless NULL, gets the switch whose groups are at fault (or FABRIC_NONE).
 */
int
check_adaptive(const struct plan *plan, const struct plan_adaptive *a, unsigned threads,
	       uint32_t *at, struct error *e);
/* The same, and *faults gets which entries it is the fault of, if that is known; if not, and *at is
 * FABRIC_NONE, it may be that of any. */
int
check_adaptive_faults(const struct plan *plan, const struct plan_adaptive *a, unsigned threads,
		      uint32_t *at, struct depend_faults *faults, struct error *e);

#endif
