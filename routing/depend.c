/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/checker.h"

/*
 * What waits for what. Where an order of switches is given and no way turns from down to up in it,
 * nobody need ask (depend_turns() looks for such a turn); else each dependency is entered.
 *
 * With one lane the dependencies of a LID are read off the tables: every switch sends (its
 * management port does), so a packet can sit on the link out of each entry and wait for the next
 * switch's entry. For more lanes see depend_lanes.c.
 */

/* Does the way from switch `a` to its neighbour `b` lead up? */
static inline bool
leads_up(const struct checker *c, uint32_t a, uint32_t b)
{
	return c->order.place[b] > c->order.place[a];
}

bool
depend_turns(const struct checker *c, const struct scratch *s)
{
	const uint32_t *to = c->channels.to, *next = s->next;

	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		uint32_t e = next[sw], then;

		if (e == FABRIC_NONE || leads_up(c, sw, to[e]))
			continue;
		then = next[to[e]];
		if (to[e] == sw || (then != FABRIC_NONE && leads_up(c, to[e], to[then])))
			return true;
	}
	return false;
}

/* Entries of the LIDs from `first` on; 0 where there is none, and for LIDs that nobody owns. */
static void
read_block(const struct checker *c, struct plan_row *const *rows, uint32_t first, uint8_t *sent)
{
	const struct plan_lids *l = c->in->lids;
	bool used[LADDER_LANES];

	for (uint32_t i = 0; i < LADDER_LANES; i++)
		used[i] = first + i <= l->top && l->dest[first + i].port != FABRIC_NONE &&
			l->dest[first + i].sw != FABRIC_NONE;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++, sent += LADDER_LANES)
		for (uint32_t i = 0; i < LADDER_LANES; i++) {
			uint8_t out = plan_row_port(rows[sw], first + i);

			sent[i] = used[i] && out <= c->hops[sw].nports ? out : 0;
		}
}

/* Packets that leave a switch by its entries `out` meet the entries `then` of the next switches. A
 * switch where a LID is at home has a port there that leads to no switch: no care is needed. */
static void
enter_block(const struct checker *c, uint32_t sw, const uint8_t *out, const uint8_t *then)
{
	const uint32_t *edge_at = c->hops[sw].edge_at;

	for (uint32_t i = 0; i < LADDER_LANES; i++) {
		uint32_t e = edge_at[out[i]];

		if (e != FABRIC_NONE)
			channels_add(&c->channels, e, 0,
				     then[(size_t)c->channels.to[e] * LADDER_LANES + i], 0);
	}
}

void
depend_block(const struct checker *c, struct scratch *s, uint32_t first)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };
	unsigned n = c->in->also ? 2 : 1;

	for (unsigned k = 0; k < n; k++)
		read_block(c, sets[k], first, s->sent[k]);
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (unsigned k = 0; k < n; k++)
			for (unsigned m = 0; m < n; m++)
				enter_block(c, sw, s->sent[k] + (size_t)sw * LADDER_LANES,
					    s->sent[m]);
}
