/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * A live fabric changes: cables, hosts, switches. What is noticed, by which means, at what cost,
 * and that the fabric is good again afterwards.
 */
#define BOUND SEC(20)

/* A port's second trap may have to wait for its SubnetTimeOut, 1.07 s. */
static void
settle(struct bed_sm *sm)
{
	bed_wait(sm->bed, MSEC(1300));
	assert_true(bed_quiet(sm, BOUND));
}

/* The port of `node` that is cabled to `peer` in the file. */
static void
cable(const struct bed *b, const char *one, const char *other, bool up)
{
	uint32_t n = bed_node(b, one);

	model_link_set(b->m, n, bed_port_to(b, n, bed_node(b, other)), up);
}

static void
all_cables(const struct bed *b, const char *node, bool up)
{
	uint32_t n = bed_node(b, node);

	for (unsigned p = 1; p <= b->net->nodes[n].nports; p++)
		model_link_set(b->m, n, p, up);
}

/* H11: the process starts again on a fabric that works: it reads, and writes nothing. */
static void
restart_writes_nothing(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;
	unsigned before = reregisters(b);

	(void)state;
	for (int round = 0; round < 2; round++) {
		bed_stop(sm);
		tap_clear(t);
		bed_start(sm);
		assert_int_equal(bed_run(sm, BOUND), 1);
		bed_check(sm);
		assert_int_equal(tap_sets(t), 0);
		/* 16 hosts and 20 switches: one block of LIDs, read from each of 20 switches. */
		assert_int_equal(tap_count(t, MAD_GET, ATTR_LINEAR_FDB), 20);
	}
	assert_int_equal(reregisters(b), before);
	assert_int_equal(before, 16);
	/* The records are lost too: ports keep what they hold. Who served the hosts before is not
	 * known then; they are asked to register again, once. */
	bed_stop(sm);
	store_close(sm->store);
	sm->store = store_open_memory(b->loop);
	tap_clear(t);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(tap_sets(t), reregisters(b) - before);
	assert_int_equal(reregisters(b), before + 16);
	end(sm, t);
}

/* A restart on a fabric that somebody damaged writes what differs. */
static void
restart_mends(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;

	(void)state;
	bed_stop(sm);
	model_reboot(b->m, bed_node(b, "A1_0"));
	bed_wait(b, MSEC(50));
	tap_clear(t);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(tap_count(t, MAD_SET, ATTR_SWITCH_INFO), 5);	/* and its neighbours */
	end(sm, t);
}

/* An idle fabric costs a SwitchInfo a switch and our own PortInfo. */
static void
idle_light_sweep(void **state)
{
	struct tap *t;
	struct bed *b = bed_new("ft3 8", 1);
	struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0_0"), 1);

	(void)state;
	t = tap_new(sm);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	for (int i = 0; i < 3; i++) {
		tap_clear(t);
		bed_wait(b, SEC(10) + MSEC(100));
		assert_int_equal(tap_count(t, MAD_GET, ATTR_SWITCH_INFO), 80);
		assert_true(tap_count(t, MAD_GET, ATTR_PORT_INFO) <= 1);
		assert_true(tap_requests(t) <= 81);
	}
	end(sm, t);
}

/* Each trap is answered once, and does not come again. */
static void
traps_are_repressed(const struct tap *t)
{
	unsigned traps = 0;

	for (size_t i = 0; i < t->len; i++) {
		const struct smp *trap = &t->log[i].smp;
		bool answered = false;

		if (!t->log[i].in || trap->h.method != MAD_TRAP)
			continue;
		traps++;
		for (size_t k = i + 1; k < t->len && !answered; k++)
			answered = t->log[k].smp.h.method == MAD_TRAP_REPRESS &&
				   !t->log[k].in && t->log[k].smp.h.tid == trap->h.tid;
		assert_true(answered);
	}
	assert_true(traps > 0);
}

/* What a cable between switches may cost: both ends are read, nothing else; and whoever is behind
 * `cables` is asked for. */
static void
cheap(const struct tap *t, unsigned cables, unsigned ports)
{
	assert_true(tap_count(t, MAD_GET, ATTR_NODE_INFO) <= cables);
	assert_true(tap_count(t, MAD_GET, ATTR_SWITCH_INFO) <= 4);
	assert_true(tap_count(t, MAD_GET, ATTR_PORT_INFO) <= ports);
	assert_true(tap_count(t, MAD_GET, ATTR_LINEAR_FDB) == 0);
}

static void
cable_by_trap(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 8", &t);
	struct bed *b = sm->bed;
	unsigned before = reregisters(b);

	(void)state;
	cable(b, "A1_2", "C8", false);
	settle(sm);
	bed_check(sm);
	/* Two switches of 8 ports, twice at most, and our own port. They tell for the first time
	 * since their links were brought up that one came or went: who is behind the others is
	 * asked and read too. */
	cheap(t, 16, 33 + 14);
	traps_are_repressed(t);
	assert_int_equal(sm->nevents[EVENT_LINK_DOWN], 1);
	tap_clear(t);
	cable(b, "A1_2", "C8", true);
	settle(sm);
	bed_check(sm);
	cheap(t, 2, 33);
	assert_int_equal(sm->nevents[EVENT_LINK_UP], 1);
	assert_int_equal(reregisters(b), before);
	tap_clear(t);
	bed_wait(b, SEC(10));
	assert_int_equal(t->len, 0);
	end(sm, t);
}

/* From the trap until the tables are in, the subnet is not up to those who wait for it. */
static void
not_up_meanwhile(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	unsigned looks = 0;
	struct subnet_status st;

	(void)state;
	cable(sm->bed, "L1_0", "A1_1", false);
	while (sm->s->plan->fabric->nlinks == 48 && looks < 100000) {
		bed_wait(sm->bed, USEC(20));
		if (!tap_count(t, MAD_TRAP_REPRESS, ATTR_NOTICE) ||
		    sm->s->plan->fabric->nlinks != 48)
			continue;
		subnet_status(sm->s, &st);
		assert_false(st.up);
		looks++;
	}
	assert_int_equal(sm->s->plan->fabric->nlinks, 47);
	assert_true(looks > 10);
	settle(sm);
	subnet_status(sm->s, &st);
	assert_true(st.up);
	/* A look that is due says nothing of a change. */
	subnet_want_sweep(sm->s, SWEEP_LIGHT);
	for (looks = 0; sm->s->stage != SUBNET_SWEEP && looks < 1000; looks++)
		bed_wait(sm->bed, USEC(20));
	assert_int_equal(sm->s->stage, SUBNET_SWEEP);
	subnet_status(sm->s, &st);
	assert_true(st.up);
	end(sm, t);
}

static void
cable_by_light_sweep(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;

	(void)state;
	sm->conf.sweep_interval = SEC(10);
	bed_sweep(sm, BOUND);
	t->drop_traps = true;
	for (int i = 0; i < 3; i++) {
		tap_clear(t);
		cable(b, "A1_0", "C1", i % 2);
		bed_wait(b, SEC(11));
		assert_true(bed_quiet(sm, BOUND));
		bed_check(sm);
		assert_int_equal(tap_count(t, MAD_GET, ATTR_NODE_DESCRIPTION), 0);
		/* From both ends, and before it carries traffic. */
		assert_true(tap_count(t, MAD_GET, ATTR_NODE_INFO) <= 3);
	}
	end(sm, t);
}

/* How often the fabric was programmed since the events were forgotten. */
static unsigned
repairs(const struct bed_sm *sm)
{
	unsigned n = 0;

	for (uint64_t i = event_oldest(sm->events); i <= event_last(sm->events); i++)
		n += strstr(event_get(sm->events, i)->text, " is up: ") != NULL;
	return n;
}

/* Several faults of one instant are one repair. */
static void
one_repair(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;

	(void)state;
	cable(b, "A1_0", "C1", false);
	cable(b, "A2_1", "C2", false);
	cable(b, "L0_1", "A0_1", false);
	cable(b, "L3_0", "H3_0_1", false);
	settle(sm);
	bed_check(sm);
	assert_int_equal(repairs(sm), 1);
	assert_int_equal(sm->nevents[EVENT_LINK_DOWN], 4);
	assert_int_equal(sm->nevents[EVENT_NODE_DOWN], 1);
	bed_forget(sm);
	cable(b, "A1_0", "C1", true);
	cable(b, "A2_1", "C2", true);
	cable(b, "L0_1", "A0_1", true);
	cable(b, "L3_0", "H3_0_1", true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(repairs(sm), 1);
	end(sm, t);
}

/* A host goes and returns: its LID stays, it registers again once, and nobody else does. */
static void
host_goes_and_returns(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 2 3", &t);
	struct bed *b = sm->bed;
	uint32_t host = bed_node(b, "H2_1");
	uint16_t lid = model_portinfo(b->m, host, 1)->lid;

	(void)state;
	cable(b, "L2", "H2_1", false);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->ncas, 8);
	assert_non_null(bed_event(sm, EVENT_NODE_DOWN, "H2_1"));
	cable(b, "L2", "H2_1", true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->ncas, 9);
	assert_non_null(bed_event(sm, EVENT_NODE_UP, "H2_1"));
	assert_int_equal(model_portinfo(b->m, host, 1)->lid, lid);
	assert_int_equal(model_reregisters(b->m, host, 1), 2);
	assert_int_equal(reregisters(b), 10);
	end(sm, t);
}

/* A cable that flaps within one read: down and up again before anybody looks. */
static void
bounce(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 2 3", &t);
	struct bed *b = sm->bed;

	(void)state;
	cable(b, "L2", "H2_1", false);
	cable(b, "L2", "H2_1", true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(reregisters(b), 10);
	cable(b, "L2", "S1", false);
	cable(b, "L2", "S1", true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(reregisters(b), 10);
	end(sm, t);
}

static void
host_moves(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("mesh 2 2 1 2", &t);
	struct bed *b = sm->bed;
	uint32_t host = bed_node(b, "H1_1_0_0");
	uint16_t lid = model_portinfo(b->m, host, 1)->lid;

	(void)state;
	/* Ports 1 and 2 lead to hosts, 3 and 4 to other switches; 8 is free. */
	model_recable(b->m, host, 1, bed_node(b, "T0_1_0"), 8);
	settle(sm);
	bed_check(sm);
	assert_int_equal(model_portinfo(b->m, host, 1)->lid, lid);
	assert_int_equal(sm->s->plan->fabric->ncas, 8);
	/* The same without a look between: to another port of one switch. */
	t->drop_traps = true;
	model_recable(b->m, host, 1, bed_node(b, "T0_1_0"), 7);
	bed_wait(b, MSEC(100));
	t->drop_traps = false;
	bed_wait(b, SEC(5));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	end(sm, t);
}

/* Two hosts change places at one switch: all ports are up before and after. */
static void
hosts_swap(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("mesh 2 2 1 2", &t);
	struct bed *b = sm->bed;
	uint32_t one = bed_node(b, "H1_1_0_0"), two = bed_node(b, "H0_1_0_1");
	uint32_t here = bed_node(b, "T1_1_0"), there = bed_node(b, "T0_1_0");

	(void)state;
	model_recable(b->m, one, 1, there, 2);
	model_recable(b->m, two, 1, here, 1);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->ncas, 8);
	end(sm, t);
}

static void
switch_goes_and_returns(const char *fabric, const char *name, unsigned hosts)
{
	struct tap *t;
	struct bed_sm *sm = tap_live(fabric, &t);
	struct bed *b = sm->bed;
	uint32_t all = sm->s->plan->fabric->nnodes;
	uint16_t lid = model_portinfo(b->m, bed_node(b, name), 0)->lid;

	all_cables(b, name, false);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->nnodes, all - 1 - hosts);
	all_cables(b, name, true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->nnodes, all);
	assert_int_equal(model_portinfo(b->m, bed_node(b, name), 0)->lid, lid);
	/* And rebooted: its tables are lost, its cables come back at once. */
	model_reboot(b->m, bed_node(b, name));
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->nnodes, all);
	assert_int_equal(warnings(sm, ""), 0);
	end(sm, t);
}

static void
spine_goes_and_returns(void **state)
{
	(void)state;
	switch_goes_and_returns("ft2 3 2 3", "S1", 0);
	switch_goes_and_returns("ft3 4", "C2", 0);
	switch_goes_and_returns("ft3 4", "A2_0", 0);
}

static void
leaf_goes_and_returns(void **state)
{
	(void)state;
	switch_goes_and_returns("ft2 3 2 3", "L2", 3);
	switch_goes_and_returns("ft3 4", "L1_1", 2);
}

/* The switch that the subnet manager hangs on reboots: its host keeps its own port. */
static void
own_leaf_reboots(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 2 3", &t);

	(void)state;
	model_reboot(sm->bed->m, bed_node(sm->bed, "L0"));
	bed_wait(sm->bed, SEC(3));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	end(sm, t);
}

/* A leaf that nobody has seen, with all its hosts, and three traps in the middle of the sweep that
 * finds it (B9). */
static void
new_leaf_and_traps_in_the_sweep(void **state)
{
	struct tap *t;
	struct bed *b = bed_new("ft3 6", 1);
	struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0_0"), 1);

	(void)state;
	t = tap_new(sm);
	all_cables(b, "L3_1", false);
	sm->conf.sweep_interval = 0;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	all_cables(b, "L3_1", true);
	while (sm->s->stage != SUBNET_SWEEP)
		bed_wait(b, USEC(50));
	cable(b, "A0_1", "C4", false);
	bed_wait(b, USEC(20));
	cable(b, "L3_1", "A3_0", false);
	bed_wait(b, USEC(20));
	cable(b, "L3_1", "A3_0", true);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->ncas, 54);
	/* Traps that got lost come once more. */
	bed_wait(b, SEC(5));
	tap_clear(t);
	bed_wait(b, SEC(10));
	assert_int_equal(t->len, 0);
	end(sm, t);
}

/* Trap 144: the description is read again, and nothing is written. */
static void
new_description(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;
	const char *who[] = { "H2_1_0", "A1_1" };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t node = bed_node(b, who[i]), n;
		const struct fabric *f;

		tap_clear(t);
		model_set_description(b->m, node, "renamed by its owner");
		settle(sm);
		f = sm->s->plan->fabric;
		n = fabric_node_by_guid(f, b->net->nodes[node].guid);
		assert_string_equal(f->nodes[n].desc, "renamed by its owner");
		assert_int_equal(tap_count(t, MAD_GET, ATTR_NODE_DESCRIPTION), 1);
		assert_int_equal(tap_sets(t), 0);
		assert_true(tap_requests(t) <= 10);
		traps_are_repressed(t);
	}
	end(sm, t);
}

/*
 * Silent switches.
 */
static void
silent_switch(const char *name, enum model_silence how)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 3 3", &t);
	struct bed *b = sm->bed;
	uint32_t sw = bed_node(b, name);
	struct subnet_status st;

	model_silence(b->m, sw, how);
	bed_sweep(sm, SEC(60));
	/* All of it still forwards, and nothing of it was touched. */
	bed_check(sm);
	assert_int_equal(tap_sets(t), 0);
	subnet_status(sm->s, &st);
	assert_int_equal(st.nodes, 15);
	assert_true(st.silent >= 1);
	assert_true(warnings(sm, name) >= 1);
	/* A fault elsewhere is repaired around it. */
	cable(b, "L1", "S0", false);
	settle(sm);
	bed_check(sm);
	cable(b, "L1", "S0", true);
	settle(sm);
	bed_check(sm);
	/* It answers again: found by a heavy sweep, or a light one after its back-off. */
	model_silence(b->m, sw, MODEL_ANSWERS);
	tap_clear(t);
	bed_sweep(sm, SEC(60));
	settle(sm);
	bed_check(sm);
	assert_non_null(bed_event(sm, EVENT_SILENT, "answers again"));
	subnet_status(sm->s, &st);
	assert_int_equal(st.silent, 0);
	assert_int_equal(warnings(sm, ""), 0);
	assert_int_equal(tap_count(t, MAD_SET, ATTR_LINEAR_FDB), 0);
	end(sm, t);
}

static void
silent_spine(void **state)
{
	(void)state;
	silent_switch("S1", MODEL_SILENT);
}

static void
hung_spine(void **state)
{
	(void)state;
	silent_switch("S1", MODEL_HUNG);
}

static void
silent_leaf(void **state)
{
	(void)state;
	silent_switch("L2", MODEL_SILENT);
}

static void
hung_leaf(void **state)
{
	(void)state;
	silent_switch("L2", MODEL_HUNG);
}

/* Found silent by a light sweep, and found again by one. */
static void
silent_by_light_sweep(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 2 3", &t);
	struct bed *b = sm->bed;

	(void)state;
	sm->conf.sweep_interval = SEC(10);
	bed_sweep(sm, BOUND);
	model_silence(b->m, bed_node(b, "S1"), MODEL_SILENT);
	bed_wait(b, SEC(25));
	assert_int_equal(warnings(sm, "S1"), 1);
	bed_check(sm);
	model_silence(b->m, bed_node(b, "S1"), MODEL_ANSWERS);
	bed_wait(b, SEC(60));
	assert_int_equal(warnings(sm, ""), 0);
	bed_check(sm);
	end(sm, t);
}

/*
 * Changes that come between being read and being noted as read. No light sweep and no trap helps.
 */
struct race {
	struct bed *b;		/* the fabric */
	uint32_t node;		/* switch whose change bit is cleared */
	unsigned port;		/* its port that changes just before */
	bool up;		/* it comes up, or goes down */
	bool bounce;		/* down, and up again */
	bool done;		/* it happened */
	uint8_t path[2];	/* of the switch: hops 2, out ports */
};

static bool
race_lose(void *arg, const struct smp *smp, bool in)
{
	struct race *r = arg;

	if (r->done || in || smp->h.method != MAD_SET || smp->h.attr_id != ATTR_SWITCH_INFO ||
	    smp->hop_count != 2 || smp->path[2] != r->path[1])
		return false;
	r->done = true;
	model_link_set(r->b->m, r->node, r->port, r->up);
	if (r->bounce)
		model_link_set(r->b->m, r->node, r->port, !r->up);
	return false;
}

static void
race_on(bool restart, bool up, bool bounce_it)
{
	struct tap *t;
	/* Links train faster than the Set arrives. */
	struct bed *b = bed_new_options("ft2 3 2 3", 1, &(struct model_options){ .train_time = 1 });
	struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0"), 1);
	uint32_t leaf = bed_node(b, "L0"), spine = bed_node(b, "S1");
	struct race r = {
		.b = b, .node = spine, .port = bed_port_to(b, spine, bed_node(b, "L2")), .up = up,
		.bounce = bounce_it, .path = { 0, (uint8_t)bed_port_to(b, leaf, spine) },
	};

	t = tap_new(sm);
	sm->conf.sweep_interval = 0;
	if (restart) {
		bed_start(sm);
		assert_int_equal(bed_run(sm, BOUND), 1);
		bed_stop(sm);
		/* So that there is a change bit to clear. */
		cable(b, "S1", "L1", false);
		bed_wait(b, MSEC(5));
	}
	if (up)
		model_link_set(b->m, spine, r.port, false);
	bed_wait(b, MSEC(5));
	t->drop_traps = true;
	t->lose = race_lose;
	t->arg = &r;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_wait(b, SEC(2));
	assert_true(bed_quiet(sm, BOUND));
	assert_true(r.done);
	bed_check(sm);
	end(sm, t);
}

static void
link_goes_before_the_clear(void **state)
{
	(void)state;
	race_on(false, false, false);
	race_on(true, false, false);
}

static void
link_comes_before_the_clear(void **state)
{
	(void)state;
	race_on(false, true, false);
	race_on(true, true, false);
}

static void
link_bounces_before_the_clear(void **state)
{
	(void)state;
	race_on(false, false, true);
	race_on(true, false, true);
}

/* Our own cable goes and returns. */
static void
own_port_goes_and_returns(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft2 3 2 3", &t);
	struct bed *b = sm->bed;
	struct subnet_status st;

	(void)state;
	cable(b, "L0", "H0_0", false);
	bed_wait(b, SEC(2));
	subnet_status(sm->s, &st);
	assert_string_equal(st.role, "waiting");
	assert_false(st.up);
	assert_int_equal(bed_run(sm, BOUND), -1);
	cable(b, "L0", "H0_0", true);
	tap_clear(t);
	bed_wait(b, SEC(3));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(tap_count(t, MAD_SET, ATTR_LINEAR_FDB), 0);
	/* Our own cable alone: both ends ARMED, then ACTIVE. */
	assert_int_equal(tap_count(t, MAD_SET, ATTR_PORT_INFO), 4);
	assert_int_equal(reregisters(b), 10);
	/* In the middle of a sweep, of routing, of programming. */
	for (int stage = SUBNET_SWEEP; stage <= SUBNET_PUSH; stage++) {
		cable(b, "S1", "L2", stage % 2);
		subnet_sweep(sm->s);
		while ((int)sm->s->stage != stage)
			bed_wait(b, USEC(10));
		cable(b, "L0", "H0_0", false);
		bed_wait(b, SEC(1));
		cable(b, "L0", "H0_0", true);
		bed_wait(b, SEC(3));
		assert_int_equal(bed_run(sm, BOUND), 1);
		bed_check(sm);
	}
	end(sm, t);
}

/* A port that refuses must not keep the repair of others waiting. */
static void
refusal_delays_nobody(void **state)
{
	struct tap *t;
	struct bed *b = bed_new("ft2 3 2 3", 1);
	struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0"), 1);
	uint32_t bad = bed_node(b, "H2_1");

	(void)state;
	t = tap_new(sm);
	sm->conf.sweep_interval = 0;
	model_refuse(b->m, bad, ATTR_PORT_INFO, MAD_STATUS_BAD_FIELD);
	b->bad[bad] = true;
	bed_start(sm);
	bed_wait(b, SEC(70));
	cable(b, "S1", "L1", false);
	bed_wait(b, SEC(2));
	bed_check(sm);
	end(sm, t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restart_writes_nothing),
		cmocka_unit_test(restart_mends),
		cmocka_unit_test(idle_light_sweep),
		cmocka_unit_test(cable_by_trap),
		cmocka_unit_test(not_up_meanwhile),
		cmocka_unit_test(cable_by_light_sweep),
		cmocka_unit_test(one_repair),
		cmocka_unit_test(host_goes_and_returns),
		cmocka_unit_test(bounce),
		cmocka_unit_test(host_moves),
		cmocka_unit_test(hosts_swap),
		cmocka_unit_test(spine_goes_and_returns),
		cmocka_unit_test(leaf_goes_and_returns),
		cmocka_unit_test(own_leaf_reboots),
		cmocka_unit_test(new_leaf_and_traps_in_the_sweep),
		cmocka_unit_test(new_description),
		cmocka_unit_test(silent_spine),
		cmocka_unit_test(hung_spine),
		cmocka_unit_test(silent_leaf),
		cmocka_unit_test(hung_leaf),
		cmocka_unit_test(silent_by_light_sweep),
		cmocka_unit_test(link_goes_before_the_clear),
		cmocka_unit_test(link_comes_before_the_clear),
		cmocka_unit_test(link_bounces_before_the_clear),
		cmocka_unit_test(own_port_goes_and_returns),
		cmocka_unit_test(refusal_delays_nobody),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
