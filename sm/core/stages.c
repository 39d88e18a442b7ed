/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the tables that switches hold to those of a plan: in which order entries may change.
 *
 * Packets meet any mixture of old and new entries while blocks are written. Old entries that lead
 * into a link that is down carry nothing and are waited for by nobody: they are in no mixture.
 * Where both old and new ways go up and then down by the same ranks, or nearly, entries that could
 * make a packet turn up again are dropped first (drop_turns): after a fault they are those that
 * lead down towards what is lost. So are entries behind them that still work, until the answers are
 * in: packets under way end there, and nobody need wait for them. What is left mixes, by the order
 * of the ranks itself.
 *
 * Else, if all mixtures are free of deadlock by the graph of what waits for what, everything is
 * written at once. Or entries change nearest to their destination first, so that a changed entry
 * leads to changed ones only; each step's mixture is proved in turn, if the fabric is small enough
 * for that. Where nothing helps, entries that change are dropped first and the packet lifetime is
 * waited out.
 *
 * Where packets pass by tables from service levels to lanes that are to change, ways must go
 * together whatever lanes packets are on, as those of trees do. Else there is no mixture to prove:
 * all ways between switches are taken away first (clear).
 *
 * Multicast trees stand while unicast tables change, and are in all of these proofs; where they do
 * not go with the rest, and where entries are dropped and waited for, they are taken away before.
 *
 * In any case entries that lead nowhere now are written before others that will lead to them
 * (lead_first).
 *
 * Steps hold rows of those switches alone whose tables change in them.
 */
#include "sm/core/planner.h"

#include <stdio.h>
#include <string.h>
#include "routing/check.h"
#include "sm/base/mem.h"
#include "sm/core/lanes.h"

#define LEVEL_FAR 255	/* no way, or none that ends */
#define UNRANKED UINT16_MAX	/* a switch that was not there */
#define TURNED_PART 8		/* ranks are nearly the same if one link in so many is turned */
#define LEVELS_AREA (UINT32_C(1) << 21)	/* entries of all tables up to which levels are tried */

/* What is looked at. */
struct transition {
	struct plan_job *j;		/* whose stages are made */
	const struct fabric *f;		/* links as they are, whatever routing makes of them */
	uint32_t n;			/* switches */
	uint16_t top;			/* highest LID */
	uint16_t last;			/* highest that some old table may have an entry for */
	struct plan_row **old;		/* by switch: what it holds; the new row if that is not
					 * known or does not change; of a silent one what else it
					 * may hold */
	struct plan_row *const *new;	/* by switch */
	uint32_t *changed;		/* switches whose rows change */
	uint32_t nchanged;		/* how many */
	uint32_t *to;			/* by port index: switch behind, FABRIC_NONE */
	bool ranked;			/* links lead up as they did before, all or nearly all */
	bool reranked;			/* some lead up that led down, or the other way round */
};

/*
 * Stages.
 */
void
plan_stages_free(struct plan_stages *st)
{
	for (unsigned i = 0; st && i < st->len; i++) {
		for (uint32_t sw = 0; sw < st->nswitches; sw++)
			plan_row_unref(st->rows[i][sw]);
		mem_free(st->rows[i]);
	}
	mem_free(st);
}

static struct plan_stages *
stages_new(uint32_t nswitches, unsigned len)
{
	struct plan_stages *st = mem_zalloc(sizeof(*st));

	st->nswitches = nswitches;
	st->len = len;
	for (unsigned i = 0; i < len; i++)
		st->rows[i] = mem_array(nswitches, sizeof(struct plan_row *));
	return st;
}

/*
 * Changes.
 */
/* The table of the switch changes, and what it holds now is known. */
static bool
row_changes(const struct plan_job *j, uint32_t sw)
{
	const struct plan_row *old = j->shadow->rows[sw], *new = j->plan->rows[sw];

	return old && new && old != new && !j->plan->fixed[sw];
}

static void
transition_init(struct transition *t, struct plan_job *j)
{
	const struct fabric *f = j->whole ? j->whole : j->plan->fabric;

	*t = (struct transition){
		.j = j, .f = f, .n = f->nswitches, .top = j->plan->lids->top, .new = j->plan->rows,
		.old = mem_array(f->nswitches, sizeof(struct plan_row *)),
		.changed = mem_array(f->nswitches, sizeof(uint32_t)),
		.to = mem_array(f->nports, sizeof(uint32_t)),
	};
	t->last = t->top;
	for (uint32_t sw = 0; sw < t->n; sw++) {
		bool changes = row_changes(j, sw);

		t->old[sw] = changes ? j->shadow->rows[sw] : t->new[sw];
		if (j->maybe && j->maybe[sw])
			t->old[sw] = j->maybe[sw];
		if (!changes)
			continue;
		t->changed[t->nchanged++] = sw;
		if (t->old[sw]->len > t->last)
			t->last = (uint16_t)(t->old[sw]->len - 1);
	}
	memset(t->to, 0xff, f->nports * sizeof(*t->to));
	for (uint32_t sw = 0; sw < t->n; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
			t->to[fabric_switch_node(f, sw)->first_port + f->edges[e].out] =
				f->edges[e].to;
}

static void
transition_end(struct transition *t)
{
	mem_free(t->old);
	mem_free(t->changed);
	mem_free(t->to);
}

/* The switch behind a port, FABRIC_NONE if there is none or the link is down. */
static inline uint32_t
behind(const struct transition *t, uint32_t sw, uint8_t out)
{
	const struct fabric_node *n = fabric_switch_node(t->f, sw);

	return out <= n->nports ? t->to[n->first_port + out] : FABRIC_NONE;
}

/* The next LID, from `lid` on, for which the tables of a switch differ; above last: none. */
static uint32_t
next_change(const struct transition *t, uint32_t sw, uint32_t lid)
{
	const struct plan_row *old = t->old[sw], *new = t->new[sw];

	while (lid <= t->last) {
		uint32_t at = lid / LFT_BLOCK_LEN, block = plan_row_differs(old, new, at);

		if (block < at)
			break;		/* behind the end of both */
		if (block > at)
			lid = block * LFT_BLOCK_LEN;
		for (; lid <= t->last && lid / LFT_BLOCK_LEN == block; lid++)
			if (plan_row_port(old, lid) != plan_row_port(new, lid))
				return lid;
	}
	return t->last + 1;
}

/*
 * Proofs.
 */
/* Multicast trees of the switches stand meanwhile: if all but them goes together they must go. */
static bool
goes_together(const struct transition *t, struct check_input *in, struct plan_check *report)
{
	in->trees = t->j->trees.trees;
	in->ntrees = t->j->withdraw ? 0 : t->j->trees.len;
	*report = (struct plan_check){0};
	if (!check_union(in, report))
		return true;
	if (!in->ntrees)
		return false;
	in->ntrees = 0;
	*report = (struct plan_check){0};
	if (check_union(in, report))
		return false;
	t->j->withdraw = true;
	return true;
}

static bool
mix(const struct transition *t, struct plan_row **one, struct plan_check *report)
{
	const struct plan *p = t->j->plan;
	struct check_input in = {
		.fabric = t->f, .lids = p->lids, .lanes = p->lanes, .threads = t->j->threads,
		.rows = p->rows, .also = one, .ranks = p->ranks,
		.proved = p->proof && t->f == p->fabric ? p->rows : NULL,
	};

	return goes_together(t, &in, report);
}

/* What switches hold after the first step: its rows, else what they held before. */
static struct plan_row **
rows_after(const struct transition *t, unsigned stage)
{
	struct plan_row **rows = mem_array(t->n, sizeof(struct plan_row *));

	for (uint32_t sw = 0; sw < t->n; sw++) {
		rows[sw] = t->old[sw];
		for (unsigned i = 0; i <= stage; i++)
			if (t->j->stages->rows[i][sw])
				rows[sw] = t->j->stages->rows[i][sw];
	}
	return rows;
}

/*
 * Dropping what could turn up.
 */
static inline bool
leads_up(const struct transition *t, uint32_t from, uint32_t to)
{
	const uint8_t *rank = t->j->plan->ranks;

	return to != FABRIC_NONE &&
	       (rank[to] != rank[from] ? rank[to] < rank[from] : to < from);
}

static inline bool
leads_down(const struct transition *t, uint32_t from, uint32_t to)
{
	return to != FABRIC_NONE && to != from && !leads_up(t, from, to);
}

static void
drop(struct transition *t, uint32_t sw, uint32_t lid)
{
	struct plan_row **row = &t->j->stages->rows[0][sw];

	if (plan_row_port(t->old[sw], lid) == plan_row_port(t->new[sw], lid))
		return;
	if (!*row)
		*row = plan_row_resized(t->old[sw], t->last);
	plan_row_set(row, lid, LFT_NO_PORT);
}

/* Nobody has the LID any more. */
static bool
is_gone(const struct transition *t, uint32_t lid)
{
	return lid > t->top || t->j->plan->lids->dest[lid].port == FABRIC_NONE;
}

/* Does this entry of a table, old or new, lead up? */
static bool
is_up(const struct transition *t, struct plan_row *const *rows, uint32_t sw, uint32_t lid)
{
	return leads_up(t, sw, behind(t, sw, plan_row_port(rows[sw], lid)));
}

/* Some switch above sends the LID down to this one. */
static bool
comes_from_above(const struct transition *t, uint32_t sw, uint32_t lid)
{
	for (uint32_t e = t->f->edge_first[sw]; e < t->f->edge_first[sw + 1]; e++) {
		const struct fabric_edge *edge = &t->f->edges[e];

		if (leads_up(t, sw, edge->to) &&
		    plan_row_port(t->new[edge->to], lid) == edge->in)
			return true;
	}
	return false;
}

/* An entry of `sw` changes: of it and those that it leads to, the old ones that do not mix go. */
static void
drop_around(struct transition *t, uint32_t sw, uint32_t lid)
{
	uint32_t was = behind(t, sw, plan_row_port(t->old[sw], lid));
	uint32_t will = behind(t, sw, plan_row_port(t->new[sw], lid));

	if (leads_down(t, sw, was) && is_up(t, t->new, was, lid)) {
		drop(t, sw, lid);
		drop(t, was, lid);
	}
	if (leads_down(t, sw, will) && is_up(t, t->old, will, lid))
		drop(t, will, lid);
	if (!t->reranked && !is_gone(t, lid))
		return;
	/* Old ways may turn by what the order is now, or by what a port is cabled to now. */
	if (was == sw || (leads_down(t, sw, was) && is_up(t, t->old, was, lid)))
		drop(t, sw, lid);
	if (leads_up(t, sw, was) && comes_from_above(t, sw, lid))
		drop(t, sw, lid);
}

/* By switch: the rank that it had, or UNRANKED. NULL if the old plan had none. */
static uint16_t *
old_ranks(const struct transition *t)
{
	const struct plan *old = t->j->previous;
	const struct fabric *was = old ? old->fabric : NULL;
	uint16_t *rank;

	if (!was || !old->ranks)
		return NULL;
	rank = mem_array(t->n, sizeof(*rank));
	for (uint32_t sw = 0; sw < t->n; sw++) {
		uint32_t node = fabric_node_by_guid(was, fabric_switch_node(t->f, sw)->guid);
		uint32_t then = node == FABRIC_NONE ? FABRIC_NONE : was->nodes[node].sw;

		rank[sw] = then == FABRIC_NONE ? UNRANKED : old->ranks[then];
	}
	return rank;
}

/* The links of both plans' ranks lead up at the same ends, but for a few. */
static void
compare_ranks(struct transition *t)
{
	uint16_t *rank = t->j->plan->ranks ? old_ranks(t) : NULL;
	uint32_t others = 0;

	for (uint32_t sw = 0; rank && sw < t->n; sw++) {
		for (uint32_t e = t->f->edge_first[sw]; e < t->f->edge_first[sw + 1]; e++) {
			uint32_t to = t->f->edges[e].to;
			bool up = rank[to] != rank[sw] ? rank[to] < rank[sw] : to < sw;

			others += rank[sw] != UNRANKED && rank[to] != UNRANKED && to != sw &&
				  up != leads_up(t, sw, to);
		}
	}
	t->reranked = !rank || others > 0;
	t->ranked = rank && others * TURNED_PART <= t->f->nedges;
	mem_free(rank);
}

/* True if what is left of the old tables mixes with the new ones. */
static bool
drop_turns(struct transition *t)
{
	struct plan_check report;
	struct plan_row **left;
	bool mixes, any = false;

	if (!t->ranked)
		return false;
	t->j->stages = stages_new(t->n, 1);
	for (uint32_t i = 0; i < t->nchanged; i++)
		for (uint32_t sw = t->changed[i], lid = next_change(t, sw, 1); lid <= t->last;
		     lid = next_change(t, sw, lid + 1))
			drop_around(t, sw, lid);
	left = rows_after(t, 0);
	mixes = mix(t, left, &report);
	mem_free(left);
	for (uint32_t sw = 0; sw < t->n && mixes && !any; sw++)
		any = t->j->stages->rows[0][sw] != NULL;
	t->j->stages->drops = true;
	if (!any) {
		plan_stages_free(t->j->stages);
		t->j->stages = NULL;
	}
	return mixes;
}

/*
 * Leading nowhere for a while.
 */
enum { ARRIVES = 1, LOST };

/* Where the packets of all switches to a LID end by these tables; each way is walked once. */
static void
find_fates(const struct transition *t, struct plan_row *const *rows, uint32_t lid, uint8_t *fate,
	   uint32_t *way)
{
	const struct plan_dest *d = &t->j->plan->lids->dest[lid];

	memset(fate, 0, t->n);
	fate[d->sw] = plan_row_port(rows[d->sw], lid) == d->out ? ARRIVES : LOST;
	for (uint32_t sw = 0; sw < t->n; sw++) {
		uint32_t len = 0, at = sw;
		uint8_t end;

		while (at != FABRIC_NONE && !fate[at] && len < PLAN_MAX_HOPS) {
			way[len++] = at;
			at = behind(t, at, plan_row_port(rows[at], lid));
		}
		end = at != FABRIC_NONE && fate[at] == ARRIVES ? ARRIVES : LOST;
		while (len)
			fate[way[--len]] = end;
	}
}

/* Does an entry that delivers change to one that leads to a switch which does not deliver yet? */
static bool
is_urgent(const struct transition *t, uint32_t lid, const uint8_t *fate)
{
	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i], next;
		uint8_t out = plan_row_port(t->new[sw], lid);

		if (fate[sw] != ARRIVES || plan_row_port(t->old[sw], lid) == out)
			continue;
		next = behind(t, sw, out);
		if (next != FABRIC_NONE && fate[next] == LOST)
			return true;
	}
	return false;
}

/* All entries for the LID that do not deliver now come into the first set. */
static void
come_first(const struct transition *t, struct plan_row *const *now, struct plan_row **first,
	   uint32_t lid, const uint8_t *fate)
{
	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i];
		uint8_t out = plan_row_port(t->new[sw], lid);

		if (fate[sw] != LOST || plan_row_port(now[sw], lid) == out)
			continue;
		if (!first[sw])
			first[sw] = plan_row_resized(now[sw], t->top);
		plan_row_set(&first[sw], lid, out);
	}
}

static void
mark_lids(const struct transition *t, bool *lids)
{
	for (uint32_t i = 0; i < t->nchanged; i++)
		for (uint32_t sw = t->changed[i], lid = next_change(t, sw, 1); lid <= t->top;
		     lid = next_change(t, sw, lid + 1))
			lids[lid] = t->j->plan->lids->dest[lid].sw != FABRIC_NONE;
}

/* Entries that lead nowhere now are written before others that will lead to them. */
static void
lead_first(struct transition *t)
{
	struct plan_stages *st = t->j->stages;
	struct plan_row **now = st ? rows_after(t, 0) : t->old, **first;
	uint32_t *way = mem_array(PLAN_MAX_HOPS, sizeof(*way));
	bool *lids = mem_array(t->top + 1u, sizeof(*lids)), any = false;
	uint8_t *fate = mem_array(t->n, 1);

	first = mem_array(t->n, sizeof(struct plan_row *));
	mark_lids(t, lids);
	for (uint32_t lid = 1; lid <= t->top; lid++) {
		if (!lids[lid])
			continue;
		find_fates(t, now, lid, fate, way);
		if (!is_urgent(t, lid, fate))
			continue;
		come_first(t, now, first, lid, fate);
		any = true;
	}
	if (any && !st)
		t->j->stages = st = stages_new(t->n, 0);
	if (any)
		st->rows[st->len++] = first;
	else
		mem_free(first);
	if (now != t->old)
		mem_free(now);
	mem_free(way);
	mem_free(lids);
	mem_free(fate);
}

/*
 * Nearest to the destination first.
 */
/* Switches from each switch to the destination by the new tables; a way is walked once. */
static void
find_levels(const struct transition *t, uint32_t lid, uint8_t *level, uint32_t *way)
{
	uint32_t home = t->j->plan->lids->dest[lid].sw;

	memset(level, 0, t->n);
	for (uint32_t sw = 0; sw < t->n; sw++) {
		uint32_t len = 0, at = sw;
		unsigned far = LEVEL_FAR;

		while (at != FABRIC_NONE && at != home && !level[at] && len < PLAN_MAX_HOPS) {
			way[len++] = at;
			at = behind(t, at, plan_row_port(t->new[at], lid));
		}
		if (at != FABRIC_NONE && len < PLAN_MAX_HOPS)
			far = at == home ? 0 : level[at];
		while (len)
			level[way[--len]] = (uint8_t)(far < LEVEL_FAR ? ++far : LEVEL_FAR);
	}
}

/* Whether some known table changes for a LID; its levels are marked as used. */
static bool
mark_levels(const struct transition *t, uint32_t lid, uint8_t *level, uint32_t *way, uint8_t *used)
{
	bool any = false;

	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i];

		if (plan_row_port(t->old[sw], lid) == plan_row_port(t->new[sw], lid))
			continue;
		if (!any)
			find_levels(t, lid, level, way);
		any = true;
		used[level[sw]] = 1;
	}
	return any;
}

/* Each level that is in use gets a set, but the farthest: what is left is the plan itself. */
static unsigned
number_sets(const uint8_t *used, uint8_t *set)
{
	unsigned sets = 0;

	for (unsigned level = 0; level <= LEVEL_FAR; level++) {
		set[level] = (uint8_t)sets;
		sets += used[level];
	}
	return sets ? sets - 1 : 0;
}

static void
fill_stages(struct transition *t)
{
	struct plan_stages *st = t->j->stages;

	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i];

		for (unsigned k = 0; k < st->len; k++)
			st->rows[k][sw] = plan_row_resized(t->old[sw], t->top);
	}
}

/* The sets into which one LID's changed entries come: `set` by level. */
static void
stage_lid(struct transition *t, uint32_t lid, const uint8_t *level, const uint8_t *set)
{
	struct plan_stages *st = t->j->stages;

	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i];

		for (unsigned k = set[level[sw]]; k < st->len; k++)
			plan_row_set(&st->rows[k][sw], lid, plan_row_port(t->new[sw], lid));
	}
}

/* The mixture of the tables before and after each step is proved. */
static bool
stages_proved(struct transition *t)
{
	struct plan_row *const *new = t->new;
	struct plan_row **now = mem_array(t->n, sizeof(struct plan_row *));
	struct plan_check report;
	bool proved = true;

	memcpy(now, t->old, t->n * sizeof(*now));
	for (unsigned i = 0; i <= t->j->stages->len && proved; i++) {
		struct plan_row **then = NULL;
		struct check_input in = {
			.fabric = t->f, .lids = t->j->plan->lids, .lanes = t->j->plan->lanes,
			.threads = t->j->threads, .rows = now, .also = new,
			.ranks = t->j->plan->ranks,
		};

		if (i < t->j->stages->len)
			in.also = then = rows_after(t, i);
		proved = goes_together(t, &in, &report);
		memcpy(now, in.also, t->n * sizeof(*now));
		mem_free(then);
	}
	mem_free(now);
	return proved;
}

/* Sets of rows in which entries change nearest to their destination first. */
static bool
by_levels(struct transition *t)
{
	const struct plan_lids *l = t->j->plan->lids;
	uint8_t *level = mem_array(t->n, 1), used[LEVEL_FAR + 1] = {0}, set[LEVEL_FAR + 1];
	uint32_t *way = mem_array(PLAN_MAX_HOPS, sizeof(*way));
	bool fits = (uint64_t)t->n * t->top <= LEVELS_AREA;
	unsigned len = 0;

	for (uint32_t lid = 1; fits && lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			mark_levels(t, lid, level, way, used);
	if (fits)
		len = number_sets(used, set);
	fits = len > 0 && len <= STAGES_MAX;
	if (fits) {
		t->j->stages = stages_new(t->n, len);
		fill_stages(t);
	}
	for (uint32_t lid = 1; fits && lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE && mark_levels(t, lid, level, way, used))
			stage_lid(t, lid, level, set);
	mem_free(level);
	mem_free(way);
	if (fits && stages_proved(t))
		return true;
	plan_stages_free(t->j->stages);
	t->j->stages = NULL;
	return false;
}

/* The ways of before and after close no circle together, whatever lanes packets are on: what is
 * free of circles with all lanes taken for one, is so on each. */
static bool
goes_on_any_lane(const struct transition *t)
{
	const struct plan *p = t->j->plan;
	struct check_input in = {
		.fabric = t->f, .lids = p->lids, .threads = t->j->threads, .rows = p->rows,
		.also = t->old, .ranks = p->ranks,
	};
	struct plan_check report;

	return lanes_run(t->j) && goes_together(t, &in, &report);
}

/* All that leads to other switches is dropped, and the packets on their way waited for, before SL
 * to VL maps change. */
static void
clear(struct transition *t)
{
	t->j->stages = stages_new(t->n, 1);
	t->j->stages->drops = t->j->stages->drain = t->j->stages->shifts = true;
	t->j->withdraw = t->j->trees.len > 0;
	for (uint32_t sw = 0; sw < t->n; sw++) {
		struct plan_row **row = &t->j->stages->rows[0][sw], *old = t->j->shadow->rows[sw];

		if (!old || t->j->plan->fixed[sw])
			continue;
		for (uint32_t lid = 1; lid < old->len; lid++) {
			if (behind(t, sw, plan_row_port(old, lid)) == FABRIC_NONE)
				continue;
			if (!*row)
				*row = plan_row_resized(old, (uint16_t)(old->len - 1));
			plan_row_set(row, lid, LFT_NO_PORT);
		}
	}
}

/* Old entries that stay, and "drop" where they change: a subset of both tables. */
static void
drain(struct transition *t)
{
	t->j->stages = stages_new(t->n, 1);
	t->j->stages->drops = t->j->stages->drain = true;
	t->j->withdraw = t->j->trees.len > 0;
	for (uint32_t i = 0; i < t->nchanged; i++) {
		uint32_t sw = t->changed[i];
		struct plan_row *row = plan_row_resized(t->old[sw], t->last);

		for (uint32_t lid = next_change(t, sw, 1); lid <= t->last;
		     lid = next_change(t, sw, lid + 1))
			plan_row_set(&row, lid, LFT_NO_PORT);
		t->j->stages->rows[0][sw] = row;
	}
}

/*
 * LIDs that nobody has any more. Packets to them go on by the old tables until these are changed,
 * and are in none of the proofs above. Where the order of switches stays drop_around() sees to
 * those that could do harm; else all their entries are dropped before anything else. Returns such
 * rows, which take the place of the old ones; NULL if there are none.
 */
static struct plan_row **
drop_gone(struct transition *t)
{
	struct plan_row **rows = mem_array(t->n, sizeof(struct plan_row *));
	bool any = false;

	for (uint32_t i = 0; i < t->nchanged && t->reranked; i++) {
		uint32_t sw = t->changed[i];

		for (uint32_t lid = next_change(t, sw, 1); lid <= t->last;
		     lid = next_change(t, sw, lid + 1)) {
			if (!is_gone(t, lid))
				continue;
			if (!rows[sw])
				rows[sw] = plan_row_resized(t->old[sw], t->last);
			plan_row_set(&rows[sw], lid, LFT_NO_PORT);
		}
		if (rows[sw])
			t->old[sw] = rows[sw];
		any |= rows[sw] != NULL;
	}
	if (any)
		return rows;
	mem_free(rows);
	return NULL;
}

/* These rows come before all others. */
static void
put_first(struct transition *t, struct plan_row **rows)
{
	struct plan_stages *st = t->j->stages;

	if (st && st->drops) {
		for (uint32_t sw = 0; sw < t->n; sw++) {
			if (!st->rows[0][sw])
				st->rows[0][sw] = plan_row_ref(rows[sw]);
			plan_row_unref(rows[sw]);
		}
		mem_free(rows);
		return;
	}
	if (!st)
		t->j->stages = st = stages_new(t->n, 0);
	memmove(st->rows + 1, st->rows, st->len * sizeof(st->rows[0]));
	st->rows[0] = rows;
	st->len++;
	st->drops = true;
}

void
stages_make(struct plan_job *j)
{
	struct plan_row **gone;
	struct plan_check report;
	struct transition t;

	transition_init(&t, j);
	if (j->shifts && !goes_on_any_lane(&t)) {
		clear(&t);
		transition_end(&t);
		return;
	}
	compare_ranks(&t);
	gone = drop_gone(&t);
	if (!t.nchanged) {
		/* Only tables that are not known change: nothing passes there. */
	} else if (drop_turns(&t) || mix(&t, t.old, &report)) {
		lead_first(&t);
	} else {
		snprintf(j->union_cycle, sizeof(j->union_cycle), "%s", report.cycle);
		if (!by_levels(&t))
			drain(&t);
	}
	if (gone)
		put_first(&t, gone);
	transition_end(&t);
}
