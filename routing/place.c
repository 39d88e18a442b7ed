/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/place.h"
#include <string.h>

/*
 * The choice for one LID. All switches choose, nearest to the destination first, among the edges
 * that the engine's tree offers:
 *
 *  1. the edge with the least load after the choice. The load counts destinations whose packets
 *     really cross the edge, weighted by the data rate: a link at a quarter of the speed is as
 *     full with a quarter of them;
 *  2. of these the one where the edge and the onward way carry the fewest flows (host to host) in
 *     sum, weighted likewise;
 *  3. of these the one with the least label along that way, nearest to the destination first, so
 *     that all switches agree on the same way in. On an intact fat tree this makes each host's
 *     packets meet in one top switch, and neighbouring hosts in different ones, which is what
 *     D-mod-K does in closed form (Zahavi, JPDC 2012).
 *
 * Then all is counted, from the far end inwards. A switch where no host's packets to the LID come
 * by needs an entry all the same (its own port sends); that one goes where the fewest entries of
 * any kind are, and disturbs no count but that.
 *
 * A port that the previous plan used for the LID is kept where it is still offered and carries at
 * most one destination more than the least loaded one would. The further LIDs of a port (LMC) avoid
 * the next switches and links of its earlier ones before they look at load.
 */
#define KEY_LABEL_BITS LEVELS_LABEL_BITS
#define KEY_LOAD_SHIFT (3 * KEY_LABEL_BITS)	/* the flows stand above three labels */
#define KEY_LOAD_MAX ((uint64_t)1 << 27)
/* Flows saturate: their sums must fit into a key. */
#define FLOW_MAX ((((uint64_t)1 << 26) - 1) << KEY_LOAD_SHIFT)

/* The edge that the previous plan used at `sw` for a LID of the same owner; FABRIC_NONE. */
static uint32_t
previous_edge(const struct balance *b, uint32_t sw, const struct plan_row *row, uint16_t lid)
{
	const struct fabric_node *n = fabric_switch_node(b->f, sw);
	uint8_t out = plan_row_port(row, lid);

	return out <= n->nports ? b->edge_at[n->first_port + out] : FABRIC_NONE;
}

/* Did the LID belong to the same port before? */
static bool
same_owner(const struct balance *b, uint16_t lid)
{
	const struct plan *prev = b->in->previous;
	uint32_t now = b->in->lids->dest[lid].port;

	if (!b->prev_sw || lid > prev->lids->top || prev->lids->dest[lid].port == FABRIC_NONE)
		return false;
	return prev->fabric->ports[prev->lids->dest[lid].port].guid == b->f->ports[now].guid;
}

/* How much of an edge the earlier LIDs of the same port use already. */
static unsigned
overlap(const struct balance *b, uint32_t sw, uint32_t e, const struct item *it)
{
	unsigned n = 0;

	for (uint8_t k = 1; k <= it->offset; k++) {
		uint32_t other = previous_edge(b, sw, b->rows[sw], (uint16_t)(it->lid - k));

		if (other != FABRIC_NONE)
			n += (b->to[other] == b->to[e]) + (other == e);
	}
	return n;
}

/* What speaks against an edge when loads are equal: flows there and onwards, then labels. */
static inline uint64_t
edge_key(const struct stream *s, uint32_t e, uint32_t to)
{
	return s->key[to] + s->flow[e];
}

/* List the edges with the least load. */
static uint32_t
find_ties(const uint32_t *after, const uint32_t *edge, uint32_t len, uint32_t *tied)
{
	uint32_t least = after[edge[0]], n = 0;

	for (uint32_t i = 1; i < len; i++)
		least = after[edge[i]] < least ? after[edge[i]] : least;
	for (uint32_t i = 0; i < len; i++) {
		tied[n] = edge[i];
		n += after[edge[i]] == least;
	}
	return n;
}

/* The tree offers a switch edges for the first time, or the list is empty. */
static __attribute__((noinline)) void
renew_ties(const struct stream *s, struct ties *ties, const uint32_t *edge, uint32_t len,
	   uint32_t *tied)
{
	uint32_t first = edge[0], last = edge[len - 1];
	bool same = ties->first == first && ties->last == last && ties->offered == len &&
		last - first + 1 == len;	/* nothing between that might not be offered */

	ties->tree = s->tree.serial;
	if (same && ties->len)
		return;
	ties->first = first;
	ties->last = last;
	ties->offered = len;
	ties->len = find_ties(s->after, edge, len, tied);
}

/* The load of an edge rose: it leaves the list of those with the least. */
static inline void
leave_ties(struct ties *ties, uint32_t *tied, uint32_t e)
{
	uint32_t i = ties->chosen;

	if (i >= ties->len || tied[i] != e)	/* not what choose() said */
		for (i = 0; i < ties->len && tied[i] != e; i++)
			;
	if (i < ties->len)
		tied[i] = tied[--ties->len];
}

/* Of edges with equal load the one with the least key: its place in the list. *worth: that key. */
static inline uint32_t
choose(const struct stream *s, const uint32_t *to, const uint32_t *edge, uint32_t len,
       uint64_t *worth)
{
	const uint64_t *key = s->key, *flow = s->flow;
	uint64_t least = key[to[edge[0]]] + flow[edge[0]];
	uint32_t best = 0;

	for (uint32_t i = 1; i < len; i++) {
		uint32_t e = edge[i];
		uint64_t k = key[to[e]] + flow[e];

		best = k < least ? i : best;
		least = k < least ? k : least;
	}
	*worth = least;
	return best;
}

/* The same where keys may be equal too: then the fewest entries count, and the first edge. */
static uint32_t
choose_equal(const struct stream *s, const uint32_t *to, const uint32_t *edge, uint32_t len,
	     uint64_t *worth)
{
	uint32_t best = choose(s, to, edge, len, worth);

	for (uint32_t i = 0; i < len; i++) {
		uint32_t n = s->entries[edge[i]], least = s->entries[edge[best]];

		if (edge_key(s, edge[i], to[edge[i]]) == *worth &&
		    (n < least || (n == least && edge[i] < edge[best])))
			best = i;
	}
	return best;
}

/* For the further LIDs of a port: first what its earlier LIDs leave free, then the load. */
static uint32_t
choose_apart(const struct balance *b, const struct stream *s, const uint32_t *edge, uint32_t len,
	     uint32_t sw, const struct item *it)
{
	uint32_t best = FABRIC_NONE;
	unsigned best_overlap = UINT32_MAX;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t e = edge[i], pair[2] = { best, e };
		unsigned n = overlap(b, sw, e, it);
		uint64_t worth;

		if (n > best_overlap)
			continue;
		if (n < best_overlap || s->after[e] < s->after[best])
			best = e;
		else if (s->after[e] == s->after[best])
			best = pair[choose_equal(s, b->to, pair, 2, &worth)];
		best_overlap = n;
	}
	return best;
}

/* One LID while it is placed. */
struct placing {
	const struct item *it;			/* the LID */
	struct stream *s;			/* where it counts */
	struct plan_row *const *previous;	/* rows that it had; NULL: it is new */
};

/*
 * For a switch that only its own port sends by: an edge with the fewest entries. As long as the
 * tree is the same, the least number can only rise, and the edge behind the last one chosen is the
 * most likely to have it, so that the search mostly ends at once.
 */
static uint32_t
choose_unused(const struct balance *b, const struct placing *p, uint32_t sw, const uint32_t *edge,
	      uint32_t len)
{
	const uint32_t *entries = p->s->entries, *step = b->step;
	struct turn *turn = &p->s->turn[sw];
	uint32_t best = 0, best_entries = UINT32_MAX;

	if (turn->tree != p->s->tree.serial)
		*turn = (struct turn){ .tree = p->s->tree.serial };
	for (uint32_t i = 0, at = turn->next < len ? turn->next : 0; i < len; i++) {
		uint32_t n = entries[edge[at]] + step[edge[at]];

		if (n < best_entries) {
			best = at;
			best_entries = n;
			if (n <= turn->least)
				break;
		}
		if (++at == len)
			at = 0;
	}
	turn->least = best_entries;
	turn->next = best + 1;
	return edge[best];
}

/* Keep the previous edge if it is offered and its load at most one destination more. */
static uint32_t
keep(const struct balance *b, const uint32_t *load, const uint32_t *edge, const uint32_t *end,
     uint32_t best, uint32_t old)
{
	if (old == best || old == FABRIC_NONE || load[old] > load[best] + b->step[old])
		return best;
	for (; edge < end; edge++)
		if (*edge == old)
			return old;
	return best;
}

/* The key of a switch from the worth of its choice. */
static inline uint64_t
way_key(uint64_t worth, uint64_t label, unsigned dist)
{
	static const uint8_t shift[4] = { 0, 2 * KEY_LABEL_BITS, KEY_LABEL_BITS, 0 };
	const uint64_t labels = ((uint64_t)1 << KEY_LOAD_SHIFT) - 1;

	if (worth > (KEY_LOAD_MAX << KEY_LOAD_SHIFT | labels))
		worth = KEY_LOAD_MAX << KEY_LOAD_SHIFT | (worth & labels);
	return dist <= 3 ? worth | label << shift[dist] : worth;
}

static uint32_t
old_edge(const struct balance *b, const struct placing *p, uint32_t sw)
{
	if (!p->previous || b->prev_sw[sw] == FABRIC_NONE)
		return FABRIC_NONE;
	return previous_edge(b, sw, p->previous[b->prev_sw[sw]], p->it->lid);
}

/* Where the plain choice is not the last word. */
static uint32_t
choose_otherwise(const struct balance *b, const struct placing *p, uint32_t sw,
		 const uint32_t *edge, uint32_t len, uint32_t e)
{
	if (p->it->offset)
		e = choose_apart(b, p->s, edge, len, sw, p->it);
	if (p->previous)
		e = keep(b, p->s->after, edge, edge + len, e, old_edge(b, p, sw));
	return e;
}

/*
 * All switches choose the edge with the least load and key. Most LIDs offer a switch the same edges
 * as the LID before, so the list of those with the least load is kept: loads only rise, so edges
 * only leave it, until it is empty.
 */
static void
choose_all(const struct balance *b, const struct placing *p)
{
	struct stream *s = p->s;
	const uint32_t *order = s->tree.order, *first = s->tree.first, *list = s->tree.edge;
	const uint32_t *to = b->to, *edge_first = b->f->edge_first;
	const uint16_t *dist = s->tree.dist, *label = b->label;
	bool plain = !p->it->offset && !p->previous;
	uint32_t *choice = s->choice, serial = s->tree.serial;
	struct ties *all_ties = s->ties;
	uint64_t *key = s->key;

	key[p->it->home] = 0;
	for (uint32_t i = 1, n = s->tree.n; i < n; i++) {
		const uint32_t *edge = &list[first[i]];
		uint32_t sw = order[i], len = first[i + 1] - first[i], e = edge[0];
		uint32_t *tied = &s->tied[edge_first[sw]];
		struct ties *ties = &all_ties[sw];
		uint64_t worth;

		if (len == 1) {
			worth = key[to[e]] + s->flow[e];
		} else {
			if (ties->tree != serial || !ties->len)
				renew_ties(s, ties, edge, len, tied);
			/* Labels do not tell parallel cables apart, nor what lies further off. */
			if (b->parallel[sw] || dist[sw] > 4)
				ties->chosen = choose_equal(s, to, tied, ties->len, &worth);
			else
				ties->chosen = choose(s, to, tied, ties->len, &worth);
			e = tied[ties->chosen];
		}
		if (!plain && len > 1) {
			e = choose_otherwise(b, p, sw, edge, len, e);
			worth = edge_key(s, e, to[e]);
		}
		choice[sw] = e;
		key[sw] = way_key(worth, label[sw], dist[sw]);
	}
}

/* An entry that no host's packets use, among the edges that the switch is offered. */
static uint32_t
place_unused(const struct balance *b, const struct placing *p, uint32_t sw, const uint32_t *edge,
	     const uint32_t *end)
{
	uint32_t e;

	if (p->it->offset)
		return p->s->choice[sw];
	e = choose_unused(b, p, sw, edge, (uint32_t)(end - edge));
	if (p->previous)
		e = keep(b, p->s->entries, edge, end, e, old_edge(b, p, sw));
	return e;
}

static inline void
add_flows(const struct balance *b, struct stream *s, uint32_t sw, uint32_t e, uint32_t inflow)
{
	uint32_t step = b->step[e];
	uint64_t flow = s->flow[e] +
		((uint64_t)inflow * step / PLACE_LOAD_UNIT << KEY_LOAD_SHIFT);

	s->flow[e] = flow < FLOW_MAX ? flow : FLOW_MAX;
	s->after[e] += step;
	if (s->ties[sw].len)
		leave_ties(&s->ties[sw], &s->tied[b->f->edge_first[sw]], e);
}

/* Rows are far apart in memory: entries are gathered LID by LID and go to them many at a time. */
void
place_flush(const struct balance *b, struct stream *s)
{
	uint32_t n = b->f->nswitches;

	for (uint32_t sw = 0; sw < n; sw++) {
		uint8_t *port = b->rows[sw] ? plan_row_entries(b->rows[sw]) : NULL;

		for (unsigned i = 0; port && i < s->ncolumns; i++)
			port[s->column_lid[i]] = s->columns[(size_t)i * n + sw];
	}
	s->ncolumns = 0;
}

static uint8_t *
next_column(const struct balance *b, struct stream *s, uint16_t lid)
{
	uint8_t *column;

	if (s->ncolumns == PLACE_COLUMNS)
		place_flush(b, s);
	column = &s->columns[(size_t)s->ncolumns * b->f->nswitches];
	s->column_lid[s->ncolumns++] = lid;
	memset(column, LFT_NO_PORT, b->f->nswitches);
	return column;
}

/* Count the entries and write them. Any switch's packets to a switch count, of those to a host only
 * other hosts' do. */
static void
count_all(const struct balance *b, const struct placing *p)
{
	struct stream *s = p->s;
	const uint32_t *order = s->tree.order, *to = b->to, *step = b->step;
	const uint32_t *sources = s->sources, *choice = s->choice;
	const uint32_t *first = s->tree.first, *list = s->tree.edge;
	uint32_t *inflow = s->inflow, *entries = s->entries;
	const uint8_t *out = b->out;
	uint8_t *column = next_column(b, s, p->it->lid);

	for (uint32_t i = s->tree.n; i-- > 1;) {
		uint32_t sw = order[i], in = inflow[sw] + sources[sw], e = choice[sw];

		inflow[sw] = 0;
		if (in) {
			add_flows(b, s, sw, e, in);
			inflow[to[e]] += in;
		} else if (first[i + 1] - first[i] > 1) {
			e = place_unused(b, p, sw, &list[first[i]], &list[first[i + 1]]);
		}
		entries[e] += step[e];
		column[sw] = out[e];
	}
	inflow[p->it->home] = 0;
	column[p->it->home] = p->it->out;
}

void
place_lid(const struct balance *b, struct stream *s, const struct item *it)
{
	struct placing p = {
		.it = it, .s = s,
		.previous = same_owner(b, it->lid) ? b->in->previous->rows : NULL,
	};

	if (it->offset)
		place_flush(b, s);	/* overlap() reads rows */
	choose_all(b, &p);
	count_all(b, &p);
}
