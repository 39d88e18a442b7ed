/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/ar.h"
#include "sim/traffic/traffic_impl.h"

/*
 * The ways of flows through the switches, as the tables have them now.
 *
 * From a port of the first switch on, a way depends on the destination and the service level, and
 * is shared by all flows that enter there and leave by the same ports. Where a switch spreads a
 * destination over several ports, the way branches and each branch carries an equal part. A way is
 * found in two passes: the places that a packet can get to, depth first (a place that leads back
 * to itself is a loop), then what each of them carries, in the order that this gives.
 */
#define KEY_SALTS 16u	/* ways that begin alike and leave by different ports */

void
ways_init(struct ways *w, const struct model *m, const uint32_t *base, uint32_t nlinks)
{
	memset(w, 0, sizeof(*w));
	w->m = m;
	w->base = base;
	w->seen = mem_array(nlinks, sizeof(*w->seen));
	w->used = mem_array(nlinks, sizeof(*w->used));
	w->step_of = mem_array(nlinks, sizeof(*w->step_of));
	w->part = mem_array(nlinks, sizeof(*w->part));
}

void
ways_free(struct ways *w)
{
	mem_free(w->shares);
	mem_free(w->info);
	mem_free(w->steps);
	mem_free(w->lanes);
	map_free(&w->known);
	mem_free(w->seen);
	mem_free(w->used);
	mem_free(w->step_of);
	mem_free(w->part);
	mem_free(w->order);
}

bool
ways_open(const struct model *m, uint32_t node, unsigned in, unsigned out, unsigned sl)
{
	const struct sim_port *p = &m->nodes[node].ports[out];

	return p->info.state == PORT_ACTIVE && p->peer != IBNET_NONE &&
		m->nodes[p->peer].ports[p->peer_port].info.state == PORT_ACTIVE &&
		model_sl2vl(m, node, in, out, sl) != 15;
}

/* The ports that a switch sends data through; none where it would lose some of them. */
static unsigned
ports_towards(const struct model *m, uint32_t node, unsigned in, uint16_t lid, unsigned sl,
	      uint8_t ports[IBNET_MAX_NODE_PORTS])
{
	const struct sim_node *n = &m->nodes[node];
	unsigned len = n->type == NODE_SWITCH ? ar_ports(m, node, in, lid, sl, ports) : 0;

	for (unsigned i = 0; i < len; i++)
		if (!ports[i] || ports[i] > n->nports || !ways_open(m, node, in, ports[i], sl))
			return 0;
	return len;
}

/* ---- The places that a packet can get to ---- */

struct walk {
	struct ways *w;		/* to which it belongs */
	uint16_t dlid;		/* destination */
	uint8_t sl;		/* service level */
};

static void
note_order(struct ways *w, const struct place *at)
{
	if (w->norder == w->order_size) {
		w->order_size = w->order_size ? w->order_size * 2 : 256;
		w->order = mem_realloc(w->order, w->order_size, sizeof(*w->order));
	}
	w->order[w->norder++] = *at;
}

static struct place
across(const struct model *m, const struct place *at, unsigned out)
{
	const struct sim_port *p = &m->nodes[at->node].ports[out];

	return (struct place){ .node = p->peer, .port = p->peer_port, .hops = at->hops + 1 };
}

/* False: some of it would not arrive. As deep as hops are allowed. */
static bool
visit(const struct walk *k, struct place at)
{
	struct ways *w = k->w;
	uint32_t in = w->base[at.node] + at.port;
	uint8_t ports[IBNET_MAX_NODE_PORTS];
	unsigned n;

	if (w->seen[in] == 2 * w->stamp + 1)
		return true;
	if (w->seen[in] == 2 * w->stamp || at.hops > HOPS_MAX)
		return false;
	w->seen[in] = 2 * w->stamp;
	w->part[in] = 0;
	if (!lid_is_here(&w->m->nodes[at.node], at.port, k->dlid)) {
		n = ports_towards(w->m, at.node, at.port, k->dlid, k->sl, ports);
		if (!n)
			return false;
		for (unsigned i = 0; i < n; i++)
			if (!visit(k, across(w->m, &at, ports[i])))
				return false;
	}
	w->seen[in]++;
	note_order(w, &at);
	return true;
}

/* ---- What each of them carries ---- */

static void
add_step(struct ways *w, uint32_t link, uint8_t lane, double part)
{
	if (w->used[link] == w->stamp) {
		w->steps[w->step_of[link]].part += (float)part;
		return;
	}
	if (w->nsteps == w->steps_size) {
		w->steps_size = w->steps_size ? w->steps_size * 2 : 1024;
		w->steps = mem_realloc(w->steps, w->steps_size, sizeof(*w->steps));
		w->lanes = mem_realloc(w->lanes, w->steps_size, sizeof(*w->lanes));
	}
	w->used[link] = w->stamp;
	w->step_of[link] = w->nsteps;
	w->lanes[w->nsteps] = lane;
	w->steps[w->nsteps++] = (struct share_step){ link, (float)part };
}

static void
carry(const struct walk *k, const struct place *at, struct way *info)
{
	struct ways *w = k->w;
	double part = w->part[w->base[at->node] + at->port];
	uint8_t ports[IBNET_MAX_NODE_PORTS];
	unsigned n;

	if (lid_is_here(&w->m->nodes[at->node], at->port, k->dlid))
		return;
	n = ports_towards(w->m, at->node, at->port, k->dlid, k->sl, ports);
	for (unsigned i = 0; i < n; i++) {
		struct place to = across(w->m, at, ports[i]);
		unsigned mtu = mtu_bytes(w->m->nodes[at->node].ports[ports[i]].info.neighbor_mtu);

		add_step(w, w->base[at->node] + ports[i],
			 model_sl2vl(w->m, at->node, at->port, ports[i], k->sl), part / n);
		w->part[w->base[to.node] + to.port] += part / n;
		if (mtu && (!info->mtu || mtu < info->mtu))
			info->mtu = (uint16_t)mtu;
		if (!at->hops)
			info->outs = n;
	}
}

static uint32_t
new_way(struct ways *w)
{
	if (w->nways == w->ways_size) {
		w->ways_size = w->ways_size ? w->ways_size * 2 : 256;
		w->shares = mem_realloc(w->shares, w->ways_size, sizeof(*w->shares));
		w->info = mem_realloc(w->info, w->ways_size, sizeof(*w->info));
	}
	return w->nways++;
}

static uint32_t
build(struct ways *w, uint32_t node, unsigned in, uint16_t dlid, unsigned sl)
{
	struct walk k = { w, dlid, (uint8_t)sl };
	struct way info = { .sl = (uint8_t)sl };
	struct place start = { .node = node, .port = in };
	size_t first = w->nsteps;
	uint32_t i;

	w->stamp++;
	w->norder = 0;
	if (!visit(&k, start))
		return WAY_BROKEN;
	w->part[w->base[node] + in] = 1;
	for (i = w->norder; i--;)
		carry(&k, &w->order[i], &info);
	i = new_way(w);
	w->shares[i] = (struct share_way){ first, (uint32_t)(w->nsteps - first) };
	w->info[i] = info;
	return i;
}

/* ---- Ways that are known already ---- */

static bool
leaves_by(const struct ways *w, uint32_t way, uint32_t node, const uint8_t *ports, unsigned n)
{
	const struct share_step *steps = w->steps + w->shares[way].first;

	if (w->info[way].outs != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (steps[i].link != w->base[node] + ports[i])
			return false;
	return true;
}

uint32_t
ways_find(struct ways *w, uint32_t node, unsigned in, uint16_t dlid, unsigned sl)
{
	uint64_t key = ((uint64_t)node << 20 | (uint64_t)dlid << 4 | sl) * KEY_SALTS;
	uint8_t ports[IBNET_MAX_NODE_PORTS];
	unsigned n = ports_towards(w->m, node, in, dlid, sl, ports);
	uint32_t way;

	if (!n || lid_is_here(&w->m->nodes[node], in, dlid))
		return build(w, node, in, dlid, sl);
	for (unsigned i = 0; i < KEY_SALTS; i++) {
		way = map_get(&w->known, key + i);
		if (way != MAP_NONE && leaves_by(w, way, node, ports, n))
			return way;
		if (way != MAP_NONE)
			continue;
		way = build(w, node, in, dlid, sl);
		if (way != WAY_BROKEN)
			map_set(&w->known, key + i, way);
		return way;
	}
	return build(w, node, in, dlid, sl);
}
