/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/ha_help.h"

/*
 * What subnet managers ask of each other (IBA 14.2.5.13, 14.4.1): what is legal in which state, by
 * the specification's table; handing over, being handed the office; who may not; and what `weft
 * show ha` makes of it.
 */
#define FABRIC "ft2 3 1 3"
#define BOUND SEC(20)
#define KEY 0x1234

static struct bed_sm *
sm_at(struct bed *b, const char *host, unsigned priority)
{
	struct bed_sm *sm = bed_sm(b, bed_node(b, host), 1);

	sm->conf.priority = priority;
	sm->conf.sm_key = KEY;
	return sm;
}

/* ---- The table ---- */

/* A Set of the scripted manager to ours; the status of its answer. */
static uint16_t
tell(struct bed_sm *sm, struct script_sm *other, uint32_t host, uint32_t modifier,
     const struct sminfo *i)
{
	struct model_mad out = { .lid = LID_PERMISSIVE };
	unsigned answers = other->answers;

	ha_sminfo(sm->bed, host, sm->node, MAD_SET, modifier, i, out.mad);
	model_send(other->client, &out);
	bed_wait(sm->bed, MSEC(1));
	assert_int_equal(other->answers, answers + 1);
	return other->answer_status;
}

struct line {
	const char *role;		/* of ours */
	uint32_t modifier;		/* what the other one asks */
	enum sm_state sender;		/* what it says that it is */
	const char *then;		/* NULL: status 7, and nothing changes */
};

/* Ours, of higher priority, in a state; the other one is its master, but where ours leads. */
static void
brought_to(struct bed_sm *sm, struct script_sm *other, uint32_t host, const char *role)
{
	struct sminfo disable = other->info;

	if (strcmp(role, "master") == 0)
		other->info.state = SM_NOT_ACTIVE;
	if (strcmp(role, "discovering") == 0)
		model_delay(sm->bed->m, bed_node(sm->bed, "S0"), MSEC(100));
	bed_start(sm);
	if (strcmp(role, "discovering") == 0) {
		bed_wait(sm->bed, MSEC(50));
		return;
	}
	assert_int_equal(bed_run(sm, BOUND), other->info.state == SM_MASTER ? -1 : 1);
	if (strcmp(role, "not active") == 0)
		assert_int_equal(tell(sm, other, host, SM_DISABLE, &disable), 0);
}

static void
try_line(const struct line *l)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 7);
	struct script_sm other = { .info.sm_key = KEY };
	uint32_t host = bed_node(b, "H2_1");
	struct sminfo i;
	uint16_t status;

	script_attach(&other, b->m, host, 1, 3, SM_MASTER);
	brought_to(sm, &other, host, l->role);
	assert_string_equal(ha_role(sm), l->role);
	i = other.info;
	i.state = (uint8_t)l->sender;
	status = tell(sm, &other, host, l->modifier, &i);
	if ((status == 0) != (l->then != NULL) || (status && status != MAD_STATUS_BAD_FIELD))
		fail_msg("%s, modifier %u: status 0x%x", l->role, l->modifier, status);
	if (l->then && strcmp(l->then, l->role) != 0)
		ha_becomes(sm, l->then, MSEC(100));
	else
		assert_string_equal(ha_role(sm), l->role);
	bed_free(b);
}

static void
the_table(void **state)
{
	static const char *const roles[] = { "discovering", "standby", "not active", "master" };
	static const struct line legal[] = {
		{ "standby", SM_HANDOVER, SM_MASTER, "master" },
		{ "standby", SM_ACKNOWLEDGE, SM_STANDBY, "standby" },
		{ "standby", SM_DISABLE, SM_MASTER, "not active" },
		{ "standby", SM_DISCOVER, SM_MASTER, "discovering" },
		{ "master", SM_HANDOVER, SM_MASTER, "master" },
		{ "not active", SM_STAND_BY, SM_MASTER, "standby" },
	};
	unsigned found = 0;

	(void)state;
	for (unsigned r = 0; r < 4; r++)
		for (uint32_t m = 0; m <= SM_DISCOVER + 1; m++)
			for (unsigned from = SM_NOT_ACTIVE; from <= SM_MASTER; from++) {
				struct line l = { roles[r], m, (enum sm_state)from, NULL };

				for (size_t k = 0; k < sizeof(legal) / sizeof(legal[0]); k++)
					if (strcmp(legal[k].role, l.role) == 0 &&
					    legal[k].modifier == m && legal[k].sender == from) {
						l.then = legal[k].then;
						found++;
					}
				try_line(&l);
			}
	assert_int_equal(found, 6);
}

/* Who is disabled stays so when the master goes; asked again it stands by, and takes over. */
static void
disabled(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 7);
	struct script_sm other = { .info.sm_key = KEY };
	uint32_t host = bed_node(b, "H2_1");
	struct subnet_status st;
	struct ha_status h;

	(void)state;
	script_attach(&other, b->m, host, 1, 3, SM_MASTER);
	brought_to(sm, &other, host, "not active");
	subnet_status(sm->s, &st);
	assert_string_equal(st.role, "not active");
	assert_int_equal(warnings(sm, "disabled by the master"), 1);
	subnet_ha(sm->s, &h);
	assert_non_null(strstr(h.reasons[0], "disabled"));
	other.mute = true;
	subnet_sweep(sm->s);
	bed_wait(b, SEC(60));
	assert_string_equal(ha_role(sm), "not active");
	assert_int_equal(all_sets(b), 0);
	assert_int_equal(tell(sm, &other, host, SM_STAND_BY, &other.info), 0);
	ha_becomes(sm, "master", SEC(5));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	bed_free(b);
}

/* ---- Being handed the office ---- */

/* Handed over by a master of this priority, with this key. */
static void
offered(unsigned priority, uint64_t key, bool accept, bool taken)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 3);
	struct script_sm other = { .info.sm_key = KEY };
	uint32_t host = bed_node(b, "H2_1");
	struct sminfo i;

	sm->conf.accept_handover = accept;
	script_attach(&other, b->m, host, 1, priority, SM_MASTER);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	i = other.info;
	i.sm_key = key;
	if (taken) {
		other.info.state = SM_STANDBY;
		assert_int_equal(tell(sm, &other, host, SM_HANDOVER, &i), 0);
		assert_int_equal(other.got.state, SM_MASTER);
		assert_int_equal(other.set[SM_ACKNOWLEDGE], 1);
		ha_becomes(sm, "master", MSEC(100));
		assert_int_equal(bed_run(sm, BOUND), 1);
		bed_check(sm);
		assert_int_equal(reregisters(b), 9);
	} else {
		for (unsigned n = 0; n < 20; n++)
			assert_int_equal(tell(sm, &other, host, SM_HANDOVER, &i),
					 MAD_STATUS_BAD_FIELD);
		bed_wait(b, SEC(5));
		assert_string_equal(ha_role(sm), "standby");
		assert_int_equal(all_sets(b), 0);
		assert_int_equal(other.set[SM_ACKNOWLEDGE], 0);
		/* Told, and once: others may repeat themselves as they like. */
		assert_non_null(bed_event(sm, EVENT_ROLE, key == KEY || !key ?
					  "offers its office" : "has not our sm_key"));
		assert_in_range(sm->nevents[EVENT_ROLE], 3, 5);
	}
	bed_free(b);
}

static void
office_is_offered(void **state)
{
	(void)state;
	offered(2, KEY, false, true);
	offered(2, 0, false, true);		/* OpenSM shows none */
	offered(2, 0x666, false, false);
	offered(3, KEY, false, false);
	offered(3, KEY, true, true);
	offered(3, 0, true, true);
	offered(3, 0x666, true, false);
	offered(9, KEY, false, false);
	offered(9, KEY, true, true);
}

/* A master whose offer is refused resigns all the same, 50 ms later, as OpenSM does: nobody leads
 * for no longer than a tenth of a second, however seldom masters are polled. One that leads on is
 * left alone, and is asked as seldom as before. */
static void
refused_and_gone(void **state)
{
	(void)state;
	for (unsigned gone = 0; gone < 3; gone++) {
		struct bed *b = bed_new(FABRIC, 1);
		struct bed_sm *sm = sm_at(b, "H0_0", 3);
		struct script_sm other = { .info.sm_key = KEY };
		uint32_t host = bed_node(b, "H2_1");
		uint64_t asked;

		sm->conf.standby_poll = SEC(10);
		script_attach(&other, b->m, host, 1, 3, SM_MASTER);
		bed_start(sm);
		assert_int_equal(bed_run(sm, BOUND), -1);
		assert_int_equal(tell(sm, &other, host, SM_HANDOVER, &other.info),
				 MAD_STATUS_BAD_FIELD);
		bed_wait(b, MSEC(50));
		assert_string_equal(ha_role(sm), "standby");
		if (gone) {
			other.info.state = gone == 1 ? SM_STANDBY : SM_NOT_ACTIVE;
			assert_true(ha_becomes(sm, "master", MSEC(100)) < MSEC(100));
			assert_int_equal(bed_run(sm, BOUND), 1);
			bed_check(sm);
		} else {
			bed_wait(b, SEC(2));
			asked = bed_count(b, MAD_GET, ATTR_SM_INFO);
			bed_wait(b, SEC(20));
			assert_in_range(bed_count(b, MAD_GET, ATTR_SM_INFO) - asked, 1, 4);
			assert_string_equal(ha_role(sm), "standby");
			assert_int_equal(all_sets(b), 0);
		}
		bed_free(b);
	}
}

/* ---- Handing over ---- */

/* A standby of this priority comes while we lead; it says `status` to an offer. */
static void
standby_comes(unsigned priority, uint64_t key, bool allowed, uint16_t status, bool given)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 3);
	struct script_sm other = { .info.sm_key = key, .refuses = status, .obeys = true };
	uint64_t guids[] = { model_port_guid(b->m, bed_node(b, "H2_1"), 1), 0x4711 };

	sm->conf.allowed_sm_guids = allowed ? guids : guids + 1;
	sm->conf.nallowed_sm_guids = allowed ? 2 : 1;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_forget(sm);
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, priority, SM_STANDBY);
	if (given) {
		/* Its port's trap 144 is all that it takes. */
		assert_true(ha_becomes(sm, "standby", MSEC(50)) < MSEC(50));
		assert_int_equal(other.set[SM_HANDOVER], 1);
		bed_wait(b, SEC(30));
		assert_string_equal(ha_role(sm), "standby");
	} else {
		bed_wait(b, SEC(30));
		assert_string_equal(ha_role(sm), "master");
		bed_check(sm);
		/* 1, 2, 4, 8, 16 s, at the light sweeps that follow. */
		assert_int_equal(other.set[SM_HANDOVER], status ? 3 : 0);
	}
	if (status)
		assert_non_null(bed_event(sm, EVENT_ROLE, "refuses this one's office"));
	bed_free(b);
}

static void
office_is_given(void **state)
{
	(void)state;
	standby_comes(4, KEY, true, 0, true);
	standby_comes(15, 0, true, 0, true);
	standby_comes(4, KEY, true, MAD_STATUS_BAD_FIELD, false);
	standby_comes(3, KEY, true, 0, false);
	standby_comes(2, KEY, true, 0, false);
	standby_comes(15, 0x666, true, 0, false);
	standby_comes(15, KEY, false, 0, false);
}

/* It takes the office and never leads: we do again. */
static void
heir_never_leads(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 3);
	struct script_sm other = { .info.sm_key = KEY };

	(void)state;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	script_attach(&other, b->m, bed_node(b, "H2_1"), 1, 4, SM_STANDBY);
	ha_becomes(sm, "standby", MSEC(100));
	other.mute = true;
	ha_becomes(sm, "master", SEC(5));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	bed_free(b);
}

/* Two of ours. The one of higher priority comes later, and has the office in no time; no table
 * changes, and each host is asked once to register again. Priorities move it back and forth. */
static void
set_priority(struct bed_sm *sm, struct config_subnet *conf, unsigned priority)
{
	*conf = *sm->s->conf;
	conf->priority = priority;
	subnet_configure(sm->s, conf, NULL, STAGE_LIVE);
}

static void
each_registers(const struct bed *b, unsigned times)
{
	for (uint32_t i = bed_next(b, IBNET_CA, 0); i != IBNET_NONE;
	     i = bed_next(b, IBNET_CA, i + 1))
		assert_int_equal(model_reregisters(b->m, i, 1), times);
}

static void
priorities_decide(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *one = sm_at(b, "H0_0", 0), *two = sm_at(b, "H2_2", 5);
	struct config_subnet conf[4];
	struct ha_status h;
	unsigned times = 1;

	(void)state;
	bed_start(one);
	assert_int_equal(bed_run(one, BOUND), 1);
	assert_true(bed_quiet(one, BOUND));
	model_count_reset(b->m);
	bed_start(two);
	assert_true(ha_becomes(two, "master", MSEC(200)) < MSEC(100));
	assert_string_equal(ha_role(one), "standby");
	for (unsigned i = 0; i < 4; i++) {
		struct bed_sm *leads = i % 2 ? one : two, *other = i % 2 ? two : one;

		assert_int_equal(bed_run(leads, BOUND), 1);
		bed_wait(b, SEC(5));
		assert_string_equal(ha_role(other), "standby");
		bed_check(leads);
		each_registers(b, ++times);
		assert_int_equal(bed_count(b, MAD_SET, ATTR_LINEAR_FDB), 0);
		subnet_ha(leads->s, &h);
		assert_int_equal(h.takeover.why, TAKEOVER_HANDED);
		assert_true(h.takeover.up_ms < 200);
		assert_true(h.takeover.up_ms >= h.takeover.lead_ms);
		/* The master lowers its priority, or the standby raises its own. */
		if (i % 2)
			set_priority(leads, &conf[i], 2);
		else
			set_priority(other, &conf[i], 7);
		assert_true(ha_becomes(other, "master", MSEC(200)) < MSEC(100));
	}
	bed_free(b);
}

/* ---- Those who may not ---- */

/* H5: a stranger's key, highest priority: no handover, an alarm that says where it is. */
static void
stranger(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = sm_at(b, "H0_0", 0);
	struct script_sm other = { .info.sm_key = 0x666 };
	uint32_t host = bed_node(b, "H2_1");
	const struct event *ev;
	char word[80];
	uint8_t path[5] = { 0 };
	struct ha_status h;

	(void)state;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	script_attach(&other, b->m, host, 1, 15, SM_MASTER);
	bed_wait(b, SEC(15));
	assert_string_equal(ha_role(sm), "master");
	ev = bed_event(sm, EVENT_ROLE, "different sm_key");
	assert_non_null(ev);
	assert_int_equal(ev->level, LOG_L_ERROR);
	ha_path(b, sm->node, host, path);
	snprintf(word, sizeof(word), "at path 0,%u,%u,%u,%u from here", path[1], path[2], path[3],
		 path[4]);
	assert_non_null(strstr(ev->text, word));
	snprintf(word, sizeof(word), "LID %u,", model_portinfo(b->m, host, 1)->lid);
	assert_non_null(strstr(ev->text, word));
	snprintf(word, sizeof(word), "GUID 0x%016llx", (unsigned long long)other.info.guid);
	assert_non_null(strstr(ev->text, word));
	assert_int_equal(warnings(sm, "different sm_key"), 1);
	assert_int_equal(tell(sm, &other, host, SM_HANDOVER, &other.info), MAD_STATUS_BAD_FIELD);
	subnet_ha(sm->s, &h);
	assert_int_equal(h.nmanagers, 1);
	assert_string_equal(h.managers[0].key, "wrong");
	assert_string_equal(h.managers[0].node, "H2_1");
	assert_non_null(strstr(h.reasons[0], "there is no standby: 1 other manager has no right"));
	assert_non_null(strstr(h.reasons[1], "has another sm_key, and would lead beside"));
	bed_check(sm);
	bed_free(b);
}

/* H6: those that are not allowed are shown, and count for nothing, whatever they are. */
static void
not_allowed(void **state)
{
	static const enum sm_state states[] = { SM_MASTER, SM_STANDBY, SM_DISCOVERING };

	(void)state;
	for (size_t n = 0; n < sizeof(states) / sizeof(states[0]); n++) {
		struct bed *b = bed_new(FABRIC, 1);
		struct bed_sm *sm = sm_at(b, "H1_1", 0);
		struct script_sm other = { .info.sm_key = KEY };
		const uint64_t guids[] = { 0x4711, 0x4712 };
		uint32_t host = bed_node(b, "H0_0");
		struct ha_status h;

		sm->conf.allowed_sm_guids = guids;
		sm->conf.nallowed_sm_guids = 2;
		script_attach(&other, b->m, host, 1, 15, states[n]);
		bed_start(sm);
		assert_int_equal(bed_run(sm, BOUND), 1);
		assert_string_equal(ha_role(sm), "master");
		assert_non_null(bed_event(sm, EVENT_ROLE, "not among allowed_sm_guids"));
		assert_int_equal(tell(sm, &other, host, SM_HANDOVER, &other.info),
				 MAD_STATUS_BAD_FIELD);
		bed_wait(b, SEC(15));
		assert_string_equal(ha_role(sm), "master");
		subnet_ha(sm->s, &h);
		assert_int_equal(h.nmanagers, 1);
		assert_false(h.managers[0].allowed);
		bed_check(sm);
		bed_free(b);
	}
}

/* ---- Taking over ---- */

/* By the default configuration, from the last answer of a master that is killed (its port says
 * IsSM no more) or hangs (it does) to all programmed. */
static void
in_five_seconds(void **state)
{
	(void)state;
	for (unsigned hangs = 0; hangs < 2; hangs++) {
		struct bed *b = bed_new("ft3 6", 1);
		struct bed_sm *one = sm_at(b, "H0_0_0", 0), *two = sm_at(b, "H1_0_0", 0);
		struct ha_status h;
		monotime start;

		bed_start(one);
		assert_int_equal(bed_run(one, BOUND), 1);
		bed_start(two);
		assert_int_equal(bed_run(two, BOUND), -1);
		bed_wait(b, SEC(7));
		start = loop_now(b->loop);
		if (hangs)
			model_silence(b->m, one->node, MODEL_SILENT);
		else
			bed_stop(one);
		ha_becomes(two, "master", SEC(5));
		assert_int_equal(bed_run(two, BOUND), 1);
		assert_true(loop_now(b->loop) - start < SEC(5));
		subnet_ha(two->s, &h);
		assert_int_equal(h.takeover.why, TAKEOVER_LOST);
		assert_true(h.takeover.guid == model_port_guid(b->m, one->node, 1));
		assert_in_range((unsigned)h.takeover.lead_ms, hangs ? 2000 : 400,
				hangs ? 4500 : 1400);
		assert_in_range((unsigned)h.takeover.up_ms, hangs ? 2000 : 400,
				hangs ? 4590 : 1490);
		bed_free(b);
	}
}

/* What show ha says of a pair, as one comes and goes. */
static void
safe_or_not(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *one = sm_at(b, "H0_0", 0), *two = sm_at(b, "H2_2", 0);
	struct ha_status h;

	(void)state;
	bed_start(one);
	assert_int_equal(bed_run(one, BOUND), 1);
	subnet_ha(one->s, &h);
	assert_string_equal(h.role, "master");
	assert_string_equal(h.reasons[0], "there is no standby");
	assert_int_equal(h.takeover.why, TAKEOVER_FIRST);
	bed_start(two);
	assert_int_equal(bed_run(two, BOUND), -1);
	bed_wait(b, SEC(1));
	subnet_ha(one->s, &h);
	assert_int_equal(h.nmanagers, 1);
	assert_string_equal(h.managers[0].state, "standby");
	assert_string_equal(h.managers[0].key, "right");
	assert_int_equal(h.nreasons, 0);
	subnet_ha(two->s, &h);
	assert_string_equal(h.role, "standby");
	assert_int_equal(h.takeover.why, TAKEOVER_NONE);
	assert_true(h.managers[0].leads);
	assert_non_null(strstr(h.master, "H0_0"));
	assert_int_equal(h.nreasons, 0);
	bed_stop(two);
	bed_wait(b, SEC(12));
	subnet_ha(one->s, &h);
	assert_string_equal(h.reasons[0], "no standby answers: 1 is known, and lost");
	assert_true(h.managers[0].lost);
	bed_free(b);
}

/* ---- Islands ---- */

/* H1, H4: the master has to do with an island that is cut off, its standby leads there meanwhile,
 * and the link returns while the former waits for devices that are slow. In the end one leads, each
 * port takes its LID for the manager's, and each host of the island was asked once more to register
 * when the island's manager led, and once when it led no more; the others not at all. */
static void
islands_meet(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 12; n++) {
		struct bed *b = bed_new(FABRIC, n + 1);
		struct bed_sm *one = sm_at(b, "H0_0", n % 3), *two = sm_at(b, "H2_2", 1);
		uint32_t leaf = bed_node(b, "L2"), spine = bed_node(b, "S0");
		unsigned port = bed_port_to(b, leaf, spine);
		struct bed_sm *wins, *loses;

		bed_start(one);
		assert_int_equal(bed_run(one, BOUND), 1);
		bed_start(two);
		bed_wait(b, SEC(1));
		/* Whoever leads now is cut off from the other in the middle of a sweep that takes
		 * long, for a device is slow. */
		wins = ha_is(two, "master") ? two : one;
		loses = wins == two ? one : two;
		assert_string_equal(ha_role(loses), "standby");
		model_delay(b->m, spine, MSEC(30 + 20 * n));
		subnet_sweep(wins->s);
		bed_wait(b, MSEC(20 + 7 * n));
		model_link_set(b->m, leaf, port, false);
		ha_becomes(loses, "master", SEC(20));
		assert_int_equal(bed_run(loses, BOUND), 1);
		subnet_sweep(wins->s);
		bed_wait(b, MSEC(5 * n));
		model_link_set(b->m, leaf, port, true);
		ha_becomes(loses, "standby", SEC(60));
		model_heal(b->m, spine);
		if (!bed_becomes_good(wins, SEC(30)))
			fail_msg("%u: %s", n, wins->why);
		assert_true(bed_quiet(wins, BOUND));
		bed_wait(b, SEC(30));
		bed_check(wins);
		for (unsigned leaf_no = 0; leaf_no < 3; leaf_no++)
			for (unsigned h = 0; h < 3; h++) {
				char name[20];
				unsigned times = wins == two ? 2 : 1;
				bool island = (leaf_no == 2) == (wins == one);

				snprintf(name, sizeof(name), "H%u_%u", leaf_no, h);
				assert_int_equal(model_reregisters(b->m, bed_node(b, name), 1),
						 times + 2 * island);
			}
		bed_free(b);
	}
}

/* Sets of attributes that devices are programmed with. */
static uint64_t
programmed(const struct bed *b)
{
	return all_sets(b) - bed_count(b, MAD_SET, ATTR_SM_INFO);
}

/* H4: each of two islands has its master, and that of the one has written tables that the other
 * would not. They meet: from when one stands back, all that differs is rewritten by one sweep of
 * the other, and the sweeps after it write nothing. */
static void
one_sweep_rewrites(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 6; n++) {
		struct bed *b = bed_new(FABRIC, n + 1);
		struct bed_sm *one = sm_at(b, "H0_0", 2), *two = sm_at(b, "H2_2", 1);
		uint32_t leaf = bed_node(b, "L2");
		unsigned writing = 0;
		uint64_t sets, sweeps;

		for (unsigned p = 4; p <= 5; p++)
			model_link_set(b->m, leaf, p, false);
		bed_start(one);
		bed_start(two);
		assert_int_equal(bed_run(one, BOUND), 1);
		assert_int_equal(bed_run(two, BOUND), 1);
		for (unsigned p = 4; p <= 5; p++)
			model_link_set(b->m, leaf, p, true);
		ha_becomes(two, "standby", SEC(60));
		sweeps = one->s->st.sweeps;
		sets = programmed(b);
		for (unsigned ms = 0; ms < 30000; ms++) {
			bed_wait(b, MSEC(1));
			if (one->s->st.sweeps == sweeps)
				continue;
			writing += programmed(b) > sets;
			sweeps = one->s->st.sweeps;
			sets = programmed(b);
		}
		bed_check(one);
		assert_in_range(writing, 0, 1);
		bed_free(b);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table),
		cmocka_unit_test(disabled),
		cmocka_unit_test(office_is_offered),
		cmocka_unit_test(refused_and_gone),
		cmocka_unit_test(office_is_given),
		cmocka_unit_test(heir_never_leads),
		cmocka_unit_test(priorities_decide),
		cmocka_unit_test(stranger),
		cmocka_unit_test(not_allowed),
		cmocka_unit_test(in_five_seconds),
		cmocka_unit_test(safe_or_not),
		cmocka_unit_test(islands_meet),
		cmocka_unit_test(one_sweep_rewrites),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_ha", tests, NULL, NULL);
}
