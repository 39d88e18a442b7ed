/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet_i.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * Traps of devices: what each kind makes of events and of what is read again, how little a storm
 * of them does, and what a port comes to that babbles, by each policy. A port of the model sends
 * one trap in 1.07 s.
 */
#define BOUND SEC(20)
#define CALM SEC(90)		/* longer than a port that was heard last counts as babbling */

struct outcome {
	bool done;		/* the answer came */
	int error;		/* its code */
	char text[1000];	/* its sentence */
};

static void
on_answer(void *arg, int error, const char *text, const struct change_report *report)
{
	struct outcome *o = arg;

	(void)report;
	o->done = true;
	o->error = error;
	snprintf(o->text, sizeof(o->text), "%s", text);
}

/* `weft undrain`. */
static void
undrain(struct bed_sm *sm, uint32_t node, unsigned port)
{
	struct change c = { .kind = CHANGE_UNDRAIN, .port = (int)port,
			    .guid = sm->bed->net->nodes[node].guid };
	struct outcome o = { 0 };
	struct error e;

	assert_int_equal(subnet_change(sm->s, &c, on_answer, &o, &e), 0);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &o.done);
	assert_true(o.done);
	if (o.error)
		fail_msg("%s", o.text);
}

static struct bed_sm *
live(const char *fabric, enum config_action policy, struct tap **t)
{
	struct bed_sm *sm = tap_live(fabric, t);

	sm->conf.health.babbling = policy;
	return sm;
}

static unsigned
port_to(const struct bed *b, const char *node, const char *peer)
{
	return bed_port_to(b, bed_node(b, node), bed_node(b, peer));
}

static void
errors(struct bed_sm *sm, uint32_t node, unsigned port, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		model_port_errors(sm->bed->m, node, port, TRAP_LOCAL_INTEGRITY);
		bed_wait(sm->bed, SEC(2));
	}
	assert_true(bed_quiet(sm, BOUND));
}

static unsigned
entries_over(const struct bed_sm *sm, uint32_t node, unsigned port)
{
	unsigned n = 0;

	for (uint16_t lid = 1; lid <= sm->s->plan->lids->top; lid++)
		n += model_lft(sm->bed->m, node, lid) == port;
	return n;
}

static bool
is_up(const struct bed_sm *sm, uint32_t node, unsigned port)
{
	return model_portinfo(sm->bed->m, node, port)->state == PORT_ACTIVE;
}

static void
report(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	uint32_t leaf = bed_node(sm->bed, "L1_0");
	unsigned port = port_to(sm->bed, "L1_0", "A1_0");

	(void)state;
	errors(sm, leaf, port, 9);
	assert_int_equal(sm->nevents[EVENT_TRAP], 1);
	assert_false(warnings(sm, "babbling"));
	errors(sm, leaf, port, 5);
	assert_non_null(bed_event(sm, EVENT_HEALTH, "babbles"));
	assert_int_equal(sm->nevents[EVENT_TRAP], 1);
	assert_true(warnings(sm, "babbling"));
	assert_true(entries_over(sm, leaf, port) > 0);
	/* The next minute has its own event, with the count. */
	errors(sm, leaf, port, 25);
	assert_non_null(bed_event(sm, EVENT_TRAP, "in all): local link integrity errors"));
	assert_int_equal(sm->nevents[EVENT_TRAP], 2);
	bed_wait(sm->bed, CALM);
	assert_non_null(bed_event(sm, EVENT_HEALTH, "well again"));
	assert_false(warnings(sm, "babbling"));
	end(sm, t);
}

/* Now and then is not babbling. */
static void
now_and_then(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_DISABLE, &t);
	uint32_t leaf = bed_node(sm->bed, "L1_0");

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		errors(sm, leaf, 3, 1);
		bed_wait(sm->bed, SEC(4));
	}
	assert_int_equal(sm->nevents[EVENT_HEALTH] + sm->nevents[EVENT_QUARANTINED], 0);
	assert_true(is_up(sm, leaf, 3));
	end(sm, t);
}

static void
isolate(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_DRAIN, &t);
	uint32_t leaf = bed_node(sm->bed, "L1_0");
	unsigned port = port_to(sm->bed, "L1_0", "A1_0");

	(void)state;
	errors(sm, leaf, port, 11);
	assert_int_equal(entries_over(sm, leaf, port), 0);
	assert_true(is_up(sm, leaf, port));
	bed_check(sm);
	assert_true(warnings(sm, "babbling"));
	assert_non_null(bed_event(sm, EVENT_QUARANTINED, "babbles"));
	/* It is remembered, */
	bed_stop(sm);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(entries_over(sm, leaf, port), 0);
	/* as long as it babbles, */
	for (unsigned i = 0; i < 4; i++) {
		errors(sm, leaf, port, 1);
		bed_wait(sm->bed, SEC(40));
	}
	assert_int_equal(entries_over(sm, leaf, port), 0);
	bed_wait(sm->bed, CALM);
	assert_true(bed_quiet(sm, BOUND));
	assert_true(entries_over(sm, leaf, port) > 0);
	/* or till somebody says otherwise. */
	errors(sm, leaf, port, 11);
	assert_int_equal(entries_over(sm, leaf, port), 0);
	undrain(sm, leaf, port);
	assert_true(bed_quiet(sm, BOUND));
	assert_true(entries_over(sm, leaf, port) > 0);
	bed_check(sm);
	end(sm, t);
}

/* Nothing is cut off by it: a host, a leaf with one cable, the SM's own host. */
static void
what_is_needed_stays(void **state)
{
	static const enum config_action policies[] = { ACTION_DRAIN, ACTION_DISABLE };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct tap *t;
		struct bed_sm *sm = live("ft2 2 1 2", policies[i], &t);
		uint32_t leaf = bed_node(sm->bed, "L1");
		unsigned up = port_to(sm->bed, "L1", "S0");

		errors(sm, leaf, up, 12);
		assert_non_null(bed_event(sm, EVENT_HEALTH, "fall apart"));
		bed_forget(sm);
		errors(sm, sm->node, 1, 12);
		assert_non_null(bed_event(sm, EVENT_HEALTH, "our own way"));
		bed_forget(sm);
		errors(sm, bed_node(sm->bed, "L0"), port_to(sm->bed, "L0", "H0_0"), 12);
		assert_non_null(bed_event(sm, EVENT_HEALTH, "our own way"));
		if (policies[i] == ACTION_DRAIN) {
			errors(sm, bed_node(sm->bed, "H1_0"), 1, 12);
			assert_non_null(bed_event(sm, EVENT_HEALTH, "no other way"));
		}
		assert_true(is_up(sm, leaf, up));
		bed_check(sm);
		end(sm, t);
	}
}

static void
disable(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_DISABLE, &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L1_0"), top = bed_node(b, "A1_0");
	unsigned port = port_to(b, "L1_0", "A1_0"), far = port_to(b, "A1_0", "L1_0");
	struct health_row row;

	(void)state;
	errors(sm, leaf, port, 11);
	/* At the end that is nearer to the subnet manager, which sits on another pod. */
	assert_int_equal(model_portinfo(b->m, top, far)->phys_state, PHYS_DISABLED);
	assert_false(is_up(sm, leaf, port));
	assert_int_equal(entries_over(sm, leaf, port), 0);
	assert_int_equal(warnings(sm, "disabled"), 1);
	/* It is one row, of the port that babbles, and stays so when it is looked after. */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(health_rows(sm, &row), 1);
		assert_int_equal(row.guid, b->net->nodes[leaf].guid);
		assert_int_equal(row.port, port);
		assert_string_equal(row.action, "disable");
		bed_wait(b, SEC(12));
	}
	/* A switch that was reset has forgotten it, and a restart has not. */
	bed_stop(sm);
	model_reboot(b->m, top);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_wait(b, SEC(5));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(model_portinfo(b->m, top, far)->phys_state, PHYS_DISABLED);
	bed_wait(b, CALM);
	assert_int_equal(model_portinfo(b->m, top, far)->phys_state, PHYS_DISABLED);
	undrain(sm, top, far);
	bed_wait(b, SEC(5));
	assert_true(bed_quiet(sm, BOUND));
	assert_true(is_up(sm, leaf, port));
	assert_true(entries_over(sm, leaf, port) > 0);
	assert_false(warnings(sm, "disabled"));
	assert_int_equal(sm->s->drains.len, 0);
	bed_check(sm);
	end(sm, t);
}

static void
disable_a_host(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_DISABLE, &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L1_0"), host = bed_node(b, "H1_0_1");
	unsigned port = port_to(b, "L1_0", "H1_0_1");

	(void)state;
	errors(sm, host, 1, 12);
	assert_int_equal(model_portinfo(b->m, leaf, port)->phys_state, PHYS_DISABLED);
	assert_int_equal(sm->s->plan->fabric->ncas, 15);
	undrain(sm, leaf, port);
	bed_wait(b, SEC(5));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(sm->s->plan->fabric->ncas, 16);
	bed_check(sm);
	end(sm, t);
}

/* A port that cannot be disabled is told of, once, and tried again. */
static void
refuses_to_be_disabled(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_DISABLE, &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L1_0");

	(void)state;
	model_refuse(b->m, leaf, ATTR_PORT_INFO, 0x1c);
	errors(sm, leaf, port_to(b, "L1_0", "H1_0_1"), 12);
	assert_non_null(bed_event(sm, EVENT_REFUSED, "cannot be disabled"));
	bed_forget(sm);
	bed_wait(b, SEC(30));
	assert_null(bed_event(sm, EVENT_REFUSED, "cannot be disabled"));
	model_refuse(b->m, leaf, ATTR_PORT_INFO, 0);
	bed_wait(b, SEC(12));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(model_portinfo(b->m, leaf, port_to(b, "L1_0", "H1_0_1"))->phys_state,
			 PHYS_DISABLED);
	end(sm, t);
}

/* A description is read alone, and nothing is routed for it. */
static void
description(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	uint32_t host = bed_node(sm->bed, "H2_1_1");
	const struct plan *before = sm->s->plan;
	uint32_t node;

	(void)state;
	model_set_description(sm->bed->m, host, "another name");
	bed_wait(sm->bed, SEC(2));
	assert_true(bed_quiet(sm, BOUND));
	node = fabric_node_by_guid(sm->s->plan->fabric, sm->bed->net->nodes[host].guid);
	assert_string_equal(sm->s->plan->fabric->nodes[node].desc, "another name");
	assert_int_equal(tap_count(t, MAD_GET, ATTR_NODE_DESCRIPTION), 1);
	assert_int_equal(tap_count(t, MAD_GET, ATTR_SWITCH_INFO), 0);
	assert_int_equal(tap_count(t, MAD_GET, ATTR_PORT_INFO), 1);	/* our own */
	assert_int_equal(tap_count(t, MAD_SET, ATTR_LINEAR_FDB), 0);
	assert_ptr_equal(sm->s->plan->lids, before->lids);
	/* With anything else all is read. */
	tap_clear(t);
	model_local_change(sm->bed->m, host, 1, NOTICE_144_LINK_WIDTH);
	bed_wait(sm->bed, SEC(2));
	assert_true(bed_quiet(sm, BOUND));
	assert_true(tap_count(t, MAD_GET, ATTR_PORT_INFO) > 1);
	end(sm, t);
}

static void
system_image(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	uint32_t host = bed_node(sm->bed, "H2_1_1");

	(void)state;
	model_set_system_guid(sm->bed->m, host, 0x1234);
	bed_wait(sm->bed, SEC(2));
	assert_int_equal(topo_find(&sm->s->topo, sm->bed->net->nodes[host].guid)->info.system_guid,
			 0x1234);
	assert_non_null(bed_event(sm, EVENT_TRAP, "trap 145"));
	end(sm, t);
}

/* Wrong keys: an event a minute for each source, that says who it was. */
static void
wrong_keys(void **state)
{
	static const struct {
		enum trap_number trap;	/* that is sent */
		const char *word;	/* of the event */
	} rows[] = {
		{ TRAP_BAD_P_KEY, "wrong P_Key 0x8001 from \"H0_0_0\"" },
		{ TRAP_BAD_Q_KEY, "wrong Q_Key 0x8001 from \"H0_0_0\"" },
		{ TRAP_SWITCH_BAD_P_KEY, "on its way" },
	};
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L1_0"), host = bed_node(b, "H1_0_0");

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t node = rows[i].trap == TRAP_SWITCH_BAD_P_KEY ? leaf : host;

		bed_forget(sm);
		for (unsigned k = 0; k < 4; k++) {
			model_bad_key(b->m, node, 1, rows[i].trap, 0x8001,
				      model_portinfo(b->m, sm->node, 1)->lid);
			bed_wait(b, SEC(2));
		}
		assert_non_null(bed_event(sm, EVENT_TRAP, rows[i].word));
		assert_int_equal(sm->nevents[EVENT_TRAP], 1);
	}
	end(sm, t);
}

/* ---- By hand ---- */

/* The same notice of a sender whose TrapRepress was lost is one notice; and a wrong M_Key. */
static void
repeated(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	unsigned repressed = 0;
	struct model_client_events ev = { .receive = bed_count_repress, .arg = &repressed };
	uint32_t host = bed_node(sm->bed, "H1_0_0");
	struct model_client *c = model_attach(sm->bed->m, host, 1, &ev);
	uint16_t lid = model_portinfo(sm->bed->m, host, 1)->lid;
	struct notice n = { .generic = true, .type = 2, .trap = TRAP_BAD_M_KEY, .issuer_lid = lid };

	(void)state;
	n.details[2] = n.details[3] = 0xff;
	n.details[6] = MAD_SET;
	n.details[9] = 0x15;
	for (unsigned i = 0; i < 30; i++) {
		bed_notice(sm, c, 77, &n);
		bed_wait(sm->bed, MSEC(100));
	}
	assert_int_equal(repressed, 30);
	assert_int_equal(sm->s->st.traps_repeated, 29);
	assert_int_equal(sm->nevents[EVENT_TRAP], 1);
	assert_non_null(bed_event(sm, EVENT_TRAP, "(1 in all)"));
	assert_non_null(bed_event(sm, EVENT_TRAP, "asked Set(PortInfo) with a wrong M_Key by "
				  "somebody by a directed route"));
	end(sm, t);
}

/* Thousands of traps of one host, about its links and about anything: all are answered, few are
 * acted on, and a cable that is lost meanwhile is routed round as fast as ever. */
static void
storm(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	struct bed *b = sm->bed;
	unsigned repressed = 0, sent = 0;
	struct model_client_events ev = { .receive = bed_count_repress, .arg = &repressed };
	uint32_t host = bed_node(b, "H1_0_0"), leaf = bed_node(b, "L2_0");
	struct model_client *c = model_attach(b->m, host, 1, &ev);
	uint16_t lid = model_portinfo(b->m, host, 1)->lid;

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		struct notice n = { .generic = true, .type = 1, .issuer_lid = lid,
				    .trap = i % 2 ? TRAP_LINK_STATE : (uint16_t)(1000 + i) };

		n.details[0] = (uint8_t)(i % 4 ? lid >> 8 : i);
		n.details[1] = (uint8_t)(i % 4 ? lid : i);
		bed_notice(sm, c, ++sent, &n);
		if (i == 4000)
			model_link_set(b->m, leaf, port_to(b, "L2_0", "A2_0"), false);
		bed_wait(b, USEC(200));
	}
	/* A fifth of a second after the cable went. */
	assert_int_equal(entries_over(sm, leaf, port_to(b, "L2_0", "A2_0")), 0);
	assert_int_equal(repressed, sent);
	assert_true(sm->s->st.traps_suppressed > 4900);
	assert_true(sm->s->st.sweeps < 30);
	bed_wait(b, SEC(2));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	end(sm, t);
}

/* A switch has come with a host's LID: its trap names the host, which is not what changed. */
static void
lid_of_another(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L2_0"), host = bed_node(b, "H1_0_0");
	uint16_t own = model_portinfo(b->m, leaf, 0)->lid;
	uint16_t other = model_portinfo(b->m, host, 1)->lid;

	(void)state;
	model_set_lid(b->m, leaf, 0, other);
	model_link_flap(b->m, bed_node(b, "H2_0_0"), 1, MSEC(2));
	bed_wait(b, SEC(1));
	assert_int_equal(model_portinfo(b->m, leaf, 0)->lid, own);
	assert_int_equal(model_portinfo(b->m, host, 1)->lid, other);
	/* It was not told that its trap was heard, and repeats it. */
	assert_true(bed_becomes_good(sm, SEC(10)));
	end(sm, t);
}

/* Who led when they came, and stands by when what they named is to be looked at, does not look. */
static void
storm_before_standby(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", ACTION_REPORT, &t);
	struct bed *b = sm->bed;
	struct script_sm other = { 0 };
	struct model_client_events ev = { 0 };
	uint32_t host = bed_node(b, "H1_0_0");
	struct model_client *c = model_attach(b->m, host, 1, &ev);
	struct notice n = { .generic = true, .type = 1, .trap = TRAP_LINK_STATE,
			    .issuer_lid = model_portinfo(b->m, host, 1)->lid,
			    .details = { 0xbf, 0xff } };

	(void)state;
	for (unsigned i = 0; sm->s->role == ROLE_MASTER && i < 5000; i++) {
		if (i == 1000)
			script_attach(&other, b->m, bed_node(b, "H2_0_0"), 1, 15, SM_MASTER);
		bed_notice(sm, c, i + 1, &n);
		bed_wait(b, USEC(200));
	}
	assert_int_equal(sm->s->role, ROLE_STANDBY);
	assert_true(loop_timer_pending(sm->s->traps.timer));
	model_count_reset(b->m);
	bed_wait(b, SEC(3));
	assert_int_equal(bed_count(b, MAD_GET, ATTR_NODE_INFO), 0);
	end(sm, t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lid_of_another),
		cmocka_unit_test(storm_before_standby),
		cmocka_unit_test(report),
		cmocka_unit_test(now_and_then),
		cmocka_unit_test(isolate),
		cmocka_unit_test(what_is_needed_stays),
		cmocka_unit_test(disable),
		cmocka_unit_test(disable_a_host),
		cmocka_unit_test(refuses_to_be_disabled),
		cmocka_unit_test(description),
		cmocka_unit_test(system_image),
		cmocka_unit_test(wrong_keys),
		cmocka_unit_test(repeated),
		cmocka_unit_test(storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
