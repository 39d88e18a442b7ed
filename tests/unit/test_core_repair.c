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
 * How fast a fault is found and mended: no time-out may stand between a cable that went and the
 * tables without it. Faults are told by traps alone, some of which are lost.
 */
#define BOUND SEC(20)
#define AT_ONCE MSEC(5)		/* nothing was waited for */

/* The next change begins when a port may send its next trap (SubnetTimeOut, 1.07 s). */
static void
settle(struct bed_sm *sm)
{
	bed_wait(sm->bed, MSEC(1300));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	bed_forget(sm);
}

static bool
mended(const struct bed_sm *sm)
{
	return bed_event(sm, EVENT_REPAIRED, " is up: ") || bed_event(sm, EVENT_ROUTED, " is up: ");
}

/* Until the fabric is told to be up again; each stage but programming at once. */
static void
found_at_once(struct bed_sm *sm)
{
	const struct transact_counters *c = transact_counters(sm->s->transact);
	uint64_t late = c->timed_out;
	monotime start = loop_now(sm->bed->loop);

	while (!mended(sm)) {
		bed_wait(sm->bed, USEC(100));
		if (loop_now(sm->bed->loop) - start > BOUND)
			fail_msg("not mended: %s", sm->s->why_not);
		if (sm->s->stage != SUBNET_PUSH)
			assert_true(loop_now(sm->bed->loop) - start < AT_ONCE + SEC(2));
	}
	assert_true(sm->s->st.discover_ms < 5);
	assert_int_equal(c->timed_out, late);
}

/* Every cable between switches in turn, those that the subnet manager itself needs among them. */
static void
any_cable(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;
	unsigned cables = 0;

	(void)state;
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++) {
			const struct ibnet_port *port = &b->net->nodes[n].ports[p];

			if (b->net->nodes[n].type != IBNET_SWITCH || port->peer < n ||
			    b->net->nodes[port->peer].type != IBNET_SWITCH)
				continue;
			model_link_set(b->m, n, p, false);
			found_at_once(sm);
			settle(sm);
			model_link_set(b->m, n, p, true);
			found_at_once(sm);
			settle(sm);
			cables++;
		}
	}
	assert_int_equal(cables, 32);
	end(sm, t);
}

/* A cable that most ways lead over goes just when a look at everybody is due, or under way. What is
 * known to have changed is read first, so that nobody is asked over it. */
static void
when_a_look_is_due(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 16", &t);
	struct bed *b = sm->bed;
	uint32_t l0 = bed_node(b, "L0_0"), a0 = bed_node(b, "A0_0");
	const struct transact_counters *c = transact_counters(sm->s->transact);

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		monotime due = sm->s->looked + sm->s->conf->sweep_interval;
		uint64_t repeated;

		bed_wait(b, due - loop_now(b->loop) - MSEC(2) + i * USEC(500));
		repeated = c->retried;
		model_link_set(b->m, l0, bed_port_to(b, l0, a0), i % 2);
		while (!mended(sm))
			bed_wait(b, USEC(100));
		assert_true(sm->s->st.discover_ms < 250);
		if (i < 4 || i % 2)
			assert_int_equal(c->retried, repeated);
		settle(sm);
	}
	end(sm, t);
}

/* Traps of this LID are lost. */
static bool
lose_traps_of(void *arg, const struct smp *smp, bool in)
{
	const uint16_t *lid = arg;
	struct notice n;

	if (!in || smp->h.method != MAD_TRAP)
		return false;
	notice_decode(&n, smp->data);
	return n.issuer_lid == *lid;
}

/* The trap of either end is enough. */
static void
trap_of_one_end(void **state)
{
	const char *ends[2] = { "L1_0", "A1_0" };
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, ends[0]);
	uint16_t lid = model_portinfo(b->m, 0, 1)->lid;

	(void)state;
	/* The leaf's own trap must not have to go over the very cable that is lost. */
	if (model_lft(b->m, leaf, lid) == bed_port_to(b, leaf, bed_node(b, ends[1])))
		ends[1] = "A1_1";
	t->lose = lose_traps_of;
	t->arg = &lid;
	for (unsigned i = 0; i < 2; i++) {
		lid = model_portinfo(b->m, bed_node(b, ends[i]), 0)->lid;
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, ends[1])), false);
		found_at_once(sm);
		settle(sm);
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, ends[1])), true);
		found_at_once(sm);
		settle(sm);
	}
	end(sm, t);
}

/* What one cable costs beside table blocks, with switches of 8 ports: both ends are read whole, and
 * nothing else; but the first time that a switch tells that a link came or went since its links
 * were brought up, those behind them are asked who they are. */
static void
few_mads(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 8", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L3_1");
	unsigned port = bed_port_to(b, leaf, bed_node(b, "A3_2")), others;

	(void)state;
	for (int up = 0; up < 2; up++) {
		tap_clear(t);
		model_link_set(b->m, leaf, port, up);
		found_at_once(sm);
		others = tap_requests(t) - tap_count(t, MAD_SET, ATTR_LINEAR_FDB);
		assert_in_range(others, 1, up ? 40 : 40 + 2 * 8);
		settle(sm);
	}
	end(sm, t);
}

/* A whole switch goes: nobody waits for its answer. */
static void
switch_dies(void **state)
{
	static const char *const patients[] = { "A0_0", "A2_1", "C0", "C3", "L1_1" };
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;

	(void)state;
	for (unsigned i = 0; i < sizeof(patients) / sizeof(*patients); i++) {
		model_power(b->m, bed_node(b, patients[i]), false);
		found_at_once(sm);
		settle(sm);
		model_power(b->m, bed_node(b, patients[i]), true);
		bed_wait(b, MSEC(100));
		settle(sm);
	}
	end(sm, t);
}

/* No trap at all: a light sweep finds it, and does not wait either. */
static void
by_light_sweep(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L0_0");

	(void)state;
	t->drop_traps = true;
	for (int up = 0; up < 2; up++) {
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A0_1")), up);
		subnet_want_sweep(sm->s, SWEEP_LIGHT);
		found_at_once(sm);
		settle(sm);
	}
	end(sm, t);
}

/* The second cable to lose, when the first block goes out. */
struct second {
	struct bed *bed;	/* whose */
	uint32_t node;		/* at one end */
	unsigned port;		/* of it */
	unsigned blocks;	/* to wait for; 0: it was lost */
};

static void
lose_second(void *arg, const struct smp *smp, bool in)
{
	struct second *c = arg;

	if (in || smp->h.method != MAD_SET || smp->h.attr_id != ATTR_LINEAR_FDB || !c->blocks ||
	    --c->blocks)
		return;
	model_link_set(c->bed->m, c->node, c->port, false);
}

/* A cable that goes while tables are written: what was sent across it is sent again. */
static void
while_programming(void **state)
{
	static const char *const ends[][2] = {
		{ "L0_0", "A0_1" }, { "A0_1", "C5" }, { "A1_1", "L1_0" }, { "A2_0", "C0" },
	};
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 8", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L5_1");

	(void)state;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct second c = { .bed = b, .node = bed_node(b, ends[i][0]), .blocks = 3 };
		const struct transact_counters *n = transact_counters(sm->s->transact);
		uint64_t timed_out = n->timed_out;
		monotime start = loop_now(b->loop);

		c.port = bed_port_to(b, c.node, bed_node(b, ends[i][1]));
		t->saw = lose_second;
		t->arg = &c;
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A5_2")), false);
		while (c.blocks || !bed_good(sm)) {
			bed_wait(b, MSEC(1));
			assert_true(loop_now(b->loop) - start < BOUND);
		}
		assert_int_equal(n->timed_out, timed_out);
		t->saw = NULL;
		settle(sm);
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A5_2")), true);
		settle(sm);
		model_link_set(b->m, c.node, c.port, true);
		settle(sm);
	}
	end(sm, t);
}

/* The tables of all switches, for comparison. */
static uint8_t *
tables(const struct bed *b, uint16_t top)
{
	uint8_t *t = mem_array((size_t)b->net->nnodes * (top + 1u), 1);

	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (uint16_t lid = 0; lid <= top; lid++)
			if (b->net->nodes[n].type == IBNET_SWITCH)
				t[(size_t)n * (top + 1u) + lid] = model_lft(b->m, n, lid);
	return t;
}

/* Cables between switches go and come at random, a few of them in one instant, but never more than
 * `most` are gone: each time all is good again, and in the end the tables are those of the
 * beginning. Returns how many requests went unanswered for good. */
static unsigned
random_faults(unsigned most)
{
	static const char *fattree[] = { "fattree", "updn", NULL };
	struct bed *b = bed_new("ft3 4", 5);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	const struct transact_counters *c;
	uint32_t node[64], cables = 0;
	unsigned port[64], gone = 0, late;
	uint8_t *before, *after;
	bool up[64];
	uint16_t top;

	sm->conf.sweep_interval = 0;
	sm->conf.routing.engines = fattree;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	settle(sm);
	c = transact_counters(sm->s->transact);
	top = sm->s->plan->lids->top;
	before = tables(b, top);
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++) {
			uint32_t peer = b->net->nodes[n].ports[p].peer;

			if (b->net->nodes[n].type != IBNET_SWITCH || peer <= n ||
			    b->net->nodes[peer].type != IBNET_SWITCH)
				continue;
			up[cables] = true;
			node[cables] = n;
			port[cables++] = p;
		}
	assert_int_equal(cables, 32);
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = i % 3 + 1; k > 0; k--) {
			unsigned which = (unsigned)(loop_random(b->loop) % cables);

			if (up[which] && gone == most)
				continue;
			up[which] = !up[which];
			gone += up[which] ? -1u : 1;
			model_link_set(b->m, node[which], port[which], up[which]);
		}
		settle(sm);
	}
	for (unsigned i = 0; i < cables; i++)
		model_link_set(b->m, node[i], port[i], true);
	settle(sm);
	late = (unsigned)c->timed_out;
	after = tables(b, top);
	assert_memory_equal(before, after, (size_t)b->net->nnodes * (top + 1u));
	mem_free(before);
	mem_free(after);
	bed_free(b);
	return late;
}

static void
few_faults(void **state)
{
	(void)state;
	assert_int_equal(random_faults(3), 0);
}

/* So many that the fabric falls apart again and again, and traps are lost. */
static void
many_faults(void **state)
{
	(void)state;
	assert_in_range(random_faults(20), 0, 10);
}

/* A second proof follows a repair, from nothing. If it finds something else than the first one,
 * that is told, and the fabric is routed from nothing. */
static void
second_proof(void **state)
{
	static const char *fattree[] = { "fattree", NULL };
	struct tap *t;
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	uint32_t leaf = bed_node(b, "L3_0");
	struct subnet_status st;

	(void)state;
	t = tap_new(sm);
	sm->conf.sweep_interval = 0;
	sm->conf.routing.engines = fattree;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	subnet_status(sm->s, &st);
	assert_true(st.proof_whole);
	settle(sm);
	for (int lie = 0; lie < 2; lie++) {
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A3_1")), lie);
		found_at_once(sm);
		assert_true(sm->s->proof.due);
		subnet_status(sm->s, &st);
		assert_false(st.proof_whole);
		sm->s->plan->check.pairs += (unsigned)lie;
		bed_wait(b, MSEC(2500));
		subnet_status(sm->s, &st);
		assert_true(st.proof_whole && !sm->s->proof.distrust);
		assert_int_equal(sm->nevents[EVENT_UNROUTED], lie);
		assert_int_equal(sm->s->plan->check.pairs, 16 * 15);
		settle(sm);
	}
	end(sm, t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_cable),
		cmocka_unit_test(when_a_look_is_due),
		cmocka_unit_test(trap_of_one_end),
		cmocka_unit_test(few_mads),
		cmocka_unit_test(switch_dies),
		cmocka_unit_test(by_light_sweep),
		cmocka_unit_test(while_programming),
		cmocka_unit_test(second_proof),
		cmocka_unit_test(few_faults),
		cmocka_unit_test(many_faults),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
