/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/ar.h"
#include "sim/traffic/traffic_impl.h"

/*
 * The ways of flows through the switches, as the tables have them now.
 *
 * Where data for a LID go on from a switch by the same ports and lanes is one junction, however
 * they came there; its branches lead to further junctions, and a way is what begins at one of them.
 * Junctions are found depth first, so those behind one have lower numbers than itself; a port that
 * leads back to where the search came by is a loop. How data split over the branches of a junction
 * is for traffic_split.c; then ways are spelled out as steps, of each link one.
 */
#define KEY_SALTS 16u	/* junctions of one switch and LID that lead on by different ports */

void
trails_init(struct trails *w, const struct model *m, const uint32_t *base, uint32_t nlinks)
{
	memset(w, 0, sizeof(*w));
	w->m = m;
	w->base = base;
	w->nlinks = nlinks;
	w->seen = mem_array(nlinks, sizeof(*w->seen));
	w->used = mem_array(nlinks, sizeof(*w->used));
	w->step_of = mem_array(nlinks, sizeof(*w->step_of));
}

void
trails_free(struct trails *w)
{
	mem_free(w->shares);
	mem_free(w->info);
	mem_free(w->steps);
	mem_free(w->lanes);
	mem_free(w->junctions);
	mem_free(w->branches);
	map_free(&w->known);
	mem_free(w->seen);
	mem_free(w->used);
	mem_free(w->step_of);
}

bool
trails_open(const struct model *m, uint32_t node, unsigned in, unsigned out, unsigned sl)
{
	const struct sim_port *p = &m->nodes[node].ports[out];

	return p->info.state == PORT_ACTIVE && p->peer != IBNET_NONE &&
		m->nodes[p->peer].ports[p->peer_port].info.state == PORT_ACTIVE &&
		model_sl2vl(m, node, in, out, sl) != 15;
}

/* ---- Junctions ---- */

struct walk {
	struct trails *w;		/* to which it belongs */
	uint16_t dlid;		/* destination */
	uint8_t sl;		/* service level */
};

/* The ports that a switch sends data through. */
struct fan {
	unsigned len;		/* how many; 0: it would lose some of them */
	uint8_t ports[IBNET_MAX_NODE_PORTS];
	uint32_t next[IBNET_MAX_NODE_PORTS];	/* junctions behind them */
};

static void
find_fan(const struct walk *k, const struct place *at, struct fan *fan)
{
	const struct model *m = k->w->m;
	const struct sim_node *n = &m->nodes[at->node];

	fan->len = n->type != NODE_SWITCH ? 0 :
		ar_ports(m, at->node, at->port, k->dlid, k->sl, fan->ports);
	for (unsigned i = 0; i < fan->len; i++)
		if (!fan->ports[i] || fan->ports[i] > n->nports ||
		    !trails_open(m, at->node, at->port, fan->ports[i], k->sl))
			fan->len = 0;
}

static bool
leads_on_by(const struct walk *k, uint32_t junction, const struct place *at,
	    const struct fan *fan)
{
	const struct trails *w = k->w;
	const struct junction *j = &w->junctions[junction];

	if (j->len != fan->len)
		return false;
	for (unsigned i = 0; i < fan->len; i++) {
		const struct branch *b = &w->branches[j->first + i];

		if (b->link != w->base[at->node] + fan->ports[i] ||
		    b->lane != model_sl2vl(w->m, at->node, at->port, fan->ports[i], k->sl))
			return false;
	}
	return true;
}

/* The junction, if it is known; else WAY_BROKEN, and *key is where it belongs (0: nowhere). */
static uint32_t
find_known(const struct walk *k, const struct place *at, const struct fan *fan, uint64_t *key)
{
	uint64_t first = ((uint64_t)(at->node + 1) << 20 | (uint64_t)k->dlid << 4 | k->sl) *
		KEY_SALTS;

	for (*key = first; *key < first + KEY_SALTS; ++*key) {
		uint32_t j = map_get(&k->w->known, *key);

		if (j == MAP_NONE)
			return WAY_BROKEN;
		if (leads_on_by(k, j, at, fan))
			return j;
	}
	*key = 0;
	return WAY_BROKEN;
}

static struct place
across(const struct model *m, const struct place *at, unsigned out)
{
	const struct sim_port *p = &m->nodes[at->node].ports[out];

	return (struct place){ .node = p->peer, .port = p->peer_port, .hops = at->hops + 1 };
}

static void
take_least(uint16_t *mtu, unsigned other)
{
	if (other && (!*mtu || other < *mtu))
		*mtu = (uint16_t)other;
}

static void
make_room(struct trails *w, unsigned branches)
{
	if (w->njunctions == w->junctions_size) {
		w->junctions_size = w->junctions_size ? w->junctions_size * 2 : 256;
		w->junctions = mem_realloc(w->junctions, w->junctions_size,
					   sizeof(*w->junctions));
	}
	if (w->nbranches + branches > w->branches_size) {
		w->branches_size = 2 * w->branches_size + branches + 256;
		w->branches = mem_realloc(w->branches, w->branches_size, sizeof(*w->branches));
	}
}

static uint32_t
add_junction(const struct walk *k, const struct place *at, const struct fan *fan)
{
	struct trails *w = k->w;
	const struct sim_node *n = &w->m->nodes[at->node];
	struct junction j = { .first = w->nbranches, .way = WAY_BROKEN, .len = (uint8_t)fan->len };

	make_room(w, fan->len);
	j.adapts = fan->len > 1 && !ar_is_hashed(w->m, at->node, at->port, k->dlid, k->sl);
	w->adapts |= j.adapts;
	for (unsigned i = 0; i < fan->len; i++) {
		uint32_t next = fan->next[i];
		unsigned hops = next == JUNCTION_HERE ? 1 : w->junctions[next].hops + 1u;

		j.hops = (uint8_t)(hops > j.hops ? hops : j.hops);
		take_least(&j.mtu, mtu_bytes(n->ports[fan->ports[i]].info.neighbor_mtu));
		if (next != JUNCTION_HERE)
			take_least(&j.mtu, w->junctions[next].mtu);
		w->branches[w->nbranches++] = (struct branch){
			.link = w->base[at->node] + fan->ports[i], .next = next,
			.lane = (uint8_t)model_sl2vl(w->m, at->node, at->port, fan->ports[i],
						     k->sl),
			.share = (float)(1.0 / fan->len),
		};
	}
	w->junctions[w->njunctions] = j;
	return w->njunctions++;
}

/* False: some of it would not arrive. As deep as hops are allowed. */
static bool
visit(const struct walk *k, struct place at, uint32_t *found)
{
	struct trails *w = k->w;
	uint32_t in = w->base[at.node] + at.port;
	struct fan fan;
	uint64_t key;

	*found = JUNCTION_HERE;
	if (at.hops > HOPS_MAX)
		return false;
	if (lid_is_here(&w->m->nodes[at.node], at.port, k->dlid))
		return true;
	find_fan(k, &at, &fan);
	if (!fan.len || w->seen[in] == w->stamp)
		return false;
	if ((*found = find_known(k, &at, &fan, &key)) != WAY_BROKEN)
		return at.hops + w->junctions[*found].hops <= HOPS_MAX;
	w->seen[in] = w->stamp;
	for (unsigned i = 0; i < fan.len; i++)
		if (!visit(k, across(w->m, &at, fan.ports[i]), &fan.next[i]))
			return false;
	w->seen[in] = 0;
	*found = add_junction(k, &at, &fan);
	if (key)
		map_set(&w->known, key, *found);
	return true;
}

/* ---- Ways ---- */

static uint32_t
new_way(struct trails *w, const struct way *info)
{
	if (w->nways == w->ways_size) {
		w->ways_size = w->ways_size ? w->ways_size * 2 : 256;
		w->shares = mem_realloc(w->shares, w->ways_size, sizeof(*w->shares));
		w->info = mem_realloc(w->info, w->ways_size, sizeof(*w->info));
	}
	w->info[w->nways] = *info;
	return w->nways++;
}

uint32_t
trails_find(struct trails *w, uint32_t node, unsigned in, uint16_t dlid, unsigned sl)
{
	struct walk k = { w, dlid, (uint8_t)sl };
	struct place start = { .node = node, .port = (uint8_t)in };
	struct way info = { .sl = (uint8_t)sl };

	w->stamp++;
	if (!visit(&k, start, &info.root))
		return WAY_BROKEN;
	if (info.root == JUNCTION_HERE)
		return new_way(w, &info);
	info.mtu = w->junctions[info.root].mtu;
	if (w->junctions[info.root].way == WAY_BROKEN)
		w->junctions[info.root].way = new_way(w, &info);
	return w->junctions[info.root].way;
}

/* ---- Ways spelled out ---- */

/* Of one way after the other. */
struct spelling {
	struct trails *w;		/* all of them */
	uint32_t *met;		/* by junction: the last way that it was met on, + 1 */
	double *part;		/* by junction: what comes there */
	uint32_t *order;	/* norder junctions of the way, last ones first */
	uint32_t norder, way;	/* that is being spelled out */
};

static void
collect(struct spelling *s, uint32_t j)
{
	const struct junction *at = &s->w->junctions[j];

	s->met[j] = s->way + 1;
	s->part[j] = 0;
	for (unsigned i = 0; i < at->len; i++) {
		const struct branch *b = &s->w->branches[at->first + i];

		if (b->share > 0 && b->next != JUNCTION_HERE && s->met[b->next] != s->way + 1)
			collect(s, b->next);
	}
	s->order[s->norder++] = j;
}

static void
add_step(struct trails *w, const struct branch *b, uint32_t stamp, double part)
{
	if (w->used[b->link] == stamp) {
		w->steps[w->step_of[b->link]].part += (float)part;
		return;
	}
	if (w->nsteps == w->steps_size) {
		w->steps_size = w->steps_size ? w->steps_size * 2 : 1024;
		w->steps = mem_realloc(w->steps, w->steps_size, sizeof(*w->steps));
		w->lanes = mem_realloc(w->lanes, w->steps_size, sizeof(*w->lanes));
	}
	w->used[b->link] = stamp;
	w->step_of[b->link] = w->nsteps;
	w->lanes[w->nsteps] = b->lane;
	w->steps[w->nsteps++] = (struct share_step){ b->link, (float)part };
}

static void
spell_way(struct spelling *s)
{
	struct trails *w = s->w;
	size_t first = w->nsteps;
	uint32_t root = w->info[s->way].root;

	s->norder = 0;
	if (root != JUNCTION_HERE) {
		collect(s, root);
		s->part[root] = 1;
	}
	while (s->norder) {
		uint32_t j = s->order[--s->norder];

		for (unsigned i = 0; i < w->junctions[j].len; i++) {
			const struct branch *b = &w->branches[w->junctions[j].first + i];
			double part = s->part[j] * (double)b->share;

			if (!(b->share > 0))
				continue;
			add_step(w, b, s->way + 1, part);
			if (b->next != JUNCTION_HERE)
				s->part[b->next] += part;
		}
	}
	w->shares[s->way] = (struct share_way){ first, (uint32_t)(w->nsteps - first) };
}

void
trails_spell(struct trails *w)
{
	struct spelling s = {
		.w = w, .met = mem_array(w->njunctions, sizeof(*s.met)),
		.part = mem_array(w->njunctions, sizeof(*s.part)),
		.order = mem_array(w->njunctions, sizeof(*s.order)),
	};

	w->nsteps = 0;
	memset(w->used, 0, w->nlinks * sizeof(*w->used));
	for (s.way = 0; s.way < w->nways; s.way++)
		spell_way(&s);
	mem_free(s.met);
	mem_free(s.part);
	mem_free(s.order);
}
