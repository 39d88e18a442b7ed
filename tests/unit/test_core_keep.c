/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sm/core/subnet_i.h"
#include "sm/fabric/plan_row.h"
#include "sm/port/transact.h"
#include "sim/model/model_impl.h"
#include "tests/unit/core_bed.h"

/*
 * Taking over from another manager, here one with another engine and another host: what it wrote
 * stays as it is, if it can be proved, and what is not sound, or not of these LIDs, does not.
 */
#define BOUND SEC(60)

static const char *const minhop[] = { "minhop", NULL };
static const char *const fattree[] = { "fattree", NULL };

static void
up(struct bed_sm *sm)
{
	bed_start(sm);
	if (bed_run(sm, BOUND) != 1)
		fail_msg("%s", sm->why);
	assert_true(bed_quiet(sm, BOUND));
}

/* A fabric that a manager with engine minhop has programmed, and that it has left. */
static struct bed *
left_by_another(const char *recipe, struct bed_sm **next)
{
	struct bed *b = bed_new(recipe, 7);
	struct bed_sm *first = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	first->conf.routing.engines = (const char **)minhop;
	up(first);
	bed_check(first);
	bed_stop(first);
	*next = bed_sm(b, bed_next(b, IBNET_CA, first->node + 1), 1);
	(*next)->conf.routing.engines = (const char **)fattree;
	model_count_reset(b->m);
	return b;
}

static uint64_t
blocks_written(struct bed *b)
{
	return bed_count(b, MAD_SET, ATTR_LINEAR_FDB);
}

/* No block is written as long as nothing changes, a heavy sweep and SIGHUP included; then it is
 * routed by the engine of the configuration. */
static void
test_keep(void **state)
{
	struct bed_sm *sm;
	struct bed *b = left_by_another("ft3 4", &sm);

	(void)state;
	up(sm);
	bed_check(sm);
	assert_int_equal(blocks_written(b), 0);
	assert_string_equal(sm->s->plan->engine_running, "keep");
	assert_string_equal(sm->s->plan->engine_requested, "fattree");
	assert_non_null(strstr(sm->s->plan->note, "are kept"));
	bed_sweep(sm, BOUND);
	assert_int_equal(blocks_written(b), 0);
	model_link_set(b->m, bed_node(b, "L1_0"), 3, false);
	bed_wait(b, SEC(1));
	bed_sweep(sm, BOUND);
	assert_true(bed_quiet(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "fattree");
	bed_check(sm);
	bed_free(b);
}

static void
test_converge(void **state)
{
	struct bed_sm *sm;
	struct bed *b = left_by_another("ft3 4", &sm);

	(void)state;
	sm->conf.takeover = TAKEOVER_CONVERGE;
	up(sm);
	bed_check(sm);
	assert_true(blocks_written(b) > 0);
	assert_string_equal(sm->s->plan->engine_running, "fattree");
	bed_free(b);
}

/* A hole, and a loop of two switches: what is found is not sound, and is put right. */
static void
test_unsound(void **state)
{
	(void)state;
	for (unsigned loop = 0; loop < 2; loop++) {
		struct bed_sm *sm;
		struct bed *b = left_by_another("ft3 4", &sm);
		uint32_t leaf = bed_node(b, "L1_0");
		uint16_t lid = model_portinfo(b->m, bed_node(b, "H1_0_0"), 1)->lid;

		/* Up again, or nowhere. */
		b->m->nodes[leaf].lft[lid] = loop ? 3 : LFT_NO_PORT;
		up(sm);
		bed_check(sm);
		assert_true(blocks_written(b) > 0);
		assert_string_equal(sm->s->plan->engine_running, "fattree");
		bed_free(b);
	}
}

/* A circle of packets that wait for each other: minhop around a ring of five. */
static void
test_credit_loop(void **state)
{
	static const char *const updn[] = { "updn", NULL };
	struct bed *b = bed_new("torus 5 1", 7);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	(void)state;
	sm->conf.routing.engines = (const char **)updn;
	up(sm);
	bed_stop(sm);
	/* All that goes to the second next switch goes the same way round. */
	for (unsigned i = 0; i < 5; i++) {
		char name[16], far[16];
		uint32_t sw;

		snprintf(name, sizeof(name), "T%u", i);
		snprintf(far, sizeof(far), "H%u_0", (i + 2) % 5);
		sw = bed_node(b, name);
		snprintf(name, sizeof(name), "T%u", (i + 1) % 5);
		for (unsigned p = 1; p <= b->net->nodes[sw].nports; p++)
			if (b->net->nodes[sw].ports[p].peer == bed_node(b, name))
				b->m->nodes[sw].lft[model_portinfo(b->m, bed_node(b, far),
								   1)->lid] = (uint8_t)p;
	}
	model_count_reset(b->m);
	up(sm);
	bed_check(sm);
	assert_string_equal(sm->s->plan->engine_running, "updn");
	assert_true(blocks_written(b) > 0);
	bed_free(b);
}

/* Our own restart, after faults whose repair depends on their order, writes nothing. */
static void
test_restart(void **state)
{
	struct bed *b = bed_new("ft3 6", 3);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	(void)state;
	up(sm);
	for (unsigned i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof(name), "L%u_%u", 1 + i / 3, i % 3);
		model_link_set(b->m, bed_node(b, name), 4 + i % 3, false);
		bed_wait(b, SEC(1));
		bed_sweep(sm, BOUND);
		assert_true(bed_quiet(sm, BOUND));
	}
	bed_stop(sm);
	model_count_reset(b->m);
	up(sm);
	bed_check(sm);
	assert_int_equal(blocks_written(b), 0);
	bed_free(b);
}

/* A cable that came back while the daemon was down is used after its restart. */
static void
test_back(void **state)
{
	struct bed *b = bed_new("ft3 4", 3);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	uint32_t leaf = bed_node(b, "L1_0");
	unsigned used = 0;

	(void)state;
	up(sm);
	model_link_set(b->m, leaf, 3, false);
	bed_wait(b, SEC(1));
	bed_sweep(sm, BOUND);
	assert_true(bed_quiet(sm, BOUND));
	bed_stop(sm);
	model_link_set(b->m, leaf, 3, true);
	bed_wait(b, SEC(1));
	up(sm);
	bed_check(sm);
	for (uint16_t lid = 1; lid <= sm->s->plan->lids->top; lid++)
		used += model_lft(b->m, leaf, lid) == 3;
	assert_true(used > 0);
	bed_free(b);
}

/* Whoever names another engine and starts the daemon anew gets it; but one that comes by `keep` at
 * its own restart goes on so. */
static void
test_new_engine(void **state)
{
	struct bed_sm *sm;
	struct bed *b = left_by_another("ft3 4", &sm);

	(void)state;
	up(sm);
	assert_string_equal(sm->s->plan->engine_running, "keep");
	bed_stop(sm);
	up(sm);
	assert_string_equal(sm->s->plan->engine_running, "keep");
	assert_int_equal(blocks_written(b), 0);
	bed_free(b);
	b = bed_new("ft3 4", 7);
	sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	sm->conf.routing.engines = (const char **)minhop;
	up(sm);
	bed_stop(sm);
	sm->conf.routing.engines = (const char **)fattree;
	up(sm);
	assert_string_equal(sm->s->plan->engine_running, "fattree");
	bed_check(sm);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep), cmocka_unit_test(test_converge),
		cmocka_unit_test(test_unsound), cmocka_unit_test(test_credit_loop),
		cmocka_unit_test(test_restart), cmocka_unit_test(test_new_engine),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
