/* SPDX-License-Identifier: BSD-2-Clause */
/* What simulated devices can do: capabilities and the tables that follow from them, the M_Key's
 * levels, and the likeness of packaged ibsim. */
#include "tests/unit/sim_bed.h"

#define ATTR_EXTENDED_PORT_INFO 0xff90

static const struct smp *
get(struct rig *r, const char *path, uint16_t attr, uint32_t mod)
{
	return ask(r, (struct ask){ .path = path, .attr = attr, .mod = mod });
}

static unsigned
get_status(struct rig *r, const char *path, uint16_t attr, uint32_t mod)
{
	const struct smp *s = get(r, path, attr, mod);

	assert_non_null(s);
	return s->h.status;
}

static const uint8_t *
set(struct rig *r, const char *path, uint16_t attr, uint32_t mod, const void *data)
{
	return must(ask(r, (struct ask){ .path = path, .attr = attr, .mod = mod, .data = data,
					 .method = MAD_SET }))->data;
}

static int
setup_small(void **state)
{
	struct model_options o = {
		.seed = 1,
		.caps = {
			.linear_fdb = 1000, .multicast_fdb = 100, .ca_pkeys = 40, .port0_pkeys = 8,
			.switch_pkeys = MODEL_NO_CAP, .guids = 20, .vlarb = 40, .mtu = 4,
			.port0_mtu = 1, .vls = 3, .port0_vls = 2, .optimized_sl2vl = true,
			.mft_top = true,
		},
	};

	return setup_with(state, &o);
}

static void
test_caps(void **state)
{
	struct rig *r = *state;
	struct switchinfo sw = get_switch(r, "1");
	struct nodeinfo n;
	struct portinfo p;

	assert_int_equal(sw.linear_fdb_cap, 1000);
	assert_int_equal(sw.multicast_fdb_cap, 100);
	assert_int_equal(sw.random_fdb_cap, 0);
	assert_int_equal(sw.partition_enforcement_cap, 0);
	assert_int_equal(sw.optimized_slvl, 1);
	nodeinfo_decode(&n, must(get(r, "", ATTR_NODE_INFO, 0))->data);
	assert_int_equal(n.partition_cap, 40);
	nodeinfo_decode(&n, must(get(r, "1", ATTR_NODE_INFO, 0))->data);
	assert_int_equal(n.partition_cap, 8);
	p = get_port(r, "", 0);
	assert_int_equal(p.guid_cap, 20);
	assert_int_equal(p.mtu_cap, 4);
	assert_int_equal(p.neighbor_mtu, 4);
	assert_int_equal(p.vl_cap, 3);
	assert_int_equal(p.op_vls, 3);
	assert_int_equal(p.vl_arb_low_cap, 40);
	p = get_port(r, "1", 0);
	assert_int_equal(p.mtu_cap, 1);
	assert_int_equal(p.vl_cap, 2);
	assert_int_equal(p.op_vls, 2);
	assert_int_equal(get_port(r, "1", 1).mtu_cap, 4);
	assert_int_equal(get_port(r, "1", 1).neighbor_mtu, 4);
	assert_int_equal(get_port(r, "1", 1).op_vls, 3);
	/* A table ends with the block that its last entry is in. */
	assert_int_equal(get_status(r, "1", ATTR_LINEAR_FDB, 15), 0);
	assert_int_equal(get_status(r, "1", ATTR_LINEAR_FDB, 16), 0x1c);
	assert_int_equal(get_status(r, "1", ATTR_RANDOM_FDB, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(get_status(r, "1", ATTR_MULTICAST_FDB, 3), 0);
	assert_int_equal(get_status(r, "1", ATTR_MULTICAST_FDB, 4), 0x1c);
	assert_int_equal(get_status(r, "1", ATTR_P_KEY_TABLE, 1 << 16), 0x1c);
	assert_int_equal(get_status(r, "1", ATTR_P_KEY_TABLE, 1), 0x1c);
	assert_int_equal(get_status(r, "", ATTR_P_KEY_TABLE, 1), 0);
	/* The port number is a switch's. */
	assert_int_equal(get_status(r, "", ATTR_P_KEY_TABLE, 1 << 16 | 1), 0);
	assert_int_equal(get_status(r, "", ATTR_P_KEY_TABLE, 2), 0x1c);
	assert_int_equal(get_status(r, "", ATTR_GUID_INFO, 2), 0);
	assert_int_equal(get_status(r, "", ATTR_GUID_INFO, 3), 0x1c);
	assert_int_equal(get_status(r, "", ATTR_VL_ARBITRATION, 2 << 16), 0);
}

/* Entries beyond the capacity read 0 and cannot be written. */
static void
test_ends(void **state)
{
	struct rig *r = *state;
	uint8_t ones[SMP_DATA_SIZE];
	const uint8_t *d;

	memset(ones, 0x11, sizeof(ones));
	d = set(r, "", ATTR_P_KEY_TABLE, 1, ones);
	assert_memory_equal(d, ones, 16);
	assert_int_equal(d[16], 0);
	d = set(r, "", ATTR_GUID_INFO, 2, ones);
	assert_memory_equal(d, ones, 32);
	assert_int_equal(d[32], 0);
	assert_int_equal(model_guid(r->m, H1, 1, 19), 0x1111111111111111u);
	assert_int_equal(model_guid(r->m, H1, 1, 20), 0);
	d = set(r, "", ATTR_VL_ARBITRATION, 4 << 16, ones);
	assert_memory_equal(d, ones, 16);
	assert_int_equal(d[16], 0);
	d = set(r, "1", ATTR_MULTICAST_FDB, 3, ones);
	assert_memory_equal(d, ones, 8);
	assert_int_equal(d[8], 0);
}

static void
test_optimized_sl2vl(void **state)
{
	struct rig *r = *state;
	const uint8_t all[SMP_DATA_SIZE] = { 0x33, 0x33 }, out[SMP_DATA_SIZE] = { 0x22 };

	set(r, "1", ATTR_SL_TO_VL, 0x30000, all);
	assert_int_equal(model_sl2vl(r->m, A, 0, 4, 0), 3);
	assert_int_equal(model_sl2vl(r->m, A, 4, 1, 3), 3);
	set(r, "1", ATTR_SL_TO_VL, 0x20000 | 2, out);
	for (unsigned in = 0; in <= 4; in++) {
		assert_int_equal(model_sl2vl(r->m, A, in, 2, 1), 2);
		assert_int_equal(model_sl2vl(r->m, A, in, 3, 1), 3);
	}
	assert_int_equal(get_status(r, "1", ATTR_SL_TO_VL, 0x40000), 0x1c);
	assert_int_equal(get_status(r, "", ATTR_SL_TO_VL, 0x30000), 0x1c);
}

static void
test_mft_top(void **state)
{
	struct rig *r = *state;
	struct switchinfo sw = get_switch(r, "1");
	uint8_t data[SMP_DATA_SIZE];
	static const struct { uint16_t top; unsigned status; } cases[] = {
		{ 0xc001, 0 }, { 0xbfff, 0 }, { 0xc063, 0 }, { 0xc064, 0x1c }, { 0xbffe, 0x1c },
		{ 0, 0 },
	};

	assert_true(get_port(r, "1", 0).cap_mask & CAP_MCAST_FDB_TOP);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sw.multicast_fdb_top = cases[i].top;
		switchinfo_encode(&sw, data);
		assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .data = data,
						      .attr = ATTR_SWITCH_INFO })->h.status,
				 cases[i].status);
	}
	sw.linear_fdb_top = 1000;
	switchinfo_encode(&sw, data);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .data = data,
					      .attr = ATTR_SWITCH_INFO })->h.status, 0x1c);
}

static void
test_one_node(void **state)
{
	struct rig *r = *state;
	struct model_caps caps = { .linear_fdb = 128, .no_enforcement = true };
	struct portinfo p;

	bring_up(r);
	model_set_caps(r->m, B, &caps);
	run(r, MSEC(3));
	assert_int_equal(get_switch(r, "12").linear_fdb_cap, 128);
	assert_false(get_switch(r, "12").enforce_in_cap);
	assert_int_equal(get_switch(r, "1").linear_fdb_cap, 49152);
	assert_int_equal(get_port(r, "12", 0).lid, 0);		/* it is another device */
	p = get_port(r, "12", 4);
	p.state = p.phys_state = 0;
	p.enforce_in = true;
	assert_int_equal(set_port(r, "12", 4, &p), 0);
	assert_false(get_port(r, "12", 4).enforce_in);
}

/* The four levels against a wrong key: a Get below level 2 is answered, at level 0 with the key. */
static void
test_m_key_levels(void **state)
{
	struct rig *r = *state;
	struct ask get_it = { .path = "124", .attr = ATTR_PORT_INFO, .m_key = 5 };
	struct ask set_it = { .path = "124", .attr = ATTR_P_KEY_TABLE, .method = MAD_SET,
			      .m_key = 5 };
	uint8_t data[SMP_DATA_SIZE];
	uint64_t key = 0;

	give_lid(r, "124", 0, 2);
	for (unsigned level = 0; level < 4; level++) {
		struct portinfo p = *model_portinfo(r->m, H2, 1), got;
		unsigned violations = p.m_key_violations;
		const struct smp *s;

		p.m_key = 0x77;
		p.m_key_protect = (uint8_t)level;
		p.state = p.phys_state = 0;
		portinfo_encode(&p, data);
		must(ask(r, (struct ask){ .path = "124", .attr = ATTR_PORT_INFO, .data = data,
					  .method = MAD_SET, .m_key = key }));
		key = 0x77;
		s = ask(r, get_it);
		assert_int_equal(s != NULL, level < 2);
		if (s) {
			portinfo_decode(&got, s->data);
			assert_int_equal(got.m_key, level ? 0 : 0x77);
		}
		assert_null(ask(r, set_it));
		assert_int_equal(model_portinfo(r->m, H2, 1)->m_key_violations - violations,
				 level < 2 ? 1 : 2);
	}
}

/* A right key ends the lease that a wrong one began; one that comes too late does not bring the
 * protection back. */
static void
test_m_key_lease(void **state)
{
	struct rig *r = *state;
	struct ask wrong = { .path = "124", .attr = ATTR_NODE_INFO, .m_key = 5 };
	struct ask right = { .path = "124", .attr = ATTR_NODE_INFO, .m_key = 0x77 };
	struct portinfo p = get_port(r, "124", 0);

	p.lid = 2;
	p.sm_lid = 1;
	p.m_key = 0x77;
	p.m_key_protect = 3;
	p.m_key_lease = 2;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	assert_null(ask(r, wrong));
	run(r, MSEC(1500));
	must(ask(r, right));
	run(r, MSEC(1500));
	assert_null(ask(r, wrong));
	run(r, MSEC(2100));
	must(ask(r, right));
	assert_int_equal(model_portinfo(r->m, H2, 1)->m_key_protect, 0);
	must(ask(r, wrong));
	assert_int_equal(model_portinfo(r->m, H2, 1)->m_key, 0x77);
}

/* h1 is of the vendor that has FDR10 in an attribute of its own, but its cable is an SDR one. */
static void
test_fdr10(void **state)
{
	struct rig *r = *state;
	const uint8_t none[SMP_DATA_SIZE] = { 0 }, on[SMP_DATA_SIZE] = { [11] = 1 };

	assert_memory_equal(must(get(r, "", ATTR_EXTENDED_PORT_INFO, 1))->data, none, 64);
	assert_int_equal(get_status(r, "", ATTR_EXTENDED_PORT_INFO, 3), 0x1c);
	assert_int_equal(ask(r, (struct ask){ .path = "", .attr = ATTR_EXTENDED_PORT_INFO,
					      .method = MAD_SET, .mod = 1,
					      .data = on })->h.status, 0x1c);
	assert_int_equal(get_status(r, "1", ATTR_EXTENDED_PORT_INFO, 1), MAD_STATUS_BAD_ATTR);
}

/* Two adapters of the vendor with an FDR10 cable between them. */
static void
test_fdr10_link(void **state)
{
	static const char text[] = "vendid=0x2c9\ndevid=0x1003\ncaguid=0x10\nCa 1 \"x\"\n"
		"[1] \"y\"[1]  # \"y\" lid 0 4xFDR10\n\n"
		"vendid=0x2c9\ndevid=0x1003\ncaguid=0x20\nCa 1 \"y\"\n";
	struct rig r = { 0 };
	struct model_client_events ev = { .receive = on_receive, .arg = &r.in1 };
	struct error e = { 0 };
	uint8_t off[SMP_DATA_SIZE] = { 0 };
	const uint8_t *d;

	(void)state;
	if (ibnet_parse(&r.net, text, strlen(text), "net", &e) < 0)
		fail_msg("%s", e.text);
	r.loop = loop_new_virtual(1);
	r.m = model_new(r.loop, r.net, NULL);
	r.c1 = model_attach(r.m, 0, 1, &ev);
	d = must(get(&r, "1", ATTR_EXTENDED_PORT_INFO, 1))->data;
	assert_int_equal(d[7], 1);
	assert_int_equal(d[11], 1);
	assert_int_equal(d[15], 1);
	assert_int_equal(get_port(&r, "", 1).speed_active, 4);
	d = set(&r, "", ATTR_EXTENDED_PORT_INFO, 1, off);
	assert_int_equal(d[11], 0);
	assert_int_equal(d[15], 1);		/* until it trains again */
	assert_int_equal(set_state(&r, "", 1, PORT_DOWN), 0);
	run(&r, MSEC(3));
	assert_int_equal(must(get(&r, "1", ATTR_EXTENDED_PORT_INFO, 1))->data[15], 0);
	assert_int_equal(get_port(&r, "", 1).speed_active, 4);	/* QDR now */
	model_free(r.m);
	loop_free(r.loop);
	ibnet_free(r.net);
}

/* Up to EDR where libibmad looks for these fields (mad_get_field), those of HDR and NDR right
 * behind them; the cable A-B is an NDR one. */
static void
test_fec(void **state)
{
	struct rig *r = *state;
	uint8_t data[SMP_DATA_SIZE];

	memcpy(data, must(get(r, "1", 0x33, 2))->data, sizeof(data));
	assert_memory_equal(data, "\0\0\0\x01\0\x04\0\x03\0\x03\0\x07\0\x07"
			    "\0\x0c\0\x0c\0\x10\0\x10", 22);
	data[17] = 4;
	assert_int_equal(set(r, "1", 0x33, 2, data)[17], 4);
	assert_int_equal(must(get(r, "1", 0x33, 3))->data[17], 0xc);
	data[17] = 1;
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = 0x33, .mod = 2, .data = data,
					      .method = MAD_SET })->h.status, 0x1c);
	assert_int_equal(get_status(r, "1", 0x33, 5), 0x1c);
	assert_int_equal(get_status(r, "", 0x33, 1), MAD_STATUS_BAD_ATTR);	/* SDR only */
}

static int
setup_ibsim(void **state)
{
	struct model_options o = { .seed = 1, .like_ibsim = true };

	return setup_with(state, &o);
}

/* As read from ibsim 0.10 by smpquery on a fabric of the same kind. */
static void
test_ibsim(void **state)
{
	struct rig *r = *state;
	struct switchinfo sw = get_switch(r, "1");
	struct portinfo p = get_port(r, "", 0);
	struct nodeinfo n;

	assert_int_equal(p.cap_mask, 0x50c048);
	assert_int_equal(p.cap_mask2, 0x30);
	assert_int_equal(p.guid_cap, 32);
	assert_int_equal(p.mtu_cap, 4);
	assert_int_equal(p.neighbor_mtu, 4);
	assert_int_equal(p.vl_cap, 4);
	assert_int_equal(p.op_vls, 4);
	assert_int_equal(p.width_supported, 31);
	assert_int_equal(p.width_enabled, 3);
	assert_int_equal(p.speed_active, 1);
	p = get_port(r, "1", 0);
	assert_int_equal(p.cap_mask, 0xc048);
	assert_int_equal(p.guid_cap, 1);
	assert_int_equal(p.mtu_cap, 3);
	assert_int_equal(p.neighbor_mtu, 1);
	assert_int_equal(p.vl_cap, 4);
	p = get_port(r, "1", 2 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(portinfo_speed(&p), SPEED_SDR);	/* NDR is unknown to it */
	assert_int_equal(p.cap_mask, 0);
	assert_int_equal(p.local_phy_errors, 0);
	assert_int_equal(get_port(r, "1", 4).local_phy_errors, 4);	/* without a cable */
	assert_int_equal(sw.linear_fdb_cap, 30720);
	assert_int_equal(sw.multicast_fdb_cap, 1024);
	assert_int_equal(sw.life_time, 0);
	assert_int_equal(sw.partition_enforcement_cap, 64);
	assert_false(sw.enforce_in_cap || sw.enforce_out_cap);
	assert_true(sw.filter_raw_in_cap && sw.filter_raw_out_cap);
	nodeinfo_decode(&n, must(get(r, "1", ATTR_NODE_INFO, 0))->data);
	assert_int_equal(n.partition_cap, 8);
	nodeinfo_decode(&n, must(get(r, "", ATTR_NODE_INFO, 0))->data);
	assert_int_equal(n.partition_cap, 64);
	assert_int_equal(n.system_guid, 0x15);
}

#define SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		SMALL(test_caps), SMALL(test_ends), SMALL(test_optimized_sl2vl),
		SMALL(test_mft_top), TEST(test_one_node), TEST(test_m_key_levels),
		TEST(test_m_key_lease), TEST(test_fdr10), TEST(test_fec),
		cmocka_unit_test(test_fdr10_link),
		cmocka_unit_test_setup_teardown(test_ibsim, setup_ibsim, teardown),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
