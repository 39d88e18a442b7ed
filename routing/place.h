/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_PLACE_H
#define ROUTING_PLACE_H

#include "routing/balance.h"
#include "routing/levels.h"

/* Between balance.c, which prepares and schedules, and place.c, which chooses. */
#define PLACE_LOAD_UNIT 32u	/* load of one destination on the fastest link */
#define PLACE_COLUMNS 64	/* LIDs between two visits to the rows */

/* Whose turn it is among the edges of a switch that no host's packets use. */
struct turn {
	uint32_t tree;		/* serial number of the tree that the rest is about */
	uint32_t next;		/* place in its list of edges */
	uint32_t least;		/* fewest entries of an edge, after the choice, when last looked */
};

/* Which of the edges that a switch was offered last have the least load. */
struct ties {
	uint32_t first;		/* first edge offered */
	uint32_t last;		/* last one */
	uint32_t offered;	/* how many */
	uint32_t tree;		/* serial number of the tree that offered them */
	uint32_t chosen;	/* place of the edge chosen for the present destination */
	uint32_t len;		/* those with the least load, in the switch's part of tied[] */
};

/* One kind of LIDs, those of channel adapters or those of switches. Loads are counted for each by
 * itself, and each has a thread for itself. */
struct stream {
	uint32_t *after;	/* by edge: its load if one more destination took it */
	uint64_t *flow;		/* by edge: flows across it, times fastest rate / rate, shifted */
	uint32_t *entries;	/* by edge: as load, of all entries, used or not */
	const uint32_t *sources;	/* by switch: who sends from there and counts; borrowed */
	struct ties *ties;	/* by switch */
	uint32_t *tied;		/* room for edges, as many as each switch has */
	uint64_t *key;		/* by switch: worth of its way to the present destination */
	struct turn *turn;	/* by switch */
	uint32_t *choice;	/* by switch: edge chosen for the present destination */
	uint32_t *inflow;	/* by switch: sources whose packets to it come by here */
	uint8_t *columns;	/* entries of the latest LIDs: PLACE_COLUMNS by nswitches */
	uint16_t column_lid[PLACE_COLUMNS];	/* which LIDs */
	unsigned ncolumns;	/* how many */
	struct balance_tree tree;	/* ways to the present destination */
	uint32_t home;		/* home switch of the tree, FABRIC_NONE */
	uint8_t *exits;		/* by switch: exits of the present LID; NULL: all are free */
	uint8_t *tree_exits;	/* those that the tree was built for */
};

struct balance {
	const struct engine_input *in;	/* what is routed */
	const struct fabric *f;		/* in->fabric */
	struct plan_row **rows;		/* by switch; NULL: silent, not ours to fill */
	const struct balance_trees *trees;	/* the engine's */
	uint32_t *to;			/* by edge: switch it leads to */
	uint32_t *step;			/* by edge: load that one destination adds */
	uint32_t *edge_at;		/* by port index: the edge that leaves there, FABRIC_NONE */
	uint16_t *label;		/* by switch */
	bool *parallel;			/* by switch: keys of its edges may be equal */
	uint32_t *sources;		/* by switch: hosts' ports on it */
	uint32_t *ones;			/* by switch: 1, its management port */
	uint32_t *prev_sw;		/* by switch: index in the previous plan; NULL: no plan */
	uint8_t *out;			/* by edge: its out port */
	struct stream streams[2];	/* for LIDs of channel adapters; of switches */
};

struct item {
	uint32_t home;		/* switch index */
	uint16_t lid;
	uint8_t out;		/* port at the home switch, 0: the switch itself */
	uint8_t offset;		/* within the LIDs of one port */
};

/* Choose the edges of all switches for one LID, along the ways that s->tree offers. */
void
place_lid(const struct balance *b, struct stream *s, const struct item *it);
/* What was placed last may still be on its way to the rows: put it there. */
void
place_flush(const struct balance *b, struct stream *s);

#endif
