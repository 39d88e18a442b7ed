/* SPDX-License-Identifier: BSD-2-Clause */
/* What simulated devices answer, field by field and state by state. */
#include "tests/unit/sim_bed.h"

static void
test_node_info(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	char desc[NODEDESC_SIZE];

	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "", .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_type, NODE_CA);
	assert_int_equal(n.num_ports, 2);
	assert_int_equal(n.node_guid, 0x10);
	assert_int_equal(n.system_guid, 0x15);
	assert_int_equal(n.port_guid, 0x11);
	assert_int_equal(n.local_port, 1);
	assert_int_equal(n.vendor_id, 0x2c9);
	assert_int_equal(n.device_id, 0x1021);
	assert_int_equal(n.partition_cap, 64);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "13",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_type, NODE_SWITCH);
	assert_int_equal(n.node_guid, 0xb0);
	assert_int_equal(n.port_guid, 0xb0);
	assert_int_equal(n.local_port, 2);
	assert_int_equal(n.num_ports, 4);
	/* Back and forth: out by A[2], back by B[2] and A[3], out by A[1] to h1 itself. */
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .path = "1221",
						     .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x10);
	nodedesc_decode(desc, must(ask(r, (struct ask){ .path = "124",
						       .attr = ATTR_NODE_DESCRIPTION }))->data);
	assert_string_equal(desc, "h2");
	assert_int_equal(r->in1.smp[0].hop_pointer, 0);
	assert_true(r->in1.smp[0].direction);
	assert_int_equal(r->in1.lid[0], LID_PERMISSIVE);
}

static void
test_lost(void **state)
{
	struct rig *r = *state;
	uint64_t lost = model_lost(r->m);

	/* No cable; no port; not the client's port; and a CA passes nothing on. */
	assert_null(ask(r, (struct ask){ .path = "14", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "15", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "2", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "1241", .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }));
	assert_null(ask(r, (struct ask){ .path = "124", .attr = ATTR_SM_INFO, .m_key = 1 }));
	assert_int_equal(model_lost(r->m) - lost, 5);
	assert_int_equal(r->in2.n, 1);		/* the SMInfo went to h2's manager */
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = 0x7777 })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET,
					      .attr = ATTR_NODE_INFO })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "", .attr = ATTR_SWITCH_INFO })->h.status,
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .mod = 5,
					      .attr = ATTR_PORT_INFO })->h.status,
			 MAD_STATUS_BAD_FIELD);
}

static void
test_states(void **state)
{
	struct rig *r = *state;

	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "1", 2).phys_state, PHYS_LINK_UP);
	assert_int_equal(get_port(r, "1", 4).state, PORT_DOWN);
	assert_int_equal(get_port(r, "1", 4).phys_state, PHYS_POLLING);
	assert_int_equal(get_port(r, "1", 0).state, PORT_ACTIVE);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0x1c);
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(set_state(r, "1", 4, PORT_ARMED), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_INIT), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0);
	assert_int_equal(set_state(r, "1", 2, PORT_ACTIVE), 0x1c);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0x1c);
	assert_int_equal(get_port(r, "1", 2).state, PORT_ACTIVE);
	assert_int_equal(get_port(r, "13", 1).state, PORT_INIT);
	/* Down takes both ends along, and both train again. */
	assert_int_equal(set_state(r, "13", 1, PORT_DOWN), 0);
	assert_int_equal(get_port(r, "1", 2).state, PORT_DOWN);
	assert_int_equal(get_port(r, "13", 1).state, PORT_DOWN);
	run(r, MSEC(2));
	assert_int_equal(get_port(r, "1", 2).state, PORT_INIT);
	assert_int_equal(get_port(r, "13", 1).state, PORT_INIT);
}

static void
test_disable(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "1", 2);

	p.state = PORT_NO_CHANGE;
	p.phys_state = PHYS_DISABLED;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	run(r, MSEC(5));
	assert_int_equal(get_port(r, "1", 2).phys_state, PHYS_DISABLED);
	assert_int_equal(get_port(r, "13", 1).state, PORT_DOWN);
	p.phys_state = PHYS_POLLING;
	p.width_enabled = LINK_1X;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	run(r, MSEC(5));
	p = get_port(r, "13", 1);
	assert_int_equal(p.state, PORT_INIT);
	assert_int_equal(p.width_active, LINK_1X);
	p.phys_state = PHYS_TRAINING;
	assert_int_equal(set_port(r, "13", 1, &p), 0x1c);
}

static void
test_speeds(void **state)
{
	struct rig *r = *state;
	struct portinfo p;

	assert_true(get_port(r, "1", 0).cap_mask & CAP_EXTENDED_SPEEDS);
	p = get_port(r, "1", 2);
	assert_int_equal(p.speed_ext_active, 0);
	assert_int_equal(p.speed_ext_supported, 0);
	assert_int_equal(p.speed_active, 4);
	p = get_port(r, "1", 2 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(p.speed_ext_active, 8);
	assert_int_equal(p.speed_ext_supported, 15);
	assert_int_equal(portinfo_speed(&p), SPEED_NDR);
	assert_int_equal(p.width_active, LINK_4X);
	p = get_port(r, "1", 1 | PORTINFO_MOD_EXTENDED);
	assert_int_equal(portinfo_speed(&p), SPEED_SDR);
	/* h1 has no extended speeds: it does not know the bit. */
	assert_false(get_port(r, "", 1).cap_mask & CAP_EXTENDED_SPEEDS);
	assert_int_equal(ask(r, (struct ask){ .path = "", .mod = 1 | PORTINFO_MOD_EXTENDED,
					      .attr = ATTR_PORT_INFO })->h.status, 0x1c);
	/* A Set without the bit leaves the extended fields alone. */
	p = get_port(r, "1", 2);
	p.state = 0;
	p.phys_state = 0;
	assert_int_equal(set_port(r, "1", 2, &p), 0);
	assert_int_equal(get_port(r, "1", 2 | PORTINFO_MOD_EXTENDED).speed_ext_enabled, 15);
	p.speed_ext_enabled = 16;
	assert_int_equal(set_port(r, "1", 2 | PORTINFO_MOD_EXTENDED, &p), 0x1c);
}

static void
test_fields(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "124", 0), q;

	p.state = p.phys_state = 0;
	p.lid = 8;
	p.lmc = 2;
	p.sm_lid = 1;
	p.sm_sl = 3;
	p.neighbor_mtu = 5;
	p.op_vls = 3;
	p.m_key_lease = 60;
	p.subnet_timeout = 12;
	p.client_reregister = true;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	portinfo_decode(&q, r->in1.smp[0].data);
	assert_true(q.client_reregister);
	q = get_port(r, "124", 0);
	assert_int_equal(q.lid, 8);
	assert_int_equal(q.lmc, 2);
	assert_int_equal(q.sm_lid, 1);
	assert_int_equal(q.sm_sl, 3);
	assert_int_equal(q.neighbor_mtu, 5);
	assert_int_equal(q.op_vls, 3);
	assert_int_equal(q.subnet_timeout, 12);
	assert_false(q.client_reregister);
	assert_int_equal(model_reregisters(r->m, H2, 1), 1);
	p.lid = 9;			/* not aligned for LMC 2 */
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.lid = 0xc000;
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.lid = 8;
	p.op_vls = 5;			/* VLCap is 4 */
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	p.op_vls = 4;
	p.neighbor_mtu = 0;
	assert_int_equal(set_port(r, "124", 0, &p), 0x1c);
	assert_int_equal(get_port(r, "124", 0).op_vls, 3);
}

static void
test_lid_routing(void **state)
{
	struct rig *r = *state;
	struct nodeinfo n;
	uint32_t end;

	bring_up(r);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x20);
	assert_int_equal(r->in1.lid[0], 2);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 4, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0xb0);
	assert_int_equal(n.local_port, 1);
	nodeinfo_decode(&n, must(ask(r, (struct ask){ .lid = 1, .attr = ATTR_NODE_INFO }))->data);
	assert_int_equal(n.node_guid, 0x10);
	assert_null(ask(r, (struct ask){ .lid = 5, .attr = ATTR_NODE_INFO }));
	/* Data needs ACTIVE links. */
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_CLOSED);
	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++) {
		assert_int_equal(set_state(r, "", 1, s), 0);
		assert_int_equal(set_state(r, "1", 1, s), 0);
		assert_int_equal(set_state(r, "1", 2, s), 0);
		assert_int_equal(set_state(r, "12", 1, s), 0);
		assert_int_equal(set_state(r, "12", 4, s), 0);
		assert_int_equal(set_state(r, "124", 1, s), 0);
	}
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), 2);
	assert_int_equal(end, H2);
	assert_int_equal(model_trace(r->m, H1, 1, 4, &end), 2);
	assert_int_equal(model_trace(r->m, H1, 1, 3, &end), 1);
	/* A table that points past LinearFDBTop is not looked at; one with a loop ends. */
	assert_int_equal(set_lft(r, "1", 1, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_NOT_FOUND);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(set_lft(r, "12", 4, "\xff\x01\x01\x01\x00"), 0);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_FULL);
	assert_null(ask(r, (struct ask){ .lid = 2, .attr = ATTR_NODE_INFO }));
}

static void
test_switch_info(void **state)
{
	struct rig *r = *state;
	struct switchinfo sw = get_switch(r, "1");
	uint8_t data[SMP_DATA_SIZE];

	assert_int_equal(sw.linear_fdb_cap, 49152);
	assert_true(sw.enhanced_port0);
	assert_true(sw.port_state_change);
	sw.life_time = 20;
	sw.linear_fdb_top = 77;
	sw.port_state_change = false;
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	sw = get_switch(r, "1");
	assert_int_equal(sw.life_time, 20);
	assert_int_equal(sw.linear_fdb_top, 77);
	assert_true(sw.port_state_change);	/* 0 does not clear it */
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	assert_false(get_switch(r, "1").port_state_change);
	assert_int_equal(set_state(r, "1", 2, PORT_ARMED), 0);
	assert_false(get_switch(r, "1").port_state_change);	/* a Set does not set it */
	model_link_set(r->m, B, 2, false);
	assert_true(get_switch(r, "1").port_state_change);
	sw.linear_fdb_top = 0xc000;
	switchinfo_encode(&sw, data);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .data = data,
					      .attr = ATTR_SWITCH_INFO })->h.status, 0x1c);
}

static void
test_lft(void **state)
{
	struct rig *r = *state;
	uint8_t data[SMP_DATA_SIZE];

	for (unsigned i = 0; i < 64; i++)
		data[i] = (uint8_t)(i % 5);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_LINEAR_FDB,
				  .mod = 767, .data = data }));
	assert_int_equal(model_lft(r->m, A, 0xbfff), 63 % 5);
	assert_int_equal(model_lft(r->m, A, 0xbfc0), 0);
	assert_int_equal(model_lft(r->m, A, 0xbfbf), LFT_NO_PORT);
	assert_memory_equal(must(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
						      .mod = 767 }))->data, data, 64);
	memset(data, LFT_NO_PORT, sizeof(data));
	assert_memory_equal(must(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
						      .mod = 3 }))->data, data, 64);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = ATTR_LINEAR_FDB,
					      .mod = 768 })->h.status, 0x1c);
}

/* What is written comes back, at the place where it was written alone. */
static void
check_table(struct rig *r, const char *path, uint16_t attr, uint32_t mod, uint32_t other,
	    uint32_t bad, size_t size)
{
	uint8_t data[SMP_DATA_SIZE] = { 0 }, before[SMP_DATA_SIZE];

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(7 * i + 1) & 0x7f;
	memcpy(before, must(ask(r, (struct ask){ .path = path, .attr = attr,
						 .mod = other }))->data, sizeof(before));
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = attr, .mod = mod,
				  .data = data }));
	assert_memory_equal(must(ask(r, (struct ask){ .path = path, .attr = attr,
						      .mod = mod }))->data, data, 64);
	assert_memory_equal(must(ask(r, (struct ask){ .path = path, .attr = attr,
						      .mod = other }))->data, before, 64);
	assert_int_equal(ask(r, (struct ask){ .path = path, .attr = attr, .mod = bad })->h.status,
			 0x1c);
}

static void
test_tables(void **state)
{
	struct rig *r = *state;
	uint64_t guids[8];
	const struct smp *s;

	assert_int_equal(model_pkey(r->m, H1, 1, 0), 0xffff);
	check_table(r, "", ATTR_P_KEY_TABLE, 1, 0, 2, 64);
	check_table(r, "1", ATTR_P_KEY_TABLE, 3 << 16 | 1, 2 << 16 | 1, 5 << 16, 64);
	check_table(r, "1", ATTR_SL_TO_VL, 1 << 8 | 2, 2 << 8 | 1, 1 << 8 | 5, 8);
	assert_int_equal(model_sl2vl(r->m, A, 1, 2, 0), 0);	/* first byte is 0x01 */
	assert_int_equal(model_sl2vl(r->m, A, 1, 2, 1), 1);
	assert_int_equal(model_sl2vl(r->m, A, 2, 1, 9), 1);
	check_table(r, "1", ATTR_VL_ARBITRATION, 1 << 16 | 2, 3 << 16 | 2, 5 << 16 | 2, 0);
	check_table(r, "1", ATTR_MULTICAST_FDB, 31, 30, 32, 64);
	assert_int_equal(ask(r, (struct ask){ .path = "1", .attr = ATTR_MULTICAST_FDB,
					      .mod = 1u << 28 })->h.status, 0x1c);
	memset(guids, 0x11, sizeof(guids));
	s = must(ask(r, (struct ask){ .path = "", .method = MAD_SET, .attr = ATTR_GUID_INFO,
				      .data = guids }));
	guidinfo_decode(guids, s->data);
	assert_int_equal(guids[0], 0x11);	/* the port GUID, not what was sent */
	assert_int_equal(guids[7], 0x1111111111111111u);
}

static void
test_m_key(void **state)
{
	struct rig *r = *state;
	struct portinfo p = get_port(r, "12", 0);
	struct ask get = { .path = "12", .attr = ATTR_PORT_INFO };
	struct ask set = { .path = "12", .attr = ATTR_LINEAR_FDB, .method = MAD_SET };

	p.m_key = 0x77;
	p.m_key_protect = 1;
	p.m_key_lease = 2;
	p.lid = 4;
	p.sm_lid = 1;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "12", 0, &p), 0);
	assert_int_equal(get_port(r, "12", 0).m_key, 0);	/* hidden from who has it not */
	assert_null(ask(r, set));
	set.m_key = 0x77;
	must(ask(r, set));
	get.m_key = 0x77;
	portinfo_decode(&p, must(ask(r, get))->data);
	assert_int_equal(p.m_key, 0x77);
	assert_int_equal(p.m_key_violations, 1);
	p.m_key_protect = 2;
	p.state = p.phys_state = 0;
	{
		uint8_t data[SMP_DATA_SIZE];

		portinfo_encode(&p, data);
		must(ask(r, (struct ask){ .path = "12", .attr = ATTR_PORT_INFO, .m_key = 0x77,
					  .method = MAD_SET, .data = data }));
	}
	get.m_key = 0x78;
	assert_null(ask(r, get));
	must(ask(r, (struct ask){ .path = "1", .attr = ATTR_PORT_INFO }));
	/* The lease that the wrong key began ends after 2 s, and with it the protection. */
	run(r, MSEC(1900));
	assert_null(ask(r, get));
	run(r, MSEC(200));
	must(ask(r, get));
}

static void
test_traps(void **state)
{
	struct rig *r = *state;
	struct notice n;
	const struct smp *s = NULL;
	struct smp repress;
	struct model_mad mad = { .lid = 4 };

	bring_up(r);
	r->in1.n = 0;
	model_link_set(r->m, B, 2, false);	/* A[3]-B[2] */
	run(r, MSEC(35));
	/* Both switches, at once and three times more at 10 ms. */
	assert_int_equal(count_traps(&r->in1, TRAP_LINK_STATE, &n, &s), 8);
	assert_true(n.generic);
	assert_int_equal(n.producer, NODE_SWITCH);
	for (unsigned i = 0; i < 2; i++) {
		notice_decode(&n, r->in1.smp[i].data);
		assert_int_equal(notice_subject_lid(&n), r->in1.lid[i]);
		assert_int_equal(n.issuer_lid, r->in1.lid[i]);
		if (r->in1.lid[i] == 4)
			s = &r->in1.smp[i];
	}
	repress = *s;
	repress.h.method = MAD_TRAP_REPRESS;
	smp_encode(&repress, mad.mad);
	model_send(r->c1, &mad);
	run(r, MSEC(1));
	r->in1.n = 0;
	run(r, MSEC(30));
	assert_int_equal(count_traps(&r->in1, TRAP_LINK_STATE, &n, &s), 3);	/* A alone */
	assert_int_equal(notice_subject_lid(&n), 3);
}

static void
test_description(void **state)
{
	struct rig *r = *state;
	struct notice n;
	const struct smp *s;
	char desc[NODEDESC_SIZE];

	bring_up(r);
	r->in1.n = 0;
	model_set_description(r->m, H2, "h2 mlx5_0");
	run(r, MSEC(5));
	assert_int_equal(count_traps(&r->in1, TRAP_CAPABILITY, &n, &s), 1);
	assert_int_equal(notice_subject_lid(&n), 2);
	assert_int_equal(notice_144_flags(&n), NOTICE_144_NODE_DESCRIPTION);
	assert_int_equal(n.producer, NODE_CA);
	nodedesc_decode(desc, must(ask(r, (struct ask){ .lid = 2,
						       .attr = ATTR_NODE_DESCRIPTION }))->data);
	assert_string_equal(desc, "h2 mlx5_0");
}

/* h2's manager answers an SMInfo that came by directed route; the way back is in the MAD. */
static void
test_sm_info(void **state)
{
	struct rig *r = *state;
	struct sminfo sm = { .guid = 0x21, .priority = 3, .state = SM_MASTER };
	struct model_mad mad = { .lid = LID_PERMISSIVE };
	struct smp s;

	model_set_issm(r->c2, true);
	assert_true(get_port(r, "124", 0).cap_mask & CAP_IS_SM);
	assert_null(ask(r, (struct ask){ .path = "124", .attr = ATTR_SM_INFO }));
	assert_int_equal(r->in2.n, 1);
	s = r->in2.smp[0];
	assert_int_equal(s.hop_pointer, 4);
	assert_int_equal(s.return_path[3], 1);
	s.h.method = MAD_GET_RESP;
	s.direction = true;
	sminfo_encode(&sm, s.data);
	smp_encode(&s, mad.mad);
	r->in1.n = 0;
	model_send(r->c2, &mad);
	run(r, MSEC(1));
	assert_int_equal(r->in1.n, 1);
	assert_int_equal(r->in1.smp[0].h.tid, r->tid);
	sminfo_decode(&sm, r->in1.smp[0].data);
	assert_int_equal(sm.priority, 3);
	model_set_issm(r->c2, false);
	assert_false(get_port(r, "124", 0).cap_mask & CAP_IS_SM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_node_info), TEST(test_lost), TEST(test_states), TEST(test_disable),
		TEST(test_speeds), TEST(test_fields), TEST(test_lid_routing),
		TEST(test_switch_info), TEST(test_lft), TEST(test_tables), TEST(test_m_key),
		TEST(test_traps), TEST(test_description), TEST(test_sm_info),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
