/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MCMemberRecord and multicast tables, over the simulated fabric: what a client may ask, join and
 * leave and with what answer (chapter 15.2.5.17, and what osmtest expects), what lasts over a
 * restart, and that a packet to a group reaches each member once and nobody else.
 */
#include "tests/unit/member_bed.h"
#include "sm/core/subnet_i.h"
#include "sm/wire/sa_rate.h"

/* ---- Rules ---- */

static void
test_broadcast(void **state)
{
	struct sa_member want = { .mgid = broadcast }, r;
	struct sa_bed b;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	assert_int_equal(sa_bed_get(&b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MGID), &r), 0);
	assert_int_equal(r.mlid, 0xc000);
	assert_int_equal(r.qkey, 0x0b1b);
	assert_int_equal(r.pkey, 0xffff);
	assert_int_equal(r.mtu, 4);
	assert_int_equal(r.mtu_selector, SA_EXACTLY);
	assert_int_equal(r.rate, 3);
	assert_int_equal(r.scope, 2);
	/* It stays when its last member leaves. */
	assert_int_equal(join(&b, &broadcast, SA_JOIN_FULL, &r), 0);
	assert_int_equal(r.join_state, SA_JOIN_FULL);
	assert_int_equal(leave(&b, &broadcast, SA_JOIN_FULL), 0);
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want, 0), 1);
	sa_bed_free(&b);
}

static void
test_create(void **state)
{
	static const struct sa_gid bad[] = {
		{ UINT64_C(0xfe12401bffff0000), 1 },		/* not multicast */
		{ UINT64_C(0xff32000000000000), 1 },		/* reserved flag */
		{ UINT64_C(0xff12a01b00000000), 1 },		/* ours to invent */
	};
	struct sa_gid none = { 0, 0 };
	struct sa_member r;
	struct sa_bed b;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	for (unsigned bit = 0; bit < 18; bit++) {
		if (!(CREATE >> bit & 1))
			continue;
		r = request(&b, &mine, SA_JOIN_FULL);
		assert_int_equal(change(&b, MAD_SET, &r, CREATE & ~SA_BIT(bit)),
				 SA_STATUS_INSUFFICIENT);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(join(&b, &bad[i], SA_JOIN_FULL, &r), SA_STATUS_INVALID);
	assert_int_equal(join(&b, &mine, SA_JOIN_NON, &r), SA_STATUS_INVALID);
	assert_int_equal(join(&b, &mine, 0, &r), SA_STATUS_INVALID);
	r = request(&b, &mine, SA_JOIN_FULL);
	r.pkey = 0x8001;
	assert_int_equal(change(&b, MAD_SET, &r, CREATE), SA_STATUS_INVALID);
	r = request(&b, &mine, SA_JOIN_FULL);
	r.port_gid.guid = 0x77;
	assert_int_equal(change(&b, MAD_SET, &r, CREATE), SA_STATUS_INVALID);
	assert_int_equal(join(&b, &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(r.mlid, 0xc001);
	assert_int_equal(r.scope, 5);
	/* A MGID of its own, and the lowest free MLID when one was given back. */
	assert_int_equal(join(&b, &none, SA_JOIN_FULL, &r), 0);
	assert_true(r.mgid.prefix >> 32 == 0xff12a01b);
	assert_int_equal(r.mlid, 0xc002);
	assert_int_equal(leave(&b, &mine, SA_JOIN_FULL), 0);
	assert_int_equal(leave(&b, &mine, SA_JOIN_FULL), SA_STATUS_INVALID);
	assert_int_equal(join(&b, &none, SA_JOIN_FULL, &r), 0);
	assert_int_equal(r.mlid, 0xc001);
	sa_bed_free(&b);
}

/* MTU 2048 and 4xEDR (100 Gb/s, code 16) is what the ports of the bed can do. */
static void
test_realizable(void **state)
{
	static const struct {
		uint8_t selector, mtu;
		uint16_t status;
		uint8_t result;
	} cases[] = {
		{ SA_EXACTLY, 3, 0, 3 }, { SA_LESS, 3, 0, 2 }, { SA_GREATER, 1, 0, 0 },
		{ SA_LESS, 1, SA_STATUS_INVALID, 0 }, { SA_GREATER, 5, SA_STATUS_INVALID, 0 },
		{ SA_EXACTLY, 7, SA_STATUS_INVALID, 0 }, { SA_BEST, 1, 0, 0 },
	};
	struct sa_member r;
	struct sa_bed b;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t most = model_portinfo(b.sm->bed->m, b.node, 1)->mtu_cap;

		r = request(&b, &mine, SA_JOIN_FULL);
		r.mtu_selector = cases[i].selector;
		r.mtu = cases[i].mtu;
		assert_int_equal(change(&b, MAD_SET, &r, CREATE | SA_BIT(SA_MEMBER_MTU) |
					SA_BIT(SA_MEMBER_MTU_SELECTOR)), cases[i].status);
		if (cases[i].status)
			continue;
		assert_int_equal(r.mtu, cases[i].result ? cases[i].result : most);
		assert_int_equal(r.mtu_selector, SA_EXACTLY);
		assert_int_equal(leave(&b, &mine, SA_JOIN_FULL), 0);
	}
	sa_bed_free(&b);
}

/* JoinState: bits come and go one by one, and each must have been there. */
static void
test_states(void **state)
{
	struct sa_member r;
	struct sa_bed b, c;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	client(&c, &b, "H2_0_0");
	assert_int_equal(join(&c, &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(join(&b, &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(join(&b, &mine, SA_JOIN_NON, &r), 0);
	assert_int_equal(r.join_state, SA_JOIN_FULL | SA_JOIN_NON);
	assert_int_equal(join(&b, &mine, SA_JOIN_SEND_ONLY_NON, &r), 0);
	assert_int_equal(r.join_state, 7);
	assert_int_equal(leave(&b, &mine, SA_JOIN_FULL), 0);
	assert_int_equal(leave(&b, &mine, SA_JOIN_FULL), SA_STATUS_INVALID);
	assert_int_equal(leave(&b, &mine, SA_JOIN_FULL | SA_JOIN_NON), SA_STATUS_INVALID);
	assert_int_equal(leave(&b, &mine, SA_JOIN_NON | SA_JOIN_SEND_ONLY_NON), 0);
	assert_int_equal(leave(&b, &mine, SA_JOIN_NON), SA_STATUS_INVALID);
	/* The last full member takes the group along, whoever else is in it. */
	assert_int_equal(join(&b, &mine, SA_JOIN_NON, &r), 0);
	assert_int_equal(leave(&c, &mine, SA_JOIN_FULL), 0);
	r = request(&b, &mine, 0);
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &r, SA_BIT(SA_MEMBER_MGID)), 0);
	client_free(&c);
	sa_bed_free(&b);
}

/* A member that joined by itself leaves by itself; one by proxy is its partition's. */
static void
test_proxy(void **state)
{
	struct sa_member r;
	struct sa_bed b, c;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	client(&c, &b, "H2_0_0");
	assert_int_equal(join(&b, &mine, SA_JOIN_FULL, &r), 0);
	assert_false(r.proxy_join);
	r = request(&b, &mine, SA_JOIN_FULL);
	assert_int_equal(change(&c, MAD_DELETE, &r, JOIN), SA_STATUS_INVALID);
	r = request(&c, &mine, SA_JOIN_FULL);
	assert_int_equal(change(&b, MAD_SET, &r, JOIN), 0);
	assert_true(r.proxy_join);
	r = request(&c, &mine, SA_JOIN_FULL);
	assert_int_equal(change(&b, MAD_DELETE, &r, JOIN), 0);
	/* What is said of the group must be so. */
	r = request(&c, &mine, SA_JOIN_FULL);
	r.qkey = 0x1234;
	assert_int_equal(change(&c, MAD_SET, &r, CREATE), SA_STATUS_INVALID);
	client_free(&c);
	sa_bed_free(&b);
}

/* The client's port is known to hold this P_Key beside the default one. */
static void
hold(struct sa_bed *c, uint16_t pkey)
{
	const uint8_t keys[SMP_DATA_SIZE] = { 0xff, 0xff, (uint8_t)(pkey >> 8), (uint8_t)pkey };
	struct topo *t = &c->sm->s->topo;
	struct device *d = topo_find(t, c->sm->bed->net->nodes[c->node].guid);

	tables_saw_pkeys(&t->tables, &d->ports[1], 0, keys);
}

/* By proxy joins and leaves only who is of the group's partition itself (o15-0.2.1). */
static void
test_proxy_partition(void **state)
{
	const struct sa_gid tenant = { UINT64_C(0xff15401b80420000), 1 };
	struct sa_bed b, c, other;
	struct sa_member r;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	client(&c, &b, "H2_0_0");
	client(&other, &b, "H3_0_0");
	hold(&b, 0x8042);
	hold(&c, 0x8042);
	r = request(&c, &tenant, SA_JOIN_FULL);
	r.pkey = 0x8042;
	assert_int_equal(change(&other, MAD_SET, &r, CREATE), SA_STATUS_INVALID);
	r = request(&c, &tenant, SA_JOIN_FULL);
	r.pkey = 0x8042;
	assert_int_equal(change(&b, MAD_SET, &r, CREATE), 0);
	assert_true(r.proxy_join);
	r = request(&b, &tenant, SA_JOIN_FULL);
	assert_int_equal(change(&other, MAD_SET, &r, JOIN), SA_STATUS_INVALID);
	r = request(&c, &tenant, SA_JOIN_FULL);
	assert_int_equal(change(&other, MAD_DELETE, &r, JOIN), SA_STATUS_INVALID);
	r = request(&c, &tenant, SA_JOIN_FULL);
	assert_int_equal(change(&b, MAD_DELETE, &r, JOIN), 0);
	client_free(&other);
	client_free(&c);
	sa_bed_free(&b);
}

/* Members are told to whoever shows the SM_Key; others are told of groups. */
static void
test_trust(void **state)
{
	struct sa_member r, want = { .mgid = mine };
	struct sa_bed b, c;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	client(&c, &b, "H2_0_0");
	assert_int_equal(join(&b, &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(join(&c, &mine, SA_JOIN_NON, &r), 0);
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MGID)), 1);
	sa_bed_record(&b, &sa_member_type, 0, &r);
	assert_true(r.port_gid.guid == 0 && r.join_state == 0);
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want, 0), 2);
	b.key = 1;
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MGID)), 2);
	want.port_gid = gid_of(&c);
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want,
				      SA_BIT(SA_MEMBER_PORT_GID)), 1);
	sa_bed_record(&b, &sa_member_type, 0, &r);
	assert_int_equal(r.join_state, SA_JOIN_NON);
	want.mlid = 0xc001;
	assert_int_equal(sa_bed_table(&b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MLID)), 2);
	client_free(&c);
	sa_bed_free(&b);
}

/* ---- Packets ---- */

static void
test_packets(void **state)
{
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(join(&w.c[4], &mine, SA_JOIN_SEND_ONLY_NON, &r), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	for (unsigned i = 0; i < 5; i++)
		expect(&w, i, r.mlid, 0x0f);
	assert_int_equal(leave(&w.c[1], &mine, SA_JOIN_FULL), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	expect(&w, 0, r.mlid, 0x0d);
	expect(&w, 4, r.mlid, 0x0d);
	crowd_free(&w);
}

/* A lost cable, and a lost switch, of the tree: it goes another way. */
static void
test_faults(void **state)
{
	struct sa_member r;
	struct crowd w;
	struct model *m;
	struct bed *bed;

	(void)state;
	crowd_up(&w);
	bed = w.first.sm->bed;
	m = bed->m;
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(bed, MSEC(100));
	expect(&w, 0, r.mlid, 0x3f);
	for (uint32_t n = 0; n < bed->net->nnodes; n++) {
		const struct ibnet_node *node = &bed->net->nodes[n];

		if (node->type != IBNET_SWITCH || node->name[0] != 'C')
			continue;
		model_power(m, n, false);
		bed_wait(bed, SEC(2));
		expect(&w, 3, r.mlid, 0x3f);
		model_power(m, n, true);
		bed_wait(bed, SEC(2));
		expect(&w, 5, r.mlid, 0x3f);
	}
	crowd_free(&w);
}

/* Members last, and the tables are there again, when another daemon takes the state up. */
static void
test_restart(void **state)
{
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	bed_stop(w.first.sm);
	bed_start(w.first.sm);
	assert_int_equal(bed_run(w.first.sm, SEC(10)), 1);
	bed_wait(w.first.sm->bed, SEC(1));
	expect(&w, 0, r.mlid, 0x07);
	assert_int_equal(join(&w.c[3], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	expect(&w, 1, r.mlid, 0x0f);
	crowd_free(&w);
}

/* Many joins of one moment are one change of each switch; equal trees are not written again. */
static void
test_storm(void **state)
{
	struct sa_member r;
	uint64_t sets;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	model_count_reset(w.first.sm->bed->m);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &broadcast, SA_JOIN_FULL, &r), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	sets = bed_count(w.first.sm->bed, MAD_SET, ATTR_MULTICAST_FDB);
	assert_true(sets > 0 && sets <= 20u * 4);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &broadcast, SA_JOIN_FULL, &r), 0);
	bed_wait(w.first.sm->bed, SEC(30));
	assert_int_equal(bed_count(w.first.sm->bed, MAD_SET, ATTR_MULTICAST_FDB), sets);
	crowd_free(&w);
}

/* 300 groups of six members each, joined at once: each of the 20 switches has 10 blocks for 300
 * MLIDs, of one position, and those are written a few times, not once a join. */
static void
test_flood(void **state)
{
	struct sa_gid mgid = { UINT64_C(0xff15401bffff0000), 0 };
	struct sa_member want = { .mgid = broadcast };
	uint64_t sets;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	model_count_reset(w.first.sm->bed->m);
	for (unsigned g = 0; g < 300; g++)
		for (unsigned i = 0; i < CLIENTS; i++) {
			mgid.guid = g;
			send_change(&w.c[i], MAD_SET, &mgid, 100000 + g * CLIENTS + i);
		}
	bed_wait(w.first.sm->bed, SEC(2));
	sets = bed_count(w.first.sm->bed, MAD_SET, ATTR_MULTICAST_FDB);
	assert_true(sets >= 20 && sets <= 4u * 20 * 10);
	w.first.key = 1;
	assert_int_equal(sa_bed_table(&w.first, &sa_member_type, &want, 0), 300 * CLIENTS);
	for (uint16_t g = 0; g < 300; g += 37)
		expect(&w, g % CLIENTS, (uint16_t)(0xc001 + g), 0x3f);
	crowd_free(&w);
}

/* What IPoIB asks on two hosts: the broadcast group, a path to the other, a group of neighbours,
 * and all of that taken back. */
static void
test_ipoib(void **state)
{
	struct sa_gid solicited = { UINT64_C(0xff12601bffff0000), UINT64_C(0x00000001ff000022) };
	uint64_t mask = CREATE | SA_BIT(SA_MEMBER_MTU) | SA_BIT(SA_MEMBER_MTU_SELECTOR) |
		SA_BIT(SA_MEMBER_RATE) | SA_BIT(SA_MEMBER_RATE_SELECTOR) |
		SA_BIT(SA_MEMBER_HOP_LIMIT);
	struct sa_member all[2], r;
	struct sa_path want, path;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	for (unsigned i = 0; i < 2; i++) {
		all[i] = request(&w.c[i], &broadcast, SA_JOIN_FULL);
		assert_int_equal(change(&w.c[i], MAD_SET, &all[i], JOIN), 0);
	}
	assert_int_equal(all[0].mlid, all[1].mlid);
	want = (struct sa_path){ .sgid = gid_of(&w.c[0]), .dgid = gid_of(&w.c[1]),
				 .numb_path = 1, .pkey = all[0].pkey };
	assert_int_equal(sa_bed_get(&w.c[0], &sa_path_type, &want, SA_BIT(SA_PATH_DGID) |
				    SA_BIT(SA_PATH_SGID) | SA_BIT(SA_PATH_NUMB_PATH) |
				    SA_BIT(SA_PATH_PKEY), &path), 0);
	assert_int_equal(path.dlid, sa_bed_lid(&w.first, "H1_1_0", 1));
	for (unsigned i = 0; i < 2; i++) {
		r = all[i];
		r.mgid = solicited;
		assert_int_equal(change(&w.c[i], MAD_SET, &r, mask), 0);
		assert_int_equal(r.mtu, all[i].mtu);
		assert_int_equal(r.rate, all[i].rate);
	}
	bed_wait(w.first.sm->bed, MSEC(100));
	expect(&w, 0, r.mlid, 0x02);
	expect(&w, 1, all[0].mlid, 0x01);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(leave(&w.c[i], &solicited, SA_JOIN_FULL), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	expect(&w, 0, r.mlid, 0);
	crowd_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_realizable),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_proxy_partition),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_ipoib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
