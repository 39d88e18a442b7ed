/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VL arbitration tables in a push (IBA volume 1, 14.2.5.9), where quality of service is configured:
 * behind the tables from service levels to lanes, before anything is sent by these. What each port
 * should hold says qos/arbitrate.h; VLHighLimit goes with the rest of PortInfo (push_port.c).
 *
 * Blocks are compared with what tables.h knows. One that is not known is read first if the port
 * carries traffic, else written as it should be. A port that refuses is left alone: it has none.
 * Where all was written once and nothing has changed since nobody is looked at.
 *
 * Where nothing is configured ports keep what they have, but for those that are known to leave out
 * a lane that the routing takes: on such a lane nothing would ever be sent.
 */
#include "sm/core/push_i.h"

#include <string.h>
#include "qos/arbitrate.h"
#include "sm/core/lanes.h"
#include "sm/core/remarks.h"

#define BLOCK_LEN 32u		/* entries */
#define HIGH_FIRST 3u		/* blocks 1 and 2 are of the low table */

static const struct config_qos *
qos_of(const struct subnet *s)
{
	static const struct config_qos none;

	return s->parts.conf ? &s->parts.conf->qos : &none;
}

static bool
is_configured(const struct subnet *s)
{
	const struct config_qos *q = qos_of(s);

	return q->nlevels || q->narbitration;
}

/* ---- What is wanted ---- */

static enum arbitrate_ports
kind_of(const struct live_port *p)
{
	switch (p->device->info.node_type) {
	case NODE_SWITCH:
		return p->number ? ARBITRATE_SWITCHES : ARBITRATE_PORT0;
	case NODE_ROUTER:
		return ARBITRATE_ROUTERS;
	default:
		return ARBITRATE_HOSTS;
	}
}

void
push_arbitration_of(const struct subnet *s, const struct plan_sls *sls, const struct live_port *p,
		    unsigned op_vls, struct arbitration *a)
{
	struct arbitrate_port port = {
		.kind = kind_of(p), .vls = (uint8_t)vls_of_code(op_vls),
		.inner = p->number && p->peer && p->device->info.node_type == NODE_SWITCH &&
			 p->peer->info.node_type == NODE_SWITCH,
		.high_cap = p->info.vl_arb_high_cap, .low_cap = p->info.vl_arb_low_cap,
	};

	arbitrate(qos_of(s), sls, &port, a);
}

bool
push_arbitration_limit(const struct subnet *s, const struct live_port *p, unsigned op_vls,
		       uint8_t *limit)
{
	struct arbitration a;

	if (!is_configured(s) || !s->push.plan || !s->push.plan->sls || p->info.vl_cap < 2)
		return false;
	push_arbitration_of(s, s->push.plan->sls, p, op_vls, &a);
	*limit = a.high_limit;
	return true;
}

static void
want(const struct subnet *s, const struct live_port *p, struct arbitration *a)
{
	struct portinfo info;

	push_port_want(s, p, &info);
	push_arbitration_of(s, s->push.plan->sls, p, p->number ? info.op_vls : p->info.vl_cap, a);
}

static const struct vlarb_entry *
block_of(const struct arbitration *a, unsigned block)
{
	const struct vlarb_entry *table = block < HIGH_FIRST ? a->low : a->high;

	return table + (block % 2 ? 0 : BLOCK_LEN);
}

/* The block as wanted: -1 not known, 0 it differs, 1 it is held. */
static int
block_held(const struct subnet *s, const struct live_port *p, const struct arbitration *a,
	   unsigned block)
{
	struct vlarb_entry have[BLOCK_LEN];

	switch (tables_vlarb(&s->topo.tables, p, block, have)) {
	case TABLES_HELD:
		return !memcmp(have, block_of(a, block), sizeof(have));
	case TABLES_ABSENT:
		return 1;
	default:
		return -1;
	}
}

/* ---- Ports that it is about ---- */

/* It is known what the port holds, and no packet would leave it on some lane. */
static bool
leaves_out(const struct subnet *s, const struct live_port *p)
{
	unsigned lanes = 0, used = 1;

	for (unsigned block = 1; block <= TABLES_VLARB_BLOCKS; block++) {
		struct vlarb_entry e[BLOCK_LEN];
		enum tables_state state = tables_vlarb(&s->topo.tables, p, block, e);

		if (state == TABLES_UNKNOWN || (state == TABLES_ABSENT && block == 1))
			return false;
		for (unsigned i = 0; i < BLOCK_LEN; i++)
			lanes |= e[i].weight ? 1u << e[i].vl : 0;
	}
	if (p->number && p->peer && p->device->info.node_type == NODE_SWITCH &&
	    p->peer->info.node_type == NODE_SWITCH)
		used = (1u << s->push.plan->sls->vls) - 1;
	return used & ~lanes;
}

/* Through its own cable a host's port is asked. */
static bool
takes_part(const struct subnet *s, const struct live_port *p)
{
	bool is_switch = p->device->info.node_type == NODE_SWITCH;

	if (p->info.vl_cap < 2 || (p->number && !(p->flags & LIVE_PORT_READ)) ||
	    (!p->number && !is_switch))
		return false;
	if (p->number && !(p->peer && live_port_up(p)))
		return false;
	return is_configured(s) || leaves_out(s, p);
}

bool
push_arbitration_due(const struct subnet *s)
{
	const struct arbitrated *a = &s->arbitrated;
	const struct plan_sls *sls = s->push.plan->sls;

	return sls && (sls != a->sls || s->parts.conf != a->conf ||
		       s->topo.tables.vlarb_changed != a->changed);
}

bool
push_arbitration_start(struct subnet *s, struct device *d)
{
	for (unsigned n = 0; n <= d->info.num_ports; n++)
		if (takes_part(s, &d->ports[n]))
			bits_set(&d->pkey_set, n);
	d->pkey_block = 1;
	return !bits_empty(&d->pkey_set);
}

/* ---- Requests and answers ---- */

/* The block at which the device is, of this port; true: a request goes out. */
static bool
one_next(const struct subnet *s, struct live_port *p, const struct arbitration *a,
	 struct transact_request *r)
{
	unsigned block = p->device->pkey_block;
	int held = block_held(s, p, a, block);

	if (held == 1)
		return false;
	r->method = held < 0 && p->info.state == PORT_ACTIVE ? MAD_GET : MAD_SET;
	r->attr_id = ATTR_VL_ARBITRATION;
	r->attr_mod = block << 16 | (p->device->info.node_type == NODE_SWITCH ? p->number : 0);
	r->cookie = p->number;
	if (r->method == MAD_SET)
		vlarb_encode(block_of(a, block), r->data);
	return true;
}

/* What has no room in its tables, or is not in those that are written, is told by status. */
static void
note_left(struct subnet *s, struct live_port *p, const struct arbitration *a)
{
	p->flags &= (uint16_t)~LIVE_PORT_FEW_ENTRIES;
	if (!a->left && !a->silent)
		return;
	p->flags |= LIVE_PORT_FEW_ENTRIES;
	remarks_add(&s->topo, p->device);
}

bool
push_arbitration_next(struct subnet *s, struct device *d, struct transact_request *r,
		      unsigned *port)
{
	int n;

	while ((n = push_blocks_port(d, 1)) >= 0) {
		struct live_port *p = &d->ports[n];
		struct arbitration a;

		want(s, p, &a);
		note_left(s, p, &a);
		while (d->pkey_block <= TABLES_VLARB_BLOCKS) {
			bool asks = one_next(s, p, &a, r);

			d->pkey_block++;
			if (!asks)
				continue;
			*port = (unsigned)n;
			return true;
		}
		bits_clear(&d->pkey_set, (unsigned)n);
		d->pkey_block = 1;
	}
	return false;
}

void
push_arbitration_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->cookie <= d->info.num_ports ? (unsigned)res->cookie : 0;
	struct live_port *p = &d->ports[n];
	unsigned block = res->attr_mod >> 16;
	struct arbitration a;

	if (res->error || res->mad_status == MAD_STATUS_BUSY)
		return;
	tables_saw_vlarb(&s->topo.tables, p, block, res->mad_status ? NULL : res->data);
	if (res->mad_status)
		return;
	want(s, p, &a);
	if (block_held(s, p, &a, block) == 1)
		return;
	if (res->method == MAD_SET) {
		push_failure(s, d, "port %u keeps another VLArbitrationTable than was set", n);
		return;
	}
	/* It was read, and is written now: the port's turn comes once more. */
	bits_set(&d->pkey_again, n);
	transact_ready(s->transact, &d->agent.target);
}

void
push_arbitration_written(struct subnet *s)
{
	struct arbitrated *a = &s->arbitrated;

	if (s->push_incomplete || !s->push.plan->sls)
		return;
	push_arbitration_forget(s);
	a->sls = plan_sls_ref(s->push.plan->sls);
	a->conf = config_ref(s->parts.conf);
	a->changed = s->topo.tables.vlarb_changed;
}

void
push_arbitration_forget(struct subnet *s)
{
	plan_sls_unref(s->arbitrated.sls);
	config_free(s->arbitrated.conf);
	s->arbitrated = (struct arbitrated){ 0 };
}
