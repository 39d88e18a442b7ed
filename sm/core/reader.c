/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading of tables in the background: what ports hold (tables.h) and bring-up does not need.
 *
 * Nobody waits for it but who asks the subnet administrator for such tables, so it is the last of
 * all: it runs while the subnet is up and nothing else is under way (stage IDLE), a few devices at
 * a time with few requests each, and no more than 20,000 a second, of which a tenth while clients
 * ask the subnet administrator. When another stage begins, what is under way is called off, and
 * asked again later. What is known is not read again; what is not known any more, for a port came
 * up anew, a device was away, or somebody else may have written it (another manager led, an
 * administrator asks for a sweep), makes its device due (tables.c). A device that does not answer
 * is left alone for a while, longer each time.
 *
 * A device's tables are numbered in one row: P_Key blocks by port, VL arbitration blocks by port,
 * SL to VL maps by output and input port. device.tables.next runs along it.
 *
 * SL to VL maps are asked for one by one. The optimised forms, with bits of the modifier for all
 * input or all output ports (IBA 14.2.5.8), are for Sets: a Get has one map for its answer.
 */
#include "sm/core/reader.h"
#include "sm/core/subnet_i.h"

#include "sm/sa/sa.h"

#define DEVICES 16u			/* read at one time */
#define REQUESTS 2u			/* of one device */
#define TICK MSEC(5)
#define TICK_REQUESTS 100u		/* 20,000 a second */
#define TICK_REQUESTS_FEW 10u		/* while others ask */
#define MANY_ASKED 5u			/* by clients, within a tick */
#define START MSEC(20)			/* after the last stage */
#define BACKOFF_FIRST SEC(10)
#define BACKOFF_MAX SEC(640)

enum item_kind {
	ITEM_PKEYS,
	ITEM_VLARB,
	ITEM_SL2VL,
	ITEM_END,		/* behind the last */
};

struct item {
	enum item_kind kind;	/* which table */
	unsigned port;		/* whose; the output port of a map */
	unsigned sub;		/* block, or input port */
};

/* ---- The row of a device's tables ---- */

static unsigned
max_pkey_blocks(const struct device *d)
{
	unsigned last = tables_pkey_blocks(&d->ports[d->info.num_ports]);
	unsigned first = tables_pkey_blocks(&d->ports[0]);

	return last > first ? last : first;
}

static struct item
item_at(const struct device *d, uint32_t n)
{
	uint32_t ports = d->info.num_ports + 1u, blocks = max_pkey_blocks(d);

	if (n < ports * blocks)
		return (struct item){ ITEM_PKEYS, n / blocks, n % blocks };
	n -= ports * blocks;
	if (n < ports * TABLES_VLARB_BLOCKS)
		return (struct item){ ITEM_VLARB, n / TABLES_VLARB_BLOCKS,
				      n % TABLES_VLARB_BLOCKS + 1 };
	n -= ports * TABLES_VLARB_BLOCKS;
	if (n < ports * ports)
		return (struct item){ ITEM_SL2VL, n / ports, n % ports };
	return (struct item){ ITEM_END, 0, 0 };
}

/* A host's port is asked through its own cable. */
static bool
can_ask(const struct subnet *s, const struct live_port *p)
{
	if (!(p->flags & LIVE_PORT_READ))
		return false;
	return p->device->info.node_type == NODE_SWITCH || (p->peer && live_port_up(p)) ||
	       p == &s->topo.own->ports[s->topo.own_port];
}

static bool
is_unknown(const struct subnet *s, const struct device *d, const struct item *i)
{
	const struct live_port *p = &d->ports[i->port];
	const struct tables *t = &s->topo.tables;

	switch (i->kind) {
	case ITEM_PKEYS:
		return tables_pkeys(t, p, i->sub, NULL) == TABLES_UNKNOWN;
	case ITEM_VLARB:
		return tables_vlarb(t, p, i->sub, NULL) == TABLES_UNKNOWN;
	case ITEM_SL2VL:
		return tables_sl2vl(t, p, i->sub, NULL) == TABLES_UNKNOWN;
	case ITEM_END:
		break;
	}
	return true;
}

/* What is read next; the row is gone along to it. */
static struct item
next_item(const struct subnet *s, struct device *d)
{
	struct item i = item_at(d, d->tables.next);

	while (i.kind != ITEM_END && !(can_ask(s, &d->ports[i.port]) && is_unknown(s, d, &i)))
		i = item_at(d, ++d->tables.next);
	return i;
}

/* ---- Which devices ---- */

static bool
is_wanted(const struct subnet *s, const struct device *d)
{
	return d->tables.due && list_empty(&d->tables.active) && d->complete && !d->silent &&
	       loop_now(s->env.loop) >= d->tables.after;
}

static void
start_device(struct subnet *s, struct device *d)
{
	d->tables.due = d->tables.failed = false;
	d->tables.next = 0;
	list_append(&s->reader.devices, &d->tables.active);
	transact_ready(s->transact, &d->tables.agent.target);
}

/* Take up devices, each in its turn, as long as there is room. */
static void
start_devices(struct subnet *s)
{
	const struct topo *t = &s->topo;
	unsigned room = DEVICES;

	list_each(it, &s->reader.devices)
		room--;
	for (uint32_t i = 0; i < t->len && room; i++) {
		struct device *d;

		s->reader.at = s->reader.at < t->len ? s->reader.at : 0;
		d = t->table[s->reader.at++];
		if (!d || !is_wanted(s, d))
			continue;
		start_device(s, d);
		room--;
	}
}

/* Nothing more is asked of it, and all is answered. */
static void
device_ended(struct subnet *s, struct device *d)
{
	struct device_tables *h = &d->tables;

	list_remove(&h->active);
	if (!h->failed) {
		h->failures = 0;
		return;
	}
	h->due = true;
	if (h->failures < UINT8_MAX)
		h->failures++;
	h->after = loop_now(s->env.loop) +
		   backoff_delay(BACKOFF_FIRST, BACKOFF_MAX, h->failures);
	s->reader.again = true;
}

/* ---- Asking ---- */

static bool
may_run(const struct subnet *s)
{
	return s->stage == SUBNET_IDLE && s->role == ROLE_MASTER && s->plan && s->topo.own &&
	       !s->ending && (s->conf->read_tables || s->reader.asked);
}

static bool
ask(struct subnet *s, struct device *d, const struct item *i, struct transact_request *r)
{
	r->method = MAD_GET;
	switch (i->kind) {
	case ITEM_PKEYS:
		r->attr_id = ATTR_P_KEY_TABLE;
		r->attr_mod = d->info.node_type == NODE_SWITCH ? i->port << 16 | i->sub : i->sub;
		break;
	case ITEM_VLARB:
		r->attr_id = ATTR_VL_ARBITRATION;
		r->attr_mod = i->sub << 16 | (d->info.node_type == NODE_SWITCH ? i->port : 0);
		break;
	default:
		r->attr_id = ATTR_SL_TO_VL;
		r->attr_mod = d->info.node_type == NODE_SWITCH ? i->sub << 8 | i->port : 0;
		break;
	}
	r->cookie = d->tables.next;
	return subnet_address(s, d, i->port, r);
}

bool
reader_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = agent_device(a);
	struct device_tables *h = &d->tables;
	struct item i;

	if (!may_run(s) || list_empty(&h->active) || !s->reader.credit || h->failed ||
	    h->inflight == REQUESTS)
		return false;
	i = next_item(s, d);
	if (i.kind != ITEM_END && ask(s, d, &i, r)) {
		h->next++;
		h->inflight++;
		s->reader.credit--;
		return true;
	}
	h->failed = i.kind != ITEM_END;
	if (!h->inflight)
		device_ended(s, d);
	return false;
}

/* ---- Answers ---- */

/* `data` is NULL where the device refuses to tell. */
static void
saw(struct subnet *s, struct device *d, uint32_t n, const uint8_t *data)
{
	struct item i = item_at(d, n);
	struct live_port *p = &d->ports[i.port];

	if (i.kind == ITEM_PKEYS)
		tables_saw_pkeys(&s->topo.tables, p, i.sub, data);
	else if (i.kind == ITEM_VLARB)
		tables_saw_vlarb(&s->topo.tables, p, i.sub, data);
	else if (i.kind == ITEM_SL2VL)
		tables_saw_sl2vl(&s->topo.tables, p, i.sub, data);
}

void
reader_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = agent_device(a);
	struct device_tables *h = &d->tables;

	h->inflight--;
	if (list_empty(&h->active))
		return;			/* called off */
	if (res->error || res->mad_status == MAD_STATUS_BUSY)
		h->failed = true;
	else
		saw(s, d, (uint32_t)res->cookie, res->mad_status ? NULL : res->data);
	if (s->reader.credit && !h->failed)
		transact_ready(s->transact, &h->agent.target);
	else if (h->failed && !h->inflight)
		device_ended(s, d);
}

/* ---- When ---- */

/* Clients come first. */
static unsigned
credit(struct subnet *s)
{
	uint64_t asked = sa_counters(s->sa)->requests, before = s->reader.seen;

	s->reader.seen = asked;
	return asked - before > MANY_ASKED ? TICK_REQUESTS_FEW : TICK_REQUESTS;
}

static void
tick(void *subnet)
{
	struct subnet *s = subnet;

	if (!may_run(s))
		return;
	s->reader.credit = credit(s);
	list_each(it, &s->reader.devices)
		transact_ready(s->transact,
			       &list_entry(it, struct device, tables.active)->tables.agent.target);
	start_devices(s);
	if (!list_empty(&s->reader.devices))
		loop_timer_set(s->reader.timer, TICK);
	else if (s->reader.again)
		loop_timer_set(s->reader.timer, BACKOFF_FIRST);
	s->reader.again &= !list_empty(&s->reader.devices);
}

void
reader_stage(struct subnet *s)
{
	struct list *l;

	if (s->stage == SUBNET_IDLE) {
		if (!loop_timer_pending(s->reader.timer))
			loop_timer_set(s->reader.timer, START);
		return;
	}
	loop_timer_cancel(s->reader.timer);
	s->reader.credit = 0;
	while ((l = list_pop(&s->reader.devices))) {
		struct device *d = list_entry(l, struct device, tables.active);

		d->tables.due = true;
		transact_cancel(s->transact, &d->tables.agent.target);
	}
}

void
reader_want(struct subnet *s, struct device *d)
{
	s->reader.asked = true;
	s->reader.at = d->index;
	reader_stage(s);
}

void
reader_init(struct subnet *s)
{
	list_init(&s->reader.devices);
	s->reader.timer = loop_timer_new(s->env.loop, tick, s);
}

void
reader_free(struct subnet *s)
{
	loop_timer_free(s->reader.timer);
}
