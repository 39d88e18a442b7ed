/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes wrong. Each kind of fault is a function that chooses, by the two numbers of the fault,
 * among what there is at that moment; what there is nothing of does not happen. What misbehaves
 * stops at the next rest, for nothing is promised of it; what is broken stays so.
 */
#include "tests/unit/harness.h"

#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"

static const uint16_t attrs[] = {
	ATTR_NODE_INFO, ATTR_SWITCH_INFO, ATTR_GUID_INFO, ATTR_PORT_INFO, ATTR_P_KEY_TABLE,
	ATTR_SL_TO_VL, ATTR_VL_ARBITRATION, ATTR_LINEAR_FDB, ATTR_MULTICAST_FDB,
	ATTR_NODE_DESCRIPTION,
};
#define ATTRIBUTES (sizeof(attrs) / sizeof(attrs[0]))

#define BABBLES 10			/* traps that tell of a port that babbles */
#define HAND SEC(3)			/* that moves a cable */

/* ---- Choosing ---- */

enum cable_state { CABLE_UP, CABLE_DOWN, CABLE_ANY };

static bool
is_manager(const struct harness_run *r, uint32_t node)
{
	for (unsigned i = 0; i < r->nsms; i++)
		if (r->sms[i].sm->node == node)
			return true;
	return false;
}

static bool
cable_fits(const struct harness_run *r, uint32_t node, unsigned port, bool host,
	   enum cable_state state)
{
	const struct sim_port *p = &r->b->m->nodes[node].ports[port];

	if (p->peer == IBNET_NONE)
		return false;
	if (host ? harness_is_switch(r, node) || is_manager(r, node) :
	    !harness_is_switch(r, node) || !harness_is_switch(r, p->peer) ||
	    !is_first_end(p, node, port))
		return false;
	return state == CABLE_ANY || p->cut == (state == CABLE_DOWN);
}

/* A cable between switches, or of a host without a manager. */
static bool
choose_cable(struct harness_run *r, uint32_t a, bool host, enum cable_state state, uint32_t *node,
	     unsigned *port)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		for (unsigned p = 1; p <= r->b->net->nodes[n].nports; p++)
			if (cable_fits(r, n, p, host, state)) {
				r->list[len++] = n;
				r->list[len++] = p;
			}
	if (!len)
		return false;
	a = a % (len / 2) * 2;
	*node = r->list[a];
	*port = r->list[a + 1];
	return true;
}

/* A switch, or (`any`) also a host without a manager. */
static uint32_t
choose_node(struct harness_run *r, uint32_t a, bool any, bool off)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if ((harness_is_switch(r, n) || (any && !is_manager(r, n))) &&
		    r->b->m->nodes[n].off == off)
			r->list[len++] = n;
	return len ? r->list[a % len] : IBNET_NONE;
}

static unsigned
end_of(const struct harness_run *r, uint32_t node)
{
	return harness_is_switch(r, node) ? 0 : 1;
}

/* ---- Cables and devices ---- */

static bool
cable(struct harness_run *r, const struct harness_fault *f)
{
	bool host = f->kind == HARNESS_HOST_DOWN || f->kind == HARNESS_HOST_UP ||
		f->kind == HARNESS_HOST_FLAP;
	bool back = f->kind == HARNESS_LINK_UP || f->kind == HARNESS_HOST_UP;
	struct model *m = r->b->m;
	unsigned port;
	uint32_t node;

	if (!choose_cable(r, f->a, host, back ? CABLE_DOWN : CABLE_UP, &node, &port))
		return false;
	harness_say(r, "  %s port %u", r->b->net->nodes[node].name, port);
	if (f->kind == HARNESS_LINK_FLAP || f->kind == HARNESS_HOST_FLAP)
		model_link_flap(m, node, port, MSEC(f->b % 3 ? f->b % 40 : f->b % 4000));
	else if (f->kind == HARNESS_LINK_SLOW)
		model_link_limit(m, node, port, f->b & 1 ? LINK_1X : LINK_2X, SPEED_NONE);
	else
		model_link_set(m, node, port, back);
	return true;
}

static bool
power(struct harness_run *r, const struct harness_fault *f)
{
	bool host = f->kind == HARNESS_HOST_REBOOT;
	uint32_t node = IBNET_NONE, tries = 0;

	while (node == IBNET_NONE && tries < 50) {
		node = choose_node(r, f->a + tries++, host, f->kind == HARNESS_SWITCH_ON);
		if (node == IBNET_NONE)
			return false;
		if (host == harness_is_switch(r, node))
			node = IBNET_NONE;
	}
	if (node == IBNET_NONE)
		return false;
	harness_say(r, "  %s", r->b->net->nodes[node].name);
	r->ports[node].restless = true;
	if (f->kind == HARNESS_SWITCH_OFF || f->kind == HARNESS_SWITCH_ON)
		model_power(r->b->m, node, f->kind == HARNESS_SWITCH_ON);
	else
		model_reboot(r->b->m, node);
	return true;
}

/*
 * Two cables swap their far ends, by a hand that takes its time. What is sent to one device at that
 * moment may get to another for all that, addresses too: nobody can help it. Connections of a host
 * do not outlast it.
 */
static bool
moved(struct harness_run *r, const struct harness_fault *f)
{
	bool host = f->kind == HARNESS_HOST_MOVED;
	struct model *m = r->b->m;
	const struct sim_port *p, *q;
	uint32_t one, other, far, far2;
	unsigned port, other_port, far_port, far2_port;

	if (!choose_cable(r, f->a, host, CABLE_UP, &one, &port) ||
	    !choose_cable(r, f->b, host, CABLE_UP, &other, &other_port))
		return false;
	p = &m->nodes[one].ports[port];
	q = &m->nodes[other].ports[other_port];
	far = p->peer;
	far2 = q->peer;
	far_port = p->peer_port;
	far2_port = q->peer_port;
	/* No cable from a switch to itself. */
	if (one == other || far == far2 || one == far2 || other == far)
		return false;
	harness_say(r, "  %s port %u and %s port %u", r->b->net->nodes[one].name, port,
		    r->b->net->nodes[other].name, other_port);
	model_link_set(m, one, port, false);
	model_link_set(m, other, other_port, false);
	harness_wait(r, HAND, NULL);
	model_recable(m, one, port, far2, far2_port);
	model_recable(m, other, other_port, far, far_port);
	model_link_set(m, one, port, true);
	model_link_set(m, other, other_port, true);
	if (host) {
		harness_judge_moved(r, one);
		harness_judge_moved(r, other);
	} else {
		harness_judge_suspend(r);
	}
	r->lids_may_move = true;
	return true;
}

/* All cables between switches of two halves, by number, or a random half. */
static bool
cut(struct harness_run *r, const struct harness_fault *f)
{
	bool back = f->kind == HARNESS_REJOIN;
	uint32_t nnodes = r->b->net->nnodes;
	unsigned n = 0;

	for (uint32_t node = 0; node < nnodes; node++)
		for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++) {
			uint32_t peer = r->b->m->nodes[node].ports[p].peer;
			bool one = harness_mix(f->a, node) & 1, other;

			if (!cable_fits(r, node, p, false, back ? CABLE_DOWN : CABLE_UP))
				continue;
			other = harness_mix(f->a, peer) & 1;
			if (f->b & 1) {
				one = node < nnodes - nnodes / 4;
				other = peer < nnodes - nnodes / 4;
			}
			if (one == other && !back)
				continue;
			model_link_set(r->b->m, node, p, back);
			n++;
		}
	return n > 0;
}

/* ---- Misbehaviour ---- */

static bool
cable_misbehaves(struct harness_run *r, const struct harness_fault *f)
{
	enum model_way way = (enum model_way)(1 + f->b % 3);
	unsigned port;
	uint32_t node;

	if (!choose_cable(r, f->a, f->b % 5 == 0, CABLE_ANY, &node, &port))
		return false;
	harness_say(r, "  %s port %u", r->b->net->nodes[node].name, port);
	if (f->kind == HARNESS_LINK_LOSS)
		model_link_drop(r->b->m, node, port, way, 1000 * (f->b % 1000));
	else
		model_link_delay(r->b->m, node, port, way,
				 f->b & 1 ? MSEC(f->b % 300) : USEC(f->b % 3000));
	return true;
}

static void
device_slow(struct harness_run *r, uint32_t node, const struct harness_fault *f)
{
	struct model *m = r->b->m;

	switch (f->kind) {
	case HARNESS_LOSS:
		model_drop(m, node, 1000 * (f->b % 1000));
		return;
	case HARNESS_DELAY:
		model_delay(m, node, f->b & 1 ? MSEC(f->b % 1000) : USEC(f->b % 3000));
		return;
	case HARNESS_SLOW:
		model_slow(m, node, 1 + f->b % 500, 1 + f->b % 32);
		return;
	case HARNESS_SILENT:
		model_silence(m, node, MODEL_SILENT);
		return;
	default:
		model_silence(m, node, MODEL_HUNG);
	}
}

static void
device_refuses(struct harness_run *r, uint32_t node, const struct harness_fault *f)
{
	uint16_t attr = attrs[f->b % ATTRIBUTES], status = f->b / 64 & 1 ? 0x1c : 1;
	struct model *m = r->b->m;

	switch (f->kind) {
	case HARNESS_MUTE:
		model_mute(m, node, attr, true);
		return;
	case HARNESS_REFUSED:
		model_refuse(m, node, attr, status);
		return;
	case HARNESS_WITHHELD:
		model_fail_get(m, node, attr, status);
		return;
	default:
		model_keep(m, node, 1u << f->b % 9);
	}
}

static bool
device_misbehaves(struct harness_run *r, const struct harness_fault *f)
{
	uint32_t node = choose_node(r, f->a, true, false);

	if (node == IBNET_NONE)
		return false;
	harness_say(r, "  %s", r->b->net->nodes[node].name);
	/* What a switch keeps against the manager's will is in no proof. */
	if (f->kind == HARNESS_REFUSED || f->kind == HARNESS_KEPT)
		harness_judge_suspend(r);
	if (f->kind >= HARNESS_MUTE)
		device_refuses(r, node, f);
	else
		device_slow(r, node, f);
	return true;
}

/* What a client registers with a GUID that is another's is nobody's. */
static bool
is_client(const struct harness_run *r, uint32_t node)
{
	for (unsigned i = 0; i < HARNESS_CLIENTS; i++)
		if (r->hosts[HARNESS_SMS + i] == node)
			return true;
	return false;
}

/* A port that is up, for nobody comes across a dead cable; or the first. */
static unsigned
live_port(const struct harness_run *r, uint32_t node)
{
	for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++)
		if (model_link_is_up(r->b->m, node, p))
			return p;
	return 1;
}

static bool
twice(struct harness_run *r, const struct harness_fault *f)
{
	uint32_t node = choose_node(r, f->a, true, false), other;
	struct model *m = r->b->m;

	other = choose_node(r, f->b, true, false);
	if (node == IBNET_NONE || node == other || is_client(r, node) || is_client(r, other))
		return false;
	harness_say(r, "  %s as %s", r->b->net->nodes[node].name, r->b->net->nodes[other].name);
	r->lids_may_move = true;
	if (f->kind == HARNESS_LID_TWICE) {
		model_set_lid(m, node, end_of(r, node),
			      model_portinfo(m, other, end_of(r, other))->lid);
		r->ports[node].restless = true;
		/* As one that comes from elsewhere: a LID that changes without any link is told by
		 * nobody, and only a look at everything finds it. */
		model_link_flap(m, node, harness_is_switch(r, node) ? live_port(r, node) : 1,
				MSEC(2));
		return true;
	}
	if (f->kind == HARNESS_NODE_GUID_TWICE)
		model_set_node_guid(m, node, m->nodes[other].guid);
	else
		model_set_port_guid(m, node, end_of(r, node),
				    model_port_guid(m, other, end_of(r, other)));
	model_reboot(m, node);
	return true;
}

static bool
damaged(struct harness_run *r, const struct harness_fault *f)
{
	r->damage = 1 + f->a % 60;
	r->lids_may_move = true;
	harness_judge_suspend(r);
	return true;
}

static bool
storm(struct harness_run *r, const struct harness_fault *f)
{
	static const enum trap_number which[] = { TRAP_LOCAL_INTEGRITY, TRAP_BUFFER_OVERRUN };

	for (unsigned i = 0; i < 20; i++) {
		uint32_t node = choose_node(r, f->a + (f->b & 1 ? i : 0), true, false);

		if (node == IBNET_NONE)
			return false;
		if (f->b & 2)
			model_port_errors(r->b->m, node, 1, which[i & 1]);
		else
			model_local_change(r->b->m, node, end_of(r, node), (uint16_t)(1u << i % 3));
	}
	return true;
}

/* Once more than a manager bears. */
static bool
babble(struct harness_run *r, const struct harness_fault *f)
{
	unsigned port;
	uint32_t node;

	if (!choose_cable(r, f->a, f->b & 1, CABLE_UP, &node, &port))
		return false;
	harness_say(r, "  %s port %u", r->b->net->nodes[node].name, port);
	for (unsigned i = 0; i < BABBLES; i++) {
		if (i)
			harness_wait(r, SEC(1), NULL);
		model_port_errors(r->b->m, node, port, TRAP_LOCAL_INTEGRITY);
	}
	return true;
}

static bool
traps_lost(struct harness_run *r, const struct harness_fault *f)
{
	(void)f;
	r->traps_lost = true;
	return true;
}

static bool
description(struct harness_run *r, const struct harness_fault *f)
{
	uint32_t node = choose_node(r, f->a, true, false);

	if (node == IBNET_NONE)
		return false;
	model_set_description(r->b->m, node, f->b & 1 ? "other" : "");
	return true;
}

/* ---- Managers ---- */

/* One that runs, or does not. */
static struct harness_sm *
choose_sm(struct harness_run *r, uint32_t a, bool runs)
{
	for (unsigned i = 0; i < r->nsms; i++) {
		struct harness_sm *h = &r->sms[(a + i) % r->nsms];

		if ((h->sm->s != NULL) == runs)
			return h;
	}
	return NULL;
}

static void
forget(struct harness_run *r, struct harness_sm *h)
{
	store_close(h->sm->store);
	h->sm->store = store_open_memory(r->b->loop);
	if ((unsigned)(h - r->sms) == r->leader)
		harness_reign(r, r->leader);
	r->commanded = 0;
	harness_judge_forget(r);
}

static bool
manager(struct harness_run *r, const struct harness_fault *f)
{
	struct harness_sm *h = choose_sm(r, f->a, f->kind != HARNESS_SM_STARTED);

	if (!h)
		return false;
	harness_say(r, "  manager %u", (unsigned)(h - r->sms));
	if (f->kind != HARNESS_SM_STARTED)
		harness_stop(r, h);
	if (f->kind == HARNESS_SM_AMNESIA)
		forget(r, h);
	if (f->kind != HARNESS_SM_KILLED)
		harness_start(r, h);
	return true;
}

static bool
manager_alone(struct harness_run *r, const struct harness_fault *f)
{
	struct harness_sm *h = choose_sm(r, f->a, true);

	if (!h)
		return false;
	if (f->kind == HARNESS_SM_DEAF)
		h->deaf = true;
	else
		model_link_flap(r->b->m, h->sm->node, 1, MSEC(f->b % 3 ? f->b % 60 : f->b % 8000));
	return true;
}

/* ---- Commands and configuration ---- */

static void
change_options(struct harness_run *r, struct config_subnet *c, uint32_t a)
{
	(void)r;
	c->sweep_interval = SEC(1 + a % 10);
	c->subnet_timeout = 17 + a / 16 % 3;
	c->max_smps = 1u << (2 + a / 64 % 6);
	c->hoq_life = 14 + a / 1024 % 4;
}

static void
change_lmc(struct harness_run *r, struct config_subnet *c, uint32_t a)
{
	(void)r;
	c->lmc = a % 3;
}

static void
change_engine(struct harness_run *r, struct config_subnet *c, uint32_t a)
{
	const char **chain = region_array(r->region, 3, sizeof(*chain));

	chain[0] = harness_engine(a);
	chain[1] = strcmp(chain[0], "updn") && strcmp(chain[0], "auto") ? "updn" : NULL;
	c->routing.engines = chain;
}

static bool
reload(struct harness_run *r, const struct harness_fault *f)
{
	switch (f->kind) {
	case HARNESS_RELOAD:
		harness_reload(r, change_options, f->a, STAGE_PUSH);
		return true;
	case HARNESS_RELOAD_LMC:
		r->lids_may_move = r->lmc_changed = true;
		harness_reload(r, change_lmc, f->a, STAGE_LIDS);
		return true;
	case HARNESS_RELOAD_ENGINE:
		harness_reload(r, change_engine, f->a, STAGE_ROUTING);
		return true;
	case HARNESS_RELOAD_QOS:
		r->levels = (uint8_t)(f->a % 3);
		harness_policy(r);
		return true;
	default:
		if (!r->sched->tenants)
			return false;
		r->members = harness_mix(f->a, f->b);
		harness_policy(r);
		return true;
	}
}

/* Members by command are known to the manager that took the command. */
static void
commanded(void *arg, int error, const char *text, const struct partition_report *report)
{
	struct harness_run *r = arg;

	(void)report;
	harness_say(r, "command: %d %s", error, text);
	if (!error && r->commanding >= 0)
		r->commanded ^= UINT64_C(1) << r->commanding;
	r->commanding = -1;
}

static bool
command(struct harness_run *r, const struct harness_fault *f)
{
	struct harness_sm *h = harness_master(r);
	unsigned host = 1 + f->a % 8, at = 0;
	struct part_member member = { .membership = MEMBERSHIP_FULL };
	struct partition_change c = {
		.name = "tenant", .members = &member, .nmembers = 1,
		.kind = r->commanded >> host & 1 ? PARTITION_MEMBER_REMOVE : PARTITION_MEMBER_ADD,
	};
	struct error e;

	if (!h || r->nsms > 1 || !r->sched->tenants || r->commanding >= 0 ||
	    r->members >> host & 1)
		return false;
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (!harness_is_switch(r, n) && at++ == host)
			member.guid = r->b->net->nodes[n].ports[1].guid;
	r->commanding = (int)host;
	if (member.guid && !subnet_partition(h->sm->s, &c, commanded, r, &e))
		return true;
	r->commanding = -1;
	return false;
}

static void
routed(void *arg, int error, const char *text, const struct change_report *report)
{
	(void)report;
	harness_say(arg, "command: %d %s", error, text);
}

static bool
route(struct harness_run *r, const struct harness_fault *f)
{
	struct harness_sm *h = harness_master(r);
	struct change c = { .kind = CHANGE_ROUTE };
	unsigned port;
	uint32_t node;
	struct error e;

	if (!h)
		return false;
	if (f->kind == HARNESS_REROUTE) {
		c.full = f->a & 1;
		c.engine = f->a & 6 ? NULL : harness_engine(f->b);
		return !subnet_change(h->sm->s, &c, routed, r, &e);
	}
	c.kind = f->kind == HARNESS_DRAIN ? CHANGE_DRAIN : CHANGE_UNDRAIN;
	if (c.kind == CHANGE_UNDRAIN && h->sm->s->drains.len) {
		const struct drain *d = &h->sm->s->drains.list[f->a % h->sm->s->drains.len];

		c.guid = d->guid;
		c.port = d->port;
		return !subnet_change(h->sm->s, &c, routed, r, &e);
	}
	if (!choose_cable(r, f->a, false, CABLE_UP, &node, &port))
		return false;
	c.guid = r->b->m->nodes[node].guid;
	c.port = f->b & 1 ? CHANGE_ALL_PORTS : (int)port;
	return !subnet_change(h->sm->s, &c, routed, r, &e);
}

static bool
look_round(struct harness_run *r, const struct harness_fault *f)
{
	struct harness_sm *h = choose_sm(r, f->a, true);

	if (h)
		subnet_sweep(h->sm->s);
	return h != NULL;
}

static bool
client(struct harness_run *r, const struct harness_fault *f)
{
	return harness_client_ask(r, f->a % HARNESS_CLIENTS, (enum harness_kind)f->kind, f->b);
}

/* ---- All of them ---- */

static bool
(*const faults[HARNESS_KINDS])(struct harness_run *r, const struct harness_fault *f) = {
	[HARNESS_LINK_DOWN] = cable,
	[HARNESS_LINK_UP] = cable,
	[HARNESS_LINK_FLAP] = cable,
	[HARNESS_LINK_SLOW] = cable,
	[HARNESS_HOST_DOWN] = cable,
	[HARNESS_HOST_UP] = cable,
	[HARNESS_HOST_FLAP] = cable,
	[HARNESS_HOST_REBOOT] = power,
	[HARNESS_SWITCH_OFF] = power,
	[HARNESS_SWITCH_ON] = power,
	[HARNESS_SWITCH_REBOOT] = power,
	[HARNESS_CABLE_MOVED] = moved,
	[HARNESS_HOST_MOVED] = moved,
	[HARNESS_CUT] = cut,
	[HARNESS_REJOIN] = cut,
	[HARNESS_LOSS] = device_misbehaves,
	[HARNESS_LINK_LOSS] = cable_misbehaves,
	[HARNESS_DELAY] = device_misbehaves,
	[HARNESS_REORDER] = cable_misbehaves,
	[HARNESS_SLOW] = device_misbehaves,
	[HARNESS_SILENT] = device_misbehaves,
	[HARNESS_HUNG] = device_misbehaves,
	[HARNESS_MUTE] = device_misbehaves,
	[HARNESS_REFUSED] = device_misbehaves,
	[HARNESS_WITHHELD] = device_misbehaves,
	[HARNESS_KEPT] = device_misbehaves,
	[HARNESS_DAMAGED] = damaged,
	[HARNESS_NODE_GUID_TWICE] = twice,
	[HARNESS_PORT_GUID_TWICE] = twice,
	[HARNESS_LID_TWICE] = twice,
	[HARNESS_TRAP_STORM] = storm,
	[HARNESS_BABBLE] = babble,
	[HARNESS_TRAPS_LOST] = traps_lost,
	[HARNESS_DESCRIPTION] = description,
	[HARNESS_SM_RESTART] = manager,
	[HARNESS_SM_AMNESIA] = manager,
	[HARNESS_SM_KILLED] = manager,
	[HARNESS_SM_STARTED] = manager,
	[HARNESS_SM_PORT_LOST] = manager_alone,
	[HARNESS_SM_DEAF] = manager_alone,
	[HARNESS_JOIN] = client,
	[HARNESS_LEAVE] = client,
	[HARNESS_SERVICE] = client,
	[HARNESS_SERVICE_ENDS] = client,
	[HARNESS_SUBSCRIBE] = client,
	[HARNESS_UNSUBSCRIBE] = client,
	[HARNESS_ALIAS] = client,
	[HARNESS_ALIAS_ENDS] = client,
	[HARNESS_RELOAD] = reload,
	[HARNESS_RELOAD_LMC] = reload,
	[HARNESS_RELOAD_ENGINE] = reload,
	[HARNESS_RELOAD_QOS] = reload,
	[HARNESS_PARTITION] = reload,
	[HARNESS_PARTITION_COMMAND] = command,
	[HARNESS_DRAIN] = route,
	[HARNESS_UNDRAIN] = route,
	[HARNESS_REROUTE] = route,
	[HARNESS_SWEEP] = look_round,
	[HARNESS_AR_REFUSED] = harness_adaptive_fault,
	[HARNESS_AR_WITHHELD] = harness_adaptive_fault,
	[HARNESS_AR_MUTE] = harness_adaptive_fault,
	[HARNESS_AR_LOST] = harness_adaptive_fault,
	[HARNESS_AR_LATE] = harness_adaptive_fault,
	[HARNESS_AR_KEPT] = harness_adaptive_fault,
	[HARNESS_AR_REBOOT] = harness_adaptive_fault,
	[HARNESS_AR_CLEARED] = harness_adaptive_fault,
};

bool
harness_inject(struct harness_run *r, const struct harness_fault *f)
{
	return faults[f->kind](r, f);
}

/* ---- And its end ---- */

static void
calm_node(struct harness_run *r, uint32_t node)
{
	struct sim_node *n = &r->b->m->nodes[node];
	struct model *m = r->b->m;
	/* What kept a field against the manager's will is not asked again until it is another; nor
	 * is what says that it does not route adaptively. */
	bool other = n->guid != n->ib->guid || (n->keep & ~HARNESS_AR_KEEPS) ||
		harness_adaptive_calm(r, node);

	model_silence(m, node, MODEL_ANSWERS);
	for (size_t i = 0; i < ATTRIBUTES; i++) {
		model_mute(m, node, attrs[i], false);
		model_refuse(m, node, attrs[i], 0);
		model_fail_get(m, node, attrs[i], 0);
	}
	model_drop(m, node, 0);
	model_delay(m, node, 0);
	model_slow(m, node, 0, 0);
	model_keep(m, node, 0);
	for (unsigned p = 0; p <= n->nports; p++) {
		if (p && n->ports[p].faults) {
			model_link_drop(m, node, p, MODEL_OUT, 0);
			model_link_delay(m, node, p, MODEL_OUT, 0);
		}
		if (n->ports[p].guid != n->ib->ports[p].guid) {
			model_set_port_guid(m, node, p, n->ib->ports[p].guid);
			other = true;
		}
	}
	if (!other)
		return;
	model_set_node_guid(m, node, n->ib->guid);
	r->ports[node].restless = true;
	model_reboot(m, node);
}

static bool
is_moved(const struct harness_run *r, uint32_t node, unsigned port)
{
	return r->b->m->nodes[node].ports[port].peer != r->b->net->nodes[node].ports[port].peer;
}

/* Cables that were moved are unplugged. */
static bool
unplug_moved(struct harness_run *r, uint32_t node)
{
	bool moved = false;

	for (unsigned p = 1; p <= r->b->net->nodes[node].nports; p++)
		if (is_moved(r, node, p)) {
			model_link_set(r->b->m, node, p, false);
			moved = true;
		}
	return moved;
}

/* They are in a hand yet, and whatever was told meanwhile of where they were helps nobody. */
static void
forget_moved(struct harness_run *r)
{
	harness_wait(r, HAND, NULL);
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (!harness_is_switch(r, n) && is_moved(r, n, 1))
			harness_judge_moved(r, n);
}

/* Who was led to believe what is not true is told to look again, at devices that were reset. */
static void
look_again(struct harness_run *r)
{
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (!is_manager(r, n) && !r->b->m->nodes[n].off) {
			r->ports[n].restless = true;
			model_reboot(r->b->m, n);
		}
	harness_wait(r, HAND, NULL);
	for (unsigned i = 0; i < r->nsms; i++)
		if (r->sms[i].sm->s)
			subnet_sweep(r->sms[i].sm->s);
}

void
harness_calm(struct harness_run *r, bool all)
{
	bool alive = false, moved = false, damaged = r->damage > 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++) {
		calm_node(r, n);
		if (all && r->b->m->nodes[n].off)
			r->ports[n].restless = true;
		if (all && unplug_moved(r, n)) {
			moved = true;
			harness_judge_suspend(r);
			r->lids_may_move = true;
		}
	}
	if (moved)
		forget_moved(r);
	if (all)
		model_heal(r->b->m, MODEL_ALL);
	r->traps_lost = false;
	r->damage = 0;
	for (unsigned i = 0; i < r->nsms; i++) {
		r->sms[i].deaf = false;
		alive |= r->sms[i].sm->s != NULL;
	}
	for (unsigned i = 0; i < r->nsms; i++)
		if (all || !alive)
			harness_start(r, &r->sms[i]);
	if (damaged)
		look_again(r);
}
