/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Levels of service in path records: which rule a question falls under, and what its level says of
 * service level, MTU, rate and lifetime. Service IDs are those that programs use: 0x01060000 and
 * the TCP port (IBA annex A11), SRP's the GUID of the target.
 */
#include "tests/unit/sa_bed.h"

#include "sm/core/subnet.h"

#define BOUND SEC(30)
#define SGID SA_BIT(SA_PATH_SGID)
#define DGID SA_BIT(SA_PATH_DGID)
#define PKEY SA_BIT(SA_PATH_PKEY)
#define CLASS SA_BIT(SA_PATH_QOS_CLASS)
#define SERVICE (SA_BIT(SA_PATH_SERVICE_ID_MSB) | SA_BIT(SA_PATH_SERVICE_ID_LSB))

static const char text[] =
	"partitions:\n"
	"  - {name: default, members: all}\n"
	"  - {name: blue, pkey: 0x10, members: all, level: steady}\n"
	"  - {name: pair, pkey: 0x20, members: [H0_0_0, H0_0_1]}\n"
	"qos:\n"
	"  levels: [{name: plain}, {name: bulk, sl: 5, mtu: 1024, rate: 10Gb, packet_life: 14},\n"
	"           {name: fast, sl: 7}, {name: steady, sl: 9}]\n"
	"  rules:\n"
	"    - {application: nvmeof, level: bulk}\n"
	"    - {application: srp, level: fast}\n"
	"    - {service_id: 0x77-0x79, destination: H2_0_0, level: fast}\n"
	"    - {class: [3, 7-9], level: fast}\n"
	"    - {source: H3_0_0, level: steady}\n"
	"    - {either: [\"partition:pair\"], application: lustre, level: bulk}\n"
	"    - {application: ipoib, source: H3_1_0, level: fast}\n";

static struct sa_path
path(struct sa_bed *b, const char *from, const char *to, uint64_t service, unsigned class,
     uint16_t pkey)
{
	struct sa_path p = {
		.sgid = sa_bed_gid(b, from), .dgid = sa_bed_gid(b, to), .service_id = service,
		.qos_class = (uint16_t)class, .pkey = pkey,
	};

	assert_int_equal(sa_bed_get(b, &sa_path_type, &p, SGID | DGID | (service ? SERVICE : 0) |
				    (class ? CLASS : 0) | (pkey ? PKEY : 0), &p), 0);
	return p;
}

static unsigned
sl(struct sa_bed *b, const char *from, const char *to, uint64_t service, unsigned class,
   uint16_t pkey)
{
	return path(b, from, to, service, class, pkey).sl;
}

static void
check_rules(struct sa_bed *b)
{
	uint64_t target = sa_bed_guid(b, "H2_1_0");
	struct sa_path p;

	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0, 0, 0), 0);
	p = path(b, "H0_0_1", "H2_1_1", 0x01061144, 0, 0);
	assert_int_equal(p.sl, 5);
	assert_int_equal(p.mtu, 3);
	assert_int_equal(p.rate, 3);
	assert_int_equal(p.life, 14);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0x01061145, 0, 0), 0);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_0", target, 0, 0), 7);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", target, 0, 0), 0);
	assert_int_equal(sl(b, "H0_0_1", "H2_0_0", 0x78, 0, 0), 7);
	assert_int_equal(sl(b, "H2_0_0", "H0_0_1", 0x78, 0, 0), 0);
	assert_int_equal(sl(b, "H0_0_1", "H2_0_0", 0x7a, 0, 0), 0);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0, 8, 0), 7);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0, 4, 0), 0);
	assert_int_equal(sl(b, "H3_0_0", "H2_1_1", 0, 0, 0), 9);
	assert_int_equal(sl(b, "H2_1_1", "H3_0_0", 0, 0, 0), 0);
	/* Members of a partition, whichever the path is in. */
	assert_int_equal(sl(b, "H2_1_1", "H0_0_1", 0x010603db, 0, 0), 5);
	assert_int_equal(sl(b, "H2_1_1", "H2_1_0", 0x010603db, 0, 0), 0);
	/* The partition's own level, but rules come first. */
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0, 0, 0x8010), 9);
	assert_int_equal(sl(b, "H0_0_1", "H2_1_1", 0, 8, 0x8010), 7);
	/* The default partition has the IPoIB group of all; this one has none. */
	assert_int_equal(sl(b, "H3_1_0", "H2_1_1", 0, 0, 0xffff), 7);
	assert_int_equal(sl(b, "H3_1_0", "H2_1_1", 0x99, 0, 0xffff), 0);
	assert_int_equal(sl(b, "H3_1_0", "H2_1_1", 0, 0, 0x8010), 9);
}

static void
test_levels(void **state)
{
	struct config *conf;
	struct sa_bed b;
	struct error e;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	assert_int_equal(sl(&b, "H0_0_1", "H2_1_1", 0x01061144, 8, 0), 0);
	conf = config_parse(text, strlen(text), NULL, &e);
	if (!conf)
		fail_msg("%s", e.text);
	subnet_set_policy(b.sm->s, conf);
	subnet_configure(b.sm->s, &b.sm->conf, NULL, STAGE_ROUTING);
	bed_wait(b.sm->bed, SEC(1));
	assert_true(bed_becomes_good(b.sm, BOUND));
	assert_true(bed_quiet(b.sm, BOUND));
	check_rules(&b);
	/* And nothing is left of it when nothing is said any more. */
	config_free(conf);
	conf = config_parse("", 0, NULL, &e);
	subnet_set_policy(b.sm->s, conf);
	subnet_configure(b.sm->s, &b.sm->conf, NULL, STAGE_ROUTING);
	bed_wait(b.sm->bed, SEC(1));
	assert_true(bed_quiet(b.sm, BOUND));
	assert_int_equal(sl(&b, "H0_0_1", "H2_1_1", 0x01061144, 8, 0), 0);
	config_free(conf);
	sa_bed_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
