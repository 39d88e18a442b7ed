/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ranks.h"
#include <stdio.h>
#include <string.h>
#include "routing/levels.h"
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
 * as there is one top, a new one gets the rank of those whose place in the tree is the same.
 */
#define RANK_UNKNOWN UINT16_MAX

/* Switch that a configured root GUID means: itself, or the one that the adapter hangs on. */
static uint32_t
root_switch(const struct fabric *f, uint64_t guid)
{
	uint32_t n = fabric_node_by_guid(f, guid);
	uint32_t port = fabric_port_by_guid(f, guid);

	if (n == FABRIC_NONE && port != FABRIC_NONE)
		n = f->ports[port].node;
	if (n == FABRIC_NONE)
		return FABRIC_NONE;
	for (unsigned i = 0; i <= f->nodes[n].nports && f->nodes[n].sw == FABRIC_NONE; i++) {
		const struct fabric_port *p = fabric_port_at(f, n, i);

		if (p->peer != FABRIC_NONE && f->nodes[f->ports[p->peer].node].sw != FABRIC_NONE)
			return f->nodes[f->ports[p->peer].node].sw;
	}
	return f->nodes[n].sw;
}

/* Mark the roots; ERR_NOT_FOUND if roots are configured and none of them is there. */
static int
find_roots(const struct engine_input *in, uint8_t *root, uint32_t *nroots, struct error *e)
{
	const struct engine_options *o = in->options;
	char guid[GUID_TEXT_SIZE];

	*nroots = 0;
	if (!o || !o->nroots) {
		*nroots = levels_roots(in->fabric, root);
		return 0;
	}
	for (unsigned i = 0; i < o->nroots; i++) {
		uint32_t sw = root_switch(in->fabric, o->roots[i]);

		if (sw == FABRIC_NONE || root[sw])
			continue;
		root[sw] = 1;
		(*nroots)++;
	}
	if (*nroots)
		return 0;
	return error_set(e, ERR_NOT_FOUND, "none of the %u configured roots is in the fabric, "
			 "the first is %s", o->nroots, guid_text(guid, o->roots[0]));
}

/* Ranks by distance from the roots; parts of the fabric without one hang on their first switch. */
static void
rank_from_roots(const struct fabric *f, const uint8_t *root, uint16_t *rank)
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

	/* Both engines that leave ranks mean this order by them. */
	if (!prev || !prev->ranks || (strcmp(prev->engine_running, "updn") != 0 &&
				      strcmp(prev->engine_running, "minhop") != 0))
		return false;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t n = fabric_node_by_guid(prev->fabric, fabric_switch_node(f, sw)->guid);
		uint32_t old = n == FABRIC_NONE ? FABRIC_NONE : prev->fabric->nodes[n].sw;

		rank[sw] = old == FABRIC_NONE ? RANK_UNKNOWN : prev->ranks[old];
	}
	return true;
}

/* Do configured roots still stand together, and alone, in the previous order? If not, they were
 * changed, and the order starts afresh. */
static bool
roots_kept(const struct engine_input *in, const uint8_t *root, const uint16_t *old)
{
	uint16_t level = RANK_UNKNOWN;

	if (!in->options || !in->options->nroots)
		return true;
	for (uint32_t sw = 0; sw < in->fabric->nswitches; sw++) {
		if (!root[sw] || old[sw] == RANK_UNKNOWN)
			continue;
		if (level != RANK_UNKNOWN && old[sw] != level)
			return false;
		level = old[sw];
	}
	for (uint32_t sw = 0; sw < in->fabric->nswitches; sw++)
		if (old[sw] == level && level != RANK_UNKNOWN && !root[sw])
			return false;
	return level != RANK_UNKNOWN;
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
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (rank[sw] > RANKS_MAX)
			return error_set(e, ERR_UNSUPPORTED, "%s would stand on rank %u of the "
					 "order of switches, which ends at %u",
					 fabric_switch_node(f, sw)->name, rank[sw], RANKS_MAX);
	return 0;
}

static int
choose_ranks(const struct engine_input *in, uint16_t *rank, uint32_t *nroots, struct error *e)
{
	uint32_t n = in->fabric->nswitches;
	uint8_t *root = mem_array(n, 1);
	uint16_t *old = mem_array(n, sizeof(*old));
	int rc = find_roots(in, root, nroots, e);

	if (rc == 0)
		rank_from_roots(in->fabric, root, rank);
	if (rc == 0 && previous_ranks(in, old) && roots_kept(in, root, old))
		inherit_ranks(n, old, rank);
	if (rc == 0)
		rc = check_ranks(in->fabric, rank, e);
	mem_free(root);
	mem_free(old);
	return rc;
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

/* The switch below the most tops, the highest of them; FABRIC_NONE if nobody is below two. */
static uint32_t
best_below(const struct ranks *r, const struct tops *t)
{
	uint32_t best = FABRIC_NONE, most = 1;

	for (uint32_t i = 0; i < r->f->nswitches; i++) {
		const uint64_t *bits = &t->above[(size_t)t->order[i] * t->words];
		uint32_t n = 0;

		for (uint32_t w = 0; w < t->words; w++)
			n += (uint32_t)__builtin_popcountll(bits[w]);
		if (n > most) {
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

/* Lift switches until each connected part has one top. */
static int
join_tops(const struct ranks *r, uint32_t *lifted, uint32_t *nlifted, struct error *e)
{
	uint32_t n = r->f->nswitches;
	struct tops t = {
		.order = mem_array(n, sizeof(*t.order)), .number = mem_array(n, sizeof(*t.number)),
	};
	int rc = 0;

	for (*nlifted = 0;; (*nlifted)++) {
		uint32_t next;

		collect_tops(r, &t, number_tops(r, &t));
		next = best_below(r, &t);
		mem_free(t.above);
		if (next == FABRIC_NONE)
			break;
		lift(r, next, t.order);
		if (*nlifted == 0)
			*lifted = next;
		rc = check_ranks(r->f, r->rank, e);
		if (rc)
			break;
	}
	mem_free(t.order);
	mem_free(t.number);
	return rc;
}

/* What stands on top, for people. */
static void
describe(const struct ranks *r, uint32_t nroots, uint32_t lifted, uint32_t nlifted, char *note,
	 size_t size)
{
	uint32_t top = 0;
	char guid[GUID_TEXT_SIZE], more[32] = "";

	for (uint32_t sw = 1; sw < r->f->nswitches; sw++)
		if (ranks_up(r, top, sw))
			top = sw;
	if (nlifted)
		top = lifted;
	if (nlifted > 1)
		snprintf(more, sizeof(more), " and %u more", nlifted - 1);
	if (r->f->nswitches)
		snprintf(note, size, "%u root%s, %.100s (%s)%s %s on top", nroots,
			 nroots == 1 ? "" : "s",
			 fabric_switch_node(r->f, top)->name,
			 guid_text(guid, fabric_switch_node(r->f, top)->guid), more,
			 nlifted ? "ranked" : "stands");
}

/* Trees are built many times: let each look at edges of one direction only. */
static void
split_edges(struct ranks *r)
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
	uint32_t nroots, lifted = 0, nlifted;
	int rc;

	*r = (struct ranks){ .f = in->fabric };
	r->rank = mem_array(r->f->nswitches, sizeof(*r->rank));
	rc = choose_ranks(in, r->rank, &nroots, e);
	if (rc == 0)
		rc = join_tops(r, &lifted, &nlifted, e);
	if (rc)
		return rc;
	describe(r, nroots, lifted, nlifted, note, size);
	split_edges(r);
	return 0;
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
