/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/nominal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/route_help.h"

/*
 * The fabric as it should be, out of what ports remember and of what the snapshot lists:
 *
 *	here S1 (0x10) - ghost 0x20 - ghost 0x30 - ghost host 0x40
 *	     S2 (0x11), port 2 free; port 3 to S1
 */
struct bed {
	struct fabric_builder *b;	/* until built */
	const struct fabric *f;		/* the snapshot */
	const struct fabric *n;		/* as it should be */
};

static void
begin(struct bed *bed, bool remembers)
{
	struct fabric_port p = { .state = PORT_DOWN, .lost_peer = 0x20, .lost_number = 1,
				 .lost_type = NODE_SWITCH };
	uint32_t s1, s2;

	bed->b = fabric_builder_new();
	s1 = help_switch(bed->b, 0x10, 4, "S1");
	s2 = help_switch(bed->b, 0x11, 4, "S2");
	if (remembers)
		fabric_add_port(bed->b, s1, 1, &p);
	help_cable(bed->b, s1, 3, s2, 3, 100000);
}

static void
lost(struct bed *bed, uint64_t a, uint8_t aport, uint64_t b, uint8_t bport, uint8_t btype)
{
	fabric_add_lost(bed->b, &(struct fabric_lost){
		.guid = { a, b }, .number = { aport, bport }, .type = { NODE_SWITCH, btype },
	});
}

static void
build(struct bed *bed)
{
	bed->f = fabric_build(bed->b, 1);
	bed->n = nominal_fabric(bed->f);
}

static void
end(struct bed *bed)
{
	fabric_unref(bed->f);
	fabric_unref(bed->n);
}

/* Node GUID behind a port, as it should be; 0 nothing. */
static uint64_t
behind(const struct bed *bed, uint64_t guid, unsigned port)
{
	uint32_t node = fabric_node_by_guid(bed->n, guid), peer;

	assert_int_not_equal(node, FABRIC_NONE);
	peer = fabric_port_at(bed->n, node, port)->peer;
	return peer == FABRIC_NONE ? 0 : bed->n->nodes[bed->n->ports[peer].node].guid;
}

/* A chain of what is gone, listed from its far end on, each cable by both its ends. */
static void
chain(void **state)
{
	struct bed bed;

	(void)state;
	begin(&bed, true);
	lost(&bed, 0x30, 2, 0x40, 1, NODE_CA);
	lost(&bed, 0x30, 1, 0x20, 2, NODE_SWITCH);
	lost(&bed, 0x20, 2, 0x30, 1, NODE_SWITCH);
	lost(&bed, 0x20, 1, 0x10, 1, NODE_SWITCH);
	build(&bed);
	assert_int_equal(bed.f->nlost, 3);
	assert_int_equal(bed.f->lost[0].guid[0], 0x10);
	assert_int_equal(bed.f->lost[2].guid[1], 0x40);
	assert_int_equal(bed.n->nnodes, 5);
	assert_int_equal(bed.n->nswitches, 4);
	assert_int_equal(bed.n->nlinks, 4);
	assert_int_equal(behind(&bed, 0x10, 1), 0x20);
	assert_int_equal(behind(&bed, 0x20, 2), 0x30);
	assert_int_equal(behind(&bed, 0x30, 2), 0x40);
	end(&bed);
}

/* The neighbour came back meanwhile and remembers nothing: the list is enough. */
static void
by_list_alone(void **state)
{
	struct bed bed;

	(void)state;
	begin(&bed, false);
	lost(&bed, 0x20, 1, 0x11, 2, NODE_SWITCH);
	build(&bed);
	assert_int_equal(bed.n->nlinks, 2);
	assert_int_equal(behind(&bed, 0x11, 2), 0x20);
	end(&bed);
}

/* A port has one cable: what it has now, or what it remembers itself, counts before the list. And
 * what hangs together with nothing that is there is left out, with all that hangs on it. */
static void
outdated(void **state)
{
	struct bed bed;

	(void)state;
	begin(&bed, true);
	lost(&bed, 0x50, 1, 0x10, 3, NODE_SWITCH);
	lost(&bed, 0x60, 1, 0x10, 1, NODE_SWITCH);
	lost(&bed, 0x60, 2, 0x50, 2, NODE_SWITCH);
	lost(&bed, 0x60, 3, 0x11, 77, NODE_SWITCH);
	lost(&bed, 0x60, 4, 0x10, 0, NODE_SWITCH);
	build(&bed);
	assert_int_equal(bed.n->nnodes, 3);
	assert_int_equal(bed.n->nlinks, 2);
	assert_int_equal(behind(&bed, 0x10, 1), 0x20);
	assert_int_equal(behind(&bed, 0x10, 3), 0x11);
	end(&bed);
}

/* If nothing of the list counts, the snapshot is as it should be. */
static void
nothing(void **state)
{
	struct bed bed;

	(void)state;
	begin(&bed, false);
	lost(&bed, 0x50, 1, 0x60, 3, NODE_SWITCH);
	build(&bed);
	assert_ptr_equal(bed.f, bed.n);
	end(&bed);
}

/* Two ghosts claim one port of a third: the first of the list has it. */
static void
rivals(void **state)
{
	struct bed bed;

	(void)state;
	begin(&bed, true);
	lost(&bed, 0x40, 1, 0x20, 5, NODE_SWITCH);
	lost(&bed, 0x30, 1, 0x20, 5, NODE_SWITCH);
	build(&bed);
	assert_int_equal(behind(&bed, 0x20, 5), 0x30);
	assert_int_equal(behind(&bed, 0x40, 1), 0);
	end(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain),
		cmocka_unit_test(by_list_alone),
		cmocka_unit_test(outdated),
		cmocka_unit_test(nothing),
		cmocka_unit_test(rivals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
