/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sm/store/store.h"
#include "tests/unit/core_tap.h"
#include "tests/unit/sa_bed.h"

/*
 * Faults of discovery and of events that users of other subnet managers reported, as far as no
 * other test is about them. tests/lint/reported.py lists all and where they are tested.
 */
#define MTU_4096 5		/* codes of IBA 14.2.5.6 and 15.2.5.16 */
#define RATE_400 21		/* 400 Gb/s, 4xNDR */

/* B1: switches of 4xNDR say nothing of extended speeds unless they are asked with bit 31 of the
 * modifier. They are asked so, and paths have the rate and MTU of the cables. */
static void
extended_speeds(void **state)
{
	static const char fabric[] =
		"switchguid=0xa0(a0)\nSwitch 6 \"A\"  # \"A\" base port 0 lid 0 lmc 0\n"
		"[1] \"h1\"[1]  # \"h1\" lid 0 4xNDR\n[3] \"B\"[1]  # \"B\" lid 0 4xNDR\n\n"
		"switchguid=0xb0(b0)\nSwitch 6 \"B\"  # \"B\" base port 0 lid 0 lmc 0\n"
		"[3] \"h2\"[1]  # \"h2\" lid 0 4xNDR\n\n"
		"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 1 \"h2\"\n\n";
	struct sa_bed b;
	struct sa_path p = { 0 };

	(void)state;
	sa_bed_up(&b, fabric, "h2");
	bed_check(b.sm);
	p.sgid = sa_bed_gid(&b, "h1");
	p.dgid = sa_bed_gid(&b, "h2");
	assert_int_equal(sa_bed_get(&b, &sa_path_type, &p, SA_BIT(SA_PATH_SGID) |
				    SA_BIT(SA_PATH_DGID), &p), 0);
	assert_int_equal(p.rate, RATE_400);
	assert_int_equal(p.mtu, MTU_4096);
	assert_int_equal(p.dlid, sa_bed_lid(&b, "h2", 1));
	/* So it is after a heavy sweep, which reads it all again. */
	bed_sweep(b.sm, SEC(20));
	assert_int_equal(sa_bed_get(&b, &sa_path_type, &p, SA_BIT(SA_PATH_SGID) |
				    SA_BIT(SA_PATH_DGID), &p), 0);
	assert_int_equal(p.rate, RATE_400);
	sa_bed_free(&b);
}

/* Links of all cables that lead to or from this LID. */
static unsigned
links_of(struct sa_bed *b, uint16_t lid, unsigned *port)
{
	const struct sa_link all = { 0 };
	struct sa_link l;
	unsigned found = 0, n = sa_bed_table(b, &sa_link_type, &all, 0);

	for (unsigned i = 0; i < n; i++) {
		sa_bed_record(b, &sa_link_type, i, &l);
		if (l.from_lid == lid)
			*port = l.from_port;
		found += l.from_lid == lid || l.to_lid == lid;
	}
	return found;
}

/* B3: the cable of a host moves from its port 1 to its port 2 faster than a sweep; who then asks
 * for all LinkRecords has an answer, with the live cable in it, once each way, and not the other.
 */
static void
moved_cable(void **state)
{
	static const char fabric[] =
		"switchguid=0xa0(a0)\nSwitch 6 \"A\"  # \"A\" base port 0 lid 0 lmc 0\n"
		"[1] \"h1\"[1]\n[2] \"h2\"[1]\n[3] \"h3\"[1]\n\n"
		"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 2 \"h2\"\n\n"
		"caguid=0x30\nCa 1 \"h3\"\n\n";
	struct sa_bed b;
	uint16_t before, after;
	unsigned port = 0;

	(void)state;
	sa_bed_up(&b, fabric, "h3");
	before = sa_bed_lid(&b, "h2", 1);
	assert_int_equal(links_of(&b, before, &port), 2);
	assert_int_equal(port, 1);
	subnet_sweep(b.sm->s);
	model_recable(b.sm->bed->m, bed_node(b.sm->bed, "A"), 2, bed_node(b.sm->bed, "h2"), 2);
	bed_wait(b.sm->bed, SEC(2));
	assert_true(bed_becomes_good(b.sm, SEC(30)));
	after = sa_bed_lid(&b, "h2", 2);
	assert_int_not_equal(after, 0);
	assert_int_equal(links_of(&b, after, &port), 2);
	assert_int_equal(port, 2);
	assert_int_equal(b.n, 6);
	if (after != before)
		assert_int_equal(links_of(&b, before, &port), 0);
	sa_bed_free(&b);
}

/* ---- B16 ---- */

static bool
lose_lid_routed(struct bed_sm *sm, struct port_mad *m)
{
	unsigned *lost = sm->arg;
	bool lid_routed = m->mad[1] == MAD_CLASS_SUBN_LID;

	if (lid_routed && lost)
		++*lost;
	return !lid_routed;
}

/* Bring-up, a sweep, and a cable that goes and is found by a light sweep: MADs sent in all. */
static uint64_t
a_life(bool lose, unsigned *lost)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t leaf = bed_node(b, "L1_1");
	uint64_t sent;

	sm->arg = lost;
	if (lose)
		sm->in = sm->out = lose_lid_routed;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(5)), 1);
	bed_sweep(sm, SEC(5));
	assert_true(bed_quiet(sm, SEC(5)));
	sent = model_sent(b->m);
	bed_check(sm);
	model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A1_0")), false);
	bed_wait(b, SEC(1) + sm->conf.sweep_interval);
	assert_true(bed_becomes_good(sm, SEC(5)));
	bed_free(b);
	return sent;
}

/* B16: where SMPs that are routed by LID do not get through nothing is missed: all that is asked
 * and set goes by directed routes. Traps, which devices send by LID, are made up for by sweeps. */
static void
directed_routes_alone(void **state)
{
	unsigned lost = 0;

	(void)state;
	assert_int_equal(a_life(true, &lost), a_life(false, NULL));
	assert_true(lost > 0);		/* the traps of that cable */
}

/* ---- C6 ---- */

struct witness {
	struct bed_sm *sm;	/* of whom the events are */
	struct tap *tap;	/* what it sends and gets */
	unsigned told;		/* events that it is up */
	unsigned lids;		/* records in the store, when it was told last */
};

static void
count_row(void *arg, const char *key, const char *value)
{
	unsigned *n = arg;

	(void)key;
	(void)value;
	++*n;
}

/* The answer of this request has come. (The upper half of a TID is the kernel's.) */
static bool
is_answered(const struct tap *t, size_t request)
{
	for (size_t i = request + 1; i < t->len; i++)
		if (t->log[i].in && t->log[i].smp.h.method == MAD_GET_RESP &&
		    (uint32_t)t->log[i].smp.h.tid == (uint32_t)t->log[request].smp.h.tid)
			return true;
	return false;
}

/* Whoever hears that it is done finds it done: each Set is answered, all devices hold what they
 * should, and the state file has what it is to have. */
static void
on_up(void *arg, const struct event *ev)
{
	struct witness *w = arg;
	struct error e = { 0 };

	if (!strstr(ev->text, " is up: "))
		return;
	w->told++;
	for (size_t i = 0; i < w->tap->len; i++)
		assert_true(w->tap->log[i].smp.h.method != MAD_SET || is_answered(w->tap, i));
	if (!bed_good(w->sm))
		fail_msg("told that \"%s\": %s", ev->text, w->sm->why);
	w->lids = 0;
	assert_int_equal(store_scan(w->sm->store, STORE_LIDS, count_row, &w->lids, &e), 0);
}

static void
told_when_done(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t leaf = bed_node(b, "L1_1");
	struct witness w = { .sm = sm, .tap = tap_new(sm) };

	(void)state;
	event_ring_sink(sm->events, on_up, &w);
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(5)), 1);
	assert_int_equal(w.told, 1);
	assert_int_equal(w.lids, 36);
	for (unsigned i = 0; i < 2; i++) {
		tap_clear(w.tap);
		model_link_set(b->m, leaf, bed_port_to(b, leaf, bed_node(b, "A1_0")), i);
		bed_wait(b, SEC(3));
		assert_true(bed_quiet(sm, SEC(5)));
		assert_int_equal(w.told, 2 + i);
	}
	end(sm, w.tap);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extended_speeds),
		cmocka_unit_test(moved_cable),
		cmocka_unit_test(directed_routes_alone),
		cmocka_unit_test(told_when_done),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_reported", tests, NULL, NULL);
}
