/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When all is mended and quiet: single faults, and what is written for each. What a device holds is
 * taken down before and after, so that it is known by the device itself what had to be written; the
 * ports whose links the fault takes down lose what they hold, and get it again. A device of which
 * nothing differs, and that has no such port, is written nothing; every other no more than what
 * differs, as often as a push may write one thing (times[]), and what such ports are given. A
 * manager that is started again where nothing has changed writes nothing at all.
 */
#include "tests/unit/harness.h"

#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "sm/fabric/event.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/sls.h"

#define SHARE 4u		/* one schedule in so many is looked at */
#define LIDS 0xc000u		/* entries of a table */
#define MFT_BLOCKS 32u		/* of 32 MLIDs at each position */
#define PKEY_BLOCKS 4u		/* of 32 keys of a port */
#define ARB_BLOCKS 4u

enum thing { SWITCH_INFO, PORTS, LFT, MFT, PKEYS, LANES, ARBITRATION, ALIASES, THINGS };

static const struct {
	const char *name;
	uint16_t attr;
	unsigned times;		/* that one of them is written at most where it differs */
} things[THINGS] = {
	/* The mark that links changed is cleared as it is read, and once more with the tables. */
	[SWITCH_INFO] = { "SwitchInfo", ATTR_SWITCH_INFO, 2 },
	/* Fields with ARMED, then ACTIVE. */
	[PORTS] = { "PortInfo", ATTR_PORT_INFO, 2 },
	/* A block, for an entry: it is dropped before it is another where old and new do not mix,
	 * and entries of one block go in sets one after the other. */
	[LFT] = { "LinearForwardingTable", ATTR_LINEAR_FDB, 2 },
	/* Taken away before rows change, and written anew. */
	[MFT] = { "MulticastForwardingTable", ATTR_MULTICAST_FDB, 2 },
	[PKEYS] = { "P_KeyTable", ATTR_P_KEY_TABLE, 1 },
	[LANES] = { "SLtoVLMappingTable", ATTR_SL_TO_VL, 1 },
	[ARBITRATION] = { "VLArbitrationTable", ATTR_VL_ARBITRATION, 1 },
	[ALIASES] = { "GUIDInfo", ATTR_GUID_INFO, 1 },
};

/* What all devices hold, as numbers that differ when it does, and what was written so far. */
struct holding {
	uint64_t *sums;		/* of node after node, thing after thing but LFT */
	uint8_t *entries;	/* of forwarding tables, by node, LID */
	uint32_t *sets;		/* by node, thing */
	uint16_t *tops;		/* by node: LinearFDBTop */
	unsigned *reregisters;	/* by node: so often its ports were asked to register */
};

/* ---- What devices hold ---- */

static uint64_t
sum_of(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ p[i]) * 0x100000001b3u;
	return sum;
}

static unsigned
len_of(const struct sim_node *n, enum thing t)
{
	unsigned ports = n->nports + 1u;
	bool is_switch = n->type == NODE_SWITCH;

	switch (t) {
	case SWITCH_INFO:
		return is_switch;
	case PORTS:
	case ALIASES:
		return ports;
	case MFT:
		return is_switch ? 16 * MFT_BLOCKS : 0;
	case PKEYS:
		return ports * PKEY_BLOCKS;
	case LANES:
		return ports * ports;
	case ARBITRATION:
		return ports * ARB_BLOCKS;
	case LFT:
	case THINGS:
		break;
	}
	return 0;
}

static uint64_t
mft_sum(const struct sim_node *n, unsigned i)
{
	uint16_t masks[32];

	for (unsigned k = 0; k < 32; k++)
		masks[k] = node_mft(n, (uint16_t)(MLID_MIN + i % MFT_BLOCKS * 32 + k),
				    i / MFT_BLOCKS);
	return sum_of(masks, sizeof(masks));
}

static uint64_t
pkeys_sum(const struct model *m, uint32_t node, unsigned port, unsigned block)
{
	unsigned len = model_pkeys(m, node, port);
	uint16_t keys[32] = { 0 };

	for (unsigned i = 0; i < 32 && block * 32 + i < len; i++)
		keys[i] = model_pkey(m, node, port, block * 32 + i);
	return sum_of(keys, sizeof(keys));
}

static uint64_t
port_sum(const struct sim_port *p)
{
	uint8_t data[SMP_DATA_SIZE];

	portinfo_encode(&p->info, data);
	return sum_of(data, sizeof(data));
}

static uint64_t
sum_at(const struct harness_run *r, uint32_t node, enum thing t, unsigned i)
{
	const struct sim_node *n = &r->b->m->nodes[node];
	uint8_t data[SMP_DATA_SIZE] = { 0 };
	unsigned ports = n->nports + 1u;

	switch (t) {
	case SWITCH_INFO:
		switchinfo_encode(&n->sw, data);
		return sum_of(data, sizeof(data));
	case PORTS:
		return port_sum(&n->ports[i]);
	case MFT:
		return mft_sum(n, i);
	case PKEYS:
		return pkeys_sum(r->b->m, node, i / PKEY_BLOCKS, i % PKEY_BLOCKS);
	case LANES:
		for (unsigned sl = 0; sl < 16; sl++)
			data[sl] = (uint8_t)model_sl2vl(r->b->m, node, i / ports, i % ports, sl);
		return sum_of(data, 16);
	case ARBITRATION:
		return n->ports[i / ARB_BLOCKS].vlarb ?
			sum_of(n->ports[i / ARB_BLOCKS].vlarb + i % ARB_BLOCKS * SMP_DATA_SIZE,
			       SMP_DATA_SIZE) : 0;
	case ALIASES:
		return n->ports[i].guids ? sum_of(n->ports[i].guids, n->ports[i].info.guid_cap *
						  sizeof(n->ports[i].guids[0])) : 0;
	case LFT:
	case THINGS:
		break;
	}
	return 0;
}

static void
take(const struct harness_run *r, struct holding *h)
{
	uint32_t at = 0, len = 0, nnodes = r->b->net->nnodes;

	for (uint32_t node = 0; node < nnodes; node++)
		for (unsigned t = 0; t < THINGS; t++)
			len += len_of(&r->b->m->nodes[node], t);
	h->sums = mem_array(len, sizeof(*h->sums));
	h->sets = mem_array((size_t)nnodes * THINGS, sizeof(*h->sets));
	h->entries = mem_array((size_t)nnodes * LIDS, sizeof(*h->entries));
	memset(h->entries, LFT_NO_PORT, (size_t)nnodes * LIDS);
	for (uint32_t node = 0; node < nnodes; node++)
		if (harness_is_switch(r, node))
			memcpy(h->entries + (size_t)node * LIDS, r->b->m->nodes[node].lft,
			       r->b->m->nodes[node].lft_len < LIDS ?
			       r->b->m->nodes[node].lft_len : LIDS);
	h->tops = mem_array(nnodes, sizeof(*h->tops));
	for (uint32_t node = 0; node < nnodes; node++)
		h->tops[node] = r->b->m->nodes[node].sw.linear_fdb_top;
	h->reregisters = mem_array(nnodes, sizeof(*h->reregisters));
	for (uint32_t node = 0; node < nnodes; node++)
		for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++)
			h->reregisters[node] += model_reregisters(r->b->m, node, p);
	for (uint32_t node = 0; node < nnodes; node++)
		for (unsigned t = 0; t < THINGS; t++) {
			h->sets[node * THINGS + t] =
				r->b->m->nodes[node].counts[things[t].attr][COUNT_SET];
			for (unsigned i = 0; i < len_of(&r->b->m->nodes[node], t); i++)
				h->sums[at++] = sum_at(r, node, t, i);
		}
}

static void
give_back(struct holding *h)
{
	mem_free(h->sums);
	mem_free(h->entries);
	mem_free(h->sets);
	mem_free(h->tops);
	mem_free(h->reregisters);
}

/* ---- What was written for it ---- */

/* What a port is given whose link came up anew: all that there is. */
static unsigned
port_is_given(const struct sim_node *n, enum thing t)
{
	switch (t) {
	case PORTS:
		return 2;
	case PKEYS:
		return PKEY_BLOCKS;
	case LANES:
		return 2 * (n->nports + 1u);
	case ARBITRATION:
		return ARB_BLOCKS;
	case ALIASES:
		return 1;
	default:
		return 0;
	}
}

/* Blocks that hold the LIDs of the subnet. */
static unsigned
blocks_of(const struct sim_node *n)
{
	return n->sw.linear_fdb_top / 64u + 1;
}

/* Blocks of its multicast table that hold something. */
static unsigned
mft_held(const struct sim_node *n)
{
	unsigned held = 0;

	for (unsigned i = 0; n->type == NODE_SWITCH && i < 16 * MFT_BLOCKS; i++) {
		bool any = false;

		for (unsigned k = 0; k < 32; k++)
			any |= node_mft(n, (uint16_t)(MLID_MIN + i % MFT_BLOCKS * 32 + k),
					i / MFT_BLOCKS);
		held += any;
	}
	return held;
}

/* What has befallen, and is judged. */
struct case_of {
	const char *what;
	struct holding before, after;
	unsigned *fell;		/* by node: ports whose links went down, or were out of reach */
	uint32_t reset;		/* a switch that has lost all it held; IBNET_NONE */
	bool nothing;		/* is to be written */
	bool dropped;		/* packets were, for old and new tables do not mix */
	uint64_t told;		/* the last event before */
};

static unsigned
may_be_written(const struct harness_run *r, const struct case_of *c, uint32_t node, enum thing t,
	       unsigned differ)
{
	const struct sim_node *n = &r->b->m->nodes[node];
	unsigned fell = c->fell[node], most = differ * things[t].times + fell * port_is_given(n, t);

	if (c->nothing)
		return 0;
	if (t == SWITCH_INFO)
		return fell || differ ? 2 : 0;
	/* Hosts that are asked to register again. */
	if (t == PORTS)
		most += c->after.reregisters[node] - c->before.reregisters[node];
	/* What packets may pass by in between is dropped, set by set, and is there again. */
	if (t == LFT && c->dropped)
		most += 4 * blocks_of(n);
	if (t == MFT && c->dropped)
		most += 2 * mft_held(n);
	/* What is behind the top is not known, when it was put there by somebody else. */
	if (t == LFT && (node == c->reset || c->after.tops[node] > c->before.tops[node]))
		most += blocks_of(n);
	if (node != c->reset)
		return most;
	if (t == MFT)
		most += len_of(n, t);
	return most + (t == PORTS);
}

static unsigned
entries_differ(const struct case_of *c, uint32_t node)
{
	unsigned n = 0;

	for (size_t i = (size_t)node * LIDS; i < (size_t)(node + 1) * LIDS; i++)
		n += c->before.entries[i] != c->after.entries[i];
	return n;
}

static unsigned
things_differ(const struct harness_run *r, const struct case_of *c, uint32_t node, enum thing t,
	      uint32_t *at)
{
	unsigned n = 0;

	if (t == LFT)
		return entries_differ(c, node);
	for (unsigned i = 0; i < len_of(&r->b->m->nodes[node], t); i++, ++*at)
		n += c->before.sums[*at] != c->after.sums[*at];
	return n;
}

/* By what the manager told: only it knows what it was afraid of. */
static bool
was_dropped(struct harness_run *r, const struct case_of *c)
{
	const struct harness_sm *h = harness_master(r);

	for (uint64_t i = event_last(h->sm->events); i > c->told; i--)
		if (event_get(h->sm->events, i) &&
		    strstr(event_get(h->sm->events, i)->text, "drop packets"))
			return true;
	return false;
}

static void
judge_thing(struct harness_run *r, const struct case_of *c, uint32_t node, enum thing t,
	    uint32_t *at)
{
	unsigned differ = things_differ(r, c, node, t, at), i = node * THINGS + t;
	unsigned sets = c->after.sets[i] - c->before.sets[i];
	unsigned most = may_be_written(r, c, node, t, differ);
	const char *name = r->b->net->nodes[node].name;

	r->counts->frugal_sets += sets;
	r->counts->frugal_needs += differ;
	if (sets)
		harness_say(r, "  %s: %u Sets of %s at %s, of which %u differ, %u may be", c->what,
			    sets, things[t].name, name, differ, most);
	if (sets > most)
		harness_wrong(r, "wasted: for %s %s is written %u times at %s, where %u differ and "
			      "%u links fell", c->what, things[t].name, sets, name, differ,
			      c->fell[node]);
}

static void
judge(struct harness_run *r, struct case_of *c)
{
	uint32_t at = 0;

	take(r, &c->after);
	c->dropped = harness_master(r) && was_dropped(r, c);
	for (uint32_t node = 0; node < r->b->net->nnodes; node++)
		for (unsigned t = 0; t < THINGS; t++)
			judge_thing(r, c, node, t, &at);
	give_back(&c->after);
}

/* ---- Single faults ---- */

static bool
is_ours(const struct harness_run *r, uint32_t node)
{
	for (unsigned i = 0; i < HARNESS_SMS + HARNESS_CLIENTS; i++)
		if (r->hosts[i] == node)
			return true;
	return false;
}

/* Neither a manager nor a client hangs there: what they say and lose is no single fault. */
static bool
is_apart(const struct harness_run *r, uint32_t node)
{
	const struct sim_node *n = &r->b->m->nodes[node];

	for (unsigned p = 1; p <= n->nports; p++)
		if (n->ports[p].peer != IBNET_NONE && is_ours(r, n->ports[p].peer))
			return false;
	return !is_ours(r, node);
}

static bool
may_fall(const struct harness_run *r, uint32_t node, unsigned port, bool host)
{
	const struct sim_port *p = &r->b->m->nodes[node].ports[port];

	if (!model_link_is_up(r->b->m, node, port) || harness_is_switch(r, node) == host)
		return false;
	return host ? is_apart(r, node) : harness_is_switch(r, p->peer);
}

static bool
choose_port(struct harness_run *r, bool host, uint32_t *node, unsigned *port)
{
	uint32_t len = 0, at;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		for (unsigned p = 1; p <= r->b->net->nodes[n].nports; p++)
			if (may_fall(r, n, p, host)) {
				r->list[len++] = n;
				r->list[len++] = p;
			}
	if (!len)
		return false;
	at = (uint32_t)(harness_mix(r->sched->seed, host) % (len / 2)) * 2;
	*node = r->list[at];
	*port = r->list[at + 1];
	return true;
}

static uint32_t
choose_switch(struct harness_run *r)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (harness_is_switch(r, n) && is_apart(r, n))
			r->list[len++] = n;
	return len ? r->list[harness_mix(r->sched->seed, 2) % len] : IBNET_NONE;
}

/* Who is out of reach may be given what it holds, for nobody knows what others wrote meanwhile. */
static void
falls_unseen(const struct harness_run *r, struct case_of *c, const struct harness_sm *h)
{
	for (uint32_t node = 0; h && node < r->b->net->nnodes; node++)
		for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++)
			c->fell[node] += !bed_healthy(h->sm, node) &&
				model_link_is_up(r->b->m, node, p);
}

static void
begin(struct harness_run *r, struct case_of *c, const char *what)
{
	*c = (struct case_of){ .what = what, .reset = IBNET_NONE };
	c->fell = mem_array(r->b->net->nnodes, sizeof(*c->fell));
	falls_unseen(r, c, harness_master(r));
	take(r, &c->before);
	c->told = harness_master(r) ? event_last(harness_master(r)->sm->events) : 0;
	r->counts->frugal++;
	harness_say(r, "%s", what);
}

/* It has befallen. */
static void
rest_and_judge(struct harness_run *r, struct case_of *c)
{
	harness_settle(r);
	harness_silence(r);
	if (!r->why[0])
		judge(r, c);
	give_back(&c->before);
	mem_free(c->fell);
}

static void
falls(const struct harness_run *r, struct case_of *c, uint32_t node, unsigned port)
{
	harness_say(r, "  %s port %u", r->b->net->nodes[node].name, port);
	c->fell[node]++;
	c->fell[r->b->m->nodes[node].ports[port].peer]++;
}

/* A cable, perhaps a host's, goes, and comes again. */
static void
a_cable(struct harness_run *r, bool host)
{
	static const char *const names[2][2] = {
		{ "a lost cable", "a cable that is back" },
		{ "a lost host", "a host that is back" },
	};
	unsigned port;
	uint32_t node;

	if (r->why[0] || !choose_port(r, host, &node, &port))
		return;
	for (unsigned up = 0; up <= 1 && !r->why[0]; up++) {
		struct case_of c;

		begin(r, &c, names[host][up]);
		falls(r, &c, node, port);
		model_link_set(r->b->m, node, port, up);
		rest_and_judge(r, &c);
	}
}

static void
a_switch(struct harness_run *r)
{
	uint32_t node = choose_switch(r);
	struct case_of c;

	if (r->why[0] || node == IBNET_NONE)
		return;
	begin(r, &c, "a switch that was reset");
	c.reset = node;
	for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++)
		if (model_link_is_up(r->b->m, node, p))
			falls(r, &c, node, p);
	model_reboot(r->b->m, node);
	rest_and_judge(r, &c);
}

/* An entry of this switch leads out there. */
static bool
leads_to(const struct sim_node *n, unsigned port)
{
	for (uint16_t lid = 1; lid <= n->sw.linear_fdb_top; lid++)
		if (plain_port(n, lid) == port)
			return true;
	return false;
}

/* Who starts again takes up cables that nothing goes by, for they may have come back meanwhile. */
static bool
has_idle_cable(const struct harness_run *r)
{
	const struct sim_node *nodes = r->b->m->nodes;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		for (unsigned p = 1; harness_is_switch(r, n) && p <= nodes[n].nports; p++) {
			const struct sim_port *port = &nodes[n].ports[p];

			if (model_link_is_up(r->b->m, n, p) && harness_is_switch(r, port->peer) &&
			    !leads_to(&nodes[n], p) &&
			    !leads_to(&nodes[port->peer], port->peer_port))
				return true;
		}
	return false;
}

/*
 * The tables that switches hold are those that it takes on when it is started again. Not so where
 * a command has named another engine than the configuration, or another one runs than was asked
 * for, which is tried again; nor where they need lanes: which pairs have which is nowhere in the
 * fabric, and engines make them anew.
 */
static bool
is_kept(const struct harness_run *r, const struct subnet *s)
{
	const struct plan_sls *sls = s->plan->sls;

	return !s->engine_override[0] && !s->plan->reason[0] &&
	       !(sls && (sls->classes > 1 || sls->lanes > 1)) && !has_idle_cable(r);
}

static void
a_restart(struct harness_run *r)
{
	struct harness_sm *h = harness_master(r);
	struct case_of c;
	bool kept;

	if (r->why[0] || !h || r->nsms > 1)
		return;
	kept = is_kept(r, h->sm->s);
	r->counts->restarts += kept;
	begin(r, &c, kept ? "a restart" : "a restart that may route anew");
	c.nothing = kept;
	harness_stop(r, h);
	harness_start(r, h);
	rest_and_judge(r, &c);
}

void
harness_frugal(struct harness_run *r)
{
	if (r->why[0] || r->sched->adaptive || r->sched->seed % SHARE)
		return;
	a_restart(r);
	a_cable(r, false);
	a_cable(r, true);
	a_switch(r);
	a_restart(r);
}
