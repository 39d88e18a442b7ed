/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of simulated devices: physical states, what training agrees on, PortStateChange, and the
 * faults of links and of whole devices. */
#include "tests/unit/sim_bed.h"

static unsigned
set_phys(struct rig *r, const char *path, uint32_t port, unsigned phys, unsigned down_default)
{
	struct portinfo p = get_port(r, path, port);

	p.state = PORT_NO_CHANGE;
	p.phys_state = (uint8_t)phys;
	p.down_default = (uint8_t)down_default;
	return set_port(r, path, port, &p);
}

/* Physical state and state of A[2] as A tells them. */
static void
check_a2(struct rig *r, unsigned phys, unsigned state)
{
	struct portinfo p = get_port(r, "1", 2);

	assert_int_equal(p.phys_state, phys);
	assert_int_equal(p.state, state);
}

static void
clear_change(struct rig *r, const char *path)
{
	struct switchinfo sw = get_switch(r, path);
	uint8_t data[SMP_DATA_SIZE];

	sw.port_state_change = true;
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	assert_false(get_switch(r, path).port_state_change);
}

/* IBA volume 2: a port that sleeps wakes when the other polls; two that sleep stay down. */
static void
test_sleep(void **state)
{
	struct rig *r = *state;

	assert_int_equal(set_phys(r, "1", 2, PHYS_SLEEP, 0), 0);
	check_a2(r, PHYS_SLEEP, PORT_DOWN);
	run(r, MSEC(3));
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
	/* The default state of a link that goes down, at both ends. */
	assert_int_equal(set_phys(r, "13", 1, 0, PHYS_SLEEP), 0);
	assert_int_equal(set_phys(r, "1", 2, 0, PHYS_SLEEP), 0);
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
	assert_int_equal(set_state(r, "1", 2, PORT_DOWN), 0);
	run(r, MSEC(3));
	check_a2(r, PHYS_SLEEP, PORT_DOWN);
	assert_int_equal(get_port(r, "13", 1).phys_state, PHYS_SLEEP);
	assert_int_equal(set_phys(r, "13", 1, PHYS_POLLING, 0), 0);
	run(r, MSEC(3));
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
	assert_int_equal(get_port(r, "1", 2).down_default, PHYS_SLEEP);
}

static void
test_disabled(void **state)
{
	struct rig *r = *state;

	assert_int_equal(set_phys(r, "1", 2, PHYS_DISABLED, 0), 0);
	assert_int_equal(set_phys(r, "13", 1, PHYS_POLLING, 0), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_DOWN), 0);
	run(r, MSEC(3));
	check_a2(r, PHYS_DISABLED, PORT_DOWN);
	model_link_set(r->m, A, 2, false);
	model_link_set(r->m, A, 2, true);
	run(r, MSEC(3));
	check_a2(r, PHYS_DISABLED, PORT_DOWN);
	/* To be disabled is forgotten with the power. */
	model_reboot(r->m, A);
	run(r, MSEC(3));
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
}

/* What a Set does to a port is no change of state for its own switch; what the links do is. */
static void
test_change_bit(void **state)
{
	struct rig *r = *state;

	clear_change(r, "1");
	clear_change(r, "13");
	assert_int_equal(set_phys(r, "1", 2, PHYS_DISABLED, 0), 0);
	assert_false(get_switch(r, "1").port_state_change);
	assert_true(get_switch(r, "13").port_state_change);
	clear_change(r, "13");
	assert_int_equal(set_phys(r, "1", 2, PHYS_POLLING, 0), 0);
	assert_false(get_switch(r, "1").port_state_change);
	run(r, MSEC(3));
	assert_true(get_switch(r, "1").port_state_change);	/* Down to Initialize */
	assert_true(get_switch(r, "13").port_state_change);
	clear_change(r, "1");
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0);
	assert_false(get_switch(r, "1").port_state_change);
}

/* New widths and speeds count when the link trains, here from 4xNDR to 1xHDR. */
static void
test_retrain(void **state)
{
	struct rig *r = *state;
	uint32_t mod = 2 | PORTINFO_MOD_EXTENDED;
	struct portinfo p = get_port(r, "1", mod);

	p.state = p.phys_state = 0;
	p.width_enabled = LINK_1X;
	p.speed_ext_enabled = 7;
	assert_int_equal(set_port(r, "1", mod, &p), 0);
	p = get_port(r, "1", mod);
	assert_int_equal(p.width_active, LINK_4X);
	assert_int_equal(portinfo_speed(&p), SPEED_NDR);
	p.state = PORT_DOWN;
	p.phys_state = PHYS_POLLING;
	assert_int_equal(set_port(r, "1", mod, &p), 0);
	run(r, MSEC(3));
	p = get_port(r, "13", 1 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(p.width_active, LINK_1X);
	assert_int_equal(portinfo_speed(&p), SPEED_HDR);
	/* 30 disables the extended speeds, 31 and 255 allow all again. */
	p = get_port(r, "1", mod);
	p.state = 0;
	p.phys_state = PHYS_POLLING;
	p.speed_ext_enabled = 30;
	assert_int_equal(set_port(r, "1", mod, &p), 0);
	run(r, MSEC(3));
	p = get_port(r, "1", mod);
	assert_int_equal(portinfo_speed(&p), SPEED_QDR);
	p.state = 0;
	p.phys_state = PHYS_POLLING;
	p.speed_ext_enabled = 31;
	p.width_enabled = 255;
	assert_int_equal(set_port(r, "1", mod, &p), 0);
	run(r, MSEC(3));
	p = get_port(r, "1", mod);
	assert_int_equal(portinfo_speed(&p), SPEED_NDR);
	assert_int_equal(p.width_active, LINK_4X);
	assert_int_equal(p.width_enabled, LINK_1X | LINK_4X);
}

static void
test_limit(void **state)
{
	struct rig *r = *state;
	uint32_t mod = 2 | PORTINFO_MOD_EXTENDED;
	struct portinfo p;

	model_link_limit(r->m, B, 1, LINK_1X, SPEED_EDR);
	run(r, MSEC(3));
	p = get_port(r, "1", mod);
	assert_int_equal(p.width_active, LINK_1X);
	assert_int_equal(portinfo_speed(&p), SPEED_EDR);
	model_link_limit(r->m, A, 2, 0, SPEED_HDR);
	run(r, MSEC(3));
	p = get_port(r, "1", mod);
	assert_int_equal(p.width_active, LINK_4X);
	assert_int_equal(portinfo_speed(&p), SPEED_HDR);
	model_heal(r->m, B);
	run(r, MSEC(3));
	p = get_port(r, "1", mod);
	assert_int_equal(portinfo_speed(&p), SPEED_NDR);
}

static void
test_flap(void **state)
{
	struct rig *r = *state;

	model_link_flap(r->m, A, 2, MSEC(10));
	check_a2(r, PHYS_POLLING, PORT_DOWN);
	run(r, MSEC(9));
	check_a2(r, PHYS_POLLING, PORT_DOWN);
	run(r, MSEC(3));
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
	/* Cut meanwhile: it stays so. */
	model_link_flap(r->m, A, 2, MSEC(10));
	model_link_set(r->m, A, 2, false);
	run(r, MSEC(30));
	check_a2(r, PHYS_POLLING, PORT_DOWN);
	model_heal(r->m, MODEL_ALL);
	run(r, MSEC(3));
	check_a2(r, PHYS_LINK_UP, PORT_INIT);
}

static void
test_power(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "12", .attr = ATTR_NODE_INFO };

	bring_up(r);
	model_power(r->m, B, false);
	assert_false(model_is_on(r->m, B));
	run(r, MSEC(5));
	assert_null(ask(r, info));
	check_a2(r, PHYS_POLLING, PORT_DOWN);
	model_power(r->m, B, true);
	run(r, MSEC(5));
	must(ask(r, info));
	assert_int_equal(get_port(r, "12", 0).lid, 0);
	assert_int_equal(model_lft(r->m, B, 2), LFT_NO_PORT);
	assert_int_equal(model_lft(r->m, A, 2), 2);
	/* A host without power hears nothing, and nothing of it is heard. */
	model_power(r->m, H1, false);
	assert_null(ask(r, (struct ask){ .path = "", .attr = ATTR_NODE_INFO }));
	assert_int_equal(model_portinfo(r->m, A, 1)->state, PORT_DOWN);
	model_heal(r->m, MODEL_ALL);
	run(r, MSEC(3));
	must(ask(r, info));
}

static unsigned
answers(struct rig *r, const char *path, unsigned n)
{
	unsigned came = 0;

	for (unsigned i = 0; i < n; i++)
		came += ask(r, (struct ask){ .path = path, .attr = ATTR_NODE_INFO }) != NULL;
	return came;
}

static void
test_link_loss(void **state)
{
	struct rig *r = *state;

	/* One way out, one way back: a quarter of 400 is 100, standard deviation 8.7. */
	model_link_drop(r->m, A, 2, MODEL_BOTH, 500000);
	assert_in_range(answers(r, "12", 400), 60, 140);
	model_link_drop(r->m, A, 2, MODEL_BOTH, 0);
	model_link_drop(r->m, A, 2, MODEL_IN, 1000000);
	assert_int_equal(answers(r, "12", 3), 0);
	assert_int_equal(model_count(r->m, B, MAD_GET, ATTR_NODE_INFO) > 3, 1);
	assert_int_equal(answers(r, "13", 3), 3);
	model_heal(r->m, B);
	assert_int_equal(answers(r, "12", 3), 3);
}

static void
test_link_delay(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "12", .attr = ATTR_NODE_INFO };

	model_link_delay(r->m, B, 1, MODEL_OUT, MSEC(7));
	send_from(r, r->c1, &info);
	run(r, MSEC(7) + USEC(13));
	assert_int_equal(r->in1.n, 0);
	run(r, USEC(1));
	assert_int_equal(r->in1.n, 1);
	model_link_delay(r->m, B, 1, MODEL_IN, MSEC(2));
	send_from(r, r->c1, &info);
	run(r, MSEC(9) + USEC(14));
	assert_int_equal(r->in1.n, 2);
}

/* 100 MADs a second, 2 may wait: of 6 that come at once 3 are done, one each 10 ms. */
static void
test_slow(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "12", .attr = ATTR_NODE_INFO };
	uint64_t lost = model_lost(r->m);

	model_slow(r->m, B, 100, 2);
	for (unsigned i = 0; i < 6; i++)
		send_from(r, r->c1, &info);
	run(r, MSEC(11));
	assert_int_equal(r->in1.n, 1);
	run(r, MSEC(10));
	assert_int_equal(r->in1.n, 2);
	run(r, MSEC(100));
	assert_int_equal(r->in1.n, 3);
	assert_int_equal(model_lost(r->m) - lost, 3);
	model_slow(r->m, B, 0, 0);
	assert_int_equal(answers(r, "12", 3), 3);
}

static void
test_wrong_answers(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "1", .attr = ATTR_NODE_INFO };

	model_fail_get(r->m, A, ATTR_NODE_INFO, MAD_STATUS_BUSY);
	assert_int_equal(ask(r, info)->h.status, MAD_STATUS_BUSY);
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_SWITCH_INFO }));
	model_refuse(r->m, A, ATTR_LINEAR_FDB, MAD_STATUS_BAD_FIELD);
	model_lie_local_port(r->m, A, 9);
	model_set_node_guid(r->m, A, 0xb0);
	model_recable(r->m, H2, 1, A, 4);
	model_heal(r->m, MODEL_ALL);
	run(r, MSEC(3));
	must(ask(r, info));
	must(ask(r, (struct ask){ .path = "124", .attr = ATTR_NODE_INFO }));
	{
		struct nodeinfo n;

		nodeinfo_decode(&n, must(ask(r, info))->data);
		assert_int_equal(n.node_guid, 0xa0);
		assert_int_equal(n.local_port, 1);
	}
	assert_false(model_link_is_up(r->m, A, 4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sleep), TEST(test_disabled), TEST(test_change_bit), TEST(test_retrain),
		TEST(test_limit), TEST(test_flap), TEST(test_power), TEST(test_link_loss),
		TEST(test_link_delay), TEST(test_slow), TEST(test_wrong_answers),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
