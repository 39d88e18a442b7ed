/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VL arbitration tables by levels, by what is written, and of ports that can hold or run less. The
 * expected tables are worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "qos/arbitrate.h"

/* Bulk on the first lanes, latency on the next, scavenger on those of bulk. */
static struct config_level levels[] = {
	{ .name = "bulk", .weight = 32, .priority = PRIORITY_LOW },
	{ .name = "latency", .weight = 64, .priority = PRIORITY_HIGH },
	{ .name = "scavenger", .weight = 1, .priority = PRIORITY_LOW },
};

static struct plan_sls one_lane = {
	.levels = 3, .classes = 1, .lanes = 1, .vls = 2, .asked = 3, .vl = { 0, 1, 0 },
	.place = { 0, 1, 2 },
};

static struct plan_sls two_lanes = {
	.levels = 2, .classes = 4, .lanes = 2, .vls = 4, .asked = 2, .vl = { 0, 2 },
	.place = { 0, 1 },
};

static const struct arbitrate_port inner = {
	.kind = ARBITRATE_SWITCHES, .inner = true, .vls = 8, .high_cap = 8, .low_cap = 8,
};

static void
check_table(const struct vlarb_entry *e, unsigned len, const char *want)
{
	char text[1000] = "";
	size_t at = 0;

	for (unsigned i = 0; i < len; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u:%u", i ? " " : "",
				       e[i].vl, e[i].weight);
	assert_string_equal(text, want);
	for (unsigned i = len; i < ARBITRATE_MAX; i++)
		assert_int_equal(e[i].vl + e[i].weight, 0);
}

static void
check(const struct config_qos *q, const struct plan_sls *s, const struct arbitrate_port *p,
      const char *high, const char *low)
{
	struct arbitration a;

	arbitrate(q, s, p, &a);
	check_table(a.high, a.nhigh, high);
	check_table(a.low, a.nlow, low);
	assert_int_equal(a.left, 0);
	assert_true(q->narbitration || !a.silent);
}

static void
test_levels(void **state)
{
	struct config_qos q = { .levels = levels, .nlevels = 3, .high_limit = 10 };
	struct arbitrate_port p = inner;
	struct arbitration a;

	(void)state;
	check(&q, &one_lane, &inner, "1:64", "0:33");
	q.nlevels = 2;
	check(&q, &two_lanes, &inner, "2:64 3:64", "0:32 1:32");
	arbitrate(&q, &two_lanes, &inner, &a);
	assert_int_equal(a.high_limit, 10);
	/* A link to a host: first lanes, or the last that there is. */
	p.inner = false;
	check(&q, &two_lanes, &p, "2:64", "0:32");
	p.kind = ARBITRATE_HOSTS;
	p.vls = 2;
	check(&q, &two_lanes, &p, "1:64", "0:32");
	p.vls = 1;
	check(&q, &two_lanes, &p, "0:64", "0:32");
	/* Nothing but lanes of the routing. */
	q.nlevels = 0;
	check(&q, NULL, &inner, "", "0:32");
}

static void
test_caps(void **state)
{
	struct config_qos q = { .levels = levels, .nlevels = 2, .high_limit = 255 };
	struct arbitrate_port p = inner;
	struct arbitration a;

	(void)state;
	p.high_cap = 0;
	check(&q, &two_lanes, &p, "", "0:32 1:32 2:64 3:64");
	p.high_cap = 1;
	check(&q, &two_lanes, &p, "2:64", "0:32 1:32 3:64");
	p.high_cap = 8;
	p.low_cap = 1;
	check(&q, &two_lanes, &p, "2:64 3:64 1:32", "0:32");
	p.high_cap = 2;
	arbitrate(&q, &two_lanes, &p, &a);
	assert_int_equal(a.left, 1);
}

static void
test_written(void **state)
{
	struct config_arbitration list[] = {
		{ .ports = "all", .low = "0:4, 7:255,0:1", .high_limit = 3 },
		{ .ports = "hosts", .high = "1:7", .high_limit = 5 },
	};
	struct config_qos q = { .levels = levels, .nlevels = 2, .arbitration = list,
				.narbitration = 2, .high_limit = 255 };
	struct arbitrate_port p = inner;
	struct arbitration a;

	(void)state;
	check(&q, &two_lanes, &inner, "2:64 3:64", "0:4 7:255 0:1");
	/* Lane 1, which the routing takes, never sends. */
	arbitrate(&q, &two_lanes, &inner, &a);
	assert_int_equal(a.silent, 1);
	p.vls = 4;
	check(&q, &two_lanes, &p, "2:64 3:64", "0:4 3:255 0:1");
	p.kind = ARBITRATE_HOSTS;
	p.inner = false;
	check(&q, &two_lanes, &p, "1:7", "0:32");
	arbitrate(&q, &two_lanes, &p, &a);
	assert_int_equal(a.high_limit, 5);
	assert_int_equal(a.silent, 1);
	list[1].high = "1:7, 2:1";
	arbitrate(&q, &two_lanes, &p, &a);
	assert_int_equal(a.silent, 0);
	list[1].high = "1:7, 2:0";
	arbitrate(&q, &two_lanes, &p, &a);
	assert_int_equal(a.silent, 1);
	p.kind = ARBITRATE_PORT0;
	arbitrate(&q, &two_lanes, &p, &a);
	assert_int_equal(a.high_limit, 3);
}

/* What a port has no room for goes to the other table only if its lane would never send. */
static void
test_written_caps(void **state)
{
	struct config_arbitration all = {
		.ports = "all", .high = "0:4, 1:0, 2:0, 0:9", .low = "0:0, 1:4, 2:4, 0:4, 1:2, 3:0",
	};
	struct config_qos q = { .arbitration = &all, .narbitration = 1 };
	struct arbitrate_port p = inner;

	(void)state;
	p.high_cap = p.low_cap = 3;
	check(&q, NULL, &p, "0:4 1:0 2:0", "0:0 1:4 2:4");
	all.high = "1:4";
	check(&q, NULL, &p, "1:4 0:4", "0:0 1:4 2:4");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_written_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
