/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/counters.h"
#include "sim/traffic/traffic_impl.h"

/*
 * What links carry, and the counters that grow by it.
 *
 * From the rates of flows comes, link by link, at what rate counters grow (struct meter): words,
 * packets of the path's MTU, and ticks of waiting, of which one is the time that a word takes.
 * Waiting is the part of the time in which a port has less to do than was offered to it: what it
 * would have sent is held back further on. Meters are brought up to date whenever rates change.
 */
#define HEADERS 24u	/* bytes of a packet besides its MTU: LRH, BTH, ICRC */
#define MTU_MIN 256u

enum { XMIT_DATA, RCV_DATA, XMIT_PKTS, RCV_PKTS, XMIT_WAIT, METERS };

/* ---- Meters ---- */

static void
meters_fold(struct traffic *t, struct meters *k, monotime time)
{
	for (size_t i = 0; k->m && i < (size_t)t->nlinks * k->per_port; i++) {
		k->m[i].sum += meter_grown(k->m[i].rate, time);
		k->m[i].rate = 0;
	}
}

static struct meter *
meters_at(struct traffic *t, struct meters *k, unsigned per_port, uint32_t link)
{
	if (!k->m) {
		k->per_port = per_port;
		k->m = mem_array((size_t)t->nlinks * per_port, sizeof(*k->m));
	}
	return &k->m[(size_t)link * per_port];
}

static uint64_t
meters_read(const struct traffic *t, const struct meters *k, uint32_t link, unsigned i)
{
	const struct meter *m;

	if (!k->m)
		return 0;
	m = &k->m[(size_t)link * k->per_port + i];
	return meter_value(m->sum + meter_grown(m->rate, t->looked - t->since));
}

static uint32_t
peer_link(const struct traffic *t, uint32_t node, unsigned port)
{
	const struct sim_port *p = &t->m->nodes[node].ports[port];

	return t->base[p->peer] + p->peer_port;
}

double
load_waiting(const struct load *l)
{
	double wanted = l->offered < l->capacity ? l->offered : l->capacity;

	return wanted > l->carried * (1 + 1e-9) ? (wanted - l->carried) / l->capacity : 0;
}

static void
set_rates(struct traffic *t)
{
	for (uint32_t n = 0; n < t->m->net->nnodes; n++)
		for (unsigned p = 1; p <= t->m->nodes[n].nports; p++) {
			const struct load *l = &t->loads[t->base[n] + p];
			struct meter *out, *in;

			if (!(l->offered > 0))
				continue;
			out = meters_at(t, &t->all, METERS, t->base[n] + p);
			in = meters_at(t, &t->all, METERS, peer_link(t, n, p));
			out[XMIT_DATA].rate = in[RCV_DATA].rate = meter_rate(l->carried / 4);
			out[XMIT_PKTS].rate = in[RCV_PKTS].rate = meter_rate(l->packets);
			out[XMIT_WAIT].rate = meter_rate(load_waiting(l) * l->capacity / 4);
		}
}

/* ---- Loads ---- */

double
port_capacity(const struct sim_port *p)
{
	enum link_speed speed = p->cable_speed == SPEED_FDR10 && p->info.speed_active == 4 ?
		SPEED_FDR10 : portinfo_speed(&p->info);

	/* A million bits are 125,000 bytes. */
	return link_rate_mbps(p->info.width_active, speed) * 125000.0;
}

double *
loads_start(struct traffic *t)
{
	double *capacity = mem_array(t->nlinks, sizeof(*capacity));

	if (!t->loads)
		t->loads = mem_array(t->nlinks, sizeof(*t->loads));
	for (uint32_t n = 0; n < t->m->net->nnodes; n++)
		for (unsigned p = 1; p <= t->m->nodes[n].nports; p++)
			capacity[t->base[n] + p] = port_capacity(&t->m->nodes[n].ports[p]);
	for (uint32_t i = 0; i < t->nlinks; i++)
		t->loads[i] = (struct load){ .capacity = capacity[i] };
	return capacity;
}

/* What flows that share a way, or a link, bring there. */
struct sum {
	double offered, carried;	/* bytes a second */
	double packets;			/* a second */
};

static struct sum
flow_sum(const struct traffic *t, const struct trails *w, uint32_t i)
{
	const struct end *src = &t->info[i].src;
	unsigned mtu = mtu_bytes(t->m->nodes[src->node].ports[src->port].info.neighbor_mtu);
	unsigned rest = w->info[t->flows[i].way].mtu;

	if (!mtu || (rest && rest < mtu))
		mtu = rest ? rest : MTU_MIN;
	return (struct sum){ t->flows[i].demand, t->flows[i].rate,
			     t->flows[i].rate / (mtu + HEADERS) };
}

static void
load_link(struct traffic *t, uint32_t link, const struct sum *s, double part)
{
	struct load *l = &t->loads[link];

	l->offered += s->offered * part;
	l->carried += s->carried * part;
	l->packets += s->packets * part;
}

static void
load_links(struct traffic *t, const struct trails *w, struct sum *sums)
{
	for (uint32_t i = 0; i < t->nflows; i++) {
		struct sum s = flow_sum(t, w, i), *all = &sums[t->flows[i].way];

		load_link(t, t->flows[i].link, &s, 1);
		all->offered += s.offered;
		all->carried += s.carried;
		all->packets += s.packets;
	}
	for (uint32_t i = 0; i < w->nways; i++)
		for (uint32_t k = 0; k < w->shares[i].len; k++) {
			const struct share_step *step = &w->steps[w->shares[i].first + k];

			load_link(t, step->link, &sums[i], (double)step->part);
		}
}

/* What flows of one service level and lane bring to a link, for the counters that tell these
 * apart. A link's waiting goes to its lanes by what is held back on each. */
static void
split_link(struct traffic *t, uint32_t link, const struct sum *s, double part, unsigned sl,
	   unsigned lane, const uint32_t *peers)
{
	const struct load *l = &t->loads[link];
	double held = l->offered - l->carried, wait = load_waiting(l) * l->capacity / 4;
	uint64_t words = meter_rate(s->carried * part / 4);

	meters_at(t, &t->by_sl[sl], 2, link)[XMIT_DATA].rate += words;
	meters_at(t, &t->by_sl[sl], 2, peers[link])[RCV_DATA].rate += words;
	if (wait > 0)
		meters_at(t, &t->by_vl[lane], 1, link)->rate +=
			meter_rate(wait * (s->offered - s->carried) * part / held);
}

static uint32_t *
all_peers(const struct traffic *t)
{
	uint32_t *peers = mem_array(t->nlinks, sizeof(*peers));

	for (uint32_t n = 0; n < t->m->net->nnodes; n++)
		for (unsigned p = 1; p <= t->m->nodes[n].nports; p++)
			if (t->m->nodes[n].ports[p].peer != IBNET_NONE)
				peers[t->base[n] + p] = peer_link(t, n, p);
	return peers;
}

static void
split_links(struct traffic *t, const struct trails *w, const struct sum *sums)
{
	uint32_t *peers = all_peers(t);

	for (uint32_t i = 0; i < t->nflows; i++) {
		struct sum s = { t->flows[i].demand, t->flows[i].rate, 0 };
		const struct end *e = &t->info[i].src;
		unsigned sl = w->info[t->flows[i].way].sl;

		split_link(t, t->flows[i].link, &s, 1, sl,
			   model_sl2vl(t->m, e->node, e->port, e->port, sl), peers);
	}
	for (uint32_t i = 0; i < w->nways; i++)
		for (uint32_t k = 0; k < w->shares[i].len; k++) {
			size_t at = w->shares[i].first + k;

			split_link(t, w->steps[at].link, &sums[i], (double)w->steps[at].part,
				   w->info[i].sl, w->lanes[at], peers);
		}
	mem_free(peers);
}

void
loads_set(struct traffic *t, const struct trails *w)
{
	struct sum *sums = mem_array(w->nways, sizeof(*sums));

	load_links(t, w, sums);
	set_rates(t);
	split_links(t, w, sums);
	mem_free(sums);
}

void
loads_fold(struct traffic *t, monotime until)
{
	meters_fold(t, &t->all, until - t->since);
	for (unsigned i = 0; i < 16; i++) {
		meters_fold(t, &t->by_sl[i], until - t->since);
		meters_fold(t, &t->by_vl[i], until - t->since);
	}
	t->since = until;
}

/* ---- Counters ---- */

static unsigned
meter_of(unsigned counter)
{
	switch (counter) {
	case CTR_XMIT_DATA:
		return XMIT_DATA;
	case CTR_RCV_DATA:
		return RCV_DATA;
	case CTR_XMIT_PKTS:
	case CTR_UNI_XMIT:
		return XMIT_PKTS;
	case CTR_RCV_PKTS:
	case CTR_UNI_RCV:
		return RCV_PKTS;
	case CTR_XMIT_WAIT:
		return XMIT_WAIT;
	}
	return METERS;
}

uint64_t
loads_counter(const struct traffic *t, uint32_t node, unsigned port, unsigned counter)
{
	uint32_t link;

	if (!t->all.m)
		return 0;
	link = t->base[node] + port;
	if (counter >= CTR_WAIT_VL)
		return meters_read(t, &t->by_vl[counter - CTR_WAIT_VL], link, 0);
	if (counter >= CTR_RCV_SL)
		return meters_read(t, &t->by_sl[counter - CTR_RCV_SL], link, RCV_DATA);
	if (counter >= CTR_XMIT_SL)
		return meters_read(t, &t->by_sl[counter - CTR_XMIT_SL], link, XMIT_DATA);
	return meter_of(counter) == METERS ? 0 : meters_read(t, &t->all, link, meter_of(counter));
}
