/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/checker.h"

/*
 * What waits for what. Where an order of switches is given and no way turns from down to up in it,
 * nobody need ask (depend_turns() looks for such a turn); else each dependency is entered.
 *
 * With one lane the dependencies of a LID are read off the tables: every switch sends (its
 * management port does), so a packet can sit on the link out of each entry and wait for the next
 * switch's entry. With lanes the packets are followed from their sources, because the lane of a
 * link depends on how a packet came there; each (link, lane, class) is followed once a LID.
 */

/* The edge by which a switch sends a LID on; FABRIC_NONE where its way ends, well or not. */
static uint32_t
entry_edge(const struct checker *c, struct plan_row *const *rows, uint32_t sw, uint32_t lid)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];
	uint8_t out = plan_row_port(rows[sw], lid);

	return sw == d->sw && out == d->out ? FABRIC_NONE : channels_edge(&c->channels, sw, out);
}

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

/* One lane: every switch sends, by the one tables or by the other. */
static void
depend_single(const struct checker *c, struct scratch *s, uint32_t first)
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

static uint8_t
lane_of(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;
	uint8_t v = l->lane ? l->lane(l, sw, in, out, class) : 0;

	return v < c->channels.lanes || v == PLAN_LANE_DROP ? v : 0;
}

/* A packet of a class enters a channel of this walk; it is followed once. */
static void
enter(const struct checker *c, struct scratch *s, size_t *nwork, uint32_t e, uint8_t lane,
      uint8_t class)
{
	size_t state = ((size_t)e * c->channels.lanes + lane) * c->classes + class;

	if (lane == PLAN_LANE_DROP)
		return;
	if (s->stamp[state] == s->walk)
		return;
	s->stamp[state] = s->walk;
	s->work[(*nwork)++] = state;
}

static void
follow_lanes(const struct checker *c, struct scratch *s, size_t nwork, uint32_t lid)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };

	while (nwork) {
		uint64_t state = s->work[--nwork];
		uint8_t class = (uint8_t)(state % c->classes);
		uint8_t lane = (uint8_t)(state / c->classes % c->channels.lanes);
		uint32_t e = (uint32_t)(state / c->classes / c->channels.lanes);
		const struct fabric_edge *edge = &c->f->edges[e];

		for (unsigned k = 0; k < 2 && sets[k]; k++) {
			uint32_t then = entry_edge(c, sets[k], edge->to, lid);
			uint8_t to;

			if (then == FABRIC_NONE)
				continue;
			to = lane_of(c, edge->to, edge->in, c->f->edges[then].out, class);
			if (to != PLAN_LANE_DROP)
				channels_add(&c->channels, e, lane, c->f->edges[then].out, to);
			enter(c, s, &nwork, then, to, class);
		}
	}
}

/* Packets of a class that start at a switch, by its own port or those of its adapters. */
static size_t
start_lanes(const struct checker *c, struct scratch *s, size_t nwork, uint32_t sw, uint32_t e,
	    uint8_t class)
{
	const struct fabric_node *n = fabric_switch_node(c->f, sw);

	for (unsigned in = 0; in <= n->nports; in++) {
		const struct fabric_port *p = &c->f->ports[n->first_port + in];

		if (in && (p->peer == FABRIC_NONE ||
			   c->channels.edge_at[n->first_port + in] != FABRIC_NONE))
			continue;
		enter(c, s, &nwork, e,
		      lane_of(c, sw, (uint8_t)in, c->channels.out[e], class), class);
	}
	return nwork;
}

/* Classes of the packets from a switch to a LID: bit n for class n. */
static uint32_t
classes_of(const struct checker *c, uint32_t sw, uint32_t lid)
{
	const struct plan_lanes *l = c->in->lanes;
	uint8_t class;

	if (l->path_classes)
		return l->path_classes(l, sw, (uint16_t)lid);
	class = l->path_class ? l->path_class(l, sw, c->in->lids->dest[lid].sw) : 0;
	return 1u << (class < c->classes ? class : 0);
}

/* Lanes: start packets at the switch itself and at each of its channel adapters' ports. */
static void
depend_lanes(const struct checker *c, struct scratch *s, uint32_t lid)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };
	size_t nwork = 0;

	s->walk++;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		uint32_t classes = classes_of(c, sw, lid);

		for (unsigned k = 0; k < 2 && sets[k]; k++) {
			uint32_t e = entry_edge(c, sets[k], sw, lid);

			for (unsigned i = 0; e != FABRIC_NONE && i < c->classes; i++)
				if (classes >> i & 1)
					nwork = start_lanes(c, s, nwork, sw, e, (uint8_t)i);
		}
	}
	follow_lanes(c, s, nwork, lid);
}

/* Does the home of a LID send it where it belongs, by all tables? */
static bool
delivered(const struct checker *c, uint32_t lid)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];

	return plan_row_port(c->in->rows[d->sw], lid) == d->out &&
	       (!c->in->also || plan_row_port(c->in->also[d->sw], lid) == d->out);
}

/* Do all switches but their home send two LIDs alike, by all tables? */
static bool
sent_alike(const struct checker *c, uint32_t a, uint32_t b)
{
	uint32_t home = c->in->lids->dest[a].sw;

	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		if (sw == home)
			continue;
		if (plan_row_port(c->in->rows[sw], a) != plan_row_port(c->in->rows[sw], b))
			return false;
		if (c->in->also && plan_row_port(c->in->also[sw], a) !=
				   plan_row_port(c->in->also[sw], b))
			return false;
	}
	return true;
}

/* Has a LID of the same home been followed that all switches send the same way? Then this one adds
 * nothing. At home both end. */
static bool
is_known(const struct checker *c, struct scratch *s, uint32_t lid)
{
	const struct plan_lanes *l = c->in->lanes;
	const struct plan_dest *d = c->in->lids->dest;
	uint32_t *known = &s->known[d[lid].sw];

	if (l->path_classes && !l->by_switch)
		return false;
	if (*known && delivered(c, lid) && delivered(c, *known) && sent_alike(c, *known, lid))
		return true;
	*known = lid;
	return false;
}

void
depend_block(const struct checker *c, struct scratch *s, uint32_t first)
{
	const struct plan_lids *l = c->in->lids;

	if (c->channels.lanes == 1) {
		depend_single(c, s, first);
		return;
	}
	for (uint32_t lid = first; lid < first + LADDER_LANES && lid <= l->top; lid++)
		if (l->dest[lid].port != FABRIC_NONE && l->dest[lid].sw != FABRIC_NONE &&
		    !is_known(c, s, lid))
			depend_lanes(c, s, lid);
}
