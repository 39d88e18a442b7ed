/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/depend.h"

/*
 * What waits for what. With one lane the dependencies of a LID are read off the tables: every
 * switch sends (its management port does), so a packet can sit on the link out of each entry and
 * wait for the next switch's entry. With lanes the packets are followed from their sources, because
 * the lane of a link depends on how a packet came there; each (link, lane, class) is followed once
 * a LID.
 */

/* The edge by which a switch sends a LID on; FABRIC_NONE where its way ends, well or not. */
static uint32_t
entry_edge(const struct checker *c, struct plan_row *const *rows, uint32_t sw, uint32_t lid)
{
	const struct plan_dest *d = &c->in->lids->dest[lid];
	uint8_t out = plan_row_port(rows[sw], lid);

	return sw == d->sw && out == d->out ? FABRIC_NONE : channels_edge(&c->channels, sw, out);
}

/* One lane, one set of tables: s->next[] holds all that is needed. */
void
depend_single(const struct checker *c, struct scratch *s)
{
	const uint32_t *to = c->channels.to, *next = s->next;
	const uint8_t *out = c->channels.out;

	for (uint32_t sw = 0, n = c->f->nswitches; sw < n; sw++) {
		uint32_t e = next[sw], then = e == FABRIC_NONE ? e : next[to[e]];

		if (then != FABRIC_NONE)
			channels_add(&c->channels, e, 0, out[then], 0);
	}
}

/* One lane, two sets of tables: each switch on the way may have the one or the other. */
void
depend_union(const struct checker *c, uint32_t lid)
{
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };

	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (unsigned i = 0; i < 2; i++) {
			uint32_t e, then, to;

			if (i && sets[0][sw] == sets[1][sw])
				break;
			e = entry_edge(c, sets[i], sw, lid);
			if (e == FABRIC_NONE)
				continue;
			to = c->channels.to[e];
			for (unsigned k = 0; k < 2 && (!k || sets[0][to] != sets[1][to]); k++) {
				then = entry_edge(c, sets[k], to, lid);
				if (then != FABRIC_NONE)
					channels_add(&c->channels, e, 0, c->f->edges[then].out, 0);
			}
		}
}

static uint8_t
lane_of(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, uint8_t lane, uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;
	uint8_t v = l->lane ? l->lane(l, sw, in, out, lane, class) : 0;

	return v < c->channels.lanes ? v : 0;
}

/* A packet of a class enters a channel of this walk; it is followed once. */
static void
enter(const struct checker *c, struct scratch *s, size_t *nwork, uint32_t e, uint8_t lane,
      uint8_t class)
{
	size_t state = ((size_t)e * c->channels.lanes + lane) * c->classes + class;

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
			to = lane_of(c, edge->to, edge->in, c->f->edges[then].out, lane, class);
			channels_add(&c->channels, e, lane, c->f->edges[then].out, to);
			enter(c, s, &nwork, then, to, class);
		}
	}
}

/* Lanes: start packets at the switch itself and at each of its channel adapters' ports. */
void
depend_lanes(const struct checker *c, struct scratch *s, uint32_t lid)
{
	const struct plan_lanes *l = c->in->lanes;
	struct plan_row *const *sets[2] = { c->in->rows, c->in->also };
	uint32_t home = c->in->lids->dest[lid].sw;
	size_t nwork = 0;

	s->walk++;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(c->f, sw);
		uint8_t class = l->path_class ? l->path_class(l, sw, home) : 0;

		for (unsigned k = 0; k < 2 && sets[k]; k++) {
			uint32_t e = entry_edge(c, sets[k], sw, lid);

			for (unsigned in = 0; e != FABRIC_NONE && in <= n->nports; in++) {
				const struct fabric_port *p = &c->f->ports[n->first_port + in];
				uint8_t lane;

				if (in && (p->peer == FABRIC_NONE ||
					   c->channels.edge_at[n->first_port + in] != FABRIC_NONE))
					continue;
				lane = lane_of(c, sw, (uint8_t)in, c->channels.out[e], 0, class);
				enter(c, s, &nwork, e, lane, class < c->classes ? class : 0);
			}
		}
	}
	follow_lanes(c, s, nwork, lid);
}
