/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * Programming: what leaves in which order, what devices hold at the end, and what comes of devices
 * that refuse, lose or keep (IBA 14.2.5.6, 14.4.7 and following for the order).
 */
#define BOUND SEC(20)

static struct bed_sm *
sm_on(const char *fabric, struct tap **tap)
{
	struct bed *b = bed_new(fabric, 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	*tap = tap_new(sm);
	return sm;
}

static bool
is_set(const struct tap_mad *e, uint16_t attr)
{
	return !e->in && e->smp.h.method == MAD_SET && e->smp.h.attr_id == attr;
}

static uint8_t
state_asked(const struct tap_mad *e)
{
	struct portinfo i;

	portinfo_decode(&i, e->smp.data);
	return i.state;
}

/* Cables between switches on the way of a request that are not on the list yet: they join it. */
static void
pass_cables(const struct bed_sm *sm, const struct smp *smp, uint32_t list[64][2], size_t *len)
{
	const struct ibnet *net = sm->bed->net;
	uint32_t at = sm->node;

	for (unsigned i = 1; i <= smp->hop_count; i++) {
		const struct ibnet_port *p = &net->nodes[at].ports[smp->path[i]];
		uint32_t from = at, port = smp->path[i], k = 0;

		at = p->peer;
		if (net->nodes[from].type != IBNET_SWITCH || net->nodes[at].type != IBNET_SWITCH)
			continue;
		if (at < from) {
			port = p->peer_port;
			from = at;
		}
		while (k < *len && (list[k][0] != from || list[k][1] != port))
			k++;
		assert_true(k < 64);
		list[k][0] = from;
		list[k][1] = port;
		*len += k == *len;
	}
}

/* No Set before discovery has ended and the proof stands; our own LID first; no ACTIVE before the
 * last table is answered, and the other 15 hosts have told once more who they are, by ways that
 * take in each of the 32 cables between switches. */
static void
order_of_bring_up(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft3 4", &t);
	size_t first_set = 0, last_probe = 0, last_table = 0, first_active = 0, again = 0;
	size_t cables = 0, last_again = 0;
	uint32_t list[64][2];

	(void)state;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	for (size_t i = 0; i < t->len; i++) {
		const struct tap_mad *e = &t->log[i];

		if (!e->in && e->smp.h.method == MAD_SET && !first_set)
			first_set = i;
		if (e->smp.h.attr_id == ATTR_NODE_INFO && last_table && !e->in) {
			again++;
			last_again = i;
			pass_cables(sm, &e->smp, list, &cables);
		}
		if ((e->smp.h.attr_id == ATTR_NODE_INFO && !last_table) ||
		    e->smp.h.attr_id == ATTR_NODE_DESCRIPTION)
			last_probe = i;
		if (e->smp.h.attr_id == ATTR_LINEAR_FDB)
			last_table = i;
		if (is_set(e, ATTR_PORT_INFO) && state_asked(e) == PORT_ACTIVE && !first_active)
			first_active = i;
	}
	assert_true(first_set > last_probe);
	assert_int_equal(again, 15);
	assert_int_equal(cables, 32);
	assert_true(first_active > last_again);
	/* The worker that routes and proves takes a millisecond of virtual time. */
	assert_true(t->log[first_set].at - t->log[first_set - 1].at >= MSEC(1));
	assert_int_equal(t->log[first_set].smp.h.attr_id, ATTR_PORT_INFO);
	assert_int_equal(t->log[first_set].smp.hop_count, 0);
	assert_true(t->log[first_set + 1].in);
	assert_true(first_active > last_table && last_table > first_set);
	bed_check(sm);
	end(sm, t);
}

/* A device of which nothing is known of what it is: the answers of the host two hops away, behind
 * port 2 of the first switch, tell smaller capabilities than the model has. */
static bool
small_host(struct bed_sm *sm, struct port_mad *m)
{
	struct portinfo i;
	struct smp smp;

	(void)sm;
	if (smp_decode(&smp, m->mad, MAD_SIZE) || smp.h.method != MAD_GET_RESP ||
	    smp.h.attr_id != ATTR_PORT_INFO || smp.hop_count != 2 || smp.path[2] != 2)
		return true;
	portinfo_decode(&i, smp.data);
	i.mtu_cap = 3;
	i.vl_cap = 2;
	portinfo_encode(&i, smp.data);
	smp_encode(&smp, m->mad);
	return true;
}

/* MTU and lanes of a link are the lesser of both ends and of max_op_vls. */
static void
links_take_the_lesser(void **state)
{
	struct bed *b = bed_new("ft2 2 2 3", 1);
	struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0"), 1);
	uint32_t leaf = bed_node(b, "L0"), spine = bed_node(b, "S0"), host = bed_node(b, "H0_1");
	uint32_t other = bed_node(b, "H1_0");

	(void)state;
	sm->conf.max_op_vls = 4;
	sm->conf.hoq_life = 19;
	sm->conf.leaf_hoq_life = 12;
	sm->conf.vl_stall_count = 6;
	sm->conf.leaf_vl_stall_count = 5;
	sm->conf.local_phy_errors = 3;
	sm->conf.overrun_errors = 4;
	sm->conf.packet_life_time = 16;
	sm->conf.subnet_timeout = 17;
	sm->in = small_host;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	/* Ports 1 to 3 of a leaf lead to hosts, 4 and 5 to spines. */
	assert_int_equal(model_portinfo(b->m, leaf, 2)->neighbor_mtu, 3);
	assert_int_equal(model_portinfo(b->m, host, 1)->neighbor_mtu, 3);
	assert_int_equal(model_portinfo(b->m, leaf, 2)->op_vls, 2);
	assert_int_equal(model_portinfo(b->m, host, 1)->op_vls, 2);
	for (unsigned p = 1; p <= 5; p++) {
		const struct portinfo *i = model_portinfo(b->m, leaf, p);

		assert_int_equal(i->neighbor_mtu, p == 2 ? 3 : 5);
		assert_int_equal(i->op_vls, p == 2 ? 2 : 3);	/* code 3: VL 0-3 */
		assert_int_equal(i->hoq_life, p <= 3 ? 12 : 19);
		assert_int_equal(i->vl_stall_count, p <= 3 ? 5 : 6);
		assert_int_equal(i->local_phy_errors, 3);
		assert_int_equal(i->overrun_errors, 4);
	}
	assert_int_equal(model_portinfo(b->m, other, 1)->subnet_timeout, 17);
	assert_int_equal(model_portinfo(b->m, spine, 0)->subnet_timeout, 17);
	assert_int_equal(model_switchinfo(b->m, spine)->life_time, 16);
	assert_int_equal(model_switchinfo(b->m, spine)->linear_fdb_top, sm->s->plan->lids->top);
	assert_false(model_switchinfo(b->m, spine)->port_state_change);
	bed_check(sm);
	bed_free(b);
}

/* With a key configured each SMP carries it, and it opens what protection level 2 guards. */
static void
m_key_in_every_smp(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft3 4", &t);
	const struct bed *b = sm->bed;

	(void)state;
	sm->conf.m_key = 0x1122334455667788u;
	sm->conf.m_key_protect = 2;
	sm->conf.m_key_lease = 60;
	for (int round = 0; round < 2; round++) {
		tap_clear(t);
		bed_start(sm);
		assert_int_equal(bed_run(sm, BOUND), 1);
		for (size_t i = 0; i < t->len; i++)
			if (!t->log[i].in)
				assert_true(t->log[i].smp.m_key == 0x1122334455667788u);
		for (uint32_t n = 0; n < b->net->nnodes; n++) {
			bool is_switch = b->net->nodes[n].type == IBNET_SWITCH;
			const struct portinfo *i = model_portinfo(b->m, n, is_switch ? 0 : 1);

			assert_true(i->m_key == 0x1122334455667788u);
			assert_int_equal(i->m_key_protect, 2);
			assert_int_equal(i->m_key_lease, 60);
			assert_int_equal(i->m_key_violations, 0);
		}
		assert_int_equal(sm->s->st.mads_timed_out, 0);
		bed_check(sm);
		if (round)
			assert_int_equal(tap_sets(t), 0);
		bed_stop(sm);
	}
	end(sm, t);
}

/* Ports of devices with extended speeds are set with modifier bit 31, lest the speeds be lost. */
static void
extended_bit_on_sets(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft3 4", &t);
	const struct bed *b = sm->bed;
	unsigned seen = 0;

	(void)state;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	for (size_t i = 0; i < t->len; i++) {
		if (!is_set(&t->log[i], ATTR_PORT_INFO) || !(t->log[i].smp.h.attr_mod & 0xff))
			continue;
		assert_true(t->log[i].smp.h.attr_mod & PORTINFO_MOD_EXTENDED);
		seen++;
	}
	/* 48 cables of two ends, each set twice. */
	assert_int_equal(seen, 192);
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++)
			assert_int_equal(model_portinfo(b->m, n, p)->speed_ext_active, 2);
	end(sm, t);
}

/* Fields that do not forward: told once each, up all the same, left alone from then on. */
static void
kept_fields_are_listed_once(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft2 3 2 3", &t);
	struct bed *b = sm->bed;

	(void)state;
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		model_keep(b->m, n, MODEL_KEEP_SUBNET_TIMEOUT | MODEL_KEEP_SM_SL);
	sm->conf.subnet_timeout = 17;
	sm->conf.sm_sl = 3;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	/* Nine hosts and five switches. */
	assert_int_equal(warnings(sm, "14 ports accept SubnetTimeOut but keep another"), 1);
	assert_int_equal(warnings(sm, "14 ports accept MasterSMSL but keep another"), 1);
	assert_int_equal(warnings(sm, ""), 2);
	model_count_reset(b->m);
	for (int i = 0; i < 3; i++)
		bed_sweep(sm, BOUND);
	bed_wait(b, SEC(60));
	assert_int_equal(all_sets(b), 0);
	assert_int_equal(warnings(sm, ""), 2);
	end(sm, t);
}

/* Once the devices take the fields, a change of configuration tries again. */
static void
kept_fields_are_tried_after_a_change(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft2 2 1 2", &t);
	struct bed *b = sm->bed;
	uint32_t host = bed_node(b, "H1_0");
	struct config_subnet changed;

	(void)state;
	model_keep(b->m, host, MODEL_KEEP_SUBNET_TIMEOUT);
	sm->conf.subnet_timeout = 17;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_int_equal(model_portinfo(b->m, host, 1)->subnet_timeout, 18);
	model_keep(b->m, host, 0);
	changed = sm->conf;
	changed.subnet_timeout = 16;
	model_count_reset(b->m);
	subnet_configure(sm->s, &changed, NULL, STAGE_PUSH);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(model_portinfo(b->m, host, 1)->subnet_timeout, 16);
	assert_int_equal(warnings(sm, ""), 0);
	/* Seven end ports (four hosts, three switches) and nothing else. */
	assert_int_equal(all_sets(b), 7);
	assert_int_equal(bed_count(b, MAD_GET, ATTR_NODE_INFO), 0);
	end(sm, t);
}

/*
 * Devices that stand in the way of forwarding. The case says who, what is refused or kept, and what
 * the status has to say of it.
 */
struct bad_case {
	const char *node;	/* the patient */
	uint16_t refuse;	/* Sets of this attribute are refused; 0 */
	unsigned keep;		/* enum model_keep */
	uint16_t attr;		/* whose Sets to the patient are bounded */
	const char *told;	/* in a warning */
	bool forwards;		/* hosts go through it: they cannot all be reached */
};

/* The number of tries in `time` when the wait doubles from half a second to a minute. */
static unsigned
tries_in(unsigned seconds)
{
	unsigned n = 1, at = 0, wait = 1;

	for (; at / 2 < seconds; wait = wait < 120 ? wait * 2 : 120, n++)
		at += wait;
	return n;
}

static void
one_bad(const struct bad_case *c)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft2 3 2 3", &t);
	struct bed *b = sm->bed;
	uint32_t bad = bed_node(b, c->node);
	unsigned ports = b->net->nodes[bad].nports + 1;
	uint64_t before;

	if (c->refuse)
		model_refuse(b->m, bad, c->refuse, MAD_STATUS_BAD_FIELD);
	model_keep(b->m, bad, c->keep);
	if (c->keep & MODEL_KEEP_MTU)
		b->m->nodes[bad].ports[1].info.neighbor_mtu = 1;	/* to be raised */
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(60)), -1);
	assert_non_null(strstr(sm->why, c->node));
	assert_true(warnings(sm, c->told) >= 1);
	b->bad[bad] = true;
	if (!c->forwards)
		bed_check(sm);
	before = model_count(b->m, bad, MAD_SET, c->attr);
	bed_wait(b, SEC(300));
	assert_in_range(model_count(b->m, bad, MAD_SET, c->attr) - before, 3,
			tries_in(300) * ports);
	assert_true(warnings(sm, c->told) >= 1);
	/* It is mended: up within the longest wait. */
	if (c->refuse)
		model_refuse(b->m, bad, c->refuse, 0);
	model_keep(b->m, bad, 0);
	b->bad[bad] = false;
	bed_wait(b, SEC(90));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(warnings(sm, ""), 0);
	end(sm, t);
}

static void
refused_table(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "S1", ATTR_LINEAR_FDB, 0, ATTR_LINEAR_FDB,
				    "refuses Set(LinearForwardingTable)", false });
}

static void
refused_switch_info(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "S1", ATTR_SWITCH_INFO, 0, ATTR_SWITCH_INFO,
				    "refuses Set(SwitchInfo)", false });
}

static void
refused_port_info(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "H2_1", ATTR_PORT_INFO, 0, ATTR_PORT_INFO,
				    "refuses Set(PortInfo)", false });
}

static void
refused_port_info_of_a_switch(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "S0", ATTR_PORT_INFO, 0, ATTR_PORT_INFO,
				    "refuses Set(PortInfo)", false });
}

static void
kept_table(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "S1", 0, MODEL_KEEP_LFT, ATTR_LINEAR_FDB,
				    "keeps another LinearForwardingTable", false });
}

static void
kept_fdb_top(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "S1", 0, MODEL_KEEP_FDB_TOP, ATTR_SWITCH_INFO,
				    "LinearFDBTop", false });
}

static void
kept_lid(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "H2_1", 0, MODEL_KEEP_LID, ATTR_PORT_INFO, "LID",
				    false });
}

static void
kept_mtu(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "H2_1", 0, MODEL_KEEP_MTU, ATTR_PORT_INFO,
				    "NeighborMTU", false });
}

static void
kept_state(void **state)
{
	(void)state;
	one_bad(&(struct bad_case){ "H2_1", 0, MODEL_KEEP_STATE, ATTR_PORT_INFO, "init",
				    false });
}

/* R14: one port in twenty refuses; the others come up and the engine works on. */
static void
one_in_twenty_refuses(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft3 8", &t);
	struct bed *b = sm->bed;
	unsigned hosts = 0;

	(void)state;
	for (uint32_t n = bed_next(b, IBNET_CA, 1); n != IBNET_NONE;
	     n = bed_next(b, IBNET_CA, n + 1))
		if (hosts++ % 20 == 19) {
			model_refuse(b->m, n, ATTR_PORT_INFO, MAD_STATUS_BAD_FIELD);
			b->bad[n] = true;
		}
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(60)), -1);
	bed_check(sm);
	assert_true(sm->s->up);
	/* Both ends of six cables. */
	assert_int_equal(warnings(sm, "12 ports are not as they should be"), 1);
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		model_refuse(b->m, n, ATTR_PORT_INFO, 0);
		b->bad[n] = false;
	}
	bed_sweep(sm, BOUND);
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	end(sm, t);
}

/* A device that hears nothing of one kind of Set for a while is asked again, though nothing else
 * about it has changed. */
static void
lost_sets(const char *node, uint16_t attr)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft2 3 2 3", &t);
	struct bed *b = sm->bed;
	uint32_t bad = bed_node(b, node);

	bed_start(sm);
	while (sm->s->stage != SUBNET_PUSH)
		bed_wait(b, USEC(10));
	model_mute(b->m, bad, attr, true);
	while (sm->s->stage == SUBNET_PUSH)
		bed_wait(b, MSEC(1));
	model_mute(b->m, bad, attr, false);
	bed_wait(b, SEC(90));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(warnings(sm, ""), 0);
	end(sm, t);
}

static void
lost_port_info_of_a_host(void **state)
{
	(void)state;
	lost_sets("H2_1", ATTR_PORT_INFO);
}

static void
lost_port_info_of_a_switch(void **state)
{
	(void)state;
	lost_sets("S1", ATTR_PORT_INFO);
}

static void
lost_table(void **state)
{
	(void)state;
	lost_sets("S1", ATTR_LINEAR_FDB);
}

static void
lost_switch_info(void **state)
{
	(void)state;
	lost_sets("L2", ATTR_SWITCH_INFO);
}

static void
lost_own_port(void **state)
{
	(void)state;
	lost_sets("H0_0", ATTR_PORT_INFO);
}

/* A fifth of the MADs of three devices is lost all the time. */
static void
lossy_programming(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct bed *b = bed_new("ft2 3 2 3", seed);
		struct bed_sm *sm = bed_sm(b, bed_node(b, "H0_0"), 1);

		model_drop(b->m, bed_node(b, "S1"), 200000);
		model_drop(b->m, bed_node(b, "L1"), 200000);
		model_drop(b->m, bed_node(b, "H2_2"), 200000);
		bed_start(sm);
		bed_wait(b, SEC(30));
		model_drop(b->m, MODEL_ALL, 0);
		bed_wait(b, SEC(120));
		assert_int_equal(bed_run(sm, BOUND), 1);
		bed_check(sm);
		bed_free(b);
	}
}

/* A table of P_Keys without the default partition in front gets it, and keeps its own keys. */
static void
default_partition_in_front(void **state)
{
	struct tap *t;
	struct bed_sm *sm = sm_on("ft2 2 1 2", &t);
	struct bed *b = sm->bed;
	uint32_t host = bed_node(b, "H1_1");
	uint16_t keys[32] = { 0x8042, 0xffff, 0x0077 };
	struct script_sm other = { 0 };
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .method = MAD_SET, .tid = 5,
		       .mgmt_class = MAD_CLASS_SUBN_DIRECT, .attr_id = ATTR_P_KEY_TABLE },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};
	struct model_mad mad = { .lid = LID_PERMISSIVE };

	(void)state;
	script_attach(&other, b->m, host, 1, 0, SM_NOT_ACTIVE);
	pkeys_encode(keys, smp.data);
	smp_encode(&smp, mad.mad);
	model_send(other.client, &mad);
	bed_wait(b, MSEC(1));
	model_detach(other.client);
	assert_int_equal(model_pkey(b->m, host, 1, 0), 0x8042);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_int_equal(model_pkey(b->m, host, 1, 0), 0xffff);
	assert_int_equal(model_pkey(b->m, host, 1, 1), 0x8042);
	assert_int_equal(model_pkey(b->m, host, 1, 2), 0x0077);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_P_KEY_TABLE), 2);
	end(sm, t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_bring_up),
		cmocka_unit_test(links_take_the_lesser),
		cmocka_unit_test(m_key_in_every_smp),
		cmocka_unit_test(extended_bit_on_sets),
		cmocka_unit_test(kept_fields_are_listed_once),
		cmocka_unit_test(kept_fields_are_tried_after_a_change),
		cmocka_unit_test(refused_table),
		cmocka_unit_test(refused_switch_info),
		cmocka_unit_test(refused_port_info),
		cmocka_unit_test(refused_port_info_of_a_switch),
		cmocka_unit_test(kept_table),
		cmocka_unit_test(kept_fdb_top),
		cmocka_unit_test(kept_lid),
		cmocka_unit_test(kept_mtu),
		cmocka_unit_test(kept_state),
		cmocka_unit_test(one_in_twenty_refuses),
		cmocka_unit_test(lost_port_info_of_a_host),
		cmocka_unit_test(lost_port_info_of_a_switch),
		cmocka_unit_test(lost_table),
		cmocka_unit_test(lost_switch_info),
		cmocka_unit_test(lost_own_port),
		cmocka_unit_test(lossy_programming),
		cmocka_unit_test(default_partition_in_front),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
