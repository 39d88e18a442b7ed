/* SPDX-License-Identifier: BSD-2-Clause */
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

/*
 * Tables from service levels to lanes in a subnet: written before what is proved with them, few
 * Sets, and nothing where they cannot be had. What switches hold is judged after every answer.
 */
#define BOUND SEC(60)

static const char *torus[] = { "torus", NULL };
static const char *torus_or_updn[] = { "torus", "updn", NULL };
static const char *updn_only[] = { "updn", NULL };

/* The worst that was ever seen. */
struct watch {
	struct tap *tap;	/* first of all */
	bool on;		/* look now */
	unsigned looks;		/* so many times */
	unsigned cycles;	/* with packets that may wait for each other for ever */
	unsigned most_lost;	/* pairs without a way, at most */
	uint16_t lose;		/* the next Set of this attribute does not arrive, 0 none */
	unsigned lost;		/* so many did not */
};

/* Rows and maps change by Sets alone, so nothing changes between two answers to them. */
static void
saw(void *arg, const struct smp *smp, bool in)
{
	struct watch *w = arg;
	struct judged j;

	if (!w->on || !in ||
	    (smp->h.attr_id != ATTR_LINEAR_FDB && smp->h.attr_id != ATTR_SL_TO_VL &&
	     smp->h.attr_id != ATTR_MULTICAST_FDB))
		return;
	if (!w->tap->sm->s->plan)
		return;
	j = judge_lanes(w->tap->sm);
	w->looks++;
	w->cycles += j.cycles;
	w->most_lost = j.lost > w->most_lost ? j.lost : w->most_lost;
}

static bool
lose(void *arg, const struct smp *smp, bool in)
{
	struct watch *w = arg;

	if (in || !w->lose || smp->h.method != MAD_SET || smp->h.attr_id != w->lose)
		return false;
	w->lost++;
	return true;
}

static struct bed_sm *
make(const char *fabric, const char **engines, const struct model_options *o, struct watch *w)
{
	struct bed *b = o ? bed_new_options(fabric, 1, o) : bed_new(fabric, 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	memset(w, 0, sizeof(*w));
	w->tap = tap_new(sm);
	w->tap->saw = saw;
	w->tap->lose = lose;
	w->tap->arg = w;
	sm->conf.sweep_interval = 0;
	sm->conf.routing.engines = engines;
	return sm;
}

static void
up(struct bed_sm *sm, struct watch *w)
{
	w->on = true;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
}

static void
forget(struct bed_sm *sm, struct watch *w)
{
	model_count_reset(sm->bed->m);
	bed_forget(sm);
	tap_clear(w->tap);
	w->looks = w->cycles = w->most_lost = 0;
}

static void
finish(struct bed_sm *sm, struct watch *w)
{
	bed_free(sm->bed);
	tap_free(w->tap);
}

static void
check_good(struct bed_sm *sm, const struct watch *w, unsigned lanes)
{
	struct judged j = judge_lanes(sm);

	bed_check(sm);
	assert_int_equal(j.lost, 0);
	assert_int_equal(j.cycles, 0);
	assert_int_equal(j.lanes, lanes);
	assert_int_equal(w->cycles, 0);
}

/* It becomes so, and stays; `lanes` of 0: whatever they are. */
static void
check_settles(struct bed_sm *sm, const struct watch *w, unsigned lanes)
{
	assert_true(bed_becomes_good(sm, BOUND));
	assert_true(bed_quiet(sm, BOUND));
	check_good(sm, w, lanes ? lanes : judge_lanes(sm).lanes);
}

/* 25 switches of 5 ports and 25 hosts. Without the optimised forms: a map for each pair of a
 * switch's 6 ports, and one for each host. */
static void
brought_up(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);

	(void)state;
	up(sm, &w);
	assert_string_equal(sm->s->plan->engine_running, "torus");
	check_good(sm, &w, 2);
	assert_true(w.looks > 100);
	assert_in_range(tap_count(w.tap, MAD_SET, ATTR_SL_TO_VL), 26, 25 * 36 + 25);
	/* Ports know the service level of their way to the subnet manager. */
	for (uint32_t i = 0; i < sm->s->plan->fabric->nnodes; i++) {
		const struct plan *p = sm->s->plan;
		const struct fabric *f = p->fabric;
		uint32_t port = f->nodes[i].first_port + (f->nodes[i].sw == FABRIC_NONE);
		uint32_t node = 0;

		while (sm->bed->net->nodes[node].guid != f->nodes[i].guid)
			node++;
		assert_int_equal(model_portinfo(sm->bed->m, node, f->ports[port].number)->sm_sl,
				 plan_path_sl(p, &p->lids->dest[p->lids->base[port]],
					      &p->lids->dest[p->lids->base[f->sm_port]]));
	}
	finish(sm, &w);
}

static void
optimised(void **state)
{
	struct model_options o = { .caps = { .optimized_sl2vl = true } };
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, &o, &w);

	(void)state;
	up(sm, &w);
	check_good(sm, &w, 2);
	assert_in_range(tap_count(w.tap, MAD_SET, ATTR_SL_TO_VL), 25, 25 * 18 + 25);
	finish(sm, &w);
}

static uint32_t
cable_between_switches(const struct bed *b, unsigned *port)
{
	uint32_t n = bed_next(b, IBNET_SWITCH, 5);

	for (unsigned i = 1; i <= b->net->nodes[n].nports; i++) {
		uint32_t peer = b->net->nodes[n].ports[i].peer;

		if (peer != IBNET_NONE && b->net->nodes[peer].type == IBNET_SWITCH) {
			*port = i;
			return n;
		}
	}
	fail();
	return 0;
}

/* No packet but those of the lost cable is dropped, and nothing is written to other pairs. */
static void
cable(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);
	unsigned port = 0;
	uint32_t node;

	(void)state;
	up(sm, &w);
	forget(sm, &w);
	node = cable_between_switches(sm->bed, &port);
	model_link_set(sm->bed->m, node, port, false);
	bed_wait(sm->bed, SEC(1));
	check_settles(sm, &w, 2);
	assert_null(bed_event(sm, EVENT_ROUTED, "drop packets"));
	forget(sm, &w);
	model_link_set(sm->bed->m, node, port, true);
	bed_wait(sm->bed, SEC(1));
	check_settles(sm, &w, 2);
	assert_null(bed_event(sm, EVENT_ROUTED, "drop packets"));
	assert_int_equal(w.most_lost, 0);
	finish(sm, &w);
}

/* The daemon starts again: it reads what switches hold, and writes nothing but hosts' maps. */
static void
restart(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);

	(void)state;
	up(sm, &w);
	bed_stop(sm);
	forget(sm, &w);
	up(sm, &w);
	check_good(sm, &w, 2);
	assert_int_equal(tap_count(w.tap, MAD_SET, ATTR_SL_TO_VL), 0);
	assert_int_equal(tap_count(w.tap, MAD_SET, ATTR_LINEAR_FDB), 0);
	assert_null(bed_event(sm, EVENT_ROUTED, "drop packets"));
	assert_int_equal(sm->s->plan->sls->stale, 0);
	finish(sm, &w);
}

struct outcome {
	bool done;		/* the answer came */
	int error;		/* code */
	char text[1600];	/* for people */
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

static void
ask(struct bed_sm *sm, const struct change *c, struct outcome *o)
{
	struct error e = { 0 };

	memset(o, 0, sizeof(*o));
	assert_int_equal(subnet_change(sm->s, c, on_answer, o, &e), 0);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &o->done);
	assert_true(o->done);
}

static void
reroute(struct bed_sm *sm, const char *engine, bool dry_run, struct outcome *o)
{
	const struct change c = { .engine = engine, .dry_run = dry_run };

	ask(sm, &c, o);
}

static void
reroute_fully(struct bed_sm *sm, struct outcome *o)
{
	const struct change c = { .full = true };

	ask(sm, &c, o);
}

/* Another engine: all ways between switches are taken away before maps change, and foretold. */
static void
another_engine(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", updn_only, NULL, &w);
	struct subnet_status st;
	struct outcome o;
	bool warned = false;

	(void)state;
	up(sm, &w);
	assert_int_equal(tap_count(w.tap, MAD_SET, ATTR_SL_TO_VL), 0);
	forget(sm, &w);
	reroute(sm, "torus", true, &o);
	assert_int_equal(o.error, 0);
	assert_non_null(strstr(o.text, "service levels to lanes would change"));
	assert_int_equal(tap_sets(w.tap), 0);
	reroute(sm, "torus", false, &o);
	if (o.error)
		fail_msg("%s", o.text);
	assert_true(bed_quiet(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "torus");
	assert_non_null(bed_event(sm, EVENT_ROUTED, "drop packets"));
	check_good(sm, &w, 2);
	/* SL 0 was given out for all pairs. */
	assert_int_equal(sm->s->plan->sls->stale, 1);
	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		warned |= strstr(st.warnings[i], "keep service level 0") != NULL;
	assert_true(warned);
	/* And back, and again: maps stay, so nothing but the mixture of rows is in the way. */
	forget(sm, &w);
	reroute(sm, "updn", false, &o);
	assert_int_equal(o.error, 0);
	assert_true(bed_quiet(sm, BOUND));
	check_good(sm, &w, judge_lanes(sm).lanes);
	assert_int_equal(tap_count(w.tap, MAD_SET, ATTR_SL_TO_VL), 0);
	finish(sm, &w);
}

static bool
warns_of_levels(struct bed_sm *sm)
{
	struct subnet_status st;
	bool warned = false;

	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		warned |= strstr(st.warnings[i], "keep service level") != NULL;
	return warned;
}

/* Whoever knows that no connection is left of before says so, and it is over: after a restart too.
 * A rehearsal forgets nothing. */
static void
levels_forgotten(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", updn_only, NULL, &w);
	struct change c = { .engine = "torus", .forget_levels = true, .dry_run = true };
	struct outcome o;

	(void)state;
	up(sm, &w);
	sm->conf.routing.engines = torus;
	bed_stop(sm);
	bed_forget(sm);
	up(sm, &w);
	assert_true(warns_of_levels(sm));
	ask(sm, &c, &o);
	assert_int_equal(o.error, 0);
	assert_true(warns_of_levels(sm));
	c.dry_run = false;
	ask(sm, &c, &o);
	if (o.error)
		fail_msg("%s", o.text);
	assert_true(bed_quiet(sm, BOUND));
	assert_false(warns_of_levels(sm));
	assert_int_equal(sm->s->plan->sls->stale, 0);
	check_good(sm, &w, 2);
	bed_stop(sm);
	bed_forget(sm);
	up(sm, &w);
	assert_false(warns_of_levels(sm));
	check_good(sm, &w, 2);
	/* And of the next engine's predecessor, again. */
	reroute(sm, "nue", false, &o);
	assert_int_equal(o.error, 0);
	assert_true(bed_quiet(sm, BOUND));
	assert_true(sm->s->given.stale != 0);
	finish(sm, &w);
}

/* What hosts were told is known after a restart, too, and after the next. */
static void
told_before(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", updn_only, NULL, &w);

	(void)state;
	up(sm, &w);
	sm->conf.routing.engines = torus;
	for (unsigned i = 0; i < 2; i++) {
		bed_stop(sm);
		bed_forget(sm);
		up(sm, &w);
		check_good(sm, &w, 2);
		assert_int_equal(sm->s->plan->sls->stale, 1);
		assert_false(sm->s->plan->sls->stale_proved);
		/* Only the first time other maps were there. */
		assert_int_equal(bed_event(sm, EVENT_ROUTED, "drop packets") != NULL, i == 0);
	}
	finish(sm, &w);
}

/* A map that does not get through: no row goes out that is proved with it; it is tried again. */
static void
lost_sets(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);

	(void)state;
	w.lose = ATTR_SL_TO_VL;
	w.on = true;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	assert_true(w.lost > 0);
	assert_int_equal(tap_count(w.tap, MAD_SET, ATTR_LINEAR_FDB), 0);
	w.lose = 0;
	bed_wait(sm->bed, SEC(30));
	check_settles(sm, &w, 2);
	finish(sm, &w);
}

/* A switch that takes none: the next engine of the chain runs, and the reason names the switch. */
static void
refused_sets(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus_or_updn, NULL, &w);
	uint32_t node = bed_next(sm->bed, IBNET_SWITCH, 7);
	struct outcome o;

	(void)state;
	model_refuse(sm->bed->m, node, ATTR_SL_TO_VL, MAD_STATUS_BAD_FIELD);
	sm->conf.sweep_interval = SEC(10);
	w.on = true;
	bed_start(sm);
	bed_run(sm, BOUND);
	bed_wait(sm->bed, SEC(30));
	assert_true(bed_becomes_good(sm, BOUND));
	assert_true(bed_quiet(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "updn");
	assert_non_null(strstr(sm->s->plan->reason, sm->bed->net->nodes[node].desc));
	assert_non_null(strstr(sm->s->plan->reason, "does not take it"));
	check_good(sm, &w, judge_lanes(sm).lanes);
	/* It is tried, seldom, and where no packet passes. */
	model_count_reset(sm->bed->m);
	bed_wait(sm->bed, SEC(1800));
	assert_in_range(bed_count(sm->bed, MAD_SET, ATTR_SL_TO_VL), 2, 20);
	assert_int_equal(bed_count(sm->bed, MAD_SET, ATTR_LINEAR_FDB), 0);
	assert_string_equal(sm->s->plan->engine_running, "updn");
	/* When it is asked to look at everything again, it tries again. */
	model_refuse(sm->bed->m, node, ATTR_SL_TO_VL, 0);
	reroute_fully(sm, &o);
	assert_int_equal(o.error, 0);
	assert_true(bed_quiet(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "torus");
	check_good(sm, &w, 2);
	finish(sm, &w);
}

/* One that takes them after all is given them, without being told to. */
static void
refused_for_a_while(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus_or_updn, NULL, &w);
	uint32_t node = bed_next(sm->bed, IBNET_SWITCH, 7);

	(void)state;
	model_refuse(sm->bed->m, node, ATTR_SL_TO_VL, MAD_STATUS_BAD_FIELD);
	sm->conf.sweep_interval = SEC(10);
	w.on = true;
	bed_start(sm);
	bed_run(sm, BOUND);
	bed_wait(sm->bed, SEC(5));
	assert_true(bed_becomes_good(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "updn");
	model_refuse(sm->bed->m, node, ATTR_SL_TO_VL, 0);
	for (unsigned i = 0; i < 60 && strcmp(sm->s->plan->engine_running, "torus"); i++)
		bed_wait(sm->bed, SEC(1));
	assert_string_equal(sm->s->plan->engine_running, "torus");
	assert_true(bed_quiet(sm, BOUND));
	check_good(sm, &w, 2);
	finish(sm, &w);
}

/* A silent switch holds what it was given, and goes on with it. */
static void
silent_switch(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus_or_updn, NULL, &w);
	uint32_t node = bed_next(sm->bed, IBNET_SWITCH, 7);

	(void)state;
	up(sm, &w);
	forget(sm, &w);
	model_silence(sm->bed->m, node, MODEL_SILENT);
	bed_sweep(sm, BOUND);
	assert_true(bed_quiet(sm, BOUND));
	assert_string_equal(sm->s->plan->engine_running, "torus");
	assert_int_equal(judge_lanes(sm).cycles, 0);
	model_silence(sm->bed->m, node, MODEL_ANSWERS);
	bed_sweep(sm, BOUND);
	assert_true(bed_quiet(sm, BOUND));
	check_good(sm, &w, 2);
	assert_null(bed_event(sm, EVENT_ROUTED, "drop packets"));
	assert_int_equal(w.most_lost, 0);
	finish(sm, &w);
}

/* A switch that lost all it held is given its maps before its cables carry anything. */
static void
reboot(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);

	(void)state;
	up(sm, &w);
	forget(sm, &w);
	model_reboot(sm->bed->m, bed_next(sm->bed, IBNET_SWITCH, 7));
	bed_wait(sm->bed, SEC(2));
	check_settles(sm, &w, 2);
	finish(sm, &w);
}

/* Links that ran one lane run as many as the engine takes before its tables are in. */
static void
too_few_lanes(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", updn_only, NULL, &w);
	static const char *chain[] = { "torus", NULL };

	(void)state;
	sm->conf.max_op_vls = 1;
	up(sm, &w);
	bed_stop(sm);
	forget(sm, &w);
	sm->conf.max_op_vls = 15;
	sm->conf.routing.engines = chain;
	up(sm, &w);
	assert_string_equal(sm->s->plan->engine_running, "torus");
	check_good(sm, &w, 2);
	finish(sm, &w);
}

/* Every host but the subnet manager's joins, and that may send, too; the tree closes no loop with
 * the ways of a torus, nor when a cable goes. */
static void
multicast(void **state)
{
	struct watch w;
	struct bed_sm *sm = make("torus 5 5 1", torus, NULL, &w);
	struct sa_bed first = { .sm = sm }, c;
	unsigned port = 0, hosts = 0;
	struct sa_member r;
	uint32_t node;

	(void)state;
	up(sm, &w);
	for (node = bed_next(sm->bed, IBNET_CA, sm->node + 1); node != IBNET_NONE;
	     node = bed_next(sm->bed, IBNET_CA, node + 1)) {
		client(&c, &first, sm->bed->net->nodes[node].name);
		assert_int_equal(join(&c, &mine, SA_JOIN_FULL, &r), 0);
		client_free(&c);
		hosts++;
	}
	bed_wait(sm->bed, SEC(2));
	assert_true(bed_quiet(sm, BOUND));
	check_good(sm, &w, 2);
	assert_in_range(judge_lanes(sm).copies, hosts * (hosts - 1), hosts * hosts);
	node = cable_between_switches(sm->bed, &port);
	for (unsigned up = 0; up < 2; up++) {
		model_link_set(sm->bed->m, node, port, up);
		bed_wait(sm->bed, SEC(2));
		check_settles(sm, &w, 2);
		assert_in_range(judge_lanes(sm).copies, hosts * (hosts - 1), hosts * hosts);
	}
	finish(sm, &w);
}

static uint32_t
chance(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % n;
}

/* A cable between switches goes or comes, or a switch forgets all that it held. */
static void
some_fault(struct bed *b, uint64_t *seed, unsigned *down)
{
	uint32_t n, peer;
	unsigned port;
	bool is_up;

	do {
		n = chance(seed, b->net->nnodes);
		port = 1 + chance(seed, b->net->nodes[n].nports);
		peer = b->net->nodes[n].ports[port].peer;
	} while (b->net->nodes[n].type != IBNET_SWITCH || peer == IBNET_NONE ||
		 b->net->nodes[peer].type != IBNET_SWITCH);
	if (!chance(seed, 8)) {
		model_reboot(b->m, n);
		return;
	}
	is_up = model_link_is_up(b->m, n, port);
	if (is_up && *down == 4)
		return;
	*down += is_up ? 1 : -1u;
	model_link_set(b->m, n, port, !is_up);
}

/* Faults as they come, also before the one before is dealt with: at no moment packets can wait for
 * each other in a circle. */
static void
faults(const char *fabric, const char **engines, uint64_t seed)
{
	struct watch w;
	struct bed_sm *sm = make(fabric, engines, NULL, &w);
	unsigned down = 0;

	up(sm, &w);
	for (unsigned i = 0; i < 25; i++) {
		some_fault(sm->bed, &seed, &down);
		bed_wait(sm->bed, MSEC(chance(&seed, 400)));
	}
	model_heal(sm->bed->m, MODEL_ALL);
	bed_wait(sm->bed, SEC(5));
	check_settles(sm, &w, 0);
	finish(sm, &w);
}

static void
many_faults(void **state)
{
	static const char *dragonfly[] = { "dragonfly", "updn", NULL };

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		faults("torus 5 5 1", torus_or_updn, seed);
		faults("dragonfly 2 1 1 3", dragonfly, seed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brought_up),
		cmocka_unit_test(optimised),
		cmocka_unit_test(cable),
		cmocka_unit_test(restart),
		cmocka_unit_test(another_engine),
		cmocka_unit_test(told_before), cmocka_unit_test(levels_forgotten),
		cmocka_unit_test(lost_sets),
		cmocka_unit_test(refused_sets),
		cmocka_unit_test(refused_for_a_while),
		cmocka_unit_test(silent_switch),
		cmocka_unit_test(reboot),
		cmocka_unit_test(too_few_lanes),
		cmocka_unit_test(multicast),
		cmocka_unit_test(many_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
