/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bed of the scenario tests of sm/core: see core_bed.h.
 *
 * A subnet manager's port is the bed's own (struct bed_port) around the simulated one, so that a
 * test sees every MAD and may change or lose it. Time passes in slices of a millisecond, after each
 * of which the subnet is looked at.
 */
#include "tests/unit/core_bed.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/direct.h"
#include "sim/generate/generate.h"
#include "sim/model/ar.h"
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"

#define SLICE MSEC(1)
#define EVENTS 4096
#define ALL_PAIRS 64			/* hosts up to which every pair is tried */

struct bed_port {
	struct port port;		/* first: this is a struct port */
	struct port *inner;		/* the simulated one */
	struct port_events ev;		/* the subnet's */
	struct bed_sm *sm;		/* whose port it is */
};

/*
 * The port.
 */
static struct bed_port *
bed_port_of(struct port *p)
{
	return (struct bed_port *)(void *)p;
}

static int
port_out(struct port *p, const struct port_mad *m)
{
	struct bed_port *bp = bed_port_of(p);
	struct port_mad copy = *m;

	if (bp->sm->out && !bp->sm->out(bp->sm, &copy))
		return 0;
	return port_send(bp->inner, &copy);
}

static int
port_issm(struct port *p, bool on, struct error *e)
{
	return port_set_issm(bed_port_of(p)->inner, on, e);
}

static void
port_end(struct port *p)
{
	struct bed_port *bp = bed_port_of(p);

	port_close(bp->inner);
	bp->sm->inner = NULL;
	mem_free(bp);
}

static void
port_in(void *arg, const struct port_mad *m)
{
	struct bed_port *bp = arg;
	struct port_mad copy = *m;

	if (bp->sm->in && !m->status && !bp->sm->in(bp->sm, &copy))
		return;
	bp->ev.receive(bp->ev.arg, &copy);
}

static void
port_state(void *arg, bool up, const char *why)
{
	struct bed_port *bp = arg;

	bp->port.id = bp->inner->id;
	bp->port.up = up;
	bp->ev.state(bp->ev.arg, up, why);
}

static struct port *
port_open(void *arg, struct loop *l, const char *selector, const struct port_events *events,
	  struct error *e)
{
	static const struct port_ops ops = {
		.send = port_out, .set_issm = port_issm, .close = port_end,
	};
	struct bed_sm *sm = arg;
	struct bed_port *bp = mem_zalloc(sizeof(*bp));
	struct port_events own = { .receive = port_in, .state = port_state, .arg = bp };

	(void)l;
	(void)selector;
	bp->port.ops = &ops;
	bp->ev = *events;
	bp->sm = sm;
	if (direct_open(&bp->inner, sm->bed->m, sm->node, sm->port, &own, e)) {
		mem_free(bp);
		return NULL;
	}
	bp->port.id = bp->inner->id;
	sm->inner = bp->inner;
	return &bp->port;
}

/*
 * Making and ending.
 */
static struct ibnet *
net_of(const char *fabric)
{
	char *copy = mem_strdup(fabric), *args[16], *save = NULL;
	struct generate_options o = { 0 };
	struct ibnet *net = NULL;
	struct error e = { 0 };
	unsigned n = 0;
	int rc;

	if (strchr(fabric, '\n')) {
		rc = ibnet_parse(&net, fabric, strlen(fabric), "fabric", &e);
	} else {
		for (char *w = strtok_r(copy, " ", &save); w && n < 16;
		     w = strtok_r(NULL, " ", &save))
			args[n++] = w;
		rc = generate(&net, args[0], n - 1, args + 1, &o, &e);
	}
	mem_free(copy);
	if (rc < 0)
		fail_msg("%s: %s", fabric, e.text);
	return net;
}

static void
open_log(void)
{
	const char *level = getenv("CORE_BED_LOG");
	struct error e;

	if (level && log_level_parse(level) >= 0)
		log_open("stderr", (enum log_level)log_level_parse(level), &e);
	else
		log_open("/dev/null", LOG_L_ERROR, &e);
}

struct bed *
bed_new_options(const char *fabric, uint64_t seed, const struct model_options *o)
{
	struct bed *b = mem_zalloc(sizeof(*b));
	struct model_options options = { 0 };
	struct error e;

	open_log();
	if (o)
		options = *o;
	options.seed = options.seed ? options.seed : seed;
	b->net = net_of(fabric);
	b->loop = loop_new_virtual(seed);
	b->m = model_new(b->loop, b->net, &options);
	b->defaults = config_load(NULL, &e);
	assert_non_null(b->defaults);
	b->bad = mem_array(b->net->nnodes, sizeof(*b->bad));
	return b;
}

struct bed *
bed_new(const char *fabric, uint64_t seed)
{
	return bed_new_options(fabric, seed, NULL);
}

void
bed_free(struct bed *b)
{
	for (unsigned i = 0; i < b->nsms; i++) {
		bed_stop(&b->sms[i]);
		store_close(b->sms[i].store);
		event_ring_free(b->sms[i].events);
	}
	/* What was handed to the worker when a subnet ended comes back here. */
	bed_wait(b, SEC(1));
	config_free(b->defaults);
	model_free(b->m);
	loop_free(b->loop);
	ibnet_free(b->net);
	mem_free(b->bad);
	mem_free(b);
}

uint32_t
bed_node(const struct bed *b, const char *name)
{
	uint32_t n = ibnet_find(b->net, name);

	if (n == IBNET_NONE)
		fail_msg("no node %s", name);
	return n;
}

unsigned
bed_port_to(const struct bed *b, uint32_t node, uint32_t peer)
{
	for (unsigned p = 1; p <= b->net->nodes[node].nports; p++)
		if (b->net->nodes[node].ports[p].peer == peer)
			return p;
	fail_msg("%s has no cable to %s", b->net->nodes[node].name, b->net->nodes[peer].name);
	return 0;
}

uint32_t
bed_next(const struct bed *b, enum ibnet_type type, uint32_t from)
{
	for (uint32_t n = from; n < b->net->nnodes; n++)
		if (b->net->nodes[n].type == type)
			return n;
	return IBNET_NONE;
}

static void
on_event(void *arg, const struct event *ev)
{
	struct bed_sm *sm = arg;

	sm->nevents[ev->type]++;
}

struct bed_sm *
bed_sm(struct bed *b, uint32_t node, unsigned port)
{
	struct bed_sm *sm = &b->sms[b->nsms++];

	assert_true(b->nsms <= BED_SMS);
	sm->bed = b;
	sm->node = node;
	sm->port = port;
	sm->conf = b->defaults->subnets[0];
	sm->conf.health.counters_interval = 0;	/* whoever wants it turns it on */
	sm->store = store_open_memory(b->loop);
	sm->events = event_ring_new(EVENTS, 1);
	event_ring_sink(sm->events, on_event, sm);
	return sm;
}

void
bed_start(struct bed_sm *sm)
{
	struct subnet_env env = {
		.loop = sm->bed->loop, .store = sm->store, .events = sm->events, .threads = 1,
	};
	struct error e = { 0 };

	assert_null(sm->s);
	sm->s = subnet_new(&env, &sm->conf, port_open, sm, &e);
	if (!sm->s)
		fail_msg("%s", e.text);
}

void
bed_stop(struct bed_sm *sm)
{
	subnet_free(sm->s);
	sm->s = NULL;
}

struct bed_sm *
bed_up(const char *fabric, uint64_t seed)
{
	struct bed *b = bed_new(fabric, seed);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	bed_start(sm);
	return sm;
}

/*
 * Time.
 */
void
bed_wait(struct bed *b, monotime time)
{
	loop_run_until(b->loop, loop_now(b->loop) + time, NULL);
}

int
bed_run(struct bed_sm *sm, monotime bound)
{
	monotime end = loop_now(sm->bed->loop) + bound;
	struct error why = { 0 };
	int outcome = 0;

	while (!outcome && loop_now(sm->bed->loop) < end) {
		bed_wait(sm->bed, SLICE);
		outcome = subnet_outcome(sm->s, &why);
	}
	snprintf(sm->why, sizeof(sm->why), "%s", why.text);
	return outcome;
}

static bool
is_quiet(const struct subnet *s)
{
	return (s->stage == SUBNET_IDLE || s->stage == SUBNET_WAITING) &&
	       s->wanted == SWEEP_NONE && !s->want_route && !loop_timer_pending(s->soon);
}

bool
bed_quiet(struct bed_sm *sm, monotime bound)
{
	monotime end = loop_now(sm->bed->loop) + bound;

	do {
		bed_wait(sm->bed, SLICE);
		if (is_quiet(sm->s))
			return true;
	} while (loop_now(sm->bed->loop) < end);
	return false;
}

void
bed_sweep(struct bed_sm *sm, monotime bound)
{
	uint64_t before = sm->s->st.sweeps;
	monotime end = loop_now(sm->bed->loop) + bound;

	subnet_sweep(sm->s);
	while (sm->s->st.sweeps == before || sm->s->stage != SUBNET_IDLE) {
		bed_wait(sm->bed, SLICE);
		if (loop_now(sm->bed->loop) >= end)
			fail_msg("a sweep has not ended in time: stage %u", sm->s->stage);
	}
}

/*
 * Looking.
 */
uint64_t
bed_count(const struct bed *b, uint8_t method, uint16_t attr_id)
{
	return model_count(b->m, MODEL_ALL, method, attr_id);
}

const struct event *
bed_event(const struct bed_sm *sm, enum event_type type, const char *word)
{
	for (uint64_t i = event_last(sm->events); i && i >= event_oldest(sm->events); i--) {
		const struct event *ev = event_get(sm->events, i);

		if (ev && ev->type == type && strstr(ev->text, word))
			return ev;
	}
	return NULL;
}

void
bed_forget(struct bed_sm *sm)
{
	memset(sm->nevents, 0, sizeof(sm->nevents));
	event_ring_free(sm->events);
	sm->events = event_ring_new(EVENTS, 1);
	event_ring_sink(sm->events, on_event, sm);
	if (sm->s)
		sm->s->env.events = sm->events;
}

/* The far end of a cable that is up, both of whose ends are good nodes. */
static bool
good_peer(const struct bed *b, uint32_t node, unsigned port, uint32_t *peer, unsigned *peer_port)
{
	const struct sim_port *p = &b->m->nodes[node].ports[port];

	if (b->bad[node] || !model_link_is_up(b->m, node, port))
		return false;
	*peer = p->peer;
	*peer_port = p->peer_port;
	return !b->bad[*peer];
}

static bool *
healthy_nodes(const struct bed_sm *sm)
{
	const struct bed *b = sm->bed;
	uint32_t *queue = mem_array(b->net->nnodes, sizeof(*queue)), head = 0, tail = 0, peer;
	bool *seen = mem_array(b->net->nnodes, sizeof(*seen));
	unsigned port;

	queue[tail++] = sm->node;
	seen[sm->node] = true;
	while (head < tail) {
		uint32_t n = queue[head++];
		bool is_switch = b->net->nodes[n].type == IBNET_SWITCH;

		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++) {
			if (!is_switch && (n != sm->node || p != sm->port))
				continue;
			if (!good_peer(b, n, p, &peer, &port) || seen[peer])
				continue;
			seen[peer] = true;
			queue[tail++] = peer;
		}
	}
	mem_free(queue);
	return seen;
}

bool
bed_healthy(const struct bed_sm *sm, uint32_t node)
{
	bool *seen = healthy_nodes(sm), healthy = seen[node];

	mem_free(seen);
	return healthy;
}

/*
 * The devices against the plan.
 */
struct checking {
	struct bed_sm *sm;		/* who is checked */
	const struct plan *plan;	/* published */
	bool *seen;			/* nodes that must be in order */
	uint32_t *owner;		/* node + 1 by LID */
	uint32_t *host;			/* good hosts */
	uint8_t *host_port;		/* and the port by which each hangs on the fabric */
	uint32_t nhosts;		/* in use */
	char why[300];			/* the first thing that is wrong, "" */
};

static void
wrong(struct checking *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
wrong(struct checking *c, const char *fmt, ...)
{
	va_list ap;

	if (c->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
}

static const char *
name_of(const struct checking *c, uint32_t node)
{
	return c->sm->bed->net->nodes[node].name;
}

static void
check_end_port(struct checking *c, uint32_t node, unsigned port)
{
	const struct bed_sm *sm = c->sm;
	const struct model *m = sm->bed->m;
	const struct portinfo *i = model_portinfo(m, node, port);
	uint16_t sm_lid = model_portinfo(m, sm->node, sm->port)->lid;

	if (!i->lid || i->lid + (1u << i->lmc) - 1 > LID_UNICAST_MAX || i->lid % (1u << i->lmc)) {
		wrong(c, "%s port %u has LID %u, LMC %u", name_of(c, node), port, i->lid, i->lmc);
		return;
	}
	for (unsigned lid = i->lid; lid < i->lid + (1u << i->lmc); lid++) {
		if (c->owner[lid])
			wrong(c, "LID %u is held by %s and %s", lid,
				 name_of(c, c->owner[lid] - 1), name_of(c, node));
		c->owner[lid] = node + 1;
	}
	if (i->sm_lid != sm_lid)
		wrong(c, "%s port %u takes LID %u for the subnet manager's, not %u",
			 name_of(c, node), port, i->sm_lid, sm_lid);
	if (i->gid_prefix != sm->conf.prefix || i->subnet_timeout != sm->conf.subnet_timeout)
		wrong(c, "%s port %u has a wrong prefix or time-out", name_of(c, node), port);
	if (m->nodes[node].type != NODE_SWITCH &&
	    (i->lmc != sm->conf.lmc || model_pkey(m, node, port, 0) != 0xffff))
		wrong(c, "%s port %u has LMC %u, P_Key 0x%04x", name_of(c, node), port, i->lmc,
			 model_pkey(m, node, port, 0));
}

static void
check_ports(struct checking *c, uint32_t node)
{
	const struct bed *b = c->sm->bed;
	bool is_switch = b->net->nodes[node].type == IBNET_SWITCH;
	unsigned port;
	uint32_t peer;

	if (is_switch)
		check_end_port(c, node, 0);
	for (unsigned p = 1; p <= b->net->nodes[node].nports; p++) {
		const struct portinfo *i = model_portinfo(b->m, node, p), *far;

		if (!good_peer(b, node, p, &peer, &port) || !c->seen[peer])
			continue;
		far = model_portinfo(b->m, peer, port);
		if (i->state != PORT_ACTIVE || i->neighbor_mtu != far->neighbor_mtu ||
		    i->op_vls != far->op_vls)
			wrong(c, "%s port %u is %s, MTU %u and %u, VLs %u and %u",
				 name_of(c, node), p, port_state_name(i->state), i->neighbor_mtu,
				 far->neighbor_mtu, i->op_vls, far->op_vls);
		if (is_switch)
			continue;
		check_end_port(c, node, p);
		c->host_port[c->nhosts] = (uint8_t)p;
		c->host[c->nhosts++] = node;
	}
	if (!is_switch && node == c->sm->node && !model_link_is_up(b->m, node, c->sm->port))
		wrong(c, "the subnet manager's port is down");
}

static void
check_table(struct checking *c, uint32_t node)
{
	const struct bed *b = c->sm->bed;
	const struct fabric *f = c->plan->fabric;
	uint32_t n = fabric_node_by_guid(f, b->m->nodes[node].guid);
	const struct plan_row *row;

	/* A host that claims its GUID may be there in its stead. */
	if (n == FABRIC_NONE || f->nodes[n].type != NODE_SWITCH) {
		wrong(c, "%s is not in the plan", name_of(c, node));
		return;
	}
	row = c->plan->rows[f->nodes[n].sw];
	if (model_switchinfo(b->m, node)->linear_fdb_top < c->plan->lids->top)
		wrong(c, "%s forwards LIDs up to %u, not %u", name_of(c, node),
			 model_switchinfo(b->m, node)->linear_fdb_top, c->plan->lids->top);
	for (uint32_t lid = 1; lid <= c->plan->lids->top; lid++) {
		uint8_t port = model_ar_is_on(b->m, node) ?
			model_ar_lft(b->m, node, 0, (uint16_t)lid).port :
			model_lft(b->m, node, (uint16_t)lid);

		if (port != plan_row_port(row, lid))
			wrong(c, "%s sends LID %u to port %u, the plan says %u", name_of(c, node),
				 lid, port, plan_row_port(row, lid));
	}
}

static void
check_pair(struct checking *c, uint32_t from, uint32_t to)
{
	const struct model *m = c->sm->bed->m;
	const struct portinfo *i = model_portinfo(m, c->host[to], c->host_port[to]);

	for (unsigned k = 0; k < 1u << i->lmc; k++) {
		uint32_t end;
		int hops = model_trace(m, c->host[from], c->host_port[from],
				       (uint16_t)(i->lid + k), &end);

		if (hops < 0 || end != c->host[to])
			wrong(c, "no packet gets from %s to %s (LID %u): %s at %s",
				 name_of(c, c->host[from]), name_of(c, c->host[to]), i->lid + k,
				 hops < 0 ? error_name(hops) : "it ends", name_of(c, end));
	}
}

static void
check_traffic(struct checking *c)
{
	uint32_t step = c->nhosts <= ALL_PAIRS ? 1 : c->nhosts / 17;

	for (uint32_t from = 0; from < c->nhosts; from++)
		for (uint32_t d = 1; d < c->nhosts; d += step)
			check_pair(c, from, (from + d) % c->nhosts);
}

bool
bed_good(struct bed_sm *sm)
{
	const struct bed *b = sm->bed;
	struct checking c = { .sm = sm, .plan = subnet_plan(sm->s), .seen = healthy_nodes(sm) };
	uint32_t nports = b->net->nports + 1;

	c.owner = mem_array(LID_UNICAST_MAX + 129u, sizeof(*c.owner));
	c.host = mem_array(nports, sizeof(*c.host));
	c.host_port = mem_array(nports, sizeof(*c.host_port));
	if (!c.plan)
		wrong(&c, "there is no plan");
	for (uint32_t n = 0; n < b->net->nnodes && c.plan; n++) {
		if (!c.seen[n])
			continue;
		check_ports(&c, n);
		if (b->net->nodes[n].type == IBNET_SWITCH)
			check_table(&c, n);
	}
	check_traffic(&c);
	plan_unref(c.plan);
	mem_free(c.owner);
	mem_free(c.host);
	mem_free(c.host_port);
	mem_free(c.seen);
	snprintf(sm->why, sizeof(sm->why), "%s", c.why);
	return !c.why[0];
}

void
bed_check(struct bed_sm *sm)
{
	if (!bed_good(sm))
		fail_msg("%s", sm->why);
}

bool
bed_becomes_good(struct bed_sm *sm, monotime bound)
{
	monotime end = loop_now(sm->bed->loop) + bound;

	while (!bed_good(sm)) {
		if (loop_now(sm->bed->loop) >= end)
			return false;
		bed_wait(sm->bed, MSEC(100));
	}
	return true;
}

/* ---- Notices by hand ---- */

void
bed_count_repress(void *arg, const struct model_mad *mad)
{
	struct smp smp;

	if (!smp_decode(&smp, mad->mad, MAD_SIZE) && smp.h.method == MAD_TRAP_REPRESS)
		++*(unsigned *)arg;
}

void
bed_notice(struct bed_sm *sm, struct model_client *c, uint64_t tid, const struct notice *n)
{
	struct model_mad mad = { .lid = model_portinfo(sm->bed->m, sm->node, sm->port)->lid };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .mgmt_class = MAD_CLASS_SUBN_LID,
		       .method = MAD_TRAP, .attr_id = ATTR_NOTICE, .tid = tid },
	};

	notice_encode(n, s.data);
	smp_encode(&s, mad.mad);
	model_send(c, &mad);
}
