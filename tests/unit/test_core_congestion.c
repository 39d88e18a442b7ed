/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control in a subnet: what devices hold of it, how little is written, and what becomes
 * of devices that refuse, do not answer, have another key, do not know the class or reboot. Judged
 * by what the simulated devices hold and were asked.
 */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"

#define BOUND SEC(60)
#define ON "qos: {congestion: {enabled: true, threshold: 8, packet_size: 2, marking_rate: 5, " \
	"increase: 3, timer: 77, trigger: 9, least: 1, levels_off: [3], key: "
#define HOSTS 16u	/* of "ft3 4" */
#define SWITCHES 20u

struct rig {
	struct bed_sm *sm;	/* the manager */
	struct model *m;	/* the fabric */
	struct config *conf;	/* that counts */
	uint32_t host, leaf;	/* "H1_0_0" and its switch */
};

static struct config *
parse(const char *text)
{
	struct error e;
	struct config *c = config_parse(text, strlen(text), NULL, &e);

	if (!c)
		fail_msg("%s", e.text);
	return c;
}

static void
start(struct rig *r)
{
	bed_start(r->sm);
	subnet_set_policy(r->sm->s, r->conf);
	assert_int_equal(bed_run(r->sm, BOUND), 1);
	assert_true(bed_quiet(r->sm, BOUND));
}

/* A fabric whose manager has not begun. */
static struct rig
rig_new(const char *text, const struct model_options *o)
{
	struct bed *b = o ? bed_new_options("ft3 4", 1, o) : bed_new("ft3 4", 1);
	struct rig r = { .m = b->m, .conf = parse(text) };

	r.sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	r.sm->conf.sweep_interval = 0;
	r.host = bed_node(b, "H1_0_0");
	r.leaf = bed_node(b, "L1_0");
	return r;
}

static struct rig
up(const char *text)
{
	struct rig r = rig_new(text, NULL);

	start(&r);
	return r;
}

static void
down(struct rig *r)
{
	bed_free(r->sm->bed);
	config_free(r->conf);
}

/* As main.c reloads. */
static void
reload(struct rig *r, const char *text)
{
	struct config *old = r->conf;

	r->conf = parse(text);
	subnet_set_policy(r->sm->s, r->conf);
	subnet_configure(r->sm->s, &r->sm->conf, NULL, STAGE_PUSH);
	config_free(old);
	bed_wait(r->sm->bed, SEC(2));
	assert_true(bed_quiet(r->sm, BOUND));
}

static uint64_t
asked(const struct rig *r, uint8_t method)
{
	uint64_t n = 0;

	for (unsigned attr = CC_CLASS_PORT_INFO; attr <= CC_TIMESTAMP; attr++)
		n += model_count(r->m, MODEL_ALL, method, (uint16_t)MODEL_CC(attr));
	return n;
}

static struct congestion_view
view(const struct rig *r)
{
	struct congestion_view v;

	subnet_congestion(r->sm->s, &v);
	return v;
}

static struct congestion_row
row_of(const struct rig *r, uint32_t node)
{
	struct congestion_row row = { 0 };

	while (subnet_congestion_row(r->sm->s, row.next, &row))
		if (row.guid == model_ibnet(r->m)->nodes[node].guid)
			return row;
	fail_msg("the device is not listed");
	return row;
}

static struct model_congestion
held(const struct rig *r, uint32_t node)
{
	struct model_congestion c;

	model_congestion(r->m, node, model_ibnet(r->m)->nodes[node].type == IBNET_SWITCH ? 0 : 1,
			 &c);
	return c;
}

/* What ON and the table of 128 steps mean, by hand. */
static void
check_host(const struct model_congestion *c)
{
	assert_int_equal(c->ca.port_control, 0);
	assert_int_equal(c->ca.entries[3].timer, 77);
	assert_int_equal(c->ca.entries[3].increase, 0);
	assert_int_equal(c->ca.entries[3].least, 0);
	for (unsigned sl = 4; sl < 16; sl++) {
		assert_int_equal(c->ca.entries[sl].timer, 77);
		assert_int_equal(c->ca.entries[sl].increase, 3);
		assert_int_equal(c->ca.entries[sl].trigger, 9);
		assert_int_equal(c->ca.entries[sl].least, 1);
	}
	assert_int_equal(c->limit, 127);
	for (unsigned i = 0; i < 128; i++) {
		assert_int_equal(c->table[i].shift, 0);
		assert_int_equal(c->table[i].multiplier, i);
	}
}

static void
check_all(const struct rig *r, uint64_t key)
{
	const struct ibnet *net = model_ibnet(r->m);

	for (uint32_t i = 0; i < net->nnodes; i++) {
		struct model_congestion c = held(r, i);

		assert_true(c.key.key == key);
		assert_int_equal(c.key.protect, key != 0);
		if (net->nodes[i].type != IBNET_SWITCH) {
			check_host(&c);
			continue;
		}
		assert_int_equal(c.sw.threshold, 8);
		assert_int_equal(c.sw.packet_size, 2);
		assert_int_equal(c.sw.marking_rate, 5);
		for (unsigned p = 0; p < 255; p++) {
			bool host = p && p <= net->nodes[i].nports &&
				net->nodes[i].ports[p].peer != IBNET_NONE &&
				net->nodes[net->nodes[i].ports[p].peer].type == IBNET_CA;

			assert_int_equal(cc_ports_has(&c.sw.victim, p), host);
			assert_false(cc_ports_has(&c.sw.credit, p));
		}
	}
}

static void
test_on(void **state)
{
	struct rig r = up(ON "0x5ec}}\n");
	struct congestion_view v = view(&r);

	(void)state;
	check_all(&r, 0x5ec);
	assert_int_equal(v.held, HOSTS + SWITCHES);
	assert_int_equal(v.unread + v.absent + v.locked + v.refused, 0);
	assert_string_equal(row_of(&r, r.host).state, "held");
	assert_string_equal(row_of(&r, r.host).key, "ours");
	assert_int_equal(row_of(&r, r.host).steps, 128);
	assert_int_equal(row_of(&r, r.leaf).sw.threshold, 8);
	down(&r);
}

/* Nothing is asked, nothing is written. */
static void
test_off(void **state)
{
	struct rig r = up("qos: {congestion: {threshold: 8}}\n");

	(void)state;
	bed_wait(r.sm->bed, SEC(30));
	assert_int_equal(asked(&r, MAD_GET) + asked(&r, MAD_SET), 0);
	assert_int_equal(view(&r).held + view(&r).absent, 0);
	down(&r);
}

/* A restart reads and writes nothing; a look round does not even read. */
static void
test_restart(void **state)
{
	struct rig r = up(ON "0x5ec}}\n");

	(void)state;
	model_count_reset(r.m);
	bed_stop(r.sm);
	start(&r);
	assert_int_equal(asked(&r, MAD_SET), 0);
	assert_true(asked(&r, MAD_GET) > 0);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES);
	model_count_reset(r.m);
	bed_sweep(r.sm, BOUND);
	assert_true(bed_quiet(r.sm, BOUND));
	assert_int_equal(asked(&r, MAD_GET) + asked(&r, MAD_SET), 0);
	down(&r);
}

/* Only what differs is written; a key is changed with the old one. */
static void
test_reload(void **state)
{
	struct rig r = up(ON "0x5ec}}\n");

	(void)state;
	model_count_reset(r.m);
	reload(&r, ON "0x5ec, credit_starvation: true}}\n");
	assert_int_equal(model_count(r.m, MODEL_ALL, MAD_SET, MODEL_CC(CC_SWITCH_SETTING)),
			 SWITCHES);
	assert_int_equal(asked(&r, MAD_SET), SWITCHES);
	assert_int_equal(held(&r, r.leaf).sw.starvation, 8);
	reload(&r, ON "0x77}}\n");
	check_all(&r, 0x77);
	assert_int_equal(held(&r, r.host).key.violations, 0);
	reload(&r, ON "0}}\n");
	check_all(&r, 0);
	down(&r);
}

/* Disabled while it ran: nobody marks, nobody is held back, no key; then nothing more is asked. */
static void
test_disabled(void **state)
{
	struct rig r = up(ON "0x5ec}}\n");
	struct model_congestion c;

	(void)state;
	reload(&r, "qos: {}\n");
	for (uint32_t i = 0; i < model_ibnet(r.m)->nnodes; i++) {
		c = held(&r, i);
		assert_true(c.key.key == 0);
		assert_int_equal(c.sw.threshold, 0);
		for (unsigned p = 0; p < 255; p++)
			assert_false(cc_ports_has(&c.sw.victim, p));
		for (unsigned sl = 0; sl < 16; sl++) {
			assert_int_equal(c.ca.entries[sl].increase, 0);
			assert_int_equal(c.ca.entries[sl].least, 0);
		}
	}
	assert_non_null(bed_event(r.sm, EVENT_CONFIG, "congestion control is off"));
	assert_false(view(&r).undoing);
	model_count_reset(r.m);
	bed_sweep(r.sm, BOUND);
	bed_wait(r.sm->bed, SEC(30));
	assert_int_equal(asked(&r, MAD_GET) + asked(&r, MAD_SET), 0);
	reload(&r, ON "0x5ec}}\n");
	check_all(&r, 0x5ec);
	down(&r);
}

/* Everything is written again, and nothing at others. */
static void
test_reboot(void **state)
{
	struct rig r = up(ON "0x5ec}}\n");

	(void)state;
	model_count_reset(r.m);
	model_reboot(r.m, r.host);
	bed_wait(r.sm->bed, SEC(5));
	assert_true(bed_quiet(r.sm, BOUND));
	check_all(&r, 0x5ec);
	assert_int_equal(asked(&r, MAD_SET), 4);
	model_reboot(r.m, r.leaf);
	bed_wait(r.sm->bed, SEC(5));
	assert_true(bed_quiet(r.sm, BOUND));
	check_all(&r, 0x5ec);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES);
	down(&r);
}

/* A host that refuses is told of once and tried again; the others hold it all the same. */
static void
test_refused(void **state)
{
	struct rig r = rig_new(ON "0x5ec}}\n", NULL);
	const struct subnet_status none = { 0 };
	struct subnet_status st = none;

	(void)state;
	model_refuse(r.m, r.host, MODEL_CC(CC_CA_SETTING), MAD_STATUS_BAD_FIELD);
	start(&r);
	bed_wait(r.sm->bed, SEC(100));
	assert_int_equal(view(&r).refused, 1);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES - 1);
	assert_string_equal(row_of(&r, r.host).state, "refused");
	assert_string_equal(row_of(&r, r.host).why, "invalid field");
	assert_int_equal(r.sm->nevents[EVENT_REFUSED], 1);
	assert_in_range(model_count(r.m, r.host, MAD_SET, MODEL_CC(CC_CA_SETTING)), 2, 6);
	subnet_status(r.sm->s, &st);
	assert_int_equal(st.nwarnings, 1);
	assert_non_null(strstr(st.warnings[0], "1 port does not take it"));
	model_heal(r.m, r.host);
	bed_wait(r.sm->bed, SEC(400));
	check_all(&r, 0x5ec);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES);
	down(&r);
}

/* What keeps another value than was set is found out: here, by a switch that lies. */
static bool
spoil_answer(struct bed_sm *sm, struct port_mad *m)
{
	(void)sm;
	if (m->mad[1] == MAD_CLASS_CONGESTION && m->mad[17] == CC_SWITCH_SETTING)
		m->mad[CC_DATA_AT + 69] = 99;
	return true;
}

static void
test_kept(void **state)
{
	struct rig r = rig_new(ON "0}}\n", NULL);

	(void)state;
	r.sm->in = spoil_answer;
	start(&r);
	assert_int_equal(view(&r).refused, SWITCHES);
	assert_int_equal(view(&r).held, HOSTS);
	assert_non_null(bed_event(r.sm, EVENT_REFUSED, "keeps another value"));
	down(&r);
}

/* Lost answers: Sets are read back before they are repeated, and all is well in the end. */
static bool
lose_some(struct bed_sm *sm, struct port_mad *m)
{
	unsigned *n = sm->arg;

	return m->mad[1] != MAD_CLASS_CONGESTION || ++*n % 3;
}

static void
test_lost(void **state)
{
	struct rig r = rig_new(ON "0x5ec}}\n", NULL);
	unsigned n = 0;

	(void)state;
	r.sm->in = lose_some;
	r.sm->arg = &n;
	start(&r);
	bed_wait(r.sm->bed, SEC(100));
	check_all(&r, 0x5ec);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES);
	down(&r);
}

/* One that is silent about a question is asked again, up to three rounds; one that does not know
 * the class once. */
static void
test_absent(void **state)
{
	struct rig r = rig_new(ON "0x5ec}}\n", NULL);
	uint64_t gets;

	(void)state;
	model_mute(r.m, r.host, MODEL_CC(CC_CLASS_PORT_INFO), true);
	model_fail_get(r.m, r.leaf, MODEL_CC(CC_CLASS_PORT_INFO), MAD_STATUS_BAD_ATTR);
	start(&r);
	bed_wait(r.sm->bed, SEC(1000));
	assert_int_equal(view(&r).absent, 2);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES - 2);
	assert_string_equal(row_of(&r, r.leaf).why, "unsupported method or attribute");
	assert_int_equal(model_count(r.m, r.leaf, MAD_GET, MODEL_CC(CC_CLASS_PORT_INFO)), 1);
	gets = model_count(r.m, r.host, MAD_GET, MODEL_CC(CC_CLASS_PORT_INFO));
	assert_int_equal(gets, 1u + r.sm->conf.retries + 2);
	bed_wait(r.sm->bed, SEC(1000));
	assert_true(gets == model_count(r.m, r.host, MAD_GET, MODEL_CC(CC_CLASS_PORT_INFO)));
	model_heal(r.m, MODEL_ALL);
	reload(&r, ON "0x5ec}}\n");
	check_all(&r, 0x5ec);
	down(&r);
}

/* A fabric that does not know the class at all: nobody is hurt, and it is told. */
static void
test_unknown(void **state)
{
	struct model_options o = { .caps.cc_table = MODEL_NO_CAP };
	struct rig r = rig_new(ON "0x5ec}}\n", &o);

	(void)state;
	start(&r);
	bed_check(r.sm);
	assert_int_equal(view(&r).absent, HOSTS + SWITCHES);
	assert_int_equal(asked(&r, MAD_SET), 0);
	down(&r);
}

/* Whoever has another key is not written to, so that it counts no violations; when it has ours, it
 * is. A hidden key and one that shows. */
static void
test_other_key(void **state)
{
	struct rig r = rig_new(ON "0x5ec}}\n", NULL);
	const struct cc_key_info hidden = { .key = 0xbad, .protect = true };
	const struct cc_key_info shown = { .key = 0xbad }, none = { 0 };

	(void)state;
	model_set_congestion_key(r.m, r.host, 1, &hidden);
	model_set_congestion_key(r.m, r.leaf, 0, &shown);
	start(&r);
	bed_wait(r.sm->bed, SEC(60));
	assert_int_equal(view(&r).locked, 2);
	assert_string_equal(row_of(&r, r.host).key, "other");
	assert_int_equal(held(&r, r.host).key.violations, 0);
	assert_int_equal(held(&r, r.leaf).key.violations, 0);
	assert_int_equal(held(&r, r.host).ca.entries[0].timer, 0);
	assert_int_equal(r.sm->nevents[EVENT_REFUSED], 2);
	model_set_congestion_key(r.m, r.host, 1, &none);
	bed_wait(r.sm->bed, SEC(400));
	assert_int_equal(view(&r).locked, 1);
	reload(&r, ON "0xbad}}\n");
	check_all(&r, 0xbad);
	down(&r);
}

/* A host with a short table gets its beginning; one port that has a setting of its own says the
 * same as its switch. */
static void
test_small(void **state)
{
	struct model_options o = { .caps.cc_table = 1, .caps.no_starvation = true };
	struct rig r = rig_new(ON "0, credit_starvation: true}}\n", &o);
	struct model_congestion c;

	(void)state;
	start(&r);
	c = held(&r, r.host);
	assert_int_equal(c.limit, 63);
	assert_int_equal(c.table[63].multiplier, 63);
	c = held(&r, r.leaf);
	assert_int_equal(c.sw.starvation, 0);
	assert_int_equal(view(&r).held, HOSTS + SWITCHES);
	down(&r);
}

/* Who takes over reads what is there, and makes it what his own policy says. */
static void
test_takeover(void **state)
{
	struct rig r = rig_new(ON "0x5ec}}\n", NULL);
	struct bed_sm *second = bed_sm(r.sm->bed, r.host, 1);
	struct rig other = { .sm = second, .m = r.m, .conf = r.conf };

	(void)state;
	second->conf.sweep_interval = 0;
	start(&r);
	bed_start(second);
	subnet_set_policy(second->s, r.conf);
	bed_wait(r.sm->bed, SEC(10));
	assert_int_equal(view(&other).held, 0);
	model_count_reset(r.m);
	bed_stop(r.sm);
	bed_wait(r.sm->bed, SEC(60));
	assert_true(bed_quiet(second, BOUND));
	assert_int_equal(view(&other).held, HOSTS + SWITCHES);
	assert_int_equal(asked(&r, MAD_SET), 0);
	down(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_reboot),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_takeover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
