/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Levels of service in path records: which rule a question falls under, and what its level says of
 * service level, MTU, rate and lifetime; and of multicast groups, those of the configuration and
 * those that clients make. Service IDs are those that programs use: 0x01060000 and
 * the TCP port (IBA annex A11), SRP's the GUID of the target.
 */
#include "tests/unit/member_bed.h"
#include "tests/unit/core_tap.h"

#include "sm/core/subnet_i.h"

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
	/* To oneself alike, but that takes no time. */
	p = path(b, "H0_0_1", "H0_0_1", 0x01061144, 0, 0);
	assert_int_equal(p.sl, 5);
	assert_int_equal(p.mtu, 3);
	assert_int_equal(p.life, 0);
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

/* ---- Multicast groups ---- */

static const char groups_text[] =
	"partitions:\n"
	"  - {name: default, members: all, multicast: [{mgid: \"ff12:401b:ffff::7\", sl: 9}]}\n"
	"  - {name: blue, pkey: 0x10, members: all, level: steady, ipoib: {}}\n"
	"  - {name: red, pkey: 0x11, members: all, ipoib: {}, multicast: [{mgid: \"ff15::11\"}]}\n"
	"qos:\n"
	"  levels: [{name: plain, sl: 2}, {name: fast, sl: 7}, {name: steady, sl: 9},\n"
	"           {name: zero}]\n"
	"  rules:\n"
	"    - {partition: red, destination: H2_0_0, level: zero}\n"
	"    - {partition: red, class: 4, level: zero}\n"
	"    - {partition: red, application: nvmeof, level: zero}\n"
	"    - {partition: red, application: ipoib, level: fast}\n";

static void
configure(struct sa_bed *b, const char *what)
{
	struct error e;
	struct config *conf = config_parse(what, strlen(what), NULL, &e);

	if (!conf)
		fail_msg("%s", e.text);
	subnet_set_policy(b->sm->s, conf);
	subnet_configure(b->sm->s, &b->sm->conf, NULL, STAGE_PARTITIONS);
	bed_wait(b->sm->bed, SEC(1));
	assert_true(bed_becomes_good(b->sm, BOUND));
	assert_true(bed_quiet(b->sm, BOUND));
	config_free(conf);
}

static unsigned
group_sl(struct sa_bed *b, uint64_t prefix, uint64_t guid)
{
	struct sa_member want = { .mgid = { prefix, guid } };

	assert_int_equal(sa_bed_get(b, &sa_member_type, &want, SA_BIT(SA_MEMBER_MGID), &want), 0);
	return want.sl;
}

/* The status of a group that is made, which has no member then; on `sl`, 16: it is not said. */
static uint16_t
make(struct sa_bed *b, uint64_t prefix, uint16_t pkey, unsigned level, unsigned *got)
{
	struct sa_gid mgid = { prefix, 0x99 };
	struct sa_member r = request(b, &mgid, SA_JOIN_FULL);
	uint16_t status;

	r.pkey = pkey;
	r.sl = level & 15;
	status = change(b, MAD_SET, &r, CREATE & ~(level > 15 ? SA_BIT(SA_MEMBER_SL) : 0));
	*got = r.sl;
	if (!status)
		assert_int_equal(leave(b, &mgid, SA_JOIN_FULL), 0);
	return status;
}

#define IPOIB(pkey) (UINT64_C(0xff12401b00000000) | (pkey) << 16)
#define OTHER UINT64_C(0xff15000000000000)

static void
test_groups(void **state)
{
	struct sa_bed b;
	unsigned got;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	assert_int_equal(make(&b, OTHER, 0xffff, 16, &got), SA_STATUS_INSUFFICIENT);
	configure(&b, groups_text);
	/* By the partition, by a rule for IPoIB, by no word; what is said of the group itself. */
	assert_int_equal(group_sl(&b, IPOIB(0xffffu), 0xffffffff), 2);
	assert_int_equal(group_sl(&b, IPOIB(0x8010u), 0xffffffff), 9);
	assert_int_equal(group_sl(&b, IPOIB(0x8011u), 0xffffffff), 7);
	assert_int_equal(group_sl(&b, OTHER, 0x11), 2);
	assert_int_equal(group_sl(&b, IPOIB(0xffffu), 7), 9);
	/* Those of clients: as rules and partitions say, or of any level. */
	assert_int_equal(make(&b, IPOIB(0x8010u), 0x8010, 9, &got), 0);
	assert_int_equal(make(&b, IPOIB(0x8010u), 0x8010, 2, &got), SA_STATUS_INVALID);
	assert_int_equal(make(&b, IPOIB(0x8010u), 0x8010, 16, &got), 0);
	assert_int_equal(got, 9);
	assert_int_equal(make(&b, IPOIB(0x8011u), 0x8011, 16, &got), 0);
	assert_int_equal(got, 7);
	assert_int_equal(make(&b, OTHER, 0x8011, 16, &got), 0);
	assert_int_equal(got, 2);
	assert_int_equal(make(&b, OTHER, 0x8011, 7, &got), 0);
	assert_int_equal(make(&b, OTHER, 0x8011, 5, &got), SA_STATUS_INVALID);
	sa_bed_free(&b);
}

/* A member of a group that comes to another level is asked to register anew. */
static void
test_moved(void **state)
{
	static const char before[] = "qos: {levels: [{name: plain}, {name: other, sl: 4}]}\n";
	static const char after[] = "qos: {levels: [{name: plain}, {name: other, sl: 4}],\n"
		"      rules: [{partition: default, level: other}]}\n";
	struct sa_member r;
	struct sa_bed b;
	uint64_t asked;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	configure(&b, before);
	assert_int_equal(join(&b, &broadcast, SA_JOIN_FULL, &r), 0);
	bed_wait(b.sm->bed, SEC(5));
	assert_int_equal(r.sl, 0);
	asked = reregisters(b.sm->bed);
	configure(&b, before);
	assert_int_equal(reregisters(b.sm->bed), asked);
	configure(&b, after);
	assert_int_equal(group_sl(&b, broadcast.prefix, broadcast.guid), 4);
	assert_true(reregisters(b.sm->bed) > asked);
	assert_int_equal(b.sm->s->plan->check.credit_loops, 0);
	sa_bed_free(&b);
}

static void
on_partition(void *arg, int error, const char *said, const struct partition_report *report)
{
	(void)report;
	if (error)
		fail_msg("%s", said);
	*(int *)arg = error;
}

/* A partition that a command makes, with the group of IPoIB, is of the level that a rule says of
 * IPoIB at once: its group, and paths in it. */
static void
test_commanded(void **state)
{
	static const char said[] = "partitions: [{name: default, members: all}]\n"
		"qos: {levels: [{name: plain}, {name: fast, sl: 7}],\n"
		"      rules: [{pkey: 0x42, application: ipoib, level: fast}]}\n";
	struct part_member members[2] = { { 0 } };
	struct partition_change c = {
		.kind = PARTITION_ADD, .name = "gold", .pkey = 0x42, .ipoib = true,
		.members = members, .nmembers = 2,
	};
	struct sa_bed b;
	struct error e;
	int answer = -1;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	configure(&b, said);
	members[0] = (struct part_member){ .guid = sa_bed_guid(&b, "H1_0_0"),
					   .membership = MEMBERSHIP_FULL };
	members[1] = (struct part_member){ .guid = sa_bed_guid(&b, "H2_0_0"),
					   .membership = MEMBERSHIP_FULL };
	assert_int_equal(subnet_partition(b.sm->s, &c, on_partition, &answer, &e), 0);
	bed_wait(b.sm->bed, SEC(5));
	assert_true(bed_quiet(b.sm, BOUND));
	assert_int_equal(answer, 0);
	assert_int_equal(group_sl(&b, IPOIB(0x8042u), 0xffffffff), 7);
	assert_int_equal(sl(&b, "H1_0_0", "H2_0_0", 0, 0, 0x8042), 7);
	assert_int_equal(sl(&b, "H1_0_0", "H2_0_0", 0, 0, 0xffff), 0);
	sa_bed_free(&b);
}

/* ---- Names ---- */

#define NAMES_QOS "qos:\n  levels: [{name: plain}, {name: fast, sl: 7}]\n" \
	"  rules: [{source: \"/^H3_0_/\", level: fast}]\n"

static void
on_answer(void *arg, int error, const char *said, const struct change_report *report)
{
	(void)said;
	(void)report;
	*(int *)arg = error;
}

static void
apply(struct sa_bed *b)
{
	struct change c = { .kind = CHANGE_ROUTE, .apply_names = true };
	struct error e;
	int answer = -1;

	assert_int_equal(subnet_change(b->sm->s, &c, on_answer, &answer, &e), 0);
	for (unsigned i = 0; i < 100 && answer == -1; i++)
		bed_wait(b->sm->bed, MSEC(100));
	assert_int_equal(answer, 0);
	assert_true(bed_quiet(b->sm, BOUND));
}

static void
rename_host(struct sa_bed *b, const char *host, const char *name)
{
	model_set_description(b->sm->bed->m, bed_node(b->sm->bed, host), name);
	bed_wait(b->sm->bed, SEC(5));
	assert_true(bed_quiet(b->sm, BOUND));
}

/* A host that gives itself another name is of the level that it was of, until an administrator
 * applies names; and after a restart too. */
static void
test_names(void **state)
{
	const struct plan_lanes *lanes;
	struct sa_bed b;
	uint64_t routed;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	configure(&b, NAMES_QOS);
	assert_int_equal(sl(&b, "H3_0_0", "H1_1_1", 0, 0, 0), 7);
	assert_int_equal(sl(&b, "H2_1_1", "H1_1_1", 0, 0, 0), 0);
	assert_false(warnings(b.sm, "weft qos apply"));
	routed = bed_count(b.sm->bed, MAD_SET, ATTR_LINEAR_FDB);
	lanes = b.sm->s->plan->lanes;
	rename_host(&b, "H2_1_1", "H3_0_7");
	rename_host(&b, "H3_0_0", "nobody");
	/* Nothing is routed for a name. */
	assert_ptr_equal(b.sm->s->plan->lanes, lanes);
	assert_int_equal(bed_count(b.sm->bed, MAD_SET, ATTR_LINEAR_FDB), routed);
	assert_non_null(bed_event(b.sm, EVENT_CONFIG, "H3_0_7 among them"));
	assert_int_equal(sl(&b, "H3_0_0", "H1_1_1", 0, 0, 0), 7);
	assert_int_equal(sl(&b, "H2_1_1", "H1_1_1", 0, 0, 0), 0);
	assert_true(warnings(b.sm, "weft qos apply"));
	configure(&b, NAMES_QOS "  high_limit: 3\n");
	assert_int_equal(sl(&b, "H2_1_1", "H1_1_1", 0, 0, 0), 0);
	apply(&b);
	assert_int_equal(sl(&b, "H3_0_0", "H1_1_1", 0, 0, 0), 0);
	assert_int_equal(sl(&b, "H2_1_1", "H1_1_1", 0, 0, 0), 7);
	assert_false(warnings(b.sm, "weft qos apply"));
	sa_bed_free(&b);
}

static void
test_names_trusted(void **state)
{
	struct sa_bed b;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	configure(&b, NAMES_QOS "  trust_names: true\n");
	assert_int_equal(sl(&b, "H3_0_0", "H1_1_1", 0, 0, 0), 7);
	rename_host(&b, "H2_1_1", "H3_0_7");
	rename_host(&b, "H3_0_0", "nobody");
	assert_int_equal(sl(&b, "H3_0_0", "H1_1_1", 0, 0, 0), 0);
	assert_int_equal(sl(&b, "H2_1_1", "H1_1_1", 0, 0, 0), 7);
	assert_false(warnings(b.sm, "weft qos apply"));
	sa_bed_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_commanded),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
