/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/conf/config.h"
#include "sm/conf/schema.h"
#include "tests/unit/conf_help.h"

/*
 * Every option, of the file and of entries of its lists, against values that it must refuse, and
 * each number at both ends of its range. A new option without a range here fails the test.
 */
/* Where the rows of a table stand in a file: what leads there, in how many blanks. */
static const struct table {
	const char *name;		/* of the list or map that they are in; "": none */
	const char *before;		/* lines above */
	unsigned indent;		/* of keys */
} tables[] = {
	{ "", "", 0 },
	{ "subnets", "subnets:\n  -\n", 4 },
	{ "routing.adaptive_devices",
	  "subnets:\n  -\n    routing:\n      adaptive_devices:\n        -\n", 10 },
	{ "groups", "groups:\n  -\n", 4 },
	{ "partitions", "partitions:\n  -\n", 4 },
	{ "members", "partitions:\n  - name: p\n    members:\n      -\n", 8 },
	{ "ipoib", "partitions:\n  - name: p\n    ipoib:\n", 6 },
	{ "multicast", "partitions:\n  - name: p\n    multicast:\n      -\n", 8 },
	{ "qos.levels", "qos:\n  levels:\n    -\n", 6 },
	{ "qos.rules", "qos:\n  levels: [{name: a}]\n  rules:\n    -\n", 6 },
	{ "qos.arbitration", "qos:\n  arbitration:\n    -\n", 6 },
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static const struct option *
rows_of(const struct table *t)
{
	const struct option *o;

	if (!*t->name)
		return schema_root;
	o = schema_find(schema_root, t->name);
	if (!o)
		o = schema_find(schema_subnet, t->name);
	return o ? o->fields : schema_find(schema_partition, t->name)->fields;
}

static const char *
sample(const char *required)
{
	if (strcmp(required, "nodes") == 0 || strcmp(required, "ports") == 0)
		return "all";
	return strcmp(required, "mgid") == 0 ? "ff12::1" : "a";
}

/* One option set to `value` as a file would do it; returns the column of the value, from 1. */
static unsigned
write_option(struct buf *out, const struct table *t, const struct option *o, const char *value)
{
	unsigned indent = t->indent;
	const char *key = o->name;

	buf_clear(out);
	buf_str(out, t->before);
	for (const struct option *other = rows_of(t); other->name; other++)
		if (other->required && other != o)
			buf_printf(out, "%*s%s: %s\n", (int)indent, "", other->name,
				   sample(other->name));
	for (const char *dot; (dot = strchr(key, '.')); key = dot + 1, indent += 2)
		buf_printf(out, "%*s%.*s:\n", (int)indent, "", (int)(dot - key), key);
	buf_printf(out, "%*s%s: %s\n", (int)indent, "", key, value);
	return indent + (unsigned)strlen(key) + 3;
}

static unsigned
last_line(const struct buf *b)
{
	unsigned lines = 0;

	for (size_t i = 0; i < b->len; i++)
		lines += b->data[i] == '\n';
	return lines;
}

static bool
is_one_of(const char *const *words, const char *s)
{
	for (; *words; words++)
		if (strcmp(*words, s) == 0)
			return true;
	return false;
}

/* By the rules of each option: a group may be called text, a subnet 4294967296. */
static bool
is_legal(const struct option *o, const char *value)
{
	static const char *const names[] = {
		"text", "4294967296", "18446744073709551616", "0x1_0", "1e3", "0x", "007", NULL,
	};
	static const char *const any_names[] = {
		"-1", "1.5", "+1", "\" 1\"", "10 s", "null", NULL,
	};
	static const char *const large[] = { "prefix", "m_key", "sm_key", "service_id",
		"qos.congestion.key", NULL };
	static const char *const lists[] = { "routing.classes.storage", "routing.classes.other",
		"routing.adaptive_switches", "routing.adaptive_except", "routing.adaptive_sls",
		"members", "nodes", "except", "source", "destination", "either", "pkey",
		"service_id", "class", "scopes", "qos.congestion.levels_off", "devices", NULL };

	if (strcmp(value, "[1, 2]") == 0)
		return is_one_of(lists, o->name) && o->type != OPTION_PKEY;
	if (strcmp(value, "4294967296") == 0 && is_one_of(large, o->name))
		return true;
	if (o->type == OPTION_PORTS || strcmp(o->name, "members") == 0)
		return strncmp(value, "0x", 2) != 0 &&
			(is_one_of(names, value) || is_one_of(any_names, value));
	if (strcmp(o->name, "name") == 0 && o == schema_find(schema_partition, "name"))
		return is_one_of(names, value) || is_one_of(any_names, value);
	if (strcmp(o->name, "name") == 0)
		return is_one_of(names, value);
	return strcmp(o->name, "control.group") == 0 && strcmp(value, "text") == 0;
}

static bool
is_list(const struct option *o)
{
	return o->type == OPTION_WORDS || o->type == OPTION_GUIDS || o->type == OPTION_SELECTIONS ||
		o->type == OPTION_LIST || o->type == OPTION_NAMES;
}

/* What is well formed may be the name of something that there is not. */
static bool
is_refused(const struct option *o, const char *text, unsigned line, unsigned column)
{
	static const char *const whys[] = { "expected ", "there is no ", NULL };
	char place[96];

	for (size_t i = 0; whys[i]; i++) {
		snprintf(place, sizeof(place), "t.yaml:%u:%u: %s: %s", line, column,
			 strcmp(o->name, "members") == 0 && strstr(text, "nodes: ") ? "nodes" :
			 o->name, whys[i]);
		if (strncmp(text, place, strlen(place)) == 0)
			return true;
	}
	return false;
}

static void
try_value(const struct table *t, const struct option *o, const char *value)
{
	struct buf b = { 0 };
	unsigned column = write_option(&b, t, o, value);
	struct error e = { 0 };
	struct config *c = parse(b.data, &e);

	if (is_legal(o, value)) {
		if (!c)
			fail_msg("%s: %s: %s", o->name, value, e.text);
	} else if (c) {
		fail_msg("%s %s: %s was accepted", t->name, o->name, value);
	} else if (o->type == OPTION_MAP && *value == '{') {
		assert_non_null(strstr(e.text, "unknown option \"a\" in ipoib"));
	} else if (!is_refused(o, e.text, last_line(&b), column + (*value == '[' && is_list(o)))) {
		fail_msg("%s: %s: line %u, column %u: %s", o->name, value, last_line(&b), column,
			 e.text);
	}
	config_free(c);
	buf_free(&b);
}

static void
test_wrong_values(void **state)
{
	static const char *const values[] = {
		"text", "-1", "4294967296", "18446744073709551616", "\"\"", "[1, 2]", "{a: 1}",
		"1.5", "0x1_0", "1e3", "+1", "0x", "\" 1\"", "007", "10 s",
	};
	unsigned options = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t t = 0; t < TABLES; t++)
			for (const struct option *o = rows_of(&tables[t]); o->name; o++, options++)
				try_value(&tables[t], o, values[i]);
	assert_true(options > 110 * sizeof(values) / sizeof(values[0]));
}

/* The ranges, from the headers that use the values and the widths of the fields they go to. */
static const struct range {
	const char *name;		/* of the option */
	const char *low, *high;		/* the outermost legal values */
	const char *below, *above;	/* the next illegal ones; NULL: there is none */
} ranges[] = {
	{ "prefix", "1", "0xfeffffffffffffff", "0", "0xff00000000000000" },
	{ "priority", "0", "15", "-1", "16" },
	{ "m_key", "0", "0xffffffffffffffff", "-1", "0x10000000000000000" },
	{ "sm_key", "0", "18446744073709551615", "-1", "18446744073709551616" },
	{ "m_key_protect", "0", "0", "-1", "4" },
	{ "m_key_lease", "11", "65535", "-1", "65536" },
	{ "lmc", "0", "7", "-1", "8" },
	{ "sweep_interval", "100ms", "24h", "99ms", "86401s" },
	{ "sweep_interval", "0", "0s", "1us", "25h" },
	{ "standby_poll", "100ms", "1h", "0", "3601s" },
	{ "standby_retries", "1", "100", "0", "101" },
	{ "standby_copy", "0", "1h", "99ms", "3601s" },
	{ "routing.lanes", "1", "15", "0", "16" },
	{ "routing.adaptive_sls", "0", "15", "-1", "16" },
	{ "routing.adaptive_ageing", "1us", "4s", "0", "4001ms" },
	{ "routing.adaptive_devices.vendor", "1", "0xffffff", "0", "0x1000000" },
	{ "routing.adaptive_devices.devices", "0", "0xffff", "-1", "0x10000" },
	{ "routing.adaptive_devices.devices", "[1, 7]", "0-9", "9-8", "0-65536" },
	{ "routing.adaptive_devices.hbf_global_bit", "12", "31", "11", "32" },
	{ "routing.adaptive_errors", "0", "1000", "-1", "1001" },
	{ "routing.adaptive_error_window", "1ms", "1h", "999us", "3601s" },
	{ "routing.adaptive_error_window", "0", "0s", "-1", "2h" },
	{ "max_op_vls", "1", "15", "0", "16" },
	{ "max_op_vls", "2", "8", "3", "14" },
	{ "max_smps", "1", "256", "0", "257" },
	{ "max_smps_per_device", "1", "64", "0", "65" },
	{ "timeout", "1ms", "60s", "999us", "60001ms" },
	{ "timeout", "1000us", "1min", "0", "9223372036854775808us" },
	{ "retries", "0", "15", "-1", "16" },
	{ "packet_life_time", "0", "31", "-1", "32" },
	{ "subnet_timeout", "0", "31", "-1", "32" },
	{ "sa_rate", "0", "1000000", "-1", "1000001" },
	{ "hoq_life", "0", "31", "-1", "32" },
	{ "leaf_hoq_life", "0", "0x1f", "-1", "0x20" },
	{ "vl_stall_count", "0", "7", "-1", "8" },
	{ "leaf_vl_stall_count", "0", "7", "-1", "8" },
	{ "local_phy_errors", "0", "15", "-1", "16" },
	{ "overrun_errors", "0", "15", "-1", "16" },
	{ "sm_sl", "0", "15", "-1", "16" },
	{ "multicast.forget_after", "1ms", "24h", "999us", "86401s" },
	{ "multicast.forget_after", "0", "0s", "-1", "25h" },
	{ "health.flaps", "2", "16", "1", "17" },
	{ "health.flap_window", "1s", "24h", "999ms", "86401s" },
	{ "health.unresponsive_after", "0", "24h", "-1", "86401s" },
	{ "health.release_after", "1s", "24h", "999ms", "86401s" },
	{ "health.counters_interval", "1s", "24h", "999ms", "86401s" },
	{ "health.counters_interval", "0", "0s", "-1", "25h" },
	{ "health.per_minute.symbol_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.link_recoveries", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.link_downed", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.rcv_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.rcv_remote_physical_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.rcv_switch_relay_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.xmit_discards", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.xmit_constraint_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.rcv_constraint_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.local_link_integrity_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.buffer_overrun_errors", "0", "1000000", "-1", "1000001" },
	{ "health.per_minute.vl15_dropped", "0", "1000000", "-1", "1000001" },
	{ "threads", "0", "64", "-1", "65" },
	{ "etcd.timeout", "50ms", "30s", "49ms", "31s" },
	{ "events.keep", "100", "200000", "99", "200001" },
	{ "events.days", "0", "36500", "-1", "36501" },
	{ "qos.high_limit", "0", "255", "-1", "256" },
	{ "qos.congestion.key", "0", "0xffffffffffffffff", "-1", "0x10000000000000000" },
	{ "qos.congestion.threshold", "0", "15", "-1", "16" },
	{ "qos.congestion.packet_size", "0", "255", "-1", "256" },
	{ "qos.congestion.marking_rate", "0", "65535", "-1", "65536" },
	{ "qos.congestion.levels_off", "0", "15", "-1", "16" },
	{ "qos.congestion.increase", "0", "255", "-1", "256" },
	{ "qos.congestion.timer", "0", "65535", "-1", "65536" },
	{ "qos.congestion.trigger", "0", "255", "-1", "256" },
	{ "qos.congestion.least", "0", "255", "-1", "256" },
	{ "partitions.pkey", "1", "0x7fff", "0", "0x10000" },
	{ "partitions.pkey", "0x8001", "0xffff", "0x8000", "65536" },
	{ "partitions.sl", "0", "15", "-1", "16" },
	{ "ipoib.mtu", "256", "4096", "0", "4097" },
	{ "ipoib.mtu", "1", "5", "6", "255" },
	{ "ipoib.rate", "2", "24", "1", "25" },
	{ "ipoib.rate", "2.5Gb", "8xNDR", "any", "12xXDR" },
	{ "ipoib.scopes", "1", "15", "0", "16" },
	{ "ipoib.sl", "0", "15", "-1", "16" },
	{ "ipoib.qkey", "0", "0xffffffff", "-1", "0x100000000" },
	{ "ipoib.tclass", "0", "255", "-1", "256" },
	{ "ipoib.flow_label", "0", "0xfffff", "-1", "0x100000" },
	{ "multicast.mtu", "256", "4096", "0", "4097" },
	{ "multicast.rate", "2", "24", "1", "25" },
	{ "multicast.sl", "0", "15", "-1", "16" },
	{ "multicast.qkey", "0", "0xffffffff", "-1", "0x100000000" },
	{ "multicast.tclass", "0", "255", "-1", "256" },
	{ "multicast.flow_label", "0", "0xfffff", "-1", "0x100000" },
	{ "qos.levels.weight", "1", "255", "0", "256" },
	{ "qos.levels.sl", "0", "15", "-1", "16" },
	{ "qos.levels.vl", "0", "7", "-1", "15" },
	{ "qos.levels.rate", "any", "24", "1", "25" },
	{ "qos.levels.mtu", "any", "4096", "0", "4097" },
	{ "qos.levels.packet_life", "1", "63", "0", "64" },
	{ "qos.rules.pkey", "1", "0x7fff", "0", "0x10000" },
	{ "qos.rules.pkey", "1-0x7fff", "0x8001-0xffff", "2-1", "0x7fff-0x8002" },
	{ "qos.rules.service_id", "0", "0xffffffffffffffff", "-1", "0x10000000000000000" },
	{ "qos.rules.service_id", "0x0-0x1", "5-5", "1-", "1-2-3" },
	{ "qos.rules.class", "0", "4095", "-1", "4096" },
	{ "qos.rules.class", "0-1", "0-4095", "0-4096", "1-0" },
	{ "qos.arbitration.high_limit", "0", "255", "-1", "256" },
	{ "qos.arbitration.high", "\"0:0\"", "\"14:255,0:1\"", "\"15:1\"", "\"1:256\"" },
	{ "qos.arbitration.low", "\"0:0\"", "\"14:255 , 0:1\"", "\"0:1 2:3\"", "\"0:1,\"" },
	{ "qos.congestion.table", "\"0:0\"", "\"3:16383\"", "\"4:1\"", "\"0:16384\"" },
};

/* The row that `name` of a range means, and its table. */
static const struct option *
range_row(const char *name, const struct table **t)
{
	const struct option *o = schema_find(schema_subnet, name);

	*t = &tables[1];
	for (size_t i = 2; !o && i < TABLES; i++) {
		size_t len = strlen(tables[i].name);

		*t = &tables[i];
		if (strncmp(name, tables[i].name, len) == 0 && name[len] == '.')
			o = schema_find(rows_of(&tables[i]), name + len + 1);
	}
	if (!o) {
		*t = &tables[0];
		o = schema_find(schema_root, name);
	}
	return o;
}

static bool
accepts(const struct table *t, const struct option *o, const char *value)
{
	struct buf b = { 0 };
	struct error e;
	struct config *c;
	bool ok;

	write_option(&b, t, o, value);
	c = parse(b.data, &e);
	ok = c != NULL;
	config_free(c);
	buf_free(&b);
	return ok;
}

static void
test_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];
		const struct table *t;
		const struct option *o = range_row(r->name, &t);

		assert_non_null(o);
		if (!accepts(t, o, r->low) || !accepts(t, o, r->high))
			fail_msg("%s: %s or %s was refused", r->name, r->low, r->high);
		if (accepts(t, o, r->below) || accepts(t, o, r->above))
			fail_msg("%s: %s or %s was accepted", r->name, r->below, r->above);
	}
}

static bool
has_range(const struct option *o)
{
	switch (o->type) {
	case OPTION_NUMBER:
	case OPTION_NUMBER64:
	case OPTION_DURATION:
	case OPTION_PKEY:
	case OPTION_MTU:
	case OPTION_RATE:
	case OPTION_NUMBERS:
	case OPTION_RANGES:
	case OPTION_PKEY_RANGES:
		return true;
	default:
		return false;
	}
}

/* Each numeric option has its bounds tried above. */
static void
test_ranges_complete(void **state)
{
	const struct table *t;

	(void)state;
	for (size_t n = 0; n < TABLES; n++) {
		for (const struct option *o = rows_of(&tables[n]); o->name; o++) {
			bool tried = !has_range(o);

			for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
				tried |= range_row(ranges[i].name, &t) == o && t == &tables[n];
			if (!tried)
				fail_msg("the range of %s of %s is not tested", o->name,
					 tables[n].name);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ranges_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
