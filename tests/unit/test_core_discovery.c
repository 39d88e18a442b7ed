/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"

/*
 * Bring-up of whole fabrics: of every shape, from every place, with devices that do not answer and
 * MADs that get lost. How many MADs a sweep takes is counted by hand from the specification.
 */
#define STORMS 60

static const char pair[] =
	"caguid=0x10\nCa 1 \"h1\"\n[1] \"h2\"[1]\n\n"
	"caguid=0x20\nCa 1 \"h2\"\n\n";

static const char alone[] = "caguid=0x10\nCa 1 \"h1\"\n\n";

/* h1 and h2 on A, h3 on B; A-B by two cables. */
static const char two_switches[] =
	"switchguid=0xa0(a0)\nSwitch 6 \"A\"  # \"A\" base port 0 lid 0 lmc 0\n"
	"[1] \"h1\"[1]\n[2] \"h2\"[1]\n[3] \"B\"[1]\n[4] \"B\"[2]\n\n"
	"switchguid=0xb0(b0)\nSwitch 6 \"B\"  # \"B\" base port 0 lid 0 lmc 0\n"
	"[3] \"h3\"[1]\n\n"
	"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 1 \"h2\"\n\ncaguid=0x30\nCa 1 \"h3\"\n\n";

static void
come_up(struct bed_sm *sm, monotime bound)
{
	int outcome = bed_run(sm, bound);

	if (outcome != 1)
		fail_msg("outcome %d: %s", outcome, sm->why);
	bed_check(sm);
}

static void
up_from(const char *fabric, enum ibnet_type type, unsigned skip, unsigned port, uint64_t seed)
{
	struct bed *b = bed_new(fabric, seed);
	uint32_t node = bed_next(b, type, 0);
	struct bed_sm *sm;

	while (skip--)
		node = bed_next(b, type, node + 1);
	sm = bed_sm(b, node, port);
	bed_start(sm);
	come_up(sm, SEC(30));
	/* A sweep of a fabric that is in order changes nothing. */
	model_count_reset(b->m);
	bed_sweep(sm, SEC(30));
	assert_int_equal(bed_count(b, MAD_SET, ATTR_PORT_INFO), 0);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_LINEAR_FDB), 0);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_SWITCH_INFO), 0);
	assert_int_equal(sm->nevents[EVENT_SILENT], 0);
	assert_int_equal(sm->nevents[EVENT_DUPLICATE], 0);
	bed_free(b);
}

static void
test_shapes(void **state)
{
	(void)state;
	up_from("ft3 4", IBNET_CA, 0, 1, 1);
	up_from("ft3 8", IBNET_CA, 0, 1, 2);
	up_from("ft2 4 2 4 2", IBNET_CA, 0, 1, 3);
	up_from("ft2 1 1 6", IBNET_CA, 0, 1, 3);
	up_from("torus 4 4 4 2", IBNET_CA, 0, 1, 4);
	up_from("mesh 3 3 1 2", IBNET_CA, 0, 1, 5);
	up_from("dragonfly 4 2 2 9", IBNET_CA, 0, 1, 6);
	for (uint64_t seed = 7; seed < 27; seed++) {
		char recipe[40];

		snprintf(recipe, sizeof(recipe), "random %u %u 3 %u", (unsigned)seed + 3,
			 2 + (unsigned)seed % 4, (unsigned)seed);
		up_from(recipe, IBNET_CA, 0, 1, seed);
	}
}

static void
test_places(void **state)
{
	(void)state;
	up_from("ft3 4", IBNET_CA, 15, 1, 1);
	up_from("ft3 4", IBNET_CA, 7, 1, 2);
	/* On port 0 of an edge switch, and of a spine. */
	up_from("ft3 4", IBNET_SWITCH, 0, 0, 3);
	up_from("ft3 4", IBNET_SWITCH, 19, 0, 4);
	up_from(two_switches, IBNET_SWITCH, 1, 0, 5);
	up_from(two_switches, IBNET_CA, 2, 1, 6);
	up_from(pair, IBNET_CA, 0, 1, 7);
	up_from(pair, IBNET_CA, 1, 1, 8);
	up_from("torus 3 3 3 1", IBNET_CA, 13, 1, 9);
}

static void
test_falls_back(void **state)
{
	static const char *engines[] = { "minhop", "updn", NULL };
	struct bed *b = bed_new("torus 4 4 4 2", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	struct subnet_status st;

	(void)state;
	sm->conf.routing.engines = engines;
	bed_start(sm);
	come_up(sm, SEC(10));
	subnet_status(sm->s, &st);
	assert_string_equal(st.engine_requested, "minhop");
	assert_string_equal(st.engine_running, "updn");
	assert_non_null(strstr(st.reason, "credit loop"));
	assert_int_equal(st.hosts, 128);
	assert_int_equal(st.switches, 64);
	/* 128 to the hosts, and 3 x 64 between the switches. */
	assert_int_equal(st.links, 128 + 192);
	bed_free(b);
}

/* A port without a cable: said in bounded time, and followed by life when the cable comes. */
static void
test_port_down(void **state)
{
	struct bed *b = bed_new(alone, 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(2)), -1);
	assert_non_null(strstr(sm->why, "h1"));
	bed_free(b);

	b = bed_new(pair, 1);
	model_link_set(b->m, 0, 1, false);
	sm = bed_sm(b, 0, 1);
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(2)), -1);
	bed_wait(b, SEC(100));
	assert_int_equal(bed_count(b, MAD_SET, ATTR_PORT_INFO), 0);
	model_link_set(b->m, 0, 1, true);
	bed_wait(b, MSEC(2));
	come_up(sm, SEC(2));
	bed_free(b);
}

/*
 * A three-level fat tree of 8-port switches has 128 hosts, 80 switches and 384 cables: 128 to the
 * hosts, 128 to the middle, 128 to the top. Least: NodeInfo once a cable and once here, and once
 * more of each other host, by ways that take in all other cables too, before they carry traffic;
 * PortInfo once a port of a switch (9
 * with port 0) and once a host; two Sets a cabled port (INIT to ARMED with all else, ARMED to
 * ACTIVE) and one a port 0; 207 or 208 LIDs are four blocks a switch.
 */
static void
test_counts(void **state)
{
	struct bed_sm *sm = bed_up("ft3 8", 1);
	const struct bed *b = sm->bed;
	uint64_t sets;

	(void)state;
	come_up(sm, SEC(5));
	assert_int_equal(bed_count(b, MAD_GET, ATTR_NODE_INFO), 384 + 1 + 127);
	assert_int_equal(bed_count(b, MAD_GET, ATTR_NODE_DESCRIPTION), 128 + 80);
	assert_int_equal(bed_count(b, MAD_GET, ATTR_SWITCH_INFO), 80);
	/* One more: that this model has extended speeds is known when the first has said so. */
	assert_int_equal(bed_count(b, MAD_GET, ATTR_PORT_INFO), 80 * 9 + 128 + 1);
	assert_int_equal(bed_count(b, MAD_GET, ATTR_P_KEY_TABLE), 2 * 128);
	assert_int_equal(bed_count(b, MAD_GET, ATTR_LINEAR_FDB), 0);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_SWITCH_INFO), 80);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_P_KEY_TABLE), 0);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_LINEAR_FDB), 80 * 4);
	sets = bed_count(b, MAD_SET, ATTR_PORT_INFO);
	assert_int_equal(sets, 2 * 128 + 80 * (2 * 8 + 1));
	assert_int_equal(model_sent(b->m), 512 + 208 + 80 + 849 + 2 * 128 + 80 + 320 + sets);
	bed_free(sm->bed);
}

/*
 * Silence.
 */
static void
set_bad(struct bed *b, uint32_t node)
{
	b->bad[node] = true;
}

static void
test_silent_host(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	struct subnet_status st;

	(void)state;
	model_silence(b->m, 9, MODEL_SILENT);
	set_bad(b, 9);
	bed_start(sm);
	come_up(sm, SEC(5));
	subnet_status(sm->s, &st);
	assert_int_equal(st.silent, 1);
	assert_int_equal(st.hosts, 15);
	/* It answers one day, and is taken in within the back-off (a minute at most). */
	bed_wait(b, SEC(75));
	model_silence(b->m, 9, MODEL_ANSWERS);
	b->bad[9] = false;
	assert_true(bed_becomes_good(sm, SEC(620)));
	subnet_status(sm->s, &st);
	assert_int_equal(st.silent, 0);
	bed_free(b);
}

static void
test_silent_switch(void **state)
{
	/* An edge switch takes its hosts along; the middle and the top have substitutes. */
	(void)state;
	for (uint32_t skip = 1; skip < 20; skip++) {
		struct bed *b = bed_new("ft3 4", skip);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t sw = bed_next(b, IBNET_SWITCH, 0) + skip;

		model_silence(b->m, sw, skip & 1 ? MODEL_SILENT : MODEL_HUNG);
		set_bad(b, sw);
		bed_start(sm);
		come_up(sm, SEC(8));
		model_silence(b->m, sw, MODEL_ANSWERS);
		b->bad[sw] = false;
		bed_sweep(sm, SEC(10));
		bed_check(sm);
		bed_free(b);
	}
}

/* Silent to one attribute: the subnet comes up without that node, or with it where the attribute
 * is one that can be done without. */
static void
mute_one(uint32_t node, uint16_t attr, bool lost)
{
	struct bed *b = bed_new("ft3 4", node + attr);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	model_mute(b->m, node, attr, true);
	b->bad[node] = lost;
	bed_start(sm);
	if (!bed_becomes_good(sm, SEC(20)))
		fail_msg("node %u mute to 0x%x: %s", node, attr, sm->why);
	model_mute(b->m, node, attr, false);
	b->bad[node] = false;
	bed_sweep(sm, SEC(10));
	if (!bed_becomes_good(sm, SEC(20)))
		fail_msg("node %u no longer mute to 0x%x: %s", node, attr, sm->why);
	bed_free(b);
}

static void
test_mute(void **state)
{
	static const uint16_t needed[] = { ATTR_NODE_INFO, ATTR_PORT_INFO };
	struct bed *b = bed_new("ft3 4", 1);
	uint32_t edge = bed_next(b, IBNET_SWITCH, 0) + 2, top = b->net->nnodes - 1;

	(void)state;
	bed_free(b);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		mute_one(5, needed[i], true);
		mute_one(edge, needed[i], true);
		mute_one(top, needed[i], true);
	}
	mute_one(edge, ATTR_SWITCH_INFO, true);
	mute_one(top, ATTR_SWITCH_INFO, true);
	/* It can be seen, and not be programmed. */
	mute_one(edge, ATTR_LINEAR_FDB, true);
	mute_one(edge + 1, ATTR_LINEAR_FDB, true);
	mute_one(top, ATTR_LINEAR_FDB, true);
	mute_one(5, ATTR_NODE_DESCRIPTION, true);
	mute_one(edge, ATTR_NODE_DESCRIPTION, true);
	mute_one(5, ATTR_P_KEY_TABLE, true);
}

/* B4: one switch takes 300 ms for each answer: it is part of the subnet, and is not flooded. */
static void
test_slow_switch(void **state)
{
	struct bed *b = bed_new("ft3 8", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t sw = bed_next(b, IBNET_SWITCH, 0) + 3;

	(void)state;
	model_delay(b->m, sw, MSEC(300));
	bed_start(sm);
	if (!bed_becomes_good(sm, SEC(20)))
		fail_msg("%s", sm->why);
	assert_true(bed_quiet(sm, SEC(20)));
	for (int i = 0; i < 3; i++) {
		model_count_reset(b->m);
		bed_sweep(sm, SEC(20));
		assert_in_range(model_count(b->m, sw, MAD_GET, ATTR_SWITCH_INFO), 1, 2);
		bed_check(sm);
	}
	bed_free(b);
}

/* B8: ten of 200 hosts are silent: the sweep takes one device's time-outs longer, not ten, and
 * they are listed. */
static void
test_many_silent(void **state)
{
	struct bed *b = bed_new("ft2 10 4 20", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	/* The first wait may be shorter; each has an eighth and 2 ms of grace. */
	monotime device = 4 * (MSEC(200) + MSEC(200) / 8 + MSEC(2));
	struct subnet_status st;
	unsigned named = 0;
	uint64_t probes;

	(void)state;
	bed_start(sm);
	come_up(sm, SEC(5));
	assert_true(sm->s->st.discover_ms < 50);
	bed_stop(sm);
	for (uint32_t i = 0; i < 10; i++) {
		model_silence(b->m, 5 + 20 * i, MODEL_SILENT);
		set_bad(b, 5 + 20 * i);
	}
	bed_start(sm);
	come_up(sm, SEC(5));
	assert_true(sm->s->st.discover_ms < 50 + (double)device / 1e6);
	subnet_status(sm->s, &st);
	assert_int_equal(st.silent, 10);
	for (unsigned i = 0; i < st.nwarnings; i++)
		named += strncmp(st.warnings[i], "nobody answers behind port ", 27) == 0;
	assert_int_equal(named, 8);	/* the rest by their number */
	/* Then they are left alone: a probe each in the first ten seconds or so at most. */
	model_count_reset(b->m);
	bed_wait(b, SEC(3600));
	probes = bed_count(b, MAD_GET, ATTR_NODE_INFO);
	/* 10, 20, 40, then 60 s apart: some sixty an hour for each of ten. */
	assert_in_range(probes, 10, 10 * 62);
	bed_free(b);
}

/*
 * Losses.
 */
static void
lossy(const char *fabric, uint32_t ppm, uint64_t seed)
{
	struct bed *b = bed_new(fabric, seed);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	model_drop(b->m, MODEL_ALL, ppm);
	bed_start(sm);
	for (unsigned i = 0; i < 12; i++) {
		uint64_t before = sm->s->st.sweeps;

		subnet_sweep(sm->s);
		if (!bed_quiet(sm, SEC(120)) && sm->s->st.sweeps == before)
			fail_msg("%s, %u ppm, seed %u: stuck in stage %u", fabric, ppm,
				 (unsigned)seed, sm->s->stage);
	}
	if (ppm < 100000 && !bed_becomes_good(sm, SEC(300)))
		fail_msg("%s, %u ppm, seed %u: %s", fabric, ppm, (unsigned)seed, sm->why);
	model_drop(b->m, MODEL_ALL, 0);
	subnet_sweep(sm->s);
	if (!bed_becomes_good(sm, SEC(120)))
		fail_msg("%s, %u ppm and then none, seed %u: %s", fabric, ppm, (unsigned)seed,
			 sm->why);
	bed_free(b);
}

static void
test_losses(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		lossy("ft3 4", 10000, seed);
		lossy("ft3 4", 50000, seed);
		lossy("ft3 4", 200000, seed);
		lossy("torus 3 3 2 1", 50000, seed);
		lossy(two_switches, 200000, seed);
	}
}

/* Of every tenth node those that lose all: whoever answers, and has a cable to one, says so by that
 * port. */
static void
check_named(struct bed_sm *sm, uint32_t first)
{
	const struct bed *b = sm->bed;

	for (uint32_t n = first; n < b->net->nnodes; n += 10)
		for (unsigned p = 1; n % 3 == 0 && p <= b->net->nodes[n].nports; p++) {
			const struct ibnet_port *at = &b->net->nodes[n].ports[p];
			const struct device *d;

			if (at->peer == IBNET_NONE || !bed_healthy(sm, at->peer))
				continue;
			d = topo_find(&sm->s->topo, b->net->nodes[at->peer].guid);
			assert_non_null(d);
			assert_true(d->ports[at->peer_port].flags & LIVE_PORT_UNANSWERED);
		}
}

/* B13: a tenth of the nodes loses a tenth, a half, all of its MADs; all others come up, and the
 * dumb ones are named. */
static void
test_lossy_nodes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct bed *b = bed_new("ft3 8", seed);
		struct bed_sm *sm = bed_sm(b, 0, 1);

		for (uint32_t n = 3 + (uint32_t)seed; n < b->net->nnodes; n += 10) {
			model_drop(b->m, n, n % 3 ? n % 3 == 1 ? 500000 : 100000 : 1000000);
			set_bad(b, n);
		}
		bed_start(sm);
		if (!bed_becomes_good(sm, SEC(30)))
			fail_msg("seed %u: %s", (unsigned)seed, sm->why);
		check_named(sm, 3 + (uint32_t)seed);
		model_drop(b->m, MODEL_ALL, 0);
		memset(b->bad, 0, b->net->nnodes);
		subnet_sweep(sm->s);
		if (!bed_becomes_good(sm, SEC(60)))
			fail_msg("seed %u, whole again: %s", (unsigned)seed, sm->why);
		bed_free(b);
	}
}

/* B6: the switch that the subnet manager hangs on is deaf for ten seconds in mid-sweep. */
static void
test_first_switch(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 12; at++) {
		struct bed *b = bed_new("ft3 4", at + 1);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint32_t sw = b->net->nodes[0].ports[1].peer;

		bed_start(sm);
		come_up(sm, SEC(5));
		subnet_sweep(sm->s);
		bed_wait(b, MSEC(10) + USEC(30) * at);
		model_silence(b->m, sw, MODEL_HUNG);
		bed_wait(b, SEC(10));
		model_silence(b->m, sw, MODEL_ANSWERS);
		assert_int_equal(sm->s->role, ROLE_MASTER);
		if (!bed_becomes_good(sm, SEC(30)))
			fail_msg("at %u: %s", at, sm->why);
		bed_wait(b, SEC(20));
		assert_int_equal(bed_run(sm, SEC(20)), 1);
		bed_check(sm);
		assert_int_equal(sm->s->plan->fabric->nnodes, b->net->nnodes);
		bed_free(b);
	}
}

/* B10: ten thousand sweeps while one MAD in a hundred gets lost: none gets stuck. */
static void
test_many_sweeps(void **state)
{
	struct bed *b = bed_new("ft2 2 2 2", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	model_drop(b->m, MODEL_ALL, 10000);
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(20)), 1);
	for (unsigned i = 0; i < 10000; i++)
		bed_sweep(sm, SEC(20));
	assert_true(bed_becomes_good(sm, SEC(60)));
	bed_free(b);
}

/*
 * Everything at once: cables come and go, devices fall silent, are reset, get slow, lose MADs.
 */
static uint32_t
pick(uint64_t *rng, uint32_t bound)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33) % bound;
}

static void
mischief(struct bed *b, const struct bed_sm *sm, uint64_t *rng)
{
	uint32_t n = pick(rng, b->net->nnodes);
	unsigned port = 1 + pick(rng, b->net->nodes[n].nports);

	if (n == sm->node || b->net->nodes[n].ports[port].peer == sm->node)
		return;
	switch (pick(rng, 8)) {
	case 0:
	case 1:
		model_link_set(b->m, n, port, false);
		break;
	case 2:
		model_link_set(b->m, n, port, true);
		break;
	case 3:
		model_silence(b->m, n, pick(rng, 2) ? MODEL_SILENT : MODEL_HUNG);
		break;
	case 4:
		model_silence(b->m, n, MODEL_ANSWERS);
		break;
	case 5:
		model_reboot(b->m, n);
		break;
	case 6:
		model_drop(b->m, n, 100000 * pick(rng, 4));
		break;
	case 7:
		model_delay(b->m, n, MSEC(30) * pick(rng, 4));
		break;
	}
}

static void
heal(struct bed *b)
{
	model_drop(b->m, MODEL_ALL, 0);
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		model_silence(b->m, n, MODEL_ANSWERS);
		model_delay(b->m, n, 0);
		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++)
			model_link_set(b->m, n, p, true);
	}
}

static void
test_storm(void **state)
{
	static const char *const fabrics[] = { "ft3 4", "torus 3 3 1 2", "random 12 3 2 5" };

	(void)state;
	for (uint64_t seed = 1; seed <= STORMS; seed++) {
		struct bed *b = bed_new(fabrics[seed % 3], seed);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint64_t rng = seed;

		bed_start(sm);
		for (unsigned i = 0; i < 80; i++) {
			mischief(b, sm, &rng);
			bed_wait(b, pick(&rng, 3) ? USEC(100) * pick(&rng, 50) :
				 MSEC(1) * pick(&rng, 3000));
		}
		heal(b);
		bed_wait(b, MSEC(5));
		/* The longest back-off is a minute, and a light sweep comes each ten seconds. */
		if (!bed_becomes_good(sm, SEC(150)))
			fail_msg("seed %u: %s", (unsigned)seed, sm->why);
		bed_wait(b, SEC(150));
		if (bed_run(sm, SEC(60)) != 1 || !bed_good(sm))
			fail_msg("seed %u, later: %s", (unsigned)seed, sm->why);
		assert_int_equal(sm->s->plan->fabric->nnodes, b->net->nnodes);
		assert_int_equal(sm->s->plan->fabric->nlinks, b->net->nlinks);
		bed_free(b);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_falls_back),
		cmocka_unit_test(test_port_down),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_silent_host),
		cmocka_unit_test(test_silent_switch),
		cmocka_unit_test(test_mute),
		cmocka_unit_test(test_slow_switch),
		cmocka_unit_test(test_many_silent),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_lossy_nodes),
		cmocka_unit_test(test_first_switch),
		cmocka_unit_test(test_many_sweeps),
		cmocka_unit_test(test_storm),
	};

	/* One test by name, for those who look for a fault. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_discovery", tests, NULL, NULL);
}
