/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "offline/import_policy.h"
#include "sm/base/buf.h"
#include "tests/unit/import_help.h"

/*
 * Quality of service of OpenSM, piece by piece: what the reader makes of a policy, what becomes of
 * it and of keys of opensm.conf, and what is said of the rest. Whether that has the same effect is
 * compared end to end (cases_import_qos.py).
 */
static int
begin(void **state)
{
	(void)state;
	if (import_begin(&(struct import_said){ .qos = true }))
		return -1;
	conf->subnets->max_op_vls = 15;
	return 0;
}

static void
options(const char *text)
{
	struct import_text t = text_of(text);

	import_options(import_conf_read(&t, &notes), "opensm.conf", conf, &said, &notes);
	notes = (struct import_notes){ .region = notes.region };
}

static void
partitions(const char *text)
{
	struct import_text t = text_of(text);

	import_partitions(import_partitions_read(&t, &notes), "partitions.conf", &said, conf,
			  &notes);
	notes = (struct import_notes){ .region = notes.region };
}

/* The rules, after all was read back. */
static void
expect_rules(const char *policy, const char *wanted)
{
	struct import_text t = text_of(policy);
	struct error e = { 0 };
	struct buf out = { 0 };
	struct config *again;
	char *at, *rest;

	import_qos(import_policy_read(&t, &notes), "file", &said, conf, &notes);
	config_print_changed(conf, &out);
	again = config_parse(out.data, out.len, "made", &e);
	if (!again)
		fail_msg("%s: %s", e.text, out.data);
	config_free(again);
	at = strstr(out.data, "  rules:\n");
	rest = strstr(out.data, "  arbitration:\n");
	rest = rest ? rest : strstr(out.data, "  merge: true\n");
	if (rest)
		*rest = '\0';
	assert_string_equal(at ? at : "", wanted);
	buf_free(&out);
}

static const struct config_level *
level(const char *name)
{
	for (unsigned i = 0; i < conf->qos.nlevels; i++)
		if (!strcmp(conf->qos.levels[i].name, name))
			return &conf->qos.levels[i];
	fail_msg("there is no level %s", name);
	return NULL;
}

#define LEVELS "qos-levels\n qos-level\n name: DEFAULT\n sl: 0\n end-qos-level\n" \
	"qos-level\n use: what: it is # for\n name: Whole Set\n sl: 3\n mtu-limit: 4\n" \
	"rate-limit: 5\n packet-life: 8\n end-qos-level\n end-qos-levels\n"

static void
test_rules(void **state)
{
	(void)state;
	partitions("Default=0x7fff: ALL=full; part=0x5: ALL; other=0x8006: ALL;");
	expect_rules("port-groups\nport-group\nname: A B\nuse: x\n port-guid: 0x5,0x9-0x0a,\n 7\n"
		     "port-name: \"vs1 HCA-1/P1\", vs2 x/p2\n partition: part\n"
		     "end-port-group\nport-group\nname: c\nnode-type: ca, SELF\npkey: 0x8006\n"
		     "end-port-group\nend-port-groups\n" LEVELS
		     "qos-match-rules\nqos-match-rule\nqos-level-name: wholeset\n"
		     "qos-class: 7-9,11\nsource: a b, C\nservice-id: 0xff-0x10, 5\n"
		     "pkey: 0x8006-0x5\nend-qos-match-rule\nend-qos-match-rules\n",
		     "  rules:\n    - level: wholeset\n      pkey: [0x0005-0x0006]\n"
		     "      service_id: [0x10-0xff, 0x5]\n      class: [7-9, 11]\n"
		     "      source: [0x0000000000000005, 0x0000000000000009, 0x000000000000000a, "
		     "0x0000000000000007,\n          \"vs1 HCA-1/1\", \"vs2 x/2\", "
		     "\"partition:part\", "
		     "all-hosts, self, \"partition:other\"]\n");
	expect_notes(0, NULL);
	assert_int_equal(level("default")->vl, 0);
	assert_int_equal(level("wholeset")->sl, 3);
	assert_int_equal(level("wholeset")->vl, 3);
	assert_int_equal(level("wholeset")->mtu, 4);
	assert_int_equal(level("wholeset")->rate, 5);
	assert_int_equal(level("wholeset")->packet_life, 8);
	assert_int_equal(level("sl15")->vl, 7);
}

static void
test_protocols(void **state)
{
	(void)state;
	expect_rules("qos-ulps\ndefault: 1\nsdp, port-num 30000 : 0\nSDP:2\nrds :2\n"
		     "rds,port-num 1:2\niser, port-num 900, 902-901: 0\niser : 3\nipoib : 4\n"
		     "ipoib, pkey 0x8001 : 5\nany, service-id 0x6234 : 6\nany,pkey 0x0ABC: 6\n"
		     "srp, target-port-guid 0x1234 : 5\nany, source-port-guid 7 : 7\n"
		     "any, source-target-port-guid 8: 9\nend-qos-ulps\n",
		     "  rules:\n    - level: sl0\n      service_id: [0x17530]\n"
		     "    - level: sl2\n      application: sdp\n"
		     "    - level: sl2\n      application: rds\n"
		     "    - level: sl2\n      service_id: [0x1060001]\n"
		     "    - level: sl0\n      service_id: [0x1060384, 0x1060385-0x1060386]\n"
		     "    - level: sl3\n      service_id: [0x1060cbc]\n"
		     "    - level: sl4\n      pkey: [0x7fff]\n"
		     "    - level: sl5\n      pkey: [0x0001]\n"
		     "    - level: sl6\n      service_id: [0x6234]\n"
		     "    - level: sl6\n      pkey: [0x0abc]\n"
		     "    - level: sl5\n      destination: [0x0000000000001234]\n"
		     "    - level: sl7\n      source: [0x0000000000000007]\n"
		     "    - level: sl9\n      source: [0x0000000000000008]\n"
		     "      destination: [0x0000000000000008]\n");
	expect_notes(0, NULL);
	assert_int_equal(conf->qos.levels->sl, 1);
}

/* The service level of a partition is its groups' where there is a policy, and that of its paths
 * where there is none. */
static void
test_partitions(void **state)
{
	static const char *const text = "a=5,ipoib,sl=3: ALL;\nb=6,ipoib,sl=4: ALL;";

	(void)state;
	partitions(text);
	import_qos(NULL, "file", &said, conf, &notes);
	assert_int_equal(conf->partitions.list[1].sl, 3);
	assert_int_equal(level("sl3")->vl, 3);
	expect_notes(0, NULL);
	partitions(text);
	expect_rules("qos-ulps\ndefault : 0\nipoib, pkey 5 : 6\nend-qos-ulps\n",
		     "  rules:\n    - level: sl6\n      pkey: [0x0005]\n");
	assert_int_equal(conf->partitions.list[1].sl, CONFIG_SL_FREE);
	assert_int_equal(conf->partitions.list[1].ipoib->sl, 6);
	assert_int_equal(conf->partitions.list[2].ipoib->sl, 4);
	expect_notes(2, "counts only where there is no policy");
}

static void
test_mistakes(void **state)
{
	static const struct {
		const char *text;	/* with one mistake */
		const char *said;	/* part of the note */
	} cases[] = {
		{ "qos-level\n", "nothing that stands outside of sections" },
		{ "port-groups\nname: x\nend-port-groups\n", "nothing that stands in port-groups" },
		{ "port-groups\nport-group\nend-port-group\nend-port-groups\n", "has no name" },
		{ "port-groups\nport-group\nname: a\nnode-typ: CA\nend-port-group\n"
		  "end-port-groups\n", "\"node-typ: CA\" cannot be read; OpenSM" },
		{ "port-groups\nport-group\nname: a\nnode-type: C\nend-port-group\n"
		  "end-port-groups\n", "\"node-type: C\" cannot be read" },
		{ "qos-levels\nqos-level\nname: a\nend-qos-level\nend-qos-levels\n", "has no sl" },
		{ "qos-levels\nqos-level\nsl: 16\nname: a\nsl: 1\nend-qos-level\nend-qos-levels\n",
		  "\"sl: 16\" cannot be read" },
		{ "qos-match-rules\nqos-match-rule\nend-qos-match-rule\nend-qos-match-rules\n",
		  "has no qos-level-name" },
		{ "qos-match-rules\nqos-match-rule\nqos-class: 1-\nend-qos-match-rule\n"
		  "end-qos-match-rules\n", "and its rule is left out" },
		{ "qos-match-rules\nqos-match-rule\nqos-class: 4096\nend-qos-match-rule\n"
		  "end-qos-match-rules\n", "and its rule is left out" },
		{ "qos-ulps\nsd : 1\nend-qos-ulps\n", "no protocol" },
		{ "qos-ulps\nsdp\nend-qos-ulps\n", "no service level" },
		{ "qos-ulps\nsdp : 16\nend-qos-ulps\n", "no service level" },
		{ "qos-ulps\nsdp, port-num 65536 : 1\nend-qos-ulps\n", "numbers are wrong" },
		{ "qos-ulps\nsdp, port-num : 1\nend-qos-ulps\n", "numbers are wrong" },
		{ "qos-ulps\nsrp : 1\nend-qos-ulps\n", "no protocol" },
		{ "qos-setup\nvlarb-tables\nend-vlarb-tables\nend-qos-setup\n", "qos-setup" },
		{ "qos-ulps\n", "end-qos-ulps is missing" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct import_text t = text_of(cases[i].text);

		import_policy_read(&t, &notes);
		expect_notes(i + 1, cases[i].said);
	}
}

/* A rule is left out rather than it matches more than it said. */
static void
test_left_out(void **state)
{
	static const struct {
		const char *rule;	/* lines of it */
		unsigned notes;		/* that are made */
		const char *said;	/* part of the last */
	} cases[] = {
		{ "source: nobody\n", 2, "nobody for it" },
		{ "destination: far\n", 2, "nobody for it" },
		{ "source: none\n", 1, "nobody for it" },
		{ "destination: missing\n", 2, "nobody for it" },
	};
	char text[2000];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		notes = (struct import_notes){ .region = notes.region };
		strcpy(text, LEVELS "port-groups\nport-group\nname: far\nport-guid: 1-0xffffff\n"
		       "end-port-group\nport-group\nname: none\npkey: 9\nend-port-group\n"
		       "port-group\nname: missing\npartition: no\nend-port-group\n"
		       "end-port-groups\nqos-match-rules\nqos-match-rule\n"
		       "qos-level-name: DEFAULT\n");
		strcat(text, cases[i].rule);
		strcat(text, "end-qos-match-rule\nend-qos-match-rules\n");
		expect_rules(text, "");
		expect_notes(cases[i].notes, cases[i].said);
	}
}

static void
test_tables(void **state)
{
	const struct config_arbitration *a;

	(void)state;
	options("routing_engine updn\nqos_vlarb_high 1:0x10,16:256\nqos_ca_high_limit 300\n"
		"qos_high_limit 7\nqos_swe_high_limit 9\nqos_sl2vl 0,0,1,15,9\n"
		"qos_ca_vlarb_low 0:1,x\nqos_max_vls 4\nqos_ca_max_vls 0\nqos_vlarb 1\n");
	import_qos(NULL, "file", &said, conf, &notes);
	a = conf->qos.arbitration;
	assert_int_equal(conf->qos.narbitration, 4);
	assert_string_equal(a[0].ports, "all");
	assert_string_equal(a[0].high, "1:16, 1:0");
	assert_int_equal(a[0].high_limit, 9);
	assert_string_equal(a[1].ports, "hosts");
	assert_string_equal(a[1].low, "0:1");
	assert_int_equal(a[1].high_limit, 7);
	assert_string_equal(a[2].ports, "port0");
	assert_string_equal(a[3].ports, "routers");
	/* SL 2 and 4 are on lane 1, 9 being that of 8; all others on that of SL 0. */
	assert_int_equal(conf->qos.nlevels, 3);
	assert_int_equal(level("sl2")->vl, 1);
	assert_int_equal(level("sl4")->vl, 1);
	expect_notes(7, "packets of service level 3 are dropped");
}

/* An engine with lanes of its own is given no lanes, but a level with service level 0. */
static void
test_own_lanes(void **state)
{
	(void)state;
	options("routing_engine torus-2QoS\nqos TRUE\n");
	expect_rules("qos-ulps\ndefault : 8\nsdp : 3\nend-qos-ulps\n",
		     "  rules:\n    - level: sl3\n      application: sdp\n");
	assert_int_equal(conf->qos.nlevels, 3);
	assert_int_equal(conf->qos.levels->sl, 8);
	assert_int_equal(level("sl0")->vl, CONFIG_VL_FREE);
	assert_int_equal(conf->qos.narbitration, 0);
	expect_notes(1, "takes lanes for itself");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rules, begin, end),
		cmocka_unit_test_setup_teardown(test_protocols, begin, end),
		cmocka_unit_test_setup_teardown(test_partitions, begin, end),
		cmocka_unit_test_setup_teardown(test_mistakes, begin, end),
		cmocka_unit_test_setup_teardown(test_left_out, begin, end),
		cmocka_unit_test_setup_teardown(test_tables, begin, end),
		cmocka_unit_test_setup_teardown(test_own_lanes, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
