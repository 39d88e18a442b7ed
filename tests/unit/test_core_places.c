/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "tests/unit/conf_help.h"
#include "tests/unit/core_bed.h"

/*
 * Two devices change places while a subnet manager programs them: with each request of a bring-up,
 * of a restart and of a return, at once or by a hand that takes its time. The links are up again
 * before the next request, and an answer does not say whose it is. All the same nobody has a key of
 * others on a link that carries traffic, no link between switches carries traffic that leads
 * elsewhere than is known, nobody is said to have another's GUID, and in the end each device holds
 * what is meant for it, without an administrator's help. Nor does a host lack its keys that is
 * reset with any request.
 */
#define BOUND SEC(40)		/* light sweeps come every 10 s */
#define KEY 0x42		/* of a partition with one member, the host in the first place */
#define PLACES 600u		/* more than there are requests */

struct exchange {
	const char *fabric;		/* the recipe */
	const char *near[2];		/* two nodes, */
	const char *far[2];		/* and what is behind them, which is exchanged */
	void (*cause)(struct bed_sm *sm, const struct exchange *c);	/* requests follow */
	monotime hand;			/* how long the cables hang loose */
	bool reset;			/* they stay where they are, and are reset */
};

struct run {
	const struct exchange *c;		/* what happens, */
	unsigned at;			/* with which request */
	unsigned seen;			/* requests so far */
	bool armed;			/* they are counted */
	struct bed_sm *sm;		/* whose */
	struct config *policy;		/* who may have the key */
	uint32_t near[2], far[2];	/* nodes */
	unsigned near_port[2], far_port[2];	/* and their ports */
	uint32_t member;		/* who is in the partition */
};

/* ---- What must not be ---- */

static void
look(const struct run *r)
{
	const struct bed *b = r->sm->bed;

	for (uint32_t n = bed_next(b, IBNET_CA, 0); n != IBNET_NONE;
	     n = bed_next(b, IBNET_CA, n + 1)) {
		if (n == r->member || model_portinfo(b->m, n, 1)->state != PORT_ACTIVE)
			continue;
		for (unsigned i = 0; i < model_pkeys(b->m, n, 1); i++)
			if ((model_pkey(b->m, n, 1, i) & PKEY_NUMBER) == KEY)
				fail_msg("request %u: %s uses a key of others", r->at,
					 b->net->nodes[n].name);
	}
}

/* A link between switches that carries traffic is the one that is known. */
static void
look_at_links(const struct run *r)
{
	const struct bed *b = r->sm->bed;

	for (unsigned i = 0; i < 2; i++) {
		const struct device *d = topo_find(&r->sm->s->topo, b->net->nodes[r->near[i]].guid);
		const struct live_port *p = d ? &d->ports[r->near_port[i]] : NULL;
		uint32_t peer = b->m->nodes[r->near[i]].ports[r->near_port[i]].peer;

		if (b->net->nodes[r->far[i]].type != IBNET_SWITCH || peer == IBNET_NONE ||
		    model_portinfo(b->m, r->near[i], r->near_port[i])->state != PORT_ACTIVE)
			continue;
		if (p && p->peer && p->peer->guid != b->net->nodes[peer].guid)
			fail_msg("request %u: a link is up and not known", r->at);
	}
}

/* ---- The change ---- */

static void
plug(void *arg)
{
	struct run *r = arg;

	for (unsigned i = 0; i < 2; i++)
		model_recable(r->sm->bed->m, r->near[i], r->near_port[i], r->far[!i],
			      r->far_port[!i]);
}

static void
unplug(void *arg)
{
	struct run *r = arg;
	struct loop_timer *t;

	for (unsigned i = 0; i < 2 && r->c->reset; i++)
		model_reboot(r->sm->bed->m, r->far[i]);
	if (r->c->reset)
		return;
	for (unsigned i = 0; i < 2; i++)
		model_unplug(r->sm->bed->m, r->near[i], r->near_port[i]);
	if (!r->c->hand) {
		plug(r);
		return;
	}
	t = loop_timer_new(r->sm->bed->loop, plug, r);
	loop_timer_set(t, r->c->hand);
	bed_wait(r->sm->bed, r->c->hand + 1);
	loop_timer_free(t);
}

static bool
count(struct bed_sm *sm, struct port_mad *m)
{
	struct run *r = sm->arg;

	(void)m;
	look(r);
	look_at_links(r);
	if (!r->armed || r->seen++ < r->at)
		return true;
	r->armed = false;
	loop_stop(sm->bed->loop);
	return true;
}

static bool
arrived(struct bed_sm *sm, struct port_mad *m)
{
	(void)m;
	look(sm->arg);
	return true;
}

/* ---- Causes ---- */

static void
comes_up(struct bed_sm *sm, const struct exchange *c)
{
	const struct run *r = sm->arg;

	(void)c;
	bed_start(sm);
	subnet_set_policy(sm->s, r->policy);
}

static void
restarts(struct bed_sm *sm, const struct exchange *c)
{
	const struct run *r = sm->arg;

	(void)c;
	bed_stop(sm);
	bed_start(sm);
	subnet_set_policy(sm->s, r->policy);
}

static void
come_back(struct bed_sm *sm, const struct exchange *c)
{
	const struct run *r = sm->arg;

	(void)c;
	for (unsigned i = 0; i < 2; i++)
		model_reboot(sm->bed->m, r->far[i]);
}

/* ---- One ---- */

static void
run_new(struct run *r, const struct exchange *c, unsigned at)
{
	struct bed *b = bed_new_options(c->fabric, 1, &(struct model_options){ .train_time = 1 });
	char file[300], guid[GUID_TEXT_SIZE];

	*r = (struct run){ .c = c, .at = at, .sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1) };
	r->member = bed_node(b, c->far[0]);
	if (b->net->nodes[r->member].type == IBNET_SWITCH)
		r->member = bed_next(b, IBNET_CA, r->sm->node + 1);
	for (unsigned i = 0; i < 2; i++) {
		r->near[i] = bed_node(b, c->near[i]);
		r->far[i] = bed_node(b, c->far[i]);
		r->near_port[i] = bed_port_to(b, r->near[i], r->far[i]);
		r->far_port[i] = bed_port_to(b, r->far[i], r->near[i]);
	}
	snprintf(file, sizeof(file), "partitions:\n  - {name: default, pkey: 0x7fff, members: "
		 "[{nodes: [all]}]}\n  - {name: tenant, pkey: 0x%x, members: [{nodes: "
		 "[\"%s\"]}]}\n", KEY, guid_text(guid, b->net->nodes[r->member].ports[1].guid));
	r->policy = parse_ok(file);
	r->sm->arg = r;
	r->sm->conf.read_tables = false;
	r->sm->out = count;
	r->sm->in = arrived;
}

static bool
is_member_alone(const struct run *r)
{
	const struct bed *b = r->sm->bed;

	for (uint32_t n = bed_next(b, IBNET_CA, 0); n != IBNET_NONE;
	     n = bed_next(b, IBNET_CA, n + 1)) {
		bool has = false;

		for (unsigned i = 0; i < model_pkeys(b->m, n, 1); i++)
			has |= (model_pkey(b->m, n, 1, i) & PKEY_NUMBER) == KEY;
		if (has != (n == r->member))
			return false;
	}
	return true;
}

static bool
becomes_right(struct run *r)
{
	monotime end = loop_now(r->sm->bed->loop) + BOUND;

	do
		bed_wait(r->sm->bed, MSEC(100));
	while (!(bed_good(r->sm) && is_member_alone(r)) && loop_now(r->sm->bed->loop) < end);
	return bed_good(r->sm) && is_member_alone(r);
}

/* True while there are requests left with which they can change places. */
static bool
with_request(const struct exchange *c, unsigned at)
{
	struct run r;
	bool struck;

	run_new(&r, c, at);
	if (c->cause != comes_up) {
		comes_up(r.sm, c);
		assert_int_equal(bed_run(r.sm, BOUND), 1);
		assert_true(bed_quiet(r.sm, BOUND));
	}
	r.armed = true;
	c->cause(r.sm, c);
	bed_wait(r.sm->bed, MSEC(100));
	struck = !r.armed;
	r.armed = false;
	if (struck)
		unplug(&r);
	if (!becomes_right(&r))
		fail_msg("request %u: %s", at, r.sm->why[0] ? r.sm->why : "keys are elsewhere");
	if (r.sm->nevents[EVENT_DUPLICATE])
		fail_msg("request %u: two devices are said to have one GUID", at);
	config_free(r.policy);
	bed_free(r.sm->bed);
	return struck;
}

static void
all_requests(const struct exchange *c)
{
	unsigned at = 0;

	while (with_request(c, at) && at < PLACES)
		at++;
	assert_true(at > 20 && at < PLACES);
}

#define HOSTS .fabric = "ft2 2 2 2", .near = { "L0", "L1" }, .far = { "H0_1", "H1_0" }
#define SWITCHES .fabric = "ft2 2 3 2", .near = { "L0", "L1" }, .far = { "S0", "S1" }

static void
hosts_at_bring_up(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ HOSTS, .cause = comes_up });
}

static void
hosts_at_bring_up_by_hand(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ HOSTS, .cause = comes_up, .hand = MSEC(300) });
}

static void
hosts_at_a_restart(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ HOSTS, .cause = restarts });
	all_requests(&(struct exchange){ HOSTS, .cause = restarts, .hand = MSEC(300) });
}

static void
hosts_that_return(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ HOSTS, .cause = come_back });
	all_requests(&(struct exchange){ HOSTS, .cause = come_back, .hand = MSEC(300) });
}

static void
hosts_that_are_reset(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ HOSTS, .cause = comes_up, .reset = true });
	all_requests(&(struct exchange){ HOSTS, .cause = restarts, .reset = true });
	all_requests(&(struct exchange){ HOSTS, .cause = come_back, .reset = true });
}

static void
switches_at_bring_up(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ SWITCHES, .cause = comes_up });
	all_requests(&(struct exchange){ SWITCHES, .cause = comes_up, .hand = MSEC(300) });
}

static void
switches_at_a_restart(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ SWITCHES, .cause = restarts });
}

static void
switches_that_return(void **state)
{
	(void)state;
	all_requests(&(struct exchange){ SWITCHES, .cause = come_back });
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_at_bring_up),
		cmocka_unit_test(hosts_at_bring_up_by_hand),
		cmocka_unit_test(hosts_at_a_restart),
		cmocka_unit_test(hosts_that_return),
		cmocka_unit_test(hosts_that_are_reset),
		cmocka_unit_test(switches_at_bring_up),
		cmocka_unit_test(switches_at_a_restart),
		cmocka_unit_test(switches_that_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
