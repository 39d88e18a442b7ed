/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "tests/unit/route_help.h"

/* Sections of plans, and walks through tables. */

/* h1 - s1 = s2 - h2, two cables between the switches; two more adapters back to back. */
static struct fabric *
two_switches(void)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s1 = help_switch(b, 1, 4, "s1"), s2 = help_switch(b, 2, 4, "s2"), x, y;

	help_host(b, 0x10, "h1", s1, 1);
	help_host(b, 0x20, "h2", s2, 4);
	help_cable(b, s1, 2, s2, 2, 100000);
	help_cable(b, s1, 3, s2, 1, 100000);
	x = help_node(b, NODE_CA, 0x30, 1, "x");
	y = help_node(b, NODE_CA, 0x40, 1, "y");
	fabric_add_link(b, x, 1, y, 1);
	return fabric_build(b, 1);
}

static struct plan *
plan_by_hand(struct fabric *f, const uint8_t r1[8], const uint8_t r2[8])
{
	struct plan *p = plan_new(f);
	const uint64_t owner[] = { 0, 1, 2, 0x11, 0x21, 0x31, 0x41 };

	p->lids = plan_lids_new(f);
	for (uint16_t lid = 1; lid < 7; lid++)
		p->lids->base[fabric_port_by_guid(f, owner[lid])] = lid;
	plan_lids_index(p->lids, f);
	p->rows[0] = plan_row_new(p->lids->top);
	p->rows[1] = plan_row_new(p->lids->top);
	memcpy(plan_row_entries(p->rows[0]), r1, 8);
	memcpy(plan_row_entries(p->rows[1]), r2, 8);
	fabric_unref(f);
	return p;
}

static const uint8_t good1[8] = { 255, 0, 3, 1, 2, 255, 255, 255 };
static const uint8_t good2[8] = { 255, 2, 0, 1, 4, 255, 255, 255 };

static void
test_rows(void **state)
{
	struct plan_row *a = plan_row_new(63), *b = plan_row_new(64), *c = plan_row_new(10);

	(void)state;
	assert_int_equal(a->len, 64);
	assert_int_equal(b->len, 128);
	assert_int_equal(plan_row_port(b, 127), LFT_NO_PORT);
	plan_row_set(&a, 5, 9);
	assert_int_equal(plan_row_port(a, 5), 9);
	assert_int_equal(plan_row_port(a, 64), LFT_NO_PORT);
	assert_int_equal(plan_row_port(NULL, 5), LFT_NO_PORT);
	assert_false(plan_row_equal(a, b));
	assert_false(plan_row_equal(a, c));
	plan_row_set(&c, 5, 9);
	assert_true(plan_row_equal(a, c));
	assert_false(plan_row_equal(a, NULL));
	assert_true(plan_row_equal(NULL, NULL));
	plan_row_unref(plan_row_ref(a));
	plan_row_unref(a);
	plan_row_unref(b);
	plan_row_unref(c);
	plan_row_unref(NULL);
}

static void
test_lids(void **state)
{
	struct fabric *f = two_switches();
	struct plan_lids *l = plan_lids_new(f);
	uint32_t h1 = fabric_port_by_guid(f, 0x11), h2 = fabric_port_by_guid(f, 0x21);
	uint32_t x = fabric_port_by_guid(f, 0x31);

	(void)state;
	assert_int_equal(l->top, 0);
	l->base[h1] = 8;
	l->lmc[h1] = 2;
	l->base[h2] = 12;
	l->base[0] = 3;
	l->base[x] = 0xbfff;
	l->lmc[x] = 1;			/* would reach into the multicast range */
	plan_lids_index(l, f);
	assert_int_equal(l->top, 12);
	assert_int_equal(l->dest[11].port, h1);
	assert_int_equal(l->dest[11].offset, 3);
	assert_int_equal(l->dest[11].sw, 0);
	assert_int_equal(l->dest[11].out, 1);
	assert_int_equal(l->dest[12].sw, 1);
	assert_int_equal(l->dest[12].out, 4);
	assert_int_equal(l->dest[3].port, 0);
	assert_int_equal(l->dest[3].out, 0);
	assert_int_equal(l->dest[4].port, FABRIC_NONE);
	l->base[x] = 9;		/* claims what h1 has: the port with the lesser index keeps it */
	l->lmc[x] = 0;
	plan_lids_index(l, f);
	assert_int_equal(l->dest[9].port, h1);
	l->base[h1] = 0;
	plan_lids_index(l, f);
	assert_int_equal(l->dest[9].port, x);
	assert_int_equal(l->dest[9].sw, FABRIC_NONE);
	plan_lids_unref(l);
	fabric_unref(f);
}

static void
test_lids_held(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 4, "s");
	const uint16_t lid[] = { 4, 7, 8, 9 };
	const uint8_t lmc[] = { 1, 0, 0, 0 };
	struct plan_lids *l;
	struct fabric *f;

	(void)state;
	fabric_add_port(b, s, 0, &(struct fabric_port){ .guid = 1, .lid = 5 });
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t h = help_host(b, 0x10u + 0x10u * i, "h", s, i + 1);

		fabric_add_port(b, h, 1, &(struct fabric_port){
			.guid = 0x11u + 0x10u * i, .state = PORT_ACTIVE,
			.lid = lid[i], .lmc = lmc[i],
		});
	}
	f = fabric_build(b, 1);
	l = plan_lids_from_fabric(f);
	/* The first host's 4..5 and the switch's 5 collide, so both lose theirs. */
	assert_int_equal(l->base[fabric_port_by_guid(f, 1)], 0);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x11)], 0);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x21)], 7);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x41)], 9);
	assert_int_equal(l->top, 9);
	assert_int_equal(l->dest[5].port, FABRIC_NONE);
	plan_lids_unref(l);
	fabric_unref(f);
}

static void
test_path(void **state)
{
	struct plan *p = plan_by_hand(two_switches(), good1, good2);
	struct plan_path path;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(plan_path(p, 3, 4, &path, &e), 0);	/* h1 to h2 */
	assert_int_equal(path.len, 4);
	assert_int_equal(path.hops[0].out, 1);
	assert_string_equal(p->fabric->nodes[path.hops[1].node].name, "s1");
	assert_int_equal(path.hops[1].in, 1);
	assert_int_equal(path.hops[1].out, 2);
	assert_int_equal(path.hops[2].in, 2);
	assert_int_equal(path.hops[2].out, 4);
	assert_int_equal(path.hops[3].in, 1);
	assert_int_equal(path.hops[3].out, 0);
	assert_int_equal(plan_path(p, 3, 2, &path, &e), 0);	/* h1 to s2 */
	assert_int_equal(path.len, 3);
	assert_int_equal(path.hops[1].out, 3);
	assert_int_equal(path.hops[2].in, 1);
	assert_int_equal(path.hops[2].out, 0);
	assert_int_equal(plan_path(p, 1, 4, &path, &e), 0);	/* s1 to h2 */
	assert_int_equal(path.len, 3);
	assert_int_equal(path.hops[0].in, 0);
	assert_int_equal(path.hops[0].out, 2);
	assert_int_equal(plan_path(p, 5, 6, &path, &e), 0);	/* back to back */
	assert_int_equal(path.len, 2);
	assert_int_equal(plan_path(p, 3, 3, &path, &e), 0);
	assert_int_equal(path.len, 1);
	plan_unref(plan_ref(p));
	plan_unref(p);
}

static void
refused(const uint8_t r1[8], const uint8_t r2[8], uint16_t from, uint16_t to, const char *word)
{
	struct plan *p = plan_by_hand(two_switches(), r1, r2);
	struct plan_path path;
	struct error e = { 0 };

	assert_int_equal(plan_path(p, from, to, &path, &e), ERR_NOT_FOUND);
	if (!strstr(e.text, word))
		fail_msg("\"%s\" is not in \"%s\"", word, e.text);
	plan_unref(p);
}

static uint8_t
drop_at_2(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	(void)l;
	(void)sw;
	(void)in;
	(void)class;
	return out == 2 ? PLAN_LANE_DROP : 0;
}

static void
free_lanes(struct plan_lanes *l)
{
	mem_free(l);
}

/* An SL to VL table may drop what the forwarding tables would bring there. */
static void
test_dropped(void **state)
{
	struct plan *p = plan_by_hand(two_switches(), good1, good2);
	struct plan_path path;
	struct error e = { 0 };

	(void)state;
	p->lanes = mem_zalloc(sizeof(*p->lanes));
	p->lanes->refs = 1;
	p->lanes->lane = drop_at_2;
	p->lanes->free = free_lanes;
	assert_int_equal(plan_path(p, 3, 2, &path, &e), 0);
	assert_int_equal(plan_path(p, 3, 4, &path, &e), ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "SL to VL"));
	plan_unref(p);
}

static void
test_no_path(void **state)
{
	const uint8_t hole[8] = { 255, 2, 0, 1, 255, 255, 255, 255 };
	const uint8_t back[8] = { 255, 2, 0, 1, 1, 255, 255, 255 };
	const uint8_t self[8] = { 255, 2, 0, 1, 0, 255, 255, 255 };
	const uint8_t dead[8] = { 255, 2, 0, 1, 3, 255, 255, 255 };
	const uint8_t beyond[8] = { 255, 2, 0, 1, 77, 255, 255, 255 };
	const uint8_t other[8] = { 255, 2, 0, 4, 4, 255, 255, 255 };

	(void)state;
	refused(good1, hole, 3, 4, "s2");
	refused(good1, back, 3, 4, "circle");
	refused(good1, self, 3, 4, "itself");
	refused(good1, dead, 3, 4, "without a link");
	refused(good1, beyond, 3, 4, "without a link");
	refused(good1, other, 4, 3, "h2");
	refused(good1, good2, 3, 5, "s1");
	refused(good1, good2, 5, 3, "does not own");
	refused(good1, good2, 3, 7, "LID 7 belongs to no port");
	refused(good1, good2, 0, 3, "LID 0 belongs to no port");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_lids),
		cmocka_unit_test(test_lids_held), cmocka_unit_test(test_path),
		cmocka_unit_test(test_dropped), cmocka_unit_test(test_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
