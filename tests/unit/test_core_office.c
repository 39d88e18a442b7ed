/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet_i.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * When hosts are asked to register again (IBA 14.4.11), counted at each host and on the wire: not
 * after a restart that finds its state and its LID, once each when the state is lost, when the
 * subnet manager has another LID, or when its port is another one.
 */
#define BOUND SEC(20)

/* Set(PortInfo) with ClientReregister that were sent. */
static unsigned
asked(const struct tap *t)
{
	struct portinfo i;
	unsigned n = 0;

	for (size_t k = 0; k < t->len; k++) {
		if (t->log[k].in || t->log[k].smp.h.method != MAD_SET ||
		    t->log[k].smp.h.attr_id != ATTR_PORT_INFO)
			continue;
		portinfo_decode(&i, t->log[k].smp.data);
		n += i.client_reregister;
	}
	return n;
}

/* Each host that has a port was asked so often in all. */
static void
each_was_asked(const struct bed *b, unsigned times)
{
	for (uint32_t i = bed_next(b, IBNET_CA, 0); i != IBNET_NONE;
	     i = bed_next(b, IBNET_CA, i + 1))
		assert_int_equal(model_reregisters(b->m, i, 1), times);
}

static void
again(struct bed_sm *sm, struct tap *t)
{
	tap_clear(t);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_wait(sm->bed, SEC(60));
	bed_check(sm);
}

static void
restart(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);

	(void)state;
	each_was_asked(sm->bed, 1);
	for (unsigned i = 0; i < 3; i++) {
		bed_stop(sm);
		again(sm, t);
		assert_int_equal(asked(t), 0);
	}
	each_was_asked(sm->bed, 1);
	end(sm, t);
}

static void
state_lost(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);

	(void)state;
	bed_stop(sm);
	store_close(sm->store);
	sm->store = store_open_memory(sm->bed->loop);
	again(sm, t);
	each_was_asked(sm->bed, 2);
	assert_int_equal(asked(t), 16);
	end(sm, t);
}

/* L4: the subnet manager's port has another LID than it had. */
static void
another_lid(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	uint16_t before = model_portinfo(sm->bed->m, sm->node, 1)->lid;
	char key[64];

	(void)state;
	bed_stop(sm);
	snprintf(key, sizeof(key), "default 0x%016llx",
		 (unsigned long long)model_port_guid(sm->bed->m, sm->node, 1));
	store_put(sm->store, STORE_LIDS, key, "200 0 1000000000");
	store_commit(sm->store, NULL, NULL);
	model_set_lid(sm->bed->m, sm->node, 1, 200);
	again(sm, t);
	assert_int_not_equal(model_portinfo(sm->bed->m, sm->node, 1)->lid, before);
	each_was_asked(sm->bed, 2);
	assert_int_equal(asked(t), 16);
	end(sm, t);
}

/* The same while it runs: with an LMC LIDs are aligned. */
static void
another_lid_live(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t);
	uint16_t before = model_portinfo(sm->bed->m, sm->node, 1)->lid;
	struct config_subnet other = sm->conf;

	(void)state;
	assert_int_equal(before % 4, 1);
	other.lmc = 2;
	subnet_configure(sm->s, &other, NULL, STAGE_LIDS);
	bed_wait(sm->bed, SEC(10));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(model_portinfo(sm->bed->m, sm->node, 1)->lid % 4, 0);
	each_was_asked(sm->bed, 2);
	assert_int_equal(asked(t), 16);
	end(sm, t);
}

/* The state moves to a subnet manager at another port. */
static void
another_port(void **state)
{
	struct tap *t;
	struct bed_sm *sm = tap_live("ft3 4", &t), *two;
	struct bed *b = sm->bed;
	struct tap *other;

	(void)state;
	bed_stop(sm);
	two = bed_sm(b, bed_node(b, "H2_0_0"), 1);
	store_close(two->store);
	two->store = sm->store;
	sm->store = store_open_memory(b->loop);
	other = tap_new(two);
	again(two, other);
	each_was_asked(b, 2);
	assert_int_equal(asked(other), 16);
	end(sm, t);
	tap_free(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restart),
		cmocka_unit_test(state_lost),
		cmocka_unit_test(another_lid),
		cmocka_unit_test(another_lid_live),
		cmocka_unit_test(another_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
