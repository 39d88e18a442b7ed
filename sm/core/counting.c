/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Error counters of ports, read again and again while we lead (IBA volume 1, 16.1): PortCounters,
 * or PortCountersExtended where a device says that it counts errors there, in 64 bits.
 *
 * A walk over the devices takes the time of health.counters_interval, a slice each TICK, so that it
 * is spread evenly. Devices whose turn has come are asked one port after the other, WINDOW of them
 * at a time, by a transaction engine of its own: no loss of a GMP is one of SMPs, no stage waits
 * for an answer, and where the answers are slow the walk waits. While a stage runs no device is
 * begun, for then tables change, and SMPs have the fabric to themselves.
 *
 * Other monitors read, and clear, the same counters: each reading is compared with the last, and
 * nothing is written, but that health.clear_counters allows to clear those that are about to stop.
 *
 * A device that does not answer is left alone for more and more sweeps, a port that refuses too. An
 * agent that redirects is asked where it redirects to. What was read is in `table`, by the place of
 * the device in topo.table: whoever is found there with another GUID is begun anew.
 *
 * Findings (counting_judge.c) of both ends of a cable are one. Those that are told already are told
 * to health.c at once; of the others the worst are, when the sweep is at its end, and how many
 * there were besides.
 */
#include "sm/core/counting.h"

#include "sm/core/counting_i.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/gmp.h"

#define TICK MSEC(100)
#define WINDOW 8u		/* requests under way */
#define QUEUE 64u		/* devices that may be asked, or wait for it */
#define SLICE 256u		/* devices looked at in one turn */
#define SKIP_MAX 64u		/* sweeps */
#define TELL 4u			/* findings told in one turn: actions may look at all cables */

enum item {
	ITEM_CLASS,		/* ClassPortInfo */
	ITEM_READ,
	ITEM_CLEAR,
};

_Static_assert(sizeof(((struct config_subnet *)0)->health.per_minute) ==
	       PERF_ERRORS * sizeof(unsigned), "an option for each kind of error");

/* ---- Records ---- */

struct device *
counted_device(const struct subnet *s, const struct counted *c)
{
	struct device *d = c->place < s->topo.len ? s->topo.table[c->place] : NULL;

	return d && d->guid == c->guid && d->info.num_ports == c->nports ? d : NULL;
}

struct counted *
counted_of(const struct subnet *s, const struct device *d)
{
	struct counted *c = d->index < s->counting.size ? s->counting.table[d->index] : NULL;

	return c && counted_device(s, c) == d ? c : NULL;
}

static void
record_free(struct subnet *s, uint32_t place)
{
	struct counted *c = s->counting.table[place];

	if (!c)
		return;
	transact_cancel(s->counting.transact, &c->target);
	s->counting.under_way -= c->asking;
	mem_free(c);
	s->counting.table[place] = NULL;
}

static void
make_room(struct counting *c, uint32_t place)
{
	uint32_t size = c->size ? c->size : 64;

	if (place < c->size)
		return;
	while (size <= place)
		size *= 2;
	c->table = mem_realloc(c->table, size, sizeof(*c->table));
	memset(c->table + c->size, 0, (size - c->size) * sizeof(*c->table));
	c->size = size;
}

/* The record of a device, made if there is none. */
static struct counted *
record_get(struct subnet *s, const struct device *d)
{
	struct counted *c = counted_of(s, d);

	if (c)
		return c;
	make_room(&s->counting, d->index);
	record_free(s, d->index);
	c = mem_zalloc(sizeof(*c) + (d->info.num_ports + 1u) * sizeof(c->ports[0]));
	c->guid = d->guid;
	c->place = d->index;
	c->nports = d->info.num_ports;
	transact_target_init(&c->target);
	s->counting.table[d->index] = c;
	return c;
}

/* ---- Requests ---- */

static bool
is_switch(const struct device *d)
{
	return d->info.node_type == NODE_SWITCH;
}

/* The port whose agent is asked about port n. */
static unsigned
agent_port(const struct device *d, unsigned n)
{
	return is_switch(d) ? 0 : n;
}

static bool
may_read(const struct subnet *s)
{
	return s->role == ROLE_MASTER && s->conf->health.counters_interval && !s->ending;
}

/* No more of this device in this sweep. */
static void
leave(struct subnet *s, struct counted *c)
{
	s->counting.under_way -= c->asking;
	c->asking = false;
}

static void
fill(const struct counted *c, unsigned n, const struct port_agent *agent,
     struct transact_request *r)
{
	enum item item = !agent->known ? ITEM_CLASS : c->ports[n].clear ? ITEM_CLEAR : ITEM_READ;

	r->gmp = MAD_CLASS_PERF;
	r->uncertain = true;
	r->retries_less = c->misses ? UINT8_MAX : 0;
	r->method = item == ITEM_CLEAR ? MAD_SET : MAD_GET;
	r->attr_id = item == ITEM_CLASS ? PERF_CLASS_PORT_INFO :
		item == ITEM_READ && agent->extended ? PERF_COUNTERS_EXTENDED : PERF_COUNTERS;
	r->cookie = n | (uint64_t)item << 8;
	if (item == ITEM_CLEAR)
		perf_clear_encode((uint8_t)n, c->ports[n].clear, r->data);
	else if (item == ITEM_READ)
		perf_read_encode((uint8_t)n, r->data);
	if (!agent->lid || item == ITEM_CLASS)
		return;
	r->lid = agent->lid;
	r->remote_qp = agent->qp;
	r->sl = agent->sl;
}

/* True: there is something to ask about port n. */
static bool
ask(struct subnet *s, struct counted *c, const struct device *d, unsigned n,
    struct transact_request *r)
{
	const struct live_port *p = &d->ports[n];
	unsigned a = agent_port(d, n);
	uint32_t port;

	if (!p->peer || !live_port_up(p))
		return false;
	if (c->ports[n].skip) {
		c->ports[n].skip--;
		s->counting.unread++;
		return false;
	}
	port = gmp_port(s, &d->ports[a]);
	if (port == FABRIC_NONE)
		return false;
	gmp_address(s, port, s->counting.pkey_index, r);
	fill(c, n, &c->ports[a].agent, r);
	return true;
}

static bool
on_next(void *arg, struct transact_target *t, struct transact_request *r)
{
	struct subnet *s = arg;
	struct counted *c = list_entry(t, struct counted, target);
	const struct device *d = counted_device(s, c);

	for (; d && may_read(s) && s->plan && s->plan->lids && c->next <= c->nports; c->next++)
		if (ask(s, c, d, c->next, r))
			return true;
	leave(s, c);
	return false;
}

/* ---- Findings ---- */

static bool
same_port(const struct error_finding *a, uint64_t guid, unsigned port)
{
	return a->guid == guid && a->port == port;
}

/* Put it where it belongs among the worst, unless all are worse. */
static void
insert(struct counting *c, const struct error_finding *f)
{
	unsigned i;

	if (c->nworst == COUNTING_WORST && f->score <= c->worst[c->nworst - 1].score)
		return;
	if (c->nworst < COUNTING_WORST)
		c->nworst++;
	for (i = c->nworst - 1; i > 0 && c->worst[i - 1].score < f->score; i--)
		c->worst[i] = c->worst[i - 1];
	c->worst[i] = *f;
}

/* The other end of its cable was there in this sweep already: the worse of the two counts. */
static void
replace(struct counting *c, const struct error_finding *f, const struct live_port *peer)
{
	unsigned i = 0;

	while (i < c->nworst && !same_port(&c->worst[i], peer->device->guid, peer->number))
		i++;
	if (i < c->nworst && c->worst[i].score >= f->score)
		return;
	if (i < c->nworst) {
		c->nworst--;
		memmove(c->worst + i, c->worst + i + 1, (c->nworst - i) * sizeof(c->worst[0]));
	}
	insert(c, f);
}

static void
found(struct subnet *s, const struct live_port *p, struct error_finding *f)
{
	struct counting *c = &s->counting;
	const struct live_port *q = live_peer(p);
	struct counted *here = counted_of(s, p->device), *there = counted_of(s, q->device);

	f->guid = p->device->guid;
	f->port = p->number;
	if (health_errors(s, f))
		return;
	if (there && there->ports[q->number].over_sweep == c->sweep) {
		replace(c, f, q);
		return;
	}
	here->ports[p->number].over_sweep = c->sweep;
	c->over++;
	insert(c, f);
}

/* ---- Answers ---- */

static uint8_t
skip_for(uint8_t failures)
{
	return (uint8_t)(failures > 6 ? SKIP_MAX : (1u << failures) - 1);
}

/* It did not answer. */
static void
missed(struct subnet *s, struct counted *c)
{
	if (c->misses < UINT8_MAX)
		c->misses++;
	c->skip = skip_for(c->misses);
	s->counting.unread++;
	c->next = (uint16_t)(c->nports + 1u);
}

static void
refused(struct subnet *s, struct counted *c, unsigned n)
{
	struct counted_port *q = &c->ports[n];

	if (q->refusals < UINT8_MAX)
		q->refusals++;
	q->skip = skip_for(q->refusals);
	q->clear = 0;
	s->counting.unread++;
	c->next = (uint16_t)(n + 1);
}

/* Only redirects by LID are followed, within the subnet, and to who takes the Q_Key of all. */
static bool
follows(const struct perf_class_info *i, struct port_agent *a)
{
	if (!i->lid || i->lid > LID_UNICAST_MAX || !i->qp ||
	    (i->qp != 1 && i->q_key != PORT_Q_KEY))
		return false;
	a->lid = i->lid;
	a->qp = i->qp;
	a->sl = i->sl;
	return true;
}

/* An agent that does not know ClassPortInfo, mandatory as it is, may know PortCounters. */
static void
take_class(struct subnet *s, struct counted *c, unsigned n, struct port_agent *a,
	   const struct transact_result *r)
{
	struct perf_class_info i;

	*a = (struct port_agent){ .known = true };
	if (r->mad_status & ~MAD_STATUS_REDIRECT)
		return;
	perf_class_info_decode(&i, r->data);
	a->extended = i.cap_mask2 & PERF_EXTENDED_ERRORS;
	if (i.qp && !follows(&i, a) && r->mad_status) {
		a->known = false;
		refused(s, c, n);
	}
}

static void
take_status(struct subnet *s, struct counted *c, unsigned n, struct port_agent *a,
	    const struct transact_result *r)
{
	bool extended = r->attr_id == PERF_COUNTERS_EXTENDED;

	if (r->mad_status & MAD_STATUS_REDIRECT)
		a->known = false;
	if (extended && !(r->mad_status & MAD_STATUS_REDIRECT))
		a->extended = false;		/* it has claimed too much */
	else
		refused(s, c, n);
}

static void
take_reading(struct subnet *s, struct counted *c, const struct live_port *p, bool extended,
	     const struct transact_result *r)
{
	struct counted_port *q = &c->ports[p->number];
	struct perf_counters read;
	struct error_finding f;

	if (extended)
		perf_extended_decode(&read, r->data);
	else
		perf_counters_decode(&read, r->data);
	s->counting.read++;
	q->refusals = 0;
	if (counting_judge(&q->errors, &read, extended, s->conf->health.per_minute,
			 loop_now(s->env.loop), &f) && p->peer)
		found(s, p, &f);
	if (!extended && s->conf->health.clear_counters)
		q->clear = counting_near_full(&read);
	if (!q->clear)
		c->next++;
}

/* What it shows after that is no error that came. */
static void
take_cleared(struct counted *c, unsigned n, const struct transact_result *r)
{
	struct counted_port *q = &c->ports[n];
	struct perf_counters left;

	perf_counters_decode(&left, r->data);
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (q->clear >> i & 1)
			q->errors.last[i] = left.errors[i];
	q->clear = 0;
	c->next++;
}

static void
on_done(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct subnet *s = arg;
	struct counted *c = list_entry(t, struct counted, target);
	const struct device *d = counted_device(s, c);
	unsigned n = r->cookie & 0xff;
	enum item item = (enum item)(r->cookie >> 8);
	struct port_agent *a;

	if (r->error == ERR_CLOSED || !d || n > c->nports)
		return;
	if (r->error) {
		missed(s, c);
		return;
	}
	c->misses = 0;
	a = &c->ports[agent_port(d, n)].agent;
	if (item == ITEM_CLASS)
		take_class(s, c, n, a, r);
	else if (r->mad_status)
		take_status(s, c, n, a, r);
	else if (item == ITEM_READ)
		take_reading(s, c, &d->ports[n], r->attr_id == PERF_COUNTERS_EXTENDED, r);
	else
		take_cleared(c, n, r);
}

static void
on_idle(void *subnet)
{
	(void)subnet;
}

static void
on_request(void *arg, const struct port_mad *m)
{
	struct subnet *s = arg;

	(void)m;
	s->st.mads_unsolicited++;
}

/* ---- Sweeps ---- */

static void
begin_sweep(struct subnet *s)
{
	struct counting *c = &s->counting;

	c->sweep++;
	c->at = c->read = c->unread = c->over = 0;
	c->nworst = c->told = 0;
	c->walked = c->ports = 0;
	for (uint32_t i = 0; i < s->topo.len; i++)
		c->ports += s->topo.table[i] ? s->topo.table[i]->info.num_ports : 0;
	c->started = loop_now(s->env.loop);
	c->sent = transact_counters(c->transact)->sent_total;
	c->pkey_index = gmp_pkey_index(s);
	c->running = true;
}

/* Its turn has come. */
static void
visit(struct subnet *s, uint32_t place)
{
	struct device *d = s->topo.table[place];
	struct counted *c;

	if (!d) {
		if (place < s->counting.size)
			record_free(s, place);
		return;
	}
	s->counting.walked += d->info.num_ports;
	if (d->silent || !d->complete)
		return;
	c = record_get(s, d);
	if (c->asking)
		return;
	if (c->skip) {
		c->skip--;
		s->counting.unread++;
		return;
	}
	c->next = 1;
	c->asking = true;
	s->counting.under_way++;
	transact_ready(s->counting.transact, &c->target);
}

static void
walk(struct subnet *s)
{
	struct counting *c = &s->counting;
	monotime time = loop_now(s->env.loop) - c->started;
	double share = (double)time / (double)s->conf->health.counters_interval;

	for (unsigned i = 0; i < SLICE && c->at < s->topo.len && c->under_way < QUEUE; i++) {
		if ((double)c->walked >= share * (double)c->ports)
			return;
		visit(s, c->at++);
	}
}

static void
end_sweep(struct subnet *s)
{
	struct counting *c = &s->counting;

	c->running = false;
	c->telling = true;
	c->took = loop_now(s->env.loop) - c->started;
	c->last.ports = c->read;
	c->last.unread = c->unread;
	c->last.over = c->over;
	c->last.mads = transact_counters(c->transact)->sent_total - c->sent;
	for (uint32_t i = s->topo.len; i < c->size; i++)
		record_free(s, i);
}

/* How many there are besides is told again when they have become twice as many. */
static void
tell_rest(struct subnet *s, uint32_t rest)
{
	struct counting *c = &s->counting;

	if (rest && rest / 2 >= c->over_told)
		subnet_event(s, EVENT_HEALTH, LOG_L_WARNING, 0, 0,
			     "more errors than health.per_minute allows, or counters that have "
			     "stopped, on %u%s cable%s: `weft show counters`", rest,
			     c->last.over > rest ? " other" : "", rest == 1 ? "" : "s");
	if (!rest || rest / 2 >= c->over_told)
		c->over_told = rest;
}

static void
tell_some(struct subnet *s)
{
	struct counting *c = &s->counting;

	for (unsigned i = 0; i < TELL && c->told < c->nworst; i++) {
		if (health_errors_tell(s, &c->worst[c->told]))
			c->over--;
		c->told++;
	}
	if (c->told < c->nworst)
		return;
	c->telling = false;
	tell_rest(s, c->over);
}

static void
go_on(struct subnet *s)
{
	struct counting *c = &s->counting;

	if (c->telling)
		tell_some(s);
	else if (c->running && c->at == s->topo.len && !c->under_way)
		end_sweep(s);
	else if (c->running)
		walk(s);
	else if (!c->sweep ||
		 loop_now(s->env.loop) - c->started >= s->conf->health.counters_interval)
		begin_sweep(s);
}

static void
start_engine(struct subnet *s)
{
	struct transact_options o = {
		.window_start = WINDOW, .window_max = WINDOW, .target_max = 1,
		.retries = s->conf->retries < 1 ? 0 : 1, .timeout = s->conf->timeout,
		.timeout_min = s->conf->timeout < MSEC(50) ? s->conf->timeout : MSEC(50),
	};
	struct transact_ops ops = {
		.next = on_next, .done = on_done, .idle = on_idle, .request = on_request, .arg = s,
	};

	s->counting.transact = transact_new(s->env.loop, s->port, &o, &ops);
}

static void
on_tick(void *subnet)
{
	struct subnet *s = subnet;

	if (!may_read(s)) {
		counting_stop(s);
		return;
	}
	if (!s->counting.transact)
		start_engine(s);
	if (s->plan && s->plan->lids && s->stage == SUBNET_IDLE && !s->reroute.done)
		go_on(s);
	loop_timer_set(s->counting.tick, TICK);
}

monotime
counting_pause(const struct subnet *s)
{
	monotime t = s->conf->health.counters_interval;

	return s->counting.took > t ? s->counting.took : t;
}

/* ---- Life ---- */

void
counting_begin(struct subnet *s)
{
	if (may_read(s) && !loop_timer_pending(s->counting.tick))
		loop_timer_set(s->counting.tick, TICK);
}

void
counting_stop(struct subnet *s)
{
	struct counting *c = &s->counting;

	loop_timer_cancel(c->tick);
	for (uint32_t i = 0; i < c->size; i++)
		record_free(s, i);
	mem_free(c->table);
	*c = (struct counting){ .tick = c->tick, .transact = c->transact };
}

void
counting_init(struct subnet *s)
{
	s->counting.tick = loop_timer_new(s->env.loop, on_tick, s);
}

void
counting_free(struct subnet *s)
{
	counting_stop(s);
	loop_timer_free(s->counting.tick);
	transact_free(s->counting.transact);
}
