/* SPDX-License-Identifier: BSD-2-Clause */
/* Simulated faults, and the transport over them. */
#include "tests/unit/sim_bed.h"

static void
test_silence(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "1", .attr = ATTR_NODE_INFO };
	struct ask beyond = { .path = "12", .attr = ATTR_NODE_INFO };

	model_silence(r->m, A, MODEL_SILENT);
	assert_null(ask(r, info));
	must(ask(r, beyond));
	model_silence(r->m, A, MODEL_HUNG);
	assert_null(ask(r, beyond));
	model_silence(r->m, A, MODEL_ANSWERS);
	must(ask(r, info));
	model_mute(r->m, A, ATTR_NODE_INFO, true);
	assert_null(ask(r, info));
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_SWITCH_INFO }));
	model_mute(r->m, A, ATTR_NODE_INFO, false);
	must(ask(r, info));
	assert_int_equal(model_count(r->m, A, MAD_GET, ATTR_NODE_INFO), 4);
	assert_int_equal(model_count(r->m, MODEL_ALL, MAD_GET, ATTR_NODE_INFO), 5);
	assert_int_equal(model_sent(r->m), 7);
	model_count_reset(r->m);
	assert_int_equal(model_count(r->m, A, MAD_GET, ATTR_NODE_INFO), 0);
}

static void
test_lies(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	struct portinfo p;
	uint8_t data[SMP_DATA_SIZE] = { 0 };
	struct ask lft = { .path = "1", .method = MAD_SET, .attr = ATTR_LINEAR_FDB, .data = data };

	model_refuse(r->m, A, ATTR_LINEAR_FDB, MAD_STATUS_BAD_FIELD);
	assert_int_equal(ask(r, lft)->h.status, MAD_STATUS_BAD_FIELD);
	assert_int_equal(model_lft(r->m, A, 1), LFT_NO_PORT);
	model_refuse(r->m, A, ATTR_LINEAR_FDB, 0);
	model_keep(r->m, A, MODEL_KEEP_LFT);
	assert_int_equal(must(ask(r, lft))->data[1], LFT_NO_PORT);
	model_keep(r->m, A, 0);
	assert_int_equal(must(ask(r, lft))->data[1], 0);
	model_keep(r->m, H2, MODEL_KEEP_SM_SL | MODEL_KEEP_SUBNET_TIMEOUT);
	p = get_port(r, "124", 0);
	p.lid = p.sm_lid = 1;
	p.sm_sl = 5;
	p.subnet_timeout = 3;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	p = get_port(r, "124", 0);
	assert_int_equal(p.sm_sl, 0);
	assert_int_equal(p.subnet_timeout, 18);
	assert_int_equal(p.lid, 1);
	model_lie_local_port(r->m, A, 9);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "1",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.local_port, 9);
	model_set_node_guid(r->m, B, 0xa0);
	model_set_port_guid(r->m, B, 0, 0xa1);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "12",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0xa0);
	assert_int_equal(n.port_guid, 0xa1);
}

static void
test_time(void **state)
{
	struct rig *r = *state;
	struct ask info = { .path = "12", .attr = ATTR_NODE_INFO };

	/* Two hops out at 1 us, 10 us in the SMA, two hops back. */
	send_from(r, r->c1, &info);
	run(r, USEC(13));
	assert_int_equal(r->in1.n, 0);
	run(r, USEC(1));
	assert_int_equal(r->in1.n, 1);
	/* The SMA does one after the other. */
	send_from(r, r->c1, &info);
	send_from(r, r->c1, &info);
	run(r, USEC(23));
	assert_int_equal(r->in1.n, 2);
	run(r, USEC(1));
	assert_int_equal(r->in1.n, 3);
	model_delay(r->m, B, MSEC(300));
	send_from(r, r->c1, &info);
	run(r, MSEC(300));
	assert_int_equal(r->in1.n, 3);
	run(r, USEC(14));
	assert_int_equal(r->in1.n, 4);
}

static void
test_drop(void **state)
{
	struct rig *r = *state;
	unsigned answers = 0;

	model_drop(r->m, A, 500000);
	for (unsigned i = 0; i < 400; i++)
		answers += ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }) != NULL;
	/* Half of the requests times half of the answers: 100, standard deviation 8.7. */
	assert_in_range(answers, 60, 140);
	model_drop(r->m, MODEL_ALL, 1000000);
	assert_null(ask(r, (struct ask){ .path = "", .attr = ATTR_NODE_INFO }));
	model_drop(r->m, MODEL_ALL, 0);
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
}

static void
test_links(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;

	model_link_set(r->m, H1, 1, false);
	assert_null(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
	assert_int_equal(r->in1.changes, 1);
	assert_false(model_link_is_up(r->m, H1, 1));
	assert_int_equal(get_port(r, "", 1).state, PORT_DOWN);
	model_link_set(r->m, H1, 1, true);
	run(r, MSEC(2));
	assert_int_equal(r->in1.changes, 2);
	assert_true(model_link_is_up(r->m, H1, 1));
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_NODE_INFO }));
	/* h2 moves from B[4] to A[4]; then A[2] and A[3] change places. */
	model_recable(r->m, H2, 1, A, 4);
	run(r, MSEC(2));
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "14",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x20);
	assert_false(model_link_is_up(r->m, B, 4));
	model_recable(r->m, A, 2, B, 2);
	model_recable(r->m, A, 3, B, 1);
	run(r, MSEC(2));
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "12",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.local_port, 2);
}

static void
test_reboot(void **state)
{
	struct rig *r = *state;

	bring_up(r);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	model_reboot(r->m, B);
	assert_null(ask(r, (struct ask){ .path = "12", .attr = ATTR_NODE_INFO }));
	run(r, MSEC(5));
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "12", 0).lid, 0);
	assert_int_equal(get_port(r, "12", 4).state, PORT_INIT);
	assert_int_equal(get_switch(r, "12").linear_fdb_top, 0);
	assert_true(get_switch(r, "12").port_state_change);
	assert_int_equal(model_lft(r->m, B, 2), LFT_NO_PORT);
	assert_int_equal(model_lft(r->m, A, 2), 2);
}

/* ---- The transport ---- */

struct user {
	struct port *port;	/* closed when `close_at` MADs have come */
	unsigned answers, timeouts, close_at;
	int state;		/* +1 up, -1 down, by the last report */
};

static void
user_receive(void *arg, const struct port_mad *m)
{
	struct user *u = arg;

	if (m->status == ERR_TIMEOUT)
		u->timeouts++;
	else
		u->answers++;
	if (u->answers + u->timeouts == u->close_at) {
		port_close(u->port);
		u->port = NULL;
	}
}

static void
user_state(void *arg, bool up, const char *why)
{
	assert_true(strlen(why) > 0);
	((struct user *)arg)->state = up ? 1 : -1;
}

static int
user_send(struct user *u, uint64_t tid, uint8_t out, uint32_t timeout_ms)
{
	struct port_mad mad = { .lid = LID_PERMISSIVE, .timeout_ms = timeout_ms };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .tid = tid, .method = MAD_GET,
		       .attr_id = ATTR_NODE_INFO, .mgmt_class = MAD_CLASS_SUBN_DIRECT },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE, .hop_count = 2,
		.path = { 0, 1, out },
	};

	smp_encode(&s, mad.mad);
	return port_send(u->port, &mad);
}

static void
test_direct(void **state)
{
	struct rig *r = *state;
	struct user u = { 0 };
	struct port_events ev = { user_receive, user_state, &u };
	struct error e;

	assert_int_equal(direct_open(&u.port, r->m, H1, 1, &ev, &e), ERR_NOT_FOUND);
	model_detach(r->c1);
	assert_int_equal(direct_open(&u.port, r->m, H1, 1, &ev, &e), 0);
	assert_int_equal(u.port->id.guid, 0x11);
	assert_int_equal(u.port->id.number, 1);
	assert_string_equal(u.port->id.name, "h1:1");
	assert_int_equal(user_send(&u, 1, 2, 100), ERR_CLOSED);
	run(r, MSEC(1));
	assert_int_equal(u.state, 1);
	assert_int_equal(user_send(&u, 1, 2, 100), 0);
	assert_int_equal(user_send(&u, 2, 4, 100), 0);		/* lost */
	assert_int_equal(user_send(&u, 2, 4, 100), ERR_BUSY);
	assert_int_equal(user_send(&u, 3, 4, 20), 0);		/* lost, and sooner given up */
	run(r, MSEC(10));
	assert_int_equal(u.answers, 1);
	run(r, MSEC(50));
	assert_int_equal(u.timeouts, 1);
	run(r, MSEC(100));
	assert_int_equal(u.timeouts, 2);
	assert_int_equal(user_send(&u, 4, 2, 0), 0);		/* nobody waits for this answer */
	run(r, MSEC(1));
	assert_int_equal(u.answers, 1);
	assert_int_equal(direct_unsolicited(u.port), 1);
	assert_int_equal(port_set_issm(u.port, true, &e), 0);
	assert_true(model_portinfo(r->m, H1, 1)->cap_mask & CAP_IS_SM);
	model_link_set(r->m, A, 1, false);
	run(r, MSEC(1));
	assert_int_equal(u.state, -1);
	assert_false(u.port->up);
	model_link_set(r->m, A, 1, true);
	run(r, MSEC(5));
	assert_int_equal(u.state, 1);
	/* Closing inside a callback, with more to come. */
	assert_int_equal(user_send(&u, 5, 4, 10), 0);
	assert_int_equal(user_send(&u, 6, 4, 10), 0);
	u.close_at = 4;
	run(r, MSEC(50));
	assert_null(u.port);
	assert_int_equal(u.timeouts, 3);
	assert_false(model_portinfo(r->m, H1, 1)->cap_mask & CAP_IS_SM);
	r->c1 = NULL;
}

/* The answer to "go down" comes over the very link, which then goes down and up again. */
static void
test_down_behind_the_answer(void **state)
{
	struct rig *r = *state;

	run(r, MSEC(5));
	assert_int_equal(set_state(r, "124", 0, PORT_ARMED), 0);
	assert_int_equal(set_state(r, "124", 0, PORT_DOWN), 0);
	assert_false(model_link_is_up(r->m, H2, 1));
	run(r, MSEC(5));
	assert_int_equal(model_portinfo(r->m, H2, 1)->state, PORT_INIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_silence), TEST(test_lies), TEST(test_time), TEST(test_drop),
		TEST(test_links), TEST(test_reboot), TEST(test_direct),
		TEST(test_down_behind_the_answer),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
