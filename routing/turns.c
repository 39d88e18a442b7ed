/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/turns.h"
#include "sm/base/mem.h"

/*
 * Which turn follows which on some way is kept, so that a turn that moves to a higher lane takes
 * those behind it along. None moves more often than there are lanes.
 */
struct turns_change {
	uint32_t turn;			/* which */
	uint8_t lane;			/* that it had before */
};

struct turns *
turns_new(struct layers *y)
{
	struct turns *t = mem_zalloc(sizeof(*t));
	const struct links *l = y->l;
	uint32_t most = 1, n = y->first[l->len];

	for (uint32_t sw = 0; sw < l->n; sw++)
		if (l->first[sw + 1] - l->first[sw] > most)
			most = l->first[sw + 1] - l->first[sw];
	*t = (struct turns){
		.y = y, .lane = mem_array(n + 1u, 1), .fixed = mem_array(n + 1u, sizeof(bool)),
		.words = (most + 63) / 64,
	};
	t->then = mem_array((size_t)n * t->words + 1, sizeof(*t->then));
	for (uint32_t i = 0; i < n; i++)
		t->lane[i] = 1;
	return t;
}

void
turns_free(struct turns *t)
{
	if (!t)
		return;
	mem_free(t->lane);
	mem_free(t->fixed);
	mem_free(t->then);
	mem_free(t->log);
	mem_free(t);
}

void
turns_fix(struct turns *t, uint32_t in, uint32_t out)
{
	uint32_t turn = layers_turn(t->y, in, out);

	t->lane[turn] = (uint8_t)(t->y->len - 1);
	t->fixed[turn] = true;
}

/* Behind a fixed turn there is no other below the highest lane: if the others need not go so high,
 * neither need these. */
void
turns_settle(struct turns *t)
{
	uint32_t n = t->y->first[t->y->l->len];
	uint8_t most = 1;

	for (uint32_t i = 0; i < n; i++)
		most = !t->fixed[i] && t->lane[i] > most ? t->lane[i] : most;
	for (uint32_t i = 0; i < n; i++)
		if (t->fixed[i])
			t->lane[i] = most;
}

static void
set_lane(struct turns *t, uint32_t turn, unsigned lane)
{
	if (t->nlog == t->room) {
		t->room = t->room * 2 + 64;
		t->log = mem_realloc(t->log, t->room, sizeof(*t->log));
	}
	t->log[t->nlog++] = (struct turns_change){ turn, t->lane[turn] };
	t->lane[turn] = (uint8_t)lane;
}

static void
undo(struct turns *t)
{
	layers_undo(t->y);
	while (t->nlog) {
		const struct turns_change *c = &t->log[--t->nlog];

		t->lane[c->turn] = c->lane;
	}
}

static bool
follow(struct turns *t, unsigned lane, uint32_t out, uint32_t then);

/* Put the turn from `in` to `out` on a higher lane, and what comes behind it where that allows. */
static bool
lift(struct turns *t, uint32_t in, uint32_t out, unsigned lane)
{
	uint32_t turn = layers_turn(t->y, in, out), first = t->y->l->first[t->y->l->to[out]];

	if (lane >= t->y->len || t->fixed[turn])
		return false;
	set_lane(t, turn, lane);
	for (unsigned i = 0; i < t->words; i++)
		for (uint64_t on = t->then[(size_t)turn * t->words + i]; on; on &= on - 1) {
			uint32_t next = first + i * 64 + (unsigned)__builtin_ctzll(on);

			if (!follow(t, t->lane[turn], out, next))
				return false;
		}
	return true;
}

/* On `lane` over the first link: the turn to the next is to that lane or a higher one. */
static bool
follow(struct turns *t, unsigned lane, uint32_t out, uint32_t then)
{
	unsigned is = t->lane[layers_turn(t->y, out, then)];

	if (is > lane || (is == lane && layers_enter(t->y, lane, out, then)))
		return true;
	if (is < lane && layers_enter(t->y, lane, out, then))
		return lift(t, out, then, lane);
	return lift(t, out, then, lane + 1);
}

bool
turns_enter(struct turns *t, uint32_t in, uint32_t out, uint32_t then)
{
	uint32_t turn = layers_turn(t->y, in, out), place;
	uint64_t *word, bit;

	place = then - t->y->l->first[t->y->l->to[out]];
	word = &t->then[(size_t)turn * t->words + place / 64];
	bit = UINT64_C(1) << place % 64;
	if (*word & bit)
		return true;
	t->nlog = 0;
	layers_begin(t->y);
	*word |= bit;	/* first: what comes behind may lead back to the turn */
	if (follow(t, t->lane[turn], out, then))
		return true;
	*word &= ~bit;
	undo(t);
	return false;
}

unsigned
turns_cost(const struct turns *t, uint32_t in, uint32_t out, uint32_t then)
{
	unsigned lane = t->lane[layers_turn(t->y, in, out)];
	unsigned is = t->lane[layers_turn(t->y, out, then)];

	if (is > lane || (is == lane && layers_of(t->y, out, then) >> lane & 1))
		return 0;
	return is == lane && !(t->y->barred[layers_turn(t->y, out, then)] >> lane & 1) ? 1 : 2;
}
