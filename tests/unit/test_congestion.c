/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What devices should hold of congestion control, on a fabric drawn by hand:
 *
 *   h1[1] --- [1]A[2] --- [1]B[2] --- [1]h2
 *             A[3] --- [1]r (a router)      A[4] was cabled to a host that is away
 */
#include "qos/congestion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static uint32_t
add(struct fabric_builder *b, uint64_t guid, uint8_t type, uint8_t nports, uint8_t flags)
{
	struct fabric_node n = {
		.guid = guid, .type = type, .nports = nports, .name = "n", .desc = "n",
		.flags = flags,
	};
	uint32_t node = fabric_add_node(b, &n);

	for (unsigned i = 1; i <= nports; i++) {
		struct fabric_port p = {
			.guid = type == NODE_SWITCH ? 0 : guid + i, .number = (uint8_t)i,
			.state = PORT_ACTIVE, .width = LINK_4X, .speed = SPEED_EDR,
		};

		if (guid == 0xa0 && i == 4) {
			p.state = PORT_DOWN;
			p.lost_peer = 0x99;
			p.lost_number = 1;
			p.lost_type = NODE_CA;
		}
		fabric_add_port(b, node, i, &p);
	}
	return node;
}

static const struct fabric *
draw(void)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t sa = add(b, 0xa0, NODE_SWITCH, 5, 0);
	uint32_t sb = add(b, 0xb0, NODE_SWITCH, 5, FABRIC_NODE_ENHANCED_PORT0);
	uint32_t h1 = add(b, 0x10, NODE_CA, 1, 0), h2 = add(b, 0x20, NODE_CA, 1, 0);
	uint32_t router = add(b, 0x30, NODE_ROUTER, 1, 0);

	fabric_add_link(b, h1, 1, sa, 1);
	fabric_add_link(b, sa, 2, sb, 1);
	fabric_add_link(b, sa, 3, router, 1);
	fabric_add_link(b, sb, 2, h2, 1);
	return fabric_build(b, 1);
}

static const unsigned off[] = { 3, 15 };
static struct config_congestion policy = {
	.enabled = true, .threshold = 8, .packet_size = 2, .marking_rate = 5, .increase = 3,
	.timer = 77, .trigger = 9, .least = 100, .levels_off = (unsigned *)off, .nlevels_off = 2,
};

static struct cc_switch_setting
of(const struct fabric *f, uint64_t guid, bool starvation)
{
	struct cc_switch_setting w;

	congestion_switch(&policy, f, fabric_node_by_guid(f, guid), starvation, &w);
	return w;
}

static void
test_switch(void **state)
{
	const struct fabric *f = draw();
	struct cc_switch_setting a = of(f, 0xa0, true), b = of(f, 0xb0, true);

	(void)state;
	assert_int_equal(a.threshold, 8);
	assert_int_equal(a.packet_size, 2);
	assert_int_equal(a.marking_rate, 5);
	assert_int_equal(a.starvation, 0);
	for (unsigned p = 0; p < 255; p++) {
		assert_int_equal(cc_ports_has(&a.victim, p), p == 1 || p == 3 || p == 4);
		assert_int_equal(cc_ports_has(&b.victim, p), p == 0 || p == 2);
		assert_false(cc_ports_has(&a.credit, p));
	}
	policy.credit_starvation = true;
	b = of(f, 0xb0, true);
	assert_memory_equal(&b.credit, &b.victim, sizeof(b.credit));
	assert_int_equal(b.starvation, 8);
	assert_int_equal(b.map, CC_MAP_ALL);
	b = of(f, 0xb0, false);
	assert_int_equal(b.map, CC_MAP_VICTIM | CC_MAP_THRESHOLD | CC_MAP_MARKING);
	assert_int_equal(b.starvation, 0);
	policy.credit_starvation = false;
	fabric_unref(f);
}

/* What undoes it is nothing everywhere, whatever else is said. */
static void
test_disabled(void **state)
{
	const struct fabric *f = draw();
	struct cc_switch_setting a, none = { .map = CC_MAP_ALL };
	struct cc_port_setting port;
	struct cc_ca_setting ca;

	(void)state;
	policy.enabled = false;
	a = of(f, 0xa0, true);
	assert_true(congestion_same_switch(&a, &none));
	congestion_port(&policy, false, &port);
	assert_int_equal(port.threshold, 0);
	congestion_ca(&policy, 128, &ca);
	for (unsigned sl = 0; sl < CC_LEVELS; sl++) {
		assert_int_equal(ca.entries[sl].increase, 0);
		assert_int_equal(ca.entries[sl].least, 0);
		assert_int_equal(ca.entries[sl].timer, 77);
	}
	policy.enabled = true;
	fabric_unref(f);
}

static void
test_host(void **state)
{
	struct cc_ca_setting a, b;

	(void)state;
	congestion_ca(&policy, 64, &a);
	assert_int_equal(a.map, 0xffff);
	for (unsigned sl = 0; sl < CC_LEVELS; sl++) {
		bool is_off = sl == 3 || sl == 15;

		assert_int_equal(a.entries[sl].timer, 77);
		assert_int_equal(a.entries[sl].increase, is_off ? 0 : 3);
		assert_int_equal(a.entries[sl].trigger, is_off ? 0 : 9);
		assert_int_equal(a.entries[sl].least, is_off ? 0 : 63);
	}
	b = a;
	b.map = 0;
	assert_true(congestion_same_ca(&a, &b));
	b.entries[15].least = 1;
	assert_false(congestion_same_ca(&a, &b));
}

static void
test_tables(void **state)
{
	struct congestion_table t;
	struct cc_table block;

	(void)state;
	congestion_table("0:0, 1:16383,3:5", &t);
	assert_int_equal(t.len, 3);
	assert_int_equal(t.step[1].shift, 1);
	assert_int_equal(t.step[1].multiplier, 16383);
	assert_int_equal(t.step[2].multiplier, 5);
	congestion_block(&t, 2, 0, &block);
	assert_int_equal(block.limit, 2);
	assert_int_equal(block.entries[2].shift, 3);
	assert_int_equal(block.entries[3].multiplier, 0);
	congestion_table(NULL, &t);
	assert_int_equal(t.len, 128);
	assert_int_equal(congestion_steps(&t, 1), 64);
	assert_int_equal(congestion_steps(&t, 255), 128);
	assert_int_equal(congestion_steps(&t, 0), 0);
	congestion_block(&t, 2, 1, &block);
	assert_int_equal(block.limit, 127);
	assert_int_equal(block.entries[0].multiplier, 64);
	congestion_block(&t, 1, 0, &block);
	assert_int_equal(block.limit, 63);
}

static void
test_port(void **state)
{
	struct cc_port_setting w;

	(void)state;
	congestion_port(&policy, false, &w);
	assert_true(w.valid);
	assert_int_equal(w.threshold, 8);
	assert_int_equal(w.marking_rate, 5);
	congestion_port(&policy, true, &w);
	assert_true(w.starvation);
	assert_int_equal(w.threshold, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
