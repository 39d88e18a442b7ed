/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/adaptive.h"

#include <stdio.h>
#include <string.h>
#include "routing/checker.h"
#include "routing/depend_groups.h"
#include "sm/base/mem.h"

/*
 * Groups beside rows.
 *
 * Where switches have an order and the rows never turn from down to up, a group is safe if all of
 * its ports lead up, or all lead down to switches whose rows descend to every LID that comes by
 * it: a LID goes by a group only where the port of its row is in it, so that no group climbs where
 * the row descends. What descends can only end at its home, and what climbs comes to an end.
 *
 * Elsewhere, while groups are parallel cables, packets cross the same switches as by the rows; but
 * a packet on one cable may wait for each cable of the next link, and what waits for one may hold
 * any: rows of the graph of channels are united among the cables of a group, and its bits are
 * spread.
 *
 * Groups by home that no order proves are followed to each LID, with the lanes that packets are in
 * (depend_groups.c): ways must not go round, and the graph must have no cycle. Of each cycle one of
 * the waits is given up that rows alone do not make, and whoever makes packets wait so is at fault.
 */
#define CYCLES_MAX 64u		/* in one graph: the others when these are gone */

struct groups {
	const struct checker *c;
	const struct plan_adaptive *of[2];	/* that packets may meet; NULL */
	struct plan_row *const *rows[2];	/* likewise */
	uint32_t *lid_first;		/* by switch, n + 1: its part of lids[] */
	uint16_t *lids;			/* LIDs by home switch */
	uint64_t *below;		/* by switch: homes that groups send down to it, */
	uint64_t *above;		/* and up */
	uint32_t words;			/* of such a row of bits */
	uint32_t at;			/* the switch that is at fault, least index; FABRIC_NONE */
	char why[300];			/* sentence */
};

static bool
is_up(const struct ladder *l, uint32_t a, uint32_t b)
{
	return l->place[b] > l->place[a];
}

static void
blame(struct groups *g, uint32_t sw, const char *what)
{
	char name[FABRIC_NAME_SIZE];

	if (g->at <= sw)
		return;
	g->at = sw;
	snprintf(g->why, sizeof(g->why), "a group of %s %s",
		 fabric_node_text(name, g->c->f, g->c->f->switches[sw], FABRIC_NAME_LEN), what);
}

static void
list_lids(struct groups *g)
{
	const struct plan_lids *l = g->c->in->lids;
	uint32_t n = g->c->f->nswitches, *at;

	g->lid_first = mem_array(n + 1u, sizeof(*g->lid_first));
	g->lids = mem_array(l->top + 1u, sizeof(*g->lids));
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			g->lid_first[l->dest[lid].sw + 1]++;
	for (uint32_t sw = 0; sw < n; sw++)
		g->lid_first[sw + 1] += g->lid_first[sw];
	at = mem_array(n + 1u, sizeof(*at));
	memcpy(at, g->lid_first, (n + 1u) * sizeof(*at));
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			g->lids[at[l->dest[lid].sw]++] = (uint16_t)lid;
	mem_free(at);
}

static void
groups_init(struct groups *g, const struct checker *c)
{
	const struct check_input *in = c->in;

	*g = (struct groups){
		.c = c, .of = { in->adaptive, in->adaptive_also },
		.rows = { in->rows, in->also }, .words = (c->f->nswitches + 63) / 64,
		.at = FABRIC_NONE,
	};
}

static void
groups_free(struct groups *g)
{
	mem_free(g->lid_first);
	mem_free(g->lids);
	mem_free(g->below);
	mem_free(g->above);
}

/* The edge by a port of a group, or FABRIC_NONE: data cannot leave there. */
static uint32_t
open_edge(const struct groups *g, uint32_t sw, unsigned port)
{
	uint32_t e = channels_edge(&g->c->channels, sw, (uint8_t)port);

	if (e == FABRIC_NONE || g->c->f->edges[e].to == sw)
		return FABRIC_NONE;
	return g->rows[0][g->c->f->edges[e].to] ? e : FABRIC_NONE;
}

/* ---- With an order of switches ---- */

/* Homes of one group, noted at the switches behind its ports. */
static void
note_group(struct groups *g, uint32_t sw, const struct ar_ports *ports, const uint64_t *homes)
{
	bool up = false, down = false;

	for (unsigned port = 1; port < 256; port++) {
		uint32_t e, to;
		bool climbs;
		uint64_t *there;

		if (!ar_ports_has(ports, port))
			continue;
		e = open_edge(g, sw, port);
		if (e == FABRIC_NONE) {
			blame(g, sw, "has a port that leads nowhere");
			return;
		}
		to = g->c->f->edges[e].to;
		climbs = is_up(&g->c->order, sw, to);
		up |= climbs;
		down |= !climbs;
		there = (climbs ? g->above : g->below) + (size_t)to * g->words;
		for (uint32_t w = 0; w < g->words; w++)
			there[w] |= homes[w];
	}
	if (up && down)
		blame(g, sw, "has ports that lead up and others that lead down");
}

/* A table by home. */
static void
note_table(struct groups *g, uint32_t sw, const struct plan_ar_switch *s, unsigned t)
{
	uint64_t *homes = mem_array((s->top + 1u) * (size_t)g->words, sizeof(*homes));

	for (uint32_t home = 0; home < s->nhomes && home < g->c->f->nswitches; home++) {
		unsigned group = s->table[t].group[home];

		if (group && group <= s->top)
			homes[(size_t)group * g->words + home / 64] |= UINT64_C(1) << home % 64;
	}
	for (unsigned group = 1; group <= s->top; group++)
		for (unsigned sub = 0; sub < s->subs; sub++)
			note_group(g, sw, plan_ar_ports(s, group, sub),
				   homes + (size_t)group * g->words);
	mem_free(homes);
}

/* A table by port: all of a group's cables are alike. */
static void
check_parallel(struct groups *g, uint32_t sw, const struct plan_ar_switch *s, unsigned t)
{
	for (unsigned of = 1; of < 256; of++) {
		unsigned group = s->table[t].group[of];
		uint32_t mine = group ? open_edge(g, sw, of) : FABRIC_NONE;

		if (!group || group > s->top)
			continue;
		for (unsigned port = 1; port < 256; port++) {
			uint32_t e;

			if (!ar_ports_has(plan_ar_ports(s, group, 0), port))
				continue;
			e = open_edge(g, sw, port);
			if (e == FABRIC_NONE || mine == FABRIC_NONE ||
			    g->c->f->edges[e].to != g->c->f->edges[mine].to)
				blame(g, sw, "is not of parallel cables");
		}
	}
}

static void
note_all(struct groups *g)
{
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t sw = 0; g->of[k] && sw < g->of[k]->nswitches; sw++) {
			const struct plan_ar_switch *s = g->of[k]->sw[sw];

			for (unsigned t = 0; s && s->used && t < s->ntables; t++) {
				if (s->table[t].by_port)
					check_parallel(g, sw, s, t);
				else if (g->below)
					note_table(g, sw, s, t);
			}
		}
}

/* Who sends these homes down to, or up to, this switch? */
static void
blame_sender(struct groups *g, uint32_t to, uint32_t home, const char *what)
{
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t sw = 0; g->of[k] && sw < g->of[k]->nswitches; sw++) {
			const struct plan_ar_switch *s = g->of[k]->sw[sw];

			for (uint32_t e = g->c->f->edge_first[sw];
			     s && e < g->c->f->edge_first[sw + 1]; e++)
				for (unsigned t = 0; t < s->ntables; t++) {
					unsigned group = s->table[t].by_port ? 0 :
						s->table[t].group[home];

					if (group && g->c->f->edges[e].to == to &&
					    ar_ports_has(plan_ar_ports(s, group, 0),
							 g->c->f->edges[e].out))
						blame(g, sw, what);
				}
		}
}

/* What comes down by groups must go on down by the rows, and what comes up must go on. */
static void
check_behind(struct groups *g, uint32_t sw, uint32_t home, bool down)
{
	const struct plan_lids *lids = g->c->in->lids;

	for (uint32_t i = g->lid_first[home]; i < g->lid_first[home + 1] && home != sw; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint32_t e;
			uint8_t port;

			if (!g->rows[k] || !lids->dest[g->lids[i]].out)
				continue;
			port = plan_row_port(g->rows[k][sw], g->lids[i]);
			e = port == LFT_NO_PORT ? FABRIC_NONE :
				channels_edge(&g->c->channels, sw, port);
			if (e == FABRIC_NONE && !g->rows[1])
				blame_sender(g, sw, home, "leads to a switch that has no way on");
			if (e != FABRIC_NONE && down &&
			    is_up(&g->c->order, sw, g->c->f->edges[e].to))
				blame_sender(g, sw, home, "leads down to a switch that goes up");
		}
}

/* Ports that packets which come by groups should not leave by; others need no closer look. */
static void
doubtful_ports(const struct groups *g, uint32_t sw, bool down, bool ports[256])
{
	for (unsigned port = 0; port < 256; port++) {
		uint32_t e = channels_edge(&g->c->channels, sw, (uint8_t)port);

		ports[port] = e == FABRIC_NONE ||
			(down && is_up(&g->c->order, sw, g->c->f->edges[e].to));
	}
}

static void
check_switch(struct groups *g, uint32_t sw, const uint64_t *homes, bool down)
{
	bool doubtful[256];

	doubtful_ports(g, sw, down, doubtful);
	for (uint32_t w = 0; w < g->words; w++)
		for (uint64_t left = homes[w]; left; left &= left - 1) {
			uint32_t home = w * 64 + (uint32_t)__builtin_ctzll(left);
			const uint16_t *lids = &g->lids[g->lid_first[home]];
			uint32_t len = g->lid_first[home + 1] - g->lid_first[home];
			bool any = false;

			for (unsigned k = 0; k < 2 && g->rows[k]; k++)
				any |= !g->rows[k][sw] ||
					plan_row_uses(g->rows[k][sw], doubtful, lids, len);
			if (any)
				check_behind(g, sw, home, down);
		}
}

/* All is proved that is behind groups, unless the rows are known to be sound to the last entry. Two
 * sets of rows are each sound by themselves, if at all. */
static void
check_ordered(struct groups *g)
{
	bool sound = g->c->in->sound || g->rows[1];

	list_lids(g);
	g->below = mem_array((size_t)g->c->f->nswitches * g->words, sizeof(*g->below));
	g->above = mem_array((size_t)g->c->f->nswitches * g->words, sizeof(*g->above));
	note_all(g);
	for (uint32_t sw = 0; sw < g->c->f->nswitches && g->at == FABRIC_NONE; sw++) {
		check_switch(g, sw, g->below + (size_t)sw * g->words, true);
		if (!sound)
			check_switch(g, sw, g->above + (size_t)sw * g->words, false);
	}
}

bool
adaptive_turns(const struct checker *c, uint32_t *at, char *why, size_t size)
{
	struct groups g;

	groups_init(&g, c);
	if (g.of[0] || g.of[1])
		check_ordered(&g);
	if (at)
		*at = g.at;
	if (why)
		snprintf(why, size, "%s", g.why);
	groups_free(&g);
	return g.at != FABRIC_NONE;
}

/* ---- In the graph of channels ---- */

/* The other cables of the group that a row's port stands for, of all tables. */
static void
siblings(const struct groups *g, uint32_t sw, unsigned port, uint64_t out[4])
{
	for (unsigned k = 0; k < 2; k++) {
		const struct plan_ar_switch *s = g->of[k] && sw < g->of[k]->nswitches ?
			g->of[k]->sw[sw] : NULL;

		for (unsigned t = 0; s && t < s->ntables; t++) {
			unsigned group = s->table[t].by_port ? s->table[t].group[port] : 0;

			for (unsigned w = 0; group && group <= s->top && w < 4; w++)
				out[w] |= plan_ar_ports(s, group, 0)->word[w];
		}
	}
}

static uint64_t *
map_of(const struct channels *c, uint32_t edge, unsigned from, unsigned to)
{
	return &c->bits[(((size_t)edge * c->lanes + from) * c->lanes + to) * c->words];
}

/* Who waits for a cable of a group waits for all. */
static void
spread_outs(const struct groups *g, uint32_t edge)
{
	const struct channels *c = &g->c->channels;
	unsigned maps = c->lanes * c->lanes;

	for (unsigned m = 0; m < maps; m++) {
		uint64_t *map = map_of(c, edge, m / c->lanes, m % c->lanes), all[4] = { 0 };

		for (unsigned w = 0; w < c->words; w++)
			for (uint64_t left = map[w]; left; left &= left - 1)
				siblings(g, c->to[edge],
					 w * 64 + (unsigned)__builtin_ctzll(left), all);
		for (unsigned w = 0; w < c->words; w++)
			map[w] |= all[w];
	}
}

/* What is held on one cable of a group may be held on each. */
static void
unite_ins(const struct groups *g, uint32_t sw, uint32_t edge)
{
	const struct channels *c = &g->c->channels;
	size_t len = (size_t)c->lanes * c->lanes * c->words;
	uint64_t all[4] = { 0 };

	siblings(g, sw, c->out[edge], all);
	for (uint32_t e = g->c->f->edge_first[sw]; e < g->c->f->edge_first[sw + 1]; e++) {
		if (e == edge || !(all[c->out[e] / 64] >> c->out[e] % 64 & 1))
			continue;
		for (size_t i = 0; i < len; i++)
			map_of(c, e, 0, 0)[i] |= map_of(c, edge, 0, 0)[i];
	}
}

static bool
any_by_home(const struct plan_adaptive *a)
{
	for (uint32_t sw = 0; a && sw < a->nswitches; sw++)
		for (unsigned t = 0; a->sw[sw] && a->sw[sw]->used && t < a->sw[sw]->ntables; t++)
			if (!a->sw[sw]->table[t].by_port)
				return true;
	return false;
}

bool
adaptive_by_home(const struct checker *c)
{
	return any_by_home(c->in->adaptive) || any_by_home(c->in->adaptive_also);
}

void
adaptive_depends(const struct checker *c)
{
	struct groups g;

	groups_init(&g, c);
	if (!g.of[0] && !g.of[1])
		return;
	for (uint32_t e = 0; e < c->f->nedges; e++)
		spread_outs(&g, e);
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (uint32_t e = c->f->edge_first[sw]; e < c->f->edge_first[sw + 1]; e++)
			unite_ins(&g, sw, e);
	groups_free(&g);
}

/* ---- Whether lanes allow it ---- */

static bool
same_lanes(const struct groups *g, uint32_t sw, unsigned a, unsigned b, bool outs)
{
	const struct plan_lanes *l = g->c->in->lanes;
	unsigned nports = fabric_switch_node(g->c->f, sw)->nports;

	for (unsigned other = 0; other <= nports; other++)
		for (unsigned class = 0; class < g->c->classes; class++) {
			uint8_t x = l->lane(l, sw, (uint8_t)(outs ? other : a),
					    (uint8_t)(outs ? a : other), (uint8_t)class);
			uint8_t y = l->lane(l, sw, (uint8_t)(outs ? other : b),
					    (uint8_t)(outs ? b : other), (uint8_t)class);

			if (x != y && (outs || other))
				return false;
		}
	return true;
}

/* A packet's lane must not tell which cable of a group it took. */
static void
check_lanes(struct groups *g)
{
	const struct fabric *f = g->c->f;

	if (!g->c->in->lanes || !g->c->in->lanes->lane)
		return;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			uint64_t all[4] = { 0 };

			siblings(g, sw, f->edges[e].out, all);
			for (uint32_t i = e + 1; i < f->edge_first[sw + 1]; i++) {
				if (!(all[f->edges[i].out / 64] >> f->edges[i].out % 64 & 1))
					continue;
				if (!same_lanes(g, sw, f->edges[e].out, f->edges[i].out, true) ||
				    !same_lanes(g, f->edges[e].to, f->edges[e].in,
						f->edges[i].in, false))
					blame(g, sw, "has cables of unlike lanes");
			}
		}
}

/* ---- By following packets ---- */

/* Take a wait of each cycle away that is not in the graph of rows alone: they are *waits (the
 * caller's), and as many are returned. */
static size_t
break_cycles(const struct channels *all, const struct channels *alone, struct depend_wait **waits)
{
	struct depend_wait *found = mem_array(CYCLES_MAX, sizeof(*found));
	uint32_t *cycle;
	size_t n = 0, len;

	while (n < CYCLES_MAX && (cycle = channels_find(all, &len))) {
		bool broken = false;

		for (size_t i = 0; i < len && !broken; i++) {
			uint32_t from = cycle[i], to = cycle[(i + 1) % len];
			uint64_t bit, *word = channels_word(alone, from, to, &bit);

			if (*word & bit)
				continue;
			*channels_word(all, from, to, &bit) &= ~bit;
			found[n++] = (struct depend_wait){ from, to };
			broken = true;
		}
		mem_free(cycle);
		if (!broken)
			break;
	}
	*waits = found;
	return n;
}

/* Whose groups close cycles. */
static void
blame_cycles(struct checker *c, struct depend_faults *faults)
{
	struct check_input in = *c->in;
	struct depend_wait *waits;
	struct checker alone;
	size_t n;

	in.adaptive = NULL;
	checker_init(&alone, &in);
	checker_graph(&alone);
	n = break_cycles(&c->channels, &alone.channels, &waits);
	if (n)
		depend_blame(c, waits, n, faults);
	mem_free(waits);
	checker_free(&alone);
}

static int
follow_groups(struct checker *c, struct depend_faults *faults, struct error *e)
{
	char cycle[1200], name[FABRIC_NAME_SIZE];

	channels_open(&c->channels);
	depend_with_groups(c, faults);
	if (faults->lid)
		return error_set(e, ERR_REFUSED, "by a group of %s packets to LID %u would not "
				 "arrive", fabric_node_text(name, c->f,
				 c->f->switches[faults->all[0].sw], FABRIC_NAME_LEN), faults->lid);
	if (!channels_cycle(&c->channels, cycle, sizeof(cycle)))
		return 0;
	blame_cycles(c, faults);
	return error_set(e, ERR_REFUSED, "with groups there is a credit loop: %.380s", cycle);
}

/* Without an order. */
static int
check_graph(const struct check_input *in, struct checker *c, struct groups *g,
	    struct depend_faults *faults, struct error *e)
{
	struct plan_check report;
	bool by_home = adaptive_by_home(c);

	note_all(g);
	if (g->at == FABRIC_NONE && !by_home)
		check_lanes(g);
	if (g->at != FABRIC_NONE)
		return error_set(e, ERR_REFUSED, "%s", g->why);
	if (!by_home && !check_union(in, &report))
		return 0;
	return follow_groups(c, faults, e);
}

static bool
any_groups(const struct plan_adaptive *a)
{
	for (uint32_t sw = 0; sw < a->nswitches; sw++)
		if (a->sw[sw] && a->sw[sw]->used)
			return true;
	return false;
}

int
check_adaptive_faults(const struct plan *plan, const struct plan_adaptive *a, unsigned threads,
		      uint32_t *at, struct depend_faults *faults, struct error *e)
{
	struct check_input in = {
		.fabric = plan->fabric, .lids = plan->lids, .rows = plan->rows,
		.lanes = plan->lanes, .ranks = plan->ranks, .adaptive = a,
		.sound = plan->proof != NULL, .threads = threads,
	};
	struct checker c;
	struct groups g;
	char why[300];
	int rc = 0;

	*at = FABRIC_NONE;
	if (!any_groups(a))
		return 0;
	checker_init(&c, &in);
	groups_init(&g, &c);
	if (plan->ranks && plan->proof && c.ordered) {
		if (adaptive_turns(&c, at, why, sizeof(why)))
			rc = error_set(e, ERR_REFUSED, "%s", why);
	} else {
		rc = check_graph(&in, &c, &g, faults, e);
		*at = g.at;
	}
	groups_free(&g);
	checker_free(&c);
	return rc;
}

int
check_adaptive(const struct plan *plan, const struct plan_adaptive *a, unsigned threads,
	       uint32_t *at, struct error *e)
{
	struct depend_faults faults = { 0 };
	uint32_t where;
	int rc = check_adaptive_faults(plan, a, threads, &where, &faults, e);

	if (rc && where == FABRIC_NONE && faults.len)
		where = faults.all[0].sw;
	if (at)
		*at = where;
	depend_faults_free(&faults);
	return rc;
}
