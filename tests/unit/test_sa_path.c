/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/sa_bed.h"
#include "sm/wire/sa_rate.h"

/*
 * PathRecords of a subnet that is up: "ft3 4", 16 hosts and 20 switches, all cables 4xEDR (rate
 * code 16) with an MTU of 4096 bytes (code 5); but the cable of H2_0_0 runs at 1xEDR, 25 Gb/s,
 * which is code 15. A switch's port 0 tells 4xSDR, code 3. The lifetime is the default
 * subnet_timeout, 18. The last test goes on with an LMC of 1.
 */
#define PREFIX 0xfe80000000000000u
#define SGID SA_BIT(SA_PATH_SGID)
#define DGID SA_BIT(SA_PATH_DGID)
#define SLID SA_BIT(SA_PATH_SLID)
#define DLID SA_BIT(SA_PATH_DLID)

static int
setup(void **state)
{
	struct sa_bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	sa_bed_up(b, "ft3 4", "H1_0_0");
	model_link_limit(b->sm->bed->m, bed_node(b->sm->bed, "H2_0_0"), 1, LINK_1X, SPEED_EDR);
	bed_wait(b->sm->bed, SEC(5));
	assert_true(bed_quiet(b->sm, SEC(10)));
	*state = b;
	return 0;
}

/* The path between two hosts, in one Get by GIDs. */
static struct sa_path
path(struct sa_bed *b, const char *from, const char *to)
{
	struct sa_path p = { .sgid = sa_bed_gid(b, from), .dgid = sa_bed_gid(b, to) };

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &p), 0);
	return p;
}

static void
test_pair(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = path(b, "H0_0_1", "H3_1_1"), q;

	assert_int_equal(p.slid, sa_bed_lid(b, "H0_0_1", 1));
	assert_int_equal(p.dlid, sa_bed_lid(b, "H3_1_1", 1));
	assert_int_equal(p.sgid.guid, sa_bed_guid(b, "H0_0_1"));
	assert_int_equal(p.dgid.guid, sa_bed_guid(b, "H3_1_1"));
	assert_int_equal(p.pkey, 0xffff);
	assert_int_equal(p.sl, 0);
	assert_int_equal(p.mtu, 5);
	assert_int_equal(p.rate, 16);
	assert_int_equal(p.life, 18);
	assert_int_equal(p.mtu_selector, SA_EXACTLY);
	assert_int_equal(p.rate_selector, SA_EXACTLY);
	assert_int_equal(p.life_selector, SA_EXACTLY);
	assert_true(p.reversible);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SLID | DLID, &q), 0);
	sa_bed_same(&sa_path_type, &p, &q);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DLID, &q), 0);
	sa_bed_same(&sa_path_type, &p, &q);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SLID | DLID, &q), 0);
	sa_bed_same(&sa_path_type, &p, &q);
}

static void
test_least_link(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p;

	assert_int_equal(path(b, "H0_0_0", "H2_0_0").rate, 15);
	assert_int_equal(path(b, "H2_0_0", "H0_0_0").rate, 15);
	assert_int_equal(path(b, "H0_0_0", "L0_0").rate, 3);
	p = path(b, "H0_0_0", "H0_0_0");
	assert_int_equal(p.rate, 16);
	assert_int_equal(p.mtu, 5);
	assert_int_equal(p.life, 0);
}

static void
test_tables(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = { .sgid = sa_bed_gid(b, "H1_0_0"), .dgid = sa_bed_gid(b, "H3_0_0") };

	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, 0), 36 * 36);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID), 36);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID), 36);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DGID), 1);
	p.numb_path = 0;
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | SA_BIT(SA_PATH_NUMB_PATH)), 0);
}

/* Selector and value of a request for the path of H0_0_0 to H2_0_0: what comes back. */
static uint8_t
rate(struct sa_bed *b, enum sa_selector selector, uint8_t value, uint16_t *status)
{
	struct sa_path p = {
		.sgid = sa_bed_gid(b, "H0_0_0"), .dgid = sa_bed_gid(b, "H2_0_0"),
		.rate_selector = (uint8_t)selector, .rate = value,
	};

	*status = sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_RATE_SELECTOR) |
			     SA_BIT(SA_PATH_RATE), &p);
	return *status ? 0 : p.rate;
}

/* The path carries 25 Gb/s (15): 20 Gb/s is code 6, 30 Gb/s is code 4, 10 Gb/s is code 3. */
static void
test_selectors(void **state)
{
	struct sa_bed *b = *state;
	uint16_t status;

	assert_int_equal(rate(b, SA_GREATER, 6, &status), 15);
	assert_int_equal(rate(b, SA_GREATER, 15, &status), 0);
	assert_int_equal(status, SA_STATUS_NO_RECORDS);
	assert_int_equal(rate(b, SA_LESS, 4, &status), 15);
	assert_int_equal(rate(b, SA_LESS, 15, &status), 6);
	assert_int_equal(rate(b, SA_EXACTLY, 3, &status), 3);
	assert_int_equal(rate(b, SA_EXACTLY, 16, &status), 0);
	assert_int_equal(status, SA_STATUS_NO_RECORDS);
	assert_int_equal(rate(b, SA_BEST, 0, &status), 15);
	assert_int_equal(rate(b, SA_EXACTLY, 1, &status), 0);
	assert_int_equal(status, SA_STATUS_INVALID);
}

static void
test_refused(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = { .sgid = { PREFIX, 0x1234 }, .dgid = sa_bed_gid(b, "H3_0_0") }, q;

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.sgid = (struct sa_gid){ PREFIX + 1, sa_bed_guid(b, "H1_0_0") };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.sgid.prefix = PREFIX;
	p.dgid = (struct sa_gid){ PREFIX, 0 };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	/* Another subnet, to which there is no router. */
	p.dgid = (struct sa_gid){ 0x20010db800000000, sa_bed_guid(b, "H3_0_0") };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.dlid = 0xbfff;
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DLID, &q), SA_STATUS_NO_RECORDS);
	p.dlid = 0;
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DLID), 0);
	/* A GID and a LID that are not of one port. */
	p.slid = sa_bed_lid(b, "H3_0_0", 1);
	assert_true(sa_bed_ask(b, MAD_GET_TABLE, &sa_path_type, &p, SGID | SLID));
	assert_int_equal(b->h.h.status, SA_STATUS_INVALID);
	p.dgid = sa_bed_gid(b, "H0_0_0");
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | SLID | DGID, &q),
			 SA_STATUS_INVALID);
	p.dlid = sa_bed_lid(b, "H1_0_0", 1);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | DLID, &q),
			 SA_STATUS_INVALID);
	/* One of them is enough. */
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SLID | DGID, &q), 0);
	assert_int_equal(q.sgid.guid, sa_bed_guid(b, "H3_0_0"));
	/* A Get without an end, and half of a ServiceID. */
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID, &q), SA_STATUS_INSUFFICIENT);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, DLID, &q), SA_STATUS_INSUFFICIENT);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, 0, &q), SA_STATUS_INSUFFICIENT);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p,
				    SLID | DGID | SA_BIT(SA_PATH_SERVICE_ID_LSB), &q),
			 SA_STATUS_INSUFFICIENT);
}

/* The broadcast group of IPoIB: 2048 bytes (code 4), 10 Gb/s (code 3), lifetime 18. */
static void
test_multicast(void **state)
{
	struct sa_bed *b = *state;
	const struct sa_gid all = { 0xff12401bffff0000, 0xffffffff };
	struct sa_member m = { .mgid = all, .port_gid = sa_bed_gid(b, "H1_0_0"), .join_state = 1 };
	struct sa_path p = { .dgid = all, .sgid = m.port_gid, .pkey = 0x7fff, .dlid = 0xc001,
			     .mtu_selector = SA_GREATER, .mtu = 4, .sl = 1, .hop_limit = 2 }, q;

	/* It is there before anybody has joined it. */
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, DGID, &q), 0);
	assert_int_equal(q.dlid, 0xc000);
	assert_int_equal(q.pkey, 0xffff);
	assert_int_equal(q.mtu, 4);
	assert_int_equal(q.rate, 3);
	assert_int_equal(q.life, 18);
	assert_int_equal(q.hop_limit, 0);
	assert_int_equal(q.slid, 0);
	assert_true(sa_gid_equal(&q.dgid, &all));
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_NO_RECORDS);
	assert_true(sa_bed_ask(b, MAD_SET, &sa_member_type, &m, SA_BIT(SA_MEMBER_MGID) |
			       SA_BIT(SA_MEMBER_PORT_GID) | SA_BIT(SA_MEMBER_JOIN_STATE)));
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_PKEY)), 1);
	sa_bed_record(b, &sa_path_type, 0, &q);
	assert_int_equal(q.slid, sa_bed_lid(b, "H1_0_0", 1));
	/* What is not so of the group. */
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID | DLID), 0);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID | SA_BIT(SA_PATH_SL)), 0);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID | SA_BIT(SA_PATH_HOP_LIMIT)), 0);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID | SA_BIT(SA_PATH_MTU) |
				      SA_BIT(SA_PATH_MTU_SELECTOR)), 0);
	p.dgid.guid = 1;
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, DGID), 0);
	p.sgid = all;
	p.dgid = all;
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
}

/* What the client says of its packets comes back; raw packets are of no partition. */
static void
test_echo(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = {
		.sgid = sa_bed_gid(b, "H1_0_0"), .dgid = sa_bed_gid(b, "H3_0_0"), .raw = true,
		.service_id = 0x0102030405060708, .hop_limit = 3, .flow_label = 5, .tclass = 6,
		.qos_class = 7,
	};
	struct sa_path q;

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID |
				    SA_BIT(SA_PATH_SERVICE_ID_MSB) |
				    SA_BIT(SA_PATH_SERVICE_ID_LSB) |
				    SA_BIT(SA_PATH_HOP_LIMIT) | SA_BIT(SA_PATH_FLOW_LABEL) |
				    SA_BIT(SA_PATH_TCLASS) | SA_BIT(SA_PATH_QOS_CLASS), &q), 0);
	assert_true(q.service_id == p.service_id);
	assert_int_equal(q.hop_limit, 3);
	assert_int_equal(q.flow_label, 5);
	assert_int_equal(q.tclass, 6);
	assert_int_equal(q.qos_class, 7);
	assert_int_equal(q.pkey, 0xffff);
	assert_false(q.raw);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_RAW), &q),
			 0);
	assert_int_equal(q.pkey, 0);
	assert_true(q.raw);
}

static void
test_key_and_level(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = {
		.sgid = sa_bed_gid(b, "H1_0_0"), .dgid = sa_bed_gid(b, "H3_0_0"),
		.pkey = 0x7fff, .sl = 1,
	};
	struct sa_path q;

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_PKEY), &q),
			 0);
	assert_int_equal(q.pkey, 0x7fff);
	p.pkey = 0x8001;
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_PKEY), &q),
			 SA_STATUS_NO_RECORDS);
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_SL), &q),
			 SA_STATUS_NO_RECORDS);
	p.sl = 0;
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SA_BIT(SA_PATH_SL), &q), 0);
}

/* With an LMC of 1 a host has two LIDs and so a pair four paths; first those that have no LID in
 * common, as packaged OpenSM tells them. */
static void
test_lmc(void **state)
{
	static const unsigned offsets[4][3] = {
		{ 0, 0, 0 }, { 1, 1, 0 }, { 0, 1, 2 }, { 1, 0, 2 },
	};
	struct sa_bed *b = *state;
	struct sa_path p = { .sgid = sa_bed_gid(b, "H1_0_0"), .dgid = sa_bed_gid(b, "H3_0_0") }, q;

	b->sm->conf.lmc = 1;
	bed_sweep(b->sm, SEC(10));
	assert_true(bed_quiet(b->sm, SEC(10)));
	for (unsigned n = 4; n; n--) {
		p.numb_path = (uint8_t)n;
		assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DGID |
					      (n < 4 ? SA_BIT(SA_PATH_NUMB_PATH) : 0)), n);
		for (unsigned i = 0; i < n; i++) {
			sa_bed_record(b, &sa_path_type, i, &q);
			assert_int_equal(q.slid, sa_bed_lid(b, "H1_0_0", 1) + offsets[i][0]);
			assert_int_equal(q.dlid, sa_bed_lid(b, "H3_0_0", 1) + offsets[i][1]);
			assert_int_equal(q.preference, offsets[i][2]);
		}
	}
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), 0);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &q, SLID | DGID), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pair), cmocka_unit_test(test_least_link),
		cmocka_unit_test(test_tables), cmocka_unit_test(test_selectors),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_key_and_level),
		cmocka_unit_test(test_multicast), cmocka_unit_test(test_echo),
		cmocka_unit_test(test_lmc),
	};

	return cmocka_run_group_tests(tests, setup, sa_bed_teardown);
}
