/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Levels of service in a subnet: what switches and hosts hold of lanes and arbitration, judged by
 * what they hold, on every level, multicast groups too; and how little is written again.
 */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"
#include "tests/unit/lane_judge.h"
#include "tests/unit/member_bed.h"

#define BOUND SEC(60)
#define LEVELS "qos: {high_limit: 7, levels: [{name: bulk}, " \
	"{name: latency, priority: high, weight: 64}"

struct rig {
	struct bed_sm *sm;	/* the manager */
	struct tap *tap;	/* what it sends */
	struct config *conf;	/* of levels */
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
	bed_check(r->sm);
}

static void
up_options(struct rig *r, const char *fabric, const char **engines, const char *text,
	   const struct model_options *o)
{
	struct bed *b = bed_new_options(fabric, 1, o);

	r->sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	r->tap = tap_new(r->sm);
	r->conf = parse(text);
	r->sm->conf.sweep_interval = 0;
	r->sm->conf.routing.engines = engines;
	start(r);
}

static void
up(struct rig *r, const char *fabric, const char **engines, const char *text)
{
	up_options(r, fabric, engines, text, NULL);
}

static void
down(struct rig *r)
{
	bed_free(r->sm->bed);
	tap_free(r->tap);
	config_free(r->conf);
}

static void
check_lanes(const struct rig *r, unsigned lanes)
{
	struct judged j = judge_lanes(r->sm);

	assert_int_equal(j.lost, 0);
	assert_int_equal(j.cycles, 0);
	assert_int_equal(j.lanes, lanes);
	assert_int_equal(r->sm->s->plan->check.credit_loops, 0);
}

static void
check_block(const struct rig *r, uint32_t node, unsigned port, unsigned block, const char *want)
{
	struct vlarb_entry e[32];
	char text[400] = "";
	size_t at = 0;

	model_vlarb(r->sm->bed->m, node, port, block, e);
	for (unsigned i = 0; i < 32; i++)
		if (e[i].weight)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u:%u",
					       at ? " " : "", e[i].vl, e[i].weight);
	assert_string_equal(text, want);
}

/* High and low table of a port of a switch to a switch, to a host, and of a host. */
static void
check_arbitration(const struct rig *r, const char *inner[2], const char *edge[2])
{
	const struct ibnet *net = r->sm->bed->net;
	unsigned seen = 0;

	for (uint32_t n = 0; n < net->nnodes; n++)
		for (unsigned i = 1; i <= net->nodes[n].nports; i++) {
			uint32_t peer = net->nodes[n].ports[i].peer;
			const char **want = inner;

			if (peer == IBNET_NONE)
				continue;
			if (net->nodes[n].type != IBNET_SWITCH ||
			    net->nodes[peer].type != IBNET_SWITCH)
				want = edge;
			check_block(r, n, i, 3, want[0]);
			check_block(r, n, i, 1, want[1]);
			assert_int_equal(model_portinfo(r->sm->bed->m, n, i)->vl_high_limit, 7);
			seen++;
		}
	assert_true(seen > 4);
}

static const char *fattree[] = { "fattree", NULL };
static const char *torus[] = { "torus", NULL };
static const char *updn[] = { "updn", NULL };
static const char *dragonfly[] = { "dragonfly", NULL };

static void
tree(void **state)
{
	const char *all[] = { "1:64", "0:32" };
	struct rig r;

	(void)state;
	up(&r, "ft3 4", fattree, LEVELS "]}\n");
	check_lanes(&r, 2);
	check_arbitration(&r, all, all);
	/* A restart finds all as it should be. */
	bed_stop(r.sm);
	tap_clear(r.tap);
	start(&r);
	check_lanes(&r, 2);
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_VL_ARBITRATION), 0);
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_LINEAR_FDB), 0);
	down(&r);
}

/* Another weight is written, and nothing but the tables that have it. */
static void
weight(void **state)
{
	const char *all[] = { "1:64", "0:9" };
	struct rig r;

	(void)state;
	up(&r, "ft2 4 2 3", fattree, LEVELS "]}\n");
	config_free(r.conf);
	r.conf = parse("qos: {high_limit: 7, levels: [{name: bulk, weight: 9}, {name: latency, "
		       "priority: high, weight: 64}]}\n");
	tap_clear(r.tap);
	subnet_set_policy(r.sm->s, r.conf);
	subnet_configure(r.sm->s, &r.sm->conf, NULL, STAGE_PUSH);
	bed_wait(r.sm->bed, SEC(1));
	assert_true(bed_quiet(r.sm, BOUND));
	check_arbitration(&r, all, all);
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_SL_TO_VL), 0);
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_PORT_INFO), 0);
	assert_true(tap_count(r.tap, MAD_SET, ATTR_VL_ARBITRATION) > 0);
	down(&r);
}

/* A manager that starts reads what ports that carry traffic hold; what then differs is written, in
 * whatever order requests and answers come. */
static void
weight_read(void **state)
{
	static const unsigned windows[] = { 1, 2, 3, 7 };
	const char *all[] = { "1:64", "0:9" };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct rig r;

		up(&r, "ft2 4 2 3", fattree, LEVELS "]}\n");
		config_free(r.conf);
		r.conf = parse("qos: {high_limit: 7, levels: [{name: bulk, weight: 9}, {name: "
			       "latency, priority: high, weight: 64}]}\n");
		bed_stop(r.sm);
		r.sm->conf.max_smps = windows[i];
		r.sm->conf.read_tables = false;
		tap_clear(r.tap);
		start(&r);
		assert_true(tap_count(r.tap, MAD_GET, ATTR_VL_ARBITRATION) > 0);
		check_arbitration(&r, all, all);
		down(&r);
	}
}

/* A tree closes no circle on any lanes: levels come, change lanes and go while packets pass, and no
 * entry of a forwarding table is touched. */
static void
under_traffic(void **state)
{
	static const char *const texts[] = {
		LEVELS "]}\n",
		"qos: {levels: [{name: bulk, sl: 3, vl: 2}, {name: latency, sl: 0, vl: 5}]}\n",
		"",
	};
	static const unsigned lanes[] = { 2, 6, 6 };
	struct rig r;

	(void)state;
	up(&r, "ft3 4", fattree, "");
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		config_free(r.conf);
		r.conf = parse(texts[i]);
		tap_clear(r.tap);
		subnet_set_policy(r.sm->s, r.conf);
		subnet_configure(r.sm->s, &r.sm->conf, NULL, STAGE_ROUTING);
		bed_wait(r.sm->bed, SEC(1));
		assert_true(bed_quiet(r.sm, BOUND));
		bed_check(r.sm);
		check_lanes(&r, lanes[i]);
		assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_LINEAR_FDB), 0);
		assert_true(i == 2 || tap_count(r.tap, MAD_SET, ATTR_SL_TO_VL) > 0);
	}
	down(&r);
}

/* Four path classes, two levels: eight service levels on twice the four lanes of the engine. */
static void
rings(void **state)
{
	const char *inner[] = { "4:64 5:64 6:64 7:64", "0:32 1:32 2:32 3:32" };
	const char *edge[] = { "4:64", "0:32" };
	struct rig r;

	(void)state;
	up(&r, "torus 5 5 1", torus, LEVELS "]}\n");
	check_lanes(&r, 6);
	check_arbitration(&r, inner, edge);
	assert_int_equal(r.sm->s->plan->sls->sl[4], 1);
	down(&r);
}

static void
groups(void **state)
{
	struct rig r;

	(void)state;
	up(&r, "dragonfly 4 2 2 9", dragonfly, LEVELS ", {name: bulk2, vl: 0}]}\n");
	assert_string_equal(r.sm->s->plan->engine_running, "dragonfly");
	check_lanes(&r, 6);
	down(&r);
}

/* Each host but the manager's joins two groups, which are of two levels; then both are of another.
 * Their trees close no loop with what else there is, and reach everybody. */
static void
multicast(void **state)
{
	static const char *const rules[] = {
		"], rules: [{application: ipoib, level: latency}]}\n",
		"], rules: [{partition: default, level: bulk}]}\n",
	};
	static const struct sa_gid other = { UINT64_C(0xff15000000000000), 1 };
	char text[400];
	struct sa_bed first, c;
	struct sa_member r;
	struct rig rig;
	unsigned hosts = 0;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", LEVELS, rules[0]);
	up(&rig, "torus 5 5 1", torus, text);
	first = (struct sa_bed){ .sm = rig.sm };
	for (uint32_t node = bed_next(rig.sm->bed, IBNET_CA, rig.sm->node + 1); node != IBNET_NONE;
	     node = bed_next(rig.sm->bed, IBNET_CA, node + 1)) {
		client(&c, &first, rig.sm->bed->net->nodes[node].name);
		assert_int_equal(join(&c, &other, SA_JOIN_FULL, &r), 0);
		assert_int_equal(r.sl, 0);
		r = request(&c, &broadcast, SA_JOIN_FULL);
		assert_int_equal(change(&c, MAD_SET, &r, JOIN), 0);
		assert_int_equal(r.sl, 1);
		client_free(&c);
		hosts++;
	}
	for (unsigned i = 0; i < 2; i++) {
		bed_wait(rig.sm->bed, SEC(3));
		assert_true(bed_quiet(rig.sm, BOUND));
		assert_int_equal(judge_group_sl(rig.sm, 0xc000), !i);
		assert_int_equal(judge_group_sl(rig.sm, 0xc001), 0);
		check_lanes(&rig, 6);
		assert_in_range(judge_lanes(rig.sm).copies, 2 * hosts * (hosts - 1),
				2 * hosts * hosts);
		config_free(rig.conf);
		snprintf(text, sizeof(text), "%s%s", LEVELS, rules[1]);
		rig.conf = parse(text);
		subnet_set_policy(rig.sm->s, rig.conf);
		subnet_configure(rig.sm->s, &rig.sm->conf, NULL, STAGE_ROUTING);
	}
	assert_true(bed_quiet(rig.sm, BOUND));
	down(&rig);
}

/* A group of before has a service level that is nobody's when an engine with path classes comes:
 * its packets are dropped, which is said. */
static void
astray(void **state)
{
	struct sa_bed first, c;
	struct sa_member r;
	struct rig rig;

	(void)state;
	up(&rig, "torus 5 5 1", updn, "");
	first = (struct sa_bed){ .sm = rig.sm };
	client(&c, &first, rig.sm->bed->net->nodes[bed_next(rig.sm->bed, IBNET_CA,
							    rig.sm->node + 1)].name);
	r = request(&c, &mine, SA_JOIN_FULL);
	r.sl = 5;
	assert_int_equal(change(&c, MAD_SET, &r, CREATE), 0);
	assert_false(warnings(rig.sm, "which no level of service has"));
	rig.sm->conf.routing.engines = torus;
	subnet_configure(rig.sm->s, &rig.sm->conf, NULL, STAGE_ROUTING);
	bed_wait(rig.sm->bed, SEC(1));
	assert_true(bed_quiet(rig.sm, BOUND));
	assert_string_equal(rig.sm->s->plan->engine_running, "torus");
	assert_true(warnings(rig.sm, "packets of 1 multicast group are dropped"));
	assert_true(warnings(rig.sm, "on service level 5, which no level of service has"));
	assert_int_equal(leave(&c, &mine, SA_JOIN_FULL), 0);
	client_free(&c);
	down(&rig);
}

/* Three lanes, and two entries in both tables together: one is left out, and it is said. */
static void
few_entries(void **state)
{
	const struct model_options o = { .caps = { .vlarb = 1 } };
	struct subnet_status st;
	struct rig r;

	(void)state;
	up_options(&r, "ft2 4 2 3", fattree, LEVELS ", {name: third}]}\n", &o);
	subnet_status(r.sm->s, &st);
	/* Both ends of the cables between switches and to hosts. */
	assert_int_equal(st.few_entries, 2 * r.sm->s->plan->fabric->nlinks);
	assert_true(warnings(r.sm, "are too small for what qos says"));
	/* With two levels there is room again. */
	config_free(r.conf);
	r.conf = parse(LEVELS "]}\n");
	subnet_set_policy(r.sm->s, r.conf);
	subnet_configure(r.sm->s, &r.sm->conf, NULL, STAGE_ROUTING);
	bed_wait(r.sm->bed, SEC(1));
	assert_true(bed_quiet(r.sm, BOUND));
	subnet_status(r.sm->s, &st);
	assert_int_equal(st.few_entries, 0);
	assert_false(warnings(r.sm, "are too small"));
	down(&r);
}

/* A table that is written without the lane of a level is written so, and it is said. */
static void
left_out(void **state)
{
	struct subnet_status st;
	struct rig r;

	(void)state;
	up(&r, "ft2 4 2 3", fattree, LEVELS "], arbitration: [{ports: hosts, high: \"0:1\", "
	   "low: \"0:4, 1:0\"}]}\n");
	subnet_status(r.sm->s, &st);
	assert_int_equal(st.few_entries, r.sm->s->plan->fabric->nnodes -
			 r.sm->s->plan->fabric->nswitches);
	assert_true(warnings(r.sm, "qos.arbitration leaves out a lane"));
	down(&r);
}

/* Each other host runs one lane, the others two, and one switch fewer than the rest. */
static void
up_unlike(struct rig *r, const char *fabric, const char **engines, unsigned vl_code,
	  const char *text)
{
	const struct model_caps one = { .vls = 1 }, two = { .vls = 2 };
	const struct model_caps few = { .vls = (uint8_t)vl_code };
	struct bed *b = bed_new(fabric, 1);
	unsigned n = 0;

	for (uint32_t h = bed_next(b, IBNET_CA, 0); h != IBNET_NONE;
	     h = bed_next(b, IBNET_CA, h + 1))
		model_set_caps(b->m, h, n++ % 2 ? &one : &two);
	model_set_caps(b->m, bed_next(b, IBNET_SWITCH, 0), &few);
	bed_wait(b, SEC(1));
	r->sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	r->tap = tap_new(r->sm);
	r->conf = parse(text);
	r->sm->conf.sweep_interval = 0;
	r->sm->conf.routing.engines = engines;
	r->sm->conf.routing.fallback = FALLBACK_REFUSE;
	bed_start(r->sm);
	subnet_set_policy(r->sm->s, r->conf);
}

/* Maps to hosts are folded to what these run; between switches nothing is folded: what does not fit
 * is refused by both numbers, or levels share where they may, and all is proved. */
static void
unlike(void **state)
{
	static const struct {
		const char *fabric;
		const char **engines;
		unsigned vl_code;	/* of one switch */
		const char *refused;	/* without merge; NULL: it is not */
		unsigned lanes;		/* judged */
	} cases[] = {
		{ "ft2 4 2 3", fattree, 3, NULL, 3 },
		{ "ft2 4 2 3", fattree, 2, "together 3", 2 },
		{ "ft2 4 2 3", fattree, 1, "together 3", 1 },
		{ "torus 5 5 1", torus, 3, "runs 4", 4 },
		{ "dragonfly 4 2 2 9", dragonfly, 2, "runs 2", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig r;

		up_unlike(&r, cases[i].fabric, cases[i].engines, cases[i].vl_code,
			  LEVELS ", {name: third}]}\n");
		bed_run(r.sm, BOUND);
		assert_true(bed_quiet(r.sm, BOUND));
		if (cases[i].refused) {
			assert_true(warnings(r.sm, cases[i].refused));
			assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_LINEAR_FDB), 0);
			config_free(r.conf);
			r.conf = parse(LEVELS ", {name: third}], merge: true}\n");
			subnet_set_policy(r.sm->s, r.conf);
			subnet_configure(r.sm->s, &r.sm->conf, NULL, STAGE_ROUTING);
			assert_true(bed_becomes_good(r.sm, BOUND));
			assert_true(bed_quiet(r.sm, BOUND));
			assert_true(warnings(r.sm, "too little for all levels"));
		}
		bed_check(r.sm);
		check_lanes(&r, cases[i].lanes);
		down(&r);
	}
}

/* Nothing is said: nothing is written, nor asked for. */
static void
silent(void **state)
{
	struct rig r;

	(void)state;
	up(&r, "ft2 4 2 3", fattree, "");
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_VL_ARBITRATION), 0);
	assert_int_equal(tap_count(r.tap, MAD_SET, ATTR_SL_TO_VL), 0);
	down(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree),
		cmocka_unit_test(weight),
		cmocka_unit_test(weight_read),
		cmocka_unit_test(under_traffic),
		cmocka_unit_test(rings),
		cmocka_unit_test(groups),
		cmocka_unit_test(multicast),
		cmocka_unit_test(astray),
		cmocka_unit_test(few_entries),
		cmocka_unit_test(left_out),
		cmocka_unit_test(unlike),
		cmocka_unit_test(silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
