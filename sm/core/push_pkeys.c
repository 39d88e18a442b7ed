/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P_Key tables in a push (IBA volume 1, 10.9.2, 14.2.5.7), where the plan has some.
 *
 * Two steps, before links come up and before PortInfo says what is enforced: first the ports of
 * switches that lead to hosts, then hosts and switches themselves. So a key that goes is refused by
 * the switch before the host has let go of it, and a new one is let through before the host uses
 * it. What is enforced (push_port.c) follows only where the switch holds the table.
 *
 * Blocks are compared with what tables.h knows. One that is not known is read first if the port
 * carries traffic, so that a restart writes nothing; else it is written as it should be. At the
 * end all is compared once more, whatever was sent and answered. Where all was found written and
 * nothing has changed since nobody is looked at.
 */
#include "sm/core/push_i.h"

#include <string.h>

static uint32_t
plan_port(const struct subnet *s, const struct live_port *p)
{
	const struct fabric *f = s->push.plan->fabric;
	uint32_t node = p->device->fabric_node;

	return node == FABRIC_NONE || p->number > f->nodes[node].nports ? FABRIC_NONE :
	       f->nodes[node].first_port + p->number;
}

bool
push_pkeys_planned(const struct subnet *s)
{
	return s->push.plan && s->push.plan->pkeys;
}

static void
block_of(const struct plan_pkeys *k, uint32_t port, unsigned block, uint16_t keys[TABLES_KEYS])
{
	for (unsigned i = 0; i < TABLES_KEYS; i++)
		keys[i] = plan_pkeys_at(k, port, block * TABLES_KEYS + i);
}

/* The block as planned: -1 not known, 0 it differs, 1 it is held. What a port does not tell is
 * written unless it begins with just that. */
static int
block_held(const struct subnet *s, const struct live_port *p, uint32_t port, unsigned block,
	   uint16_t want[TABLES_KEYS])
{
	uint16_t have[TABLES_KEYS];

	block_of(s->push.plan->pkeys, port, block, want);
	if (tables_pkeys(&s->topo.tables, p, block, have) == TABLES_UNKNOWN)
		return -1;
	return !memcmp(have, want, sizeof(have));
}

/* The port's table is of the present step. */
static bool
is_of_step(const struct subnet *s, const struct live_port *p)
{
	bool outer = p->device->info.node_type == NODE_SWITCH && p->number;

	return outer == (s->push.step == PUSH_PKEYS_SWITCHES);
}

/* Through its own cable a host's port is asked. */
static bool
can_ask(const struct subnet *s, const struct live_port *p)
{
	return p->device->info.node_type == NODE_SWITCH || (p->peer && live_port_up(p)) ||
	       p == &s->topo.own->ports[s->topo.own_port];
}

/* The port is to hold a table, and can be given it. */
static bool
is_to_hold(const struct subnet *s, const struct live_port *p)
{
	uint32_t port = plan_port(s, p);

	return port != FABRIC_NONE && s->push.plan->pkeys->table[port] != PKEYS_NONE &&
	       (p->flags & LIVE_PORT_READ || !p->number) && can_ask(s, p);
}

bool
push_pkeys_start(struct subnet *s, struct device *d)
{
	for (unsigned n = 0; n <= d->info.num_ports; n++)
		if (is_of_step(s, &d->ports[n]) && is_to_hold(s, &d->ports[n]))
			bits_set(&d->pkey_set, n);
	d->pkey_block = 0;
	return !bits_empty(&d->pkey_set);
}

int
push_blocks_port(struct device *d, unsigned first)
{
	static const struct bits256 none;
	int n = bits_first(&d->pkey_set);

	if (n >= 0 || d->inflight)
		return n;
	d->pkey_set = d->pkey_again;
	d->pkey_again = none;
	d->pkey_block = first;
	return bits_first(&d->pkey_set);
}

/* The block at which the device is, of the port at which it is; true: a request goes out. */
static bool
one_next(const struct subnet *s, struct live_port *p, uint32_t port, struct transact_request *r)
{
	uint16_t want[TABLES_KEYS];
	bool external = p->device->info.node_type == NODE_SWITCH;
	int held = block_held(s, p, port, p->device->pkey_block, want);

	if (held == 1)
		return false;
	r->method = held < 0 && p->info.state == PORT_ACTIVE ? MAD_GET : MAD_SET;
	r->attr_id = ATTR_P_KEY_TABLE;
	r->attr_mod = (external ? (uint32_t)p->number << 16 : 0) | p->device->pkey_block;
	r->cookie = p->number;
	if (r->method == MAD_SET)
		pkeys_encode(want, r->data);
	return true;
}

bool
push_pkeys_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	int n;

	while ((n = push_blocks_port(d, 0)) >= 0) {
		struct live_port *p = &d->ports[n];
		uint32_t at = plan_port(s, p);

		while (at != FABRIC_NONE && d->pkey_block < tables_pkey_blocks(p)) {
			bool asks = one_next(s, p, at, r);

			d->pkey_block++;
			if (!asks)
				continue;
			s->push.pkey_blocks += r->method == MAD_SET;
			*port = (unsigned)n;
			return true;
		}
		bits_clear(&d->pkey_set, (unsigned)n);
		d->pkey_block = 0;
	}
	return false;
}

bool
push_pkeys_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->cookie <= d->info.num_ports ? (unsigned)res->cookie : 0;
	struct live_port *p = &d->ports[n];
	unsigned block = res->attr_mod & 0xffff;
	uint16_t want[TABLES_KEYS];
	uint32_t port = plan_port(s, p);

	if (res->error || (res->mad_status && res->method == MAD_SET))
		return false;
	tables_saw_pkeys(&s->topo.tables, p, block, res->mad_status ? NULL : res->data);
	if (port == FABRIC_NONE || block_held(s, p, port, block, want) == 1)
		return true;
	if (res->method == MAD_SET) {
		push_failure(s, d, "port %u keeps other P_Keys than were set", n);
		return true;
	}
	/* It was read, and is to be written: the port's turn comes once more. */
	bits_set(&d->pkey_again, n);
	return true;
}

bool
push_pkeys_held(const struct subnet *s, const struct live_port *p)
{
	uint32_t port = plan_port(s, p);
	uint16_t want[TABLES_KEYS];

	for (unsigned b = 0; port != FABRIC_NONE && b < tables_pkey_blocks(p); b++)
		if (block_held(s, p, port, b, want) != 1)
			return false;
	return port != FABRIC_NONE;
}

bool
push_pkeys_lack(const struct subnet *s, const struct live_port *p)
{
	return push_pkeys_planned(s) && push_pkeys_due(s) && is_to_hold(s, p) &&
	       !push_pkeys_held(s, p);
}

/*
 * A host that was reset, or is another one, has other keys than it should have, and may use them as
 * soon as its link is up. So that comes up when the host is known to hold no other. An empty block
 * that it does not take is none of them.
 */
bool
push_pkeys_may_rise(const struct subnet *s, const struct live_port *p)
{
	static const uint16_t none[TABLES_KEYS];
	const struct live_port *end = p->device->info.node_type == NODE_SWITCH ? live_peer(p) : p;
	uint16_t want[TABLES_KEYS];
	uint32_t port;

	if (!push_pkeys_planned(s) || !end || end->device->info.node_type == NODE_SWITCH ||
	    end == &s->topo.own->ports[s->topo.own_port])
		return true;
	port = plan_port(s, end);
	for (unsigned b = 0; port != FABRIC_NONE && b < tables_pkey_blocks(end); b++) {
		int held = block_held(s, end, port, b, want);

		if (!held || (held < 0 && memcmp(want, none, sizeof(want))))
			return false;
	}
	return port != FABRIC_NONE;
}

/*
 * It may have been reset since it was given its keys, while the link was as down as before, and the
 * switch's mark that links changed is cleared only with what it is programmed with first. One block
 * tells: a reset leaves none as it was that holds more than what devices begin with.
 */
bool
push_pkeys_prove(struct subnet *s, struct live_port *p)
{
	if (!push_pkeys_planned(s) || !is_to_hold(s, p) ||
	    tables_pkeys(&s->topo.tables, p, 0, NULL) != TABLES_HELD)
		return false;
	bits_set(&p->device->pkey_set, p->number);
	transact_ready(s->transact, &p->device->agent.target);
	return true;
}

bool
push_pkeys_activates(const struct subnet *s)
{
	return s->push.step == PUSH_PROVE || s->push.step == PUSH_PROVE_CABLES ||
	       s->push.step == PUSH_LINKS_PROVE;
}

bool
push_pkeys_proof_next(struct device *d, struct transact_request *r, unsigned *port)
{
	int n = bits_pop(&d->pkey_set);

	if (n < 0)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_P_KEY_TABLE;
	r->cookie = (uint64_t)n;
	*port = (unsigned)n;
	return true;
}

bool
push_pkeys_proved(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->cookie <= d->info.num_ports ? (unsigned)res->cookie : 0;
	struct live_port *p = &d->ports[n];
	uint16_t want[TABLES_KEYS];
	uint32_t port = plan_port(s, p);

	if (res->error || !p->peer || port == FABRIC_NONE)
		return false;
	/* What it does not tell it was seen to take. */
	if (!res->mad_status)
		tables_saw_pkeys(&s->topo.tables, p, 0, res->data);
	if (block_held(s, p, port, 0, want) == 1)
		p->raised = false;
	else
		push_port_doubt(s, p, "other P_Keys are held than were set");
	return true;
}

bool
push_pkeys_due(const struct subnet *s)
{
	const struct plan_pkeys *k = s->push.plan->pkeys;

	return k && (k != s->parts.written ||
		     s->parts.written_changed != s->topo.tables.pkeys_changed);
}

void
push_pkeys_written(struct subnet *s)
{
	plan_pkeys_unref(s->parts.written);
	s->parts.written = NULL;
	if (s->push_incomplete || !s->push.plan->pkeys)
		return;
	s->parts.written = plan_pkeys_ref(s->push.plan->pkeys);
	s->parts.written_changed = s->topo.tables.pkeys_changed;
}

/* A port of a switch: what it enforces. Nothing towards another switch. */
void
push_pkeys_enforce(const struct subnet *s, const struct live_port *p, struct portinfo *w)
{
	uint32_t port = plan_port(s, p);
	unsigned bits = port == FABRIC_NONE ? 0 : s->push.plan->pkeys->enforce[port];
	const struct switchinfo *sw = &p->device->sw;

	if (bits && !push_pkeys_held(s, p))
		return;
	w->enforce_in = bits & PKEYS_ENFORCE_IN && sw->enforce_in_cap;
	w->enforce_out = bits & PKEYS_ENFORCE_OUT && sw->enforce_out_cap;
}

/*
 * Nothing is planned: the default partition at index 0, the rest as it was. Nor that where
 * something is said that cannot be had, for somebody is perhaps to have less.
 */

bool
push_pkeys_differ(const struct subnet *s, const struct live_port *p)
{
	uint16_t keys[TABLES_KEYS];

	return !push_pkeys_planned(s) && !s->parts.refused[0] &&
	       tables_pkeys(&s->topo.tables, p, 0, keys) == TABLES_HELD &&
	       keys[0] != (PKEY_DEFAULT | PKEY_FULL);
}

static void
want_default(const struct subnet *s, const struct live_port *p, uint16_t keys[TABLES_KEYS])
{
	tables_pkeys(&s->topo.tables, p, 0, keys);
	for (unsigned i = 1; i < TABLES_KEYS; i++)
		if (keys[i] == (PKEY_DEFAULT | PKEY_FULL))
			keys[i] = 0;
	/* A key that sat at index 0 is in use there; it moves to a free place, not away. */
	for (unsigned i = 1; keys[0] && i < TABLES_KEYS; i++) {
		if (keys[i])
			continue;
		keys[i] = keys[0];
		keys[0] = 0;
	}
	keys[0] = (PKEY_DEFAULT | PKEY_FULL);
}

bool
push_pkeys_default_next(const struct subnet *s, struct device *d, struct transact_request *r,
			unsigned *port)
{
	uint16_t keys[TABLES_KEYS];
	int n = bits_pop(&d->pkey_set);

	if (n < 0)
		return false;
	want_default(s, &d->ports[n], keys);
	r->method = MAD_SET;
	r->attr_id = ATTR_P_KEY_TABLE;
	r->cookie = (uint64_t)n;
	pkeys_encode(keys, r->data);
	*port = (unsigned)n;
	return true;
}
