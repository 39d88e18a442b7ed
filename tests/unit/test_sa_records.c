/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/sa_bed.h"

/*
 * The subnet administrator of a subnet that is up, asked by another host. "ft3 4" has 16 hosts of a
 * port, 20 switches of 4 ports, 16 cables to hosts and 32 between switches: so 36 end ports, 16 +
 * 20 * 5 = 116 ports, 2 * 48 = 96 directions of cables, and LIDs up to 36 in one block of each of
 * the 20 tables. What a record says is held against the simulated devices.
 */
static void
test_class(void **state)
{
	struct sa_bed *b = *state;
	struct sa_class_port_info c = { 0 };

	assert_int_equal(sa_bed_get(b, &sa_class_port_info_type, &c, 0, &c), 0);
	assert_int_equal(c.base_version, 1);
	assert_int_equal(c.class_version, 2);
	assert_int_equal(c.cap_mask, 0x2602);		/* nothing that is not there */
	assert_int_equal(c.cap_mask2, 0x14e8);
	assert_int_equal(c.redirect_lid, 0);
}

static void
test_nodes(void **state)
{
	struct sa_bed *b = *state;
	struct bed *bed = b->sm->bed;
	struct sa_node r = { 0 };

	assert_int_equal(sa_bed_table(b, &sa_node_type, &r, 0), 36);
	for (unsigned i = 0; i < 36; i++) {
		uint32_t n;

		sa_bed_record(b, &sa_node_type, i, &r);
		n = sa_bed_node_of(b, r.lid);
		assert_int_equal(r.info.node_guid, bed->net->nodes[n].guid);
		assert_string_equal(r.description, bed->net->nodes[n].name);
		assert_int_equal(r.info.port_guid, model_port_guid(bed->m, n,
				 bed->net->nodes[n].type != IBNET_SWITCH));
		assert_int_equal(r.info.base_version, 1);
		assert_int_equal(r.info.local_port, bed->net->nodes[n].type != IBNET_SWITCH);
	}
	r.info.node_type = NODE_SWITCH;
	assert_int_equal(sa_bed_table(b, &sa_node_type, &r, SA_BIT(SA_NODE_TYPE)), 20);
	r.lid = sa_bed_lid(b, "H3_1_1", 1);
	assert_int_equal(sa_bed_get(b, &sa_node_type, &r, SA_BIT(SA_NODE_LID), &r), 0);
	assert_string_equal(r.description, "H3_1_1");
	assert_int_equal(sa_bed_table(b, &sa_node_type, &r, SA_BIT(SA_NODE_DESCRIPTION)), 1);
}

static void
test_ports(void **state)
{
	struct sa_bed *b = *state;
	struct bed *bed = b->sm->bed;
	struct sa_port r = { 0 };

	assert_int_equal(sa_bed_table(b, &sa_port_type, &r, 0), 116);
	for (unsigned i = 0; i < 116; i++) {
		const struct portinfo *p;

		sa_bed_record(b, &sa_port_type, i, &r);
		p = model_portinfo(bed->m, sa_bed_node_of(b, r.lid), r.number);
		assert_int_equal(r.info.lid, p->lid);
		assert_int_equal(r.info.width_active, p->width_active);
		assert_int_equal(r.info.mtu_cap, p->mtu_cap);
		assert_false(r.info.client_reregister);
		if (r.number)
			assert_int_equal(r.info.state, PORT_ACTIVE);
	}
	r.number = 0;
	assert_int_equal(sa_bed_table(b, &sa_port_type, &r, SA_BIT(SA_PORT_NUMBER)), 20);
	r.info.cap_mask = CAP_IS_SM;
	b->mod = 0x80000000;
	assert_int_equal(sa_bed_table(b, &sa_port_type, &r, SA_BIT(SA_PORT_CAP_MASK)), 1);
	sa_bed_record(b, &sa_port_type, 0, &r);
	assert_int_equal(sa_bed_node_of(b, r.lid), b->sm->node);
	r.info.cap_mask = CAP_IS_SM;
	b->mod = 0;
	assert_int_equal(sa_bed_table(b, &sa_port_type, &r, SA_BIT(SA_PORT_CAP_MASK)), 0);
}

static void
test_switches(void **state)
{
	struct sa_bed *b = *state;
	struct sa_switch r = { 0 };

	assert_int_equal(sa_bed_table(b, &sa_switch_type, &r, 0), 20);
	for (unsigned i = 0; i < 20; i++) {
		sa_bed_record(b, &sa_switch_type, i, &r);
		assert_int_equal(r.info.linear_fdb_top, 36);
		assert_int_equal(b->sm->bed->net->nodes[sa_bed_node_of(b, r.lid)].type,
				 IBNET_SWITCH);
	}
	r.lid = sa_bed_lid(b, "H1_0_0", 1);
	assert_int_equal(sa_bed_get(b, &sa_switch_type, &r, SA_BIT(SA_SWITCH_LID), &r),
			 SA_STATUS_NO_RECORDS);
}

static void
test_tables(void **state)
{
	struct sa_bed *b = *state;
	struct sa_lft r = { .block = 1 };

	assert_int_equal(sa_bed_table(b, &sa_lft_type, &r, SA_BIT(SA_LFT_BLOCK)), 0);
	assert_int_equal(sa_bed_table(b, &sa_lft_type, &r, 0), 20);
	for (unsigned i = 0; i < 20; i++) {
		sa_bed_record(b, &sa_lft_type, i, &r);
		for (uint16_t lid = 0; lid < LFT_BLOCK_LEN; lid++)
			assert_int_equal(r.ports[lid], model_lft(b->sm->bed->m,
								 sa_bed_node_of(b, r.lid), lid));
	}
	assert_int_equal(sa_bed_get(b, &sa_lft_type, &r, SA_BIT(SA_LFT_LID), &r), 0);
}

static void
test_links(void **state)
{
	struct sa_bed *b = *state;
	struct sa_link r = { 0 }, back;
	uint16_t lid = sa_bed_lid(b, "H1_0_0", 1);

	assert_int_equal(sa_bed_table(b, &sa_link_type, &r, 0), 96);
	r.from_lid = lid;
	assert_int_equal(sa_bed_get(b, &sa_link_type, &r, SA_BIT(SA_LINK_FROM_LID), &r), 0);
	assert_int_equal(r.from_port, 1);
	assert_int_equal(r.to_lid, sa_bed_lid(b, "L1_0", 0));
	back = (struct sa_link){ .to_lid = lid };
	assert_int_equal(sa_bed_get(b, &sa_link_type, &back, SA_BIT(SA_LINK_TO_LID), &back), 0);
	assert_int_equal(back.from_lid, r.to_lid);
	assert_int_equal(back.from_port, r.to_port);
	r.from_lid = back.from_lid;
	assert_int_equal(sa_bed_table(b, &sa_link_type, &r, SA_BIT(SA_LINK_FROM_LID)), 4);
}

static void
test_managers(void **state)
{
	struct sa_bed *b = *state;
	struct sa_sm r = { 0 };

	assert_int_equal(sa_bed_get(b, &sa_sm_type, &r, 0, &r), 0);
	assert_int_equal(r.info.guid, model_port_guid(b->sm->bed->m, b->sm->node, 1));
	assert_int_equal(r.info.state, SM_MASTER);
	assert_int_equal(r.info.sm_key, 0);
	assert_int_equal(r.lid, model_portinfo(b->sm->bed->m, b->node, 1)->sm_lid);
	assert_true(sa_bed_ask(b, MAD_SET, &sa_sm_type, &r, 0));
	assert_int_equal(b->h.h.status, MAD_STATUS_BAD_ATTR);
	assert_int_equal(b->h.h.method, MAD_GET_RESP);
}

/* As many blocks of eight as GUIDCap says; the first GUID is the port's own, the others are 0. */
static void
test_guids(void **state)
{
	struct sa_bed *b = *state;
	struct bed *bed = b->sm->bed;
	struct sa_guids r = { 0 };
	struct sa_node node = { 0 };
	unsigned blocks = 0;

	for (uint32_t i = 0; i < bed->net->nnodes; i++) {
		unsigned port = bed->net->nodes[i].type != IBNET_SWITCH;

		blocks += (model_portinfo(bed->m, i, port)->guid_cap + 7u) / 8;
	}
	assert_true(blocks >= 36);
	assert_int_equal(sa_bed_table(b, &sa_guids_type, &r, 0), blocks);
	for (uint16_t lid = 1; lid <= 36; lid++) {
		node.lid = r.lid = lid;
		r.block = 0;
		assert_int_equal(sa_bed_get(b, &sa_node_type, &node, SA_BIT(SA_NODE_LID), &node),
				 0);
		assert_int_equal(sa_bed_get(b, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
					    SA_BIT(SA_GUIDS_BLOCK), &r), 0);
		assert_true(r.guids[0] == node.info.port_guid);
		for (unsigned i = 1; i < 8; i++)
			assert_true(r.guids[i] == 0);
	}
}

static void
test_statuses(void **state)
{
	struct sa_bed *b = *state;
	struct sa_node r = { 0 };
	struct sa_trace trace = { 0 };
	struct sa_class_port_info c = { 0 };

	assert_int_equal(sa_bed_get(b, &sa_node_type, &r, 0, &r), SA_STATUS_TOO_MANY);
	r.lid = 0xbfff;
	assert_int_equal(sa_bed_get(b, &sa_node_type, &r, SA_BIT(SA_NODE_LID), &r),
			 SA_STATUS_NO_RECORDS);
	r.lid = 0xffff;
	assert_int_equal(sa_bed_table(b, &sa_node_type, &r, SA_BIT(SA_NODE_LID)), 0);
	assert_int_equal(sa_bed_get(b, &sa_trace_type, &trace, 0, &trace),
			 MAD_STATUS_BAD_ATTR);
	assert_true(sa_bed_ask(b, MAD_GET_TABLE, &sa_class_port_info_type, &c, 0));
	assert_int_equal(b->h.h.status, MAD_STATUS_BAD_ATTR);
	assert_true(sa_bed_ask(b, MAD_DELETE, &sa_node_type, &r, 0));
	assert_int_equal(b->h.h.method, MAD_DELETE_RESP);
	assert_int_equal(b->h.h.status, MAD_STATUS_BAD_ATTR);
}

static void
test_keys(void **state)
{
	struct sa_bed *b = *state;
	struct sa_port r = { .lid = sa_bed_lid(b, "H1_0_0", 1) };
	uint64_t mask = SA_BIT(SA_PORT_LID) | SA_BIT(SA_PORT_M_KEY);

	b->key = 9999;
	assert_false(sa_bed_ask(b, MAD_GET, &sa_port_type, &r, mask));
	topo_find(&b->sm->s->topo, b->sm->bed->net->nodes[b->node].guid)->ports[1].info.m_key = 7;
	b->key = 1;
	assert_int_equal(sa_bed_get(b, &sa_port_type, &r, SA_BIT(SA_PORT_LID), &r), 0);
	assert_int_equal(r.info.m_key, 7);
	b->key = 0;
	assert_int_equal(sa_bed_get(b, &sa_port_type, &r, mask, &r), SA_STATUS_NO_RECORDS);
	r.lid = sa_bed_lid(b, "H1_0_0", 1);
	assert_int_equal(sa_bed_get(b, &sa_port_type, &r, SA_BIT(SA_PORT_LID), &r), 0);
	assert_int_equal(r.info.m_key, 0);
}

/* Nothing published yet: come again. Not the master: no word. */
static void
test_not_ready(void **state)
{
	struct sa_bed *b = *state;
	struct subnet *s = b->sm->s;
	struct plan *published = s->plan;
	struct subnet_status st;
	struct sa_node r = { .lid = sa_bed_lid(b, "H1_0_0", 1) };

	s->plan = NULL;
	assert_int_equal(sa_bed_get(b, &sa_node_type, &r, SA_BIT(SA_NODE_LID), &r),
			 MAD_STATUS_BUSY);
	s->plan = published;
	s->role = ROLE_STANDBY;
	assert_false(sa_bed_ask(b, MAD_GET, &sa_node_type, &r, SA_BIT(SA_NODE_LID)));
	s->role = ROLE_MASTER;
	subnet_status(s, &st);
	assert_int_equal(st.sa_requests, st.sa_answered + st.sa_refused +
			 st.sa_dropped.key);
	assert_int_equal(st.sa_dropped.key, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class), cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_ports), cmocka_unit_test(test_switches),
		cmocka_unit_test(test_tables), cmocka_unit_test(test_links),
		cmocka_unit_test(test_guids), cmocka_unit_test(test_managers),
		cmocka_unit_test(test_statuses), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_not_ready),
	};

	return cmocka_run_group_tests(tests, sa_bed_setup, sa_bed_teardown);
}
