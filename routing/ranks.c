/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ranks.h"
#include <string.h>
#include "routing/levels.h"
#include "routing/roots.h"
#include "sm/base/mem.h"

/*
 * The order of switches. Every pair of switches has a way that climbs and then descends if and only
 * if each connected part of the fabric has one top, a switch without a link up. A tree with several
 * roots has several, and what hangs on one root (its own management port, a gateway) cannot be
 * reached from another. So, until there is one top, the switch below the most tops is put above
 * them: it and the switches between are turned over, the order of all others stays. On a tree
 * that is one leaf, below all roots; other leaves' paths among each other do not change by that.
 *
 * Ranks live in the plan and are inherited by GUID: a switch that was there keeps its place as long
 * as there is one top, a new one gets the rank of those whose place in the tree is the same. Other
 * roots in the configuration end that, and so does a fault after which configured roots would stay
 * on top only in a new order.
 */
#define RANK_UNKNOWN UINT16_MAX

void
ranks_spread(const struct fabric *f, const uint8_t *root, uint16_t *rank)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		rank[sw] = root[sw] ? 0 : RANK_UNKNOWN;
	levels_spread(f, rank);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (rank[sw] != RANK_UNKNOWN)
			continue;
		rank[sw] = 0;
		levels_spread(f, rank);
	}
}

/* Rank of every switch in the previous plan, RANK_UNKNOWN where it is new. False: no such plan. */
static bool
previous_ranks(const struct engine_input *in, uint16_t *rank)
{
	const struct plan *prev = in->previous;
	const struct fabric *f = in->fabric;

	/* All engines that leave ranks mean this order by them. */
	if (!prev || !prev->ranks || (strcmp(prev->engine_running, "updn") != 0 &&
				      strcmp(prev->engine_running, "minhop") != 0 &&
				      strcmp(prev->engine_running, "fattree") != 0))
		return false;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t n = fabric_node_by_guid(prev->fabric, fabric_switch_node(f, sw)->guid);
		uint32_t old = n == FABRIC_NONE ? FABRIC_NONE : prev->fabric->nodes[n].sw;

		rank[sw] = old == FABRIC_NONE ? RANK_UNKNOWN : prev->ranks[old];
	}
	return true;
}

/* The previous rank that most switches of one fresh rank hold; else one more than that of the
 * nearest rank above which has one. */
static uint16_t
usual_rank(uint32_t n, const uint16_t *fresh, const uint16_t *old, uint16_t at)
{
	uint32_t votes[RANKS_MAX + 6] = { 0 }, best = 0;

	for (uint32_t sw = 0; sw < n; sw++)
		if (fresh[sw] == at && old[sw] != RANK_UNKNOWN)
			votes[old[sw]]++;
	for (uint32_t r = 1; r < RANKS_MAX + 6; r++)
		if (votes[r] > votes[best])
			best = r;
	if (votes[best])
		return (uint16_t)best;
	return at ? (uint16_t)(usual_rank(n, fresh, old, (uint16_t)(at - 1)) + 1) : 0;
}

/* rank[] holds fresh ranks: give switches that were there their old ones, and new ones theirs. */
static void
inherit_ranks(uint32_t n, const uint16_t *old, uint16_t *rank)
{
	uint16_t *usual = mem_array(n, sizeof(*usual));

	memset(usual, 0xff, n * sizeof(*usual));
	for (uint32_t sw = 0; sw < n; sw++)
		if (old[sw] == RANK_UNKNOWN && usual[rank[sw]] == RANK_UNKNOWN)
			usual[rank[sw]] = usual_rank(n, rank, old, rank[sw]);
	for (uint32_t sw = 0; sw < n; sw++)
		rank[sw] = old[sw] != RANK_UNKNOWN ? old[sw] : usual[rank[sw]];
	mem_free(usual);
}

static int
check_ranks(const struct fabric *f, const uint16_t *rank, struct error *e)
{
	char name[FABRIC_NAME_SIZE];

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (rank[sw] > RANKS_MAX)
			return error_set(e, ERR_UNSUPPORTED, "%s would stand on rank %u of the "
					 "order of switches, which ends at %u",
					 fabric_node_text(name, f, f->switches[sw],
							  FABRIC_NAME_LEN), rank[sw], RANKS_MAX);
	return 0;
}

/* Switches from the top down: a counting sort by rank keeps the order of GUIDs. */
static void
sort_down(const struct ranks *r, uint32_t *order)
{
	uint32_t at[UINT8_MAX + 2] = { 0 };

	for (uint32_t sw = 0; sw < r->f->nswitches; sw++)
		at[r->rank[sw] + 1]++;
	for (unsigned i = 1; i < UINT8_MAX + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t sw = 0; sw < r->f->nswitches; sw++)
		order[at[r->rank[sw]]++] = sw;
}

struct tops {
	uint32_t *order;	/* switches from the top down */
	uint32_t *number;	/* by switch: which top it is, FABRIC_NONE if none */
	uint64_t *above;	/* by switch: bitmap of the tops above (or equal to) it */
	uint32_t words;		/* of one bitmap */
};

/* Number the tops; returns how many. */
static uint32_t
number_tops(const struct ranks *r, struct tops *t)
{
	const struct fabric *f = r->f;
	uint32_t n = 0;

	sort_down(r, t->order);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		bool top = true;

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1] && top; k++)
			top = !ranks_up(r, sw, f->edges[k].to);
		t->number[sw] = top ? n++ : FABRIC_NONE;
	}
	return n;
}

static void
collect_tops(const struct ranks *r, struct tops *t, uint32_t ntops)
{
	const struct fabric *f = r->f;

	t->words = ntops / 64 + 1;
	t->above = mem_array((size_t)f->nswitches * t->words, sizeof(*t->above));
	for (uint32_t i = 0; i < f->nswitches; i++) {
		uint32_t sw = t->order[i];
		uint64_t *mine = &t->above[(size_t)sw * t->words];

		if (t->number[sw] != FABRIC_NONE)
			mine[t->number[sw] / 64] |= (uint64_t)1 << t->number[sw] % 64;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const uint64_t *other = &t->above[(size_t)f->edges[k].to * t->words];

			if (ranks_up(r, sw, f->edges[k].to))
				for (uint32_t w = 0; w < t->words; w++)
					mine[w] |= other[w];
		}
	}
}

static bool
is_silent(const struct ranks *r, uint32_t sw)
{
	return fabric_switch_node(r->f, sw)->flags & FABRIC_NODE_SILENT;
}

/* The switch below the most tops, one that answers if it can be, the highest of them; FABRIC_NONE
 * if nobody is below two. */
static uint32_t
best_below(const struct ranks *r, const struct tops *t)
{
	uint32_t best = FABRIC_NONE, most = 1;

	for (uint32_t i = 0; i < r->f->nswitches; i++) {
		const uint64_t *bits = &t->above[(size_t)t->order[i] * t->words];
		uint32_t n = 0;

		for (uint32_t w = 0; w < t->words; w++)
			n += (uint32_t)__builtin_popcountll(bits[w]);
		if (n > most || (n == most && best != FABRIC_NONE && is_silent(r, best) &&
				 !is_silent(r, t->order[i]))) {
			most = n;
			best = t->order[i];
		}
	}
	return best;
}

/* Put a switch on top: it and all above it get ranks by their distance from it, the rest below. */
static void
lift(const struct ranks *r, uint32_t top, uint32_t *queue)
{
	const struct fabric *f = r->f;
	uint16_t *rank = mem_array(f->nswitches, sizeof(*rank));
	uint32_t len = 1, deepest, least = RANK_UNKNOWN, shift;

	memset(rank, 0xff, f->nswitches * sizeof(*rank));
	rank[top] = 0;
	queue[0] = top;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = queue[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (rank[to] != RANK_UNKNOWN || !ranks_up(r, sw, to))
				continue;
			rank[to] = (uint16_t)(rank[sw] + 1);
			queue[len++] = to;
		}
	}
	deepest = rank[queue[len - 1]];
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (rank[sw] == RANK_UNKNOWN && r->rank[sw] < least)
			least = r->rank[sw];
	shift = deepest + 1 > least ? deepest + 1 - least : 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		r->rank[sw] = rank[sw] != RANK_UNKNOWN ? rank[sw] : (uint16_t)(r->rank[sw] + shift);
	mem_free(rank);
}

int
ranks_join(const struct ranks *r, uint32_t *nlifted, struct error *e)
{
	uint32_t n = r->f->nswitches;
	struct tops t = {
		.order = mem_array(n, sizeof(*t.order)), .number = mem_array(n, sizeof(*t.number)),
	};
	int rc = check_ranks(r->f, r->rank, e);

	for (*nlifted = 0; rc == 0; (*nlifted)++) {
		uint32_t next;

		collect_tops(r, &t, number_tops(r, &t));
		next = best_below(r, &t);
		mem_free(t.above);
		if (next == FABRIC_NONE)
			break;
		lift(r, next, t.order);
		rc = check_ranks(r->f, r->rank, e);
	}
	mem_free(t.order);
	mem_free(t.number);
	return rc;
}

/* r->rank holds fresh ranks. Carry the previous order on instead, for the tables that it made can
 * often be changed one by one; but not if configured roots would lose the top by it, where a new
 * order needs fewer switches lifted. */
static int
settle_ranks(const struct engine_input *in, bool configured, struct ranks *r, struct error *e)
{
	uint32_t n = r->f->nswitches, nkept = UINT32_MAX, nfresh = 0;
	struct ranks kept = { .f = r->f, .rank = mem_array(n, sizeof(*kept.rank)) };
	uint16_t *old = mem_array(n, sizeof(*old));
	int rc;

	if (previous_ranks(in, old) && !roots_changed(in)) {
		memcpy(kept.rank, r->rank, n * sizeof(*kept.rank));
		inherit_ranks(n, old, kept.rank);
		if (ranks_join(&kept, &nkept, e))
			nkept = UINT32_MAX;
	}
	rc = nkept ? ranks_join(r, &nfresh, e) : 0;
	if (nkept != UINT32_MAX && (rc || !configured || nkept <= nfresh)) {
		memcpy(r->rank, kept.rank, n * sizeof(*r->rank));
		rc = 0;
	}
	mem_free(kept.rank);
	mem_free(old);
	return rc;
}

/* Trees are built many times: let each look at edges of one direction only. */
void
ranks_split(struct ranks *r)
{
	const struct fabric *f = r->f;

	r->down = mem_array(f->nswitches, sizeof(*r->down));
	r->edge = mem_array(f->nedges, sizeof(*r->edge));
	r->to = mem_array(f->nedges, sizeof(*r->to));
	for (uint32_t sw = 0, len = 0; sw < f->nswitches; sw++) {
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
			if (ranks_up(r, sw, f->edges[k].to))
				r->edge[len++] = k;
		r->down[sw] = len;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
			if (!ranks_up(r, sw, f->edges[k].to))
				r->edge[len++] = k;
	}
	for (uint32_t k = 0; k < f->nedges; k++)
		r->to[k] = f->edges[r->edge[k]].to;
}

int
ranks_choose(const struct engine_input *in, struct ranks *r, char *note, size_t size,
	     struct error *e)
{
	struct roots roots;
	int rc;

	*r = (struct ranks){ .f = in->fabric };
	r->rank = mem_array(r->f->nswitches, sizeof(*r->rank));
	rc = roots_find(in, &roots, e);
	if (rc == 0) {
		ranks_spread(in->fabric, roots.mark, r->rank);
		rc = settle_ranks(in, roots.configured, r, e);
	}
	if (rc == 0) {
		roots_describe(in, &roots, r, note, size);
		ranks_split(r);
	}
	roots_free(&roots);
	return rc;
}

void
ranks_free(struct ranks *r)
{
	mem_free(r->rank);
	mem_free(r->down);
	mem_free(r->edge);
	mem_free(r->to);
}

uint8_t *
ranks_copy(const struct ranks *r)
{
	uint8_t *copy = mem_alloc(r->f->nswitches);

	for (uint32_t sw = 0; sw < r->f->nswitches; sw++)
		copy[sw] = (uint8_t)r->rank[sw];
	return copy;
}
