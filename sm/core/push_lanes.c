/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables from service levels to lanes in a push (IBA volume 1, 14.2.5.8, SLtoVLMappingTable).
 *
 * A plan without such tables is proved whatever they are, and none is written. One that has some
 * comes after all of them: a step of its own goes before any row but those that drop, and a switch
 * that does not hold its maps when the step ends cuts the push. What is compared is what tables.h
 * knows; nothing that is known is written again. Hosts are given theirs in the same step, but
 * nobody waits for a host that does not take them.
 *
 * Of a switch there is a map for each pair of ports that packets may pass between. Where it offers
 * the optimised forms one Set writes those of an output port from all input ports, or all there
 * are: wherever all pairs want the same; while no packets pass also if most do, and the others are
 * written behind it.
 *
 * A switch that refuses a map, or keeps another, has engines that need one refused. Sweeps try the
 * same map again by and by at a pair that no packet passes between, of a port with itself, and when
 * it is taken the fabric is routed again.
 *
 * Before a daemon that has just started routes a fabric that forwards, maps are read back, lest all
 * traffic is stopped for what may be as it should (PUSH_READ_LANES).
 */
#include "sm/core/push_i.h"

#include <string.h>
#include "sm/core/lanes.h"

#define ALL_IN 0x20000u		/* bits of the modifier: for all input ports, */
#define ALL_OUT 0x10000u	/* for all output ports */
#define TRY_FIRST SEC(10)	/* a switch that refused one is tried again so much later, */
#define TRY_MAX SEC(600)	/* later each time, but never more */
#define OPTIMISED 1		/* bit of SwitchInfo.OptimizedSLtoVLMappingProgramming */

/* ---- What is wanted ---- */

static uint32_t
plan_switch(const struct subnet *s, const struct device *d)
{
	const struct plan *plan = s->push.plan;

	if (d->info.node_type != NODE_SWITCH || d->fabric_node == FABRIC_NONE)
		return FABRIC_NONE;
	return plan->fabric->nodes[d->fabric_node].sw;
}

/* Packets may pass by this port, or to the switch itself. */
static bool
takes_part(const struct device *d, unsigned n)
{
	return !n || (d->ports[n].peer && live_port_up(&d->ports[n]));
}

static bool
holds_exactly(const struct subnet *s, const struct live_port *out, unsigned in,
	      const struct sls_map *want)
{
	struct sls_map have;

	return tables_sl2vl(&s->topo.tables, out, in, have.vl) == TABLES_HELD &&
	       !memcmp(&have, want, sizeof(have));
}

/* The pair's map of the plan; NULL: no packets pass, or it holds it. */
static const struct sls_map *
pair_wanted(const struct subnet *s, const struct device *d, uint32_t sw, unsigned in, unsigned out)
{
	const struct sls_map *m;

	if (!takes_part(d, in) || !takes_part(d, out))
		return NULL;
	m = plan_sls_map(s->push.plan->sls, sw, in, out);
	return holds_exactly(s, &d->ports[out], in, m) ? NULL : m;
}

/* A host's port. */
static bool
host_wanted(const struct subnet *s, const struct live_port *p, struct sls_map *m)
{
	const struct live_port *peer = live_peer(p);
	unsigned a, b;

	if (!peer || !live_port_up(p) || !(p->info.cap_mask & CAP_SL_MAPPING))
		return false;
	a = vls_of_code(p->info.vl_cap);
	b = vls_of_code(peer->info.vl_cap);
	a = a < b ? a : b;
	*m = plan_sls_host_map(s->push.plan->sls, a < s->conf->max_op_vls ? a :
			       (unsigned)s->conf->max_op_vls);
	return !holds_exactly(s, p, 0, m);
}

/* ---- Few Sets ---- */

/* Pairs of the output ports from `first` to `last` that packets pass between: the map that all of
 * them want, or `most` of them that differ from what is held. */
struct survey {
	const struct sls_map *map;	/* wanted by the first, or by most; NULL: there is none */
	bool same;			/* all want it */
	unsigned missing;		/* do not hold what they want */
	unsigned others;		/* want another than `map` */
};

static struct survey
look_at(const struct subnet *s, const struct device *d, uint32_t sw, unsigned first, unsigned last)
{
	const struct plan_sls *sls = s->push.plan->sls;
	struct survey v = { .same = true };
	unsigned lead = 0;

	/* A majority, if there is one, is left over when unlike ones are struck out in pairs. */
	for (unsigned out = first; out <= last; out++)
		for (unsigned in = 0; in <= d->info.num_ports && takes_part(d, out); in++) {
			const struct sls_map *m = plan_sls_map(sls, sw, in, out);

			if (!takes_part(d, in))
				continue;
			v.missing += pair_wanted(s, d, sw, in, out) != NULL;
			v.same &= !v.map || m == v.map;
			if (!lead)
				v.map = m;
			lead = m == v.map ? lead + 1 : lead - 1;
		}
	for (unsigned out = first; out <= last; out++)
		for (unsigned in = 0; in <= d->info.num_ports && takes_part(d, out); in++)
			v.others += takes_part(d, in) && plan_sls_map(sls, sw, in, out) != v.map;
	return v;
}

/* One Set for all is less than one for each that is missing. */
static bool
pays(const struct subnet *s, const struct survey *v)
{
	bool passing = s->push.live && !(s->push.stages && s->push.stages->shifts);

	if (v->same)
		return v->missing > 1;
	return !passing && v->missing > v->others + 1;
}

static void
set_map(const struct sls_map *m, uint32_t modifier, struct transact_request *r)
{
	r->method = MAD_SET;
	r->attr_id = ATTR_SL_TO_VL;
	r->attr_mod = modifier;
	sl2vl_encode(m->vl, r->data);
}

/* A form for many pairs, at the beginning of a switch's maps or of an output port's. */
static bool
many_next(const struct subnet *s, struct device *d, uint32_t sw, struct transact_request *r)
{
	unsigned n = d->info.num_ports + 1u, out = d->lanes_next / n;
	bool all = !d->lanes_next;
	struct survey v;

	if (d->lanes_plain || !(d->sw.optimized_slvl & OPTIMISED) || d->lanes_next % n)
		return false;
	v = look_at(s, d, sw, all ? 0 : out, all ? n - 1 : out);
	if (all && !pays(s, &v)) {
		all = false;
		v = look_at(s, d, sw, out, out);
	}
	if (!v.map || !pays(s, &v))
		return false;
	set_map(v.map, all ? ALL_IN | ALL_OUT : ALL_IN | out, r);
	if (v.same && !all)
		d->lanes_next += n;
	d->lanes_wait = !v.same || all;
	return true;
}

static bool
switch_next(const struct subnet *s, struct device *d, uint32_t sw, struct transact_request *r)
{
	unsigned n = d->info.num_ports + 1u;

	/* What is behind one for many is not compared before its answer. */
	if (d->lanes_wait && d->lanes_inflight)
		return false;
	while (d->lanes_next < n * n) {
		unsigned out = d->lanes_next / n, in = d->lanes_next % n;
		const struct sls_map *m;

		if (!in && !d->lanes_wait && many_next(s, d, sw, r))
			return true;
		d->lanes_wait = false;
		d->lanes_next++;
		m = pair_wanted(s, d, sw, in, out);
		if (!m)
			continue;
		set_map(m, in << 8 | out, r);
		return true;
	}
	return false;
}

static bool
host_next(const struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	while (d->lanes_next < d->info.num_ports) {
		struct sls_map m;

		d->lanes_next++;
		if (!host_wanted(s, &d->ports[d->lanes_next], &m))
			continue;
		set_map(&m, 0, r);
		r->cookie = *port = d->lanes_next;
		return true;
	}
	return false;
}

/* ---- The step ---- */

/* Nothing about its maps has changed since it was found to hold these. */
static bool
is_known_to_hold(const struct subnet *s, const struct device *d, uint32_t sw)
{
	return !d->lanes_changed && d->lanes_plan && d->lanes_plan == s->push.plan->sls &&
	       d->lanes_sw == sw;
}

bool
push_lanes_start(struct subnet *s, struct device *d)
{
	uint32_t sw = plan_switch(s, d);

	d->lanes_next = 0;
	d->lanes_inflight = 0;
	d->lanes_wait = false;
	d->lanes_held = sw != FABRIC_NONE && is_known_to_hold(s, d, sw);
	d->lanes_pending = !d->lanes_held;
	for (unsigned n = 1; sw != FABRIC_NONE && n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n];

		if (p->peer && p->peer->info.node_type == NODE_SWITCH && push_port_counts(p) &&
		    p->info.state == PORT_ACTIVE &&
		    lanes_too_few(s->push.plan->sls, p->info.op_vls))
			bits_set(&d->config, n);
	}
	return d->lanes_pending || !bits_empty(&d->config);
}

bool
push_lanes_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port)
{
	uint32_t sw = plan_switch(s, d);
	bool any;

	if (!d->lanes_pending)
		return false;
	any = sw == FABRIC_NONE ? host_next(s, d, r, port) : switch_next(s, d, sw, r);
	if (any)
		d->lanes_inflight++;
	return any;
}

/* Of a switch: each pair that packets pass between. */
static bool
holds_all(const struct subnet *s, struct device *d, uint32_t sw)
{
	const struct lane_tables *held = lanes_of_device(&s->topo.tables, d);
	const struct plan_sls *sls = s->push.plan->sls;

	for (unsigned in = 0; in <= d->info.num_ports; in++)
		for (unsigned out = 0; out <= d->info.num_ports && takes_part(d, in); out++)
			if (takes_part(d, out) && !lanes_are_held(sls, sw, held, in, out))
				return false;
	return true;
}

void
push_lanes_settled(struct subnet *s, struct device *d)
{
	uint32_t sw = plan_switch(s, d);

	if (!d->lanes_pending || d->lanes_inflight)
		return;
	d->lanes_pending = false;
	d->lanes_held = sw == FABRIC_NONE || holds_all(s, d, sw);
	if (sw == FABRIC_NONE || !d->lanes_held)
		return;
	d->lanes_failures = 0;
	plan_sls_unref(d->lanes_plan);
	d->lanes_plan = plan_sls_ref(s->push.plan->sls);
	d->lanes_sw = sw;
}

/* Do the links between switches that carry packets run as many lanes as are taken? */
static bool
links_run(const struct subnet *s, const struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n];

		if (p->peer && p->peer->info.node_type == NODE_SWITCH && push_port_counts(p) &&
		    p->info.state == PORT_ACTIVE &&
		    lanes_too_few(s->push.plan->sls, p->info.op_vls))
			return false;
	}
	return true;
}

bool
push_lanes_failed(struct subnet *s)
{
	bool failed = false;

	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);
		uint32_t sw = plan_switch(s, d);

		if (sw == FABRIC_NONE || d->silent || s->push.plan->fixed[sw] ||
		    (d->lanes_held && !d->lanes_changed && links_run(s, d)))
			continue;
		s->push.failed_tables++;
		failed = true;
		if (!d->push_failed)
			push_failure(s, d, "%s", links_run(s, d) ?
				     "was not given the SLtoVLMappingTables that were planned" :
				     "has links that run too few lanes");
		push_look_again(s, d);
	}
	return failed;
}

/* ---- Reading ---- */

static bool
carries(const struct device *d, unsigned n)
{
	const struct live_port *peer = live_peer(&d->ports[n]);

	return !n || (peer && d->ports[n].info.state == PORT_ACTIVE &&
		      peer->info.state == PORT_ACTIVE);
}

/* The next map that packets pass by and nobody here knows. */
static bool
find_unknown(const struct subnet *s, const struct device *d, uint32_t *next)
{
	unsigned n = d->info.num_ports + 1u;

	for (; *next < n * n; ++*next) {
		unsigned out = *next / n, in = *next % n;

		if (carries(d, in) && carries(d, out) &&
		    tables_sl2vl(&s->topo.tables, &d->ports[out], in, NULL) == TABLES_UNKNOWN)
			return true;
	}
	return false;
}

/* Hosts' maps bear on no proof: they are read with the others of a daemon that has just started, so
 * that it need not write what they hold. */
static bool
can_be_read(const struct subnet *s, const struct device *d)
{
	if (d->silent || !d->complete)
		return false;
	return d->info.node_type == NODE_SWITCH ? d->lft_trusted : !s->plan;
}

bool
push_needs_lanes(struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);
		uint32_t next = 0;

		if (d->info.node_type == NODE_SWITCH && can_be_read(s, d) &&
		    (!d->lanes_plan || d->lanes_changed) && find_unknown(s, d, &next))
			return true;
	}
	return false;
}

bool
push_read_lanes_start(const struct subnet *s, struct device *d)
{
	d->lanes_next = 0;
	d->lanes_pending = can_be_read(s, d);
	return d->lanes_pending;
}

bool
push_read_lanes_next(struct subnet *s, struct device *d, struct transact_request *r,
		     unsigned *port)
{
	unsigned n = d->info.num_ports + 1u;

	if (!d->lanes_pending || !find_unknown(s, d, &d->lanes_next))
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_SL_TO_VL;
	r->cookie = d->lanes_next / n;
	if (d->info.node_type == NODE_SWITCH)
		r->attr_mod = d->lanes_next % n << 8 | d->lanes_next / n;
	else
		*port = d->lanes_next / n;
	d->lanes_next++;
	return true;
}

/* What was read is gathered for the worker device by device, not of all at once. */
void
push_read_lanes_settled(struct subnet *s, struct device *d)
{
	if (!d->lanes_pending || d->inflight || find_unknown(s, d, &d->lanes_next))
		return;
	d->lanes_pending = false;
	if (d->info.node_type == NODE_SWITCH)
		lanes_of_device(&s->topo.tables, d);
}

/* ---- Answers ---- */

/* Every pair that the modifier of a Set names. */
static void
saw_all(struct subnet *s, struct device *d, const struct transact_result *res,
	const uint8_t *data)
{
	unsigned n = d->info.num_ports + 1u, in = res->attr_mod >> 8 & 0xff;
	unsigned out = res->attr_mod & 0xff;
	bool ins = res->attr_mod & ALL_IN, outs = res->attr_mod & ALL_OUT;

	for (unsigned o = outs ? 0 : out; o < n && (outs || o == out); o++)
		for (unsigned i = ins ? 0 : in; i < n && (ins || i == in); i++) {
			if (data)
				tables_saw_sl2vl(&s->topo.tables, &d->ports[o], i, data);
			else
				tables_doubt_sl2vl(&s->topo.tables, &d->ports[o], i);
		}
}

/* It does not take a map of its own. */
static void
refuse(struct subnet *s, struct device *d, const struct transact_result *res)
{
	d->lanes_refused = true;
	d->lanes_port = (uint8_t)res->attr_mod;
	sl2vl_decode(d->lanes_tried.vl, res->sent);
	if (d->lanes_failures < UINT8_MAX)
		d->lanes_failures++;
	d->lanes_after = loop_now(s->env.loop) +
			 backoff_delay(TRY_FIRST, TRY_MAX, d->lanes_failures);
}

static void
refused_set(struct subnet *s, struct device *d, const struct transact_result *res)
{
	if (d->info.node_type != NODE_SWITCH)
		return;
	if (res->attr_mod & (ALL_IN | ALL_OUT)) {
		/* One by one then. */
		d->lanes_plain = true;
		d->lanes_wait = false;
		d->lanes_next = 0;
		return;
	}
	if (!d->lanes_refused)
		refuse(s, d, res);
	s->push.failed_tables++;
}

static void
set_answered(struct subnet *s, struct device *d, const struct transact_result *res)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;
	struct sls_map sent, got;

	if (is_switch)
		saw_all(s, d, res, res->data);
	else if (res->cookie <= d->info.num_ports)
		tables_saw_sl2vl(&s->topo.tables, &d->ports[res->cookie], 0, res->data);
	sl2vl_decode(sent.vl, res->sent);
	sl2vl_decode(got.vl, res->data);
	if (lanes_agree(s->push.plan->sls, &sent, &got))
		return;
	if (is_switch && !d->lanes_refused)
		refuse(s, d, res);
	push_failure(s, d, "keeps another SLtoVLMappingTable than was set");
}

bool
push_lanes_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	bool plain = d->lanes_plain;

	if (res->method == MAD_GET) {
		if (!res->error && res->mad_status != MAD_STATUS_BUSY &&
		    res->cookie <= d->info.num_ports)
			tables_saw_sl2vl(&s->topo.tables, &d->ports[res->cookie],
					 res->attr_mod >> 8 & 0xff,
					 res->mad_status ? NULL : res->data);
		return false;
	}
	if (d->lanes_inflight)
		d->lanes_inflight--;
	if (res->error)
		saw_all(s, d, res, NULL);
	else if (res->mad_status)
		refused_set(s, d, res);
	else
		set_answered(s, d, res);
	if (d->lanes_wait || plain != d->lanes_plain)
		transact_ready(s->transact, &d->agent.target);
	return plain != d->lanes_plain;
}

/* ---- Trying what was refused ---- */

bool
push_lanes_due(const struct subnet *s, const struct device *d)
{
	return d->lanes_refused && d->complete && !d->silent && s->role == ROLE_MASTER &&
	       loop_now(s->env.loop) >= d->lanes_after;
}

void
push_lanes_try(const struct device *d, struct transact_request *r)
{
	set_map(&d->lanes_tried, (uint32_t)d->lanes_port << 8 | d->lanes_port, r);
}

void
push_lanes_tried(struct subnet *s, struct device *d, const struct transact_result *res)
{
	char text[DEVICE_TEXT_SIZE];
	bool answered = !res->error && !res->mad_status;
	struct sls_map got;

	saw_all(s, d, res, answered ? res->data : NULL);
	if (answered)
		sl2vl_decode(got.vl, res->data);
	if (!answered || memcmp(&got, &d->lanes_tried, sizeof(got))) {
		refuse(s, d, res);
		return;
	}
	d->lanes_refused = d->lanes_plain = false;
	s->want_route = true;
	subnet_event(s, EVENT_REFUSED, LOG_L_NOTICE, d->guid, 0, "%s takes the "
		     "SLtoVLMappingTables that it refused: it is routed again",
		     device_text(text, d, s->env.names));
}
