/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups over time: what happens when there are no more multicast LIDs, how much one port
 * may leave behind, what becomes of members whose ports are gone, and that nothing is left of
 * groups that ended. Counts are by hand; cases are named as users reported them.
 */
#include "tests/unit/member_bed.h"
#include "sm/sa/sa.h"
#include "sm/wire/sa_rate.h"

#define FEW 32	/* multicast LIDs that a switch holds, the broadcast group's among them */

static struct sa_gid
nth(unsigned n)
{
	return (struct sa_gid){ mine.prefix, n };
}

/* The group of a MGID as `weft show multicast` tells it; false: there is none. */
static bool
shown(const struct sa_bed *b, const struct sa_gid *mgid, struct multicast_row *row)
{
	for (unsigned from = 0; subnet_multicast(b->sm->s, from, row); from = row->slot + 1)
		if (row->mgid[0] == mgid->prefix && row->mgid[1] == mgid->guid)
			return true;
	return false;
}

static unsigned
ngroups(const struct sa_bed *b)
{
	struct multicast_row row;
	unsigned n = 0;

	for (unsigned from = 0; subnet_multicast(b->sm->s, from, &row); from = row.slot + 1)
		n++;
	return n;
}

static bool
warns(const struct sa_bed *b, const char *word)
{
	struct subnet_status st;

	subnet_status(b->sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		if (strstr(st.warnings[i], word))
			return true;
	return false;
}

static void
crowd_of_few(struct crowd *w)
{
	struct model_options o = { .caps = { .multicast_fdb = FEW } };

	crowd_up_options(w, &o);
}

/* ---- No more multicast LIDs ---- */

/* 31 groups have one each; five more share, and their packets get to the members of both. */
static void
test_sharing(void **state)
{
	unsigned members[FEW] = { 0 };
	struct multicast_row row;
	struct sa_gid mgid;
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_of_few(&w);
	for (unsigned i = 1; i < FEW + 5; i++) {
		mgid = nth(i);
		assert_int_equal(join(&w.c[i % 3], &mgid, SA_JOIN_FULL, &r), 0);
		assert_in_range(r.mlid, 0xc001, 0xc000 + FEW - 1);
		members[r.mlid - 0xc000]++;
	}
	for (unsigned i = 1; i < FEW; i++)
		assert_in_range(members[i], 1, 2);
	assert_true(shown(&w.first, &mgid, &row));
	assert_int_equal(row.sharing, 1);
	bed_wait(w.first.sm->bed, MSEC(100));
	assert_true(warns(&w.first, "5 multicast groups share the multicast LID of another"));
	assert_non_null(bed_event(w.first.sm, EVENT_UNROUTED, "no more multicast LIDs"));
	/* Its only member is that of the last group; the other has one that sends to it. */
	assert_int_equal(join(&w.c[5], &mgid, SA_JOIN_FULL, &r), 0);
	bed_wait(w.first.sm->bed, MSEC(100));
	for (unsigned i = 1; i < FEW; i++) {
		struct sa_gid other = nth(i);

		if (!shown(&w.first, &other, &row) || row.mlid != r.mlid)
			continue;
		expect(&w, 5, r.mlid, 1u << (FEW + 4) % 3 | 1u << i % 3 | 0x20);
	}
	crowd_free(&w);
}

/* What does not go together: another MTU; and none at all where sharing is not wanted. */
static void
test_refusal(void **state)
{
	uint64_t mask = CREATE | SA_BIT(SA_MEMBER_MTU) | SA_BIT(SA_MEMBER_MTU_SELECTOR);
	struct sa_gid mgid = nth(1000);
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_of_few(&w);
	w.first.sm->conf.multicast.share_mlids = false;
	for (unsigned i = 1; i < FEW; i++) {
		struct sa_gid other = nth(i);

		assert_int_equal(join(&w.c[0], &other, SA_JOIN_FULL, &r), 0);
	}
	assert_int_equal(join(&w.c[0], &mgid, SA_JOIN_FULL, &r), SA_STATUS_NO_RESOURCES);
	w.first.sm->conf.multicast.share_mlids = true;
	r = request(&w.c[0], &mgid, SA_JOIN_FULL);
	r.mtu = 2;
	r.mtu_selector = SA_EXACTLY;
	assert_int_equal(change(&w.c[0], MAD_SET, &r, mask), SA_STATUS_NO_RESOURCES);
	assert_int_equal(join(&w.c[0], &mgid, SA_JOIN_FULL, &r), 0);
	/* One of its own, when one is free again. */
	assert_int_equal(leave(&w.c[0], &mgid, SA_JOIN_FULL), 0);
	mgid = nth(7);
	assert_int_equal(leave(&w.c[0], &mgid, SA_JOIN_FULL), 0);
	mgid = nth(1001);
	assert_int_equal(join(&w.c[0], &mgid, SA_JOIN_FULL, &r), 0);
	assert_int_equal(r.mlid, 0xc007);
	crowd_free(&w);
}

/* Who shares a multicast LID shares it still after a restart. */
static void
test_shared_restart(void **state)
{
	struct sa_gid mgid = { 0, 0 };
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_of_few(&w);
	for (unsigned i = 1; i < FEW + 1; i++) {
		mgid = nth(i);
		assert_int_equal(join(&w.c[i % 2], &mgid, SA_JOIN_FULL, &r), 0);
	}
	bed_stop(w.first.sm);
	bed_start(w.first.sm);
	assert_int_equal(bed_run(w.first.sm, SEC(10)), 1);
	bed_wait(w.first.sm->bed, SEC(1));
	assert_int_equal(ngroups(&w.first), FEW + 1);
	assert_true(warns(&w.first, "1 multicast groups share"));
	expect(&w, FEW % 2, r.mlid, 3);
	crowd_free(&w);
}

/* Solicited nodes (RFC 4291) of one scope and P_Key have one multicast LID, where that is asked
 * for; what only looks like them has its own. */
static void
test_solicited(void **state)
{
	static const struct {
		struct sa_gid mgid;
		uint16_t mlid;
	} cases[] = {
		{ { UINT64_C(0xff12601bffff0000), UINT64_C(0x00000001ff000001) }, 0xc001 },
		{ { UINT64_C(0xff12601bffff0000), UINT64_C(0x00000001ffabcdef) }, 0xc001 },
		{ { UINT64_C(0xff15601bffff0000), UINT64_C(0x00000001ff000001) }, 0xc002 },
		{ { UINT64_C(0xff12601bffff0000), UINT64_C(0x00000001fe000001) }, 0xc003 },
		{ { UINT64_C(0xff12401bffff0000), UINT64_C(0x00000001ff000001) }, 0xc004 },
		{ { UINT64_C(0xff12601bffff0000), UINT64_C(0x00000001ff000002) }, 0xc001 },
		{ { UINT64_C(0xff12601bffff0000), 1 }, 0xc005 },
	};
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	w.first.sm->conf.multicast.share_solicited = true;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(join(&w.c[i % 2], &cases[i].mgid, SA_JOIN_FULL, &r), 0);
		assert_int_equal(r.mlid, cases[i].mlid);
	}
	bed_wait(w.first.sm->bed, MSEC(100));
	expect(&w, 0, 0xc001, 3);
	assert_false(warns(&w.first, "share the multicast LID"));
	crowd_free(&w);
}

/* A switch that comes with less room than is used already. */
static void
test_small_switch(void **state)
{
	struct model_caps small = { .multicast_fdb = 1 };
	struct sa_member r;
	struct crowd w;
	uint32_t sw;

	(void)state;
	crowd_up(&w);
	sw = bed_node(w.first.sm->bed, "C0");
	model_power(w.first.sm->bed->m, sw, false);
	bed_wait(w.first.sm->bed, SEC(2));
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	model_set_caps(w.first.sm->bed->m, sw, &small);
	model_power(w.first.sm->bed->m, sw, true);
	bed_wait(w.first.sm->bed, SEC(2));
	assert_true(warns(&w.first, "\"C0\" (0x0000000000200010) has room for 1 multicast LIDs"));
	crowd_free(&w);
}

/* ---- How much ---- */

/* M1: join with state 9, leave 1, leave 8, 1,100 times: the group is there until the last. */
static void
test_m1(void **state)
{
	struct sa_member r;
	struct sa_bed b;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	for (unsigned i = 0; i < 1100; i++) {
		struct sa_gid mgid = nth(i);

		assert_int_equal(join(&b, &mgid, SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL, &r), 0);
		assert_int_equal(r.mlid, 0xc001);
		assert_int_equal(leave(&b, &mgid, SA_JOIN_FULL), 0);
		assert_int_equal(ngroups(&b), 2);
		assert_int_equal(leave(&b, &mgid, SA_JOIN_SEND_ONLY_FULL), 0);
		assert_int_equal(ngroups(&b), 1);
	}
	sa_bed_free(&b);
}

/* A port may be in so many groups and make so many; others are not kept from it. */
static void
test_limits(void **state)
{
	struct sa_gid mgid = nth(0);
	struct sa_member r;
	struct sa_bed b, c;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	client(&c, &b, "H2_0_0");
	for (unsigned i = 1; i <= SA_GROUPS_PER_PORT; i++) {
		mgid = nth(i);
		assert_int_equal(join(&b, &mgid, SA_JOIN_FULL, &r), 0);
	}
	mgid = nth(SA_GROUPS_PER_PORT + 1);
	assert_int_equal(join(&b, &mgid, SA_JOIN_FULL, &r), SA_STATUS_NO_RESOURCES);
	assert_int_equal(join(&b, &broadcast, SA_JOIN_FULL, &r), SA_STATUS_NO_RESOURCES);
	/* What it joins for others counts as its own, and not as theirs. */
	r = request(&c, &broadcast, SA_JOIN_FULL);
	assert_int_equal(change(&b, MAD_SET, &r, JOIN), SA_STATUS_NO_RESOURCES);
	assert_int_equal(join(&c, &mgid, SA_JOIN_FULL, &r), 0);
	mgid = nth(1);
	assert_int_equal(join(&b, &mgid, SA_JOIN_NON, &r), 0);	/* a member already */
	assert_int_equal(leave(&b, &mgid, SA_JOIN_FULL), 0);
	assert_int_equal(join(&b, &broadcast, SA_JOIN_FULL, &r), 0);
	client_free(&c);
	sa_bed_free(&b);
}

/* ---- Ports that are gone ---- */

static unsigned
members(struct sa_bed *b, const struct sa_gid *mgid)
{
	struct sa_member want = { .mgid = *mgid };
	unsigned n;

	b->key = 1;
	n = sa_bed_table(b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MGID));
	b->key = 0;
	return n;
}

/* A host that is away for less than multicast.forget_after stays a member, one that is for longer
 * does not, and takes a group along that it was the last in. */
static void
test_gone(void **state)
{
	struct sa_gid own = nth(77);
	struct sa_member r;
	struct model *m;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	m = w.first.sm->bed->m;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(join(&w.c[0], &own, SA_JOIN_FULL, &r), 0);
	model_power(m, w.c[0].node, false);
	bed_wait(w.first.sm->bed, SEC(50));
	assert_int_equal(members(&w.first, &mine), 3);
	model_power(m, w.c[0].node, true);
	bed_wait(w.first.sm->bed, SEC(60));
	assert_int_equal(members(&w.first, &mine), 3);
	model_power(m, w.c[0].node, false);
	bed_wait(w.first.sm->bed, SEC(70));
	assert_int_equal(members(&w.first, &mine), 2);
	assert_int_equal(members(&w.first, &own), 0);
	assert_int_equal(ngroups(&w.first), 2);
	/* The last of them take the group along. */
	w.first.sm->conf.multicast.forget_after = 0;
	for (unsigned i = 1; i < 3; i++)
		model_power(m, w.c[i].node, false);
	bed_wait(w.first.sm->bed, SEC(5));
	assert_int_equal(ngroups(&w.first), 1);
	crowd_free(&w);
}

/* A leaf that is cut off for longer takes its hosts out of their groups though their own links
 * never went down: when it is back they are asked to register again. */
static void
test_cut_off(void **state)
{
	struct sa_member r;
	struct model *m;
	struct crowd w;
	uint64_t asked;
	uint32_t leaf;

	(void)state;
	crowd_up(&w);
	m = w.first.sm->bed->m;
	leaf = bed_node(w.first.sm->bed, "L2_0");
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	for (unsigned port = 3; port <= 4; port++)
		model_link_set(m, leaf, port, false);
	bed_wait(w.first.sm->bed, SEC(90));
	assert_int_equal(members(&w.first, &mine), 2);
	asked = model_reregisters(m, w.c[2].node, 1);
	for (unsigned port = 3; port <= 4; port++)
		model_link_set(m, leaf, port, true);
	bed_wait(w.first.sm->bed, SEC(5));
	assert_int_equal(model_portinfo(m, w.c[2].node, 1)->state, PORT_ACTIVE);
	assert_int_equal(model_reregisters(m, w.c[2].node, 1), asked + 1);
	assert_int_equal(join(&w.c[2], &mine, SA_JOIN_FULL, &r), 0);
	assert_int_equal(members(&w.first, &mine), 3);
	crowd_free(&w);
}

/* M7: with a prefix of the subnet's own, clients join by that and by the link-local one. */
static void
test_m7(void **state)
{
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	w.first.sm->conf.prefix = UINT64_C(0xfec0000000000001);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(join(&w.c[i], &broadcast, SA_JOIN_FULL, &r), 0);
		assert_true(r.port_gid.prefix == UINT64_C(0xfe80000000000000));
	}
	r = request(&w.c[2], &broadcast, SA_JOIN_FULL);
	r.port_gid.prefix = UINT64_C(0xfec0000000000001);
	assert_int_equal(change(&w.c[2], MAD_SET, &r, CREATE), 0);
	assert_true(r.port_gid.prefix == UINT64_C(0xfec0000000000001));
	r = request(&w.c[3], &broadcast, SA_JOIN_FULL);
	r.port_gid.prefix = UINT64_C(0xfec0000000000002);
	assert_int_equal(change(&w.c[3], MAD_SET, &r, CREATE), SA_STATUS_INVALID);
	assert_int_equal(members(&w.first, &broadcast), 3);
	assert_int_equal(leave(&w.c[2], &broadcast, SA_JOIN_FULL), 0);
	assert_int_equal(members(&w.first, &broadcast), 2);
	crowd_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_shared_restart),
		cmocka_unit_test(test_solicited),
		cmocka_unit_test(test_small_switch),
		cmocka_unit_test(test_m1),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_m7),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
