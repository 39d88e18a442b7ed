/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <string.h>
#include "sim/ar.h"
#include "sim/names.h"
#include "sim/wrong.h"

/*
 * Where the switches' tables lead: for each LID, from every switch, with one visit a switch.
 *
 * A switch either reaches the LID or does not; which is known once the switch that its entry points
 * to is known, so each chain of entries is followed only up to a switch that was seen before. The
 * work is switches times LIDs; where that is too much, every n-th LID is looked at.
 */
#define WORK_MAX 40000000u	/* entries that are looked at */

enum entry_fault {
	ENTRY_GOOD,
	ENTRY_NONE,		/* no port */
	ENTRY_BAD,		/* a port that the switch does not have, or its own port 0 */
	ENTRY_DEAD,		/* a port without a link */
	ENTRY_ASTRAY,		/* a host that has another LID */
	ENTRY_LOOP,		/* back to where it came from */
};

enum { UNKNOWN, ON_THE_WAY, REACHES, FAILS };

struct bad_switch {
	uint32_t n;		/* entries that lead nowhere */
	uint16_t lid;		/* the lowest of them */
	uint8_t port;		/* what that entry says */
	uint8_t why;		/* enum entry_fault */
};

struct routes {
	struct wrong *w;		/* whom it is for */
	const struct model *m;		/* the fabric */
	struct bad_switch *bad;		/* a node */
	uint32_t *chain;		/* switches on the way, nnodes */
	uint32_t *hosts;		/* a switch: hosts' ports on it; a host: without a link */
	uint8_t *state;			/* a node, for the LID of the moment */
	uint32_t nhosts, switches;	/* ports of hosts with a LID; switches */
	uint64_t pairs, cut;		/* looked at, and those of them that cannot */
	uint32_t lids, seen;		/* there are, were looked at */
};

static bool
has_lid(const struct portinfo *i, unsigned lid)
{
	return i->lid && lid >= i->lid && lid - i->lid < 1u << i->lmc;
}

/* Where a packet goes: by the one table, or as an adaptive switch chooses for it. */
static unsigned
entry(const struct routes *r, uint32_t node, uint16_t lid)
{
	const struct ar_packet packet = { .dlid = lid, .transport = AR_RC };

	if (model_ar_is_on(r->m, node)) {
		unsigned out = ar_forward(r->m, node, 0, &packet);

		return out ? out : LFT_NO_PORT;
	}
	return lid > r->m->nodes[node].sw.linear_fdb_top ? LFT_NO_PORT :
		model_lft(r->m, node, lid);
}

/* Look at one entry; *next is the switch that it points to, or IBNET_NONE at the end of the way. */
static enum entry_fault
look(const struct routes *r, uint32_t node, uint16_t lid, uint32_t *next)
{
	const struct sim_node *n = &r->m->nodes[node];
	const struct sim_port *p;
	unsigned out;

	*next = IBNET_NONE;
	if (has_lid(&n->ports[0].info, lid))
		return ENTRY_GOOD;
	out = entry(r, node, lid);
	if (out == LFT_NO_PORT)
		return ENTRY_NONE;
	if (!out || out > n->nports)
		return ENTRY_BAD;
	p = &n->ports[out];
	if (!port_is_up(p) || p->peer == IBNET_NONE)
		return ENTRY_DEAD;
	if (r->m->nodes[p->peer].type == NODE_SWITCH)
		*next = p->peer;
	else if (!has_lid(&r->m->nodes[p->peer].ports[p->peer_port].info, lid))
		return ENTRY_ASTRAY;
	return ENTRY_GOOD;
}

static void
note_bad(struct routes *r, uint32_t node, uint16_t lid, enum entry_fault why)
{
	struct bad_switch *b = &r->bad[node];

	if (b->n++ && b->lid <= lid)
		return;
	b->lid = lid;
	b->port = (uint8_t)entry(r, node, lid);
	b->why = (uint8_t)why;
}

/* Follow the entries from a switch; all switches on the way share its fate. */
static void
follow(struct routes *r, uint32_t node, uint16_t lid)
{
	uint32_t len = 0, next = node;
	uint8_t fate = UNKNOWN;

	while (fate == UNKNOWN) {
		enum entry_fault why;

		node = next;
		r->state[node] = ON_THE_WAY;
		r->chain[len++] = node;
		why = look(r, node, lid, &next);
		if (why == ENTRY_GOOD && next != IBNET_NONE && r->state[next] == ON_THE_WAY)
			why = ENTRY_LOOP;
		if (why != ENTRY_GOOD) {
			note_bad(r, node, lid, why);
			fate = FAILS;
		} else {
			fate = next == IBNET_NONE ? REACHES : r->state[next];
		}
	}
	while (len)
		r->state[r->chain[--len]] = fate;
}

static void
tell_pairs(struct routes *r, uint32_t from, uint32_t to, unsigned port)
{
	const struct model *m = r->m;

	for (uint32_t i = 0; i < m->net->nnodes && r->w->kind < r->w->most; i++) {
		const struct sim_node *n = &m->nodes[i];

		for (unsigned k = 1; n->type != NODE_SWITCH && k <= n->nports; k++)
			if ((i != to || k != port) && n->ports[k].info.lid &&
			    port_is_up(&n->ports[k]) && n->ports[k].peer == from &&
			    r->w->kind++ < r->w->most)
				buf_printf(r->w->out, "%s/%u cannot reach %s/%u: LID %u\n",
					   names_text(r->w->s->names, i), k,
					   names_text(r->w->s->names, to), port,
					   m->nodes[to].ports[port].info.lid);
	}
}

/* Which hosts reach the port, its base LID having been followed from every switch. */
static void
count_pairs(struct routes *r, uint32_t to, unsigned port)
{
	const struct model *m = r->m;
	bool own = port_is_up(&m->nodes[to].ports[port]);

	r->pairs += r->nhosts - 1;
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		uint32_t n = r->hosts[i];

		if (m->nodes[i].type == NODE_SWITCH ? r->state[i] == REACHES : false)
			continue;
		/* Not from itself, which is on this switch or has no link at all. */
		if (n && i == (own ? m->nodes[to].ports[port].peer : to))
			n--;
		if (!n)
			continue;
		r->cut += n;
		if (m->nodes[i].type == NODE_SWITCH)
			tell_pairs(r, i, to, port);
	}
}

static void
look_at(struct routes *r, uint32_t node, unsigned port)
{
	const struct portinfo *info = &r->m->nodes[node].ports[port].info;

	for (unsigned l = info->lid; l < info->lid + (1u << info->lmc); l++) {
		memset(r->state, UNKNOWN, r->m->net->nnodes);
		for (uint32_t i = 0; i < r->m->net->nnodes; i++)
			if (r->m->nodes[i].type == NODE_SWITCH && !r->m->nodes[i].off &&
			    r->state[i] == UNKNOWN)
				follow(r, i, (uint16_t)l);
		r->seen++;
		if (l == info->lid && r->m->nodes[node].type != NODE_SWITCH)
			count_pairs(r, node, port);
	}
}

/* Hosts' ports where they are attached, and what there is to do. */
static void
count(struct routes *r)
{
	for (uint32_t i = 0; i < r->m->net->nnodes; i++) {
		const struct sim_node *n = &r->m->nodes[i];

		r->switches += n->type == NODE_SWITCH;
		for (unsigned k = 0; k <= n->nports; k++) {
			const struct sim_port *p = &n->ports[k];

			if (!is_end_port(n, k) || !p->info.lid)
				continue;
			r->lids += 1u << p->info.lmc;
			if (n->type == NODE_SWITCH)
				continue;
			r->nhosts++;
			r->hosts[port_is_up(p) ? p->peer : i]++;
		}
	}
}

static void
tell_switches(struct routes *r)
{
	static const char *const why[] = {
		[ENTRY_GOOD] = "", [ENTRY_NONE] = "has no port",
		[ENTRY_BAD] = "goes to a port that cannot be",
		[ENTRY_DEAD] = "goes to a port without a link",
		[ENTRY_ASTRAY] = "goes to a host that has another LID",
		[ENTRY_LOOP] = "goes round in a loop",
	};

	wrong_begin(r->w);
	for (uint32_t i = 0; i < r->m->net->nnodes; i++) {
		const struct bad_switch *b = &r->bad[i];

		if (!b->n)
			continue;
		wrong_add(r->w, "%s: its table leads %" PRIu32 " LID%s nowhere; LID %u %s (%u)",
			  names_text(r->w->s->names, i), b->n, b->n == 1 ? "" : "s", b->lid,
			  why[b->why], b->port);
	}
	wrong_end(r->w, "switches with entries that lead nowhere");
}

static void
tell_cut(struct routes *r)
{
	if (r->cut) {
		r->w->n++;
		buf_printf(r->w->out,
			   "%" PRIu64 " of %" PRIu64 " pairs of hosts' ports cannot reach "
			   "each other by the tables\n", r->cut, r->pairs);
	}
	if (r->seen < r->lids)
		buf_printf(r->w->out, "(tables were followed for %" PRIu32 " of %" PRIu32
			   " LIDs)\n", r->seen, r->lids);
}

void
wrong_routes(struct wrong *w)
{
	uint32_t nnodes = w->m->net->nnodes, step, at = 0;
	struct region *region = region_new();
	struct routes r = {
		.w = w, .m = w->m,
		.bad = region_array(region, nnodes, sizeof(*r.bad)),
		.chain = region_array(region, nnodes, sizeof(*r.chain)),
		.hosts = region_array(region, nnodes, sizeof(*r.hosts)),
		.state = region_array(region, nnodes, 1),
	};

	count(&r);
	step = (uint32_t)((uint64_t)r.lids * r.switches / WORK_MAX + 1);
	wrong_begin(w);
	for (uint32_t i = 0; i < nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++)
			if (is_end_port(n, k) && n->ports[k].info.lid && at++ % step == 0)
				look_at(&r, i, k);
	}
	tell_cut(&r);
	tell_switches(&r);
	region_free(region);
}
