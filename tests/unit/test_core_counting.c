/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sm/core/counting_i.h"
#include "tests/unit/core_bed.h"

/*
 * Error counters: what readings are too much, by hand; then sweeps over "ft3 4" (20 switches, 16
 * hosts, 48 cables), what is asked, what is told, and what is done about it.
 */
#define BOUND SEC(30)
#define INTERVAL SEC(10)
#define MINUTE SEC(60)

/* ---- Readings ---- */

static unsigned allowed[PERF_ERRORS];

struct reading {
	struct port_errors e;
	struct perf_counters v;
	struct error_finding f;
	monotime now;
	bool extended;
};

static struct reading
begin(void)
{
	static const unsigned some[PERF_ERRORS] = { 10, 1, 5, 10, 100, 0, 100, 100, 100, 5, 5,
						    100 };

	memcpy(allowed, some, sizeof(allowed));
	return (struct reading){ .now = SEC(1) };
}

static bool
look(struct reading *r, monotime later)
{
	r->now += later;
	return counting_judge(&r->e, &r->v, r->extended, allowed, r->now, &r->f);
}

static void
test_first(void **state)
{
	struct reading r = begin();

	(void)state;
	r.v.errors[PERF_SYMBOL] = 65534;
	r.v.errors[PERF_SWITCH_RELAY] = 65535;
	assert_false(look(&r, 0));
	r = begin();
	r.v.errors[PERF_SYMBOL] = 65535;
	assert_true(look(&r, 0));
	assert_true(r.f.full && r.f.kind == PERF_SYMBOL && r.f.value == 65535 && !r.f.score);
	assert_true(look(&r, MINUTE));
	assert_true(r.f.full);
	r.v.errors[PERF_SYMBOL] = 0;
	assert_false(look(&r, MINUTE));
	for (unsigned i = 0; i < PERF_ERRORS; i++) {
		r = begin();
		r.v.errors[i] = perf_error_max(i);
		assert_int_equal(look(&r, 0), i != PERF_SWITCH_RELAY);
	}
	/* Of 64 bits: told once, for it is seen not to rise. */
	r = begin();
	r.extended = true;
	r.v.errors[PERF_SYMBOL] = 70000;
	assert_true(look(&r, 0) && r.f.full);
	assert_false(look(&r, MINUTE));
}

static void
test_rates(void **state)
{
	struct reading r = begin();

	(void)state;
	r.v.errors[PERF_SYMBOL] = 100;
	assert_false(look(&r, 0));
	r.v.errors[PERF_SYMBOL] = 110;
	assert_false(look(&r, MINUTE));
	r.v.errors[PERF_SYMBOL] = 121;
	assert_true(look(&r, MINUTE));
	assert_true(r.f.kind == PERF_SYMBOL && !r.f.full && r.f.count == 11);
	assert_true(r.f.value == 121 && r.f.time == MINUTE && r.f.score == 17);
	/* Readings that are far apart: as many in each minute. */
	r.v.errors[PERF_SYMBOL] += 50;
	assert_false(look(&r, 5 * MINUTE));
	r.v.errors[PERF_SYMBOL] += 51;
	assert_true(look(&r, 5 * MINUTE));
	/* Close to each other: ten in a minute, in whatever seconds. */
	for (unsigned i = 0; i < 300; i++) {
		r.v.errors[PERF_SYMBOL] += i % 6 == 0;
		assert_false(look(&r, SEC(1)));
	}
	r = begin();
	assert_false(look(&r, 0));
	r.v.errors[PERF_SYMBOL] += 10;
	assert_false(look(&r, SEC(1)));
	r.v.errors[PERF_SYMBOL]++;
	assert_true(look(&r, SEC(1)));
	assert_true(r.f.count == 11 && r.f.time == SEC(2));
	assert_false(look(&r, SEC(1)));
}

/* The worst is what is most over what is allowed; what nobody wants to hear of is not told. */
static void
test_worst(void **state)
{
	struct reading r = begin();

	(void)state;
	look(&r, 0);
	r.v.errors[PERF_SYMBOL] = 20;
	r.v.errors[PERF_RECOVERY] = 5;
	r.v.errors[PERF_SWITCH_RELAY] = 60000;
	r.v.errors[PERF_OVERRUN] = 15;
	assert_true(look(&r, MINUTE));
	assert_true(r.f.kind == PERF_RECOVERY && r.f.score == 5 * 16);
	memset(allowed, 0, sizeof(allowed));
	memset(r.v.errors, 0xff, sizeof(r.v.errors));
	assert_false(look(&r, MINUTE));
}

/* Cleared by somebody, or by a restart, or full before all is seen. */
static void
test_cleared(void **state)
{
	struct reading r = begin();

	(void)state;
	r.v.errors[PERF_SYMBOL] = 5000;
	look(&r, 0);
	r.v.errors[PERF_SYMBOL] = 10;
	assert_false(look(&r, MINUTE));
	r.v.errors[PERF_SYMBOL] = 9;
	look(&r, SEC(1));
	r.v.errors[PERF_SYMBOL] = 11;
	assert_true(look(&r, SEC(1)));
	assert_true(r.f.count == 11);
	r.v.errors[PERF_SYMBOL] = 65530;
	look(&r, MINUTE);
	r.v.errors[PERF_SYMBOL] = 65535;
	assert_false(look(&r, MINUTE));
	assert_true(look(&r, MINUTE));
	assert_true(r.f.full);
	/* A rise beyond all numbers of 32 bits. */
	r = begin();
	r.extended = true;
	look(&r, 0);
	r.v.errors[PERF_SYMBOL] = UINT64_MAX;
	assert_true(look(&r, MINUTE));
	assert_true(r.f.count == UINT32_MAX && !r.f.full);
}

static void
test_near_full(void **state)
{
	struct perf_counters v = { 0 };

	(void)state;
	v.errors[PERF_SYMBOL] = 49152;
	v.errors[PERF_DOWNED] = 192;
	v.errors[PERF_OVERRUN] = 12;
	assert_int_equal(counting_near_full(&v), 0);
	v.errors[PERF_SYMBOL]++;
	v.errors[PERF_OVERRUN]++;
	assert_int_equal(counting_near_full(&v), 1u << PERF_SYMBOL | 1u << PERF_OVERRUN);
}

/* ---- Sweeps ---- */

/* What passes at the port of the subnet manager, and what is done to it. */
struct watch {
	unsigned gets[256], sets;	/* requests of the class, by attribute */
	unsigned under_way, most;	/* requests without an answer yet */
	uint16_t deaf;			/* LID that gets none of them */
	uint16_t redirects;		/* LID whose ClassPortInfo redirects, */
	uint16_t to;			/* to this one */
	unsigned redirected;		/* requests that went there by queue pair 5 */
	bool narrow;			/* nobody has counters of 64 bits */
	uint16_t set_select;		/* CounterSelect of the last Set */
};

static struct watch w;

static bool
on_out(struct bed_sm *sm, struct port_mad *m)
{
	(void)sm;
	if (m->mad[1] != MAD_CLASS_PERF)
		return true;
	if (m->mad[3] == MAD_SET) {
		w.sets++;
		w.set_select = (uint16_t)(m->mad[66] << 8 | m->mad[67]);
	} else {
		w.gets[m->mad[17]]++;
	}
	assert_int_equal(m->qp, 1);
	w.redirected += m->lid == w.to && m->remote_qp == 5;
	m->remote_qp = 0;
	if (m->lid == w.deaf)
		return false;
	w.under_way++;
	if (w.under_way > w.most)
		w.most = w.under_way;
	return true;
}

static bool
on_in(struct bed_sm *sm, struct port_mad *m)
{
	struct perf_class_info i;

	(void)sm;
	if (m->mad[1] != MAD_CLASS_PERF || m->status)
		return true;
	w.under_way--;
	if (m->mad[17] != PERF_CLASS_PORT_INFO)
		return true;
	perf_class_info_decode(&i, m->mad + PERF_DATA_AT);
	if (w.narrow)
		i.cap_mask2 = 0;
	if (m->lid == w.redirects) {
		i.lid = w.to;
		i.qp = 5;
		i.q_key = PORT_Q_KEY;
	}
	perf_class_info_encode(&i, m->mad + PERF_DATA_AT);
	return true;
}

static struct bed_sm *
live(void)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	w = (struct watch){ 0 };
	sm->conf.health.counters_interval = INTERVAL;
	sm->out = on_out;
	sm->in = on_in;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_forget(sm);
	return sm;
}

static void
end(struct bed_sm *sm)
{
	bed_free(sm->bed);
}

static void
sweeps(struct bed_sm *sm, unsigned n)
{
	bed_wait(sm->bed, n * INTERVAL + SEC(1));
}

/* To the beginning of the next. */
static void
to_next(struct bed_sm *sm)
{
	uint32_t sweep = sm->s->counting.sweep;

	for (unsigned i = 0; i < 1000 && sm->s->counting.sweep == sweep; i++)
		bed_wait(sm->bed, MSEC(50));
	assert_int_equal(sm->s->counting.sweep, sweep + 1);
}

static void
count(struct bed_sm *sm, const char *node, const char *peer, const char *counter, uint64_t n)
{
	uint32_t at = bed_node(sm->bed, node);
	struct error e;

	assert_int_equal(model_counter_add(sm->bed->m, at,
					   bed_port_to(sm->bed, at, bed_node(sm->bed, peer)),
					   counter, n, &e), 0);
}

static unsigned
shown(const struct bed_sm *sm, struct health_row *last)
{
	struct health_row row = { 0 };
	unsigned n = 0;

	while (subnet_health(sm->s, row.next, &row)) {
		*last = row;
		n++;
	}
	return n;
}

static uint16_t
lid_of(const struct bed_sm *sm, const char *node)
{
	const struct ibnet *net = model_ibnet(sm->bed->m);
	const struct fabric *f = sm->s->plan->fabric;
	uint32_t at = fabric_node_by_guid(f, net->nodes[bed_node(sm->bed, node)].guid);

	return sm->s->plan->lids->base[f->nodes[at].first_port];
}

/* All 96 ends of cables in each sweep, no more than eight at once, spread over the time. */
static void
test_sweep(void **state)
{
	struct bed_sm *sm = live();
	unsigned half;

	(void)state;
	sweeps(sm, 1);
	assert_int_equal(w.gets[PERF_CLASS_PORT_INFO], 36);
	w.gets[PERF_COUNTERS_EXTENDED] = 0;
	bed_wait(sm->bed, INTERVAL / 2);
	half = w.gets[PERF_COUNTERS_EXTENDED];
	assert_in_range(half, 30, 66);
	bed_wait(sm->bed, INTERVAL / 2);
	assert_in_range(w.gets[PERF_COUNTERS_EXTENDED], 90, 100);
	assert_int_equal(w.gets[PERF_CLASS_PORT_INFO], 36);
	assert_int_equal(w.gets[PERF_COUNTERS], 0);
	assert_int_equal(w.sets, 0);
	assert_in_range(w.most, 1, 8);
	assert_int_equal(sm->s->counting.last.ports, 96);
	assert_int_equal(sm->s->counting.last.unread, 0);
	assert_int_equal(sm->nevents[EVENT_HEALTH], 0);
	/* Nothing goes on when it is off, and what was read is forgotten. */
	sm->conf.health.counters_interval = 0;
	bed_wait(sm->bed, SEC(1));
	half = w.gets[PERF_COUNTERS_EXTENDED];
	sweeps(sm, 2);
	assert_int_equal(w.gets[PERF_COUNTERS_EXTENDED], half);
	assert_null(sm->s->counting.table);
	end(sm);
}

/* A counter that was full before we came is told by the end of the first sweep, with both ends;
 * both ends of a cable are one finding. */
static void
test_full_at_first(bool narrow)
{
	struct bed_sm *sm = live();
	struct health_row row;
	const struct event *ev;

	w.narrow = narrow;
	count(sm, "L1_0", "A1_0", "symbol_errors", 65535);
	count(sm, "A1_0", "L1_0", "symbol_errors", 65535);
	sweeps(sm, 1);
	assert_int_equal(sm->nevents[EVENT_HEALTH], 1);
	ev = bed_event(sm, EVENT_HEALTH, "symbol_errors stopped at 65535");
	assert_non_null(ev);
	assert_non_null(strstr(ev->text, "L1_0"));
	assert_non_null(strstr(ev->text, "A1_0"));
	assert_true(ev->peer_guid && ev->peer_port);
	assert_int_equal(shown(sm, &row), 1);
	assert_string_equal(row.condition, "errors");
	assert_true(row.errors.full && row.errors.value == 65535);
	sweeps(sm, 9);
	assert_int_equal(shown(sm, &row), narrow);
	assert_int_equal(sm->nevents[EVENT_HEALTH], narrow ? 1 : 2);
	end(sm);
}

static void
test_full(void **state)
{
	(void)state;
	test_full_at_first(true);
	test_full_at_first(false);
}

/* Errors that come are told once, till none came for a while; traffic is kept off the cable. */
static void
test_rising(void **state)
{
	struct bed_sm *sm = live();
	struct health_row row;

	(void)state;
	sm->conf.health.errors = ACTION_DRAIN;
	sweeps(sm, 1);
	for (unsigned i = 0; i < 5; i++) {
		count(sm, "L1_0", "A1_0", "rcv_errors", 30);
		count(sm, "A1_0", "L1_0", "symbol_errors", 300);
		sweeps(sm, 1);
	}
	assert_int_equal(sm->nevents[EVENT_QUARANTINED], 1);
	assert_non_null(bed_event(sm, EVENT_QUARANTINED, "300 symbol_errors in "));
	assert_int_equal(sm->s->drains.len, 1);
	assert_int_equal(shown(sm, &row), 1);
	assert_string_equal(row.action, "drain");
	assert_true(row.count >= 5 && row.errors.count == 300 && row.errors.peer_guid);
	assert_int_equal(sm->nevents[EVENT_RELEASED], 0);
	bed_wait(sm->bed, SEC(90));
	assert_non_null(bed_event(sm, EVENT_RELEASED, "it counted errors"));
	assert_int_equal(sm->s->drains.len, 0);
	assert_int_equal(shown(sm, &row), 0);
	bed_check(sm);
	end(sm);
}

/* What traffic is at fault for, or nobody knows since when, takes no cable from it. */
static void
test_not_the_cable(void **state)
{
	struct bed_sm *sm = live();
	struct health_row row;

	(void)state;
	w.narrow = true;
	sm->conf.health.errors = ACTION_ISOLATE;
	count(sm, "L1_0", "A1_0", "symbol_errors", 65535);
	sweeps(sm, 1);
	count(sm, "L2_0", "A2_0", "xmit_discards", 5000);
	sweeps(sm, 1);
	assert_int_equal(shown(sm, &row), 2);
	assert_non_null(strstr(row.left, "not at fault"));
	assert_int_equal(sm->s->drains.len, 0);
	/* It does when errors of the cable come to that. */
	count(sm, "L2_0", "A2_0", "link_recoveries", 200);
	sweeps(sm, 3);
	assert_int_equal(sm->s->drains.len, 1);
	assert_string_equal(sm->s->drains.list[0].why == HEALTH_ERRORS ? "yes" : "no", "yes");
	end(sm);
}

/* All cables at once: the worst one by one, the first of all first, the others as a number. */
static void
test_many(void **state)
{
	struct bed_sm *sm = live();
	const struct ibnet *net = model_ibnet(sm->bed->m);
	struct health_row row;
	struct error e;

	(void)state;
	sweeps(sm, 1);
	to_next(sm);
	for (unsigned round = 1; round <= 6; round++) {
		for (uint32_t i = 0; i < net->nnodes; i++)
			for (unsigned p = 1; net->nodes[i].type == IBNET_SWITCH &&
			     p <= net->nodes[i].nports; p++)
				model_counter_add(sm->bed->m, i, p, "symbol_errors", 1000, &e);
		count(sm, "L3_0", "A3_1", "symbol_errors", 50000);
		to_next(sm);
		if (round > 1)
			continue;
		assert_int_equal(sm->nevents[EVENT_HEALTH], COUNTING_WORST + 1);
		assert_non_null(bed_event(sm, EVENT_HEALTH, "on 32 other cables"));
		assert_true(subnet_health(sm->s, 0, &row));
		assert_int_equal(row.errors.value, 51000);
	}
	assert_int_equal(shown(sm, &row), 48);
	assert_int_equal(sm->nevents[EVENT_HEALTH], 48 + 1);
	end(sm);
}

/* Who does not answer is left alone for longer and longer, and nobody else waits. */
static void
test_deaf(void **state)
{
	struct bed_sm *sm = live();
	struct counters_row row = { 0 };
	unsigned tries = 0;

	(void)state;
	w.deaf = lid_of(sm, "L1_0");
	sweeps(sm, 1);
	for (unsigned i = 0; i < 40; i++) {
		unsigned before = w.gets[PERF_CLASS_PORT_INFO];

		bed_wait(sm->bed, INTERVAL);
		tries += w.gets[PERF_CLASS_PORT_INFO] - before;
		assert_int_equal(sm->s->counting.last.ports, 92);
	}
	assert_in_range(tries, 2, 10);
	while (subnet_counters_row(sm->s, row.next, &row) && strcmp(row.state, "silent"))
		;
	assert_string_equal(row.state, "silent");
	w.deaf = 0;
	sweeps(sm, 64);
	assert_int_equal(sm->s->counting.last.ports, 96);
	end(sm);
}

static void
test_redirect(void **state)
{
	struct bed_sm *sm = live();

	(void)state;
	w.redirects = lid_of(sm, "L1_0");
	w.to = lid_of(sm, "L2_0");
	sweeps(sm, 1);
	assert_int_equal(w.redirected, 4);
	assert_int_equal(sm->s->counting.last.ports, 96);
	end(sm);
}

/* Nothing is written unless that is wanted, and then only counters that are about to stop. */
static void
test_clear(void **state)
{
	struct bed_sm *sm = live();
	struct health_row row;
	struct error e;
	uint64_t left;
	uint32_t at = bed_node(sm->bed, "L1_0");

	(void)state;
	w.narrow = true;
	count(sm, "L1_0", "A1_0", "symbol_errors", 60000);
	count(sm, "L1_0", "A1_0", "rcv_errors", 7);
	sweeps(sm, 2);
	assert_int_equal(w.sets, 0);
	sm->conf.health.clear_counters = true;
	sweeps(sm, 2);
	assert_int_equal(w.sets, 1);
	assert_true(w.set_select >> PERF_SYMBOL & 1);
	assert_false(w.set_select >> PERF_RCV & 1);
	assert_int_equal(w.gets[PERF_COUNTERS_EXTENDED], 0);
	count(sm, "L1_0", "A1_0", "symbol_errors", 300);
	sweeps(sm, 1);
	assert_int_equal(shown(sm, &row), 1);
	assert_string_equal(row.errors.counter, "symbol_errors");
	assert_true(row.errors.count == 300 && row.errors.value == 300);
	assert_int_equal(model_counter_get(sm->bed->m, at,
					   bed_port_to(sm->bed, at, bed_node(sm->bed, "A1_0")),
					   "rcv_errors", &left, &e), 0);
	assert_int_equal(left, 7);
	end(sm);
}

/* Only who leads reads them; who leads no more forgets what he read. */
static void
test_office(void **state)
{
	struct bed_sm *sm = live(), *other = bed_sm(sm->bed, bed_node(sm->bed, "H3_0_0"), 1);

	(void)state;
	other->conf.health.counters_interval = INTERVAL;
	other->conf.priority = 1;
	bed_start(other);
	sweeps(sm, 3);
	assert_int_equal(sm->s->role, ROLE_STANDBY);
	assert_null(sm->s->counting.table);
	assert_int_equal(other->s->role, ROLE_MASTER);
	assert_int_equal(other->s->counting.last.ports, 96);
	bed_stop(other);
	sweeps(sm, 4);
	assert_int_equal(sm->s->role, ROLE_MASTER);
	assert_int_equal(sm->s->counting.last.ports, 96);
	end(sm);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first), cmocka_unit_test(test_rates),
		cmocka_unit_test(test_worst), cmocka_unit_test(test_cleared),
		cmocka_unit_test(test_near_full), cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_full), cmocka_unit_test(test_rising),
		cmocka_unit_test(test_not_the_cable), cmocka_unit_test(test_many),
		cmocka_unit_test(test_deaf), cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_clear), cmocka_unit_test(test_office),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
