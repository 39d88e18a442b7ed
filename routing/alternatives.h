/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_ALTERNATIVES_H
#define ROUTING_ALTERNATIVES_H

#include "sm/fabric/adaptive.h"
#include "sm/fabric/plan.h"

/*
 * Which ports besides that of a row a packet may take: the candidate sets that groups of adaptive
 * routing are made of (routing/adaptive.h). They are told as groups are, numbered from 1 as they
 * were found, each set once, sets of one port not at all.
 *
 * A function of a plan whose rows are proved. out[sw] is set for the switches in wanted[] that have
 * sets; the caller has the references.
 */
typedef void (*alternatives_fn)(const struct plan *plan, const bool *wanted, unsigned threads,
				struct plan_ar_switch **out);

/*
 * For plans with ranks, where ways climb and then descend. While any descent leads to the home
 * switch all ports of the shortest descents; else all ports of the shortest ways that climb first.
 * Where an entry of the row climbs although there is a descent nobody is let down to that switch,
 * so that no mixture of rows and groups turns up again. Homes are the switches with hosts.
 */
void
alternatives_ranked(const struct plan *plan, const bool *wanted, unsigned threads,
		    struct plan_ar_switch **out);

/* For all others: the parallel cables of the same rate to the next switch. Packets cross the same
 * switches as by the rows. */
void
alternatives_parallel(const struct plan *plan, const bool *wanted, unsigned threads,
		      struct plan_ar_switch **out);

/*
 * For engines whose lanes tell ways apart: all ports that lead as near to the home switch as that
 * of the row, by the ways of the rows, over cables of the same rate and on the same lanes,
 * whichever port packets come in by. Where the rows' ways of LIDs of one home are not of one
 * length, the home has no set. A switch without hosts has no choice of those with hosts to pass
 * over. Homes are the switches with hosts.
 */
void
alternatives_ways(const struct plan *plan, const bool *wanted, unsigned threads,
		  struct plan_ar_switch **out);

/* For plans whose engine gives them (plan->offered): those ports of its sets whose cables are
 * open. */
void
alternatives_offered(const struct plan *plan, const bool *wanted, unsigned threads,
		     struct plan_ar_switch **out);

/* Cables of a switch that data may leave by: an edge whose far end has a row. */
bool
alternatives_open(const struct plan *plan, const struct fabric_edge *e);

/* The number in `s` of a set, its sub-groups as many as `s` has; added if it is new. */
uint16_t
alternatives_set(struct plan_ar_switch *s, const struct ar_ports *ports);

#endif
