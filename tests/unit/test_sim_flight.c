/* SPDX-License-Identifier: BSD-2-Clause */
/* MADs under way: who sees them, and which ways they take. */
#include "tests/unit/sim_bed.h"

/* ---- Those who watch ---- */

struct seen {
	struct model_passage p[8];	/* the MADs that set out */
	uint8_t mad[8][MAD_SIZE];	/* their bytes */
	unsigned n;			/* how many */
	char log[400];			/* lines, each ended by a bar */
};

static void
on_tap(void *arg, const struct model_passage *p)
{
	struct seen *s = arg;

	assert_true(s->n < 8);
	memcpy(s->mad[s->n], p->mad, MAD_SIZE);
	s->p[s->n++] = *p;
}

static void
on_log(void *arg, const char *text)
{
	struct seen *s = arg;

	assert_true(strlen(s->log) + strlen(text) + 2 < sizeof(s->log));
	strcat(strcat(s->log, text), "|");
}

static void
test_tap(void **state)
{
	struct rig *r = *state;
	struct model_mad bad = { .lid = LID_PERMISSIVE, .mad = { 9 } };
	struct seen s = { .n = 0 };

	bring_up(r);
	model_tap(r->m, on_tap, &s);
	must(ask(r, (struct ask){ .path = "124", .attr = ATTR_NODE_INFO }));
	assert_int_equal(s.n, 2);
	assert_int_equal(s.p[0].from, H1);
	assert_int_equal(s.p[0].from_port, 1);
	assert_int_equal(s.p[0].to, H2);
	assert_int_equal(s.p[0].to_port, 1);
	assert_int_equal(s.p[0].slid, LID_PERMISSIVE);
	assert_int_equal(s.p[0].dlid, LID_PERMISSIVE);
	assert_false(s.p[0].lost);
	assert_int_equal(s.p[0].qp, 0);
	assert_int_equal(s.mad[0][6], 0);	/* hop pointers as they set out */
	assert_int_equal(s.mad[1][6], 4);
	assert_int_equal(s.mad[1][4], 0x80);
	assert_int_equal(s.p[1].from, H2);
	assert_int_equal(s.p[1].to, H1);
	/* By LID, and one that ends at a port without a cable. */
	s.n = 0;
	must(ask(r, (struct ask){ .lid = 4, .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "14", .attr = ATTR_NODE_INFO }));
	model_send(r->c1, &bad);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.p[0].slid, 1);
	assert_int_equal(s.p[0].dlid, 4);
	assert_int_equal(s.p[1].from, B);
	assert_int_equal(s.p[1].from_port, 0);
	assert_int_equal(s.p[1].slid, 4);
	assert_true(s.p[2].lost);
	assert_int_equal(s.p[2].to, A);
	assert_true(s.p[3].lost);
	assert_int_equal(s.mad[3][0], 9);
	model_tap(r->m, NULL, NULL);
	must(ask(r, (struct ask){ .lid = 4, .attr = ATTR_NODE_INFO }));
	assert_int_equal(s.n, 4);
}

static void
test_log(void **state)
{
	struct rig *r = *state;
	struct seen s = { .n = 0 };

	model_log(r->m, on_log, &s);
	model_link_set(r->m, A, 2, false);
	model_link_set(r->m, B, 1, true);
	run(r, MSEC(2));
	assert_string_equal(s.log, "A/2 - B/1 is cut|A/2 - B/1 is down|B/1 - A/2 is mended|"
			    "B/1 - A/2 is up, 4xNDR|");
	s.log[0] = 0;
	model_recable(r->m, H2, 1, A, 4);
	run(r, MSEC(2));
	assert_string_equal(s.log, "h2/1 - B/4 is unplugged|h2/1 - B/4 is down|"
			    "h2/1 - A/4 is cabled, 4xSDR|h2/1 - A/4 is up, 4xSDR|");
	s.log[0] = 0;
	model_silence(r->m, A, MODEL_SILENT);
	model_drop(r->m, MODEL_ALL, 10);
	model_delay(r->m, H1, MSEC(20));
	assert_string_equal(s.log, "A answers nothing|every node loses 10 of 1000000 MADs|"
			    "h1 answers 20.0 ms late|");
	model_log(r->m, NULL, NULL);
	model_reboot(r->m, B);
}

/* ---- Ways ---- */

/* A directed route from h1 with a part by LID at one or both ends; the answer, or NULL. */
static const struct smp *
ask_combined(struct rig *r, uint16_t lid, const struct smp *route)
{
	struct model_mad mad = { .lid = lid };
	struct smp s = *route;

	s.h = (struct mad_header){
		.base_version = 1, .class_version = 1, .tid = ++r->tid, .method = MAD_GET,
		.attr_id = ATTR_NODE_INFO, .mgmt_class = MAD_CLASS_SUBN_DIRECT,
	};
	smp_encode(&s, mad.mad);
	r->in1.n = 0;
	model_send(r->c1, &mad);
	run(r, USEC(400));
	return r->in1.n ? &r->in1.smp[0] : NULL;
}

static uint64_t
guid_of(const struct smp *s)
{
	struct nodeinfo n;

	nodeinfo_decode(&n, must(s)->data);
	assert_true(s->direction);
	assert_int_equal(s->hop_pointer, 0);
	return n.node_guid;
}

static void
test_combined(void **state)
{
	struct rig *r = *state;
	struct smp s = { .dr_slid = 1, .dr_dlid = LID_PERMISSIVE };

	bring_up(r);
	/* By LID to B, then out of its port 4; back by LID from B, who is the sender then. */
	s.hop_count = 1;
	s.path[1] = 4;
	assert_int_equal(guid_of(ask_combined(r, 4, &s)), 0x20);
	assert_int_equal(r->in1.lid[0], 4);
	/* Without hops it is like a LID-routed one, at a switch. */
	s.hop_count = 0;
	assert_int_equal(guid_of(ask_combined(r, 4, &s)), 0xb0);
	/* Nobody goes on from a CA by a directed route. */
	s.hop_count = 1;
	s.path[1] = 1;
	assert_null(ask_combined(r, 2, &s));
	/* By port to A, the rest by LID. */
	s.dr_slid = LID_PERMISSIVE;
	s.dr_dlid = 2;
	assert_int_equal(guid_of(ask_combined(r, LID_PERMISSIVE, &s)), 0x20);
	assert_int_equal(r->in1.lid[0], LID_PERMISSIVE);
	/* The directed part ends at a CA: it cannot go on. */
	s.hop_count = 3;
	memcpy(s.path, "\0\1\2\4", 4);
	assert_null(ask_combined(r, LID_PERMISSIVE, &s));
	/* By LID to A, by port to B, by LID to h2. */
	s.dr_slid = 1;
	s.hop_count = 1;
	s.path[1] = 3;
	assert_int_equal(guid_of(ask_combined(r, 3, &s)), 0x20);
	assert_int_equal(r->in1.lid[0], 3);
	/* A LID that nobody has, at either part. */
	s.dr_dlid = 9;
	assert_null(ask_combined(r, 3, &s));
	assert_null(ask_combined(r, 9, &s));
	/* A switch whose SMI hangs has no part in it. */
	s.dr_dlid = 2;
	model_silence(r->m, B, MODEL_HUNG);
	assert_null(ask_combined(r, 3, &s));
}

static void
test_hop_pointers(void **state)
{
	struct rig *r = *state;
	struct smp s = { .dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE, .hop_count = 2 };
	struct model_mad mad = { .lid = LID_PERMISSIVE };
	uint64_t lost;

	/* As if it were on its way already: a CA has no next hop (C14-9, 2). */
	memcpy(s.path, "\0\1\2", 3);
	s.hop_pointer = 1;
	assert_null(ask_combined(r, LID_PERMISSIVE, &s));
	/* Pointers and counts out of range. */
	s.hop_pointer = 0;
	s.h = (struct mad_header){ .base_version = 1, .class_version = 1, .method = MAD_GET,
				   .attr_id = ATTR_NODE_INFO, .mgmt_class = MAD_CLASS_SUBN_DIRECT };
	smp_encode(&s, mad.mad);
	lost = model_lost(r->m);
	mad.mad[6] = 4;
	model_send(r->c1, &mad);
	mad.mad[6] = 0;
	mad.mad[7] = 64;
	model_send(r->c1, &mad);
	mad.mad[7] = 255;
	mad.mad[6] = 255;
	model_send(r->c1, &mad);
	run(r, MSEC(1));
	assert_int_equal(model_lost(r->m) - lost, 3);
	assert_int_equal(r->in1.n, 0);
}

/* ---- Without time ---- */

/* The same fabric, instant, with h1 alone attached. */
static int
setup_instant(void **state)
{
	struct model_options o = { .seed = 1, .instant = true };
	struct model_client_events ev = { .receive = on_receive };
	struct rig *r;

	setup(state);
	r = *state;
	model_free(r->m);
	r->m = model_new(r->loop, r->net, &o);
	ev.arg = &r->in1;
	r->c1 = model_attach(r->m, H1, 1, &ev);
	ev.arg = &r->in2;
	r->c2 = model_attach(r->m, H2, 1, &ev);
	return 0;
}

static void
test_instant(void **state)
{
	struct rig *r = *state;
	static const char *const paths[] = { "124", "", "1", "12", "124" };
	monotime now = loop_now(r->loop);

	/* Far or near: what is sent first lands first, and no time passes. */
	for (unsigned i = 0; i < 5; i++)
		send_from(r, r->c1, &(struct ask){ .path = paths[i], .attr = ATTR_NODE_INFO });
	assert_int_equal(r->in1.n, 0);
	loop_run_until(r->loop, now, NULL);
	assert_int_equal(loop_now(r->loop), now);
	assert_int_equal(r->in1.n, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r->in1.smp[i].h.tid, i + 1);
	/* A delay is time: the one behind it overtakes. */
	model_delay(r->m, A, MSEC(3));
	r->in1.n = 0;
	send_from(r, r->c1, &(struct ask){ .path = "1", .attr = ATTR_NODE_INFO });
	send_from(r, r->c1, &(struct ask){ .path = "12", .attr = ATTR_NODE_INFO });
	run(r, MSEC(3) - 1);
	assert_int_equal(r->in1.n, 1);
	assert_int_equal(r->in1.smp[0].h.tid, 7);
	run(r, 1);
	assert_int_equal(r->in1.n, 2);
	/* And so is training. */
	model_delay(r->m, A, 0);
	model_link_set(r->m, A, 1, false);
	model_link_set(r->m, A, 1, true);
	run(r, MSEC(1) - 1);
	assert_false(model_link_is_up(r->m, H1, 1));
	run(r, 1);
	assert_true(model_link_is_up(r->m, H1, 1));
}

struct pinger {
	struct model_client *c;		/* asks again as soon as it is answered */
	struct model_mad ask;		/* what it asks */
	unsigned answers;		/* so far */
};

static void
on_ping(void *arg, const struct model_mad *mad)
{
	struct pinger *p = arg;

	(void)mad;
	p->answers++;
	model_send(p->c, &p->ask);
}

static void
set_flag(void *arg)
{
	*(bool *)arg = true;
}

/* Who asks without end leaves the loop to others, one turn after the other. */
static void
test_turns(void **state)
{
	struct rig *r = *state;
	struct pinger p = { .ask = { .lid = LID_PERMISSIVE } };
	struct model_client_events ev = { .receive = on_ping, .arg = &p };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .method = MAD_GET,
		       .attr_id = ATTR_NODE_INFO, .mgmt_class = MAD_CLASS_SUBN_DIRECT },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE, .hop_count = 1,
		.path = { 0, 1 },
	};
	struct loop_timer *t;
	bool flag = false;

	model_detach(r->c1);
	p.c = model_attach(r->m, H1, 1, &ev);
	smp_encode(&s, p.ask.mad);
	for (unsigned i = 0; i < 64; i++)
		model_send(p.c, &p.ask);
	t = loop_timer_new(r->loop, set_flag, &flag);
	loop_timer_set(t, 0);
	assert_true(loop_run_until(r->loop, SEC(1), &flag));
	assert_int_equal(p.answers, 64);
	flag = false;
	loop_timer_set(t, 0);
	assert_true(loop_run_until(r->loop, SEC(1), &flag));
	assert_int_equal(p.answers, 128);
	loop_timer_free(t);
	/* Freed with MADs under way. */
}

/* ---- Changes of a port ---- */

struct change {
	struct rig *rig;	/* whose h2 it is */
	unsigned n;		/* times it was told */
	unsigned mads;		/* that h1 had got when it was told last */
};

static void
on_changed(void *arg)
{
	struct change *c = arg;

	c->n++;
	c->mads = c->rig->in1.n;
}

static void
test_changed(void **state)
{
	struct rig *r = *state;
	struct change c = { .rig = r, .mads = 99 };
	struct model_client_events ev = { .changed = on_changed, .arg = &c };
	uint8_t data[SMP_DATA_SIZE] = { 0xff, 0xff, 0x80, 0x01 };

	model_detach(r->c2);
	r->c2 = model_attach(r->m, H2, 1, &ev);
	get_port(r, "124", 1);
	give_lid(r, "12", 0, 4);
	assert_int_equal(c.n, 0);
	give_lid(r, "124", 0, 2);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.mads, 0);		/* before the answer */
	must(ask(r, (struct ask){ .path = "124", .method = MAD_SET, .attr = ATTR_P_KEY_TABLE,
				  .data = data }));
	must(ask(r, (struct ask){ .path = "124", .method = MAD_SET, .attr = ATTR_GUID_INFO,
				  .data = data }));
	assert_int_equal(c.n, 3);
	/* Refused, and so not changed. */
	assert_int_equal(ask(r, (struct ask){ .path = "124", .method = MAD_SET, .data = data,
					      .mod = 9, .attr = ATTR_P_KEY_TABLE })->h.status,
			 MAD_STATUS_BAD_FIELD);
	assert_int_equal(c.n, 3);
	/* Never inside a call. */
	model_link_set(r->m, B, 4, false);
	model_set_issm(r->c2, true);
	assert_int_equal(c.n, 3);
	run(r, USEC(1));
	assert_int_equal(c.n, 5);
	model_set_port_guid(r->m, H2, 1, 0x99);
	run(r, USEC(1));
	assert_int_equal(c.n, 6);
}

/* ---- GMPs ---- */

struct gmps {
	struct model_mad mad[4];	/* what came */
	unsigned n;			/* how many */
};

static void
on_gmp(void *arg, const struct model_mad *mad)
{
	struct gmps *g = arg;

	assert_true(g->n < 4);
	g->mad[g->n++] = *mad;
}

/* All links ACTIVE, LIDs given; all end ports get GMPs. */
static void
activate(struct rig *r, struct gmps g[4])
{
	static const struct { const char *path; unsigned port; } ends[] = {
		{ "", 1 }, { "1", 1 }, { "1", 2 }, { "12", 1 }, { "12", 4 }, { "124", 1 },
		{ "1", 3 }, { "12", 2 },
	};
	static const uint32_t nodes[] = { A, B, H1, H2 };

	bring_up(r);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(set_state(r, ends[i % 8].path, ends[i % 8].port,
					   i < 8 ? PORT_ARMED : PORT_ACTIVE), 0);
	model_detach(r->c1);
	model_detach(r->c2);
	for (unsigned i = 0; i < 4; i++) {
		struct model_client_events ev = { .receive = on_gmp, .arg = &g[nodes[i]] };
		struct model_client *c = model_attach(r->m, nodes[i], nodes[i] >= H1, &ev);

		assert_non_null(c);
		if (nodes[i] == H1)
			r->c1 = c;
		else if (nodes[i] == H2)
			r->c2 = c;
	}
}

static void
send_gmp(struct rig *r, uint16_t lid, uint8_t sl, uint16_t pkey_index)
{
	struct model_mad mad = {
		.mad = { 1, 0x32, 1, MAD_SEND }, .lid = lid, .qp = 1, .sl = sl,
		.pkey_index = pkey_index,
	};

	model_send(r->c1, &mad);
	run(r, USEC(100));
}

/* By directed route from h1, whatever is attached there now. */
static void
set_table(struct rig *r, const char *path, uint16_t attr, uint32_t mod, const uint8_t *data)
{
	send_from(r, r->c1, &(struct ask){ .path = path, .method = MAD_SET, .attr = attr,
					   .mod = mod, .data = data });
	run(r, USEC(100));
}

static void
test_pkeys(void **state)
{
	struct rig *r = *state;
	/* h1: full in 1 and 2, limited in 3; h2: limited in 1 and 3, and full in 2 at the end. */
	static const uint8_t keys1[SMP_DATA_SIZE] = { 0xff, 0xff, 0x80, 1, 0x80, 2, 0, 3 };
	static const uint8_t keys2[SMP_DATA_SIZE] = { 0, 3, 0x7f, 0xff, 0, 1, [62] = 0x80, 2 };
	struct gmps g[4] = { { .n = 0 } };
	struct notice notice;

	activate(r, g);
	send_gmp(r, 2, 5, 0);
	assert_int_equal(g[H2].n, 1);
	assert_int_equal(g[H2].mad[0].lid, 1);
	assert_int_equal(g[H2].mad[0].sl, 5);
	assert_int_equal(g[H2].mad[0].qp, 1);
	assert_int_equal(g[H2].mad[0].pkey_index, 0);
	set_table(r, "", ATTR_P_KEY_TABLE, 0, keys1);
	set_table(r, "124", ATTR_P_KEY_TABLE, 0, keys2);
	g[H2].n = 0;
	send_gmp(r, 2, 0, 0);
	send_gmp(r, 2, 0, 1);
	send_gmp(r, 2, 0, 2);
	assert_int_equal(g[H2].n, 3);
	assert_int_equal(g[H2].mad[0].pkey_index, 1);
	assert_int_equal(g[H2].mad[1].pkey_index, 2);
	assert_int_equal(g[H2].mad[2].pkey_index, 31);
	assert_int_equal(model_portinfo(r->m, H2, 1)->p_key_violations, 0);
	g[H1].n = 0;
	/* Limited to limited; and what the sender has not got does not set out. */
	send_gmp(r, 2, 0, 3);
	assert_int_equal(g[H2].n, 3);
	assert_int_equal(model_portinfo(r->m, H2, 1)->p_key_violations, 1);
	assert_int_equal(g[H1].n, 1);		/* the trap, to h1's LID */
	notice_decode(&notice, g[H1].mad[0].mad + 64);
	assert_int_equal(notice.trap, TRAP_BAD_P_KEY);
	assert_int_equal(notice.issuer_lid, 2);
	send_gmp(r, 2, 0, 4);
	send_gmp(r, 2, 0, 999);
	assert_int_equal(g[H2].n, 3);
	assert_int_equal(model_portinfo(r->m, H2, 1)->p_key_violations, 1);
}

static void
test_multicast(void **state)
{
	struct rig *r = *state;
	/* MLID 0xc001 is entry 1 of block 0: A 0, 1, 2; B 1, 4. */
	uint8_t at_a[SMP_DATA_SIZE] = { [3] = 7 }, at_b[SMP_DATA_SIZE] = { [3] = 0x12 };
	struct gmps g[4] = { { .n = 0 } };
	struct seen s = { .n = 0 };

	activate(r, g);
	send_gmp(r, 0xc001, 0, 0);
	assert_int_equal(g[H2].n + g[A].n + g[B].n + g[H1].n, 0);
	set_table(r, "1", ATTR_MULTICAST_FDB, 0, at_a);
	set_table(r, "12", ATTR_MULTICAST_FDB, 0, at_b);
	g[H1].n = 0;
	model_tap(r->m, on_tap, &s);
	send_gmp(r, 0xc001, 3, 0);
	assert_int_equal(g[A].n, 1);
	assert_int_equal(g[B].n, 0);
	assert_int_equal(g[H2].n, 1);
	assert_int_equal(g[H1].n, 0);		/* not back out of the port it came by */
	assert_int_equal(g[H2].mad[0].lid, 1);
	assert_int_equal(g[H2].mad[0].sl, 3);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.p[0].dlid, 0xc001);
	assert_false(s.p[0].lost);
	send_gmp(r, 0xc002, 0, 0);
	send_gmp(r, 0xfffe, 0, 0);
	assert_int_equal(s.n, 3);
	assert_true(s.p[1].lost);
	model_tap(r->m, NULL, NULL);
	/* Tables with a loop over both cables: packets end some time. */
	at_a[3] = 0x0c;
	at_b[3] = 0x06;
	set_table(r, "1", ATTR_MULTICAST_FDB, 0, at_a);
	set_table(r, "12", ATTR_MULTICAST_FDB, 0, at_b);
	send_gmp(r, 0xc001, 0, 0);
	assert_int_equal(g[H2].n, 1);
}

static void
test_lanes(void **state)
{
	struct rig *r = *state;
	/* SL 0 and 2 to VL 0, SL 1 and 3 nowhere. */
	static const uint8_t map[SMP_DATA_SIZE] = { 0x0f, 0x0f };
	struct gmps g[4] = { { .n = 0 } };

	activate(r, g);
	set_table(r, "1", ATTR_SL_TO_VL, 1 << 8 | 2, map);
	send_gmp(r, 2, 0, 0);
	send_gmp(r, 2, 1, 0);
	send_gmp(r, 2, 2, 0);
	send_gmp(r, 2, 3, 0);
	assert_int_equal(g[H2].n, 2);
	assert_int_equal(g[H2].mad[1].sl, 2);
	send_gmp(r, 3, 1, 0);
	assert_int_equal(g[A].n, 1);		/* it does not go that way */
	/* The host's own table. */
	set_table(r, "", ATTR_SL_TO_VL, 0, map);
	send_gmp(r, 3, 1, 0);
	assert_int_equal(g[A].n, 1);
	/* A link that is not ACTIVE. */
	model_link_set(r->m, B, 4, false);
	model_link_set(r->m, B, 4, true);
	run(r, MSEC(2));
	send_gmp(r, 2, 0, 0);
	assert_int_equal(g[H2].n, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tap), TEST(test_log), TEST(test_combined), TEST(test_hop_pointers),
		cmocka_unit_test_setup_teardown(test_instant, setup_instant, teardown),
		cmocka_unit_test_setup_teardown(test_turns, setup_instant, teardown),
		TEST(test_changed), TEST(test_pkeys), TEST(test_multicast), TEST(test_lanes),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
