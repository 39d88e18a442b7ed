/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/updn.h"
#include <stdio.h>
#include <string.h>
#include "routing/balance.h"
#include "routing/levels.h"
#include "sm/base/mem.h"

/*
 * Engine updn: up*-down* routing (Schroeder et al., Autonet, 1991). Switches stand in a total order,
 * by rank and then by GUID, so that each link has one up end, also between equal ranks. A packet
 * climbs and then descends; it never turns from down to up, hence no cycle of waiting links.
 *
 * Tables know the destination only, so the rule is kept like this: a switch from which the
 * destination can be reached by going down alone goes down (whoever came from above must), all
 * others go up, by the shortest way there is under that condition.
 *
 * Every pair of switches has a legal way if and only if each connected part of the fabric has one
 * top, a switch without a link up. A tree with several roots has several, and what hangs on one
 * root (its own management port, a gateway) cannot be reached from another. So, until there is
 * one top, the switch below the most tops is put above them: it and the switches between are
 * turned over, the order of all others stays. On a tree that is one leaf, below all roots; other
 * leaves' paths among each other do not change by that.
 *
 * Ranks live in the plan and are inherited by GUID: a switch that was there keeps its place as long
 * as there is one top, a new one gets the rank of those whose place in the tree is the same.
 */
#define RANK_MAX 250u
#define RANK_UNKNOWN UINT16_MAX

struct updn {
	const struct fabric *f;	/* what is routed */
	uint16_t *rank;		/* by switch: 0 on top */
};

/* Does the way from `a` to `b` lead up? */
static inline bool
is_up(const struct updn *u, uint32_t a, uint32_t b)
{
	return u->rank[b] != u->rank[a] ? u->rank[b] < u->rank[a] : b < a;
}

/* Switches that reach home by going down alone: mark 1, listed by distance; returns how many. */
static uint32_t
spread_down(const struct updn *u, uint32_t home, const uint8_t *exits, struct balance_tree *t,
	    uint32_t *list)
{
	const struct fabric *f = u->f;
	uint32_t len = 1;

	memset(t->dist, 0xff, f->nswitches * sizeof(*t->dist));
	memset(t->mark, 0, f->nswitches);
	t->dist[home] = 0;
	t->mark[home] = 1;
	list[0] = home;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = list[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (t->mark[e->to] || !is_up(u, sw, e->to) || !balance_exit_ok(exits, e))
				continue;
			t->mark[e->to] = 1;
			t->dist[e->to] = (uint16_t)(t->dist[sw] + 1);
			list[len++] = e->to;
		}
	}
	return len;
}

/* Those that must climb first, and all in one order by distance: a merge of the list of those that
 * go down and of the growing queue of those that go up. */
static void
spread_up(const struct updn *u, const uint8_t *exits, struct balance_tree *t, const uint32_t *down,
	  uint32_t ndown, uint32_t *queue)
{
	const struct fabric *f = u->f;
	uint32_t i = 0, q = 0, nqueue = 0;

	t->n = 0;
	while (i < ndown || q < nqueue) {
		bool from_queue = i == ndown ||
			(q < nqueue && t->dist[queue[q]] < t->dist[down[i]]);
		uint32_t sw = from_queue ? queue[q++] : down[i++];

		t->order[t->n++] = sw;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (t->dist[e->to] != BALANCE_FAR || is_up(u, sw, e->to) ||
			    !balance_exit_ok(exits, e))
				continue;
			t->dist[e->to] = (uint16_t)(t->dist[sw] + 1);
			queue[nqueue++] = e->to;
		}
	}
}

static void
updn_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	const struct updn *u = arg;
	const struct fabric *f = u->f;
	uint32_t len = 0;

	/* Both lists are used up before the arrays get their proper content. */
	spread_up(u, exits, t, t->first, spread_down(u, home, exits, t, t->first), t->edge);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t sw = t->order[i];

		t->first[i] = len;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (exits && exits[sw] != BALANCE_FREE && exits[sw] != e->out)
				continue;
			if (t->dist[e->to] + 1 != t->dist[sw] ||
			    t->mark[sw] > t->mark[e->to] || is_up(u, sw, e->to) == t->mark[sw])
				continue;
			t->edge[len++] = k;
		}
	}
	t->first[t->n] = len;
}

/* Switch that a configured root GUID means: itself, or the one that the channel adapter hangs on. */
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

	if (!prev || !prev->ranks || strcmp(prev->engine_running, "updn") != 0)
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
	uint32_t votes[RANK_MAX + 6] = { 0 }, best = 0;

	for (uint32_t sw = 0; sw < n; sw++)
		if (fresh[sw] == at && old[sw] != RANK_UNKNOWN)
			votes[old[sw]]++;
	for (uint32_t r = 1; r < RANK_MAX + 6; r++)
		if (votes[r] > votes[best])
			best = r;
	if (votes[best])
		return (uint16_t)best;
	return at ? (uint16_t)(usual_rank(n, fresh, old, (uint16_t)(at - 1)) + 1) : 0;
}

/* rank[] holds fresh ranks: give the switches that were there their old ones, and new ones theirs. */
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
		if (rank[sw] > RANK_MAX)
			return error_set(e, ERR_UNSUPPORTED, "%s would stand on rank %u of the order of "
					 "switches, which ends at %u", fabric_switch_node(f, sw)->name,
					 rank[sw], RANK_MAX);
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
sort_down(const struct updn *u, uint32_t *order)
{
	uint32_t at[UINT8_MAX + 2] = { 0 };

	for (uint32_t sw = 0; sw < u->f->nswitches; sw++)
		at[u->rank[sw] + 1]++;
	for (unsigned r = 1; r < UINT8_MAX + 2; r++)
		at[r] += at[r - 1];
	for (uint32_t sw = 0; sw < u->f->nswitches; sw++)
		order[at[u->rank[sw]]++] = sw;
}

struct tops {
	uint32_t *order;	/* switches from the top down */
	uint32_t *number;	/* by switch: which top it is, FABRIC_NONE if none */
	uint64_t *above;	/* by switch: bitmap of the tops above (or equal to) it */
	uint32_t words;		/* of one bitmap */
};

/* Number the tops; returns how many. */
static uint32_t
number_tops(const struct updn *u, struct tops *t)
{
	const struct fabric *f = u->f;
	uint32_t n = 0;

	sort_down(u, t->order);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		bool top = true;

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1] && top; k++)
			top = !is_up(u, sw, f->edges[k].to);
		t->number[sw] = top ? n++ : FABRIC_NONE;
	}
	return n;
}

static void
collect_tops(const struct updn *u, struct tops *t, uint32_t ntops)
{
	const struct fabric *f = u->f;

	t->words = ntops / 64 + 1;
	t->above = mem_array((size_t)f->nswitches * t->words, sizeof(*t->above));
	for (uint32_t i = 0; i < f->nswitches; i++) {
		uint32_t sw = t->order[i];
		uint64_t *mine = &t->above[(size_t)sw * t->words];

		if (t->number[sw] != FABRIC_NONE)
			mine[t->number[sw] / 64] |= (uint64_t)1 << t->number[sw] % 64;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const uint64_t *other = &t->above[(size_t)f->edges[k].to * t->words];

			if (is_up(u, sw, f->edges[k].to))
				for (uint32_t w = 0; w < t->words; w++)
					mine[w] |= other[w];
		}
	}
}

/* The switch below the most tops, the highest of them; FABRIC_NONE if nobody is below two. */
static uint32_t
best_below(const struct updn *u, const struct tops *t)
{
	uint32_t best = FABRIC_NONE, most = 1;

	for (uint32_t i = 0; i < u->f->nswitches; i++) {
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
lift(const struct updn *u, uint32_t top, uint32_t *queue)
{
	const struct fabric *f = u->f;
	uint16_t *rank = mem_array(f->nswitches, sizeof(*rank));
	uint32_t len = 1, deepest, least = RANK_UNKNOWN, shift;

	memset(rank, 0xff, f->nswitches * sizeof(*rank));
	rank[top] = 0;
	queue[0] = top;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = queue[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (rank[to] != RANK_UNKNOWN || !is_up(u, sw, to))
				continue;
			rank[to] = (uint16_t)(rank[sw] + 1);
			queue[len++] = to;
		}
	}
	deepest = rank[queue[len - 1]];
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (rank[sw] == RANK_UNKNOWN && u->rank[sw] < least)
			least = u->rank[sw];
	shift = deepest + 1 > least ? deepest + 1 - least : 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		u->rank[sw] = rank[sw] != RANK_UNKNOWN ? rank[sw] : (uint16_t)(u->rank[sw] + shift);
	mem_free(rank);
}

/* Lift switches until each connected part has one top. */
static int
join_tops(const struct updn *u, uint32_t *lifted, uint32_t *nlifted, struct error *e)
{
	uint32_t n = u->f->nswitches;
	struct tops t = {
		.order = mem_array(n, sizeof(*t.order)), .number = mem_array(n, sizeof(*t.number)),
	};
	int rc = 0;

	for (*nlifted = 0;; (*nlifted)++) {
		uint32_t next;

		collect_tops(u, &t, number_tops(u, &t));
		next = best_below(u, &t);
		mem_free(t.above);
		if (next == FABRIC_NONE)
			break;
		lift(u, next, t.order);
		if (*nlifted == 0)
			*lifted = next;
		rc = check_ranks(u->f, u->rank, e);
		if (rc)
			break;
	}
	mem_free(t.order);
	mem_free(t.number);
	return rc;
}

/* What stands on top, for people. */
static void
describe(const struct updn *u, uint32_t nroots, uint32_t lifted, uint32_t nlifted, char *note,
	 size_t size)
{
	uint32_t top = 0;
	char guid[GUID_TEXT_SIZE], more[32] = "";

	for (uint32_t sw = 1; sw < u->f->nswitches; sw++)
		if (is_up(u, top, sw))
			top = sw;
	if (nlifted)
		top = lifted;
	if (nlifted > 1)
		snprintf(more, sizeof(more), " and %u more", nlifted - 1);
	if (u->f->nswitches)
		snprintf(note, size, "%u root%s, %.100s (%s)%s %s on top", nroots, nroots == 1 ? "" : "s",
			 fabric_switch_node(u->f, top)->name,
			 guid_text(guid, fabric_switch_node(u->f, top)->guid), more,
			 nlifted ? "ranked" : "stands");
}

static int
updn_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	uint32_t n = in->fabric->nswitches, nroots, lifted = 0, nlifted;
	struct updn u = { .f = in->fabric, .rank = mem_array(n, sizeof(*u.rank)) };
	int rc = choose_ranks(in, u.rank, &nroots, e);

	if (rc == 0)
		rc = join_tops(&u, &lifted, &nlifted, e);
	if (rc == 0) {
		describe(&u, nroots, lifted, nlifted, out->note, sizeof(out->note));
		balance_rows(in, out, updn_tree, &u);
		out->ranks = mem_alloc(n);
		for (uint32_t sw = 0; sw < n; sw++)
			out->ranks[sw] = (uint8_t)u.rank[sw];
	}
	mem_free(u.rank);
	return rc;
}

const struct engine engine_updn = {
	.name = "updn",
	.help = "up*-down*: shortest paths that climb and then descend, free of credit loops",
	.topologies = "any; best on trees",
	.deadlock_free = true,
	.route = updn_route,
};
