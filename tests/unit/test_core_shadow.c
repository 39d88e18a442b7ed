/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "sm/wire/attr.h"
#include "sm/wire/mad.h"
#include "tests/unit/core_bed.h"

/*
 * What the subnet manager takes devices to hold stays true: faults that strike between a reading
 * and a Set, in the middle of a table, or under the feet of a push. Most tests let a fault happen
 * at the n-th request after a cause, for every n: no instant may leave a device wrong for good.
 */
#define BOUND SEC(60)

/* `at_once`: requests that a device gets at a time, 0: as many as usual. */
static struct bed_sm *
live(const char *fabric, unsigned at_once, bool (*out)(struct bed_sm *, struct port_mad *),
     void *arg)
{
	struct bed *b = bed_new(fabric, 3);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	sm->out = out;
	sm->arg = arg;
	sm->conf.read_tables = false;	/* of which there are many, and which nothing waits for */
	if (at_once)
		sm->conf.max_smps_per_device = at_once;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(20)), 1);
	assert_true(bed_quiet(sm, SEC(20)));
	bed_check(sm);
	return sm;
}

/* Good within the bound, without an administrator's help, and still so a while later. */
static void
mends_itself(struct bed_sm *sm, const char *what, unsigned at)
{
	if (!bed_becomes_good(sm, BOUND))
		fail_msg("%s at request %u: %s", what, at, sm->why);
	bed_wait(sm->bed, SEC(15));
	if (!bed_good(sm))
		fail_msg("%s at request %u: good for a while only: %s", what, at, sm->why);
}

/*
 * A fault at the n-th request.
 */
struct fault {
	struct bed_sm *sm;		/* whose requests are counted */
	unsigned at;			/* the fault comes with this request */
	unsigned seen;			/* requests since it was armed */
	bool armed;			/* requests are counted */
	void (*strike)(struct model *m, const struct fault *f);	/* what happens */
	uint32_t a, b;			/* nodes it is about */
	unsigned aport, bport;		/* and their ports */
};

static void
strike(void *arg)
{
	struct fault *f = arg;

	f->strike(f->sm->bed->m, f);
}

static bool
count(struct bed_sm *sm, struct port_mad *m)
{
	struct fault *f = sm->arg;
	struct smp smp;

	if (!f->armed || smp_decode(&smp, m->mad, sizeof(m->mad)) || f->seen++ < f->at)
		return true;
	f->armed = false;
	loop_post(sm->bed->loop, strike, f);
	return true;
}

static void
reset(struct model *m, const struct fault *f)
{
	model_reboot(m, f->a);
}

static void
recable(struct model *m, const struct fault *f)
{
	model_recable(m, f->a, f->aport, f->b, f->bport);
}

/* True while there are requests left at which the fault can strike. */
static bool
at_request(const char *fabric, const char *what, struct fault f,
	   void (*cause)(struct bed_sm *sm, const struct fault *f))
{
	struct bed_sm *sm = live(fabric, 0, count, &f);
	bool struck;

	f.sm = sm;
	f.armed = true;
	cause(sm, &f);
	bed_wait(sm->bed, SEC(2));
	struck = !f.armed;
	f.armed = false;
	mends_itself(sm, what, f.at);
	bed_free(sm->bed);
	return struck;
}

/*
 * Resets.
 */
static void
sweep_and_flap(struct bed_sm *sm, const struct fault *f)
{
	subnet_sweep(sm->s);
	model_link_set(sm->bed->m, f->a, 2, false);
	model_link_set(sm->bed->m, f->a, 2, true);
}

static void
other_reset(struct bed_sm *sm, const struct fault *f)
{
	model_reboot(sm->bed->m, f->b);
}

/* A cable flaps while everything is read, and then the switch loses all it was told. */
static void
flap_then_reset(void **state)
{
	struct bed *b = bed_new("mesh 3 2 1 2", 3);
	uint32_t first = bed_next(b, IBNET_SWITCH, 0);

	(void)state;
	bed_free(b);
	for (unsigned n = 0; n < 800; n++) {
		struct fault f = { .at = n, .strike = reset, .a = first + 1 + n % 2 };

		if (!at_request("mesh 3 2 1 2", "a reset after a flap", f, sweep_and_flap))
			break;
		assert_true(n < 799);
	}
}

static void
two_resets(void **state)
{
	struct bed *b = bed_new("mesh 3 2 1 2", 3);
	uint32_t first = bed_next(b, IBNET_SWITCH, 0);

	(void)state;
	bed_free(b);
	for (unsigned n = 0; n < 400; n++) {
		struct fault f = { .at = n, .strike = reset, .a = first + 1, .b = first + 2 };

		if (!at_request("mesh 3 2 1 2", "a second reset", f, other_reset))
			break;
		assert_true(n < 399);
	}
}

/*
 * Cables that move.
 */
static bool
joins_switches(const struct bed *b, uint32_t node, unsigned port)
{
	uint32_t peer = b->m->nodes[node].ports[port].peer;

	return peer != IBNET_NONE && b->net->nodes[node].type == IBNET_SWITCH &&
	       b->net->nodes[peer].type == IBNET_SWITCH;
}

/* The n-th port in the order of nodes that is cabled from switch to switch. */
static bool
nth_port(const struct bed *b, unsigned n, uint32_t *node, unsigned *port)
{
	for (*node = 0; *node < b->net->nnodes; ++*node)
		for (*port = 1; *port <= b->net->nodes[*node].nports; ++*port)
			if (joins_switches(b, *node, *port) && !n--)
				return true;
	return false;
}

/*
 * Tables have been computed and are about to be written. Now a cable on the way to other switches
 * is put into one elsewhere: what was meant for one device arrives at another, which says "done".
 */
static bool
cable_moves(const char *fabric, unsigned from, unsigned to)
{
	struct fault f = { 0 };
	struct bed_sm *sm = live(fabric, 0, count, &f);
	struct bed *b = sm->bed;
	bool there = nth_port(b, from, &f.a, &f.aport) && nth_port(b, to, &f.b, &f.bport) &&
		     f.a != f.b;
	char what[80];

	if (there) {
		/* Something to write for each of them: a host is gone. */
		model_link_set(b->m, bed_next(b, IBNET_CA, sm->node + 1), 1, false);
		while (sm->s->stage != SUBNET_ROUTE)
			bed_wait(b, USEC(20));
		recable(b->m, &f);
		snprintf(what, sizeof(what), "%s: cable %u to %u", fabric, from, to);
		mends_itself(sm, what, 0);
	}
	bed_free(b);
	return there;
}

static void
cables_move(void **state)
{
	static const char *const fabrics[] = { "ft3 4", "torus 3 3 1 1", "ft2 4 2 3 2" };
	unsigned moves = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned from = 0; from < 24; from++)
			for (unsigned to = from % 3; to < 24; to += 3)
				moves += cable_moves(fabrics[i], from, to);
	assert_true(moves > 100);
}

/*
 * Tables that are not finished.
 */
struct torn {
	struct model *m;	/* the fabric */
	uint32_t patient;	/* its second block and all later ones are lost */
	bool tearing;		/* now */
	unsigned first;		/* Sets of its first block that got through meanwhile */
};

/* The node at the end of a directed route; the SMP starts at a host. */
static uint32_t
addressee(const struct model *m, uint32_t at, const struct smp *smp)
{
	for (unsigned i = 1; i <= smp->hop_count && at != IBNET_NONE; i++)
		at = m->nodes[at].ports[smp->path[i]].peer;
	return at;
}

static bool
tear(struct bed_sm *sm, struct port_mad *mad)
{
	struct torn *t = sm->arg;
	struct smp smp;

	if (!t->tearing || smp_decode(&smp, mad->mad, sizeof(mad->mad)) ||
	    smp.h.method != MAD_SET || smp.h.attr_id != ATTR_LINEAR_FDB ||
	    addressee(t->m, sm->node, &smp) != t->patient)
		return true;
	t->first += !smp.h.attr_mod;
	return !smp.h.attr_mod;
}

static void
until_torn(struct bed_sm *sm, const struct torn *t)
{
	for (unsigned i = 0; i < 10000 && !(t->first && sm->s->push_incomplete); i++)
		bed_wait(sm->bed, MSEC(1));
	assert_true(t->first > 0);
	assert_true(sm->s->push_incomplete);
}

/* A host that is not on the first two leaves and whose LID is in this block. */
static uint32_t
host_in(const struct bed *b, unsigned block)
{
	uint32_t n = bed_node(b, "H2_0");

	while (n != IBNET_NONE && model_portinfo(b->m, n, 1)->lid / LFT_BLOCK_LEN != block)
		n = bed_next(b, IBNET_CA, n + 1);
	assert_true(n != IBNET_NONE);
	return n;
}

/*
 * Two hosts go. Of the three blocks of its table a switch takes the first, which changes; the
 * second is lost, and the third is not come to. Before that is tried again the hosts are back and
 * the old table is the right one. The block that was written must not be taken to be the old one.
 */
static void
torn_table(void **state)
{
	struct torn t = { 0 };
	struct bed_sm *sm = live("ft2 6 2 24", 1, tear, &t);
	struct bed *b = sm->bed;
	uint32_t hosts[2];

	(void)state;
	t.m = b->m;
	t.patient = bed_node(b, "L1");
	/* With one cable to the rest it has one table. */
	model_link_set(b->m, t.patient, 26, false);
	mends_itself(sm, "one cable", 0);
	for (unsigned i = 0; i < 2; i++)
		hosts[i] = host_in(b, i);
	t.tearing = true;
	for (unsigned i = 0; i < 2; i++)
		model_link_set(b->m, hosts[i], 1, false);
	until_torn(sm, &t);
	t.tearing = false;
	for (unsigned i = 0; i < 2; i++)
		model_link_set(b->m, hosts[i], 1, true);
	mends_itself(sm, "a torn table", 0);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flap_then_reset),
		cmocka_unit_test(two_resets),
		cmocka_unit_test(cables_move),
		cmocka_unit_test(torn_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
