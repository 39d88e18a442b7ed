/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ladder.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * A block has a byte for each place and LID: how many switches lie on the way from there. From the
 * bottom up each switch takes what the switch behind its entry has and adds one. Above, nothing is
 * known yet: all bytes start as UNSEEN, so that whoever sends up becomes CLIMBS of itself. Whoever
 * sends down to one that climbs becomes TURNS. Then from the top down those that climb take what
 * is above them, plus one. What ends badly has ENDS and what it gets on its way, up to TURNS again:
 * whatever is not 1..LONGEST in the end is not sound, and is left to those who look closely.
 *
 * Inner loops are over LADDER_LANES bytes in a row without a branch, or fewer if not many LIDs are
 * asked for; rows of tables are long and far apart, so the next ones are called for in good time.
 */
enum {
	TURNS = 0x00,		/* it turned from down to up */
	LONGEST = 0x7f,		/* from 1 to here: switches on the way, both ends counted */
	ENDS = 0x80,		/* no switch is behind the entry */
	UNSEEN = 0xfe,		/* not looked at yet: what stands above */
	CLIMBS = 0xff,		/* it goes up: how long, the second sweep will tell */
};

enum { LANES = LADDER_LANES, NARROW = 32, AHEAD = 48, NO_LANE = 0xff };

static void
sort_up(struct ladder *l, const struct fabric *f, const uint8_t *ranks)
{
	uint32_t at[UINT8_MAX + 2] = { 0 };

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		at[UINT8_MAX - ranks[sw] + 1]++;
	for (unsigned i = 1; i < UINT8_MAX + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t sw = f->nswitches; sw-- > 0;) {
		uint32_t place = at[UINT8_MAX - ranks[sw]]++;

		l->order[place] = sw;
		l->place[sw] = (uint16_t)(LADDER_FIRST + place);
	}
}

bool
ladder_init(struct ladder *l, const struct fabric *f, const uint8_t *ranks)
{
	uint32_t len = 0, n = f->nswitches;

	*l = (struct ladder){ .n = n };
	if (n > UINT16_MAX - LADDER_FIRST)
		return false;
	l->order = mem_array(n, sizeof(*l->order));
	l->place = mem_array(n, sizeof(*l->place));
	l->first = mem_array(n, sizeof(*l->first));
	l->nports = mem_array(n, 1);
	sort_up(l, f, ranks);
	for (uint32_t sw = 0; sw < n; sw++) {
		l->nports[sw] = fabric_switch_node(f, sw)->nports;
		l->first[sw] = len;
		len += l->nports[sw] + 2u;
	}
	l->to = mem_array(len, sizeof(*l->to));
	for (uint32_t sw = 0; sw < n; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++)
			l->to[l->first[sw] + f->edges[e].out] = f->edges[e].to == sw ?
				(uint16_t)LADDER_SELF : l->place[f->edges[e].to];
	return true;
}

void
ladder_free(struct ladder *l)
{
	mem_free(l->order);
	mem_free(l->place);
	mem_free(l->first);
	mem_free(l->nports);
	mem_free(l->to);
}

struct ladder_table *
ladder_rows(const struct ladder *l, struct plan_row *const *rows)
{
	struct ladder_table *t = mem_array(l->n, sizeof(*t));

	for (uint32_t at = 0; at < l->n; at++) {
		const struct plan_row *row = rows[l->order[at]];

		if (row)
			t[at] = (struct ladder_table){
				.row = row, .whole = plan_row_whole(row), .len = row->len,
				.pieces = !plan_row_is_whole(row),
			};
	}
	return t;
}

void
ladder_block_init(struct ladder_block *b, const struct ladder *l)
{
	size_t places = LADDER_FIRST + (size_t)l->n;

	b->state = mem_array(places, LANES);
	b->out[0] = mem_array(l->n, LANES);
	b->out[1] = mem_array(l->n, LANES);
	b->lane_at = mem_array(places, 1);
	memset(b->lane_at, NO_LANE, places);
}

void
ladder_block_free(struct ladder_block *b)
{
	mem_free(b->state);
	mem_free(b->out[0]);
	mem_free(b->out[1]);
	mem_free(b->lane_at);
}

static void
set_lane(struct ladder_block *b, const struct plan_lids *lids, uint32_t i, uint32_t lid)
{
	bool used = lid && lid <= lids->top && lids->dest[lid].port != FABRIC_NONE;

	b->lid[i] = (uint16_t)lid;
	b->home[i] = used ? lids->dest[lid].sw : FABRIC_NONE;
	b->exit[i] = used ? lids->dest[lid].out : 0;
}

void
ladder_block_range(struct ladder_block *b, const struct plan_lids *lids, uint32_t first)
{
	b->len = LANES;
	for (uint32_t i = 0; i < LANES; i++)
		set_lane(b, lids, i, first + i);
}

void
ladder_block_list(struct ladder_block *b, const struct plan_lids *lids, const uint16_t *list,
		  uint32_t len)
{
	b->len = len;
	for (uint32_t i = 0; i < LANES; i++)
		set_lane(b, lids, i, i < len ? list[i] : 0);
}

static void
limit(uint8_t *restrict out, const uint8_t *restrict port, uint8_t none, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		out[i] = port[i] < none ? port[i] : none;
}

/* A row that has blocks elsewhere; LIDs from `first` on, which a block begins with. */
static void
read_pieces(const struct ladder_table *t, uint32_t first, uint8_t none, uint8_t *out)
{
	for (uint32_t i = 0; i < LANES; i += LFT_BLOCK_LEN)
		limit(out + i, plan_row_block(t->row, (first + i) / LFT_BLOCK_LEN), none,
		      LFT_BLOCK_LEN);
}

/* Entries of one switch; those that name no port of it become the port after its last. */
static inline void
read_row(const struct ladder_table *t, const struct ladder_block *b, uint8_t none, uint8_t *out,
	 uint32_t width)
{
	uint32_t first = b->lid[0];

	if (width == LANES && b->len == LANES && b->lid[LANES - 1] == first + LANES - 1 &&
	    first + LANES <= t->len) {
		if (!t->pieces) {
			limit(out, t->whole + first, none, LANES);
			return;
		}
		if (first % LFT_BLOCK_LEN == 0) {
			read_pieces(t, first, none, out);
			return;
		}
	}
	for (uint32_t i = 0; i < b->len; i++) {
		uint8_t port = plan_row_port(t->row, b->lid[i]);

		out[i] = port < none ? port : none;
	}
	memset(out + b->len, none, width - b->len);
}

static void
call_row(const struct ladder *l, const struct ladder_table *rows, uint32_t at, uint32_t lid)
{
	if (at < l->n && lid + LANES <= rows[at].len)
		for (uint32_t i = 0; i < LANES + 64; i += 64)
			__builtin_prefetch(rows[at].whole + lid + i);
}

static void
note_homes(const struct ladder *l, struct ladder_block *b)
{
	for (uint32_t i = 0; i < LANES; i++) {
		uint8_t *at;

		if (b->home[i] == FABRIC_NONE)
			continue;
		at = &b->lane_at[l->place[b->home[i]]];
		b->next[i] = *at;
		*at = (uint8_t)i;
	}
}

static void
forget_homes(const struct ladder *l, struct ladder_block *b)
{
	for (uint32_t i = 0; i < LANES; i++)
		if (b->home[i] != FABRIC_NONE)
			b->lane_at[l->place[b->home[i]]] = NO_LANE;
}

/* Where a switch is home, the way is done if the entry is right, and else nothing is. */
static void
arrive(struct ladder_block *b, uint32_t place, const uint8_t *out, uint8_t *mine)
{
	for (unsigned i = b->lane_at[place]; i != NO_LANE; i = b->next[i]) {
		mine[i] = out[i] == b->exit[i] ? 1 : ENDS;
		b->sound[i] = out[i] == b->exit[i];
	}
}

static inline void
sweep_up(const struct ladder *l, const struct ladder_table *rows, struct ladder_block *b,
	 uint32_t width)
{
	const uint8_t *state = b->state;

	memset(b->state + LADDER_END * width, ENDS, width);
	memset(b->state + LADDER_SELF * width, CLIMBS, width);
	memset(b->state + LADDER_FIRST * width, UNSEEN, (size_t)l->n * width);
	for (uint32_t at = 0; at < l->n; at++) {
		uint32_t sw = l->order[at], place = LADDER_FIRST + at;
		const uint16_t *to = &l->to[l->first[sw]];
		uint8_t *mine = b->state + (size_t)place * width;
		uint8_t *out = b->out[0] + (size_t)at * width;

		call_row(l, rows, at + AHEAD, b->lid[0]);
		read_row(&rows[at], b, (uint8_t)(l->nports[sw] + 1), out, width);
		for (uint32_t i = 0; i < width; i++)
			mine[i] = (uint8_t)(state[to[out[i]] * (size_t)width + i] + 1);
		if (b->lane_at[place] != NO_LANE)
			arrive(b, place, out, mine);
	}
}

/* What is found so far: sums over lanes, and whether something is wrong. */
struct sums {
	uint32_t hops[LANES];	/* as in ladder_block */
	uint8_t max[LANES];	/* the same */
	uint8_t wrong[LANES];	/* highest bit: some way is not sound */
	uint8_t mask[LANES];	/* of the present switch: all ones where it is in the LID's part */
};

/* TURNS counts everywhere, what is not 1..LONGEST + 1 where the mask says so. */
static inline void
judge(uint8_t *restrict wrong, const uint8_t *restrict state, const uint8_t *restrict mask,
      uint32_t width)
{
	for (uint32_t i = 0; i < width; i++)
		wrong[i] |= (uint8_t)(((state[i] - 1) & mask[i]) | (state[i] == 0 ? 0xff : 0));
}

static inline void
count_ways(struct sums *restrict s, const uint8_t *restrict state, uint16_t weight, uint32_t width)
{
	for (uint32_t i = 0; i < width; i++) {
		uint8_t hops = state[i] & s->mask[i];

		s->max[i] = hops > s->max[i] ? hops : s->max[i];
	}
	for (uint32_t i = 0; i < width; i++) {
		uint16_t hops = state[i] & s->mask[i];

		s->hops[i] += (uint16_t)(hops * weight);
	}
}

static inline bool
any_climbs(const uint8_t *state, uint32_t width)
{
	uint8_t most = 0;

	for (uint32_t i = 0; i < width; i++)
		most = state[i] > most ? state[i] : most;
	return most == CLIMBS;
}

static inline void
sweep_down(const struct ladder *l, const struct ladder_query *q, struct ladder_block *b,
	   struct sums *s, uint32_t width)
{
	const uint8_t *state = b->state;

	for (uint32_t at = l->n; at-- > 0;) {
		uint32_t sw = l->order[at];
		const uint16_t *to = &l->to[l->first[sw]];
		const uint8_t *out = b->out[0] + (size_t)at * width;
		uint8_t *mine = b->state + (size_t)(LADDER_FIRST + at) * width;

		if (any_climbs(mine, width))
			for (uint32_t i = 0; i < width; i++) {
				uint8_t above = state[to[out[i]] * (size_t)width + i];

				mine[i] = mine[i] == CLIMBS ? (uint8_t)(above + 1) : mine[i];
			}
		for (uint32_t i = 0; q->part && i < width; i++)
			s->mask[i] = b->home[i] != FABRIC_NONE &&
				q->part[b->home[i]] == q->part[sw] ? 0xff : 0;
		judge(s->wrong, mine, s->mask, width);
		if (q->sources[sw])
			count_ways(s, mine, (uint16_t)q->sources[sw], width);
	}
}

/* Made for each width by itself, for compilers to know it. */
static inline void
sweep(const struct ladder *l, const struct ladder_query *q, struct ladder_block *b,
      struct sums *s, uint32_t width)
{
	sweep_up(l, q->rows, b, width);
	sweep_down(l, q, b, s, width);
}

void
ladder_walk(const struct ladder *l, const struct ladder_query *q, struct ladder_block *b)
{
	struct sums s = { .hops = { 0 } };

	memset(s.mask, 0xff, sizeof(s.mask));
	memset(b->sound, 0, sizeof(b->sound));
	note_homes(l, b);
	if (b->len <= NARROW)
		sweep(l, q, b, &s, NARROW);
	else
		sweep(l, q, b, &s, LANES);
	forget_homes(l, b);
	for (uint32_t i = 0; i < LANES; i++) {
		b->sound[i] &= !(s.wrong[i] & 0x80);
		b->hops[i] = s.hops[i];
		b->max_hops[i] = s.max[i];
	}
}

/*
 * Two tables: a byte says whether one of the switch's two entries leads up. What is above has not
 * been seen when it is asked for.
 */
enum {
	FLAT = 0,		/* no entry leads up */
	STEEP = 1,		/* one does */
	ABOVE = 2,		/* not looked at yet */
};

static uint8_t
unite(const uint16_t *to, const uint8_t *out, const uint8_t *state, uint8_t *mine)
{
	uint8_t bad = 0;

	for (uint32_t i = 0; i < LANES; i++) {
		uint8_t there = state[to[out[i]] * (size_t)LANES + i];

		bad |= there;
		mine[i] |= (uint8_t)(there >> 1);
	}
	return bad & STEEP;
}

/* Where a switch is home, its right entry leads to no switch, and a LID that nobody owns does not
 * matter: neither needs care, but for entries of the latter. */
static void
read_used(const struct ladder_table *t, const struct ladder_block *b, uint8_t none, uint8_t *out)
{
	read_row(t, b, none, out, LANES);
	for (uint32_t i = 0; i < LANES; i++)
		out[i] = b->home[i] == FABRIC_NONE ? none : out[i];
}

bool
ladder_unites(const struct ladder *l, const struct ladder_table *one,
	      const struct ladder_table *other, struct ladder_block *b)
{
	uint8_t bad = 0;

	memset(b->state + LADDER_END * LANES, FLAT, LANES);
	memset(b->state + LADDER_SELF * LANES, STEEP, LANES);
	memset(b->state + LADDER_FIRST * LANES, ABOVE, (size_t)l->n * LANES);
	for (uint32_t at = 0; at < l->n && !bad; at++) {
		uint32_t sw = l->order[at];
		const uint16_t *to = &l->to[l->first[sw]];
		uint8_t none = (uint8_t)(l->nports[sw] + 1), mine[LANES] = { 0 };

		call_row(l, one, at + AHEAD, b->lid[0]);
		read_used(&one[at], b, none, b->out[0]);
		bad |= unite(to, b->out[0], b->state, mine);
		if (other[at].row != one[at].row) {
			call_row(l, other, at + AHEAD, b->lid[0]);
			read_used(&other[at], b, none, b->out[0]);
			bad |= unite(to, b->out[0], b->state, mine);
		}
		memcpy(b->state + (size_t)(LADDER_FIRST + at) * LANES, mine, LANES);
	}
	return !bad;
}
