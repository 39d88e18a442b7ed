/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "offline/import.h"
#include "sm/base/buf.h"
#include "tests/unit/import_help.h"

/*
 * Files of OpenSM, piece by piece. What its own reading of the same partitions gives is compared
 * end to end (cases_import.py); here is what a reader makes of a text, what is said of it, and that
 * the outcome reads back.
 */
static int
begin(void **state)
{
	(void)state;
	return import_begin(&(struct import_said){ .enforce = ENFORCE_BOTH });
}

/* The part of the configuration from `partitions` on, after it was read back. */
static void
expect_partitions(const char *text, const char *wanted)
{
	struct import_text t = text_of(text);
	struct error e = { 0 };
	struct buf out = { 0 };
	struct config *again;
	const char *at;

	import_partitions(import_partitions_read(&t, &notes), "file", &said, conf, &notes);
	config_print_changed(conf, &out);
	again = config_parse(out.data, out.len, "made", &e);
	if (!again)
		fail_msg("%s: %s", e.text, out.data);
	config_free(again);
	at = strstr(out.data, "partitions:\n");
	assert_non_null(at);
	assert_string_equal(at, wanted);
	buf_free(&out);
}

#define STANDARD \
	"partitions:\n  - name: default\n    pkey: 0x7fff\n    members:\n" \
	"      - nodes: [all]\n        membership: limited\n      - nodes: [self]\n"

static void
test_numbers(void **state)
{
	static const struct {
		const char *text;	/* a word */
		uint64_t value;		/* what it is */
	} right[] = {
		{ "0", 0 }, { "19", 19 }, { "010", 8 }, { "0x1F", 31 }, { "0Xf", 15 },
		{ "18446744073709551615", UINT64_MAX }, { "0xffffffffffffffff", UINT64_MAX },
	};
	static const char *const wrong[] = {
		"", "x", "0x", "-1", "+1", "1x", "09", "1 2", "18446744073709551616",
		"0x10000000000000000",
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		struct import_word w = { right[i].text, strlen(right[i].text) };

		assert_true(import_number(w, UINT64_MAX, &v));
		assert_true(v == right[i].value);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(import_number((struct import_word){ wrong[i], strlen(wrong[i]) },
					   UINT64_MAX, &v));
	assert_false(import_number((struct import_word){ "16", 2 }, 15, &v));
}

static void
test_lines(void **state)
{
	struct import_text t = text_of("one # two\n\n  three\t\r\nfour");
	struct import_word w;

	(void)state;
	assert_true(import_line(&t, &w) && import_is(w, "one"));
	assert_int_equal(t.len, 9);
	assert_true(import_line(&t, &w) && !w.len);
	assert_true(import_line(&t, &w) && import_is(w, "three"));
	assert_true(import_line(&t, &w) && import_is(w, "four"));
	assert_int_equal(t.line, 4);
	assert_false(import_line(&t, &w));
	assert_true(import_abbreviates((struct import_word){ "AL", 2 }, "ALL"));
	assert_false(import_abbreviates((struct import_word){ "ALL", 3 }, "ALL"));
	assert_false(import_abbreviates((struct import_word){ "", 0 }, "ALL"));
}

static void
test_members(void **state)
{
	(void)state;
	expect_partitions("a=0x8010, defmember=full: 0x1, 0x2=limited,\n  0x3; # more\n"
			  "a=0x10: SELF, 0x1;",
			  STANDARD
			  "  - name: a\n    pkey: 0x0010\n    members:\n"
			  "      - nodes: [self]\n        membership: limited\n"
			  "      - nodes: [0x0000000000000002, 0x0000000000000001]\n"
			  "        membership: limited\n"
			  "      - nodes: [0x0000000000000003]\n");
	expect_notes(1, "SELF after GUIDs");
}

/* What a later statement overrides is gone. */
static void
test_last_counts(void **state)
{
	(void)state;
	expect_partitions("a=1: 0x1=full, ALL_SWITCHES=full, SELF=full, ALL;\n"
			  "b=2: ALL=full, 0x1, 0x1=full, ALL_CAS;\n"
			  "Default=0x7fff: ALL=full;",
			  "partitions:\n  - name: default\n    pkey: 0x7fff\n    members:\n"
			  "      - nodes: [all]\n"
			  "  - name: a\n    pkey: 0x0001\n    members:\n"
			  "      - nodes: [all]\n        membership: limited\n"
			  "  - name: b\n    pkey: 0x0002\n    members:\n"
			  "      - nodes: [all]\n"
			  "      - nodes: [all-hosts]\n        membership: limited\n");
	expect_notes(1, "ALL_CAS after GUIDs");
}

/* With the GUID of the manager known, it and SELF are the same. */
static void
test_own_guid(void **state)
{
	(void)state;
	said.guid = 0x1;
	expect_partitions("a=1: 0x1=full, SELF;\nb=2: SELF, 0x1=full;",
			  STANDARD
			  "  - name: a\n    pkey: 0x0001\n    members:\n"
			  "      - nodes: [self]\n        membership: limited\n"
			  "  - name: b\n    pkey: 0x0002\n    members:\n"
			  "      - nodes: [0x0000000000000001]\n");
	expect_notes(0, NULL);
}

static void
test_names(void **state)
{
	(void)state;
	expect_partitions("default=5: 0x1=full;\na/b: 0x1=full;\n=6: 0x1=full;\na/b=7: 0x1=full;",
			  STANDARD
			  "  - name: default-0005\n    pkey: 0x0005\n    members:\n"
			  "      - nodes: [0x0000000000000001]\n"
			  "  - name: a-b\n    pkey: 0x0001\n    members:\n"
			  "      - nodes: [0x0000000000000001]\n"
			  "  - name: pkey-0006\n    pkey: 0x0006\n    members:\n"
			  "      - nodes: [0x0000000000000001]\n"
			  "  - name: a-b-0007\n    pkey: 0x0007\n    members:\n"
			  "      - nodes: [0x0000000000000001]\n");
	expect_notes(1, "a/b has no P_Key; 0x0001");
}

/* A P_Key that was chosen and is said further down: OpenSM lets both meet, and so it is said. */
static void
test_chosen_key(void **state)
{
	(void)state;
	expect_partitions("a: 0x1=full;\nb=1: 0x2=full;",
			  STANDARD
			  "  - name: a\n    pkey: 0x0001\n    members:\n"
			  "      - nodes: [0x0000000000000001, 0x0000000000000002]\n");
	expect_notes(2, "b has P_Key 0x0001, which is that of a in line 1");
}

static void
test_groups(void **state)
{
	(void)state;
	expect_partitions("a=0x9,ipoib,rate=6,mtu=5,scope=2,scope=5,sl=3:\n"
			  " mgid=ff12:401b::16,sl=1 # scopes as above\n"
			  " mgid=ff12:401b:8009::ffff:ffff # is there\n"
			  " mgid=ff15::1,Q_Key=0xDEADBEEF,mtu=2,TClass=4,FlowLabel=0x10\n"
			  " mgid=ff12:401b::17,rate=3\n"
			  " mgid=ff12:401b:8008::18\n"
			  " mgid=fe80::1\n;",
			  STANDARD
			  "  - name: a\n    pkey: 0x0009\n"
			  "    ipoib:\n      mtu: 4096\n      rate: 20Gb\n      scopes: [2, 5]\n"
			  "    multicast:\n"
			  "      - mgid: \"ff12:401b:8009::16\"\n        mtu: 4096\n"
			  "        rate: 20Gb\n"
			  "      - mgid: \"ff15:401b:8009::16\"\n        mtu: 4096\n"
			  "        rate: 20Gb\n"
			  "      - mgid: \"ff12::1\"\n        mtu: 512\n        rate: 20Gb\n"
			  "        qkey: 0xdeadbeef\n        tclass: 4\n        flow_label: 0x10\n"
			  "      - mgid: \"ff15::1\"\n        mtu: 512\n        rate: 20Gb\n"
			  "        qkey: 0xdeadbeef\n        tclass: 4\n"
			  "        flow_label: 0x10\n");
	expect_notes(4, "P_Key 0x8008, the partition 0x0009");
}

static void
test_mistakes(void **state)
{
	static const struct {
		const char *text;	/* with one mistake */
		const char *said;	/* part of the note */
	} cases[] = {
		{ "a=1: 0x1=f;", "OpenSM takes it for full" },
		{ "a=1: 0x1=;", "OpenSM takes it for full" },
		{ "a=1: 0x1=limi;", "as in OpenSM" },
		{ "a=1: 0x1=other;", "as in OpenSM" },
		{ "a=1: A;", "OpenSM takes it for ALL" },
		{ "a=1: 0x1, host7;", "makes every port a full member" },
		{ "a=1: 0;", "is no port GUID" },
		{ "a=1: 077;", "octal" },
		{ "a=1, ip: 0x1;", "OpenSM takes it for ipoib" },
		{ "a=1, other=3: 0x1;", "unknown, to OpenSM too" },
		{ "a=1, mtu=9: 0x1;", "number from 1 to 5" },
		{ "a=1, rate=: 0x1;", "number from 2 to 24" },
		{ "a=1, defmember=most: 0x1;", "full, limited or both" },
		{ "a=one: 0x1;", "\"one\" is no P_Key" },
		{ "a=0x12345: 0x1;", "more than 16 bits" },
		{ "a=1, 0x1;", "no colon" },
		{ ";", "nothing before the semicolon" },
		{ "a=1: defmember=full : 0x1;", "as the manual page" },
		{ "a=1: mgid=1.2.3.4", "no multicast GID" },
		{ "a=1: mgid=ff12::1,colour=3", "flag colour is unknown" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct import_text t = text_of(cases[i].text);

		import_partitions_read(&t, &notes);
		expect_notes(i + 1, cases[i].said);
	}
}

static void
test_options(void **state)
{
	struct import_text t = text_of(
		"guid 0x0002c903000a1b2c\nsm_priority 7\nsweep_interval 30\nmax_op_vls 3\n"
		"transaction_timeout 300\nm_key \"0x5\"\nlmc 9\nno_clients_rereg TRUE\n"
		"part_enforce in\nallow_both_pkeys TRUE\nroot_guid_file /etc/opensm/roots\n"
		"routing_engine ftree,updn,no_fallback\nconsole loopback\nvl_stall_count 0x07\n"
		"partition_config_file (null)\nvl_stall_coumt 3\nsm_priority 8\n");
	const struct config_subnet *s = conf->subnets;

	(void)state;
	import_options(import_conf_read(&t, &notes), "file", conf, &said, &notes);
	assert_string_equal(s->port, "0x0002c903000a1b2c");
	assert_int_equal(s->priority, 8);
	assert_true(s->sweep_interval == SEC(30) && s->timeout == MSEC(300));
	assert_int_equal(s->max_op_vls, 4);
	assert_true(s->m_key == 5 && !s->client_reregister);
	assert_string_equal(s->routing.engines[0], "fattree");
	assert_string_equal(s->routing.engines[1], "updn");
	assert_null(s->routing.engines[2]);
	assert_true(said.enforce == ENFORCE_IN && said.both && said.guid == 0x0002c903000a1b2c);
	assert_string_equal(said.roots, "/etc/opensm/roots");
	assert_null(said.partitions);
	expect_notes(3, "vl_stall_coumt is no key");
}

static void
test_guids(void **state)
{
	struct import_text t = text_of("0x1 # a\n\n0x2 leaf\nx\n0\n");
	const struct import_guid *g = import_guids_read(&t, &notes);

	(void)state;
	assert_true(g->guid == 1 && g->next->guid == 2 && !g->next->next);
	expect_notes(2, "\"0\" is left out");
}

static void
test_lids(void **state)
{
	struct import_text t = text_of("0x1 0x0005 0x0005\n\n0x2 8 0xf # four\n3 0xbfff 0xbfff\n");
	const struct import_lid *l = import_lids_read(&t, &notes);
	static const struct {
		const char *text;	/* with one mistake */
		const char *said;	/* part of the note */
	} cases[] = {
		{ "x 5 5", "no GUID with two LIDs" }, { "0 5 5", "no GUID with two LIDs" },
		{ "1 5", "no GUID with two LIDs" }, { "1 5 5 5", "no GUID with two LIDs" },
		{ "1 0 0", "from 1 to 0xbfff" }, { "1 6 5", "from 1 to 0xbfff" },
		{ "1 0xc000 0xc000", "from 1 to 0xbfff" },
		{ "1 0xbf80 0xc07f", "from 1 to 0xbfff" },
		{ "1 4 6", "whatever its LMC" }, { "1 5 6", "whatever its LMC" },
		{ "1 0x100 0x1ff", "whatever its LMC" },
		{ "1 5 5\n2 4 7", "line 1 has" }, { "1 5 5\n1 6 6", "line 1 has" },
	};

	(void)state;
	assert_true(l->guid == 1 && l->lid == 5 && l->lmc == 0);
	l = l->next;
	assert_true(l->guid == 2 && l->lid == 8 && l->lmc == 3);
	assert_true(l->next->guid == 3 && l->next->lid == 0xbfff && !l->next->next);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		t = text_of(cases[i].text);
		import_lids_read(&t, &notes);
		expect_notes(i + 1, cases[i].said);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, begin, end),
		cmocka_unit_test_setup_teardown(test_lines, begin, end),
		cmocka_unit_test_setup_teardown(test_members, begin, end),
		cmocka_unit_test_setup_teardown(test_last_counts, begin, end),
		cmocka_unit_test_setup_teardown(test_own_guid, begin, end),
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_chosen_key, begin, end),
		cmocka_unit_test_setup_teardown(test_groups, begin, end),
		cmocka_unit_test_setup_teardown(test_mistakes, begin, end),
		cmocka_unit_test_setup_teardown(test_options, begin, end),
		cmocka_unit_test_setup_teardown(test_guids, begin, end),
		cmocka_unit_test_setup_teardown(test_lids, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
