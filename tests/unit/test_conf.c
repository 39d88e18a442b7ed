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
#include "sm/conf/schema.h"
#include "tests/unit/conf_help.h"

/*
 * The configuration: places and words of messages (counted by hand), widths of fields, printing and
 * reading back, differences. Values and ranges: test_conf_values.c; partitions and quality of
 * service: test_conf_policy.c.
 */

#define S "subnets:\n  - "	/* what follows stands in column 5 of line 2 */

static void
test_messages(void **state)
{
	static const char *const cases[][2] = {
		{ S "lmc: eight\n",
		  "t.yaml:2:10: lmc: expected a whole number from 0 to 7, found \"eight\"" },
		{ S "lmcc: 1\n",
		  "t.yaml:2:5: unknown option \"lmcc\" in a subnet; did you mean \"lmc\"?" },
		{ "lgo: {level: info}\n",
		  "t.yaml:1:1: unknown option \"lgo\"; did you mean \"log\"?" },
		{ "log: {levle: info}\n",
		  "t.yaml:1:7: unknown option \"levle\" in log; did you mean \"level\"?" },
		{ "log: {zzzzzzzz: info}\n",
		  "t.yaml:1:7: unknown option \"zzzzzzzz\" in log; expected level or to" },
		{ "lmc: 1\n",
		  "t.yaml:1:1: unknown option \"lmc\" here: it belongs to an entry of subnets" },
		{ "routing: {engines: [updn]}\n",
		  "t.yaml:1:1: unknown option \"routing\" here: it belongs to an entry of "
		  "subnets" },
		{ S "threads: 2\n",
		  "t.yaml:2:5: unknown option \"threads\" in a subnet: it belongs to the top of "
		  "the file" },
		{ "log.level: info\n", "t.yaml:1:1: unknown option \"log.level\"; "
		  "expected state, etcd, control, log, events, names, "
		  "plugin_folder, plugins, threads, subnets, groups, partitions or "
		  "qos" },
		{ "log: {level: inof}\n", "t.yaml:1:14: log.level: expected error, warning, "
		  "notice, info or debug, found \"inof\"; did you mean \"info\"?" },
		{ "log: {to: jurnal}\n", "t.yaml:1:11: log.to: expected journal, stderr, or a path "
		  "with a / in it, found \"jurnal\"" },
		{ "log: info\n",
		  "t.yaml:1:6: log: expected a map of options, found \"info\"" },
		{ "state:\n", "t.yaml:1:7: state: expected a path with a / in it, or :memory:, "
		  "found nothing" },
		{ S "sweep_interval: 10\n",
		  "t.yaml:2:21: sweep_interval: expected a time with a unit (us, ms, s, min, h) "
		  "from 100ms to 24h, or 0, found \"10\"" },
		{ S "max_op_vls: 3\n",
		  "t.yaml:2:17: max_op_vls: expected 1, 2, 4, 8 or 15, found \"3\"" },
		{ S "m_key: 0x12345678z\n",
		  "t.yaml:2:12: m_key: expected a number from 0x0 to 0xffffffffffffffff, "
		  "found something else" },
		{ S "refuse_if_master: maybe\n",
		  "t.yaml:2:23: refuse_if_master: expected true or false, found \"maybe\"" },
		{ S "routing: {engines: [minhop, updwn]}\n",
		  "t.yaml:2:33: routing.engines: expected a list of at least one of auto, "
		  "dfsssp, dragonfly, fatpaths, fattree, file, hyperx, minhop, nue, torus or updn, "
		  "found \"updwn\"; did you mean \"updn\"?" },
		{ S "routing: {engines: [updn, file]}\n",
		  "t.yaml:2:24: routing.engines: file needs routing.file, the tables" },
		{ S "routing: {engines: [updn], file: tables}\n",
		  "t.yaml:2:38: routing.file: expected a path with a / in it, or null, found "
		  "\"tables\"" },
		{ S "routing: {engines: [lash, updn]}\n",
		  "t.yaml:2:25: routing.engines: this version does not have \"lash\" yet: "
		  "use auto, dfsssp, dragonfly, fatpaths, fattree, file, hyperx, minhop, nue, "
		  "torus or updn" },
		{ S "routing: {engines: [ftree]}\n",
		  "t.yaml:2:25: routing.engines: this version does not have \"ftree\" yet: "
		  "use auto, dfsssp, dragonfly, fatpaths, fattree, file, hyperx, minhop, nue, "
		  "torus or updn" },
		{ S "routing: {engines: []}\n",
		  "t.yaml:2:24: routing.engines: expected a list of at least one of auto, "
		  "dfsssp, dragonfly, fatpaths, fattree, file, hyperx, minhop, nue, torus or updn, "
		  "found an empty list" },
		{ S "routing: {engines: [updn, updn]}\n",
		  "t.yaml:2:31: routing.engines: \"updn\" is in the list twice" },
		{ S "routing: {fallback: wran}\n", "t.yaml:2:25: routing.fallback: expected warn "
		  "or refuse, found \"wran\"; did you mean \"warn\"?" },
		{ S "routing: {roots: [0x10, 16]}\n", "t.yaml:2:29: routing.roots: expected a "
		  "list of GUIDs such as 0x0002c903000a1b2c, found \"16\"" },
		{ S "routing: {roots: [0x10, 0x0010]}\n",
		  "t.yaml:2:29: routing.roots: \"0x0010\" is in the list twice" },
		{ S "routing: {classes: {storage: [a, a]}}\n",
		  "t.yaml:2:38: routing.classes.storage: \"a\" is in the list twice" },
		{ S "routing: {classes: {other: [b, /a(/]}}\n",
		  "t.yaml:2:36: routing.classes.other: the regular expression is wrong at "
		  "character 3: missing closing parenthesis" },
		{ S "routing: {classes: {stroage: [a]}}\n", "t.yaml:2:25: unknown option "
		  "\"stroage\" in routing.classes; did you mean \"storage\"?" },
		{ S "routing: {adaptive: onn}\n", "t.yaml:2:25: routing.adaptive: expected off, "
		  "on or auto, found \"onn\"; did you mean \"on\"?" },
		{ "subnets: []\n",
		  "t.yaml:1:10: subnets: expected a list of at least one map, found an empty "
		  "list" },
		{ "subnets:\n  - default\n",
		  "t.yaml:2:5: subnets: expected a map of options, found \"default\"" },
		{ S "port: mlx5_0\n", "t.yaml:2:11: port: expected auto, DEVICE:PORT such as "
		  "mlx5_0:1, or a port GUID, found \"mlx5_0\"" },
		{ S "port: \"mlx5_0:255\"\n", "t.yaml:2:11: port: expected auto, DEVICE:PORT such "
		  "as mlx5_0:1, or a port GUID, found \"mlx5_0:255\"" },
		{ S "m_key_protect: 2\n",
		  "t.yaml:2:20: m_key_protect: protects nothing without an m_key" },
		{ S "m_key_lease: 10\n",
		  "t.yaml:2:18: m_key_lease: expected 0, or more than sweep_interval" },
		{ S "{name: a, port: \"x:1\"}\n  - {name: a, port: \"y:1\"}\n",
		  "t.yaml:3:12: name: two subnets are called a" },
		{ S "{name: a, port: \"x:1\"}\n  - {name: b, port: \"x:01\"}\n",
		  "t.yaml:3:21: port: x:1 is the port of subnet a already" },
		{ S "{name: a, port: 0xab}\n  - {name: b, port: 00000000000000AB}\n",
		  "t.yaml:3:21: port: 0x00000000000000ab is the port of subnet a already" },
		{ S "{name: a, port: \"x:1\"}\n  - name: b\n", "t.yaml:3:5: port: auto is for a "
		  "single subnet; each of several needs a port of its own" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
}

/* Endpoints, and what needs what. */
static void
test_etcd(void **state)
{
	static const char *const cases[][2] = {
		{ "etcd: {endpoints: [\"ftp://a:1\"]}\n",
		  "t.yaml:1:20: etcd.endpoints: expected http://HOST:PORT or https://HOST:PORT, or "
		  "a list of them, or null, found \"ftp://a:1\"" },
		{ "etcd: {endpoints: \"http://u@a:1\"}\n",
		  "t.yaml:1:19: etcd.endpoints: expected http://HOST:PORT or https://HOST:PORT, or "
		  "a list of them, or null, found \"http://u@a:1\"" },
		{ "etcd: {endpoints: \"http://a:1/b\"}\n",
		  "t.yaml:1:19: etcd.endpoints: expected http://HOST:PORT or https://HOST:PORT, or "
		  "a list of them, or null, found \"http://a:1/b\"" },
		{ "etcd: {prefix: /a/}\n", "t.yaml:1:16: etcd.prefix: expected 2 to 200 bytes that "
		  "begin with / and do not end with it, without blanks, found \"/a/\"" },
		{ "state: \":memory:\"\netcd: {endpoints: \"http://a\"}\n",
		  "t.yaml:2:19: etcd.endpoints: etcd needs a state file, not :memory:" },
		{ "etcd: {cert: /a}\n",
		  "t.yaml:1:14: etcd.cert: expected etcd.key beside it" },
		{ "etcd: {password_file: /a}\n",
		  "t.yaml:1:23: etcd.password_file: expected etcd.user beside it" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
}

static void
test_yaml(void **state)
{
	static const char *const cases[][2] = {
		{ "threads: 1\nnames: /a\nthreads: 2\n",
		  "t.yaml:3:1: \"threads\" is set twice; it was set in line 1 already" },
		{ "- a\n", "t.yaml:1:1: expected a map of options, found a list" },
		{ "threads: 1\n---\nthreads: 2\n",
		  "t.yaml:2:1: a second document starts here; one file is one" },
		{ "threads: !!int 1\n", "t.yaml:1:10: tags (!...) have no meaning in this file" },
		{ "? [a]\n: 1\n", "t.yaml:1:3: expected a word as key, found a list" },
		{ "threads: *nobody\n",
		  "t.yaml:1:10: this alias names nothing that ends before it" },
		{ "subnets: &a [*a]\n",
		  "t.yaml:1:14: this alias names nothing that ends before it" },
		{ "a: [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n", "t.yaml:1:19: nested too deeply" },
		{ "state: \"/a\\0b\"\n",
		  "t.yaml:1:8: the value holds a control character or a line break" },
		{ "state: \"/a\\nb\"\n",
		  "t.yaml:1:8: the value holds a control character or a line break" },
	};
	static const char *const places[][2] = {
		{ "threads: 1\nlog: {level: info\n", "t.yaml:3:1: malformed YAML: " },
		{ "names: /\xc3\xbc\x01\n", "t.yaml:1:10: malformed YAML: " },
		{ "names: /a\n\xff\n", "t.yaml:2:1: malformed YAML: " },
		{ "log:\n\tlevel: info\n", "t.yaml:2:1: malformed YAML: " },
	};
	struct error e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1]);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		assert_null(parse(places[i][0], &e));
		assert_memory_equal(e.text, places[i][1], strlen(places[i][1]));
	}
}

/* "Billion laughs": nine levels of nine aliases each would be 387 million values. */
static void
test_bounds(void **state)
{
	struct buf b = { 0 };
	struct error e;

	(void)state;
	buf_str(&b, "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
	for (int i = 1; i < 9; i++) {
		buf_printf(&b, "a%d: &a%d [", i, i);
		for (int j = 0; j < 9; j++)
			buf_printf(&b, "%s*a%d", j ? ", " : "", i - 1);
		buf_str(&b, "]\n");
	}
	expect_error(b.data, "t.yaml:7:25: the aliases stand for too many values");
	buf_clear(&b);
	for (int i = 0; i < 300; i++)
		buf_printf(&b, "k%d: 1\n", i);
	expect_error(b.data, "t.yaml:257:1: more than 256 keys in one map");
	buf_clear(&b);
	for (int i = 0; i < 64 * 1024 * 1024 + 1; i++)
		buf_char(&b, ' ');
	expect_error(b.data, "t.yaml:1:1: larger than 67108864 bytes");
	buf_clear(&b);
	for (int i = 0; i < 1024 * 1024; i++)
		buf_char(&b, '[');
	assert_null(parse(b.data, &e));
	buf_clear(&b);
	buf_str(&b, "subnets:\n");
	for (int i = 0; i < 65; i++)
		buf_str(&b, "  - {}\n");
	expect_error(b.data, "t.yaml:2:3: subnets: expected at most 64");
	buf_clear(&b);
	buf_str(&b, "names: /");
	for (int i = 0; i < 5000; i++)
		buf_char(&b, 'x');
	assert_null(parse(b.data, &e));
	assert_non_null(strstr(e.text, "xxx...\""));
	buf_free(&b);
}

/* What a configuration without any line is, by the design and by custom. */
static void
test_defaults(void **state)
{
	static const char *const empty[] = {
		"", "\n", "# nothing\n", "---\n", "{}", "log:\n", "null\n",
	};
	struct config *c, *d = config_load(NULL, NULL);

	(void)state;
	assert_non_null(d);
	assert_null(d->file);
	assert_string_equal(d->state, "/var/lib/weft/weft.db");
	assert_string_equal(d->control.socket, "/run/weft/weft.sock");
	assert_null(d->control.group);
	assert_int_equal(d->log.level, LOG_L_NOTICE);
	assert_string_equal(d->log.to, "journal");
	assert_null(d->names);
	assert_int_equal(d->nsubnets, 1);
	assert_string_equal(d->subnets->name, "default");
	assert_string_equal(d->subnets->port, "auto");
	assert_true(d->subnets->prefix == 0xfe80000000000000);
	assert_true(d->subnets->sm_key == 1 && d->subnets->m_key == 0);
	assert_true(d->subnets->sweep_interval == SEC(10));
	assert_true(d->subnets->timeout == MSEC(200));
	assert_int_equal(d->subnets->max_op_vls, 8);
	assert_int_equal(d->subnets->max_smps, 256);
	assert_int_equal(d->subnets->packet_life_time, 18);
	assert_int_equal(d->subnets->leaf_hoq_life, 16);
	assert_int_equal(d->subnets->health.babbling, ACTION_REPORT);
	assert_false(d->subnets->refuse_if_master);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		c = parse_ok(empty[i]);
		assert_int_equal(config_diff(d, c, NULL, NULL), STAGE_NONE);
		config_free(c);
	}
	config_free(d);
	config_free(NULL);
}

static void
expect_initial(const struct option *table, const void *base)
{
	struct buf b = { 0 };

	for (const struct option *o = table; o->name; o++) {
		if (o->type == OPTION_LIST && o->min)
			continue;
		buf_clear(&b);
		option_text(o, base, &b);
		assert_string_equal(b.data, o->initial);
	}
	buf_free(&b);
}

/* The manual shows initial values as the schema spells them, the printer as it prints them. */
static void
test_initial(void **state)
{
	struct config *c = config_load(NULL, NULL);

	(void)state;
	expect_initial(schema_root, c);
	expect_initial(schema_subnet, c->subnets);
	config_free(c);
}

/* A different value in every field: one that is written too wide would spoil its neighbours. */
static const char full[] =
	"state: ':memory:'\n"
	"control: {socket: ./w.sock, group: \"domain users\"}\n"
	"log: {level: debug, to: /var/log/weft.log}\n"
	"names: \"/etc/a \\\"b\\\" \\\\ \xc3\xbc\"\n"
	"threads: 3\n"
	"subnets:\n"
	"  - name: compute-1\n"
	"    port: \"mlx5_0:01\"\n"
	"    prefix: 0xFEC0000000000001\n"
	"    priority: 14\n"
	"    accept_handover: yes\n"
	"    allowed_sm_guids: [0x77, 0xfffffffffffffffe]\n"
	"    m_key: 0x0123456789abcdef\n"
	"    sm_key: 18446744073709551614\n"
	"    m_key_lease: 65534\n"
	"    m_key_protect: 3\n"
	"    lmc: 2\n"
	"    sweep_interval: 1500ms\n"
	"    standby_poll: 5min\n"
	"    standby_retries: 9\n"
	"    standby_copy: 20s\n"
	"    routing: {engines: [updn], fallback: refuse, adaptive: auto, roots: [0x10, "
	"00000000000000aB], adaptive_switches: [/^leaf/], adaptive_except: [0x20], "
	"adaptive_sls: [1, 3], adaptive_transports: [ud, rc], adaptive_mode: bounded, "
	"adaptive_ageing: 45us, adaptive_recovery: false, adaptive_nonminimal: true, "
	"adaptive_errors: 0, "
	"adaptive_error_window: 7s, adaptive_hosts: write, "
	"adaptive_devices: [{vendor: 0x8f1, devices: 0x10-0x1f, sub_groups: count}], "
	"classes: {storage: [0x10, \"/^s\\\\d+ \\\"$/\"], other: [null, \"a b\"]}}\n"
	"    max_op_vls: 4\n"
	"    max_smps: 200\n"
	"    max_smps_per_device: 63\n"
	"    timeout: 1234us\n"
	"    retries: 5\n"
	"    packet_life_time: 31\n"
	"    subnet_timeout: 30\n"
	"    sa_rate: 7\n"
	"    hoq_life: 29\n"
	"    leaf_hoq_life: 28\n"
	"    vl_stall_count: 6\n"
	"    leaf_vl_stall_count: 1\n"
	"    local_phy_errors: 13\n"
	"    overrun_errors: 12\n"
	"    sm_sl: 11\n"
	"    multicast: {share_mlids: no, share_solicited: yes, forget_after: 0}\n"
	"    client_reregister: no\n"
	"    health: {babbling: isolate}\n"
	"    refuse_if_master: yes\n"
	"  - {name: b, port: 0xab}\n";

static void
check_full_subnet(const struct config_subnet *s)
{
	assert_string_equal(s->name, "compute-1");
	assert_string_equal(s->port, "mlx5_0:1");
	assert_true(s->prefix == 0xfec0000000000001);
	assert_int_equal(s->priority, 14);
	assert_true(s->accept_handover);
	assert_int_equal(s->nallowed_sm_guids, 2);
	assert_true(s->allowed_sm_guids[0] == 0x77 && s->allowed_sm_guids[1] == UINT64_MAX - 1);
	assert_true(s->m_key == 0x0123456789abcdef);
	assert_true(s->sm_key == UINT64_MAX - 1);
	assert_int_equal(s->m_key_lease, 65534);
	assert_int_equal(s->m_key_protect, 3);
	assert_int_equal(s->lmc, 2);
	assert_true(s->sweep_interval == 1500000000);
	assert_true(s->standby_poll == SEC(300));
	assert_int_equal(s->standby_retries, 9);
	assert_true(s->standby_copy == SEC(20));
	assert_string_equal(s->routing.engines[0], "updn");
	assert_null(s->routing.engines[1]);
	assert_int_equal(s->routing.fallback, FALLBACK_REFUSE);
	assert_int_equal(s->routing.adaptive, CONFIG_ADAPTIVE_AUTO);
	assert_string_equal(s->routing.adaptive_switches[0], "/^leaf/");
	assert_string_equal(s->routing.adaptive_except[0], "0x20");
	assert_int_equal(s->routing.nadaptive_sls, 2);
	assert_int_equal(s->routing.adaptive_sls[1], 3);
	assert_string_equal(s->routing.adaptive_transports[0], "ud");
	assert_int_equal(s->routing.adaptive_mode, CONFIG_SPREAD_BOUNDED);
	assert_true(s->routing.adaptive_ageing == USEC(45));
	assert_false(s->routing.adaptive_recovery);
	assert_int_equal(s->routing.adaptive_hosts, CONFIG_HOSTS_WRITE);
	assert_true(s->routing.adaptive_nonminimal);
	assert_int_equal(s->routing.nar_devices, 1);
	assert_int_equal(s->routing.ar_devices->vendor, 0x8f1);
	assert_int_equal(s->routing.ar_devices->devices->to, 0x1f);
	assert_int_equal(s->routing.ar_devices->sub_groups, CONFIG_AR_COUNT);
	assert_int_equal(s->routing.ar_devices->hbf_global_bit, CONFIG_AR_UNKNOWN);
	assert_int_equal(s->routing.adaptive_errors, 0);
	assert_true(s->routing.adaptive_error_window == SEC(7));
	assert_int_equal(s->routing.nroots, 2);
	assert_true(s->routing.roots[0] == 0x10 && s->routing.roots[1] == 0xab);
	assert_string_equal(s->routing.classes.storage[0], "0x10");
	assert_string_equal(s->routing.classes.storage[1], "/^s\\d+ \"$/");
	assert_null(s->routing.classes.storage[2]);
	assert_string_equal(s->routing.classes.other[0], "null");
	assert_string_equal(s->routing.classes.other[1], "a b");
	assert_null(s->routing.classes.other[2]);
	assert_int_equal(s->max_op_vls, 4);
	assert_int_equal(s->max_smps, 200);
	assert_int_equal(s->max_smps_per_device, 63);
	assert_true(s->timeout == 1234000);
	assert_int_equal(s->retries, 5);
	assert_int_equal(s->packet_life_time, 31);
	assert_int_equal(s->subnet_timeout, 30);
	assert_int_equal(s->sa_rate, 7);
	assert_int_equal(s->hoq_life, 29);
	assert_int_equal(s->leaf_hoq_life, 28);
	assert_int_equal(s->vl_stall_count, 6);
	assert_int_equal(s->leaf_vl_stall_count, 1);
	assert_int_equal(s->local_phy_errors, 13);
	assert_int_equal(s->overrun_errors, 12);
	assert_int_equal(s->sm_sl, 11);
	assert_false(s->multicast.share_mlids);
	assert_true(s->multicast.share_solicited);
	assert_true(s->multicast.forget_after == 0);
	assert_false(s->client_reregister);
	assert_int_equal(s->health.babbling, ACTION_ISOLATE);
	assert_true(s->refuse_if_master);
}

static void
test_full(void **state)
{
	struct config *c = parse_ok(full);

	(void)state;
	assert_string_equal(c->file, "t.yaml");
	assert_string_equal(c->state, ":memory:");
	assert_string_equal(c->control.socket, "./w.sock");
	assert_string_equal(c->control.group, "domain users");
	assert_int_equal(c->log.level, LOG_L_DEBUG);
	assert_string_equal(c->log.to, "/var/log/weft.log");
	assert_string_equal(c->names, "/etc/a \"b\" \\ \xc3\xbc");
	assert_int_equal(c->threads, 3);
	assert_int_equal(c->nsubnets, 2);
	check_full_subnet(&c->subnets[0]);
	assert_string_equal(c->subnets[1].port, "0x00000000000000ab");
	config_free(c);
}

static void
test_print(void **state)
{
	static const char *const texts[] = { "", full, "control: {group: \"null\"}\nnames: null\n",
		S "{name: \"12\", sweep_interval: 0}\n", "subnets: [&a {name: y}]\n" };
	struct buf one = { 0 }, two = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct config *c = parse_ok(texts[i]), *d;

		buf_clear(&one);
		buf_clear(&two);
		config_print(c, &one);
		d = parse_ok(one.data);
		config_print(d, &two);
		assert_string_equal(one.data, two.data);
		assert_int_equal(config_diff(c, d, NULL, NULL), STAGE_NONE);
		if (texts[i] == full)
			check_full_subnet(&d->subnets[0]);
		config_free(c);
		config_free(d);
	}
	buf_free(&one);
	buf_free(&two);
}

static void
test_print_golden(void **state)
{
	static const char head[] = "state: /var/lib/weft/weft.db\n"
		"etcd:\n  endpoints: null\n  prefix: /weft/site\n  ca: null\n  cert: null\n"
		"  key: null\n  user: null\n  password_file: null\n  timeout: 1s\ncontrol:\n"
		"  socket: /run/weft/weft.sock\n  group: null\nlog:\n  level: notice\n  to: "
		"journal\n"
		"events:\n  keep: 10000\n  days: 0\n"
		"names: null\nplugin_folder: /usr/local/lib/weft/plugins\nplugins: []\n"
		"threads: 0\nsubnets:\n  - name: default\n    port: auto\n"
		"    prefix: 0xfe80000000000000\n    priority: 0\n    accept_handover: false\n"
		"    allowed_sm_guids: []\n    m_key: 0x0\n";
	static const char routing[] = "    routing:\n      engines: [auto, updn, minhop]\n"
		"      fallback: warn\n      adaptive: off\n"
		"      adaptive_switches: []\n      adaptive_except: []\n"
		"      adaptive_sls: []\n      adaptive_transports: [rc, uc, dc]\n"
		"      adaptive_mode: free\n      adaptive_ageing: 30us\n"
		"      adaptive_recovery: true\n      adaptive_hosts: ignore\n"
		"      adaptive_nonminimal: false\n"
		"      adaptive_devices: []\n"
		"      adaptive_errors: 10\n"
		"      adaptive_error_window: 5s\n"
		"      roots: []\n      classes:\n"
		"        storage: []\n        other: []\n      lanes: 4\n      file: null\n"
		"    max_op_vls: 8\n";
	struct config *c = config_load(NULL, NULL);
	struct buf b = { 0 };

	(void)state;
	config_print(c, &b);
	assert_memory_equal(b.data, head, strlen(head));
	assert_non_null(strstr(b.data, routing));
	assert_non_null(strstr(b.data, "    sweep_interval: 10s\n"));
	assert_non_null(strstr(b.data, "    timeout: 200ms\n"));
	buf_free(&b);
	config_free(c);
}

static void
test_diff(void **state)
{
	(void)state;
	expect_diff("", "threads: 0\n", STAGE_NONE, "");
	expect_diff("", "log: {level: info}\n", STAGE_LIVE, "log.level notice -> info (live)\n");
	expect_diff("", S "{lmc: 1, sweep_interval: 1s}\n", STAGE_LIDS,
		    "subnets[0].lmc 0 -> 1 (lids)\nsubnets[0].sweep_interval 10s -> 1s (live)\n");
	expect_diff("", S "routing: {engines: [updn]}\n", STAGE_ROUTING,
		    "subnets[0].routing.engines [auto, updn, minhop] -> [updn] (routing)\n");
	expect_diff("", S "routing: {classes: {storage: [\"/^s/\"]}}\n", STAGE_ROUTING,
		    "subnets[0].routing.classes.storage [] -> [\"/^s/\"] (routing)\n");
	expect_diff("", S "hoq_life: 17\n", STAGE_PUSH, "subnets[0].hoq_life 18 -> 17 (push)\n");
	expect_diff("", S "{name: x, lmc: 7}\n", STAGE_RESTART,
		    "subnets[0].name default -> x (restart)\nsubnets[0].lmc 0 -> 7 (lids)\n");
	expect_diff("", S "sm_key: 0x77\n", STAGE_LIVE,
		    "subnets[0].sm_key (hidden) -> (hidden) (live)\n");
	expect_diff(S "{name: a, port: \"x:1\"}\n",
		    S "{name: a, port: \"x:1\"}\n  - {name: b, port: \"y:1\"}\n", STAGE_RESTART,
		    "subnets[1] absent -> b (restart)\n");
	expect_diff(S "{name: a, port: \"x:1\"}\n  - {name: b, port: \"y:1\"}\n",
		    S "{name: a, port: \"x:1\"}\n", STAGE_RESTART,
		    "subnets[1] b -> absent (restart)\n");
}

/* A reload takes on what it can; what needs a restart stays as it runs. */
static void
test_keep(void **state)
{
	struct config *old = parse_ok("state: /a/b\n" S "{m_key: 0x1, timeout: 1s, lmc: 0}\n");
	struct config *fresh = parse_ok("state: /c/d\nlog: {level: info}\n" S
					"{m_key: 0x2, timeout: 2s, lmc: 1}\n");

	(void)state;
	config_keep(fresh, old);
	assert_string_equal(fresh->state, "/a/b");
	assert_int_equal(fresh->log.level, LOG_L_INFO);
	assert_int_equal(fresh->subnets[0].m_key, 1);
	assert_int_equal(fresh->subnets[0].timeout, SEC(1));
	assert_int_equal(fresh->subnets[0].lmc, 1);
	config_free(old);
	assert_string_equal(fresh->state, "/a/b");
	assert_int_equal(config_diff(fresh, fresh, NULL, NULL), STAGE_NONE);
	config_free(fresh);
}

/* An alias is what it names, wherever it stands. */
static void
test_alias(void **state)
{
	struct config *c = parse_ok("subnets:\n  - {name: a, port: \"x:1\", routing: &r {engines: "
				    "[updn], roots: [0x1]}}\n  - {name: b, port: \"y:1\", "
				    "routing: *r}\n");

	(void)state;
	assert_string_equal(c->subnets[1].routing.engines[0], "updn");
	assert_null(c->subnets[1].routing.engines[1]);
	assert_int_equal(c->subnets[1].routing.nroots, 1);
	config_free(c);
}

/* A megabyte of any bytes, of letters, and of YAML's own signs. */
static void
test_noise(void **state)
{
	static const char signs[] = " \n-:[]{}&*!|>'\"%@`,?#a1";
	static const size_t size = 1024 * 1024;
	char *text = mem_alloc(size);
	uint32_t x = 12345;
	struct error e;

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		for (size_t i = 0; i < size; i++) {
			x = x * 1664525 + 1013904223;
			text[i] = (char)(x >> 24);
			if (kind == 1)
				text[i] = (char)('a' + (x >> 24) % 26);
			else if (kind == 2)
				text[i] = signs[(x >> 16) % (sizeof(signs) - 1)];
		}
		assert_null(config_parse(text, size, "t.yaml", &e));
		assert_memory_equal(e.text, "t.yaml:", 7);
	}
	mem_free(text);
}

/* A thousand reloads, good and bad: what is left over is found by the leak checker. */
static void
test_reloads(void **state)
{
	static const char *const texts[] = { full, "", "qos: []\n", S "lmc: 8\n", "log: [\n" };
	struct config *running = parse_ok(full), *fresh;
	struct error e;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		fresh = parse(texts[i % 5], &e);
		assert_int_equal(fresh != NULL, i % 5 < 2);
		if (!fresh)
			continue;
		config_diff(running, fresh, NULL, NULL);
		config_free(running);
		running = fresh;
	}
	config_free(running);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_etcd),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_initial),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_golden),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_alias),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_reloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
