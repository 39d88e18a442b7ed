/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The judge of tables as switches hold them at one moment, whoever wrote them and whenever: packets
 * are followed from each switch, and where lanes count from each host, to each end port, and what
 * waits for what on the way is searched for a circle. Nothing of Weft's checker is used, and of its
 * plan only what hosts are told: addresses, and the service levels of paths, which stay with them.
 *
 * A circle is a deadlock that may come, whether packets go round in it for ever or wait for each
 * other.
 */
#include "tests/unit/harness.h"

#include <stdio.h>
#include <string.h>
#include "sim/model/ar.h"
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/sls.h"

#define LANES 8u
#define HOPS 64u
#define WORDS 4u			/* of bits for (out port, lane) of the next switch */
#define PORTS (WORDS * 64 / LANES)	/* of a switch */
#define LIDS 128u			/* of a port, at most */

/* (switch, port out of it, lane) */
struct channel {
	uint64_t waits[WORDS];		/* for these of the switch that it leads to */
	uint32_t to;			/* node that it leads to */
	uint32_t walk[16];		/* by service level: the last that came by, where
					 * packets spread */
	uint32_t way;			/* twice the last at rest; 1 more: all of it arrived */
	uint8_t mark;			/* of the search */
	bool used;			/* it is in `list` */
};

/* The addresses by which others send to a node. */
struct address {
	uint16_t base;			/* 0: none */
	uint16_t len;			/* of its LIDs */
};

struct harness_judge {
	struct channel *channels;	/* by first[node] + port * LANES + lane */
	uint32_t *first;		/* by node */
	uint32_t *list;			/* channels in use */
	uint32_t len;			/* of it */
	uint32_t walks;			/* so far, where packets spread */
	uint16_t *told;			/* by node, node: bits of service levels */
	struct address *address;	/* by node, as they were told */
	bool *led;			/* by node: whoever leads has had it in a plan */
	unsigned foreign;		/* switches that it has not: what they hold is of others */
	bool many;			/* by a plan that has some */
	unsigned manager;		/* that told it; HARNESS_SMS: nobody has, yet */
	bool suspended;			/* till the next rest */
	bool doubted;			/* whoever leads knows that there may be circles */
	bool all;			/* switches too are sources and ends */
	uint64_t seen;			/* writes, when it looked last */
	bool met;			/* the last walks went along a circle that was found */
	uint32_t nnodes;
};

void
harness_judge_new(struct harness_run *r)
{
	struct harness_judge *j = mem_zalloc(sizeof(*j));
	uint32_t len = 0;

	j->nnodes = r->b->net->nnodes;
	j->first = mem_array(j->nnodes, sizeof(*j->first));
	for (uint32_t n = 0; n < j->nnodes; n++) {
		j->first[n] = len;
		len += (r->b->net->nodes[n].nports + 1u) * LANES;
	}
	j->channels = mem_array(len, sizeof(*j->channels));
	j->list = mem_array(len, sizeof(*j->list));
	j->told = mem_array((size_t)j->nnodes * j->nnodes, sizeof(*j->told));
	j->address = mem_array(j->nnodes, sizeof(*j->address));
	j->led = mem_array(j->nnodes, sizeof(*j->led));
	j->manager = HARNESS_SMS;
	r->judge = j;
}

void
harness_judge_free(struct harness_run *r)
{
	mem_free(r->judge->channels);
	mem_free(r->judge->first);
	mem_free(r->judge->list);
	mem_free(r->judge->told);
	mem_free(r->judge->address);
	mem_free(r->judge->led);
	mem_free(r->judge);
}

void
harness_judge_suspend(struct harness_run *r)
{
	r->judge->suspended = true;
}

void
harness_judge_resume(struct harness_run *r)
{
	r->judge->suspended = false;
}

/* ---- What hosts are told ---- */

void
harness_judge_moved(struct harness_run *r, uint32_t node)
{
	struct harness_judge *j = r->judge;

	for (uint32_t n = 0; n < j->nnodes; n++)
		j->told[(size_t)node * j->nnodes + n] = j->told[(size_t)n * j->nnodes + node] = 0;
}

void
harness_judge_forget(struct harness_run *r)
{
	r->judge->manager = HARNESS_SMS;
}

/* Where two claim one GUID, it is whose it was. */
static uint32_t
node_of(const struct harness_run *r, const struct fabric *f, uint32_t port)
{
	const struct fabric_node *node = &f->nodes[f->ports[port].node];

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (r->b->net->nodes[n].guid == node->guid)
			return harness_is_switch(r, n) == (node->type == NODE_SWITCH) ? n :
				IBNET_NONE;
	return IBNET_NONE;
}

/* A host hangs on another switch than the plan knows. */
static bool
has_moved(const struct harness_run *r, const struct fabric *f, uint32_t port, uint32_t node)
{
	uint32_t peer = f->ports[port].peer, now;

	if (harness_is_switch(r, node))
		return false;
	now = r->b->m->nodes[node].ports[1].peer;
	return peer == FABRIC_NONE || now == IBNET_NONE ||
		f->nodes[f->ports[peer].node].guid != r->b->m->nodes[now].guid;
}

/* Who is out of reach has no connections. */
static void
meet(struct harness_run *r, const struct plan *p)
{
	struct harness_judge *j = r->judge;

	j->foreign = 0;
	for (uint32_t n = 0; n < j->nnodes; n++) {
		if (fabric_node_by_guid(p->fabric, r->b->net->nodes[n].guid) == FABRIC_NONE)
			harness_judge_moved(r, n);
		else
			j->led[n] = true;
		j->foreign += !j->led[n] && harness_is_switch(r, n);
	}
}

/* A LID of the plan, and the node that has it. */
struct home {
	uint16_t lid;
	uint32_t node;
};

/* Of all that are somebody's: few, where wrong answers led to high ones. */
static struct home *
homes_of(const struct harness_run *r, const struct plan *p, uint32_t *len)
{
	struct home *homes = mem_array(p->lids->top + 1u, sizeof(*homes));

	*len = 0;
	for (unsigned lid = 1; lid <= p->lids->top; lid++) {
		uint32_t port = p->lids->dest[lid].port;
		struct home h = { .lid = (uint16_t)lid };

		if (port == FABRIC_NONE)
			continue;
		h.node = node_of(r, p->fabric, port);
		if (h.node != IBNET_NONE)
			homes[(*len)++] = h;
	}
	return homes;
}

static void
give_addresses(struct harness_judge *j, const struct plan_lids *l, const struct home *homes,
	       uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		const struct plan_dest *d = &l->dest[homes[i].lid];

		if (!d->offset)
			j->address[homes[i].node] = (struct address){
				homes[i].lid, (uint16_t)(1u << l->lmc[d->port]),
			};
	}
}

static void
tell(struct harness_run *r, const struct plan *p, const struct home *a, const struct home *b)
{
	struct harness_judge *j = r->judge;
	unsigned levels = p->sls ? p->sls->asked : 1;

	for (unsigned level = 0; level < levels; level++) {
		unsigned sl = plan_level_sl(p, &p->lids->dest[a->lid], &p->lids->dest[b->lid],
					    level);

		j->told[(size_t)a->node * j->nnodes + b->node] |= (uint16_t)(1u << sl);
	}
}

/* Whoever leads anew does not know what others told; nor does one tell of levels that were given
 * and cannot be proved any more, of which the status warns. */
void
harness_judge_plan(struct harness_run *r, const struct plan *p, unsigned sm)
{
	struct harness_judge *j = r->judge;
	struct home *homes;
	uint32_t len, stay = 0;

	if (j->manager != sm)
		memset(j->led, 0, j->nnodes * sizeof(*j->led));
	if (j->manager != sm || (p->sls && p->sls->stale && !p->sls->stale_proved)) {
		memset(j->told, 0, (size_t)j->nnodes * j->nnodes * sizeof(*j->told));
		j->many = false;
		j->manager = sm;
	}
	j->many |= p->sls != NULL;
	meet(r, p);
	homes = homes_of(r, p, &len);
	for (uint32_t i = 0; i < len; i++)
		if (!has_moved(r, p->fabric, p->lids->dest[homes[i].lid].port, homes[i].node))
			homes[stay++] = homes[i];
	give_addresses(j, p->lids, homes, stay);
	for (uint32_t a = 0; a < stay; a++)
		for (uint32_t b = 0; b < stay; b++)
			if (a != b)
				tell(r, p, &homes[a], &homes[b]);
	mem_free(homes);
}

/* ---- Walks ---- */

/* It leaves by this port, on this lane. */
static bool
passes(const struct harness_run *r, uint32_t at, unsigned in, unsigned sl, unsigned out,
       unsigned *vl)
{
	const struct sim_port *p = &r->b->m->nodes[at].ports[out];

	if (p->info.state != PORT_ACTIVE || p->peer == IBNET_NONE ||
	    r->b->m->nodes[p->peer].ports[p->peer_port].info.state != PORT_ACTIVE)
		return false;
	*vl = model_sl2vl(r->b->m, at, in, out, sl);
	return *vl < LANES && *vl < vls_of_code(p->info.op_vls);
}

/* The next switch; false: the packet is at its end, or goes no further. */
static bool
step(const struct harness_run *r, uint32_t at, unsigned in, uint16_t lid, unsigned sl,
     unsigned *out, unsigned *vl)
{
	const struct ar_packet packet = { .dlid = lid, .sl = (uint8_t)sl };

	/* As an SMP does, by the port of the row. */
	*out = ar_forward(r->b->m, at, in, &packet);
	return *out && !has_lid(&r->b->m->nodes[at].ports[0].info, lid) &&
		passes(r, at, in, sl, *out, vl);
}

static void
note(struct harness_judge *j, uint32_t before, unsigned out, unsigned vl)
{
	struct channel *c = &j->channels[before];
	unsigned bit = out * LANES + vl;

	j->met |= c->mark == 1 && j->channels[j->first[c->to] + bit].mark == 1;
	if (!c->used) {
		c->used = true;
		j->list[j->len++] = before;
	}
	c->waits[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* Ports that packets may leave by: that of the row, and those of its group. */
static unsigned
choices(const struct harness_run *r, uint32_t at, unsigned in, uint16_t lid, unsigned sl,
	uint8_t ports[256])
{
	const struct ar_packet packet = { .dlid = lid, .sl = (uint8_t)sl };
	unsigned row = ar_forward(r->b->m, at, in, &packet);
	unsigned len = ar_ports(r->b->m, at, in, lid, sl, ports);

	if (row && !memchr(ports, (int)row, len))
		ports[len++] = (uint8_t)row;
	return len;
}

/* From a switch, by all ports that there are at each; each channel once. */
static void
spread(struct harness_run *r, uint32_t at, unsigned in, uint32_t before, uint16_t lid, unsigned sl)
{
	struct harness_judge *j = r->judge;
	unsigned len, vl;
	uint8_t ports[256];

	if (has_lid(&r->b->m->nodes[at].ports[0].info, lid))
		return;
	len = choices(r, at, in, lid, sl, ports);
	for (unsigned i = 0; i < len; i++) {
		const struct sim_port *p = &r->b->m->nodes[at].ports[ports[i]];
		uint32_t channel;

		if (ports[i] >= PORTS || !passes(r, at, in, sl, ports[i], &vl) ||
		    !harness_is_switch(r, p->peer))
			continue;
		channel = j->first[at] + ports[i] * LANES + vl;
		if (before != UINT32_MAX)
			note(j, before, ports[i], vl);
		j->channels[channel].to = p->peer;
		if (j->channels[channel].walk[sl] == j->walks)
			continue;
		j->channels[channel].walk[sl] = j->walks;
		spread(r, p->peer, p->peer_port, channel, lid, sl);
	}
}

/* From a switch; at most so many links are followed. */
static void
walk(struct harness_run *r, uint32_t at, unsigned in, uint16_t lid, unsigned sl, unsigned hops)
{
	struct harness_judge *j = r->judge;
	uint32_t before = UINT32_MAX;
	unsigned out, vl;

	if (r->sched->adaptive) {
		spread(r, at, in, UINT32_MAX, lid, sl);
		return;
	}
	while (hops-- && step(r, at, in, lid, sl, &out, &vl)) {
		const struct sim_port *p = &r->b->m->nodes[at].ports[out];

		if (!harness_is_switch(r, p->peer) || out >= PORTS)
			return;
		if (before != UINT32_MAX)
			note(j, before, out, vl);
		before = j->first[at] + out * LANES + vl;
		j->channels[before].to = p->peer;
		at = p->peer;
		in = p->peer_port;
	}
}

static void
walk_pair(struct harness_run *r, uint32_t from, uint32_t to, uint16_t lid)
{
	const struct sim_port *up = &r->b->m->nodes[from].ports[1];
	unsigned told = r->judge->told[(size_t)from * r->judge->nnodes + to];

	for (unsigned sl = 0; told >> sl; sl++) {
		if (!(told >> sl & 1))
			continue;
		if (harness_is_switch(r, from))
			walk(r, from, 0, lid, sl, HOPS);
		else if (up->peer != IBNET_NONE && harness_is_switch(r, up->peer))
			walk(r, up->peer, up->peer_port, lid, sl, HOPS);
	}
}

/* With one level of service each switch is a source, and two links tell all. But those that whoever
 * leads has not met hold what others wrote, for service levels that others told: nobody knows of
 * them who sends there, and ways of packets that come by are followed to their ends. */
static void
walk_from(struct harness_run *r, uint32_t from, uint32_t to, uint16_t lid)
{
	if (r->judge->many) {
		if (r->judge->all || !(harness_is_switch(r, from) || harness_is_switch(r, to)))
			walk_pair(r, from, to, lid);
	} else if (harness_is_switch(r, from) && r->judge->led[from]) {
		walk(r, from, 0, lid, 0, r->judge->foreign ? HOPS : 2);
	}
}

/* ---- Circles ---- */

static bool
finds_circle(struct harness_judge *j, uint32_t channel)
{
	struct channel *c = &j->channels[channel];

	if (!c->used)
		return false;
	c->mark = 1;
	for (unsigned w = 0; w < WORDS; w++)
		for (uint64_t bits = c->waits[w]; bits; bits &= bits - 1) {
			unsigned bit = w * 64 + (unsigned)__builtin_ctzll(bits);
			uint32_t next = j->first[c->to] + bit;

			if (j->channels[next].mark == 1 ||
			    (!j->channels[next].mark && finds_circle(j, next)))
				return true;
		}
	c->mark = 2;
	return false;
}

static void
clear(struct harness_judge *j)
{
	while (j->len) {
		struct channel *c = &j->channels[j->list[--j->len]];

		memset(c->waits, 0, sizeof(c->waits));
		c->used = false;
		c->mark = 0;
	}
}

/* Addresses by which packets may come to a node: who has a connection sends to that which it was
 * told, whatever address the port has meanwhile. Where service levels do not count that goes for
 * whoever sends to the port's own, too. */
static unsigned
lids_of(const struct harness_run *r, uint32_t node, uint16_t lids[2 * LIDS])
{
	const struct portinfo *i = &r->b->m->nodes[node].ports[!harness_is_switch(r, node)].info;
	const struct address *a = &r->judge->address[node];
	unsigned n = 0;

	for (unsigned k = 0; a->base && k < a->len; k++)
		lids[n++] = (uint16_t)(a->base + k);
	for (unsigned k = 0; i->lid && k < 1u << i->lmc && !r->judge->many; k++)
		if (i->lid + k < a->base || i->lid + k >= (unsigned)a->base + a->len)
			lids[n++] = (uint16_t)(i->lid + k);
	return n;
}

/* One of the channels in the circle, for people. */
static void
tell_circle(struct harness_run *r)
{
	struct harness_judge *j = r->judge;
	char text[400] = "";

	for (uint32_t i = 0; i < j->len; i++) {
		const struct channel *c = &j->channels[j->list[i]];
		uint32_t n = 0;

		if (c->mark != 1)
			continue;
		while (n + 1 < j->nnodes && j->first[n + 1] <= j->list[i])
			n++;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s%s/%u.%u",
			 r->b->net->nodes[n].name, model_ar_is_on(r->b->m, n) ? " on" : "",
			 (j->list[i] - j->first[n]) / LANES, (j->list[i] - j->first[n]) % LANES);
	}
	harness_wrong(r, "circle: packets wait for each other at%s", text);
}

/* Who goes along it, and by whose plan. */
static void
tell_walkers(struct harness_run *r)
{
	const struct harness_sm *h = harness_master(r);
	const struct plan *p = h ? h->sm->s->plan : NULL;
	uint16_t lids[2 * LIDS];

	if (p)
		harness_say(r, "  at %s, groups of before and of the plan %s",
			    harness_place_name(harness_place(h->sm->s)), !p->adaptive ? "none" :
			    p->adaptive->apart ? "apart" : "go together");
	if (p)
		harness_say(r, "  engine %s, %u classes, stale SLs 0x%x, %s", p->engine_running,
			    p->sls ? p->sls->classes : 1, p->sls ? p->sls->stale : 0,
			    p->sls && p->sls->stale_proved ? "proved" : "not proved");
	for (uint32_t to = 0; to < r->judge->nnodes; to++) {
		unsigned n = lids_of(r, to, lids);

		for (unsigned k = 0; k < n; k++)
			for (uint32_t from = 0; from < r->judge->nnodes; from++) {
				r->judge->met = false;
				r->judge->walks++;
				walk_from(r, from, to, lids[k]);
				if (r->judge->met)
					harness_say(r, "  from %s to LID %u of %s, SLs 0x%x",
						    r->b->net->nodes[from].name, lids[k],
						    r->b->net->nodes[to].name,
						    r->judge->told[(size_t)from * r->judge->nnodes +
								   to]);
			}
	}
}

/* Writes of what packets go by, so far. */
static uint64_t
writes(const struct harness_run *r)
{
	const struct model *m = r->b->m;

	return m->counts[ATTR_LINEAR_FDB][COUNT_SET] + m->counts[ATTR_SL_TO_VL][COUNT_SET] +
		m->counts[ATTR_PORT_INFO][COUNT_SET] + m->counts[ATTR_SWITCH_INFO][COUNT_SET] +
		r->ar_answers;
}

/* A plan comes into force that does not keep all levels that were told, and says so. Whatever
 * becomes of it, nobody keeps to them from now on. */
static bool
gives_up(const struct harness_run *r)
{
	for (unsigned i = 0; i < r->nsms; i++) {
		const struct subnet *s = r->sms[i].sm->s;
		const struct plan *p = s && s->role == ROLE_MASTER ? s->plan : NULL;

		if (p && p->sls && p->sls->stale && !p->sls->stale_proved && p != r->sms[i].seen)
			return true;
	}
	return false;
}

/* Nothing goes together with what some switch may hold, and the status warns of it; till a plan is
 * in that does not doubt. */
static bool
is_doubted(struct harness_run *r)
{
	const struct harness_sm *h = harness_master(r);
	const struct subnet *s = h ? h->sm->s : NULL;
	const struct plan *p = s ? s->plan : NULL;

	if (p && (p->doubtful || s->unproved || (p->adaptive && p->adaptive->doubtful)))
		r->judge->doubted = true;
	else if (p && s->up && s->stage != SUBNET_PUSH)
		r->judge->doubted = false;
	return r->judge->doubted;
}

/* One schedule in eight is looked at after each write, the others after every fourth. */
static bool
is_due(struct harness_run *r, bool rest)
{
	struct harness_judge *j = r->judge;
	uint64_t now = writes(r);

	if (gives_up(r))
		harness_judge_forget(r);
	if (j->suspended || j->manager == HARNESS_SMS)
		return false;
	if (is_doubted(r))
		return false;
	if (!rest && now < j->seen + (r->sched->seed % 8 ? 4 : 1))
		return false;
	j->seen = now;
	return true;
}

/* Where each pair has its level, between hosts alone; at rest, and in some schedules, all pairs. */
void
harness_judge_look(struct harness_run *r, bool rest)
{
	struct harness_judge *j = r->judge;
	uint16_t lids[2 * LIDS];

	if (!is_due(r, rest))
		return;
	j->all = rest || r->sched->seed % 8 == 0;
	r->counts->judged++;
	for (uint32_t to = 0; to < j->nnodes; to++) {
		unsigned n = lids_of(r, to, lids);

		for (unsigned k = 0; k < n; k++) {
			j->walks++;
			for (uint32_t from = 0; from < j->nnodes; from++)
				walk_from(r, from, to, lids[k]);
		}
	}
	for (uint32_t i = 0; i < j->len; i++)
		if (!j->channels[j->list[i]].mark && finds_circle(j, j->list[i])) {
			tell_circle(r);
			if (r->trace)
				tell_walkers(r);
			break;
		}
	clear(j);
}

/* ---- At rest ---- */

bool
harness_judge_arrives(const struct harness_run *r, uint32_t from, uint32_t to, uint16_t lid,
		      unsigned sl)
{
	const struct sim_port *p = &r->b->m->nodes[from].ports[1];
	unsigned out, vl;

	for (unsigned hops = 0; hops < HOPS; hops++) {
		if (p->peer == IBNET_NONE || p->info.state != PORT_ACTIVE)
			return false;
		if (!harness_is_switch(r, p->peer))
			return p->peer == to;
		if (!step(r, p->peer, p->peer_port, lid, sl, &out, &vl))
			return false;
		p = &r->b->m->nodes[p->peer].ports[out];
	}
	return false;
}

/* From a switch: whatever ports are taken. */
static bool
all_arrive(const struct harness_run *r, uint32_t at, unsigned in, uint32_t to, uint16_t lid,
	   unsigned sl)
{
	struct harness_judge *j = r->judge;
	uint8_t ports[256];
	unsigned len = choices(r, at, in, lid, sl, ports), vl;

	for (unsigned i = 0; i < len; i++) {
		const struct sim_port *p = &r->b->m->nodes[at].ports[ports[i]];
		struct channel *c;

		if (ports[i] >= PORTS || !passes(r, at, in, sl, ports[i], &vl))
			return false;
		if (!harness_is_switch(r, p->peer)) {
			if (p->peer != to)
				return false;
			continue;
		}
		c = &j->channels[j->first[at] + ports[i] * LANES + vl];
		if (c->way == 2 * j->walks + 1)
			continue;
		if (c->way == 2 * j->walks)
			return false;	/* round in a circle */
		c->way = 2 * j->walks;
		if (!all_arrive(r, p->peer, p->peer_port, to, lid, sl))
			return false;
		c->way = 2 * j->walks + 1;
	}
	return len > 0;
}

static void
judge_spread(struct harness_run *r, const struct home *a, const struct home *b, unsigned sl,
	     char *why, size_t size)
{
	const struct sim_port *up = &r->b->m->nodes[a->node].ports[1];

	r->judge->walks++;
	r->counts->spread++;
	if (up->peer != IBNET_NONE && harness_is_switch(r, up->peer) &&
	    !all_arrive(r, up->peer, up->peer_port, b->node, b->lid, sl))
		snprintf(why, size, "on SL %u not each way over groups leads from %s to %s "
			 "(LID %u)", sl, r->b->net->nodes[a->node].name,
			 r->b->net->nodes[b->node].name, b->lid);
}

static void
judge_pair(struct harness_run *r, const struct plan *p, const struct home *a, const struct home *b,
	   char *why, size_t size)
{
	unsigned levels = p->sls ? p->sls->asked : 1;

	for (unsigned level = 0; level < levels; level++) {
		unsigned sl = plan_level_sl(p, &p->lids->dest[a->lid], &p->lids->dest[b->lid],
					    level);

		r->counts->pairs++;
		if (!why[0] && !harness_judge_arrives(r, a->node, b->node, b->lid, sl))
			snprintf(why, size, "on SL %u (level %u) no packet gets from %s to %s "
				 "(LID %u)", sl, level, r->b->net->nodes[a->node].name,
				 r->b->net->nodes[b->node].name, b->lid);
		if (r->sched->adaptive && !why[0])
			judge_spread(r, a, b, sl, why, size);
	}
}

void
harness_judge_pairs(struct harness_run *r, const struct subnet *s, char *why, size_t size)
{
	uint32_t len, hosts = 0;
	struct home *homes = homes_of(r, s->plan, &len);

	for (uint32_t i = 0; i < len; i++)
		if (!harness_is_switch(r, homes[i].node))
			homes[hosts++] = homes[i];
	for (uint32_t a = 0; a < hosts; a++)
		for (uint32_t b = 0; b < hosts; b++)
			if (homes[a].node != homes[b].node)
				judge_pair(r, s->plan, &homes[a], &homes[b], why, size);
	mem_free(homes);
}
