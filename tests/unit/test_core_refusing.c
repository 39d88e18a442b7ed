/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * A switch of a live fabric takes no other forwarding table any more: it says so, it keeps what it
 * has, or it does not answer. Then it loses a cable that its table leads into. All pairs are routed
 * all the same, around what it does; it is told; and when it takes tables again it gets its own.
 */
#define BOUND SEC(30)

static const char *name;	/* of the switch */

/* The request goes to the switch. */
static bool
is_for(const struct bed *b, const struct bed_sm *sm, const struct smp *smp)
{
	uint32_t at = sm->node;

	for (unsigned i = 1; i <= smp->hop_count && at != IBNET_NONE; i++)
		at = b->net->nodes[at].ports[smp->path[i]].peer;
	return at == bed_node(b, name);
}

static bool
loses_tables(void *arg, const struct smp *smp, bool in)
{
	const struct bed_sm *sm = arg;

	return !in && smp->h.method == MAD_SET && smp->h.attr_id == ATTR_LINEAR_FDB &&
	       is_for(sm->bed, sm, smp);
}

static unsigned
told(struct bed_sm *sm)
{
	struct subnet_status st;
	unsigned n = 0;

	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		n += strstr(st.warnings[i], name) &&
		     strstr(st.warnings[i], "refuses its forwarding");
	return n;
}

static void
refuses(const char *fabric, const char *sw, const char *far, uint16_t status, unsigned keep,
	bool lose)
{
	struct tap *t;
	struct bed_sm *sm = tap_live(fabric, &t);
	struct bed *b = sm->bed;
	uint32_t bad, held;
	unsigned port;

	name = sw;
	bad = bed_node(b, sw);
	port = bed_port_to(b, bad, bed_node(b, far));
	sm->conf.sweep_interval = SEC(10);
	assert_true(bed_quiet(sm, BOUND));
	if (status)
		model_refuse(b->m, bad, ATTR_LINEAR_FDB, status);
	model_keep(b->m, bad, keep);
	t->arg = sm;
	t->lose = lose ? loses_tables : NULL;
	model_link_set(b->m, bad, port, false);
	if (!bed_becomes_good(sm, BOUND))
		fail_msg("%s: %s", sw, sm->why);
	bed_wait(b, SEC(20));
	bed_check(sm);
	assert_int_equal(told(sm), 1);
	held = fabric_node_by_guid(sm->s->plan->fabric, b->net->nodes[bad].guid);
	assert_true(sm->s->plan->fixed[sm->s->plan->fabric->nodes[held].sw]);
	assert_int_equal(sm->s->plan->check.cut_off, 0);
	/* It is well again: up within the longest wait. */
	if (status)
		model_refuse(b->m, bad, ATTR_LINEAR_FDB, 0);
	model_keep(b->m, bad, 0);
	t->lose = NULL;
	bed_wait(b, SEC(100));
	assert_int_equal(told(sm), 0);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	held = fabric_node_by_guid(sm->s->plan->fabric, b->net->nodes[bad].guid);
	assert_false(sm->s->plan->fixed[sm->s->plan->fabric->nodes[held].sw]);
	end(sm, t);
}

static void
bad_status(void **state)
{
	(void)state;
	refuses("ft3 4", "A1_0", "C1", MAD_STATUS_BAD_FIELD, 0, false);
	refuses("ft3 8", "A2_1", "C7", MAD_STATUS_BAD_FIELD, 0, false);
}

static void
another_kept(void **state)
{
	(void)state;
	refuses("ft3 4", "A1_0", "C1", 0, MODEL_KEEP_LFT, false);
}

static void
no_answer(void **state)
{
	(void)state;
	refuses("ft3 4", "A1_0", "C1", 0, 0, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_status),
		cmocka_unit_test(another_kept),
		cmocka_unit_test(no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
