/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * What a single change costs at 1,024 hosts, in MADs, until all is at rest again: what is read,
 * what is written beside forwarding tables, and blocks of these. WEFT_WHY in the environment has
 * them told by attribute.
 */
#define BOUND SEC(20)
#define SWITCH 20u	/* SwitchInfo and its clear, the description, PortInfo of ports 0 to 16 */
#define CABLE 11u	/* NodeInfo from both ends, and before it carries traffic; two Sets an end;
			 * of a host PortInfo, the description, and P_Keys twice */
#define SPARE 5u	/* ports on the way there that traps have looked at */
#define FEW (2 * SWITCH + CABLE + SPARE)	/* a cable, with the switches at its ends */
#define ATTRIBUTES 0x40u	/* of SMPs, below this */

static struct bed_sm *sm;
static struct tap *tap;

static const char *
attribute_name(unsigned id)
{
	static const char *const names[ATTRIBUTES] = {
		[ATTR_NODE_DESCRIPTION] = "NodeDescription", [ATTR_NODE_INFO] = "NodeInfo",
		[ATTR_SWITCH_INFO] = "SwitchInfo", [ATTR_PORT_INFO] = "PortInfo",
		[ATTR_P_KEY_TABLE] = "P_KeyTable", [ATTR_LINEAR_FDB] = "LinearForwardingTable",
		[ATTR_MULTICAST_FDB] = "MulticastForwardingTable", [ATTR_SM_INFO] = "SMInfo",
		[ATTR_GUID_INFO] = "GUIDInfo", [ATTR_SL_TO_VL] = "SLtoVLMappingTable",
		[ATTR_VL_ARBITRATION] = "VLArbitrationTable",
	};

	return names[id] ? names[id] : "other";
}

static void
tell(const char *what)
{
	print_message("%s: %u MADs, %u of them blocks\n", what, tap_requests(tap),
		      tap_count(tap, MAD_SET, ATTR_LINEAR_FDB));
	for (unsigned id = 0; id < ATTRIBUTES; id++) {
		unsigned gets = tap_count(tap, MAD_GET, (uint16_t)id);
		unsigned sets = tap_count(tap, MAD_SET, (uint16_t)id);

		if (gets || sets)
			print_message("  %4u Get, %4u Set %s\n", gets, sets, attribute_name(id));
	}
}

/* At rest since longer than a port waits with its next trap (1.07 s); all is as it should be. */
static void
rest(void)
{
	bed_wait(sm->bed, SEC(3));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
}

static void
count(const char *what, unsigned most)
{
	unsigned others;

	rest();
	others = tap_requests(tap) - tap_count(tap, MAD_SET, ATTR_LINEAR_FDB);
	if (getenv("WEFT_WHY") || others > most)
		tell(what);
	assert_in_range(others, 1, most);
	tap_clear(tap);
}

static void
lost_and_returned(void **state)
{
	static const char *const ends[][2] = { { "L3_1", "A3_2" }, { "A5_3", "C25" } };
	struct bed *b = sm->bed;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		uint32_t node = bed_node(b, ends[i][0]);
		unsigned port = bed_port_to(b, node, bed_node(b, ends[i][1]));

		model_link_set(b->m, node, port, false);
		count("a lost cable", FEW);
		model_link_set(b->m, node, port, true);
		count("a returned cable", FEW);
	}
}

static void
moved_host(void **state)
{
	struct bed *b = sm->bed;
	uint32_t host = bed_node(b, "H5_2_3"), other = bed_node(b, "H9_1_4");
	uint32_t leaf = bed_node(b, "L9_1");
	unsigned place = bed_port_to(b, leaf, other);

	(void)state;
	model_link_set(b->m, leaf, place, false);
	count("a lost host", FEW);
	model_recable(b->m, host, 1, leaf, place);
	count("a moved host", FEW);
}

/* Ports of all neighbours change twice, and no trap says which ports. */
static void
rebooted(const char *name, unsigned switches, unsigned hosts)
{
	char what[64];

	snprintf(what, sizeof(what), "%s rebooted", name);
	model_reboot(sm->bed->m, bed_node(sm->bed, name));
	count(what, (1 + 2 * switches) * SWITCH + (switches + hosts) * CABLE + SPARE);
}

static void
rebooted_switches(void **state)
{
	(void)state;
	rebooted("L7_2", 8, 8);
	rebooted("A7_2", 16, 0);
	rebooted("C9", 16, 0);
}

/* With its hosts, none of which was there before. */
static void
new_leaf(void **state)
{
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L12_3");

	(void)state;
	model_power(b->m, leaf, false);
	rest();
	tap_clear(tap);
	model_power(b->m, leaf, true);
	count("a new leaf", (1 + 8) * SWITCH + (8 + 8) * CABLE + SPARE);
}

static int
begin(void **state)
{
	(void)state;
	sm = tap_live("ft3 16", &tap);
	return 0;
}

static int
finish(void **state)
{
	(void)state;
	end(sm, tap);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lost_and_returned, begin, finish),
		cmocka_unit_test_setup_teardown(moved_host, begin, finish),
		cmocka_unit_test_setup_teardown(rebooted_switches, begin, finish),
		cmocka_unit_test_setup_teardown(new_leaf, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
