/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <string.h>
#include "sim/control/names.h"
#include "sim/control/wrong.h"
#include "sim/model/ar.h"

/*
 * Where the switches' tables lead: for each LID, from every switch, with one visit a switch.
 *
 * A switch either reaches the LID or does not; which is known once the switch that its entry points
 * to is known, so each chain of entries is followed only up to a switch that was seen before. What
 * is asked of a switch millions of times is copied into small arrays first: switches are numbered
 * from 0, and for each of their ports a struct hop says where it leads. The work is switches times
 * LIDs; the loop stands still meanwhile, so that of very many only every n-th LID is looked at,
 * unless all was asked for.
 */
#define WORK_MAX 15000000u	/* entries that are looked at */

enum entry_fault {
	ENTRY_GOOD,
	ENTRY_NONE,		/* no port */
	ENTRY_BAD,		/* a port that the switch does not have, or its own port 0 */
	ENTRY_DEAD,		/* a port without a link */
	ENTRY_ASTRAY,		/* a host that has another LID */
	ENTRY_LOOP,		/* back to where it came from */
};

enum { UNKNOWN, ON_THE_WAY, REACHES, FAILS };

enum hop_kind { HOP_DEAD, HOP_SWITCH, HOP_HOST };

struct hop {
	uint32_t to;		/* number of a switch, or node of a host */
	uint8_t port;		/* the host's */
	uint8_t kind;		/* enum hop_kind */
};

struct table {
	const uint8_t *lft;	/* len entries */
	const struct hop *hops;	/* by port, [0] unused */
	uint32_t node;		/* whose it is */
	uint32_t hosts;		/* ports of hosts that are attached to it */
	uint32_t nbad;		/* entries that lead nowhere */
	uint16_t bad_lid;	/* the lowest of them */
	uint8_t bad_port;	/* what that entry says */
	uint8_t bad_why;	/* enum entry_fault */
	uint16_t len;		/* LIDs that the switch forwards by its table */
	uint16_t lid;		/* its own */
	uint8_t lmc;		/* of that */
	uint8_t nports;		/* it has */
	bool adaptive;		/* it does not go by `lft` */
};

struct routes {
	struct wrong *w;	/* whom it is for */
	const struct model *m;	/* the fabric */
	struct region *region;	/* owns the arrays */
	struct table *tables;	/* nswitches, those that have power */
	uint32_t *chain;	/* switches on the way, nswitches */
	uint8_t *state;		/* of each switch, for the LID of the moment */
	uint32_t *number;	/* of a node, if it is a switch with power; else IBNET_NONE */
	uint32_t nswitches;	/* with power */
	uint32_t nhosts;	/* ports of hosts with a LID */
	uint32_t loose;		/* of these without a link to a switch */
	uint64_t pairs, cut;	/* looked at, and those of them that cannot */
	uint32_t lids, seen;	/* there are, were looked at */
};

/* Where a packet goes: by the one table, or as an adaptive switch chooses for it. */
static unsigned
entry(const struct routes *r, const struct table *t, uint16_t lid)
{
	const struct ar_packet packet = { .dlid = lid, .transport = AR_RC };
	unsigned out;

	if (!t->adaptive)
		return lid < t->len ? t->lft[lid] : LFT_NO_PORT;
	out = ar_forward(r->m, t->node, 0, &packet);
	return out ? out : LFT_NO_PORT;
}

/* Look at one entry; *next is the switch that it points to, or IBNET_NONE at the end of the way. */
static enum entry_fault
look(const struct routes *r, const struct table *t, uint16_t lid, uint32_t *next)
{
	const struct hop *h;
	unsigned out;

	*next = IBNET_NONE;
	if (t->lid && lid >= t->lid && lid - t->lid < 1 << t->lmc)
		return ENTRY_GOOD;
	out = entry(r, t, lid);
	if (out == LFT_NO_PORT)
		return ENTRY_NONE;
	if (!out || out > t->nports)
		return ENTRY_BAD;
	h = &t->hops[out];
	if (h->kind == HOP_DEAD)
		return ENTRY_DEAD;
	if (h->kind == HOP_SWITCH)
		*next = h->to;
	else if (!has_lid(&r->m->nodes[h->to].ports[h->port].info, lid))
		return ENTRY_ASTRAY;
	return ENTRY_GOOD;
}

static void
note_bad(const struct routes *r, struct table *t, uint16_t lid, enum entry_fault why)
{
	if (t->nbad++ && t->bad_lid <= lid)
		return;
	t->bad_lid = lid;
	t->bad_port = (uint8_t)entry(r, t, lid);
	t->bad_why = (uint8_t)why;
}

/* Follow the entries from a switch; all switches on the way share its fate. */
static void
follow(struct routes *r, uint32_t from, uint16_t lid)
{
	uint32_t len = 0, at, next = from;
	uint8_t fate = UNKNOWN;

	while (fate == UNKNOWN) {
		enum entry_fault why;

		at = next;
		r->state[at] = ON_THE_WAY;
		r->chain[len++] = at;
		why = look(r, &r->tables[at], lid, &next);
		if (why == ENTRY_GOOD && next != IBNET_NONE && r->state[next] == ON_THE_WAY)
			why = ENTRY_LOOP;
		if (why != ENTRY_GOOD) {
			note_bad(r, &r->tables[at], lid, why);
			fate = FAILS;
		} else {
			fate = next == IBNET_NONE ? REACHES : r->state[next];
		}
	}
	while (len)
		r->state[r->chain[--len]] = fate;
}

/* The hosts on a switch, each as one that cannot reach the port. */
static void
tell_pairs(struct routes *r, const struct table *t, uint32_t to, unsigned port)
{
	const struct names *names = r->w->s->names;

	for (unsigned k = 1; k <= t->nports && r->w->kind < r->w->most; k++) {
		const struct hop *h = &t->hops[k];

		if (h->kind != HOP_HOST || (h->to == to && h->port == port) ||
		    !r->m->nodes[h->to].ports[h->port].info.lid)
			continue;
		r->w->kind++;
		buf_printf(r->w->out, "%s/%u cannot reach %s/%u: LID %u\n",
			   names_text(names, h->to), h->port, names_text(names, to), port,
			   r->m->nodes[to].ports[port].info.lid);
	}
}

/* The switch that an end port is attached to, or NULL. */
static const struct table *
switch_of(const struct routes *r, uint32_t node, unsigned port)
{
	const struct sim_port *p = &r->m->nodes[node].ports[port];

	if (!port_is_up(p) || p->peer == IBNET_NONE || r->number[p->peer] == IBNET_NONE)
		return NULL;
	return &r->tables[r->number[p->peer]];
}

/* Which hosts reach the port, its base LID having been followed from every switch. */
static void
count_pairs(struct routes *r, uint32_t to, unsigned port)
{
	const struct table *own = switch_of(r, to, port);

	r->pairs += r->nhosts - 1;
	r->cut += r->loose - !own;
	for (uint32_t i = 0; i < r->nswitches; i++) {
		const struct table *t = &r->tables[i];
		uint32_t n = t->hosts - (t == own);

		if (r->state[i] == REACHES || !t->hosts || !n)
			continue;
		r->cut += n;
		tell_pairs(r, t, to, port);
	}
}

static void
look_at(struct routes *r, uint32_t node, unsigned port)
{
	const struct portinfo *info = &r->m->nodes[node].ports[port].info;

	for (unsigned l = info->lid; l < info->lid + (1u << info->lmc); l++) {
		memset(r->state, UNKNOWN, r->nswitches);
		for (uint32_t i = 0; i < r->nswitches; i++)
			if (r->state[i] == UNKNOWN)
				follow(r, i, (uint16_t)l);
		r->seen++;
		if (l == info->lid && r->m->nodes[node].type != NODE_SWITCH)
			count_pairs(r, node, port);
	}
}

/* ---- What there is to look at ---- */

static struct hop
hop_of(const struct routes *r, const struct sim_port *p)
{
	if (!port_is_up(p) || p->peer == IBNET_NONE)
		return (struct hop){ .kind = HOP_DEAD };
	if (r->m->nodes[p->peer].type == NODE_SWITCH)
		return (struct hop){ .kind = HOP_SWITCH, .to = r->number[p->peer] };
	return (struct hop){ .kind = HOP_HOST, .to = p->peer, .port = p->peer_port };
}

static void
copy_table(struct routes *r, struct table *t)
{
	const struct sim_node *n = &r->m->nodes[t->node];
	struct hop *hops = region_array(r->region, n->nports + 1u, sizeof(*hops));
	uint32_t top = n->sw.linear_fdb_top + 1u;

	for (unsigned k = 1; k <= n->nports; k++)
		hops[k] = hop_of(r, &n->ports[k]);
	t->hops = hops;
	t->lft = n->lft;
	t->len = (uint16_t)(top < n->lft_len ? top : n->lft_len);
	t->lid = n->ports[0].info.lid;
	t->lmc = n->ports[0].info.lmc;
	t->nports = n->nports;
	t->adaptive = model_ar_is_on(r->m, t->node);
}

static void
number_switches(struct routes *r)
{
	uint32_t nnodes = r->m->net->nnodes;

	r->number = region_array(r->region, nnodes, sizeof(*r->number));
	for (uint32_t i = 0; i < nnodes; i++) {
		bool counts = r->m->nodes[i].type == NODE_SWITCH && !r->m->nodes[i].off;

		r->number[i] = counts ? r->nswitches++ : IBNET_NONE;
	}
	r->tables = region_array(r->region, r->nswitches, sizeof(*r->tables));
	r->chain = region_array(r->region, r->nswitches, sizeof(*r->chain));
	r->state = region_array(r->region, r->nswitches, 1);
	for (uint32_t i = 0; i < nnodes; i++)
		if (r->number[i] != IBNET_NONE)
			r->tables[r->number[i]].node = i;
	for (uint32_t i = 0; i < r->nswitches; i++)
		copy_table(r, &r->tables[i]);
}

static void
count_lids(struct routes *r)
{
	for (uint32_t i = 0; i < r->m->net->nnodes; i++) {
		const struct sim_node *n = &r->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++) {
			const struct portinfo *info = &n->ports[k].info;

			if (!is_end_port(n, k) || !info->lid)
				continue;
			r->lids += 1u << info->lmc;
			if (n->type == NODE_SWITCH)
				continue;
			r->nhosts++;
			if (switch_of(r, i, k))
				r->tables[r->number[n->ports[k].peer]].hosts++;
			else
				r->loose++;
		}
	}
}

/* ---- What is told ---- */

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
	for (uint32_t i = 0; i < r->nswitches; i++) {
		const struct table *t = &r->tables[i];

		if (t->nbad)
			wrong_add(r->w, "%s: its table leads %" PRIu32 " LID%s nowhere; LID %u %s "
				  "(%u)", names_text(r->w->s->names, t->node), t->nbad,
				  t->nbad == 1 ? "" : "s", t->bad_lid, why[t->bad_why],
				  t->bad_port);
	}
	wrong_end(r->w, "switches with entries that lead nowhere");
}

static void
tell_cut(struct routes *r)
{
	if (r->cut) {
		r->w->n++;
		buf_printf(r->w->out, "%" PRIu64 " of %" PRIu64 " pairs of hosts' ports cannot "
			   "reach each other by the tables\n", r->cut, r->pairs);
	}
	if (r->seen < r->lids)
		buf_printf(r->w->out, "(tables were followed for %" PRIu32 " of %" PRIu32
			   " LIDs; \"wrong all\" follows all)\n", r->seen, r->lids);
}

void
wrong_routes(struct wrong *w)
{
	struct routes r = { .w = w, .m = w->m, .region = region_new() };
	uint32_t step = 1, at = 0;

	number_switches(&r);
	count_lids(&r);
	if (w->most != UINT32_MAX)
		step = (uint32_t)((uint64_t)r.lids * r.nswitches / WORK_MAX + 1);
	wrong_begin(w);
	/* Two hosts on one cable need no tables. */
	for (uint32_t i = 0; r.nswitches && i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++)
			if (is_end_port(n, k) && n->ports[k].info.lid && at++ % step == 0)
				look_at(&r, i, k);
	}
	if (r.nswitches)
		tell_cut(&r);
	tell_switches(&r);
	region_free(r.region);
}
