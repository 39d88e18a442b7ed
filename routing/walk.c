/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/checker.h"
#include <string.h>
#include "routing/levels.h"

/*
 * One LID at a time, exactly: where the way of each switch ends, and whose fault it is if that is
 * not at its owner.
 *
 * What cables join, tables must join. A silent switch (FABRIC_NODE_SILENT) joins only what the
 * table that it is known to hold joins, because nobody can change it: what is missing there is
 * counted as cut off, not as a fault of the routing.
 */
#define LEAP_ROUNDS 7u	/* each at least doubles how far is seen */

/* Follow one switch's way until it ends or meets a known one, then tell all on it. */
static void
follow(const struct checker *c, struct scratch *s, uint32_t sw)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	uint32_t len = 0;
	enum fate fate;

	while (s->fate[sw] == UNKNOWN) {
		s->fate[sw] = WALKING;
		s->stack[len++] = sw;
		sw = to[next[sw]];
	}
	fate = s->fate[sw] == WALKING ? LOOPS : s->fate[sw];
	while (len) {
		uint32_t at = s->stack[--len];

		s->fate[at] = (uint8_t)fate;
		s->hops[at] = (uint16_t)(s->hops[sw] + 1);
		sw = at;
	}
}

void
walk_note(struct tally *t, uint32_t lid, uint32_t sw, enum fate fate)
{
	if (t->fault_lid && (t->fault_lid < lid || (t->fault_lid == lid && t->fault_sw <= sw)))
		return;
	t->fault_lid = lid;
	t->fault_sw = sw;
	t->fault = fate;
}

/* Where all switches send the i-th LID of the block: next[], and fate[] where that ends a way.
 * False if one ends anywhere but at its owner. */
static bool
read_lid(const struct checker *c, struct scratch *s, uint32_t i)
{
	uint32_t home = c->in->lids->dest[s->columns.lid[i]].sw;
	const uint8_t *column = columns_of(&s->columns, 0, i);
	const struct hop *hops = c->hops;
	uint32_t *next = s->next, ends = 0;
	uint8_t *fates = s->fate;

	for (uint32_t sw = 0, n = c->f->nswitches; sw < n; sw++) {
		uint8_t out = column[sw];
		uint32_t e = out <= hops[sw].nports ? hops[sw].edge_at[out] : FABRIC_NONE;

		next[sw] = e;
		fates[sw] = e != FABRIC_NONE ? UNKNOWN : out == LFT_NO_PORT ? HOLE : WRONG;
		ends += e == FABRIC_NONE;
	}
	if (!s->columns.delivered[i])
		return false;
	ends -= next[home] == FABRIC_NONE;
	next[home] = FABRIC_NONE;
	fates[home] = ARRIVES;
	return ends == 0;
}

/*
 * The usual case, in which all ways arrive: each switch leaps over ever more of its way (pointer
 * jumping, Wyllie 1979), hops[] counting what lies between it and where it looks. False if some
 * have not arrived after LEAP_ROUNDS: the way is very long, or a circle.
 */
static bool
leap(const struct checker *c, struct scratch *s, uint32_t home)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	uint32_t *at = s->stack, n = c->f->nswitches, away = 1;
	uint16_t *hops = s->hops;

	for (uint32_t sw = 0; sw < n; sw++) {
		at[sw] = sw == home ? home : to[next[sw]];
		hops[sw] = sw != home;
	}
	for (unsigned round = 0; away && round < LEAP_ROUNDS; round++) {
		away = 0;
		for (uint32_t sw = 0; sw < n; sw++) {
			uint32_t there = at[sw];

			hops[sw] = (uint16_t)(hops[sw] + hops[there]);
			at[sw] = at[there];
			away |= at[there] ^ home;
		}
	}
	for (uint32_t sw = 0; !away && sw < n; sw++)
		hops[sw]++;
	return !away;
}

/* Switches that can reach a LID have a distance in s->reach[], where silent ones forward only by
 * their tables. */
static void
find_near(const struct checker *c, struct scratch *s, uint32_t i)
{
	uint32_t home = c->in->lids->dest[s->columns.lid[i]].sw, n = c->f->nswitches;
	const uint8_t *column = columns_of(&s->columns, 0, i);

	for (uint32_t sw = 0; sw < n; sw++) {
		s->reach[sw] = LEVELS_FAR;
		s->exits[sw] = !c->hops[sw].silent ? LEVELS_FREE :
			column[sw] ? column[sw] : LFT_NO_PORT;
	}
	if (!c->hops[home].silent || s->fate[home] == ARRIVES) {
		s->reach[home] = 0;
		levels_reach(c->f, s->exits, s->reach, &home, 1, s->stack, s->queue);
	}
	for (uint32_t sw = 0; sw < n; sw++)
		s->apart[sw] |= s->reach[sw] == LEVELS_FAR;
}

/* Could a packet get from the switch to the present LID, whose home is in `part`? */
static inline bool
is_near(const struct checker *c, const struct scratch *s, uint32_t sw, uint32_t part)
{
	return c->any_silent ? s->reach[sw] != LEVELS_FAR : c->hops[sw].part == part;
}

/* Count the faults of entries: holes and wrong exits. */
static void
judge_entries(const struct checker *c, struct scratch *s, uint32_t lid, uint32_t part)
{
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		enum fate fate = s->fate[sw];

		if ((fate != HOLE && fate != WRONG) || !is_near(c, s, sw, part))
			continue;
		s->hops[sw] = 1;
		s->sum.holes += fate == HOLE;
		s->sum.misdelivered += fate == WRONG;
		walk_note(&s->sum, lid, sw, fate);
	}
}

/* Ways of all switches to the i-th LID of the block; faults are counted. Whether all arrive. */
static bool
walk_lid(const struct checker *c, struct scratch *s, uint32_t i)
{
	uint32_t lid = s->columns.lid[i], home = c->in->lids->dest[lid].sw, part = c->part[home];

	if (read_lid(c, s, i) && !c->any_silent && leap(c, s, home))
		return true;
	s->hops[home] = 1;
	if (c->any_silent)
		find_near(c, s, i);
	judge_entries(c, s, lid, part);
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		if (s->fate[sw] == UNKNOWN)
			follow(c, s, sw);
		if (s->fate[sw] == ARRIVES)
			continue;
		s->lost[sw] = 1;
		/* Nothing can be done about silent switches that send in a circle by themselves. */
		if (s->fate[sw] == LOOPS && !c->hops[sw].silent) {
			s->sum.loops++;
			walk_note(&s->sum, lid, sw, LOOPS);
		}
	}
	return false;
}

/* Pairs of hosts whose destination is this host's port. */
static void
count_pairs(const struct checker *c, const struct scratch *s, uint32_t port, struct tally *t)
{
	const struct plan_dest *d = &c->in->lids->dest[c->in->lids->base[port]];

	t->cut_off += c->nsources - c->part_sources[c->part[d->sw]];
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		uint64_t n = c->sources[sw] - (sw == d->sw);

		if (!n || c->part[sw] != c->part[d->sw])
			continue;
		if (c->any_silent && s->apart[sw]) {
			t->cut_off += n;
			continue;
		}
		if (s->lost[sw]) {
			t->unreachable += n;
			continue;
		}
		t->reached += n;
		t->hops += n * s->hops[sw];
		if (s->hops[sw] > t->max_hops)
			t->max_hops = s->hops[sw];
	}
}

void
walk_alone(const struct checker *c, struct tally *t, uint32_t port)
{
	uint32_t peer = c->f->ports[port].peer;
	bool pair = peer != FABRIC_NONE && peer != port && c->in->lids->base[peer];

	t->reached += pair;
	t->cut_off += c->nsources - 1 - pair;
}

void
walk_count(const struct checker *c, struct tally *t, uint32_t port, uint32_t hops, uint32_t max)
{
	const struct plan_dest *d = &c->in->lids->dest[c->in->lids->base[port]];
	uint32_t near = c->part_sources[c->part[d->sw]];

	if (d->out == 0)
		return;
	/* The port itself is among the sources, one switch away. */
	t->cut_off += c->nsources - near;
	t->reached += near - 1;
	t->hops += hops - 1;
	if (near > 1 && max > t->max_hops)
		t->max_hops = max;
}

/* Count once more what was counted of pairs before. */
static void
add_pairs(struct tally *sum, const struct tally *pairs)
{
	sum->cut_off += pairs->cut_off;
	sum->unreachable += pairs->unreachable;
	sum->reached += pairs->reached;
	sum->hops += pairs->hops;
	if (pairs->max_hops > sum->max_hops)
		sum->max_hops = pairs->max_hops;
}

/* LIDs of a block that are one port's. */
struct run {
	uint32_t first;		/* index of its first */
	uint32_t len;		/* how many; 0: there was no such port */
};

/* The ways of all LIDs of a port; whether all arrive. */
static bool
walk_port(const struct checker *c, struct scratch *s, struct run r)
{
	bool arrive = true;

	memset(s->lost, 0, c->f->nswitches);
	memset(s->apart, 0, c->f->nswitches);
	for (uint32_t i = r.first; i < r.first + r.len; i++) {
		arrive &= walk_lid(c, s, i);
		s->turns = s->turns || (c->ordered && depend_turns(c, s));
	}
	return arrive;
}

/* Are two ports' LIDs sent alike, each in its turn? */
static bool
is_like(const struct columns *b, struct run x, struct run y)
{
	bool same = x.len == y.len;

	for (uint32_t i = 0; same && i < x.len; i++)
		same = b->like[x.first + i] == b->like[y.first + i];
	return same;
}

/* What was found of a port that was walked, and all of whose ways arrive, holds for others on the
 * same switch that are like it. */
void
walk_block(const struct checker *c, struct scratch *s, uint32_t block)
{
	const struct plan_dest *dest = c->in->lids->dest;
	struct columns *b = &s->columns;
	struct run known = { 0, 0 };
	struct tally pairs = { 0 };
	bool counted = false;

	columns_read(b, &c->walks, block, c->in->lids, c->f->nswitches, c->in->rows, NULL);
	for (uint32_t i = 0, next; i < b->len; i = next) {
		uint32_t port = dest[b->lid[i]].port;
		struct run r = { i, 0 };

		for (next = i; next < b->len && dest[b->lid[next]].port == port; next++)
			r.len++;
		if (!is_like(b, r, known)) {
			known = walk_port(c, s, r) ? r : (struct run){ 0, 0 };
			counted = false;
		}
		if (dest[b->lid[i]].out == 0)	/* the switch's own */
			continue;
		if (!counted) {
			pairs = (struct tally){ 0 };
			count_pairs(c, s, port, &pairs);
			counted = true;
		}
		add_pairs(&s->sum, &pairs);
	}
}
