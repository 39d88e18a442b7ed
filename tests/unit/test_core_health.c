/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sm/core/subnet_i.h"
#include "tests/unit/core_tap.h"

/*
 * What is wrong with ports and devices, what is done about it, and when that ends. "ft3 4": from
 * L1_0 two cables lead up, to A1_0 and A1_1, and two down; the subnet manager sits in pod 0.
 * Ports that babble are test_core_trap.c's.
 */
#define BOUND SEC(30)
#define FALL SEC(3)		/* between two falls of a cable */
#define WELL SEC(60)		/* health.release_after */
#define TICK SEC(11)		/* of looking after what was noticed */

static unsigned
port_to(const struct bed *b, const char *node, const char *peer)
{
	return bed_port_to(b, bed_node(b, node), bed_node(b, peer));
}

/* The cable goes down and comes back so often. */
static void
flap(struct bed_sm *sm, const char *node, const char *peer, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		model_link_set(sm->bed->m, bed_node(sm->bed, node), port_to(sm->bed, node, peer),
			       false);
		bed_wait(sm->bed, FALL / 2);
		model_link_set(sm->bed->m, bed_node(sm->bed, node), port_to(sm->bed, node, peer),
			       true);
		bed_wait(sm->bed, FALL / 2);
	}
	assert_true(bed_quiet(sm, BOUND));
}

static unsigned
entries_over(const struct bed_sm *sm, const char *node, const char *peer)
{
	const struct bed *b = sm->bed;
	unsigned n = 0;

	for (uint16_t lid = 1; lid <= sm->s->plan->lids->top; lid++)
		n += model_lft(b->m, bed_node(b, node), lid) == port_to(b, node, peer);
	return n;
}

static void
wait_for(struct bed_sm *sm, enum event_type type, const char *word, monotime bound)
{
	monotime start = loop_now(sm->bed->loop);

	while (!bed_event(sm, type, word)) {
		bed_wait(sm->bed, MSEC(100));
		if (loop_now(sm->bed->loop) - start > bound)
			fail_msg("no event of \"%s\"", word);
	}
}

static struct bed_sm *
live(struct tap **t)
{
	struct bed_sm *sm = tap_live("ft3 4", t);

	bed_forget(sm);
	return sm;
}

/* Five falls in five minutes, the default, are told, once; four are not, nor five in an hour. */
static void
test_flapping(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct health_row row;

	(void)state;
	flap(sm, "L1_0", "A1_0", 4);
	bed_wait(sm->bed, TICK);
	assert_int_equal(health_rows(sm, NULL), 0);
	bed_wait(sm->bed, SEC(301));
	flap(sm, "L1_0", "A1_0", 4);
	bed_wait(sm->bed, TICK);
	assert_int_equal(health_rows(sm, NULL), 0);
	flap(sm, "L1_0", "A1_0", 3);
	assert_non_null(bed_event(sm, EVENT_HEALTH, "flaps (down 5 times in "));
	assert_int_equal(sm->nevents[EVENT_HEALTH], 1);
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.condition, "flapping");
	assert_string_equal(row.action, "none");
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	bed_wait(sm->bed, WELL + TICK);
	assert_non_null(bed_event(sm, EVENT_HEALTH, "well again"));
	assert_int_equal(health_rows(sm, NULL), 0);
	end(sm, t);
}

/* A fall that no sweep sees: the port is in INIT when it is looked at. */
static void
test_short_falls(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct bed *b = sm->bed;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		model_link_flap(b->m, bed_node(b, "L1_0"), port_to(b, "L1_0", "A1_0"), USEC(10));
		bed_wait(b, FALL);
		assert_true(bed_quiet(sm, BOUND));
	}
	wait_for(sm, EVENT_HEALTH, "flaps", TICK);
	bed_check(sm);
	end(sm, t);
}

/* Traffic is kept off until it is well, over a restart too; after a relapse for twice as long. */
static void
test_drain(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct health_row row;

	(void)state;
	sm->conf.health.flapping = ACTION_DRAIN;
	flap(sm, "L1_0", "A1_0", 6);
	wait_for(sm, EVENT_QUARANTINED, "kept off until it is well", TICK);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	bed_check(sm);
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.action, "drain");
	assert_true(row.since > 0);
	bed_wait(sm->bed, WELL + TICK);
	assert_true(bed_quiet(sm, BOUND));
	assert_non_null(bed_event(sm, EVENT_RELEASED, "well again"));
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	bed_forget(sm);
	flap(sm, "L1_0", "A1_0", 6);
	wait_for(sm, EVENT_QUARANTINED, "flaps", TICK);
	bed_wait(sm->bed, WELL + TICK);
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	bed_wait(sm->bed, WELL);
	assert_true(bed_quiet(sm, BOUND));
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	flap(sm, "L1_0", "A1_0", 6);
	wait_for(sm, EVENT_QUARANTINED, "flaps", TICK);
	assert_true(bed_quiet(sm, BOUND));
	bed_stop(sm);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.condition, "flapping");
	bed_wait(sm->bed, WELL + TICK);
	assert_true(bed_quiet(sm, BOUND));
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	end(sm, t);
}

static void
on_answer(void *arg, int error, const char *text, const struct change_report *report)
{
	(void)report;
	if (error)
		fail_msg("%s", text);
	*(bool *)arg = true;
}

static void
undrain(struct bed_sm *sm, const char *node, const char *peer)
{
	struct change c = {
		.kind = CHANGE_UNDRAIN, .port = (int)port_to(sm->bed, node, peer),
		.guid = sm->bed->net->nodes[bed_node(sm->bed, node)].guid,
	};
	bool done = false;
	struct error e;

	assert_int_equal(subnet_change(sm->s, &c, on_answer, &done, &e), 0);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &done);
	assert_true(done);
	assert_true(bed_quiet(sm, BOUND));
}

/* isolate ends by an administrator alone, by the other end of the cable too. */
static void
test_isolate(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct health_row row;

	(void)state;
	sm->conf.health.flapping = ACTION_ISOLATE;
	flap(sm, "L1_0", "A1_0", 6);
	wait_for(sm, EVENT_QUARANTINED, "until `weft undrain`", TICK);
	bed_wait(sm->bed, SEC(7200));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.action, "isolate");
	undrain(sm, "A1_0", "L1_0");
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	/* What is said is true from the answer on. */
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.action, "none");
	assert_string_equal(row.left, "an administrator wants it in use");
	bed_wait(sm->bed, 2 * TICK);
	assert_int_equal(health_rows(sm, NULL), 0);
	/* It is not taken up again until it flaps again. */
	bed_forget(sm);
	bed_wait(sm->bed, SEC(600));
	assert_int_equal(sm->nevents[EVENT_QUARANTINED], 0);
	flap(sm, "L1_0", "A1_0", 6);
	wait_for(sm, EVENT_QUARANTINED, "until `weft undrain`", TICK);
	end(sm, t);
}

/* A switch that does not answer carries no traffic after a while; when it answers, it does again.
 * Leaves, whose hosts have no other way, and hosts are told of and left. */
static void
test_unresponsive(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct bed *b = sm->bed;
	struct health_row row;

	(void)state;
	sm->conf.health.unresponsive = ACTION_DRAIN;
	sm->conf.sweep_interval = SEC(2);
	subnet_sweep(sm->s);
	assert_true(bed_quiet(sm, BOUND));
	model_silence(b->m, bed_node(b, "A1_0"), MODEL_SILENT);
	wait_for(sm, EVENT_SILENT, "A1_0", SEC(60));
	assert_int_equal(health_rows(sm, NULL), 0);
	wait_for(sm, EVENT_QUARANTINED, "has not answered", SEC(60));
	bed_wait(b, SEC(5));
	assert_true(entries_over(sm, "L1_0", "A1_0") <= 1);
	assert_int_equal(health_rows(sm, &row), 1);
	assert_int_equal(row.port, 0);
	bed_wait(b, SEC(600));
	assert_int_equal(health_rows(sm, NULL), 1);
	model_heal(b->m, bed_node(b, "A1_0"));
	wait_for(sm, EVENT_RELEASED, "well again", SEC(200));
	assert_true(bed_quiet(sm, BOUND));
	assert_true(entries_over(sm, "L1_0", "A1_0") > 1);
	bed_forget(sm);
	model_silence(b->m, bed_node(b, "L1_1"), MODEL_SILENT);
	wait_for(sm, EVENT_HEALTH, "hosts are on it", SEC(120));
	assert_int_equal(sm->nevents[EVENT_QUARANTINED], 0);
	end(sm, t);
}

/* A device that refuses is told of at the third time, and is well when it does no more. */
static void
test_refusing(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct bed *b = sm->bed;

	(void)state;
	model_refuse(b->m, bed_node(b, "A1_0"), ATTR_LINEAR_FDB, 0x1c);
	model_link_set(b->m, bed_node(b, "L1_0"), port_to(b, "L1_0", "A1_0"), false);
	wait_for(sm, EVENT_HEALTH, "refuses what it is set to", SEC(60));
	assert_int_equal(sm->nevents[EVENT_HEALTH], 1);
	model_refuse(b->m, bed_node(b, "A1_0"), ATTR_LINEAR_FDB, 0);
	bed_wait(b, SEC(300));
	assert_true(bed_quiet(sm, BOUND));
	assert_non_null(bed_event(sm, EVENT_HEALTH, "well again"));
	end(sm, t);
}

/* One lane of four, where both ends have four: seen when the cable comes back, and at the start. */
static void
test_slow(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct bed *b = sm->bed;
	struct health_row row;

	(void)state;
	sm->conf.health.slow = ACTION_DRAIN;
	model_link_limit(b->m, bed_node(b, "L1_0"), port_to(b, "L1_0", "A1_0"), LINK_1X, SPEED_EDR);
	flap(sm, "L1_0", "A1_0", 1);
	wait_for(sm, EVENT_QUARANTINED, "slower than both ends", TICK);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	bed_wait(b, SEC(1000));
	assert_int_equal(health_rows(sm, &row), 1);
	assert_string_equal(row.condition, "slow");
	bed_stop(sm);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_wait(b, SEC(100));
	assert_int_equal(health_rows(sm, &row), 1);
	assert_int_equal(entries_over(sm, "L1_0", "A1_0"), 0);
	model_link_limit(b->m, bed_node(b, "L1_0"), port_to(b, "L1_0", "A1_0"), LINK_4X, SPEED_EDR);
	flap(sm, "L1_0", "A1_0", 1);
	bed_wait(b, SEC(140));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(health_rows(sm, NULL), 0);
	assert_true(entries_over(sm, "L1_0", "A1_0") > 0);
	end(sm, t);
}

/* Of what is ignored nothing is said. */
static void
test_ignore(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);

	(void)state;
	sm->conf.health.flapping = ACTION_IGNORE;
	flap(sm, "L1_0", "A1_0", 8);
	bed_wait(sm->bed, TICK);
	assert_int_equal(sm->nevents[EVENT_HEALTH], 0);
	assert_int_equal(health_rows(sm, NULL), 0);
	end(sm, t);
}

/* However much is wrong, memory has a bound, and all is forgotten when it was well for long. */
static void
test_bound(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live(&t);
	struct device *d = list_entry(sm->s->topo.devices.next, struct device, all);
	struct device fake = *d;

	(void)state;
	for (uint64_t i = 1; i <= 20000; i++) {
		fake.guid = i << 20;
		health_refused(sm->s, &fake);
	}
	assert_true(sm->s->health.len <= 8192);
	assert_true(sm->s->health.full);
	bed_wait(sm->bed, SEC(7300));
	for (uint32_t i = 0; i < sm->s->health.len; i++)
		assert_int_equal(sm->s->health.list[i].guid, 0);
	assert_false(sm->s->health.full);
	assert_int_equal(sm->s->health.by_guid.len, 0);
	end(sm, t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flapping), cmocka_unit_test(test_short_falls),
		cmocka_unit_test(test_drain), cmocka_unit_test(test_isolate),
		cmocka_unit_test(test_unresponsive), cmocka_unit_test(test_refusing),
		cmocka_unit_test(test_slow), cmocka_unit_test(test_ignore),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
