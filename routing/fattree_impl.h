/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_FATTREE_IMPL_H
#define ROUTING_FATTREE_IMPL_H

#include "routing/ranks.h"
#include "routing/tree.h"

/* Between fattree.c, which decides what is done, fattree_fill.c, which fills tables, and
 * fattree_repair.c, which changes them. */

/* The fabric as it should be or as it is: what is a way, and where it leads. */
struct fattree_view {
	const struct tree_costs *costs;
	const uint16_t *rank;	/* by vertex: the order */
	const uint8_t *nup;	/* by group: links that count; NULL: all */
	const uint8_t *up;	/* by link: does it count; NULL: all do */
};

/* A choice among `slots` ways by the digit behind `divider`, for all LIDs. */
struct fattree_digits {
	uint32_t divider;
	uint32_t slots;
	uint8_t *slot;		/* by LID; LFT_NO_PORT: not in use */
};

struct fattree {
	const struct engine_input *in;		/* what is routed */
	struct tree *t;				/* the tree */
	struct tree_numbers *numbers;		/* of destinations */
	struct tree_state s;			/* as it is */
	struct tree_costs *nominal;		/* costs as they should be */
	struct tree_costs *live;		/* costs as they are */
	bool full;				/* as asked for: route for what is there only */
	bool repaired;				/* from the last run's; rows are shared */
	bool apart;				/* some switches have no way to others */
	char roots[400];			/* for people: where the order begins; "" */
	bool no_tree;				/* hosts hang everywhere: balance instead */
	unsigned threads;			/* resolved number */
	uint32_t row_len;			/* entries of a table */
	struct fattree_digits *digits;		/* all that are needed */
	uint32_t ndigits;			/* how many */
	uint32_t *digits_of;			/* by vertex: which for its usual ways up */
	struct plan_row **rows;			/* by vertex: what comes out */
	uint8_t **broken;			/* by vertex, then home: 1: a nominal way is not
						 * what it should be; NULL: none such */
	struct fattree_spill **spill;		/* by vertex: what goes another way; NULL: none */
};

/* A destination, or several that have the same choice, that goes another way than it should. */
struct fattree_spilt {
	uint16_t at;			/* ordinal of its home */
	uint8_t out;			/* port that it takes instead */
	bool rare;			/* all ways are longer than they should be: others mostly
					 * have better ones, and send here little */
};

/* Those of one vertex, in order of `at`; constant once it is filled. */
#define FATTREE_STEP 16u		/* homes for each place of the index */
struct fattree_spill {
	uint32_t refs;			/* atomic */
	uint32_t len;			/* how many */
	uint32_t room;			/* for how many there is room */
	struct fattree_spilt *m;	/* they */
	uint32_t *index;		/* by FATTREE_STEP homes: where theirs start */
};

/* Ways from a vertex to a home. */
struct fattree_ways {
	uint32_t len;			/* links */
	uint32_t link[UINT8_MAX + 1];	/* they, in order of choice */
	uint8_t of[UINT8_MAX + 1];	/* by place there: the group's place in group[] */
	uint32_t ngroups;		/* groups that they belong to */
	uint32_t group[UINT8_MAX + 1];	/* those, in rising order */
};

/* What a number leads to at a vertex, for one home. */
struct fattree_choice {
	uint32_t slots;			/* nominal ways; 0: there are none to keep to */
	uint8_t out[UINT8_MAX + 1];	/* by slot: its port, LFT_NO_PORT: it is no way now */
	uint8_t lost[UINT8_MAX + 1];	/* by slot: such before it */
	uint32_t left;			/* ways that there are */
	uint8_t other[UINT8_MAX + 1];	/* their ports */
	bool good[UINT8_MAX + 1];	/* scratch */
};

/* Of the costs of one home: by vertex. */
struct fattree_column {
	const uint8_t *any;
	const uint8_t *down;
};

/* The usual ways up as ports for all LIDs: those of switches that are cabled alike are the same. */
#define FATTREE_ABOVES 48u	/* kept by one thread */
struct fattree_above {
	uint32_t digits;		/* by which; FABRIC_NONE: nothing is kept */
	uint8_t out[UINT8_MAX + 1];	/* port of each way */
	uint8_t *port;			/* row_len entries; NULL: nothing was ever kept */
};

struct fattree_work {
	uint8_t *bytes;				/* scratch by home */
	struct fattree_above above[FATTREE_ABOVES];
	uint32_t next;				/* place of above[] that is given up next */
};

/* What a run leaves for the next one. */
struct fattree_memo {
	struct tree *t;			/* as in struct fattree, all references held; NULL: this
					 * and all but `full` is of no use to the next */
	struct tree_numbers *numbers;	/* likewise */
	struct tree_state s;		/* likewise, for the snapshot of the plan */
	struct tree_costs *nominal;	/* likewise */
	struct tree_costs *live;	/* likewise */
	struct fattree_spill **spill;	/* likewise, by vertex of `t` */
	bool full;			/* likewise */
	bool apart;			/* likewise */
	uint8_t *node_class;		/* as it was configured; NULL */
	char roots[400];		/* as in struct fattree */
};

/* What changed since. */
struct fattree_changes {
	uint32_t *port;		/* indices of ports with a link between switches that did */
	uint32_t len;		/* how many */
};

/* NULL if there is no use for it. Takes ft->s away. */
struct plan_memo *
fattree_memo_make(struct fattree *ft);
/* The last run's; NULL. */
const struct fattree_memo *
fattree_memo_of(const struct engine_input *in);
/* Is it of use? The caller frees c->port in any case. */
bool
fattree_memo_fits(const struct engine_input *in, struct fattree_changes *c);
/* Fill ft->rows and what belongs to it from the last run; false if it cannot be done so. */
bool
fattree_repair(struct fattree *ft);
/* Sets ft->full: it stays from when it is asked for until nothing is lost any more. */
void
fattree_decide(struct fattree *ft);

static inline struct fattree_view
fattree_nominal(const struct fattree *ft)
{
	return (struct fattree_view){ .costs = ft->nominal, .rank = ft->t->rank };
}

static inline struct fattree_view
fattree_live(const struct fattree *ft)
{
	return (struct fattree_view){ .costs = ft->live, .rank = ft->s.rank, .nup = ft->s.nup,
				      .up = ft->s.up };
}

/* What a vertex has to pay to one home. */
struct fattree_cost {
	uint8_t any;
	uint8_t down;
};

static inline struct fattree_cost
fattree_cost(const struct tree_costs *c, uint32_t v, uint32_t home)
{
	return (struct fattree_cost){ c->row[v]->any[home], c->row[v]->down[home] };
}

/* Is a group a way, by the costs of its two ends? */
static inline bool
fattree_is_way(struct fattree_cost here, struct fattree_cost there, bool up)
{
	if (here.any == TREE_FAR)
		return false;
	if (!up)
		return there.down + 1u == here.any;
	return here.down == TREE_FAR && there.any + 1u == here.any;
}

/* The digits of the numbers that tables choose by, for vertices that are marked; NULL: all. */
void
fattree_digits_make(struct fattree *ft, const uint8_t *wanted);
void
fattree_digits_free(struct fattree *ft);
/* What a thread needs to fill tables, one for each (mem_array); free it before the digits. */
struct fattree_work *
fattree_work_new(const struct fattree *ft);
void
fattree_work_free(const struct fattree *ft, struct fattree_work *work);
/* Room for tables and what belongs to them. */
void
fattree_rows_new(struct fattree *ft);
/* The table of one vertex into `port` (row_len entries), but for homes that are broken. These are
 * left as they should be, and put into ft->broken[v]. */
void
fattree_fill(const struct fattree *ft, uint32_t v, uint8_t *port, struct fattree_work *work);
/* Entries that cannot be as they should, in all tables. */
void
fattree_spread(struct fattree *ft);
/* From here on for one vertex: whatever is broken at it; those above it must be done. */
void
fattree_spread_vertex(struct fattree *ft, uint32_t v);
/* The same from what the last run spilt there. `homes` (`nhomes`, in order of ordinals): to which
 * ways may have changed; `near`: see fattree_near(). Returns its own such set. */
uint64_t
fattree_spread_again(struct fattree *ft, uint32_t v, const struct fattree_spill *old,
		     const uint32_t *homes, uint32_t nhomes, uint64_t near);
/* A set of homes, coarsely: those that see what changed at `v` to the home with this ordinal. */
uint64_t
fattree_near(const struct fattree *ft, uint32_t v, uint32_t at);
/* Vertices from the top of today's order down; first[i] (nranks + 1): where the i-th rank starts.
 * Both are mem_array. Returns nranks. */
uint32_t
fattree_ranked(const struct fattree *ft, uint32_t **downwards, uint32_t **first);
bool
fattree_spill_equal(const struct fattree_spill *a, const struct fattree_spill *b);
struct fattree_spill *
fattree_spill_ref(struct fattree_spill *s);	/* NULL is allowed */
void
fattree_spill_free(struct fattree_spill **spill, uint32_t n);	/* by vertex */
/* The same where links differ in rate. */
void
fattree_fill_uneven(const struct fattree *ft, uint32_t v, uint8_t *port);
/* The entries of the LIDs that are at home at `v`. */
void
fattree_fill_own(const struct fattree *ft, uint32_t v, uint8_t *port);
/* LIDs for which silent switches do otherwise are routed around them; out->rows are filled. */
void
fattree_heed_silent(const struct fattree *ft, struct engine_output *out, const struct ranks *r);
/* What was found, for people. */
void
fattree_describe(struct fattree *ft, const struct ranks *r, char *note, size_t size);
/* The ways of one vertex to one home, from `costs` of the vertex and its neighbours. */
void
fattree_find_ways(const struct fattree *ft, const struct fattree_view *view, uint32_t v,
		  uint32_t home, struct fattree_ways *w);
/* From the ways that should be (none: only those that are count) and those that are. */
void
fattree_find_choice(const struct fattree *ft, const struct fattree_ways *nominal,
		    const struct fattree_ways *live, struct fattree_choice *c);

/* The entry for a number without the digits that were used up below. */
static inline uint8_t
fattree_choose(const struct fattree_choice *c, uint32_t q)
{
	uint32_t slot = c->slots ? q % c->slots : 0;

	if (!c->left)
		return LFT_NO_PORT;
	if (c->slots && c->out[slot] != LFT_NO_PORT)
		return c->out[slot];
	/* Neighbours whose ways are lost too differ in nothing but their slot. */
	return c->other[(c->slots ? q / c->slots + c->lost[slot] : q) % c->left];
}

#endif
