/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/ar.h"
#include "sim/model/ar_impl.h"
#include "sim/model/model_impl.h"
#include "sm/core/adaptive.h"
#include "sm/core/subnet_i.h"
#include "sm/fabric/sls.h"
#include "tests/unit/adaptive_bed.h"
#include "tests/unit/core_bed.h"

/*
 * Adaptive routing of simulated switches: who does it, what they hold, and what becomes of those
 * that fail half-way.
 */
/* The model's switches hold the groups and entries of the published plan; how many are on. */
static unsigned
held(struct bed_sm *sm)
{
	const struct plan *p = sm->s->plan;
	const struct model *m = sm->bed->m;
	unsigned on = 0;

	assert_non_null(p->adaptive);
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		const struct plan_ar_switch *s = p->adaptive->sw[sw];
		uint32_t node = bed_node(sm->bed, fabric_switch_node(p->fabric, sw)->name);
		const struct ar_mod table = { 0 };

		if (!s || !model_ar_is_on(m, node))
			continue;
		on++;
		for (unsigned g = 1; g <= s->top; g++) {
			struct ar_ports ports = model_ar_group(m, node, &table, g, 0);

			assert_memory_equal(&ports, plan_ar_ports(s, g, 0), sizeof(ports));
		}
		for (uint16_t lid = 1; lid <= p->lids->top; lid++) {
			struct ar_lft_entry want, got = model_ar_lft(m, node, 0, lid);

			want = plan_ar_entry(s, 0, &p->lids->dest[lid],
					     plan_row_port(p->rows[sw], lid));
			assert_int_equal(got.state, want.state);
			assert_int_equal(got.port, want.port);
			assert_int_equal(got.group, want.group);
		}
	}
	return on;
}

/* All switches of a tree come to be on, and nothing more is written while nothing changes. */
static void
comes_on(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct bed *b = sm->bed;
	struct sets n = { { 0 } };

	(void)state;
	up(sm);
	bed_check(sm);
	assert_int_equal(held(sm), 20);
	sm->out = count_sets;
	sm->arg = &n;
	bed_wait(b, SEC(60));
	bed_sweep(sm, BOUND);
	rest(sm);
	for (unsigned i = 0; i < 256; i++)
		if (n.of[i])
			fail_msg("%u Sets of 0x%02x", n.of[i], i);
	bed_check(sm);
	bed_free(b);
}

/* A cable is lost and comes back: no plain table is written, groups of those who lose a port are,
 * and few of them. */
static void
lost_cable(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 8", "");
	struct bed *b = sm->bed;
	struct sets n = { { 0 } };
	unsigned groups;

	(void)state;
	up(sm);
	assert_int_equal(held(sm), 80);
	sm->out = count_sets;
	sm->arg = &n;
	model_link_set(b->m, bed_node(b, "L1_0"), 5, false);
	bed_wait(b, SEC(2));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	assert_int_equal(held(sm), 80);
	assert_int_equal(sets(&n, ATTR_LINEAR_FDB), 0);
	assert_int_equal(sets(&n, AR_ATTR_INFO), 0);
	groups = sets(&n, AR_ATTR_GROUPS);
	/* The leaf and the 31 others, which have one way less to it: those whose new group waits
	 * for the rows write it twice. */
	if (groups < 1 || groups > 40)
		fail_msg("%u blocks of groups", groups);
	n = (struct sets){ { 0 } };
	model_link_set(b->m, bed_node(b, "L1_0"), 5, true);
	bed_wait(b, SEC(2));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	assert_int_equal(held(sm), 80);
	assert_int_equal(sets(&n, ATTR_LINEAR_FDB), 0);
	bed_check(sm);
	bed_free(b);
}

/* A switch that is set again is noticed, and comes on once more. */
static void
rebooted(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct bed *b = sm->bed;
	uint32_t node = bed_node(b, "A1_0");

	(void)state;
	up(sm);
	assert_int_equal(held(sm), 20);
	model_reboot(b->m, node);
	bed_wait(b, SEC(5));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	bed_wait(b, SEC(30));
	rest(sm);
	assert_int_equal(held(sm), 20);
	bed_check(sm);
	bed_free(b);
}

/* A switch that is off forwards nothing, or by the plan. */
static bool
stale_forwards_nothing(struct bed_sm *sm, struct port_mad *m)
{
	const struct plan *p = sm->s->plan;
	const struct model *model = sm->bed->m;

	(void)m;
	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++) {
		const char *name = fabric_switch_node(p->fabric, sw)->name;
		uint32_t node = bed_node(sm->bed, name);

		for (uint16_t lid = 1; lid <= p->lids->top && !model_ar_is_on(model, node); lid++) {
			unsigned port = plain_port(&model->nodes[node], lid);

			if (port && port != plan_row_port(p->rows[sw], lid))
				fail_msg("%s sends LID %u to port %u", name, lid, port);
		}
	}
	return true;
}

/* Turned off by the configuration, all go back to their plain tables, which were others when they
 * were turned on. */
static void
turned_off(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct bed *b = sm->bed;

	(void)state;
	up(sm);
	assert_int_equal(held(sm), 20);
	model_link_set(b->m, bed_node(b, "L1_0"), 3, false);
	bed_wait(b, SEC(2));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	assert_int_equal(held(sm), 20);
	sm->in = stale_forwards_nothing;
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_OFF;
	sm->s->want_route = true;
	bed_sweep(sm, BOUND);
	rest(sm);
	assert_true(bed_becomes_good(sm, BOUND));
	for (uint32_t i = 0; i < b->net->nnodes; i++)
		assert_false(model_ar_is_on(b->m, i));
	bed_check(sm);
	bed_free(b);
}

/* Some switches know nothing of it: the others are on. */
static void
mixed(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct bed *b = sm->bed;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(model_ar_support(b->m, bed_node(b, "L1_0"), NULL, &e), 0);
	assert_int_equal(model_ar_support(b->m, bed_node(b, "C2"), NULL, &e), 0);
	up(sm);
	assert_int_equal(held(sm), 18);
	assert_int_equal(sm->s->adaptive.count[ADAPTIVE_ABSENT], 2);
	bed_check(sm);
	bed_free(b);
}

/* Switches by what their AdaptiveRoutingInfo says. */
struct infos {
	unsigned enable, recovery, by_sl;
	struct ar_info last;	/* of one that has either */
};

static struct infos
infos(struct bed_sm *sm)
{
	struct infos n = { 0 };

	for (uint32_t i = 0; i < sm->bed->net->nnodes; i++) {
		struct ar_info a;

		if (!model_ar_info(sm->bed->m, i, &a))
			continue;
		n.enable += a.enable;
		n.recovery += a.fr_en;
		n.by_sl += a.by_sl_en;
		if (a.enable || a.fr_en)
			n.last = a;
	}
	return n;
}

static void
changed(struct bed_sm *sm)
{
	sm->s->want_route = true;
	bed_sweep(sm, BOUND);
	rest(sm);
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	bed_check(sm);
}

/* Switches that are selected, and which of them are not; both can change. */
static void
selected(void **state)
{
	static const char *except[] = { "/^C/", "A1_0", NULL }, *only[] = { "/^[AL]/", NULL };
	struct bed_sm *sm = adaptive_bed("ft3 4", "");

	(void)state;
	sm->conf.routing.adaptive_except = except;
	up(sm);
	assert_int_equal(held(sm), 15);
	sm->conf.routing.adaptive_except = NULL;
	changed(sm);
	assert_int_equal(held(sm), 20);
	sm->conf.routing.adaptive_switches = only;
	changed(sm);
	assert_int_equal(infos(sm).enable, 16);
	assert_int_equal(infos(sm).recovery, 16);
	bed_free(sm->bed);
}

/* Of hosts that do not say what they take nothing is spread; dead ports are replaced. */
static void
automatic(void **state)
{
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct infos n;

	(void)state;
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_AUTO;
	up(sm);
	assert_int_equal(held(sm), 20);
	n = infos(sm);
	assert_int_equal(n.enable, 0);
	assert_int_equal(n.recovery, 20);
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_ON;
	changed(sm);
	assert_int_equal(infos(sm).enable, 20);
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_AUTO;
	changed(sm);
	assert_int_equal(held(sm), 20);
	assert_int_equal(infos(sm).enable, 0);
	/* Nor that: there is nothing left to be on for. */
	sm->conf.routing.adaptive_recovery = false;
	changed(sm);
	for (unsigned i = 0; i < 3; i++)
		changed(sm);
	n = infos(sm);
	assert_int_equal(n.enable + n.recovery, 0);
	bed_free(sm->bed);
}

/* SLs that the last port of each host says that it takes in any order; and whether all do. */
static uint16_t
host_order(struct bed_sm *sm)
{
	uint16_t all = UINT16_MAX;

	for (uint32_t i = 0; i < sm->bed->net->nnodes; i++) {
		const struct sim_node *n = &sm->bed->m->nodes[i];

		if (n->type == NODE_CA)
			all &= n->any_order & (uint16_t)~n->ports[1].in_order;
	}
	return all;
}

/* Where hosts are asked what they take in any order, auto spreads that, if all take it. */
static void
hosts(void **state)
{
	static unsigned sls[] = { 1, 2, 7 };
	struct bed_sm *sm = adaptive_bed("ft3 4", "hosts=0x000f");
	struct bed *b = sm->bed;
	uint32_t host = bed_next(b, IBNET_CA, bed_next(b, IBNET_CA, 0) + 1);
	struct infos n;

	(void)state;
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_AUTO;
	up(sm);
	assert_int_equal(infos(sm).enable, 0);
	sm->conf.routing.adaptive_hosts = CONFIG_HOSTS_READ;
	changed(sm);
	changed(sm);
	n = infos(sm);
	assert_int_equal(n.enable, 20);
	assert_int_equal(n.by_sl, 20);
	assert_int_equal(n.last.sl_mask, 0x000f);
	assert_int_equal(host_order(sm), 0x000f);
	/* They are told, of what may be spread. */
	sm->conf.routing.adaptive_hosts = CONFIG_HOSTS_WRITE;
	sm->conf.routing.adaptive_sls = sls;
	sm->conf.routing.nadaptive_sls = 3;
	changed(sm);
	changed(sm);
	n = infos(sm);
	assert_int_equal(n.last.sl_mask, 0x0006);
	assert_int_equal(host_order(sm), 0x0006);
	/* A host that comes up anew has forgotten that. */
	model_reboot(b->m, host);
	bed_wait(b, SEC(10));
	rest(sm);
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	assert_int_equal(host_order(sm), 0x0006);
	/* One host that does not say it is enough. */
	b->m->nodes[host].any_order = 0;
	model_reboot(b->m, host);
	bed_wait(b, SEC(10));
	rest(sm);
	changed(sm);
	assert_int_equal(sm->s->adaptive.hosts_known, 15);
	n = infos(sm);
	assert_int_equal(n.enable, 0);
	assert_int_equal(n.recovery, 20);
	/* Where all is to be spread it does not matter. */
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_ON;
	changed(sm);
	n = infos(sm);
	assert_int_equal(n.enable, 20);
	assert_int_equal(n.last.sl_mask, 0x0086);
	bed_free(b);
}

/* Service levels, transports, bounded. */
static void
packets(void **state)
{
	static const char *words[] = { "rc", "ud", NULL };
	static unsigned sls[] = { 1, 5 };
	struct bed_sm *sm = adaptive_bed("ft3 4", "");
	struct infos n;

	(void)state;
	up(sm);
	n = infos(sm);
	assert_int_equal(n.by_sl, 0);
	assert_int_equal(n.last.transport_disable, AR_UD);
	sm->conf.routing.adaptive_sls = sls;
	sm->conf.routing.nadaptive_sls = 2;
	sm->conf.routing.adaptive_transports = words;
	sm->conf.routing.adaptive_mode = CONFIG_SPREAD_BOUNDED;
	sm->conf.routing.adaptive_ageing = USEC(77);
	changed(sm);
	assert_int_equal(held(sm), 20);
	n = infos(sm);
	assert_int_equal(n.by_sl, 20);
	assert_int_equal(n.last.sl_mask, 0x22);
	assert_int_equal(n.last.transport_disable, AR_UC | AR_DC);
	assert_int_equal(n.last.ageing_time, 77);
	bed_free(sm->bed);
}

/* Switches of another vendor, and of a kind that counts sub-groups, as the configuration knows. */
static void
devices(void **state)
{
	struct config_range range = { 0x10, 0x1f };
	struct config_ar_device known[] = {
		{ .vendor = 0x8f1, .devices = &range, .ndevices = 1,
		  .sub_groups = CONFIG_AR_COUNT, .hbf_global_bit = CONFIG_AR_UNKNOWN },
	};
	struct bed_sm *sm = adaptive_bed("ft3 4", "sub_groups=count");
	struct bed *b = sm->bed;

	(void)state;
	for (uint32_t i = 0; i < b->net->nnodes; i++) {
		b->net->nodes[i].vendor_id = 0x8f1;
		b->net->nodes[i].device_id = i % 2 ? 0x1f : 0x20;
	}
	up(sm);
	assert_int_equal(infos(sm).enable, 0);
	assert_true(sm->s->adaptive.none);
	sm->conf.routing.ar_devices = known;
	sm->conf.routing.nar_devices = 1;
	changed(sm);
	changed(sm);
	assert_true(infos(sm).enable > 0);
	for (uint32_t i = 0; i < b->net->nnodes; i++) {
		struct ar_info a;

		if (!model_ar_info(b->m, i, &a))
			continue;
		assert_int_equal(a.enable, i % 2);
		assert_int_equal(a.sub_grps_active, 1);
	}
	assert_false(sm->s->adaptive.none);
	/* It is no longer known: they stop. */
	sm->conf.routing.nar_devices = 0;
	changed(sm);
	assert_int_equal(infos(sm).enable, 0);
	bed_free(b);
}

/* The words of the configuration are those of the layout, in their order. */
static void
device_words(void **state)
{
	static const char *const texts[] = {
		[CONFIG_AR_ZERO_BASED] = "sub_groups=zero-based",
		[CONFIG_AR_COUNT] = "sub_groups=count",
	};
	struct config_ar_device k = { .vendor = 0x8f1, .hbf_global_bit = 27 };
	struct config_subnet c = { .routing.ar_devices = &k, .routing.nar_devices = 1 };
	struct ar_layout l, want;

	(void)state;
	assert_false(adaptive_layout(&c, 0x8f2, 0, &l));
	for (unsigned i = 0; i < 2; i++) {
		want = ar_layout_default;
		k.sub_groups = i;
		assert_true(adaptive_layout(&c, 0x8f1, 0, &l));
		assert_int_equal(ar_layout_parse(&want, texts[i], NULL), 0);
		assert_int_equal(ar_layout_parse(&want, "hbf_global_bit=27", NULL), 0);
		assert_int_equal(l.sub_groups_count, want.sub_groups_count);
		assert_int_equal(l.hbf_global_bit, want.hbf_global_bit);
	}
}

/* HBFConfig of all ports that a switch was set to; false: none. */
static bool
hash_of(const struct bed *b, uint32_t node, struct ar_hbf *hash)
{
	const struct ar_blocks *k = &b->m->nodes[node].ar->kept[AR_KEPT_HBF];

	if (!k->len)
		return false;
	ar_hbf_decode(hash, k->data);
	return true;
}

/* By a hash connections stay in order: auto spreads all that may be. Its seed is set only where it
 * is known how, and not again by a restart. */
static void
hashed(void **state)
{
	static unsigned sls[] = { 1, 5 };
	struct config_ar_device known = { .vendor = VENDOR, .hbf_global_bit = 20 };
	struct bed_sm *sm = adaptive_bed("ft3 4", "hbf_global_bit=20");
	struct bed *b = sm->bed;
	uint32_t one = bed_node(b, "L0_0"), other = bed_node(b, "A1_0");
	struct sets n = { { 0 } };
	struct ar_hbf x, y;
	struct error e;

	(void)state;
	assert_int_equal(model_ar_support(b->m, bed_node(b, "C2"), &(struct ar_support){
		.features = AR_GENERAL | AR_ADAPTIVE | AR_RECOVERY, .group_cap = 64,
		.group_tables = 1, .sub_groups_cap = 1, .plfts = 1 }, &e), 0);
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_AUTO;
	sm->conf.routing.adaptive_mode = CONFIG_SPREAD_HASH;
	sm->conf.routing.adaptive_sls = sls;
	sm->conf.routing.nadaptive_sls = 2;
	up(sm);
	assert_int_equal(held(sm), 20);
	assert_int_equal(infos(sm).enable, 19);	/* C2 cannot */
	assert_true(infos(sm).last.by_sl_hbf_en);
	assert_int_equal(infos(sm).last.sl_mask_hbf, 0x22);
	assert_int_equal(model_ar_lft(b->m, one, 0, b->m->nodes[bed_node(b, "H3_1_1")].ports[1]
				      .info.lid).state, AR_HASH);
	assert_false(hash_of(b, one, &x));
	sm->conf.routing.ar_devices = &known;
	sm->conf.routing.nar_devices = 1;
	changed(sm);
	assert_true(hash_of(b, one, &x) && hash_of(b, other, &y));
	assert_int_equal(x.fields, 0x40f00c0f);
	assert_int_not_equal(x.seed, y.seed);
	bed_stop(sm);
	sm->out = count_sets;
	sm->arg = &n;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	rest(sm);
	assert_int_equal(sets(&n, AR_ATTR_HBF), 0);
	assert_int_equal(sets(&n, AR_ATTR_LFT), 0);
	assert_int_equal(sets(&n, ATTR_LINEAR_FDB), 0);
	assert_int_equal(held(sm), 20);
	bed_free(b);
}

/* A level says yes or no, whatever the rest. */
static void
levels(void **state)
{
	struct config_level l[] = {
		{ .name = "a", .adaptive = LEVEL_SPREAD_AUTO },
		{ .name = "b", .adaptive = LEVEL_SPREAD_YES },
		{ .name = "c", .adaptive = LEVEL_SPREAD_NO },
	};
	struct config_qos q = { .levels = l, .nlevels = 3 };
	struct plan_sls s = { .asked = 3, .levels = 3, .classes = 2, .place = { 0, 1, 2 },
			      .sl = { 0, 15, 1, 14, 2, 13 } };
	struct adaptive_policy p = { .sls = 0 };

	(void)state;
	adaptive_policy_levels(&p, &q, &s);
	assert_int_equal(p.sls, 1 << 1 | 1 << 14);
	p.sls = UINT16_MAX;
	adaptive_policy_levels(&p, &q, &s);
	assert_int_equal(p.sls, UINT16_MAX & ~(1 << 2 | 1 << 13));
	/* The last two share: no counts. */
	s.place[2] = 1;
	p.sls = UINT16_MAX;
	adaptive_policy_levels(&p, &q, &s);
	assert_int_equal(p.sls, UINT16_MAX & ~(1 << 1 | 1 << 14));
}

/* The nth Set of an attribute to one switch is refused, or lost for good. */
struct wrong {
	uint16_t attr;
	unsigned after;		/* Sets that are let through */
	bool refuse;		/* else there is no answer */
	unsigned seen;
	uint64_t path;		/* first hops of the switch that is meant, 0 at first */
};

static bool
spoil(struct bed_sm *sm, struct port_mad *m)
{
	struct wrong *w = sm->arg;

	if (m->mad[3] != (MAD_GET_RESP) || ((m->mad[16] << 8) | m->mad[17]) != w->attr)
		return true;
	if (w->seen++ < w->after)
		return true;
	if (!w->refuse)
		return false;
	m->mad[4] |= 0;
	m->mad[5] = 0x1c;
	return true;
}

/* Whichever step fails, the fabric is routed, and when it fails no longer all are on. */
static void
half_failed(void **state)
{
	static const uint16_t attrs[] = { AR_ATTR_GENERAL_INFO, AR_ATTR_INFO, AR_ATTR_GROUPS,
					  AR_ATTR_LFT };

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++) {
			struct wrong w = { .attr = attrs[i], .after = k / 2 * 25, .refuse = k % 2 };
			struct bed_sm *sm = adaptive_bed("ft3 4", "");
			struct bed *b = sm->bed;

			sm->in = spoil;
			sm->arg = &w;
			bed_start(sm);
			assert_int_equal(bed_run(sm, BOUND), 1);
			bed_wait(b, SEC(100));
			assert_true(bed_becomes_good(sm, BOUND));
			bed_check(sm);
			model_link_set(b->m, bed_node(b, "L1_0"), 3, false);
			bed_wait(b, SEC(20));
			if (!bed_becomes_good(sm, BOUND))
				fail_msg("attribute 0x%04x after %u, refused: %d: %s", w.attr,
					 w.after, w.refuse, sm->why);
			sm->in = NULL;
			bed_wait(b, SEC(1500));
			rest(sm);
			if (!bed_becomes_good(sm, BOUND))
				fail_msg("attribute 0x%04x after %u, refused: %d: %s", w.attr,
					 w.after, w.refuse, sm->why);
			/* Who says that it does not know the attribute is believed. */
			if (i > 1 || (i == 1 && !w.refuse))
				assert_int_equal(held(sm), 20);
			bed_free(b);
		}
}

/* Hosts that do not answer, or refuse, and switches that do not take a hash: all are routed, and
 * when it fails no longer all that should be are on. */
static void
hosts_half_failed(void **state)
{
	static const uint16_t attrs[] = { AR_ATTR_GENERAL_INFO, AR_ATTR_PORT_INFO, AR_ATTR_HBF };
	struct config_ar_device known = { .vendor = VENDOR, .hbf_global_bit = 20 };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 4; k++) {
			struct wrong w = { .attr = attrs[i], .after = k / 2 * 25, .refuse = k % 2 };
			struct bed_sm *sm = adaptive_bed("ft3 4",
							 "hosts=0xffff,hbf_global_bit=20");
			struct bed *b = sm->bed;

			sm->conf.routing.adaptive = CONFIG_ADAPTIVE_AUTO;
			sm->conf.routing.adaptive_hosts = CONFIG_HOSTS_WRITE;
			sm->conf.routing.ar_devices = &known;
			sm->conf.routing.nar_devices = 1;
			if (i == 2)
				sm->conf.routing.adaptive_mode = CONFIG_SPREAD_HASH;
			sm->in = spoil;
			sm->arg = &w;
			bed_start(sm);
			assert_int_equal(bed_run(sm, BOUND), 1);
			bed_wait(b, SEC(100));
			if (!bed_becomes_good(sm, BOUND))
				fail_msg("0x%04x after %u: %s", w.attr, w.after, sm->why);
			bed_check(sm);
			sm->in = NULL;
			bed_wait(b, SEC(1500));
			rest(sm);
			if (!bed_becomes_good(sm, BOUND))
				fail_msg("0x%04x after %u: %s", w.attr, w.after, sm->why);
			/* Who says that it does not know an attribute is believed, but for
			 * HBFConfig, which those know that say that they spread by a hash. */
			if (i == 2 || !w.refuse)
				assert_int_equal(infos(sm).enable, 20);
			bed_free(b);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_on),
		cmocka_unit_test(lost_cable),
		cmocka_unit_test(rebooted),
		cmocka_unit_test(turned_off),
		cmocka_unit_test(mixed),
		cmocka_unit_test(selected),
		cmocka_unit_test(automatic),
		cmocka_unit_test(hosts),
		cmocka_unit_test(packets),
		cmocka_unit_test(hashed),
		cmocka_unit_test(devices),
		cmocka_unit_test(device_words),
		cmocka_unit_test(levels),
		cmocka_unit_test(half_failed),
		cmocka_unit_test(hosts_half_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
