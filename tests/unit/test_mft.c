/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What switches of a simulated fabric hold of their multicast tables while groups, cables and
 * managers change: nothing of others' is left, nothing is written that is there, no packet meets a
 * loop on the way from one state to the next, a fault moves only the trees that it touches, and a
 * switch that refuses is named and tried again. The tables are read from the model; where packets
 * go by them is walked by hand.
 */
#include "tests/unit/member_bed.h"
#include "sm/sa/sa.h"

#define MLIDS 64u	/* that are looked at */
#define ROUNDS 600u

/* ---- Walking the tables ---- */

static bool
leads(const struct model *m, uint32_t node, uint16_t mlid, unsigned port)
{
	return model_mft(m, node, mlid, port / 16) >> port % 16 & 1;
}

static bool
is_switch(const struct bed *b, uint32_t node)
{
	return b->net->nodes[node].type == IBNET_SWITCH;
}

/* Colours of (node, in port) in a walk from there: 1 on the way, 2 done. */
struct walk {
	const struct bed *b;		/* the fabric */
	uint16_t mlid;			/* of the packet */
	uint8_t *colour;		/* 64 a node */
};

/* False: the packet comes back to where it was. */
static bool
flood(struct walk *w, uint32_t node, unsigned in)
{
	const struct ibnet_node *n = &w->b->net->nodes[node];
	uint8_t *colour = &w->colour[node * 64 + in];

	if (*colour)
		return *colour == 2;
	*colour = 1;
	for (unsigned p = 1; p <= n->nports && p < 64; p++) {
		uint32_t peer = n->ports[p].peer;

		if (p == in || peer == IBNET_NONE || !is_switch(w->b, peer) ||
		    !leads(w->b->m, node, w->mlid, p) || !model_link_is_up(w->b->m, node, p))
			continue;
		if (!flood(w, peer, n->ports[p].peer_port))
			return false;
	}
	*colour = 2;
	return true;
}

static bool
has_loop(const struct bed *b, uint16_t mlid)
{
	struct walk w = { .b = b, .mlid = mlid, .colour = calloc(b->net->nnodes, 64) };
	bool sound = true;

	for (uint32_t node = 0; sound && node < b->net->nnodes; node++) {
		const struct ibnet_node *n = &b->net->nodes[node];

		for (unsigned p = 1; is_switch(b, node) && p <= n->nports && p < 64; p++)
			if (n->ports[p].peer != IBNET_NONE && !is_switch(b, n->ports[p].peer))
				sound &= flood(&w, node, p);
	}
	free(w.colour);
	return !sound;
}

static unsigned loops;		/* seen by watch() */
static unsigned looks;		/* taken */

/* After each table that a switch took. */
static bool
watch(struct bed_sm *sm, struct port_mad *m)
{
	const uint8_t *mad = port_mad_bytes(m);

	if (m->qp || mad[17] != ATTR_MULTICAST_FDB)
		return true;
	looks++;
	for (uint16_t mlid = 0xc000; mlid < 0xc000 + MLIDS; mlid++)
		loops += has_loop(sm->bed, mlid);
	return true;
}

/* Half of the tables are lost the first time that they are sent, so that they come 200 ms after the
 * others. */
static bool
lose_some(struct bed_sm *sm, struct port_mad *m)
{
	static uint64_t last[256];
	uint8_t *mad = m->mad;
	uint64_t tid = 0;

	(void)sm;
	if (m->qp || mad[3] != MAD_SET || mad[17] != ATTR_MULTICAST_FDB)
		return true;
	for (unsigned i = 8; i < 16; i++)
		tid = tid << 8 | mad[i];
	if (!(tid * UINT64_C(0x9e3779b97f4a7c15) >> 63) || last[tid & 255] == tid)
		return true;
	last[tid & 255] = tid;
	return false;
}

/* Entries that are not 0 in all switches. */
static unsigned
entries(const struct bed *b, uint16_t from)
{
	unsigned n = 0;

	for (uint32_t node = 0; node < b->net->nnodes; node++)
		for (unsigned mlid = from; is_switch(b, node) && mlid < 0xc400; mlid++)
			for (unsigned p = 0; p < 3; p++)
				n += model_mft(b->m, node, (uint16_t)mlid, p) != 0;
	return n;
}

static uint64_t
mft_mads(const struct bed *b, uint8_t method)
{
	return bed_count(b, method, ATTR_MULTICAST_FDB);
}

static struct sa_gid
nth(unsigned n)
{
	return (struct sa_gid){ mine.prefix, n };
}

/* `n` groups, each of three members. */
static void
join_all(struct crowd *w, unsigned n)
{
	for (unsigned g = 0; g < n; g++)
		for (unsigned i = 0; i < 3; i++) {
			struct sa_gid mgid = nth(g);
			struct sa_member r;

			assert_int_equal(join(&w->c[(g * 5 + i * (1 + g % 2)) % CLIENTS], &mgid,
					      SA_JOIN_FULL, &r), 0);
		}
	bed_wait(w->first.sm->bed, SEC(1));
}

/* ---- What others left ---- */

/* After a takeover hosts have so long to register again. */
#define REGISTERED SEC(120)

static struct bed_sm *
another_leads(struct crowd *w)
{
	struct bed *b = w->first.sm->bed;
	struct bed_sm *second = bed_sm(b, bed_node(b, "H0_1_1"), 1);

	bed_stop(w->first.sm);
	model_count_reset(b->m);
	bed_start(second);
	assert_int_equal(bed_run(second, SEC(10)), 1);
	w->first.sm = second;
	for (unsigned i = 0; i < CLIENTS; i++)
		w->c[i].sm = second;
	bed_wait(b, SEC(2));
	return second;
}

/* Another manager, which knows of none of the groups, leaves what the first one wrote until hosts
 * have had time to register again; then it takes it away: all of the table where MulticastFDBTop is
 * not there, else what it counts. */
static void
foreign(bool top)
{
	struct model_options o = { .caps = { .mft_top = top } };
	struct sa_member r;
	struct bed *b;
	unsigned before;
	struct crowd w;

	crowd_up_options(&w, &o);
	b = w.first.sm->bed;
	join_all(&w, 70);
	before = entries(b, 0xc000);
	assert_true(before > 70);
	another_leads(&w);
	bed_wait(b, REGISTERED - SEC(10));
	assert_int_equal(entries(b, 0xc000), before);
	assert_int_equal(mft_mads(b, MAD_SET), 0);
	/* A new group may have the number of an old one, whose members get its packets for now. */
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(b, SEC(1));
	expect(&w, 3, r.mlid, 0x3f);
	bed_wait(b, SEC(20));
	expect(&w, 3, r.mlid, 0x3f);
	assert_int_equal(entries(b, (uint16_t)(r.mlid + 1)), 0);
	crowd_free(&w);
}

static void
test_foreign(void **state)
{
	(void)state;
	foreign(false);
}

static void
test_foreign_top(void **state)
{
	(void)state;
	foreign(true);
}

/* Hosts register again in the order in which they did, one by one: no packet of any group is lost
 * meanwhile, and no table is written at any time. */
static void
test_registered_again(void **state)
{
	struct model_options o = { .caps = { .mft_top = true } };
	struct sa_member r[2];
	struct bed *b;
	struct crowd w;

	(void)state;
	crowd_up_options(&w, &o);
	b = w.first.sm->bed;
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r[0]), 0);
	for (unsigned i = 1; i < CLIENTS; i += 2)
		assert_int_equal(join(&w.c[i], &broadcast, SA_JOIN_FULL, &r[1]), 0);
	bed_wait(b, SEC(1));
	expect(&w, 2, r[0].mlid, 0x3f);
	expect(&w, 1, r[1].mlid, 0x2a);
	another_leads(&w);
	for (unsigned i = 0; i < CLIENTS; i++) {
		expect(&w, 2, r[0].mlid, 0x3f);
		expect(&w, 1, r[1].mlid, 0x2a);
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r[0]), 0);
		if (i & 1)
			assert_int_equal(join(&w.c[i], &broadcast, SA_JOIN_FULL, &r[1]), 0);
		bed_wait(b, SEC(1));
	}
	bed_wait(b, REGISTERED);
	assert_int_equal(mft_mads(b, MAD_SET), 0);
	expect(&w, 2, r[0].mlid, 0x3f);
	expect(&w, 1, r[1].mlid, 0x2a);
	/* From now on who leaves is no member. */
	assert_int_equal(leave(&w.c[0], &mine, SA_JOIN_FULL), 0);
	bed_wait(b, SEC(1));
	expect(&w, 2, r[0].mlid, 0x3e);
	crowd_free(&w);
}

/* A cable of the tree is lost while nobody has registered again: all that were members are. */
static void
test_doubt_cable(void **state)
{
	struct sa_member r;
	struct bed *b;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(b, SEC(1));
	another_leads(&w);
	for (unsigned port = 1; port <= 2; port++) {
		uint32_t leaf = bed_node(b, "L1_0");

		/* Its ways up, one after the other. */
		model_link_set(b->m, leaf, 2 + port, false);
		bed_wait(b, SEC(2));
		expect(&w, 2, r.mlid, 0x3f);
		model_link_set(b->m, leaf, 2 + port, true);
		bed_wait(b, SEC(2));
	}
	bed_wait(b, REGISTERED);
	assert_int_equal(entries(b, 0xc000), 0);
	crowd_free(&w);
}

/* Who took over is restarted before hosts have registered again: they have the rest of their time.
 */
static void
test_doubt_restart(void **state)
{
	struct bed_sm *second;
	struct bed *b;
	unsigned before;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	join_all(&w, 10);
	before = entries(b, 0xc000);
	second = another_leads(&w);
	bed_wait(b, REGISTERED / 2);
	bed_stop(second);
	bed_start(second);
	assert_int_equal(bed_run(second, SEC(10)), 1);
	bed_wait(b, REGISTERED / 2 - SEC(10));
	assert_int_equal(entries(b, 0xc000), before);
	assert_int_equal(mft_mads(b, MAD_SET), 0);
	bed_wait(b, SEC(20));
	assert_int_equal(entries(b, 0xc000), 0);
	crowd_free(&w);
}

/* A fabric that starts has empty tables: nothing is read, nothing is cleared. After a restart of
 * the daemon tables are read, and not written again, for they are right. */
static void
test_restart(void **state)
{
	struct sa_member r;
	struct bed *b;
	struct crowd w;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	assert_int_equal(mft_mads(b, MAD_GET), 0);
	assert_int_equal(mft_mads(b, MAD_SET), 0);
	join_all(&w, 10);
	assert_int_equal(mft_mads(b, MAD_GET), 0);
	bed_stop(w.first.sm);
	model_count_reset(b->m);
	bed_start(w.first.sm);
	assert_int_equal(bed_run(w.first.sm, SEC(10)), 1);
	bed_wait(b, SEC(2));
	/* 32 blocks of one position in each of 20 switches. */
	assert_int_equal(mft_mads(b, MAD_GET), 20 * 32);
	assert_int_equal(mft_mads(b, MAD_SET), 0);
	r.mgid = nth(7);
	assert_int_equal(join(&w.c[0], &r.mgid, SA_JOIN_FULL, &r), 0);
	bed_wait(b, SEC(1));
	assert_int_equal(mft_mads(b, MAD_GET), 20 * 32);
	assert_in_range(mft_mads(b, MAD_SET), 1, 20);
	crowd_free(&w);
}

/* Ports that others chose for packets of unknown groups drop them, where they are ports. */
static void
test_defaults(void **state)
{
	struct switchinfo *i;
	struct sa_member r;
	struct crowd w;
	uint32_t sw[2];

	(void)state;
	crowd_up(&w);
	sw[0] = bed_node(w.first.sm->bed, "L1_0");
	sw[1] = bed_node(w.first.sm->bed, "L2_0");
	i = (struct switchinfo *)(uintptr_t)model_switchinfo(w.first.sm->bed->m, sw[0]);
	i->default_mcast_primary = 3;
	i->default_mcast_not_primary = 4;
	subnet_sweep(w.first.sm->s);
	bed_wait(w.first.sm->bed, SEC(1));
	for (unsigned n = 0; n < 2; n++)
		assert_int_equal(join(&w.c[n], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(w.first.sm->bed, SEC(1));
	assert_int_equal(i->default_mcast_primary, 255);
	assert_int_equal(i->default_mcast_not_primary, 255);
	assert_int_equal(model_switchinfo(w.first.sm->bed->m, sw[1])->default_mcast_primary, 0);
	crowd_free(&w);
}

/* ---- From one state to the next ---- */

/* Members come and go and switches fail and return, and trees move: at no moment has any table a
 * loop for a packet to any group. */
static void
test_no_loops(void **state)
{
	uint32_t x = 1, node = 0;
	struct crowd w;
	struct bed *b;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	loops = looks = 0;
	w.first.sm->in = watch;
	w.first.sm->out = lose_some;
	join_all(&w, 20);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sa_gid mgid;

		x = x * 1664525u + 1013904223u;
		mgid = nth(x >> 8 & 15);
		if (round % 6 == 0)
			node = bed_node(b, (const char *[]){ "A1_0", "A2_0", "A3_0", "A1_0" }
					[x >> 28 & 3]);
		if (round % 3 == 0)
			model_link_set(b->m, node, 1 + round / 12 % 2, round % 6 != 0);
		else
			send_change(&w.c[(x >> 16) % CLIENTS], x >> 24 & 1 ? MAD_SET : MAD_DELETE,
				    &mgid, 500000 + round);
		bed_wait(b, MSEC(x >> 23 & 511));
	}
	bed_wait(b, SEC(2));
	assert_true(looks > 500);
	assert_int_equal(loops, 0);
	crowd_free(&w);
}

/* Members that join while tables are still being written are in them when all is written: what came
 * late to a table that was past its turn is not forgotten. */
static void
test_overtaken(void **state)
{
	struct sa_member r;
	struct crowd w;
	struct bed *b;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	for (unsigned ms = 1; ms < 200; ms += 7) {
		struct sa_gid mgid = nth(ms);

		assert_int_equal(join(&w.c[0], &mgid, SA_JOIN_FULL, &r), 0);
		w.first.sm->out = lose_some;
		for (unsigned i = 1; i < CLIENTS; i++) {
			send_change(&w.c[i], MAD_SET, &mgid, 500000 + ms * CLIENTS + i);
			bed_wait(b, MSEC(ms));
		}
		bed_wait(b, SEC(2));
		w.first.sm->out = NULL;
		/* A Set of which all attempts were lost is repeated after 5 s. */
		bed_wait(b, SEC(6));
		expect(&w, 1, r.mlid, 0x3f);
	}
	crowd_free(&w);
}

/* A cable that is lost moves the trees that used it, and no others. */
static void
test_cable(void **state)
{
	enum { GROUPS = 40 };
	static uint16_t before[64][GROUPS];
	unsigned used = 0, port;
	struct crowd w;
	struct bed *b;
	uint32_t leaf;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	join_all(&w, GROUPS);
	for (uint32_t node = 0; node < b->net->nnodes; node++)
		for (unsigned g = 0; g < GROUPS; g++)
			before[node][g] = model_mft(b->m, node, (uint16_t)(0xc001 + g), 0);
	leaf = bed_node(b, "L2_0");
	port = 3;
	model_link_set(b->m, leaf, port, false);
	bed_wait(b, SEC(2));
	for (unsigned g = 0; g < GROUPS; g++) {
		bool moved = false, was = before[leaf][g] >> port & 1;

		for (uint32_t node = 0; node < b->net->nnodes; node++)
			moved |= before[node][g] !=
				model_mft(b->m, node, (uint16_t)(0xc001 + g), 0);
		assert_int_equal(moved, was);
		used += was;
	}
	assert_in_range(used, 1, GROUPS - 1);
	crowd_free(&w);
}

/* Another root makes other ranks: trees by the old ones would turn in them. They are taken away
 * before the new tables come, and new ones follow. */
static void
test_withdraw(void **state)
{
	static const char *const updn[] = { "updn", NULL };
	struct config_subnet other;
	struct sa_bed first, c[3];
	struct model_options o = { 0 };
	struct subnet_status st;
	struct error why = { 0 };
	uint64_t roots[2];
	struct sa_member r;
	struct bed *b;

	(void)state;
	b = bed_new_options("torus 6 1 1 2", 1, &o);
	first = (struct sa_bed){ .version = SA_CLASS_VERSION };
	first.sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	roots[0] = b->net->nodes[bed_node(b, "T0_0_0")].guid;
	roots[1] = b->net->nodes[bed_node(b, "T1_0_0")].guid;
	first.sm->conf.routing.engines = (const char **)(uintptr_t)updn;
	first.sm->conf.routing.roots = roots;
	first.sm->conf.routing.nroots = 1;
	bed_start(first.sm);
	assert_int_equal(bed_run(first.sm, SEC(10)), 1);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t node = bed_next(b, IBNET_CA, 0);

		for (unsigned k = 0; k < 3 + 4 * i; k++)
			node = bed_next(b, IBNET_CA, node + 1);
		client(&c[i], &first, b->net->nodes[node].name);
		assert_int_equal(join(&c[i], &mine, SA_JOIN_FULL, &r), 0);
	}
	bed_wait(b, SEC(1));
	assert_true(entries(b, 0xc000) > 2);
	other = first.sm->conf;
	other.routing.roots = roots + 1;
	loops = looks = 0;
	first.sm->in = watch;
	subnet_configure(first.sm->s, &other, NULL, STAGE_ROUTING);
	/* Meanwhile the change is not done. */
	bed_wait(b, MSEC(500));
	assert_int_equal(entries(b, 0xc000), 0);
	assert_int_equal(subnet_outcome(first.sm->s, &why), 0);
	subnet_status(first.sm->s, &st);
	assert_string_equal(st.state, "programming");
	bed_wait(b, SEC(10));
	assert_int_equal(bed_run(first.sm, SEC(10)), 1);
	bed_check(first.sm);
	assert_non_null(bed_event(first.sm, EVENT_ROUTED, "multicast trees and the new tables"));
	assert_true(looks > 0 && !loops);
	assert_true(entries(b, 0xc000) > 2);
	for (unsigned i = 0; i < 3; i++)
		client_free(&c[i]);
	bed_free(b);
}

/* ---- Switches that refuse ---- */

static bool
warns(const struct bed_sm *sm, const char *word)
{
	struct subnet_status st;

	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		if (strstr(st.warnings[i], word))
			return true;
	return false;
}

/* It is named, asked again after 5, 10, 20 s ... and holds the table when it takes it. Meanwhile
 * others join at once. */
static void
test_refusal(void **state)
{
	struct sa_member r;
	uint64_t asked;
	struct bed *b;
	struct crowd w;
	uint32_t sw;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	sw = bed_node(b, "L1_0");
	model_refuse(b->m, sw, ATTR_MULTICAST_FDB, 0x1c);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(join(&w.c[i], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(b, SEC(1));
	assert_true(warns(w.first.sm, "\"L1_0\""));
	assert_true(warns(w.first.sm, "does not take its multicast table"));
	assert_non_null(bed_event(w.first.sm, EVENT_REFUSED, "status 0x001c"));
	assert_int_equal(join(&w.c[4], &mine, SA_JOIN_FULL, &r), 0);
	bed_wait(b, MSEC(200));
	expect(&w, 1, r.mlid, 0x1e);
	model_count_reset(b->m);
	bed_wait(b, SEC(200));
	asked = model_count(b->m, sw, MAD_SET, ATTR_MULTICAST_FDB);
	assert_in_range(asked, 3, 8);
	model_heal(b->m, sw);
	bed_wait(b, SEC(400));
	assert_false(warns(w.first.sm, "multicast table"));
	expect(&w, 1, r.mlid, 0x1f);
	crowd_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_foreign_top),
		cmocka_unit_test(test_registered_again),
		cmocka_unit_test(test_doubt_cable),
		cmocka_unit_test(test_doubt_restart),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_no_loops),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_cable),
		cmocka_unit_test(test_withdraw),
		cmocka_unit_test(test_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
