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

static uint64_t
guid_of(const struct sa_bed *b, const char *name)
{
	uint32_t n = bed_node(b->sm->bed, name);

	return model_port_guid(b->sm->bed->m, n, b->sm->bed->net->nodes[n].type != IBNET_SWITCH);
}

static struct sa_gid
gid_of(const struct sa_bed *b, const char *name)
{
	return (struct sa_gid){ PREFIX, guid_of(b, name) };
}

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

static int
teardown(void **state)
{
	sa_bed_free(*state);
	free(*state);
	return 0;
}

/* The path between two hosts, in one Get by GIDs. */
static struct sa_path
path(struct sa_bed *b, const char *from, const char *to)
{
	struct sa_path p = { .sgid = gid_of(b, from), .dgid = gid_of(b, to) };

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
	assert_int_equal(p.sgid.guid, guid_of(b, "H0_0_1"));
	assert_int_equal(p.dgid.guid, guid_of(b, "H3_1_1"));
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
	assert_memory_equal(&p, &q, sizeof(p));
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DLID, &q), 0);
	assert_memory_equal(&p, &q, sizeof(p));
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | SLID | DLID, &q), 0);
	assert_memory_equal(&p, &q, sizeof(p));
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
	struct sa_path p = { .sgid = gid_of(b, "H1_0_0"), .dgid = gid_of(b, "H3_0_0") };

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
		.sgid = gid_of(b, "H0_0_0"), .dgid = gid_of(b, "H2_0_0"),
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
	struct sa_path p = { .sgid = { PREFIX, 0x1234 }, .dgid = gid_of(b, "H3_0_0") }, q;

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.sgid = (struct sa_gid){ PREFIX + 1, guid_of(b, "H1_0_0") };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.sgid.prefix = PREFIX;
	p.dgid = (struct sa_gid){ PREFIX, 0 };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_INVALID_GID);
	p.dgid = (struct sa_gid){ 0xff12401bffff0000, 0xffffffff };
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID, &q), SA_STATUS_NO_RECORDS);
	p.dlid = 0xbfff;
	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DLID, &q), SA_STATUS_NO_RECORDS);
	p.dlid = 0;
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DLID), 0);
	p.slid = sa_bed_lid(b, "H3_0_0", 1);
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | SLID), 0);
}

static void
test_key_and_level(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = {
		.sgid = gid_of(b, "H1_0_0"), .dgid = gid_of(b, "H3_0_0"), .pkey = 0x7fff, .sl = 1,
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

/* With an LMC of 1 a host has two LIDs and so a pair two paths, LID by LID. */
static void
test_lmc(void **state)
{
	struct sa_bed *b = *state;
	struct sa_path p = { .sgid = gid_of(b, "H1_0_0"), .dgid = gid_of(b, "H3_0_0") }, q;

	b->sm->conf.lmc = 1;
	bed_sweep(b->sm, SEC(10));
	assert_true(bed_quiet(b->sm, SEC(10)));
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p, SGID | DGID), 2);
	for (unsigned i = 0; i < 2; i++) {
		sa_bed_record(b, &sa_path_type, i, &q);
		assert_int_equal(q.slid, sa_bed_lid(b, "H1_0_0", 1) + i);
		assert_int_equal(q.dlid, sa_bed_lid(b, "H3_0_0", 1) + i);
	}
	p.numb_path = 1;
	assert_int_equal(sa_bed_table(b, &sa_path_type, &p,
				      SGID | DGID | SA_BIT(SA_PATH_NUMB_PATH)), 1);
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
		cmocka_unit_test(test_lmc),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
