/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "routing/engine.h"
#include "sm/fabric/plan_text.h"
#include "tests/unit/engine_help.h"

/*
 * The engine `file`: tables of another engine are written as text, read back and loaded. Expected
 * rows are those of the plan that was saved, entry by entry through the two assignments of LIDs.
 */
static struct lfts *
save(const struct plan *p, bool owners)
{
	struct ibnet *net = plan_to_ibnet(p);
	struct lfts_owners *o = lfts_owners_new(owners ? net : NULL);
	struct buf b = { 0 };
	struct error e = { 0 };
	struct lfts *l = NULL;
	uint8_t *room = mem_alloc(p->lids->top + 1u);

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		struct lfts_switch s = plan_to_lfts(p, sw, room);

		lfts_write_switch(&b, &s, o);
	}
	if (lfts_parse(&l, b.data, b.len, "saved", &e))
		fail_msg("%s", e.text);
	mem_free(room);
	buf_free(&b);
	lfts_owners_free(o);
	ibnet_free(net);
	return l;
}

/* LIDs of `p`, handed out the other way round: base 1 becomes the top. */
static struct plan_lids *
reversed(const struct plan *p)
{
	struct plan_lids *l = plan_lids_new(p->fabric);

	for (uint32_t i = 0; i < l->nports; i++) {
		if (!p->lids->base[i])
			continue;
		l->lmc[i] = p->lids->lmc[i];
		l->base[i] = (uint16_t)(1024 - p->lids->base[i] / 4 * 4 -
					(p->lids->lmc[i] ? 0 : p->lids->base[i] % 4));
	}
	plan_lids_index(l, p->fabric);
	return l;
}

static struct plan *
load(const struct fabric *f, struct plan_lids *lids, struct lfts *tables, unsigned threads,
     struct error *e)
{
	static const char *const names[] = { "file", NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = threads, .tables = tables },
	};
	struct plan *p = plan_new(f);

	p->lids = lids;
	if (engine_chain(p, NULL, NULL, &o, e) == 0)
		return p;
	plan_unref(p);
	return NULL;
}

static void
expect_same(const struct plan *saved, const struct plan *loaded)
{
	for (uint32_t i = 0; i < saved->fabric->nports; i++)
		for (uint32_t k = 0; saved->lids->base[i] && k < 1u << saved->lids->lmc[i]; k++)
			for (uint32_t sw = 0; sw < saved->fabric->nswitches; sw++)
				assert_int_equal(plan_row_port(saved->rows[sw],
							       saved->lids->base[i] + k),
						 plan_row_port(loaded->rows[sw],
							       loaded->lids->base[i] + k));
}

static void
test_load(void **state)
{
	static const char *const recipes[] = { "ft3 4", "ft2 5 3 4 2", "torus 3 3 2" };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct fabric *f = help_generate(recipes[i / 2], true, i + 1);
		struct error e = { 0 };
		struct plan *saved = help_plan(f, "updn", NULL, i % 2 ? 2 : 0, 1, &e), *p;
		struct lfts *l = save(saved, true);

		assert_non_null(l->owners);
		p = load(f, plan_lids_ref(saved->lids), l, 1 + i % 3, &e);
		if (!p)
			fail_msg("%s", e.text);
		expect_same(saved, p);
		assert_string_equal(p->note, "tables of saved");
		assert_string_equal(p->engine_running, "file");
		plan_unref(p);
		p = load(f, reversed(saved), l, 1 + i % 3, &e);
		if (!p)
			fail_msg("%s", e.text);
		expect_same(saved, p);
		assert_non_null(strstr(p->note, " LIDs are others now and are followed"));
		plan_unref(p);
		lfts_free(l);
		plan_unref(saved);
		fabric_unref(f);
	}
}

static void
test_no_owners(void **state)
{
	struct fabric *f = help_generate("ft2 3 2 4", false, 1);
	struct error e = { 0 };
	struct plan *saved = help_plan(f, "updn", NULL, 0, 1, &e), *p;
	struct lfts *l = save(saved, false);

	(void)state;
	assert_null(l->owners);
	p = load(f, plan_lids_ref(saved->lids), l, 1, &e);
	assert_non_null(p);
	expect_same(saved, p);
	assert_string_equal(p->note, "saved does not say whose its LIDs are: they are taken as "
			    "they stand");
	plan_unref(p);
	/* Other LIDs then get other hosts' entries, which the proof finds. */
	assert_null(load(f, reversed(saved), l, 1, &e));
	lfts_free(l);
	plan_unref(saved);
	fabric_unref(f);
}

static void
refuse(const struct fabric *f, const struct plan *saved, struct lfts *l, const char *why)
{
	struct error e = { 0 };
	char text[512];

	assert_null(load(f, plan_lids_ref(saved->lids), l, 2, &e));
	snprintf(text, sizeof(text), "engine file is refused: %s", why);
	assert_string_equal(e.text, text);
	lfts_free(l);
}

/* Hosts of leaf L0 are H0_0 .. with LIDs 1 to 4, as in help_lids(). */
static void
test_refused(void **state)
{
	struct fabric *f = help_generate("ft2 3 2 4", false, 1);
	struct error e = { 0 };
	struct plan *saved = help_plan(f, "updn", NULL, 0, 1, &e);
	struct lfts *l;

	(void)state;
	refuse(f, saved, NULL, "it needs saved tables: routing.file in the configuration, or weft "
	       "route --file, names them");
	l = save(saved, true);
	l->nswitches--;
	refuse(f, saved, l, "saved has no table of switch S1, 0x0000000000200004");
	l = save(saved, true);
	l->owners[3] = 0x77;
	refuse(f, saved, l, "saved has no LID of port 0x0000000000100005 of H0_2, which has LID 3 "
	       "now");
	l = save(saved, true);
	l->switches[1].ports[2] = LFTS_NO_PORT;
	l->switches[2].ports[5] = LFTS_NO_PORT;
	refuse(f, saved, l, "saved has no port for LID 2 (H0_1) at switch L1");
	l = save(saved, true);
	l->switches[1].ports[2] = 1;
	refuse(f, saved, l, "its tables are not sound: LID 2 (H0_1) is not reached from L1: its "
	       "table sends it out at the wrong place (port 1)");
	plan_unref(saved);
	fabric_unref(f);
}

/* 60 hosts and 4 switches: the top LID is 64, and dump_lfts prints LIDs up to 63. */
static void
test_top_of_64(void **state)
{
	struct fabric *f = help_generate("ft2 2 2 30", false, 1);
	struct error e = { 0 };
	struct plan *saved = help_plan(f, "updn", NULL, 0, 1, &e);
	struct lfts *l = save(saved, true);

	(void)state;
	assert_int_equal(saved->lids->top, 64);
	for (uint32_t i = 0; i < l->nswitches; i++)
		l->switches[i].len = 64;
	refuse(f, saved, l, "saved has no port for LID 64 (S1) at switch L0; dump_lfts leaves out "
	       "the highest LID where it is a multiple of 64, opensm-lfts.dump has it");
	plan_unref(saved);
	fabric_unref(f);
}

/* More LIDs a port than there were. */
static void
test_more_lids(void **state)
{
	struct fabric *f = help_generate("ft2 3 2 4", false, 1);
	struct error e = { 0 };
	struct plan *saved = help_plan(f, "updn", NULL, 0, 1, &e);
	struct lfts *l = save(saved, true);
	char host[] = "of H0_0, which has LID 3 now";

	(void)state;
	assert_null(load(f, help_lids(f, 1), l, 1, &e));
	assert_non_null(strstr(e.text, "saved has fewer LIDs for port 0x0000000000100001 "));
	assert_non_null(strstr(e.text, host));
	lfts_free(l);
	plan_unref(saved);
	fabric_unref(f);
}

static void
test_equal(void **state)
{
	struct fabric *f = help_generate("ft2 3 2 4", false, 1);
	struct error e = { 0 };
	struct plan *saved = help_plan(f, "updn", NULL, 0, 1, &e);
	struct lfts *a = save(saved, true), *b = save(saved, true), *c = save(saved, false);

	(void)state;
	assert_true(lfts_equal(a, b) && lfts_equal(NULL, NULL));
	assert_false(lfts_equal(a, c) || lfts_equal(a, NULL));
	assert_ptr_equal(lfts_ref(a), a);
	lfts_free(a);
	b->switches[2].ports[4] ^= 1;
	assert_false(lfts_equal(a, b));
	lfts_free(a);
	lfts_free(b);
	lfts_free(c);
	assert_null(lfts_ref(NULL));
	plan_unref(saved);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_no_owners),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_top_of_64),
		cmocka_unit_test(test_more_lids),
		cmocka_unit_test(test_equal),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
