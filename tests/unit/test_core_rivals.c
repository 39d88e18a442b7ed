/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "tests/unit/core_bed.h"

/*
 * Two places for one GUID in a fabric that lives: who was there first stays, whoever is left out is
 * told and gets in as soon as the GUID is free. And answers that are not true at all, and devices
 * out of reach: no sweep is endless, and in the end everything is as it should be.
 *
 * The fabric is a tree of leaves L0.. and spines S0.. with hosts H<leaf>_<n>; the subnet manager is
 * on H0_0.
 */
#define FABRIC "ft2 3 2 3"

/* The sum of what warnings of this sort count, e.g. "behind 3 ports a device claims". */
static unsigned
warned(struct bed_sm *sm, const char *words)
{
	struct subnet_status st;

	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		if (strstr(st.warnings[i], words)) {
			const char *n = strpbrk(st.warnings[i], "0123456789");

			return n ? (unsigned)strtoul(n, NULL, 10) : 0;
		}
	return 0;
}

static unsigned
own_port(const struct bed *b, uint32_t node)
{
	return b->m->nodes[node].type == NODE_SWITCH ? 0 : 1;
}

static struct bed_sm *
fabric_up(uint64_t seed)
{
	struct bed_sm *sm = bed_up(FABRIC, seed);

	assert_int_equal(bed_run(sm, SEC(10)), 1);
	bed_wait(sm->bed, SEC(1));
	bed_check(sm);
	return sm;
}

/* The words that path_text() has for the way from H0_0 over its leaf: "0,1,...". */
static void
assert_told(const struct bed_sm *sm, const char *kept, const char *left_out)
{
	const struct event *ev = bed_event(sm, EVENT_DUPLICATE, "two devices claim GUID");
	char word[80];

	if (!ev)
		fail_msg("nobody is told");
	snprintf(word, sizeof(word), "the one at path %s (", kept);
	if (!strstr(ev->text, word))
		fail_msg("no \"%s\" in: %s", word, ev->text);
	snprintf(word, sizeof(word), "the one at path %s is left out", left_out);
	if (!strstr(ev->text, word))
		fail_msg("no \"%s\" in: %s", word, ev->text);
}

/*
 * A port GUID that moves from host to host, with unplugged cables between: what the map of port
 * GUIDs says of a device that is gone is not followed.
 */
static void
replug(struct bed *b, uint32_t node, monotime off)
{
	model_link_set(b->m, node, 1, false);
	bed_wait(b, off);
	model_link_set(b->m, node, 1, true);
	bed_wait(b, SEC(1));
}

static void
test_port_guid_moves(void **state)
{
	static const monotime off[] = { 0, MSEC(50), SEC(12) };

	(void)state;
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		struct bed_sm *sm = fabric_up(i + 3);
		struct bed *b = sm->bed;
		uint32_t h1 = bed_node(b, "H1_0"), h2 = bed_node(b, "H2_0");
		uint32_t h3 = bed_node(b, "H1_1");
		uint64_t guid = model_port_guid(b->m, h1, 1), old = model_port_guid(b->m, h2, 1);

		model_set_port_guid(b->m, h1, 1, 0xbeef);
		replug(b, h1, off[i]);
		bed_wait(b, SEC(12));
		model_link_set(b->m, h1, 1, false);
		bed_wait(b, SEC(12));
		model_set_port_guid(b->m, h2, 1, guid);
		replug(b, h2, off[i]);
		if (!bed_becomes_good(sm, SEC(20)))
			fail_msg("%zu: H2_0 has H1_0's old port GUID: %s", i, sm->why);
		/* The hole in the table is filled by another, and somebody asks for the GUID. */
		model_set_port_guid(b->m, h3, 1, old);
		replug(b, h3, off[i]);
		model_link_set(b->m, h1, 1, true);
		bed_wait(b, SEC(1));
		if (!bed_becomes_good(sm, SEC(20)))
			fail_msg("%zu: H1_1 has H2_0's old port GUID: %s", i, sm->why);
		assert_int_equal(sm->s->plan->fabric->ncas, 9);
		assert_int_equal(sm->nevents[EVENT_DUPLICATE], 0);
		bed_free(b);
	}
}

struct rival {
	const char *impostor;	/* takes what the other has */
	const char *genuine;	/* had it first */
	bool node;		/* the node GUID */
	bool port;		/* the port GUID */
	const char *kept;	/* route to the genuine one; NULL: not looked at */
	const char *left_out;	/* and to the impostor */
};

static void
set_guids(struct bed *b, uint32_t node, uint64_t guid, uint64_t port)
{
	model_set_node_guid(b->m, node, guid);
	model_set_port_guid(b->m, node, own_port(b, node), port);
	model_reboot(b->m, node);
}

static void
impersonate(struct bed *b, const struct rival *r)
{
	uint32_t v = bed_node(b, r->impostor), g = bed_node(b, r->genuine);

	set_guids(b, v, b->m->nodes[r->node ? g : v].guid,
		  r->port ? model_port_guid(b->m, g, own_port(b, g)) :
		  model_port_guid(b->m, v, own_port(b, v)));
	b->bad[v] = true;
}

static void
live_rival(const struct rival *r)
{
	struct bed_sm *sm = fabric_up(3);
	struct bed *b = sm->bed;
	uint32_t v = bed_node(b, r->impostor), g = bed_node(b, r->genuine);
	uint64_t guid = b->m->nodes[v].guid, port = model_port_guid(b->m, v, own_port(b, v));
	uint16_t lid = model_portinfo(b->m, g, own_port(b, g))->lid;

	impersonate(b, r);
	bed_wait(b, SEC(30));
	bed_check(sm);
	assert_true(sm->nevents[EVENT_DUPLICATE] > 0);
	if (r->kept)
		assert_told(sm, r->kept, r->left_out);
	assert_true(warned(sm, "a device claims a GUID that is in use") > 0);
	/* A sweep that begins with nothing known does not turn it round, however near each is. */
	for (unsigned i = 0; i < 3; i++) {
		bed_sweep(sm, SEC(10));
		bed_wait(b, SEC(1));
		bed_check(sm);
		assert_int_equal(model_portinfo(b->m, g, own_port(b, g))->lid, lid);
		assert_true(warned(sm, "a device claims a GUID that is in use") > 0);
	}
	set_guids(b, v, guid, port);
	b->bad[v] = false;
	bed_wait(b, SEC(3));
	if (!bed_becomes_good(sm, SEC(2)))
		fail_msg("%s is itself again: %s", r->impostor, sm->why);
	assert_int_equal(warned(sm, "a device claims a GUID that is in use"), 0);
	bed_free(b);
}

static void
test_live_rivals(void **state)
{
	/* Ports of L1 and L2 1-3: hosts, 4-5: S0, S1; the spines' 1-3: L0, L1, L2. */
	static const struct rival rivals[] = {
		{ "H1_0", "H2_0", false, true, "0,1,4,3,1", "0,1,4,2,1" },
		{ "H1_0", "H2_0", true, false, "0,1,4,3,1", "0,1,4,2,1" },
		{ "H1_0", "H2_0", true, true, "0,1,4,3,1", "0,1,4,2,1" },
		{ "H2_0", "H1_0", true, true, "0,1,4,2,1", "0,1,4,3,1" },
		{ "H1_0", "H0_0", false, true, "0", "0,1,4,2,1" },
		{ "H1_0", "H0_0", true, false, "0", "0,1,4,2,1" },
		{ "S1", "H2_0", true, false, "0,1,4,3,1", NULL },
		{ "S1", "H2_0", true, true, NULL, NULL },
		{ "H1_0", "L2", true, false, NULL, NULL },
		{ "H0_1", "L2", true, false, NULL, NULL },
		{ "S1", "S0", true, true, NULL, NULL },
		{ "L1", "S1", true, true, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
		struct rival r = rivals[i];

		if (!r.left_out)
			r.kept = NULL;
		live_rival(&r);
	}
}

/* The two are there from the start: one is in, one is out, until the impostor is cured. */
static void
test_cold_rivals(void **state)
{
	static const struct rival rivals[] = {
		{ "H1_0", "H2_0", false, true, NULL, NULL },
		{ "H1_0", "H2_0", true, false, NULL, NULL },
		{ "H1_0", "H2_0", true, true, NULL, NULL },
		{ "H2_0", "H1_0", true, true, NULL, NULL },
		{ "L1", "L2", true, false, NULL, NULL },
		{ "L1", "L2", true, true, NULL, NULL },
		{ "S0", "S1", true, true, NULL, NULL },
		{ "S1", "H2_0", true, false, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
		struct bed *b = bed_new(FABRIC, i + 1);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t v = bed_node(b, rivals[i].impostor);
		uint64_t guid = b->m->nodes[v].guid;
		uint64_t port = model_port_guid(b->m, v, own_port(b, v));

		impersonate(b, &rivals[i]);
		bed_wait(b, SEC(1));
		bed_start(sm);
		assert_int_equal(bed_run(sm, SEC(20)), 1);
		assert_true(sm->nevents[EVENT_DUPLICATE] > 0);
		assert_true(warned(sm, "a device claims a GUID that is in use") > 0);
		/* Long enough for back-off to grow to minutes. */
		bed_wait(b, SEC(200));
		set_guids(b, v, guid, port);
		b->bad[v] = false;
		bed_wait(b, SEC(3));
		if (!bed_becomes_good(sm, SEC(2)))
			fail_msg("%s is itself again: %s", rivals[i].impostor, sm->why);
		bed_free(b);
	}
}

/* The holder's cable is pulled: the other one comes in at once, however long it was kept out. */
static void
test_holder_goes(void **state)
{
	static const struct rival r = { "H1_0", "H2_0", true, true, NULL, NULL };
	struct bed_sm *sm = fabric_up(3);
	struct bed *b = sm->bed;
	uint32_t v = bed_node(b, "H1_0"), g = bed_node(b, "H2_0");

	(void)state;
	impersonate(b, &r);
	bed_wait(b, SEC(100));
	assert_true(model_portinfo(b->m, v, 1)->state != PORT_ACTIVE);
	model_link_set(b->m, g, 1, false);
	b->bad[v] = false;
	bed_wait(b, SEC(1));
	if (!bed_becomes_good(sm, SEC(1)))
		fail_msg("the GUID is free: %s", sm->why);
	assert_int_equal(model_portinfo(b->m, v, 1)->state, PORT_ACTIVE);
	assert_int_equal(warned(sm, "a device claims a GUID that is in use"), 0);
	bed_free(b);
}

/* Back-off: light sweeps every 10 s ask the port 10, 20, 40, 80, 160 ... s after one another. */
static void
test_retries(void **state)
{
	static const struct rival r = { "H1_0", "H2_0", true, true, NULL, NULL };
	struct bed_sm *sm = fabric_up(3);
	struct bed *b = sm->bed;
	uint64_t asked;

	(void)state;
	impersonate(b, &r);
	bed_wait(b, SEC(2));
	assert_true(bed_quiet(sm, SEC(5)));
	model_count_reset(b->m);
	bed_wait(b, SEC(600));
	/* Each retry asks the claimant and then the holder. */
	asked = bed_count(b, MAD_GET, ATTR_NODE_INFO);
	if (asked < 6 || asked > 24)
		fail_msg("NodeInfo was asked for %u times in 10 minutes", (unsigned)asked);
	assert_int_equal(sm->nevents[EVENT_DUPLICATE], 1);
	bed_free(b);
}

/*
 * A directed route has at most 63 hops (IBA 14.2.2): the chain's host k is k + 2 hops away, its
 * switch k k + 1.
 */
static void
test_too_far(void **state)
{
	static const struct {
		unsigned switches;	/* in the chain */
		uint32_t reached;	/* hosts with a LID */
		unsigned ports;		/* with somebody out of reach behind them */
	} chains[] = { { 62, 62, 0 }, { 63, 62, 1 }, { 66, 62, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		char fabric[60];
		struct bed_sm *sm;
		struct subnet_status st;
		unsigned listed = 0;

		snprintf(fabric, sizeof(fabric), "mesh %u 1 1 1", chains[i].switches);
		sm = bed_up(fabric, 5);
		assert_int_equal(bed_run(sm, SEC(30)), 1);
		bed_wait(sm->bed, SEC(35));
		bed_sweep(sm, SEC(20));
		assert_int_equal(sm->s->plan->fabric->ncas, chains[i].reached);
		subnet_status(sm->s, &st);
		for (unsigned n = 0; n < st.nwarnings; n++)
			listed += strstr(st.warnings[n], "more than 63 hops away") != NULL;
		assert_int_equal(listed, chains[i].ports);
		/* Each is told once. */
		assert_int_equal(sm->nevents[EVENT_SILENT], chains[i].ports);
		if (listed)
			assert_non_null(bed_event(sm, EVENT_SILENT, "more than 63 hops away"));
		bed_free(sm->bed);
	}
}

/*
 * Answers that got damaged: the generator is of the test's own, so that each run is the same.
 */
struct damage {
	uint64_t rng;		/* xorshift state */
	unsigned kind;		/* what is done to answers */
};

static uint32_t
draw(struct damage *d, uint32_t below)
{
	d->rng ^= d->rng << 13;
	d->rng ^= d->rng >> 7;
	d->rng ^= d->rng << 17;
	return (uint32_t)((d->rng >> 11) % below);
}

static void
damage_node_info(struct damage *d, struct smp *s)
{
	struct nodeinfo ni;

	nodeinfo_decode(&ni, s->data);
	switch (draw(d, 6)) {
	case 0:
		ni.num_ports = (uint8_t)draw(d, 256);
		break;
	case 1:
		ni.node_type = (uint8_t)draw(d, 5);
		break;
	case 2:
		ni.local_port = (uint8_t)draw(d, 256);
		break;
	case 3:
		ni.node_guid = draw(d, 3);
		break;
	case 4:
		ni.port_guid = draw(d, 3);
		break;
	case 5:
		/* As the generator numbers hosts: somebody else's. */
		ni.node_guid = 0x100000 + draw(d, 8) * 2;
		break;
	}
	nodeinfo_encode(&ni, s->data);
}

static bool
damage_in(struct bed_sm *sm, struct port_mad *m)
{
	struct damage *d = sm->arg;
	struct smp s;

	if (smp_decode(&s, m->mad, MAD_SIZE) || s.h.method != MAD_GET_RESP)
		return true;
	switch (d->kind) {
	case 0:
		if (!draw(d, 20))
			for (size_t i = 0; i < sizeof(s.data); i++)
				s.data[i] = (uint8_t)draw(d, 256);
		break;
	case 1:
		if (!draw(d, 10))
			s.data[draw(d, sizeof(s.data))] ^= (uint8_t)(1u << draw(d, 8));
		break;
	case 2:
		if (s.h.attr_id == ATTR_NODE_INFO && !draw(d, 4))
			damage_node_info(d, &s);
		break;
	case 3:
		if (!draw(d, 20))
			memset(s.data, draw(d, 2) ? 0xff : 0, sizeof(s.data));
		break;
	}
	smp_encode(&s, m->mad);
	return true;
}

static void
test_damaged_answers(void **state)
{
	static const char *const fabrics[] = { FABRIC, "ft3 4", "torus 3 3 1 1" };

	(void)state;
	for (unsigned seed = 0; seed < 24; seed++) {
		struct bed *b = bed_new(fabrics[seed % 3], seed + 1);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		struct damage d = { 88172645463325252u + seed, seed / 3 % 4 };

		sm->arg = &d;
		sm->in = damage_in;
		bed_start(sm);
		for (unsigned i = 0; i < 10; i++) {
			bed_wait(b, SEC(3));
			subnet_sweep(sm->s);
			if (!draw(&d, 3))
				model_reboot(b->m, 1 + draw(&d, b->net->nnodes - 1));
		}
		sm->in = NULL;
		bed_wait(b, SEC(1));
		bed_sweep(sm, SEC(60));
		for (uint32_t n = 1; n < b->net->nnodes; n++)
			model_reboot(b->m, n);
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("seed %u: %s", seed, sm->why);
		bed_free(b);
	}
}

/* Everybody says in CapabilityMask that it knows extended speeds, and refuses the modifier's bit
 * that asks for them (IBA 14.2.5.6: bit 31). */
static bool
no_extended_in(struct bed_sm *sm, struct port_mad *m)
{
	struct portinfo i;
	struct smp s;

	(void)sm;
	if (smp_decode(&s, m->mad, MAD_SIZE) || s.h.method != MAD_GET_RESP ||
	    s.h.attr_id != ATTR_PORT_INFO)
		return true;
	if (s.h.attr_mod & 1u << 31) {
		s.h.status |= 0x1c;
	} else {
		portinfo_decode(&i, s.data);
		i.cap_mask |= CAP_EXTENDED_SPEEDS;
		portinfo_encode(&i, s.data);
	}
	smp_encode(&s, m->mad);
	return true;
}

static void
test_extended_refused(void **state)
{
	struct bed *b = bed_new(FABRIC, 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	sm->in = no_extended_in;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(10)), 1);
	bed_check(sm);
	/* 9 hosts without the bit, with it and without; port 0 of 5 switches, and of their 3 * 5
	 * and 2 * 3 other ports each with the bit and without. */
	model_count_reset(b->m);
	bed_sweep(sm, SEC(10));
	assert_true(bed_count(b, MAD_GET, ATTR_PORT_INFO) <= 3 * 9 + 5 + 2 * (15 + 6));
	bed_check(sm);
	bed_free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_guid_moves),
		cmocka_unit_test(test_live_rivals),
		cmocka_unit_test(test_cold_rivals),
		cmocka_unit_test(test_holder_goes),
		cmocka_unit_test(test_retries),
		cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_damaged_answers),
		cmocka_unit_test(test_extended_refused),
	};

	/* One test by name, for those who look for a fault. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_rivals", tests, NULL, NULL);
}
