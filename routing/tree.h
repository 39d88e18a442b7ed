/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_TREE_H
#define ROUTING_TREE_H

#include "routing/engine.h"
#include "routing/nominal.h"

/*
 * The tree that engine fattree routes. Its vertices are the switches of the nominal fabric (ghosts
 * of lost ones too) in order of GUID. All in `struct tree` follows from the nominal fabric and the
 * configured roots alone, so it stays when something fails; what is there today is in `struct
 * tree_state`.
 */
#define TREE_FAR UINT8_MAX	/* a cost: no way */
#define TREE_LONGEST 250u	/* other costs are at most that; a packet may cross 64 switches */

/* Parallel cables from one switch to another. Groups of a switch stand in candidate order. */
struct tree_group {
	uint32_t to;		/* vertex behind */
	uint32_t link;		/* first of its links */
	uint8_t len;		/* links */
	bool above;		/* `to` is nearer to the roots: one of the usual ways up */
};

struct tree {
	uint32_t refs;			/* atomic */
	const struct fabric *f;		/* the nominal fabric; reference held */
	uint32_t n;			/* vertices: its switches */
	uint32_t *first;		/* by vertex, n + 1: where its groups start */
	struct tree_group *groups;	/* all of them */
	uint32_t nlinks;		/* twice the cables between switches */
	uint8_t *out;			/* by link: port number */
	uint16_t *level;		/* by vertex: distance from the roots */
	uint16_t levels;		/* how many there are */
	uint16_t *rank;			/* by vertex: up*-down* order of the nominal fabric */
	uint32_t *place;		/* by vertex: topological order, see lineup.h */
	uint32_t *divider;		/* by vertex: ways that lead up to it from one host, >= 1 */
	uint8_t *nabove;		/* by vertex: groups that lead above */
	uint8_t *nested;		/* by vertex: some switch below it leads down to hosts */
	struct plan_roots *roots;	/* configured ones that it was made from, NULL */
};

/* The fabric as it is. Indexed like the tree. */
struct tree_state {
	uint32_t *sw;		/* by vertex: switch index, FABRIC_NONE for ghosts */
	uint32_t *vertex;	/* by switch index */
	uint8_t *up;		/* by link: 1 if it works */
	uint32_t *rate;		/* by link: Mbit/s */
	uint8_t *nup;		/* by group: links that work */
	uint16_t *rank;		/* by vertex: today's order, the tree's as a rule */
	uint8_t *uneven;	/* by vertex: links of different rates carry its packets */
	uint32_t nlost;		/* cables between switches that do not work */
	bool whole;		/* the nominal fabric: nothing is lost and the order is equal */
};

/* ERR_* if the roots are not there or the tree is too deep. */
int
tree_new(const struct engine_input *in, struct tree **tree, struct error *e);
struct tree *
tree_ref(struct tree *t);
void
tree_unref(struct tree *t);	/* NULL is allowed */

/* Is a pair of vertices connected upwards in this order? */
static inline bool
tree_up(const uint16_t *rank, uint32_t from, uint32_t to)
{
	return rank[to] != rank[from] ? rank[to] < rank[from] : to < from;
}

int
tree_state_find(const struct tree *t, const struct engine_input *in, struct tree_state *s,
		struct error *e);
/* Do links that work differ in rate among the usual ways up of a vertex, or within a group? */
bool
tree_is_uneven(const struct tree *t, const struct tree_state *s, uint32_t v);
void
tree_state_free(struct tree_state *s);
/* Vertices from the bottom of an order to its top (mem_array). */
uint32_t *
tree_upwards(const struct tree *t, const uint16_t *rank);

/*
 * Costs: links on the shortest way from each vertex to each (home) vertex that climbs and then
 * descends. A switch that others above send to must go down, and has that way's cost.
 */
struct tree_row {
	uint32_t refs;		/* atomic; rows are shared where nothing changed */
	uint8_t *any;		/* by home: the cost, TREE_FAR */
	uint8_t down[];		/* by home: the cost if it goes down, else TREE_FAR */
};

struct tree_costs {
	uint32_t refs;		/* atomic */
	uint32_t n;		/* rows */
	uint32_t width;		/* entries of each half of a row, a multiple of TREE_STRIP */
	struct tree_row **row;	/* by vertex */
	uint8_t *some;		/* by block of homes, then vertex: 0: all down[] is TREE_FAR */
	uint8_t *odd;		/* by home: 1: somebody climbs who has a way down, or must not */
};

#define TREE_STRIP 64u		/* rows hold multiples of so many costs */
#define TREE_BLOCK (8u * TREE_STRIP)	/* homes that are summed at a time */

/* With `s` NULL those of the nominal fabric. With `column` not NULL those to `ncolumns` homes only:
 * by vertex, the place of its costs in a row, or FABRIC_NONE. */
struct tree_costs *
tree_costs_new(const struct tree *t, const struct tree_state *s, const uint32_t *column,
	       uint32_t ncolumns, unsigned threads);
/*
 * From costs to those of another state with the same order. A home's costs can only have changed
 * where it is odd, or where the cost of a vertex whose links changed (touched[]) does not follow
 * from its neighbours' any more: such homes are marked in changed[].
 */
void
tree_costs_changes(const struct tree *t, const struct tree_state *s, struct tree_costs *old,
		   const uint8_t *touched, uint8_t *changed);
/* `old` with the costs to homes[] replaced by `columns`. differs[v * nhomes + i]: did that to
 * homes[i] change at vertex v? Rows are shared where nothing did. */
struct tree_costs *
tree_costs_patch(const struct tree *t, const struct tree_costs *old,
		 const struct tree_costs *columns, const uint32_t *homes, uint32_t nhomes,
		 uint8_t *differs, unsigned threads);
struct tree_costs *
tree_costs_ref(struct tree_costs *c);
void
tree_costs_unref(struct tree_costs *c);	/* NULL is allowed */

/*
 * Numbers of destinations. Ways are chosen by the digits of a destination's number, so neighbours
 * in the topological order must differ in their lowest digits. Each class of nodes is numbered by
 * itself, so are hosts that hang above the leaves, and the switches.
 */
struct tree_run {
	uint16_t lid;		/* first of some LIDs in a row */
	uint16_t len;		/* how many */
};

struct tree_numbers {
	uint32_t refs;		/* atomic */
	uint32_t *number;	/* by LID */
	uint16_t *order;	/* LIDs by class, then number */
	uint32_t len;		/* how many */
	uint32_t *first;	/* by home vertex, n + 1: where its runs start */
	struct tree_run *runs;	/* all LIDs in use, by home */
	uint32_t *homes;	/* all vertices: those that have seats of hosts, in topological
				 * order, then the others */
	uint32_t *ordinal;	/* by vertex: its place there */
	uint32_t nseated;	/* how many have seats */
	uint32_t *span;		/* by vertex: seated homes from the first below it to the last */
	uint32_t *turn;		/* by vertex: such spans before its own */
	uint32_t nhosts;	/* ports of hosts that have a LID */
	uint32_t nleaves;	/* vertices that have such */
};

struct tree_numbers *
tree_numbers_new(const struct tree *t, const struct tree_state *s, const struct engine_input *in);
struct tree_numbers *
tree_numbers_ref(struct tree_numbers *n);
void
tree_numbers_unref(struct tree_numbers *n);	/* NULL is allowed */

#endif
