/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts and the order of packets: which service levels they take in any order, as the ports that
 * are cabled here tell in ExtendedPortInfo, or are told. They are asked once, in stage ADAPTIVE,
 * and when they come up anew; told when something else may be spread than they were told last. What
 * all hosts take so is spread where adaptive routing is to find that out (adaptive_policy.c). Of a
 * host that is not of a kind that is known to say it, or does not, none is.
 */
#include "sm/core/adaptive.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/subnet_i.h"
#include "sm/fabric/levels.h"

static bool
is_asked(const struct subnet *s)
{
	return s->conf->routing.adaptive != CONFIG_ADAPTIVE_OFF &&
		s->conf->routing.adaptive_hosts != CONFIG_HOSTS_IGNORE;
}

/* The next port after `port` that is cabled here; 0: none. */
static uint8_t
port_after(const struct device *d, unsigned port)
{
	while (++port <= d->info.num_ports)
		if (d->ports[port].peer)
			return (uint8_t)port;
	return 0;
}

/* What may be spread if hosts take it. */
static uint16_t
wanted(const struct subnet *s)
{
	const struct plan_levels *l = s->plan->levels;
	struct adaptive_policy p;

	adaptive_policy(s->conf, UINT16_MAX, &p);
	if (l)
		adaptive_policy_levels(&p, &l->conf->qos, s->plan->sls);
	return p.sls;
}

void
order_begin(struct subnet *s, struct device *d)
{
	bool writes = s->conf->routing.adaptive_hosts == CONFIG_HOSTS_WRITE;
	struct live_order *o;

	if (!is_asked(s) || d->silent || !d->complete || !port_after(d, 0) ||
	    !adaptive_may_be(s, d))
		return;
	if (!d->order)
		d->order = mem_zalloc(sizeof(*d->order));
	o = d->order;
	o->failed = false;
	o->step = ORDER_NOTHING;
	if (o->failures && loop_now(s->env.loop) < o->retry_at) {
		o->failed = true;
		return;
	}
	o->writes = writes;
	o->goal = wanted(s);
	if (o->state == ORDER_UNASKED)
		o->step = ORDER_ASK;
	else if (o->state == ORDER_KNOWN && writes && (!o->told_any || o->told != o->goal))
		o->step = ORDER_READ;
	else
		return;
	o->port = port_after(d, 0);
	o->so_far = UINT16_MAX;
	transact_ready(s->transact, &d->agent.target);
}

bool
order_next(struct device *d, struct transact_request *r)
{
	struct live_order *o = d->order;

	if (o->step == ORDER_NOTHING)
		return false;
	r->method = o->step == ORDER_WRITE ? MAD_SET : MAD_GET;
	r->attr_id = o->step == ORDER_ASK ? AR_ATTR_GENERAL_INFO : AR_ATTR_PORT_INFO;
	r->attr_mod = o->step == ORDER_ASK ? AR_GENERAL_CAPS : o->port;
	if (o->step == ORDER_WRITE) {
		memcpy(r->data, o->data, SMP_DATA_SIZE);
		ar_port_set_any_order(r->data, o->goal);
	}
	return true;
}

static void
put_off(struct subnet *s, struct live_order *o)
{
	o->retry_at = adaptive_later(s, o->failures++);
	o->failed = true;
	o->step = ORDER_NOTHING;
}

/* It does not say what it takes. */
static void
is_absent(struct live_order *o)
{
	o->state = ORDER_ABSENT;
	o->sls = 0;
	o->step = ORDER_NOTHING;
}

static void
port_told(struct device *d, uint16_t sls)
{
	struct live_order *o = d->order;
	uint8_t next = port_after(d, o->port);

	o->so_far &= sls;
	o->step = ORDER_READ;
	if (next) {
		o->port = next;
		return;
	}
	o->step = ORDER_NOTHING;
	o->state = ORDER_KNOWN;
	o->sls = o->so_far;
	o->told = o->goal;
	o->told_any = o->writes;
	o->failures = 0;
}

static void
answered(struct device *d, const struct transact_result *res)
{
	struct live_order *o = d->order;
	struct ar_general general;
	uint16_t sls;

	switch (o->step) {
	case ORDER_ASK:
		ar_general_decode(&general, res->data);
		if (ar_general_has(&general, AR_CAP_EXT_PORT_INFO))
			o->step = ORDER_READ;
		else
			is_absent(o);
		return;
	case ORDER_READ:
		memcpy(o->data, res->data, SMP_DATA_SIZE);
		sls = ar_port_any_order(res->data);
		if (o->writes && sls != o->goal)
			o->step = ORDER_WRITE;
		else
			port_told(d, sls);
		return;
	case ORDER_WRITE:
		port_told(d, ar_port_any_order(res->data));
		return;
	case ORDER_NOTHING:
		return;
	}
}

void
order_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_order *o = d->order;

	if (o->step == ORDER_NOTHING)		/* forgotten meanwhile */
		return;
	if (res->error == ERR_CLOSED) {		/* broken off */
		o->step = ORDER_NOTHING;
		o->failed = true;
		return;
	}
	if (res->error)
		put_off(s, o);
	else if (!res->mad_status)
		answered(d, res);
	else if (o->step == ORDER_WRITE)	/* it keeps what it had */
		port_told(d, ar_port_any_order(o->data));
	else
		is_absent(o);
	if (o->step != ORDER_NOTHING)
		transact_ready(s->transact, &d->agent.target);
}

bool
order_end(struct subnet *s)
{
	struct adaptives *a = &s->adaptive;
	uint16_t all = is_asked(s) ? UINT16_MAX : 0;
	bool failed = false;

	a->hosts = a->hosts_known = 0;
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);
		bool known = d->order && d->order->state == ORDER_KNOWN;

		if (d->info.node_type == NODE_SWITCH || !d->complete)
			continue;
		a->hosts++;
		a->hosts_known += known;
		all &= known ? d->order->sls : 0;
		failed |= d->order && d->order->failed;
	}
	if (all != a->any_order)
		s->want_route = true;
	a->any_order = all;
	return failed;
}

void
order_forget(struct device *d)
{
	if (!d->order)
		return;
	d->order->state = ORDER_UNASKED;
	d->order->step = ORDER_NOTHING;
	d->order->told_any = false;
	d->order->failures = 0;
}
