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
 * Several subnet managers on one fabric (IBA 14.4.1, 14.4.2): who leads, who stands by, who takes
 * over, and what each says of itself when it is asked.
 */
#define FABRIC "ft2 3 2 3"
#define BOUND SEC(20)

static struct bed_sm *
sm_at(struct bed *b, const char *host)
{
	struct bed_sm *sm = bed_sm(b, bed_node(b, host), 1);

	sm->conf.standby_poll = SEC(1);
	sm->conf.standby_retries = 3;
	return sm;
}

static const char *
role(struct bed_sm *sm)
{
	static struct subnet_status st;

	subnet_status(sm->s, &st);
	return st.role;
}

/* A8: a master stays master, whatever its priority or GUID; we stand by, write nothing, and say
 * who it is. */
static void
master_stays(const char *mine, const char *its, unsigned priority, unsigned its_priority)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, mine);
	struct script_sm other = { 0 };
	struct subnet_status st;
	const struct event *ev;
	char guid[GUID_TEXT_SIZE], lid[16];

	script_attach(&other, b->m, bed_node(b, its), 1, its_priority, SM_MASTER);
	guid_text(guid, other.info.guid);
	sm->conf.priority = priority;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	assert_non_null(strstr(sm->why, its));
	assert_non_null(strstr(sm->why, guid));
	subnet_status(sm->s, &st);
	assert_string_equal(st.role, "standby");
	assert_string_equal(st.state, "standby");
	assert_non_null(strstr(st.master, its));
	ev = bed_event(sm, EVENT_ROLE, its);
	assert_non_null(ev);
	assert_int_equal(ev->level, LOG_L_NOTICE);
	snprintf(lid, sizeof(lid), "LID %u", model_portinfo(b->m, bed_node(b, its), 1)->lid);
	assert_non_null(strstr(ev->text, lid));
	bed_wait(b, SEC(60));
	assert_string_equal(role(sm), "standby");
	assert_int_equal(all_sets(b), 0);
	/* Asked once in discovery and once a second since. */
	assert_in_range(other.asked, 55, 65);
	bed_free(b);
}

static void
a_master_is_not_replaced(void **state)
{
	(void)state;
	master_stays("H0_0", "H2_1", 0, 0);
	master_stays("H2_1", "H0_0", 0, 0);
	master_stays("H0_0", "H2_1", 15, 0);
	master_stays("H2_1", "H0_0", 3, 9);
}

/* The master falls silent: after so many failed polls its place is taken. */
static void
standby_takes_over(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };
	unsigned asked;
	monotime start;

	(void)state;
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, 0, SM_MASTER);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	/* Two lost polls are forgiven. */
	other.mute = true;
	bed_wait(b, SEC(3));
	other.mute = false;
	bed_wait(b, SEC(20));
	assert_string_equal(role(sm), "standby");
	other.mute = true;
	asked = other.asked;
	start = loop_now(b->loop);
	while (strcmp(role(sm), "master"))
		bed_wait(b, MSEC(10));
	/* Four polls a second apart, each with its time-outs, and the sweep. */
	assert_in_range(loop_now(b->loop) - start, SEC(4), SEC(12));
	assert_true(other.asked > asked + 3);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(reregisters(b), 9);
	assert_non_null(bed_event(sm, EVENT_ROLE, "does not answer"));
	bed_free(b);
}

/* The master says that it is not active any more. */
static void
master_resigns(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };

	(void)state;
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, 0, SM_MASTER);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	other.info.state = SM_NOT_ACTIVE;
	bed_wait(b, SEC(15));
	assert_string_equal(role(sm), "master");
	bed_check(sm);
	bed_free(b);
}

/* Its host goes altogether. */
static void
master_goes(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };
	uint32_t host = bed_node(b, "H2_1");

	(void)state;
	script_attach(&other, b->m, host, 1, 0, SM_MASTER);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	model_link_set(b->m, host, 1, false);
	bed_wait(b, SEC(20));
	assert_string_equal(role(sm), "master");
	bed_check(sm);
	bed_free(b);
}

/* Those that do not lead yet: the higher priority, then the lower GUID. */
static void
election(const char *its, enum sm_state its_state, unsigned mine, unsigned its_priority,
	 uint64_t key, bool lead)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H1_1");
	struct script_sm other = { .info.sm_key = key };

	script_attach(&other, b->m, bed_node(b, its), 1, its_priority, its_state);
	sm->conf.priority = mine;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), lead ? 1 : -1);
	assert_string_equal(role(sm), lead ? "master" : "standby");
	if (key)
		assert_non_null(bed_event(sm, EVENT_ROLE, "sm_key"));
	if (lead)
		bed_check(sm);
	bed_free(b);
}

static void
priority_then_guid(void **state)
{
	(void)state;
	election("H0_0", SM_DISCOVERING, 0, 0, 0, false);
	election("H2_2", SM_DISCOVERING, 0, 0, 0, true);
	election("H0_0", SM_STANDBY, 1, 0, 0, true);
	election("H2_2", SM_STANDBY, 0, 1, 0, false);
	election("H0_0", SM_NOT_ACTIVE, 0, 15, 0, true);
	/* A stranger's key: it does not count (H5). */
	election("H0_0", SM_MASTER, 0, 15, 0x666, true);
}

/*
 * What we answer.
 */
static void
question(struct script_sm *other, const struct bed *b, uint8_t method, uint16_t lid)
{
	uint32_t l0 = bed_node(b, "L0"), l2 = bed_node(b, "L2"), s0 = bed_node(b, "S0");
	uint8_t path[5] = { 0, 1, 0, 0, 1 };	/* H0_0 is on port 1 of L0 */
	unsigned answers = other->answers;

	for (uint8_t p = 1; p <= b->net->nodes[l2].nports; p++)
		if (b->net->nodes[l2].ports[p].peer == s0)
			path[2] = p;
	for (uint8_t p = 1; p <= b->net->nodes[s0].nports; p++)
		if (b->net->nodes[s0].ports[p].peer == l0)
			path[3] = p;
	script_ask(other, method, lid, lid ? NULL : path, 4);
	bed_wait(b->sms[0].bed, MSEC(1));
	assert_int_equal(other->answers, answers + 1);
	assert_true(other->got.guid == model_port_guid(b->m, bed_node(b, "H0_0"), 1));
	assert_int_equal(other->got.priority, 7);
	/* OpenSM wants to see a master's key; it would hand over to a standby that shows it, so one
	 * does that is of higher priority. */
	assert_true(other->got.sm_key == (other->got.state == SM_DISCOVERING ||
					  (other->got.state == SM_STANDBY &&
					   other->info.priority >= 7) ?
					  0 : b->sms[0].conf.sm_key));
}

static void
we_answer_sminfo(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };
	uint32_t activity, start;

	(void)state;
	sm->conf.priority = 7;
	sm->conf.sm_key = 0x1234;
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, 0, SM_NOT_ACTIVE);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	question(&other, b, MAD_GET, 0);
	assert_int_equal(other.got.state, SM_MASTER);
	assert_int_equal(other.answer_status, 0);
	start = activity = other.got.activity;
	for (int i = 0; i < 3; i++) {
		bed_wait(b, SEC(11));
		question(&other, b, MAD_GET, sm->s->plan->lids->base[sm->s->plan->fabric->sm_port]);
		assert_int_equal(other.got.state, SM_MASTER);
		assert_true(other.got.activity > activity);
		activity = other.got.activity;
	}
	assert_true(activity > start);
	/* A handover that nobody asked for is refused, and we still lead. */
	question(&other, b, MAD_SET, 0);
	assert_int_equal(other.answer_status, MAD_STATUS_BAD_FIELD);
	assert_string_equal(role(sm), "master");
	bed_check(sm);
	bed_stop(sm);
	/* And as standby. */
	other.info.state = SM_MASTER;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	question(&other, b, MAD_GET, 0);
	assert_int_equal(other.got.state, SM_STANDBY);
	activity = other.got.activity;
	bed_wait(b, SEC(3));
	question(&other, b, MAD_GET, 0);
	assert_true(other.got.activity > activity);
	/* To a master of the same priority a standby keeps the key. */
	other.info.priority = 7;
	bed_wait(b, SEC(30));
	question(&other, b, MAD_GET, 0);
	bed_free(b);
}

/* While it discovers it says so. */
static void
discovering_is_answered(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };

	(void)state;
	sm->conf.priority = 7;
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, 0, SM_NOT_ACTIVE);
	/* A device that is slow keeps it discovering. */
	model_delay(b->m, bed_node(b, "S1"), MSEC(100));
	bed_start(sm);
	bed_wait(b, MSEC(50));
	question(&other, b, MAD_GET, 0);
	assert_int_equal(other.got.state, SM_DISCOVERING);
	bed_free(b);
}

/* A host that was silent for hours is left alone for long, but not when its subnet manager asks for
 * ours: it lives, and so do the switches that its question came through. */
static void
who_asks_lives(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0");
	struct script_sm other = { 0 };
	uint32_t host = bed_node(b, "H2_1"), leaf = bed_node(b, "L2");

	(void)state;
	sm->conf.priority = 7;
	script_attach(&other, b->m, host, 1, 0, SM_NOT_ACTIVE);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	model_silence(b->m, host, MODEL_SILENT);
	model_silence(b->m, leaf, MODEL_SILENT);
	bed_sweep(sm, BOUND);
	bed_wait(b, SEC(7200));
	assert_non_null(bed_event(sm, EVENT_SILENT, "\"H2_1\" (0x"));
	model_heal(b->m, host);
	model_heal(b->m, leaf);
	bed_forget(sm);
	question(&other, b, MAD_GET, 0);
	bed_wait(b, SEC(25));
	assert_non_null(bed_event(sm, EVENT_SILENT, "\"L2\" (0x"));
	assert_non_null(bed_event(sm, EVENT_SILENT, "\"H2_1\" (0x"));
	bed_check(sm);
	bed_free(b);
}

/*
 * Two of ours.
 */
static void
exactly_one_leads(struct bed_sm *one, struct bed_sm *two)
{
	bool first = !strcmp(role(one), "master"), second = !strcmp(role(two), "master");

	if (first == second)
		fail_msg("%s and %s", first ? "master" : role(one), second ? "master" : "standby");
	assert_string_equal(role(first ? two : one), "standby");
	bed_check(first ? one : two);
}

/* They start together, or one a little after the other. */
static void
two_start(void **state)
{
	(void)state;
	for (int i = 0; i < 240; i++) {
		struct bed *b = bed_new(FABRIC, (uint64_t)i + 1);
		struct bed_sm *one = sm_at(b, "H0_0"), *two = sm_at(b, "H2_2");
		struct bed_sm *early = i % 2 ? two : one, *late = i % 2 ? one : two;

		late->conf.priority = i % 3 == 1;
		early->conf.priority = i % 3 == 2;
		bed_start(early);
		bed_wait(b, i / 2 * USEC(5));
		bed_start(late);
		bed_wait(b, SEC(10));
		exactly_one_leads(one, two);
		bed_free(b);
	}
}

/* A slow device leaves much time between looking at the other's port and deciding. */
static void
two_start_slowly(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct bed *b = bed_new(FABRIC, (uint64_t)i + 1);
		struct bed_sm *one = sm_at(b, "H0_0"), *two = sm_at(b, "H2_2");
		struct bed_sm *early = i % 2 ? two : one, *late = i % 2 ? one : two;

		late->conf.priority = i % 3 == 1;
		early->conf.priority = i % 3 == 2;
		model_delay(b->m, bed_node(b, "S1"), MSEC(50));
		bed_start(early);
		bed_wait(b, i / 2 * MSEC(10));
		bed_start(late);
		bed_wait(b, SEC(10));
		exactly_one_leads(one, two);
		bed_free(b);
	}
}

/* The master ends; the standby reads what is there, writes its own LID to each end port, and each
 * host is asked once to register again. No table changes. */
static void
standby_inherits(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *one = sm_at(b, "H0_0"), *two = sm_at(b, "H2_2");

	(void)state;
	bed_start(one);
	assert_int_equal(bed_run(one, BOUND), 1);
	bed_start(two);
	assert_int_equal(bed_run(two, BOUND), -1);
	exactly_one_leads(one, two);
	bed_check(one);
	assert_int_equal(reregisters(b), 9);
	model_count_reset(b->m);
	bed_stop(one);
	bed_wait(b, SEC(20));
	assert_string_equal(role(two), "master");
	bed_check(two);
	assert_int_equal(reregisters(b), 18);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_LINEAR_FDB), 0);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_SWITCH_INFO), 0);
	/* Nine hosts and five switches. */
	assert_int_equal(bed_count(b, MAD_SET, ATTR_PORT_INFO), 14);
	/* The first one returns, and stands by. */
	bed_start(one);
	bed_wait(b, SEC(5));
	assert_string_equal(role(one), "standby");
	assert_string_equal(role(two), "master");
	bed_wait(b, SEC(60));
	bed_check(two);
	assert_int_equal(reregisters(b), 18);
	bed_free(b);
}

/* Two fabrics with a master each become one: one of the two stands back, and all ports follow. */
static void
two_fabrics_become_one(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct bed *b = bed_new(FABRIC, (uint64_t)i + 1);
		struct bed_sm *one = sm_at(b, "H0_0"), *two = sm_at(b, "H2_2");
		uint32_t leaf = bed_node(b, "L2");

		one->conf.priority = i % 3 == 1;
		two->conf.priority = i % 3 == 2;
		for (unsigned p = 4; p <= 5; p++)
			model_link_set(b->m, leaf, p, false);
		bed_start(one);
		bed_start(two);
		assert_int_equal(bed_run(one, BOUND), 1);
		assert_int_equal(bed_run(two, BOUND), 1);
		bed_check(one);
		bed_check(two);
		for (unsigned p = 4; p <= 5; p++)
			model_link_set(b->m, leaf, p, true);
		bed_wait(b, SEC(60));
		exactly_one_leads(one, two);
		assert_string_equal(role(i % 3 == 2 ? two : one), "master");
		bed_free(b);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_master_is_not_replaced),
		cmocka_unit_test(standby_takes_over),
		cmocka_unit_test(master_resigns),
		cmocka_unit_test(master_goes),
		cmocka_unit_test(priority_then_guid),
		cmocka_unit_test(we_answer_sminfo),
		cmocka_unit_test(discovering_is_answered),
		cmocka_unit_test(who_asks_lives),
		cmocka_unit_test(two_start),
		cmocka_unit_test(two_start_slowly),
		cmocka_unit_test(standby_inherits),
		cmocka_unit_test(two_fabrics_become_one),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
