/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "routing/check.h"
#include "routing/quality.h"
#include "tests/unit/core_bed.h"

/*
 * A fat tree loses one in ten of its cables between switches, one after another, and its live
 * subnet manager repairs each loss before the next one comes: all pairs of hosts routed, devices
 * as planned, and the tables as good as ones made for what is left are known to be. Then all cables
 * are back, and so are the first tables.
 *
 * usage: test_core_losses [RECIPE [SEED [SHIFTS]]]
 */
#define BOUND SEC(30)
#define SHARE_LEFT 0.9	/* of bisection bandwidth in proportion to the cables that are left */

static const char *recipe = "ft3 8";
static unsigned seed = 1, shifts = 31;

/* What is known to be reached with so many cables lost of a tree of 11,664 hosts: to 1 % by tables
 * that keep to those before, to 5 % by ones that Dmodc's formula makes anew, and above by our own
 * (docs/architecture.md). Smaller trees have lower loads. */
static const struct known {
	double share;			/* of cables lost, at most */
	unsigned worst;			/* load of a link by a shift */
	double mean;			/* of the worst of each shift */
} known[] = {
	{ 0.01, 5, 3.72 }, { 0.05, 6, 4.39 }, { 0.1, 7, 5.2 },
};

struct cable {
	uint32_t node;			/* at one end */
	unsigned port;			/* of it */
};

static unsigned
find_cables(const struct bed *b, struct cable *list)
{
	unsigned len = 0;

	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++) {
			uint32_t peer = b->net->nodes[n].ports[p].peer;

			if (peer != IBNET_NONE && peer > n &&
			    b->net->nodes[n].type == IBNET_SWITCH &&
			    b->net->nodes[peer].type == IBNET_SWITCH)
				list[len++] = (struct cable){ n, p };
		}
	return len;
}

static void
measure(struct bed_sm *sm, struct quality_report *q)
{
	const struct plan *p = subnet_plan(sm->s);
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .ranks = p->ranks,
		.threads = 1,
	};

	quality_measure(&in, 1, shifts, 21, q);
	plan_unref(p);
}

/* It is at rest, and no trap is held back any more. */
static void
repaired(struct bed_sm *sm, const char *what)
{
	bed_wait(sm->bed, MSEC(1300));
	assert_true(bed_quiet(sm, BOUND));
	if (!bed_good(sm))
		fail_msg("%s: %s", what, sm->why);
}

static void
judge(struct bed_sm *sm, const struct quality_report *whole, unsigned lost, unsigned cables,
      const char *what)
{
	const struct plan_check *c = &sm->s->plan->check;
	double share = (double)lost / cables;
	struct quality_report q;
	unsigned k = 0;

	while (known[k].share < share)
		k++;
	measure(sm, &q);
	if (c->unreachable || c->cut_off || c->credit_loops)
		fail_msg("%s: %llu pairs are not routed, %llu cut off, %u credit loops", what,
			 (unsigned long long)c->unreachable, (unsigned long long)c->cut_off,
			 c->credit_loops);
	if (q.shift_max > known[k].worst || q.shift_mean > known[k].mean)
		fail_msg("%s: worst shift %u, mean %.2f", what, q.shift_max, q.shift_mean);
	if (q.ebb < SHARE_LEFT * whole->ebb * (1 - share))
		fail_msg("%s: bisection %.3f, %.3f of the whole", what, q.ebb, q.ebb / whole->ebb);
	if (lost == 1 || lost % (cables / 20) == 0 || lost == cables / 10)
		print_message("%s: shift %u/%.2f, a2a %u, bisection %.3f in proportion\n", what,
			      q.shift_max, q.shift_mean, q.a2a, q.ebb / whole->ebb / (1 - share));
}

static bool
same_tables(const struct plan *a, const struct plan *b)
{
	bool same = a->fabric->nswitches == b->fabric->nswitches;

	for (uint32_t sw = 0; same && sw < a->fabric->nswitches; sw++)
		same = plan_row_equal(a->rows[sw], b->rows[sw]);
	return same;
}

static void
one_after_another(void **state)
{
	struct bed_sm *sm = bed_up(recipe, seed);
	struct bed *b = sm->bed;
	struct cable *list = mem_array(b->net->nports, sizeof(*list));
	unsigned cables = find_cables(b, list), lose = cables / 10;
	struct quality_report whole;
	const struct plan *first;
	char what[80];

	(void)state;
	sm->conf.sweep_interval = 0;
	assert_int_equal(bed_run(sm, BOUND), 1);
	repaired(sm, "at first");
	first = subnet_plan(sm->s);
	measure(sm, &whole);
	assert_int_equal(whole.shift_max, 1);
	bed_forget(sm);
	for (unsigned i = 0; i < lose; i++) {
		unsigned k = i + (unsigned)(loop_random(b->loop) % (cables - i));
		struct cable c = list[k];

		list[k] = list[i];
		list[i] = c;
		snprintf(what, sizeof(what), "%u of %u cables lost", i + 1, cables);
		model_link_set(b->m, c.node, c.port, false);
		repaired(sm, what);
		judge(sm, &whole, i + 1, cables, what);
	}
	assert_int_equal(sm->nevents[EVENT_REPAIRED], lose);
	for (unsigned i = 0; i < lose; i++)
		model_link_set(b->m, list[i].node, list[i].port, true);
	repaired(sm, "all back");
	assert_true(same_tables(first, sm->s->plan));
	plan_unref(first);
	mem_free(list);
	bed_free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_after_another) };

	if (argc > 1)
		recipe = argv[1];
	if (argc > 2)
		seed = (unsigned)atoi(argv[2]);
	if (argc > 3)
		shifts = (unsigned)atoi(argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
