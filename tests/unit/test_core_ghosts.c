/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "routing/nominal.h"
#include "sm/base/mem.h"
#include "sm/core/snapshot.h"
#include "tests/unit/core_bed.h"

/*
 * What is remembered of what is gone. However devices and cables go and come back, the fabric as it
 * should be stays the same, so what did not use them does not move.
 */
#define BOUND SEC(60)

static const char *const fattree[] = { "fattree", NULL };

static void
settle(struct bed_sm *sm)
{
	bed_wait(sm->bed, MSEC(1300));
	assert_true(bed_quiet(sm, BOUND));
}

static struct bed_sm *
live(const char *recipe)
{
	struct bed *b = bed_new(recipe, 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	sm->conf.sweep_interval = 0;
	sm->conf.routing.engines = (const char **)(uintptr_t)fattree;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	settle(sm);
	bed_check(sm);
	return sm;
}

/* Is the fabric as it should be that of the beginning? */
static void
remembers(const struct bed_sm *sm, const struct fabric *whole)
{
	const struct fabric *n = nominal_fabric(sm->s->plan->fabric);

	assert_int_equal(n->nnodes, whole->nnodes);
	assert_int_equal(n->nlinks, whole->nlinks);
	assert_int_equal(n->nedges, whole->nedges);
	fabric_unref(n);
}

/* Entries that lead elsewhere than before, but not where nothing is left to lead to. */
static unsigned
moved(const struct bed_sm *sm, const struct plan *before)
{
	const struct plan *p = sm->s->plan;
	unsigned n = 0;

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		uint64_t guid = fabric_switch_node(p->fabric, sw)->guid;
		uint32_t was = fabric_node_by_guid(before->fabric, guid);
		const struct plan_row *old = before->rows[before->fabric->nodes[was].sw];

		for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
			uint8_t port = plan_row_port(p->rows[sw], lid);

			n += port != LFT_NO_PORT && port != plan_row_port(old, lid);
		}
	}
	return n;
}

static void
off(struct bed_sm *sm, const char *name)
{
	model_power(sm->bed->m, bed_node(sm->bed, name), false);
}

static void
on(struct bed_sm *sm, const char *name)
{
	model_power(sm->bed->m, bed_node(sm->bed, name), true);
}

/* Everything is back. */
static void
end(struct bed_sm *sm, const struct plan *before)
{
	bed_check(sm);
	assert_int_equal(moved(sm, before), 0);
	assert_int_equal(sm->s->topo.ghosts.len, 0);
	plan_unref(before);
	bed_free(sm->bed);
}

/* With a leaf its hosts go, and nobody else remembers those; but nothing leads through a leaf. */
static void
a_leaf(void **state)
{
	struct bed_sm *sm = live("ft3 8");
	const struct plan *before = plan_ref(sm->s->plan);

	(void)state;
	off(sm, "L3_1");
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->nnodes, before->fabric->nnodes - 5);
	remembers(sm, before->fabric);
	assert_int_equal(moved(sm, before), 0);
	on(sm, "L3_1");
	settle(sm);
	end(sm, before);
}

/* A whole pod, and a spine that it was cabled to. They come back one by one, the leaves last, whose
 * hosts nobody can have seen meanwhile. */
static void
a_pod(void **state)
{
	static const char *const names[] = {
		"C0", "A2_0", "A2_1", "L2_0", "L2_1",
	};
	struct bed_sm *sm = live("ft3 4");
	const struct plan *before = plan_ref(sm->s->plan);

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		off(sm, names[i]);
	settle(sm);
	remembers(sm, before->fabric);
	off(sm, "A2_1");
	off(sm, "L2_0");
	off(sm, "L2_1");
	settle(sm);
	bed_check(sm);
	remembers(sm, before->fabric);
	for (unsigned i = 0; i < 5; i++) {
		on(sm, names[i]);
		settle(sm);
		bed_check(sm);
		remembers(sm, before->fabric);
	}
	end(sm, before);
}

/* The subnet manager's own leaf reboots: for a moment nothing at all is there. */
static void
own_leaf(void **state)
{
	struct bed_sm *sm = live("ft2 4 3 3");
	struct bed *b = sm->bed;
	const struct plan *before = plan_ref(sm->s->plan), *with_fault;

	(void)state;
	model_link_set(b->m, bed_node(b, "L3"), 4, false);
	off(sm, "H2_1");
	settle(sm);
	with_fault = plan_ref(sm->s->plan);
	model_reboot(b->m, bed_node(b, "L0"));
	settle(sm);
	bed_wait(b, SEC(10));
	settle(sm);
	bed_check(sm);
	remembers(sm, before->fabric);
	assert_int_equal(moved(sm, with_fault), 0);
	plan_unref(with_fault);
	model_link_set(b->m, bed_node(b, "L3"), 4, true);
	on(sm, "H2_1");
	settle(sm);
	end(sm, before);
}

/* A host in the place of another is no fault, and the other is forgotten. So is all on demand. */
static void
changed(void **state)
{
	struct bed_sm *sm = live("ft2 3 2 3");
	struct bed *b = sm->bed;
	const struct plan *before = plan_ref(sm->s->plan);
	const struct fabric *n;

	(void)state;
	off(sm, "H1_0");
	settle(sm);
	remembers(sm, before->fabric);
	assert_int_equal(sm->s->topo.ghosts.len, 1);
	model_recable(b->m, bed_node(b, "H2_2"), 1, bed_node(b, "L1"), 1);
	settle(sm);
	bed_check(sm);
	assert_int_equal(sm->s->topo.ghosts.len, 0);
	n = nominal_fabric(sm->s->plan->fabric);
	assert_int_equal(n->nnodes, before->fabric->nnodes - 1);
	assert_int_equal(n->nlinks, before->fabric->nlinks - 1);
	fabric_unref(n);
	off(sm, "L2");
	settle(sm);
	assert_true(sm->s->topo.ghosts.len > 0);
	topo_forget_lost(&sm->s->topo);
	bed_sweep(sm, BOUND);
	assert_int_equal(sm->s->topo.ghosts.len, 0);
	n = snapshot_take(&sm->s->topo, NULL, 99);
	assert_int_equal(n->nlost, 0);
	fabric_unref(n);
	plan_unref(before);
	bed_free(b);
}

/* A cable that cannot be brought up, for one end refuses, is lost like any other. */
static void
stuck(void **state)
{
	struct bed_sm *sm = live("ft2 4 3 3");
	struct bed *b = sm->bed;
	const struct plan *before = plan_ref(sm->s->plan);
	uint32_t spine = bed_node(b, "S1");

	(void)state;
	model_keep(b->m, spine, MODEL_KEEP_STATE);
	model_link_flap(b->m, spine, 3, MSEC(2));
	settle(sm);
	bed_wait(b, SEC(30));
	settle(sm);
	assert_true(sm->s->plan->fabric->nlinks < before->fabric->nlinks);
	remembers(sm, before->fabric);
	plan_unref(before);
	bed_free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf),
		cmocka_unit_test(a_pod),
		cmocka_unit_test(own_leaf),
		cmocka_unit_test(changed),
		cmocka_unit_test(stuck),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
