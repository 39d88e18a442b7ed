/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of devices (IBA volume 1, annex A10), when it is enabled: read, made what the
 * policy says (qos/congestion.h), and read back.
 *
 * Stage CONGESTION runs between others, behind all else, and asks one thing of a device at a time
 * by GMPs (congestion_port.c). live_port.congestion is what a port has told or acknowledged; it is
 * compared whenever a plan was published, so a host that moves is seen to, and after a reload. A
 * port that is read in INIT may have forgotten it, and somebody else may have written it while he
 * led: then it is read anew. Nothing is written that is held already.
 *
 * What a device refuses, or does not answer, is told once, and tried again after longer and longer,
 * at once when the configuration changes or the port comes up. One that says that it does not know
 * the class is not asked again till then, nor is one that was silent for MISSES_MAX rounds. A Set
 * without an answer may have been done: that item is read before it is set again.
 *
 * Disabled from the start it asks and writes nothing. Disabled while it ran, ports that hold what
 * is of our making are set to what marks nothing and holds nobody back, and their key is taken
 * away; those that are not there then keep what they have.
 */
#include "sm/core/congestion.h"

#include "sm/core/congestion_i.h"
#include "sm/core/gmp.h"

#include "sm/base/mem.h"

#define RETRY SEC(5)		/* a round that was broken off */
#define AGAIN_FIRST SEC(10)	/* what was refused, or not answered */
#define AGAIN_MAX SEC(320)

typedef void (*port_fn)(struct subnet *s, struct live_port *p);

/* For each end port that was ever asked. */
static void
each_asked(struct subnet *s, port_fn fn)
{
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			if (d->ports[n].congestion)
				fn(s, &d->ports[n]);
	}
}

/* ---- The policy ---- */

/* What was refused; a key that is not ours may have changed, or show itself by now. */
static void
try_again(struct subnet *s, struct live_port *p)
{
	struct live_congestion *h = p->congestion;

	(void)s;
	h->refused = 0;
	h->waits = false;
	if (h->state == CONGESTION_LOCKED)
		h->known &= ~(1u << ITEM_KEY);
}

/* And those that were given up. */
static void
try_all_again(struct subnet *s, struct live_port *p)
{
	struct live_congestion *h = p->congestion;

	try_again(s, p);
	h->misses = 0;
	h->lacks = h->told = false;
}

/* The configuration that counts now is taken on, if it is another. */
static void
take_policy(struct subnet *s)
{
	struct congestion *c = &s->congestion;

	if (c->conf == s->parts.conf || !s->parts.conf)
		return;
	if (!c->policy && !s->parts.conf->qos.congestion.enabled)
		return;
	config_free(c->conf);
	c->conf = config_ref(s->parts.conf);
	if (!c->policy)
		c->policy = mem_zalloc(sizeof(*c->policy));
	congestion_policy_make(c->policy, &c->conf->qos.congestion);
	c->version++;
	c->failures = 0;
	c->on |= c->policy->c.enabled;
	c->all = true;
	each_asked(s, try_all_again);
}

/* ---- What is to be done ---- */

/* There may be something to ask of the port. Hosts that hold this policy do so whatever plan. */
static bool
is_due(const struct subnet *s, const struct live_port *p)
{
	const struct live_congestion *h = p->congestion;

	if (!s->congestion.policy->c.enabled && !(h && h->touched))
		return false;
	if (!h)
		return true;
	if (h->version == s->congestion.version && p->device->info.node_type != NODE_SWITCH)
		return false;
	return congestion_next_item(s, p) != ITEM_NONE;
}

static void
begin_device(struct subnet *s, struct device *d)
{
	unsigned first = d->info.node_type == NODE_SWITCH ? 0 : 1;
	unsigned last = d->info.node_type == NODE_SWITCH ? 0 : d->info.num_ports;

	if (d->silent || !d->complete || d->info.node_type == NODE_ROUTER)
		return;
	for (unsigned n = first; n <= last; n++)
		if (d->ports[n].guid && is_due(s, &d->ports[n])) {
			transact_ready(s->transact, &d->agent.target);
			return;
		}
}

bool
congestion_write(struct subnet *s)
{
	struct congestion *c = &s->congestion;

	take_policy(s);
	if (!c->on || !c->all || loop_now(s->env.loop) < c->not_before ||
	    s->role != ROLE_MASTER || s->ending || !s->plan || !s->plan->lids)
		return false;
	subnet_set_stage(s, SUBNET_CONGESTION);
	c->all = c->failed = c->broken = false;
	c->pkey_index = gmp_pkey_index(s);
	list_each(it, &s->topo.devices)
		begin_device(s, list_entry(it, struct device, all));
	if (transact_is_idle(s->transact))
		congestion_idle(s);
	return true;
}

/* ---- Requests ---- */

static bool
port_next(struct subnet *s, struct live_port *p, struct transact_request *r)
{
	uint32_t port = p->guid && is_due(s, p) ? gmp_port(s, p) : FABRIC_NONE;
	unsigned item;

	if (port == FABRIC_NONE)
		return false;
	if (!p->congestion) {
		congestion_of(p);
		s->topo.congestion[CONGESTION_UNREAD]++;
	}
	item = congestion_next_item(s, p);
	if (item == ITEM_NONE)
		return false;
	congestion_ask(s, p, item, r);
	gmp_address(s, port, s->congestion.pkey_index, r);
	r->port = p->number;
	return true;
}

bool
congestion_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	unsigned first, last;

	if (a->kind != AGENT_DEVICE || d->inflight)
		return false;
	first = d->info.node_type == NODE_SWITCH ? 0 : 1;
	last = d->info.node_type == NODE_SWITCH ? 0 : d->info.num_ports;
	for (unsigned n = first; n <= last; n++)
		if (port_next(s, &d->ports[n], r)) {
			d->inflight++;
			return true;
		}
	return false;
}

/* ---- Answers ---- */

static void
tell(struct subnet *s, struct live_port *p, const char *what, const char *why)
{
	char text[DEVICE_TEXT_SIZE];

	p->congestion->why = why;
	if (p->congestion->told)
		return;
	p->congestion->told = true;
	subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, p->device->guid, p->number,
		     "congestion control of port %u of %s: %s%s%s", p->number,
		     device_text(text, p->device, s->env.names), what, why ? ": " : "",
		     why ? why : "");
}

static void
refused(struct subnet *s, struct live_port *p, unsigned item, const char *what, const char *why)
{
	p->congestion->refused |= 1u << item;
	s->congestion.failed = true;
	tell(s, p, what, why);
}

/* A question that was not answered: no more in this round. */
static void
missed(struct subnet *s, struct live_port *p)
{
	struct live_congestion *h = p->congestion;

	h->waits = true;
	h->misses++;
	h->why = "it does not answer";
	s->congestion.failed |= h->misses < MISSES_MAX;
}

static void
take_error(struct subnet *s, struct live_port *p, unsigned item, const struct transact_result *r)
{
	if (r->error == ERR_CLOSED) {
		s->congestion.broken = true;
		p->congestion->known &= ~(r->method == MAD_SET ? 1u << item : 0);
	} else if (r->method == MAD_SET) {
		p->congestion->known &= ~(1u << item);
		refused(s, p, item, "a Set was not answered", cc_attr_name(r->attr_id));
	} else {
		missed(s, p);
	}
}

static void
take_status(struct subnet *s, struct live_port *p, unsigned item, const struct transact_result *r)
{
	if (item == ITEM_CLASS) {
		p->congestion->lacks = true;
		p->congestion->why = mad_status_text(r->mad_status);
		return;
	}
	refused(s, p, item, r->method == MAD_SET ? "a Set was refused" : "it does not tell",
		mad_status_text(r->mad_status));
}

static void
take_answer(struct subnet *s, struct live_port *p, unsigned item, const struct transact_result *r)
{
	p->congestion->misses = 0;
	congestion_take(s, p, item, r);
	if (r->method != MAD_SET)
		return;
	p->congestion->touched = true;
	if (!congestion_item_held(s, p, item))
		refused(s, p, item, "it keeps another value than was set",
			cc_attr_name(r->attr_id));
}

static enum congestion_state
state_of(const struct subnet *s, const struct live_congestion *h)
{
	if (!(h->known >> ITEM_CLASS & 1))
		return CONGESTION_ABSENT;
	if (congestion_locked(s, h))
		return CONGESTION_LOCKED;
	if (h->refused || h->waits)
		return CONGESTION_REFUSED;
	return CONGESTION_HELD;
}

/* Nothing more is asked of the port in this round. */
static void
settle(struct subnet *s, struct live_port *p)
{
	struct live_congestion *h = p->congestion;
	enum congestion_state state = state_of(s, h);

	if (state == CONGESTION_LOCKED) {
		h->has_key = false;
		s->congestion.failed = true;
		tell(s, p, "it has a key that is not the configured one", NULL);
	}
	if (state == CONGESTION_HELD) {
		h->version = s->congestion.version;
		h->told = false;
		h->why = NULL;
		h->touched = s->congestion.policy->c.enabled;
	}
	congestion_set_state(&s->topo, p, state);
}

void
congestion_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	unsigned item = (unsigned)(res->cookie >> 8), number = res->cookie & 0xff;
	struct live_port *p;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (number > d->info.num_ports || !d->ports[number].congestion || item >= ITEM_NONE)
		return;
	p = &d->ports[number];
	if (res->error)
		take_error(s, p, item, res);
	else if (res->mad_status)
		take_status(s, p, item, res);
	else
		take_answer(s, p, item, res);
	if (res->error == ERR_CLOSED)
		return;
	if (congestion_next_item(s, p) == ITEM_NONE)
		settle(s, p);
	transact_ready(s->transact, &d->agent.target);
}

/* ---- Rounds ---- */

static void
count_touched(struct subnet *s, struct live_port *p)
{
	s->congestion.on |= p->congestion->touched;
}

static void
let_go(struct subnet *s, struct live_port *p)
{
	congestion_free(&s->topo, p);
}

/* Disabled while it ran: is that done everywhere? */
static void
undone(struct subnet *s)
{
	s->congestion.on = false;
	each_asked(s, count_touched);
	if (s->congestion.on)
		return;
	each_asked(s, let_go);
	subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0,
		     "congestion control is off: devices that this manager had set mark nothing, "
		     "hold nobody back and have no key any more");
}

static void
wait_again(struct subnet *s)
{
	struct congestion *c = &s->congestion;

	if (c->broken) {
		c->all = true;
		c->not_before = loop_now(s->env.loop) + RETRY;
		loop_timer_set(c->resume, RETRY);
	}
	if (c->failed && !loop_timer_pending(c->again))
		loop_timer_set(c->again, backoff_delay(AGAIN_FIRST, AGAIN_MAX, ++c->failures));
	else if (!c->failed && !c->broken && !loop_timer_pending(c->again))
		c->failures = 0;
}

void
congestion_idle(struct subnet *s)
{
	wait_again(s);
	if (!s->congestion.policy->c.enabled && !s->congestion.broken)
		undone(s);
	subnet_changed(s);
	between_over(s);
}

/* Timer: a round that was broken off goes on, now or when nothing else is to be done. */
static void
on_resume(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage == SUBNET_IDLE)
		congestion_write(s);
}

/* Timer: what was left is tried again. */
static void
on_again(void *subnet)
{
	struct subnet *s = subnet;

	each_asked(s, try_again);
	s->congestion.all = true;
	on_resume(s);
}

/* ---- What has changed ---- */

void
congestion_all(struct subnet *s)
{
	s->congestion.all = true;
}

static void
forget(struct subnet *s, struct live_port *p)
{
	struct live_congestion *h = p->congestion;

	try_all_again(s, p);
	h->known = 0;
	h->version = 0;
	congestion_set_state(&s->topo, p, CONGESTION_UNREAD);
}

void
congestion_forget(struct subnet *s, struct live_port *p)
{
	if (p->congestion)
		forget(s, p);
	s->congestion.all = true;
}

void
congestion_doubt(struct subnet *s)
{
	each_asked(s, forget);
	s->congestion.all = true;
}

/* ---- Life ---- */

void
congestion_init(struct subnet *s)
{
	s->congestion.again = loop_timer_new(s->env.loop, on_again, s);
	s->congestion.resume = loop_timer_new(s->env.loop, on_resume, s);
}

void
congestion_end(struct subnet *s)
{
	loop_timer_free(s->congestion.again);
	loop_timer_free(s->congestion.resume);
	mem_free(s->congestion.policy);
	config_free(s->congestion.conf);
}
