/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/conf/config.h"
#include "sm/conf/option.h"
#include "tests/unit/conf_help.h"

/*
 * What a configuration says of partitions and of quality of service: values by the names that
 * people use for them, short forms, what entries say about each other, printing, differences, and
 * files as large as they come. Codes of rates and MTUs are those of PathRecord (IBA volume 1,
 * 15.2.5.16).
 */
static void
expect_texts(const char *const *texts, const char *joined)
{
	struct buf b = { 0 };

	for (unsigned i = 0; texts && texts[i]; i++)
		buf_printf(&b, "%s%s", i ? "|" : "", texts[i]);
	assert_string_equal(b.data ? b.data : "", joined);
	buf_free(&b);
}

/* Everything at once, each with a value of its own. */
static const char full[] =
	"subnets:\n"
	"  - {name: a, port: \"x:1\"}\n"
	"  - {name: b, port: \"y:1\", max_op_vls: 15}\n"
	"groups:\n"
	"  - {name: storage, nodes: [\"/^oss/\", 0x0002c903000a1b2c], except: oss7}\n"
	"  - {name: all-but, nodes: all-hosts, except: [\"group:storage\", self, sw/3]}\n"
	"partitions:\n"
	"  - {name: default, ipoib: true, members: [{nodes: all}]}\n"
	"  - name: Tenant A\n"
	"    pkey: 0x8042\n"
	"    subnets: b\n"
	"    members:\n"
	"      - {nodes: [\"group:storage\", 2], membership: both}\n"
	"      - {nodes: 0002C903000A1B2d, membership: limited, index0: yes}\n"
	"    except: [mallory, /^x/]\n"
	"    ipoib: {mtu: 4096, rate: 4xHDR, scopes: [2, 0x5], sl: 3, qkey: 0x80000001, "
	"tclass: 7, flow_label: 0xabcde}\n"
	"    multicast:\n"
	"      - {mgid: \"FF12:401b:ffff:0::1\", mtu: 1, rate: 56Gb}\n"
	"      - {mgid: \"ff15::2\", rate: 24}\n"
	"    level: bulk\n"
	"    enforce: in\n"
	"    trust_names: true\n"
	"  - {name: c, members: [all, h1], sl: 4, enforce: off}\n"
	"  - {name: d, members: all-switches, enforce: out, ipoib: no}\n"
	"qos:\n"
	"  levels:\n"
	"    - name: bulk\n"
	"    - {name: fast, weight: 64, priority: high, sl: 2, vl: 14, rate: 100Gb, mtu: 1024, "
	"packet_life: 15}\n"
	"  rules:\n"
	"    - {level: fast, partition: Tenant A}\n"
	"    - {level: bulk, application: srp, partition: [c, d], pkey: [0x42, \"0x8001-0x8010\"], "
	"service_id: 0x1000-0x1fff, class: [1, 5-9], source: \"group:all-but\", "
	"destination: [\"partition:c\", x], either: self}\n"
	"  arbitration:\n"
	"    - {ports: all, high: \"0:64,1:0\", low: \"2:4\", high_limit: 9}\n"
	"    - {ports: port0}\n"
	"  high_limit: 8\n"
	"  merge: true\n"
	"  congestion: {enabled: yes, key: 0xfedcba9876543210, threshold: 1, packet_size: 2, "
	"marking_rate: 3, credit_starvation: yes, levels_off: [4, 5], increase: 6, timer: 7, "
	"trigger: 8, least: 9, table: \"0:0,1:16383\"}\n";

static void
check_tenant(const struct config_partition *p)
{
	assert_string_equal(p->name, "Tenant A");
	assert_int_equal(p->pkey, 0x42);
	expect_texts(p->subnets, "b");
	assert_int_equal(p->nmembers, 2);
	expect_texts(p->members[0].nodes, "group:storage|2");
	assert_int_equal(p->members[0].membership, MEMBERSHIP_BOTH);
	assert_false(p->members[0].index0);
	expect_texts(p->members[1].nodes, "0x0002c903000a1b2d");
	assert_int_equal(p->members[1].membership, MEMBERSHIP_LIMITED);
	assert_true(p->members[1].index0);
	expect_texts(p->except, "mallory|/^x/");
	assert_int_equal(p->nipoib, 1);
	assert_null(p->ipoib->mgid);
	assert_int_equal(p->ipoib->mtu, 5);
	assert_int_equal(p->ipoib->rate, 17);
	assert_int_equal(p->ipoib->nscopes, 2);
	assert_int_equal(p->ipoib->scopes[1], 5);
	assert_int_equal(p->ipoib->sl, 3);
	assert_int_equal(p->ipoib->qkey, 0x80000001);
	assert_int_equal(p->ipoib->tclass, 7);
	assert_int_equal(p->ipoib->flow_label, 0xabcde);
	assert_int_equal(p->ngroups, 2);
	assert_string_equal(p->groups[0].mgid, "ff12:401b:ffff::1");
	assert_int_equal(p->groups[0].mtu, 1);
	assert_int_equal(p->groups[0].rate, 12);
	assert_int_equal(p->groups[0].qkey, 0xb1b);
	assert_int_equal(p->groups[1].rate, 24);
	assert_int_equal(p->groups[1].sl, CONFIG_SL_FREE);
	assert_string_equal(p->level, "bulk");
	assert_int_equal(p->enforce, ENFORCE_IN);
	assert_true(p->trust_names);
}

static void
check_partitions(const struct config_partitions *c)
{
	const struct config_partition *p = c->list;

	assert_int_equal(c->ngroups, 2);
	assert_string_equal(c->groups[0].name, "storage");
	expect_texts(c->groups[0].nodes, "/^oss/|0x0002c903000a1b2c");
	expect_texts(c->groups[0].except, "oss7");
	expect_texts(c->groups[1].nodes, "all-hosts");
	expect_texts(c->groups[1].except, "group:storage|self|sw/3");
	assert_int_equal(c->len, 4);
	assert_int_equal(p->pkey, 0x7fff);
	assert_null(p->subnets);
	expect_texts(p->except, "");
	assert_int_equal(p->members->membership, MEMBERSHIP_FULL);
	assert_int_equal(p->ipoib->mtu, 4);
	assert_int_equal(p->ipoib->rate, 3);
	assert_int_equal(p->ipoib->nscopes, 1);
	assert_int_equal(p->ipoib->scopes[0], 2);
	assert_int_equal(p->sl, CONFIG_SL_FREE);
	assert_null(p->level);
	assert_int_equal(p->enforce, ENFORCE_BOTH);
	assert_false(p->trust_names);
	check_tenant(&p[1]);
	assert_int_equal(p[2].pkey, 0);
	assert_int_equal(p[2].nmembers, 1);
	expect_texts(p[2].members->nodes, "all|h1");
	assert_int_equal(p[2].sl, 4);
	assert_int_equal(p[2].enforce, ENFORCE_OFF);
	expect_texts(p[3].members->nodes, "all-switches");
	assert_int_equal(p[3].members->membership, MEMBERSHIP_FULL);
	assert_int_equal(p[3].nipoib, 0);
}

static void
check_rules(const struct config_rule *r)
{
	assert_string_equal(r->level, "fast");
	assert_null(r->application);
	expect_texts(r->partitions, "Tenant A");
	assert_int_equal(r->npkeys + r->nservice_ids + r->nclasses, 0);
	assert_true(!r->source && !r->destination && !r->either);
	assert_string_equal(r[1].application, "srp");
	expect_texts(r[1].partitions, "c|d");
	assert_int_equal(r[1].npkeys, 2);
	assert_true(r[1].pkeys[0].from == 0x42 && r[1].pkeys[0].to == 0x42);
	assert_true(r[1].pkeys[1].from == 1 && r[1].pkeys[1].to == 0x10);
	assert_int_equal(r[1].nservice_ids, 1);
	assert_true(r[1].service_ids->from == 0x1000 && r[1].service_ids->to == 0x1fff);
	assert_int_equal(r[1].nclasses, 2);
	assert_true(r[1].classes[1].from == 5 && r[1].classes[1].to == 9);
	expect_texts(r[1].source, "group:all-but");
	expect_texts(r[1].destination, "partition:c|x");
	expect_texts(r[1].either, "self");
}

static void
check_qos(const struct config_qos *q)
{
	const struct config_congestion *cc = &q->congestion;

	assert_int_equal(q->nlevels, 2);
	assert_string_equal(q->levels[0].name, "bulk");
	assert_int_equal(q->levels[0].weight, 32);
	assert_int_equal(q->levels[0].priority, PRIORITY_LOW);
	assert_int_equal(q->levels[0].sl, CONFIG_SL_FREE);
	assert_int_equal(q->levels[0].vl, CONFIG_VL_FREE);
	assert_int_equal(q->levels[0].rate + q->levels[0].mtu + q->levels[0].packet_life, 0);
	assert_int_equal(q->levels[1].weight, 64);
	assert_int_equal(q->levels[1].priority, PRIORITY_HIGH);
	assert_int_equal(q->levels[1].sl, 2);
	assert_int_equal(q->levels[1].vl, 14);
	assert_int_equal(q->levels[1].rate, 16);
	assert_int_equal(q->levels[1].mtu, 3);
	assert_int_equal(q->levels[1].packet_life, 15);
	assert_int_equal(q->nrules, 2);
	check_rules(q->rules);
	assert_int_equal(q->narbitration, 2);
	assert_string_equal(q->arbitration[0].ports, "all");
	assert_string_equal(q->arbitration[0].high, "0:64, 1:0");
	assert_string_equal(q->arbitration[0].low, "2:4");
	assert_int_equal(q->arbitration[0].high_limit, 9);
	assert_null(q->arbitration[1].high);
	assert_int_equal(q->arbitration[1].high_limit, 8);
	assert_int_equal(q->high_limit, 8);
	assert_true(q->merge && cc->enabled && cc->credit_starvation);
	assert_true(cc->key == 0xfedcba9876543210);
	assert_true(cc->threshold == 1 && cc->packet_size == 2 && cc->marking_rate == 3);
	assert_true(cc->nlevels_off == 2 && cc->levels_off[0] == 4 && cc->levels_off[1] == 5);
	assert_true(cc->increase == 6 && cc->timer == 7 && cc->trigger == 8 && cc->least == 9);
	assert_string_equal(cc->table, "0:0, 1:16383");
}

static void
test_full(void **state)
{
	struct config *c = parse_ok(full), *d;
	struct buf one = { 0 }, two = { 0 };

	(void)state;
	check_partitions(&c->partitions);
	check_qos(&c->qos);
	config_print(c, &one);
	d = parse_ok(one.data);
	check_partitions(&d->partitions);
	check_qos(&d->qos);
	config_print(d, &two);
	assert_string_equal(one.data, two.data);
	assert_int_equal(config_diff(c, d, NULL, NULL), STAGE_NONE);
	buf_free(&one);
	buf_free(&two);
	config_free(c);
	config_free(d);
}

/* The first partitions that an administrator writes, as the design shows them. */
static void
test_design(void **state)
{
	struct config *c = parse_ok(
		"partitions:\n"
		"  - {name: default, pkey: 0x7fff, ipoib: {mtu: 2048}, members: [{nodes: all, "
		"membership: full}]}\n"
		"  - {name: tenant-a, pkey: 0x0042, members: [{nodes: [\"/^gpu-0[0-9]+ /\"], "
		"membership: full}]}\n"
		"qos:\n"
		"  levels: [{name: bulk, weight: 32}, {name: latency, priority: high, "
		"weight: 64}]\n"
		"  rules: [{partition: tenant-a, level: latency}]\n");

	(void)state;
	assert_int_equal(c->partitions.list[0].ipoib->mtu, 4);
	expect_texts(c->partitions.list[1].members->nodes, "/^gpu-0[0-9]+ /");
	expect_texts(c->qos.rules->partitions, "tenant-a");
	config_free(c);
}

/* Every rate by its word, its code, and the links that have it: the table of IBA volume 1,
 * 15.2.5.16, written out by hand. */
static void
test_rates(void **state)
{
	static const struct {
		unsigned code;			/* of PathRecord */
		const char *words[4];		/* that mean it */
	} rates[] = {
		{ 2, { "2.5Gb", "1xSDR" } }, { 3, { "10Gb", "4xSDR", "1xQDR", "2xDDR" } },
		{ 4, { "30Gb", "12xSDR" } }, { 5, { "5Gb", "1xDDR", "2xSDR" } },
		{ 6, { "20Gb", "4xDDR", "2xQDR" } }, { 7, { "40Gb", "4xQDR", "4xFDR10", "8xDDR" } },
		{ 8, { "60Gb", "12xDDR" } }, { 9, { "80Gb", "8xQDR" } },
		{ 10, { "120Gb", "12xQDR" } }, { 11, { "14Gb", "1xFDR" } },
		{ 12, { "56Gb", "4xFDR" } }, { 13, { "112Gb", "8xFDR" } },
		{ 14, { "168Gb", "12xFDR" } }, { 15, { "25Gb", "1xEDR" } },
		{ 16, { "100Gb", "4xEDR", "2xHDR", "1xNDR" } },
		{ 17, { "200Gb", "4xHDR", "2xNDR", "1xXDR" } }, { 18, { "300Gb", "12xEDR" } },
		{ 19, { "28Gb", "2xFDR" } }, { 20, { "50Gb", "1xHDR", "2xEDR" } },
		{ 21, { "400Gb", "4xNDR", "8xHDR", "2xXDR" } }, { 22, { "600Gb", "12xHDR" } },
		{ 23, { "800Gb", "8xNDR", "4xXDR" } }, { 24, { "1200Gb", "12xNDR" } },
	};
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (size_t n = 0; n < 5; n++) {
			const char *word = n ? rates[i].words[n - 1] : NULL;
			struct config *c;

			if (n && !word)
				break;
			buf_clear(&b);
			buf_str(&b, "qos: {levels: [{name: a, rate: ");
			if (word)
				buf_str(&b, word);
			else
				buf_printf(&b, "%u", rates[i].code);
			buf_str(&b, "}]}\n");
			c = parse_ok(b.data);
			assert_int_equal(c->qos.levels->rate, rates[i].code);
			config_free(c);
		}
	}
	buf_free(&b);
}

#define G "groups: [{name: g, nodes: x}]\n"
#define P "partitions:\n  - "		/* column 5 of line 2 */
#define L "qos: {levels: [{name: a}]}\n"
#define R "qos:\n  levels: [{name: a}]\n  rules: [{level: a, "	/* column 23 of line 3 */

static void
test_members(void **state)
{
	static const char *const cases[][2] = {
		{ P "pkey: 1\n", "t.yaml:2:5: partitions: a partition needs name" },
		{ P "{name: x, pkey: 0x8000}\n",
		  "t.yaml:2:21: pkey: expected a P_Key from 0x0001 to 0x7fff, with or without the "
		  "bit 0x8000, or auto, found \"0x8000\"" },
		{ P "{name: x, pkey: 5}\n  - {name: y, pkey: 0x8005}\n",
		  "t.yaml:3:21: pkey: 0x0005 is the P_Key of partition x already" },
		{ P "{name: x}\n  - {name: x}\n",
		  "t.yaml:3:12: name: two partitions are called x" },
		{ P "{name: x, pkey: 0x7fff}\n  - {name: default}\n",
		  "t.yaml:3:5: pkey: 0x7fff is the P_Key of partition x already" },
		{ P "{name: default, pkey: 3}\n",
		  "t.yaml:2:27: pkey: the partition default has 0x7fff; give the one with 0x0003 "
		  "another name" },
		{ P "{name: x, members: \"group:h\"}\n",
		  "t.yaml:2:24: members: there is no group h" },
		{ P "{name: x, members: [a, \"group:h\"]}\n" G,
		  "t.yaml:2:28: members: there is no group h; did you mean \"g\"?" },
		{ P "{name: x, members: [{nodes: [a, \"group:gg\"]}]}\n" G,
		  "t.yaml:2:37: nodes: there is no group gg; did you mean \"g\"?" },
		{ P "{name: x, members: [{nodes: a}, b]}\n",
		  "t.yaml:2:37: members: expected a map of options, found \"b\"" },
		{ P "{name: x, members: [{}]}\n",
		  "t.yaml:2:25: members: a member needs nodes" },
		{ P "{name: x, except: \"partition:x\"}\n",
		  "t.yaml:2:23: except: partition:NAME is for rules of qos; name the nodes in "
		  "groups, and write group:NAME" },
		{ P "{name: x, members: [ALL]}\n",
		  "t.yaml:2:25: nodes: expected all, all-hosts, all-switches, all-routers or self, "
		  "found \"ALL\"; a node that is called so is /^ALL$/" },
		{ P "{name: x, members: [all-host]}\n",
		  "t.yaml:2:25: nodes: expected all, all-hosts, all-switches, all-routers or self, "
		  "found \"all-host\"; a node that is called so is /^all-host$/" },
		{ P "{name: x, members: [0x12z]}\n",
		  "t.yaml:2:25: nodes: expected a GUID such as 0x0002c903000a1b2c behind 0x, found "
		  "\"0x12z\"" },
		{ P "{name: x, members: [0x1a, 000000000000001A]}\n",
		  "t.yaml:2:31: nodes: \"000000000000001A\" is in the list twice" },
		{ P "{name: x, members: [h/255]}\n",
		  "t.yaml:2:25: nodes: expected a port from 1 to 254 behind the last slash, found "
		  "\"h/255\"" },
		{ P "{name: x, members: [/a(/]}\n", "t.yaml:2:25: nodes: the regular expression is "
		  "wrong at character 3: missing closing parenthesis" },
		{ P "{name: x, membership: full}\n",
		  "t.yaml:2:15: unknown option \"membership\" in a partition; did you mean "
		  "\"members\"?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
}

static void
test_partitions(void **state)
{
	static const char *const cases[][2] = {
		{ P "{name: x, enforce: bth}\n", "t.yaml:2:24: enforce: expected both, in, out or "
		  "off, found \"bth\"; did you mean \"both\"?" },
		{ P "{name: x, ipoib: {mtu: 6}}\n", "t.yaml:2:28: mtu: expected 256, 512, 1024, "
		  "2048 or 4096 bytes, or the code of one, 1 to 5, found \"6\"" },
		{ P "{name: x, ipoib: {rate: 25}}\n", "t.yaml:2:29: rate: expected 2.5Gb, 10Gb, "
		  "30Gb, 5Gb, 20Gb, 40Gb, 60Gb, 80Gb, 120Gb, 14Gb, 56Gb, 112Gb, 168Gb, 25Gb, "
		  "100Gb, 200Gb, 300Gb, 28Gb, 50Gb, 400Gb, 600Gb, 800Gb or 1200Gb, the code of "
		  "one (2 to 24), or a link such as 4xHDR, found \"25\"" },
		{ P "{name: x, ipoib: maybe}\n",
		  "t.yaml:2:22: ipoib: expected true, false or a map, found \"maybe\"" },
		{ P "{name: x, ipoib: {scopes: []}}\n", "t.yaml:2:31: scopes: expected one whole "
		  "number, or a list of them, from 1 to 15, found an empty list" },
		{ P "{name: x, multicast: [{mtu: 256}]}\n",
		  "t.yaml:2:27: multicast: a multicast group needs mgid" },
		{ P "{name: x, multicast: [{mgid: \"fe80::1\"}]}\n",
		  "t.yaml:2:34: mgid: expected a multicast GID such as ff12:401b:ffff::1, found "
		  "\"fe80::1\"" },
		{ P "{name: x, multicast: [{mgid: \"ff12::1\"}]}\n  - {name: y, multicast: "
		  "[{mgid: \"FF12:0::1\"}]}\n",
		  "t.yaml:3:34: mgid: ff12::1 is a group of partition x already" },
		{ P "{name: x, subnets: [default, other]}\n",
		  "t.yaml:2:34: subnets: there is no subnet other" },
		{ P "{name: x, level: b}\n" L,
		  "t.yaml:2:22: level: there is no level b; did you mean \"a\"?" },
		{ P "{name: x, level: a, sl: 1}\n" L,
		  "t.yaml:2:29: sl: level a says the service level; say one of the two" },
		{ P "\n", "t.yaml:2:4: partitions: expected a map of options, found nothing" },
		{ "partitions:\n",
		  "t.yaml:1:12: partitions: expected a list of maps, found nothing" },
		{ "pkey: 5\n",
		  "t.yaml:1:1: unknown option \"pkey\" here: it belongs to an entry of "
		  "partitions" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
}

static void
test_rules(void **state)
{
	static const char *const cases[][2] = {
		{ "groups:\n  - {name: g, nodes: x}\n  - {name: g, nodes: y}\n",
		  "t.yaml:3:12: name: two groups are called g" },
		{ "groups:\n  - {name: h, nodes: \"group:h\"}\n",
		  "t.yaml:2:22: nodes: there is no group above that is called h" },
		{ "groups:\n  - {name: a, nodes: \"group:hosts\"}\n  - {name: hosts, nodes: x}\n",
		  "t.yaml:2:22: nodes: there is no group above that is called hosts" },
		{ "qos:\n  levels: [{name: a}, {name: a}]\n",
		  "t.yaml:2:30: name: two levels are called a" },
		{ "qos:\n  levels: [{name: a, sl: 1}, {name: b, sl: 1}]\n",
		  "t.yaml:2:44: sl: 1 is the service level of a already" },
		{ "qos:\n  levels: [{name: a, vl: 8}]\n",
		  "t.yaml:2:26: vl: no subnet operates lane 8: max_op_vls is 8" },
		{ "qos:\n  rules: [{level: a}]\n", "t.yaml:2:19: level: there is no level a" },
		{ R "partition: x}]\n", "t.yaml:3:33: partition: there is no partition x" },
		{ R "partition: []}]\n", "t.yaml:3:33: partition: expected the name of a "
		  "partition, or a list of them, or null, found an empty list" },
		{ R "source: []}]\n", "t.yaml:3:30: source: expected a selection of ports, or a "
		  "list of them, or null, found an empty list" },
		{ R "source: [a, \"partition:y\"]}]\n",
		  "t.yaml:3:34: source: there is no partition y" },
		{ R "service_id: 0x10-0x1}]\n",
		  "t.yaml:3:34: service_id: expected a number or a range such as 0x10-0x1f, or a "
		  "list of them, from 0x0 to 0xffffffffffffffff, or null, found \"0x10-0x1\"" },
		{ R "application: nvme}]\n", "t.yaml:3:35: application: expected any, ipoib, iser, "
		  "lustre, nvmeof, rds, sdp, srp or null, found \"nvme\"; did you mean "
		  "\"nvmeof\"?" },
		{ "qos:\n  arbitration: [{ports: all}, {ports: all}]\n",
		  "t.yaml:2:39: ports: all have an arbitration already" },
		{ "qos:\n  arbitration: [{ports: all, high: \"0:1 1:2\"}]\n",
		  "t.yaml:2:36: high: expected \"VL:WEIGHT, ...\" with lanes from 0 to 14, weights "
		  "from 0 to 255 and at most 64 of them, or null, found \"0:1 1:2\"" },
		{ "qos: {congestion: {key: secret}}\n", "t.yaml:1:25: qos.congestion.key: expected "
		  "a number from 0x0 to 0xffffffffffffffff, found something else" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
}

/* A P_Key is of a subnet: others may use it, too. */
static void
test_subnets(void **state)
{
	static const char two[] = "subnets: [{name: a, port: \"x:1\"}, {name: b, port: \"y:1\"}]\n";
	struct buf b = { 0 };

	(void)state;
	buf_printf(&b, "%s%s", two, P "{name: x, pkey: 5, subnets: a}\n"
		   "  - {name: y, pkey: 5, subnets: [b]}\n");
	config_free(parse_ok(b.data));
	buf_str(&b, "  - {name: z, pkey: 5}\n");
	expect_error(b.data, "t.yaml:5:21: pkey: 0x0005 is the P_Key of partition x already");
	buf_free(&b);
}

static void
test_diff(void **state)
{
	(void)state;
	expect_diff(P "{name: a, pkey: 1}\n  - {name: c, pkey: 3}\n",
		    P "{name: a, pkey: 1}\n  - {name: b, pkey: 2}\n  - {name: c, pkey: 3}\n",
		    STAGE_PARTITIONS,
		    "partitions[b] absent -> {name: b, pkey: 0x0002} (partitions)\n");
	expect_diff(P "{name: a, pkey: 1, members: h}\n  - {name: c, pkey: 3}\n",
		    P "{name: c, pkey: 4}\n", STAGE_PARTITIONS,
		    "partitions[a] {name: a, pkey: 0x0001, members: [{nodes: [h]}]} -> absent "
		    "(partitions)\n"
		    "partitions[c] {pkey: 0x0003} -> {pkey: 0x0004} (partitions)\n");
	expect_diff(P "{name: a}\n  - {name: c}\n", P "{name: c}\n  - {name: a}\n",
		    STAGE_PARTITIONS, "partitions their order -> another order (partitions)\n");
	expect_diff(P "{name: a, members: [v, x]}\n", P "{name: a, members: [w, x], ipoib: yes}\n",
		    STAGE_PARTITIONS,
		    "partitions[a] {members: [{nodes: [v, x]}], ipoib: false} -> "
		    "{members: [{nodes: [w, x]}], ipoib: true} (partitions)\n");
	expect_diff("", G, STAGE_PARTITIONS,
		    "groups[g] absent -> {name: g, nodes: [x]} (partitions)\n");
	expect_diff("", L, STAGE_ROUTING, "qos.levels[a] absent -> {name: a} (routing)\n");
	expect_diff(L, "qos: {levels: [{name: a, weight: 9}]}\n", STAGE_PUSH,
		    "qos.levels[a] {weight: 32} -> {weight: 9} (push)\n");
	expect_diff(R "class: 1}, {level: a, class: 3}]\n",
		    R "class: 1}, {level: a, class: 2}, {level: a, class: 3}]\n", STAGE_ROUTING,
		    "qos.rules[1] absent -> {level: a, class: [2]} (routing)\n");
	expect_diff("", "qos: {high_limit: 1}\n", STAGE_PUSH, "qos.high_limit 255 -> 1 (push)\n");
	expect_diff("", "qos: {arbitration: [{ports: hosts}]}\n", STAGE_PUSH,
		    "qos.arbitration[hosts] absent -> {ports: hosts, high_limit: 255} "
		    "(push)\n");
	expect_diff("", "qos: {congestion: {key: 5}}\n", STAGE_PUSH,
		    "qos.congestion.key (hidden) -> (hidden) (push)\n");
}

/* A list of 2,000 GUIDs in one line, of 38 kB and more: all of them. */
static void
test_long_line(void **state)
{
	struct buf b = { 0 }, printed = { 0 };
	struct config *c, *d;

	(void)state;
	buf_str(&b, "partitions: [{name: a, members: [");
	for (unsigned i = 0; i < 2000; i++)
		buf_printf(&b, "%s0x0002c903%08x", i ? ", " : "", i);
	buf_str(&b, "]}]\n");
	c = parse_ok(b.data);
	for (unsigned i = 0; i < 2000; i++) {
		char want[32];

		snprintf(want, sizeof(want), "0x0002c903%08x", i);
		assert_string_equal(c->partitions.list->members->nodes[i], want);
	}
	assert_null(c->partitions.list->members->nodes[2000]);
	config_print(c, &printed);
	d = parse_ok(printed.data);
	assert_int_equal(config_diff(c, d, NULL, NULL), STAGE_NONE);
	config_free(d);
	b.data[strlen(b.data) - 6] = 'f';	/* the last one */
	d = parse_ok(b.data);
	buf_clear(&printed);
	assert_int_equal(config_diff(c, d, collect, &printed), STAGE_PARTITIONS);
	assert_true(printed.len < 500);
	assert_non_null(strstr(printed.data, "0x0002c903000007cf]}]} -> ..."));
	assert_non_null(strstr(printed.data, "0x0002c903000007ff]}]} (partitions)"));
	buf_free(&b);
	buf_free(&printed);
	config_free(c);
	config_free(d);
}

/* `format` so many times, with a number; what comes of it. */
static void
expect_repeated(const char *before, const char *format, unsigned times, const char *message)
{
	struct buf b = { 0 };

	buf_str(&b, before);
	for (unsigned i = 0; i < times; i++) {
		const char *number = strchr(format, '#');

		buf_printf(&b, "%.*s%u%s", (int)(number - format), format, i, number + 1);
	}
	if (strchr(before, '['))
		buf_str(&b, "]}]\n");
	if (message)
		expect_error(b.data, message);
	else
		config_free(parse_ok(b.data));
	buf_free(&b);
}

static void
test_limits(void **state)
{
	static const char levels[] = "qos:\n  levels:\n";
	static const char rules[] = "qos:\n  levels:\n  - name: a\n  rules:\n";

	(void)state;
	expect_repeated("partitions:\n", "- {name: p#}\n", 32767, NULL);
	expect_repeated("partitions:\n", "- {name: p#}\n", 32768,
			"t.yaml:2:1: partitions: expected at most 32767");
	expect_repeated("groups: [{name: g, nodes: [", "n#, ", 65536, NULL);
	expect_repeated("groups: [{name: g, nodes: [", "n#, ", 65537,
			"t.yaml:1:27: nodes: expected at most 65536");
	expect_repeated("groups: [{name: g, nodes: [", "/n#/, ", 256, NULL);
	expect_repeated("groups: [{name: g, nodes: [", "/n#/, ", 257,
			"t.yaml:1:1966: nodes: expected at most 256 regular expressions");
	expect_repeated(levels, "  - {name: l#}\n", 16, NULL);
	expect_repeated(levels, "  - {name: l#}\n", 17,
			"t.yaml:3:3: qos.levels: expected at most 16");
	expect_repeated(rules, "  - {level: a, service_id: #}\n", 10000, NULL);
	expect_repeated(rules, "  - {level: a, service_id: #}\n", 10001,
			"t.yaml:5:3: qos.rules: expected at most 10000");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_design),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_subnets),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
