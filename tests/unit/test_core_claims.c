/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/direct.h"
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"

/*
 * Devices that claim what is not so: impossible NodeInfo, GUIDs that live elsewhere, notices about
 * nobody. And cables that move while a sweep looks at them. Whatever it is, sweeps end, and the
 * rest of the fabric is in order.
 */

/* What one device says of itself instead of the truth, told from others by the port GUID that it
 * really has. */
struct lie {
	uint64_t port_guid;	/* of whom; 0: this lie is not told */
	uint64_t node_guid;	/* 0: as it is */
	uint64_t system_guid;	/* 0: as it is */
	uint64_t new_port_guid;	/* 0: as it is */
	unsigned type;		/* 0: as it is */
	unsigned ports;		/* 0: as it is */
	unsigned local_port;	/* 0: as it is */
	bool no_guid;		/* node GUID 0 */
	bool new_guid;		/* another node GUID in each answer */
	bool new_ports;		/* another number of ports in each answer */
	unsigned told;		/* answers so far */
};

#define LIES 4
#define TRAINED MSEC(2)		/* a cable that was plugged in is up */

static void
tell(struct lie *l, struct nodeinfo *ni)
{
	l->told++;
	if (l->node_guid || l->no_guid)
		ni->node_guid = l->node_guid;
	if (l->system_guid)
		ni->system_guid = l->system_guid;
	if (l->new_port_guid)
		ni->port_guid = l->new_port_guid;
	if (l->type)
		ni->node_type = (uint8_t)l->type;
	if (l->ports)
		ni->num_ports = (uint8_t)l->ports;
	if (l->local_port)
		ni->local_port = (uint8_t)l->local_port;
	if (l->new_guid)
		ni->node_guid = 0xbad0000 + l->told;
	if (l->new_ports)
		ni->num_ports = (uint8_t)(8 + l->told % 7);
}

static bool
lie_in(struct bed_sm *sm, struct port_mad *m)
{
	struct lie *lies = sm->arg;
	struct nodeinfo ni;
	struct smp smp;

	if (smp_decode(&smp, m->mad, MAD_SIZE) || smp.h.attr_id != ATTR_NODE_INFO ||
	    smp.h.method != MAD_GET_RESP)
		return true;
	nodeinfo_decode(&ni, smp.data);
	for (unsigned i = 0; i < LIES; i++) {
		if (!lies[i].port_guid || lies[i].port_guid != ni.port_guid)
			continue;
		tell(&lies[i], &ni);
		nodeinfo_encode(&ni, smp.data);
		smp_encode(&smp, m->mad);
		break;
	}
	return true;
}

static uint64_t
port_guid(const struct bed *b, uint32_t node)
{
	return model_port_guid(b->m, node, b->net->nodes[node].type == IBNET_SWITCH ? 0 : 1);
}

/* Bring-up, a heavy sweep and some light ones with liars among the nodes; then they confess. */
static void
endure(struct bed_sm *sm, const char *what)
{
	struct bed *b = sm->bed;

	bed_start(sm);
	if (!bed_becomes_good(sm, SEC(30)))
		fail_msg("%s: %s", what, sm->why);
	bed_sweep(sm, SEC(20));
	bed_wait(b, SEC(35));
	if (!bed_good(sm))
		fail_msg("%s, later: %s", what, sm->why);
	sm->in = NULL;
	memset(b->bad, 0, b->net->nnodes);
	/* A sweep to see who they are, and one if that meant to look again. */
	bed_sweep(sm, SEC(20));
	bed_wait(b, SEC(1));
	bed_sweep(sm, SEC(20));
	if (!bed_becomes_good(sm, SEC(60)))
		fail_msg("%s, and then the truth: %s", what, sm->why);
	assert_int_equal(sm->s->plan->fabric->nnodes, b->net->nnodes);
}

static void
one_liar(uint32_t node, const struct lie *lie, const char *what)
{
	struct bed *b = bed_new("ft3 4", node + 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	struct lie lies[LIES] = { *lie };

	lies[0].port_guid = port_guid(b, node);
	b->bad[node] = true;
	sm->arg = lies;
	sm->in = lie_in;
	endure(sm, what);
	assert_true(lies[0].told > 0);
	bed_free(b);
}

static void
test_impossible(void **state)
{
	/* A host next to us and one far off; a switch at the edge, in the middle, at the top. */
	static const uint32_t who[] = { 1, 9, 18, 25, 35 };
	static const struct {
		struct lie lie;		/* what is said */
		const char *what;	/* in words */
	} lies[] = {
		{ { .no_guid = true }, "node GUID 0" },
		{ { .type = 7 }, "node type 7" },
		{ { .ports = 255 }, "255 ports" },
		{ { .local_port = 99 }, "local port 99" },
		{ { .local_port = 255 }, "local port 255" },
		{ { .type = 3 }, "a router" },
		{ { .ports = 254 }, "254 ports" },
		{ { .ports = 1 }, "1 port" },
		{ { .new_ports = true }, "another number of ports each time" },
		{ { .new_guid = true }, "another GUID each time" },
	};

	(void)state;
	for (size_t l = 0; l < sizeof(lies) / sizeof(lies[0]); l++)
		for (size_t w = 0; w < sizeof(who) / sizeof(who[0]); w++) {
			char what[100];

			/* Swept again and again: two of them take their time. */
			if (lies[l].lie.new_guid && w % 4)
				continue;
			snprintf(what, sizeof(what), "node %u says %s", who[w], lies[l].what);
			one_liar(who[w], &lies[l].lie, what);
		}
}

/* Every port of a switch says that it is port 2, or a host that it is the switch's neighbour. */
static void
test_wrong_port(void **state)
{
	(void)state;
	for (uint32_t node = 16; node < 36; node++) {
		struct bed *b = bed_new("ft3 4", node);
		struct bed_sm *sm = bed_sm(b, 0, 1);

		if (node == b->net->nodes[0].ports[1].peer) {
			bed_free(b);
			continue;
		}
		model_lie_local_port(b->m, node, 2);
		b->bad[node] = true;
		bed_start(sm);
		if (!bed_becomes_good(sm, SEC(20)))
			fail_msg("node %u is always port 2: %s", node, sm->why);
		model_lie_local_port(b->m, node, 0);
		b->bad[node] = false;
		bed_sweep(sm, SEC(20));
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("node %u is in order again: %s", node, sm->why);
		bed_free(b);
	}
}

/*
 * B14: two of one GUID. The nearer one is found first and stays; both places are told by path.
 */
static void
double_guid(const char *fabric, uint32_t first, uint32_t second, bool same_system, bool same_port)
{
	struct bed *b = bed_new(fabric, first * 100 + second + 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	struct lie lies[LIES] = { {
		.port_guid = port_guid(b, second),
		.node_guid = b->net->nodes[first].guid,
		.system_guid = same_system ? b->net->nodes[first].system_guid : 0,
		.new_port_guid = same_port ? port_guid(b, first) : 0,
	} };
	const struct event *ev;
	char what[120];

	snprintf(what, sizeof(what), "%s: node %u has the GUID of %u%s%s", fabric, second, first,
		 same_system ? ", and its system GUID" : "",
		 same_port ? ", and its port GUID" : "");
	b->bad[second] = true;
	/* Which of two at one distance is found first is nobody's promise. */
	b->bad[first] = first != sm->node;
	sm->arg = lies;
	sm->in = lie_in;
	bed_start(sm);
	if (!bed_becomes_good(sm, SEC(30)))
		fail_msg("%s: %s", what, sm->why);
	ev = bed_event(sm, EVENT_DUPLICATE, "two devices claim GUID");
	if (!ev)
		fail_msg("%s: nobody is told", what);
	/* Ours is at path 0, and so every other path begins. */
	assert_non_null(strstr(ev->text, "the one at path 0"));
	assert_non_null(strstr(strstr(ev->text, " is kept, "), "the one at path 0,"));
	bed_stop(sm);
	bed_forget(sm);
	memset(b->bad, 0, b->net->nnodes);
	b->bad[second] = true;
	b->bad[first] = first != sm->node;
	endure(sm, what);
	bed_free(b);
}

static void
test_double_hosts(void **state)
{
	(void)state;
	for (unsigned flags = 0; flags < 4; flags++) {
		double_guid("ft3 4", 1, 9, flags & 1, flags & 2);
		double_guid("ft3 4", 9, 1, flags & 1, flags & 2);
		double_guid("ft3 4", 8, 9, flags & 1, flags & 2);
		/* Of our own node: we are the first, wherever the other is. */
		double_guid("ft3 4", 0, 1, flags & 1, flags & 2);
		double_guid("ft3 4", 0, 15, flags & 1, flags & 2);
		double_guid("ft2 1 1 6", 0, 5, flags & 1, flags & 2);
	}
}

static void
test_double_port(void **state)
{
	static const uint32_t pairs[][2] = { { 1, 9 }, { 8, 9 }, { 0, 1 }, { 0, 15 } };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct bed *b = bed_new("ft3 4", i + 1);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t first = pairs[i][0], second = pairs[i][1];
		uint64_t own = port_guid(b, second);

		model_set_port_guid(b->m, second, 1, port_guid(b, first));
		b->bad[second] = true;
		b->bad[first] = first != 0;
		bed_start(sm);
		if (!bed_becomes_good(sm, SEC(30)))
			fail_msg("%u has %u's port GUID: %s", second, first, sm->why);
		assert_non_null(bed_event(sm, EVENT_DUPLICATE, "GUID"));
		/* One of the two is in, the other out. */
		assert_int_equal(sm->s->plan->fabric->ncas, 15);
		model_set_port_guid(b->m, second, 1, own);
		b->bad[second] = b->bad[first] = false;
		bed_sweep(sm, SEC(20));
		bed_sweep(sm, SEC(20));
		if (!bed_becomes_good(sm, SEC(30)))
			fail_msg("%u has its own port GUID: %s", second, sm->why);
		bed_free(b);
	}
}

static void
test_double_switches(void **state)
{
	(void)state;
	for (uint32_t first = 16; first < 36; first++)
		for (uint32_t second = 16; second < 36; second++) {
			/* Not the one that we hang on: that it stays is in another test. */
			if (first == second || first == 16 || second == 16)
				continue;
			double_guid("ft3 4", first, second, (first + second) & 1, false);
		}
}

/* Another switch has the GUID of the one that we hang on. */
static void
test_double_first_switch(void **state)
{
	(void)state;
	for (uint32_t second = 17; second < 36; second++) {
		struct bed *b = bed_new("ft3 4", second);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t first = b->net->nodes[0].ports[1].peer;
		struct lie lies[LIES] = { {
			.port_guid = port_guid(b, second), .node_guid = b->net->nodes[first].guid,
			.system_guid = second & 1 ? b->net->nodes[first].system_guid : 0,
		} };

		assert_int_equal(first, 16);
		b->bad[second] = true;
		sm->arg = lies;
		sm->in = lie_in;
		endure(sm, "the first switch's GUID lives twice");
		bed_free(b);
	}
}

/*
 * Changes in mid-sweep.
 */
static void
random_change(struct bed *b, struct bed_sm *sm, uint64_t *rng)
{
	uint32_t n;
	unsigned p;

	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	n = (uint32_t)(*rng >> 33) % b->net->nnodes;
	p = 1 + (unsigned)(*rng >> 20) % b->net->nodes[n].nports;
	/* Our own cable is another story. */
	if (n == sm->node || b->net->nodes[n].ports[p].peer == sm->node)
		return;
	model_link_set(b->m, n, p, (*rng >> 50) & 1);
}

static void
all_links_up(struct bed *b)
{
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++)
			model_link_set(b->m, n, p, true);
}

static void
test_flaps(void **state)
{
	static const char *const fabrics[] = { "ft3 4", "torus 3 3 1 2", "random 12 3 2 5" };

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct bed *b = bed_new(fabrics[seed % 3], seed);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint64_t rng = seed;

		bed_start(sm);
		for (unsigned i = 0; i < 40; i++) {
			random_change(b, sm, &rng);
			if (seed & 1 && i % 10 == 0)
				subnet_sweep(sm->s);
			bed_wait(b, USEC(50) * (1 + (monotime)(rng >> 60)));
		}
		bed_wait(b, TRAINED);
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("seed %u, some cables gone: %s", (unsigned)seed, sm->why);
		all_links_up(b);
		bed_wait(b, TRAINED);
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("seed %u, all cables back: %s", (unsigned)seed, sm->why);
		assert_int_equal(bed_run(sm, SEC(60)), 1);
		assert_int_equal(sm->s->plan->fabric->nnodes, b->net->nnodes);
		assert_int_equal(sm->s->plan->fabric->nlinks, b->net->nlinks);
		assert_int_equal(sm->nevents[EVENT_DUPLICATE], 0);
		bed_free(b);
	}
}

/* Two hosts change places, in a sweep and without one, by trap and without. */
static void
test_swapped_cables(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		struct bed *b = bed_new("ft3 4", i + 1);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t x = 3, y = 12, sx, sy;
		uint16_t lid;
		unsigned px, py;

		bed_start(sm);
		assert_int_equal(bed_run(sm, SEC(5)), 1);
		lid = model_portinfo(b->m, x, 1)->lid;
		sx = b->net->nodes[x].ports[1].peer;
		px = b->net->nodes[x].ports[1].peer_port;
		sy = b->net->nodes[y].ports[1].peer;
		py = b->net->nodes[y].ports[1].peer_port;
		if (i & 1)
			subnet_sweep(sm->s);
		bed_wait(b, MSEC(10) + USEC(40) * i);
		model_recable(b->m, sx, px, y, 1);
		if (i & 2)
			bed_wait(b, MSEC(1));
		model_recable(b->m, sy, py, x, 1);
		bed_wait(b, TRAINED);
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("%u: %s", i, sm->why);
		/* A LID goes with its host. */
		assert_int_equal(model_portinfo(b->m, x, 1)->lid, lid);
		bed_free(b);
	}
}

/* B3: a host with two ports: its cable moves from one to the other faster than a sweep. */
static void
test_other_port(void **state)
{
	static const char fabric[] =
		"switchguid=0xa0(a0)\nSwitch 6 \"A\"  # \"A\" base port 0 lid 0 lmc 0\n"
		"[1] \"h1\"[1]\n[2] \"h2\"[1]\n[3] \"h3\"[1]\n\n"
		"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 2 \"h2\"\n\n"
		"caguid=0x30\nCa 1 \"h3\"\n\n";

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		struct bed *b = bed_new(fabric, i + 1);
		uint32_t h2 = bed_node(b, "h2"), a = bed_node(b, "A");
		struct bed_sm *sm = bed_sm(b, bed_node(b, "h1"), 1);
		uint32_t n;

		bed_start(sm);
		assert_int_equal(bed_run(sm, SEC(5)), 1);
		if (i & 1)
			subnet_sweep(sm->s);
		bed_wait(b, MSEC(10) + USEC(10) * i);
		model_recable(b->m, a, 2, h2, 2);
		bed_wait(b, TRAINED);
		if (!bed_becomes_good(sm, SEC(30)))
			fail_msg("%u: %s", i, sm->why);
		n = fabric_node_by_guid(sm->s->plan->fabric, 0x20);
		assert_int_equal(sm->s->plan->fabric->nlinks, 3);
		assert_int_equal(fabric_port_at(sm->s->plan->fabric, n, 1)->peer, FABRIC_NONE);
		assert_true(fabric_port_at(sm->s->plan->fabric, n, 2)->peer != FABRIC_NONE);
		bed_free(b);
	}
}

/*
 * B7: notices, also of devices that are not known, and by numbers of ports that they do not have.
 */
static void
test_notices(void **state)
{
	static const uint16_t traps[] = { 64, 128, 129, 130, 131, 144, 145, 256, 257, 0xffff };
	static const uint16_t lids[] = { 0, 1, 999, 0xbfff, 0xc000, 0xffff };
	static const uint8_t ports[] = { 0, 1, 2, 5, 37, 254, 255 };
	struct bed_sm *sm = bed_up("ft3 4", 1);
	struct bed *b = sm->bed;
	unsigned sent = 0, repressed = 0;
	struct model_client_events ev = { .receive = bed_count_repress, .arg = &repressed };
	struct model_client *c;

	(void)state;
	assert_int_equal(bed_run(sm, SEC(5)), 1);
	c = model_attach(b->m, 5, 1, &ev);
	for (size_t t = 0; t < sizeof(traps) / 2; t++)
		for (size_t l = 0; l < sizeof(lids) / 2; l++)
			for (size_t p = 0; p < sizeof(ports); p++) {
				struct notice n = {
					.generic = !(t & l & 1), .type = 1, .trap = traps[t],
					.issuer_lid = lids[l],
				};

				/* Where 128 has its LID, 129 to 131 theirs and 144 its own. */
				n.details[0] = n.details[2] = (uint8_t)(lids[l] >> 8);
				n.details[1] = n.details[3] = (uint8_t)lids[l];
				n.details[4] = ports[p];
				bed_notice(sm, c, ++sent, &n);
				bed_wait(b, USEC(100));
			}
	assert_true(bed_quiet(sm, SEC(5)));
	assert_int_equal(repressed, sent);
	bed_check(sm);
	/* So many are looked at once a second. */
	bed_wait(b, SEC(10));
	assert_true(bed_quiet(sm, SEC(5)));
	/* The LID of nobody: somebody's link changed, so each switch is asked. */
	model_count_reset(b->m);
	bed_notice(sm, c, ++sent, &(struct notice){ .generic = true, .trap = 128,
		    .details = { 3, 0xe7 } });
	bed_wait(b, MSEC(1));
	assert_true(bed_quiet(sm, SEC(5)));
	assert_int_equal(bed_count(b, MAD_GET, ATTR_SWITCH_INFO), 20);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_LINEAR_FDB), 0);
	bed_free(b);
}

/* The same while nothing is known yet: the daemon starts again on a fabric that is programmed. */
static void
test_early_notices(void **state)
{
	static const uint16_t traps[] = { 128, 129, 130, 131, 144, 256 };
	struct bed_sm *sm = bed_up("ft3 4", 1);
	struct bed *b = sm->bed;
	uint16_t lids[36] = { 0 };
	struct model_client *c;
	unsigned sent = 0, repressed = 0;
	struct model_client_events ev = { .receive = bed_count_repress, .arg = &repressed };

	(void)state;
	assert_int_equal(bed_run(sm, SEC(5)), 1);
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		lids[n] = model_portinfo(b->m, n, b->net->nodes[n].type != IBNET_SWITCH)->lid;
	c = model_attach(b->m, 5, 1, &ev);
	bed_stop(sm);
	bed_start(sm);
	do {
		struct notice n = {
			.generic = true, .type = 1, .trap = traps[sent % 6],
			.issuer_lid = lids[sent % 36],
		};

		n.details[0] = n.details[2] = (uint8_t)(n.issuer_lid >> 8);
		n.details[1] = n.details[3] = (uint8_t)n.issuer_lid;
		n.details[4] = (uint8_t)(sent % 6);	/* 0 is a switch's own, 5 is none */
		bed_notice(sm, c, ++sent, &n);
		bed_wait(b, USEC(30));
	} while (!subnet_is_up(sm->s) && sent < 10000);
	assert_in_range(sent, 20, 9999);
	assert_true(bed_quiet(sm, SEC(5)));
	assert_true(repressed > 0);
	bed_check(sm);
	bed_free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_wrong_port),
		cmocka_unit_test(test_double_hosts),
		cmocka_unit_test(test_double_port),
		cmocka_unit_test(test_double_switches),
		cmocka_unit_test(test_double_first_switch),
		cmocka_unit_test(test_flaps),
		cmocka_unit_test(test_swapped_cables),
		cmocka_unit_test(test_other_port),
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_early_notices),
	};

	/* One test by name, for those who look for a fault. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_claims", tests, NULL, NULL);
}
