/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The performance management agent, asked by GMPs from h1, its answers read by libibmad's tables.
 * Two fields of libibmad are not used: it puts QP1Dropped where VL15Dropped is.
 */
#include "tests/unit/sim_bed.h"

#include <infiniband/mad.h>
#include "sim/model/model_impl.h"

#define CLASS_CPI 0x01
#define ANY (-1)

struct gmps {
	struct rig *r;			/* the fabric */
	uint8_t mad[MAD_SIZE];		/* the last answer */
	unsigned n;			/* how many came */
	uint32_t tid;			/* of the last request */
};

static void
on_gmp(void *arg, const struct model_mad *mad)
{
	struct gmps *g = arg;

	if (mad->qp != 1)
		return;
	memcpy(g->mad, mad->mad, MAD_SIZE);
	g->n++;
}

/* All is up, ACTIVE, and h1's client takes GMPs. */
static int
set_up(void **state)
{
	struct gmps *g = calloc(1, sizeof(*g));
	struct model_client_events ev = { .receive = on_gmp, .arg = g };
	static const struct { const char *path; uint32_t port; } ends[] = {
		{ "", 1 }, { "1", 1 }, { "1", 2 }, { "12", 1 }, { "12", 4 }, { "124", 1 },
	};

	setup(state);
	g->r = *state;
	bring_up(g->r);
	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++)
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			assert_int_equal(set_state(g->r, ends[i].path, ends[i].port, s), 0);
	model_detach(g->r->c1);
	g->r->c1 = model_attach(g->r->m, H1, 1, &ev);
	assert_non_null(g->r->c1);
	*state = g;
	return 0;
}

static int
tear_down(void **state)
{
	struct gmps *g = *state;
	void *r = g->r;

	free(g);
	return teardown(&r);
}

/* One request to a LID; the status of its answer, ANY if none came. `data` may be NULL. */
static int
perf(struct gmps *g, uint16_t lid, uint8_t method, uint16_t attr, unsigned port,
     const uint8_t *data)
{
	struct model_mad out = { .lid = lid, .qp = 1 };
	struct mad_header h = {
		.base_version = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1,
		.method = method, .attr_id = attr, .tid = ++g->tid,
	};
	unsigned before = g->n;

	mad_header_encode(&h, out.mad);
	if (data)
		memcpy(out.mad + 64, data, MAD_SIZE - 64);
	out.mad[65] = (uint8_t)port;
	model_send(g->r->c1, &out);
	run(g->r, USEC(50));
	if (g->n == before)
		return ANY;
	assert_int_equal(mad_header_decode(&h, g->mad, MAD_SIZE), 0);
	assert_int_equal(h.method, MAD_GET_RESP);
	assert_int_equal(h.tid, g->tid);
	return h.status;
}

static uint64_t
field(struct gmps *g, enum MAD_FIELDS f)
{
	uint64_t v = 0;

	if (f >= IB_PC_EXT_XMT_BYTES_F && f < IB_PC_EXT_LAST_F)
		return mad_get_field64(g->mad, 64, f);
	if (f >= IB_PC_EXT_ERR_SYM_F && f < IB_PC_EXT_ERR_LAST_F)
		return mad_get_field64(g->mad, 64, f);
	mad_decode_field(g->mad + 64, f, &v);
	return (uint32_t)v;
}

static void
add(struct gmps *g, uint32_t node, unsigned port, const char *name, uint64_t n)
{
	struct error e = { 0 };

	if (model_counter_add(g->r->m, node, port, name, n, &e) < 0)
		fail_msg("%s", e.text);
}

static void
test_class_port_info(void **state)
{
	struct gmps *g = *state;

	assert_int_equal(perf(g, 2, MAD_GET, CLASS_CPI, 0, NULL), 0);
	assert_int_equal(field(g, IB_CPI_BASEVER_F), 1);
	assert_int_equal(field(g, IB_CPI_CLASSVER_F), 1);
	assert_int_equal(field(g, IB_CPI_CAPMASK_F), 0x9300);
	assert_int_equal(field(g, IB_CPI_CAPMASK2_F), 2);
	assert_int_equal(field(g, IB_CPI_RESP_TIME_VALUE_F), 18);
	assert_int_equal(perf(g, 2, MAD_SET, CLASS_CPI, 0, NULL), MAD_STATUS_BAD_ATTR);
}

/* Each name shows in the fields of its own. */
static void
test_names(void **state)
{
	static const struct {
		const char *name;
		enum MAD_FIELDS plain, ext;
	} t[] = {
		{ "symbol_errors", IB_PC_ERR_SYM_F, IB_PC_EXT_ERR_SYM_F },
		{ "link_recoveries", IB_PC_LINK_RECOVERS_F, IB_PC_EXT_LINK_RECOVERS_F },
		{ "link_downed", IB_PC_LINK_DOWNED_F, IB_PC_EXT_LINK_DOWNED_F },
		{ "rcv_errors", IB_PC_ERR_RCV_F, IB_PC_EXT_ERR_RCV_F },
		{ "rcv_remote_physical_errors", IB_PC_ERR_PHYSRCV_F, IB_PC_EXT_ERR_PHYSRCV_F },
		{ "rcv_switch_relay_errors", IB_PC_ERR_SWITCH_REL_F,
		  IB_PC_EXT_ERR_SWITCH_REL_F },
		{ "xmit_discards", IB_PC_XMT_DISCARDS_F, IB_PC_EXT_XMT_DISCARDS_F },
		{ "xmit_constraint_errors", IB_PC_ERR_XMTCONSTR_F, IB_PC_EXT_ERR_XMTCONSTR_F },
		{ "rcv_constraint_errors", IB_PC_ERR_RCVCONSTR_F, IB_PC_EXT_ERR_RCVCONSTR_F },
		{ "local_link_integrity_errors", IB_PC_ERR_LOCALINTEG_F,
		  IB_PC_EXT_ERR_LOCALINTEG_F },
		{ "buffer_overrun_errors", IB_PC_ERR_EXCESS_OVR_F, IB_PC_EXT_ERR_EXCESS_OVR_F },
		{ "vl15_dropped", IB_PC_VL15_DROPPED_F, IB_PC_EXT_VL15_DROPPED_F },
		{ "xmit_wait", IB_PC_XMT_WAIT_F, IB_PC_EXT_XMT_WAIT_F },
		{ "xmit_data", IB_PC_XMT_BYTES_F, IB_PC_EXT_XMT_BYTES_F },
		{ "rcv_packets", IB_PC_RCV_PKTS_F, IB_PC_EXT_RCV_PKTS_F },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		add(*state, B, 3, t[i].name, i + 1);
	assert_int_equal(perf(*state, 4, MAD_GET, IB_GSI_PORT_COUNTERS, 3, NULL), 0);
	assert_int_equal(field(*state, IB_PC_PORT_SELECT_F), 3);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(field(*state, t[i].plain), i + 1);
	assert_int_equal(perf(*state, 4, MAD_GET, IB_GSI_PORT_COUNTERS_EXT, 3, NULL), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(field(*state, t[i].ext), i + 1);
}

static void
test_details(void **state)
{
	static const struct {
		const char *name;
		uint16_t attr;
		enum MAD_FIELDS field;
	} t[] = {
		{ "rcv_local_physical_errors", 0x15, IB_PC_RCV_LOCAL_PHY_ERR_F },
		{ "rcv_malformed_errors", 0x15, IB_PC_RCV_MALFORMED_PKT_ERR_F },
		{ "rcv_buffer_overrun_errors", 0x15, IB_PC_RCV_BUF_OVR_ERR_F },
		{ "rcv_dlid_mapping_errors", 0x15, IB_PC_RCV_DLID_MAP_ERR_F },
		{ "rcv_vl_mapping_errors", 0x15, IB_PC_RCV_VL_MAP_ERR_F },
		{ "rcv_looping_errors", 0x15, IB_PC_RCV_LOOPING_ERR_F },
		{ "xmit_inactive_discards", 0x16, IB_PC_XMT_INACT_DISC_F },
		{ "xmit_mtu_discards", 0x16, IB_PC_XMT_NEIGH_MTU_DISC_F },
		{ "xmit_lifetime_discards", 0x16, IB_PC_XMT_SW_LIFE_DISC_F },
		{ "xmit_hoq_discards", 0x16, IB_PC_XMT_SW_HOL_DISC_F },
		{ "op_rcv_packets", 0x17, IB_PC_PORT_OP_RCV_PKTS_F },
		{ "op_rcv_data", 0x17, IB_PC_PORT_OP_RCV_DATA_F },
		{ "flow_xmit_packets", 0x18, IB_PC_PORT_XMIT_FLOW_PKTS_F },
		{ "flow_rcv_packets", 0x18, IB_PC_PORT_RCV_FLOW_PKTS_F },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		add(*state, B, 3, t[i].name, i + 1);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(perf(*state, 4, MAD_GET, t[i].attr, 3, NULL), 0);
		assert_int_equal(field(*state, t[i].field), i + 1);
	}
	assert_int_equal(perf(*state, 4, MAD_GET, IB_GSI_PORT_XMIT_DATA_SL, 3, NULL), 0);
	assert_int_equal(field(*state, IB_PC_XMT_DATA_SL15_F), 0);
	assert_int_equal(perf(*state, 4, MAD_GET, IB_GSI_PORT_RCV_DATA_SL, 3, NULL), 0);
	assert_int_equal(perf(*state, 4, MAD_GET, 0x1c, 3, NULL), 0);
}

/* A narrow field stays full, the wide one goes on; each is cleared on its own. */
static void
test_full_and_cleared(void **state)
{
	uint8_t data[MAD_SIZE - 64] = { 0 };

	add(*state, H2, 1, "symbol_errors", 70000);
	add(*state, H2, 1, "local_link_integrity_errors", 17);
	add(*state, H2, 1, "buffer_overrun_errors", 3);
	add(*state, H2, 1, "link_downed", 300);
	add(*state, H2, 1, "xmit_wait", 0x100000001);
	assert_int_equal(perf(*state, 2, MAD_GET, IB_GSI_PORT_COUNTERS, 1, NULL), 0);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 0xffff);
	assert_int_equal(field(*state, IB_PC_ERR_LOCALINTEG_F), 15);
	assert_int_equal(field(*state, IB_PC_ERR_EXCESS_OVR_F), 3);
	assert_int_equal(field(*state, IB_PC_LINK_DOWNED_F), 255);
	assert_int_equal(field(*state, IB_PC_XMT_WAIT_F), 0xffffffff);

	mad_set_field(data, 0, IB_PC_COUNTER_SELECT_F, 0x0601);
	mad_set_field(data, 0, IB_PC_ERR_EXCESS_OVR_F, 2);
	assert_int_equal(perf(*state, 2, MAD_SET, IB_GSI_PORT_COUNTERS, 1, data), 0);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 0);
	assert_int_equal(field(*state, IB_PC_ERR_LOCALINTEG_F), 0);
	assert_int_equal(field(*state, IB_PC_ERR_EXCESS_OVR_F), 2);
	assert_int_equal(field(*state, IB_PC_LINK_DOWNED_F), 255);
	assert_int_equal(field(*state, IB_PC_XMT_WAIT_F), 0xffffffff);
	data[2] = data[3] = 0;
	mad_set_field(data, 0, IB_PC_COUNTER_SELECT2_F, 1);
	assert_int_equal(perf(*state, 2, MAD_SET, IB_GSI_PORT_COUNTERS, 1, data), 0);
	assert_int_equal(field(*state, IB_PC_XMT_WAIT_F), 0);

	assert_int_equal(perf(*state, 2, MAD_GET, IB_GSI_PORT_COUNTERS_EXT, 1, NULL), 0);
	assert_int_equal(field(*state, IB_PC_EXT_ERR_SYM_F), 70000);
	assert_true(field(*state, IB_PC_EXT_XMT_WAIT_F) == 0x100000001);
	memset(data, 0, sizeof(data));
	mad_set_field(data, 0, IB_PC_EXT_COUNTER_SELECT2_F, 1);
	assert_int_equal(perf(*state, 2, MAD_SET, IB_GSI_PORT_COUNTERS_EXT, 1, data), 0);
	assert_int_equal(field(*state, IB_PC_EXT_ERR_SYM_F), 0);
	assert_true(field(*state, IB_PC_EXT_XMT_WAIT_F) == 0x100000001);
	add(*state, H2, 1, "symbol_errors", 5);
	assert_int_equal(perf(*state, 2, MAD_GET, IB_GSI_PORT_COUNTERS, 1, NULL), 0);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 5);
}

static void
test_all_ports(void **state)
{
	uint8_t data[MAD_SIZE - 64] = { 0 };

	for (unsigned p = 1; p <= 4; p++) {
		add(*state, A, p, "symbol_errors", p);
		add(*state, A, p, "rcv_errors", 30000);
	}
	add(*state, A, 0, "symbol_errors", 100);
	assert_int_equal(perf(*state, 3, MAD_GET, IB_GSI_PORT_COUNTERS, 0xff, NULL), 0);
	assert_int_equal(field(*state, IB_PC_PORT_SELECT_F), 0xff);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 1 + 2 + 3 + 4);
	assert_int_equal(field(*state, IB_PC_ERR_RCV_F), 0xffff);
	mad_set_field(data, 0, IB_PC_COUNTER_SELECT_F, 0xffff);
	assert_int_equal(perf(*state, 3, MAD_SET, IB_GSI_PORT_COUNTERS, 0xff, data), 0);
	assert_int_equal(perf(*state, 3, MAD_GET, IB_GSI_PORT_COUNTERS, 4, NULL), 0);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 0);
	assert_int_equal(perf(*state, 3, MAD_GET, IB_GSI_PORT_COUNTERS, 0, NULL), 0);
	assert_int_equal(field(*state, IB_PC_ERR_SYM_F), 100);
}

/* A GMP is 72 words: 8 LRH, 12 BTH, 8 DETH, 256 MAD and 4 ICRC bytes. */
static void
test_mads_count(void **state)
{
	struct gmps *g = *state;

	assert_int_equal(perf(g, 2, MAD_GET, IB_GSI_PORT_COUNTERS, 1, NULL), 0);
	assert_int_equal(field(g, IB_PC_RCV_PKTS_F), 1);
	assert_int_equal(field(g, IB_PC_RCV_BYTES_F), 72);
	assert_int_equal(field(g, IB_PC_XMT_PKTS_F), 0);
	assert_int_equal(perf(g, 4, MAD_GET, IB_GSI_PORT_COUNTERS_EXT, 4, NULL), 0);
	assert_int_equal(field(g, IB_PC_EXT_XMT_UPKTS_F), 1);
	assert_int_equal(field(g, IB_PC_EXT_RCV_UPKTS_F), 1);
	assert_int_equal(field(g, IB_PC_EXT_RCV_MPKTS_F), 0);
	assert_int_equal(field(g, IB_PC_EXT_XMT_BYTES_F), 72);
	assert_int_equal(perf(g, 4, MAD_GET, IB_GSI_PORT_COUNTERS, 1, NULL), 0);
	assert_int_equal(field(g, IB_PC_RCV_PKTS_F), 3);
	assert_int_equal(field(g, IB_PC_XMT_PKTS_F), 2);
}

static void
test_refused(void **state)
{
	struct gmps *g = *state;

	assert_int_equal(perf(g, 4, MAD_GET, IB_GSI_PORT_COUNTERS, 5, NULL), MAD_STATUS_BAD_FIELD);
	assert_int_equal(perf(g, 2, MAD_GET, IB_GSI_PORT_COUNTERS, 0, NULL), MAD_STATUS_BAD_FIELD);
	assert_int_equal(perf(g, 4, MAD_SET, IB_GSI_PORT_COUNTERS_EXT, 200, NULL),
			 MAD_STATUS_BAD_FIELD);
	assert_int_equal(perf(g, 4, MAD_GET, 0x11, 1, NULL), MAD_STATUS_BAD_ATTR);
	assert_int_equal(perf(g, 4, MAD_GET, 0x1f, 1, NULL), MAD_STATUS_BAD_ATTR);
	assert_int_equal(perf(g, 4, MAD_GET, IB_GSI_PORT_SAMPLES_CONTROL, 1, NULL), 0);
	assert_int_equal(perf(g, 4, MAD_SET, IB_GSI_PORT_SAMPLES_CONTROL, 1, NULL),
			 MAD_STATUS_BAD_ATTR);
	assert_int_equal(perf(g, 4, MAD_TRAP_REPRESS, IB_GSI_PORT_COUNTERS, 1, NULL), ANY);
}

/* Whatever comes is answered or not; an answer has the request's TID. */
static void
test_any_bytes(void **state)
{
	struct rig *r = ((struct gmps *)*state)->r;
	uint8_t mad[MAD_SIZE], was[MAD_SIZE];
	uint64_t seed = 1;
	int answers = 0;

	for (int i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < MAD_SIZE; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			mad[k] = (uint8_t)(seed >> 56);
		}
		mad[0] = mad[2] = 1;
		mad[3] &= 3;
		mad[16] = 0;
		mad[17] &= 0x3f;
		mad[65] &= i & 1 ? 7 : 255;
		memcpy(was, mad, MAD_SIZE);
		if (pma_answer(r->m, (uint32_t)i % 4, mad)) {
			answers++;
			assert_int_equal(mad[3], MAD_GET_RESP);
			assert_memory_equal(mad + 8, was + 8, 8);
		}
	}
	assert_in_range(answers, 9000, 11000);
}

static void
test_commands(void **state)
{
	struct model *m = ((struct gmps *)*state)->r->m;
	struct rig *r = ((struct gmps *)*state)->r;
	struct error e = { 0 };
	uint64_t v;

	assert_int_equal(model_counter_set(m, A, 2, "xmit_discards", 7, &e), 0);
	assert_int_equal(model_counter_rate(m, A, 2, "xmit_discards", 1000, &e), 0);
	run(r, MSEC(1500));
	assert_int_equal(model_counter_get(m, A, 2, "xmit_discards", &v, &e), 0);
	assert_int_equal(v, 1507);
	assert_int_equal(model_counter_rate(m, A, 2, "xmit_discards", 0, &e), 0);
	run(r, SEC(1));
	assert_int_equal(model_counter_get(m, A, 2, "xmit_discards", &v, &e), 0);
	assert_int_equal(v, 1507);
	assert_int_equal(model_counter_add(m, A, 2, "symbol_error", 1, &e), ERR_NOT_FOUND);
	assert_non_null(strstr(e.text, "\"symbol_errors\""));
	assert_int_equal(model_counter_add(m, A, 5, "symbol_errors", 1, &e), ERR_NOT_FOUND);
	assert_int_equal(model_counter_add(m, H1, 0, "symbol_errors", 1, &e), ERR_NOT_FOUND);
	assert_int_equal(model_counter_add(m, 99, 1, "symbol_errors", 1, &e), ERR_NOT_FOUND);
	assert_int_equal(model_counter_rate(m, A, 1, "xmit_wait", -1, &e), ERR_INVALID);
	assert_int_equal(model_counter_rate(m, A, 1, "xmit_wait", 1e300, &e), ERR_INVALID);
}

/* Both ends see their link fail; a device that starts anew begins at 0. */
static void
test_link_downed(void **state)
{
	struct gmps *g = *state;
	struct model *m = g->r->m;
	uint64_t v;

	model_link_set(m, A, 3, false);
	model_link_set(m, A, 3, true);
	run(g->r, MSEC(10));
	model_reboot(m, A);
	run(g->r, MSEC(10));
	assert_int_equal(model_counter_get(m, B, 2, "link_downed", &v, NULL), 0);
	assert_int_equal(v, 2);
	assert_int_equal(model_counter_get(m, A, 3, "link_downed", &v, NULL), 0);
	assert_int_equal(v, 0);
	model_link_set(m, A, 3, false);
	assert_int_equal(model_counter_get(m, A, 3, "link_downed", &v, NULL), 0);
	assert_int_equal(v, 1);
}

#define PMA_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PMA_TEST(test_class_port_info),
		PMA_TEST(test_names),
		PMA_TEST(test_details),
		PMA_TEST(test_full_and_cleared),
		PMA_TEST(test_all_ports),
		PMA_TEST(test_mads_count),
		PMA_TEST(test_refused),
		PMA_TEST(test_any_bytes),
		PMA_TEST(test_commands),
		PMA_TEST(test_link_downed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
