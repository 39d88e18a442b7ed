/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/ar.h"
#include "sim/model/counters.h"
#include "sim/model/model_impl.h"
#include "sm/base/error.h"

/*
 * Ways through the fabric: where a packet that sets out now would end.
 *
 * Nothing here changes a device; whoever asks has the packet land, or lets it be lost. Directed
 * routes follow IBA volume 1, 14.2.2 (compliance C14-9 on the way out, C14-13 on the way back),
 * forwarding by LID 18.2.4.3. SMPs travel on VL 15 and pass links in Initialize; all else is data.
 */
/* A GMP's packet in words of 4 bytes: MAD, LRH, BTH, DETH and ICRC. */
#define GMP_WORDS ((MAD_SIZE + 8 + 12 + 8 + 4) / 4)

/* Cross the cable of a port. */
static bool
cross(const struct model *m, struct place *at, unsigned out)
{
	const struct sim_node *n = &m->nodes[at->node];
	const struct sim_port *p;

	if (!out || out > n->nports)
		return false;
	p = &n->ports[out];
	if (!port_is_up(p))
		return false;
	if (p->faults) {
		at->delay += p->faults->delay;
		at->loss = 1 - (1 - at->loss) * (1 - p->faults->loss_ppm / 1e6);
	}
	at->node = p->peer;
	at->port = p->peer_port;
	at->hops++;
	return true;
}

/* ---- By LID ---- */

static unsigned
adaptive(const struct model *m, const struct place *at, const struct packet *k)
{
	struct ar_packet p = {
		.slid = k->slid, .dlid = k->dlid, .sl = k->sl,
		.transport = !k->data ? 0 : k->reliable ? AR_RC : AR_UD,
	};

	return ar_forward(m, at->node, at->port, &p);
}

/* The port towards a packet's destination, 0 if there is none. */
static unsigned
forward(const struct model *m, const struct place *at, const struct packet *k)
{
	const struct sim_node *n = &m->nodes[at->node];

	if (n->type != NODE_SWITCH)
		return at->hops ? 0 : at->port;
	return n->ar ? adaptive(m, at, k) : plain_port(n, k->dlid);
}

/* The table that was written names a data VL that is in operation (7.6.6). */
static bool
has_lane(const struct model *m, const struct place *at, unsigned out, unsigned sl)
{
	static const uint8_t lanes[16] = { 1, 1, 2, 4, 8, 15 };
	const struct sim_node *n = &m->nodes[at->node];

	if (sl == SL_NONE || !n->sl2vl)
		return true;
	return model_sl2vl(m, at->node, n->type == NODE_SWITCH ? at->port : out, out, sl) <
		lanes[n->ports[out].info.op_vls & 15];
}

static void
count(const struct packet *k, const struct place *from, unsigned out, const struct place *to)
{
	bool multicast = k->dlid >= MLID_MIN;

	counter_add(k->counts, from->node, out, CTR_XMIT_DATA, GMP_WORDS);
	counter_add(k->counts, from->node, out, CTR_XMIT_PKTS, 1);
	counter_add(k->counts, from->node, out, multicast ? CTR_MULTI_XMIT : CTR_UNI_XMIT, 1);
	counter_add(k->counts, to->node, to->port, CTR_RCV_DATA, GMP_WORDS);
	counter_add(k->counts, to->node, to->port, CTR_RCV_PKTS, 1);
	counter_add(k->counts, to->node, to->port, multicast ? CTR_MULTI_RCV : CTR_UNI_RCV, 1);
}

/* The table has the key itself. */
static bool
has_key(const struct model *m, uint32_t node, unsigned port, uint16_t key)
{
	for (unsigned i = 0; i < model_pkeys(m, node, port); i++)
		if (model_pkey(m, node, port, i) == key)
			return true;
	return false;
}

/* A switch's port that enforces partitions lets the packet through. What comes from a limited
 * member has the limited key, which is in the table of the port that it comes in by: subnet
 * managers give a switch what the host has, and it does not hold all limited members back. */
static bool
partition_allows(const struct model *m, const struct packet *k, uint32_t node, unsigned port,
		 bool in)
{
	const struct sim_node *n = &m->nodes[node];
	const struct portinfo *i = &n->ports[port].info;

	if (!k->pkey || !(in ? i->enforce_in : i->enforce_out) ||
	    sma_pkey_index(n, port, k->pkey) >= 0 || (in && has_key(m, node, port, k->pkey)))
		return true;
	if (k->counts) {
		counter_add(k->counts, node, port,
			    in ? CTR_RCV_CONSTRAINT : CTR_XMIT_CONSTRAINT, 1);
		trap_switch_bad_pkey(k->counts, node, port, &(struct trap_packet){
			.key = k->pkey, .src_qp = 1, .dst_qp = 1, .slid = k->slid,
			.dlid = k->dlid, .sl = k->sl,
		});
	}
	return false;
}

/* Leave a node through a port; 0, or why the packet gets lost there. */
static int
pass(const struct model *m, const struct packet *k, struct place *at, unsigned out)
{
	const struct place from = *at;

	if (!cross(m, at, out))
		return ERR_CLOSED;
	if (!k->data)
		return 0;
	if (m->nodes[from.node].ports[out].info.state != PORT_ACTIVE ||
	    m->nodes[at->node].ports[at->port].info.state != PORT_ACTIVE)
		return ERR_CLOSED;
	if (!has_lane(m, &from, out, k->sl))
		return ERR_CLOSED;
	if (!partition_allows(m, k, from.node, out, false) ||
	    !partition_allows(m, k, at->node, at->port, true))
		return ERR_CLOSED;
	if (k->counts)
		count(k, &from, out, at);
	return 0;
}

int
way_by_lid(const struct model *m, const struct packet *k, struct place *at)
{
	unsigned before = at->hops;

	while (!lid_is_here(&m->nodes[at->node], at->port, k->dlid)) {
		unsigned out = forward(m, at, k);
		struct place to = *at;
		int rc;

		if (!out)
			return ERR_NOT_FOUND;
		if ((rc = pass(m, k, &to, out)) < 0)
			return rc;
		*at = to;
		if (at->hops - before > HOPS_MAX)
			return ERR_FULL;
	}
	return (int)(at->hops - before);
}

int
model_trace(const struct model *m, uint32_t node, unsigned port, uint16_t dlid, uint32_t *end)
{
	struct packet k = { .dlid = dlid, .sl = SL_NONE, .reliable = true, .data = true };
	struct place at = { .node = node, .port = port };
	int hops = way_by_lid(m, &k, &at);

	*end = at.node;
	return hops > 0 ? hops - 1 + (m->nodes[at.node].type == NODE_SWITCH) : hops;
}

/* ---- By multicast LID ---- */

struct spread {
	const struct model *m;		/* the fabric */
	const struct packet *k;		/* what spreads */
	way_fn fn;			/* told of each end */
	void *arg;			/* handed to it */
	unsigned cables;		/* that may yet be crossed: tables can have loops */
};

static bool
leads_to(const struct sim_node *n, uint16_t mlid, unsigned port)
{
	return node_mft(n, mlid, port / 16) >> port % 16 & 1;
}

static void
spread_from(struct spread *s, struct place at);

static void
spread_through(struct spread *s, struct place at, unsigned out)
{
	if (!s->cables || at.hops >= HOPS_MAX)
		return;
	s->cables--;
	if (!pass(s->m, s->k, &at, out))
		spread_from(s, at);
}

/* As deep as hops are allowed. */
static void
spread_from(struct spread *s, struct place at)
{
	const struct sim_node *n = &s->m->nodes[at.node];

	if (n->type != NODE_SWITCH) {
		s->fn(s->arg, &at);
		return;
	}
	for (unsigned p = 0; p <= n->nports; p++) {
		if (p == at.port || !leads_to(n, s->k->dlid, p))
			continue;
		if (p)
			spread_through(s, at, p);
		else
			s->fn(s->arg, &at);
	}
}

void
way_by_mlid(const struct model *m, const struct packet *k, const struct place *at, way_fn fn,
	    void *arg)
{
	struct spread s = { m, k, fn, arg, 4 * m->net->nnodes + HOPS_MAX };

	if (m->nodes[at->node].type == NODE_SWITCH)
		spread_from(&s, *at);
	else
		spread_through(&s, *at, at->port);
}

/* ---- By directed route ---- */

/* A node passes a directed route on, or starts it through its own port. */
static bool
may_direct(const struct model *m, const struct place *at, unsigned out)
{
	const struct sim_node *n = &m->nodes[at->node];

	if (n->type == NODE_SWITCH)
		return n->silence != MODEL_HUNG;
	return !at->hops && out == at->port;
}

/* The directed part is over at a switch: it sends the SMP on by LID, as its own. */
static bool
direct_rest(const struct model *m, struct place *at, uint16_t lid, uint16_t *slid)
{
	const struct sim_node *n = &m->nodes[at->node];
	struct packet k = { .dlid = lid };

	if (n->type != NODE_SWITCH || n->silence == MODEL_HUNG)
		return false;
	*slid = n->ports[0].info.lid;
	return way_by_lid(m, &k, at) >= 0;
}

static bool
way_out(const struct model *m, struct smp *s, struct place *at, uint16_t *slid)
{
	while (s->hop_pointer < s->hop_count) {
		uint8_t hop = s->hop_pointer, out = s->path[hop + 1];

		if (!may_direct(m, at, out))
			return false;
		if (hop)
			s->return_path[hop] = (uint8_t)at->port;
		s->hop_pointer++;
		*slid = LID_PERMISSIVE;
		if (!cross(m, at, out))
			return false;
	}
	if (s->hop_pointer > s->hop_count)
		return true;
	if (s->hop_count)
		s->return_path[s->hop_count] = (uint8_t)at->port;
	s->hop_pointer++;
	return s->dr_dlid == LID_PERMISSIVE || direct_rest(m, at, s->dr_dlid, slid);
}

static bool
way_back(const struct model *m, struct smp *s, struct place *at, uint16_t *slid)
{
	while (s->hop_pointer > 1) {
		uint8_t out = s->return_path[--s->hop_pointer];

		*slid = LID_PERMISSIVE;
		if (!may_direct(m, at, out) || !cross(m, at, out))
			return false;
	}
	if (!s->hop_pointer)
		return true;
	s->hop_pointer = 0;
	return s->dr_slid == LID_PERMISSIVE || direct_rest(m, at, s->dr_slid, slid);
}

bool
way_directed(const struct model *m, struct smp *s, uint16_t lid, struct place *at, uint16_t *slid)
{
	struct packet k = { .dlid = lid };

	if (s->hop_count > SMP_MAX_HOPS || s->hop_pointer > s->hop_count + 1)
		return false;
	if ((s->direction ? s->dr_dlid : s->dr_slid) == LID_PERMISSIVE)
		*slid = LID_PERMISSIVE;
	else if (way_by_lid(m, &k, at) < 0)
		return false;
	return s->direction ? way_back(m, s, at, slid) : way_out(m, s, at, slid);
}
