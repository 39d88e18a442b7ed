/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The congestion control agent of simulated devices, asked by GMPs from h1 that libibmad's tables
 * write, its answers read by the same: what ibccconfig and ibccquery would send and see.
 */
#include "tests/unit/sim_bed.h"

#include <infiniband/mad.h>
#include "sim/model/model_impl.h"
#include "sm/wire/congestion.h"

#define NONE (-1)
#define DATA IB_CC_DATA_OFFS

struct gmps {
	struct rig *r;			/* the fabric */
	uint8_t mad[MAD_SIZE];		/* the last answer */
	unsigned n;			/* how many came */
	uint32_t tid;			/* of the last request */
	uint64_t key;			/* of requests */
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

/* From the first of these ports on. */
static void
activate(struct rig *r, size_t first)
{
	static const struct { const char *path; uint32_t port; } ends[] = {
		{ "", 1 }, { "1", 1 }, { "1", 2 }, { "12", 1 }, { "12", 4 }, { "124", 1 },
	};

	bring_up(r);
	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++)
		for (size_t i = first; i < sizeof(ends) / sizeof(ends[0]); i++)
			assert_int_equal(set_state(r, ends[i].path, ends[i].port, s), 0);
}

/* h1's client takes SMPs, as the rig's own does, or GMPs. */
static void
take_smps(struct gmps *g, bool smps)
{
	struct model_client_events gmp = { .receive = on_gmp, .arg = g };
	struct model_client_events smp = { .receive = on_receive, .arg = &g->r->in1 };

	model_detach(g->r->c1);
	g->r->c1 = model_attach(g->r->m, H1, 1, smps ? &smp : &gmp);
	assert_non_null(g->r->c1);
}

static int
set_up_with(void **state, const struct model_options *o)
{
	struct gmps *g = calloc(1, sizeof(*g));

	setup_with(state, o);
	g->r = *state;
	activate(g->r, 0);
	take_smps(g, false);
	*state = g;
	return 0;
}

static int
set_up(void **state)
{
	struct model_options o = { .seed = 1, .hop_time = USEC(1), .sma_time = USEC(10) };

	return set_up_with(state, &o);
}

static int
set_up_without(void **state)
{
	struct model_options o = {
		.seed = 1, .hop_time = USEC(1), .sma_time = USEC(10),
		.caps.cc_table = MODEL_NO_CAP,
	};

	return set_up_with(state, &o);
}

static int
tear_down(void **state)
{
	struct gmps *g = *state;
	void *r = g->r;

	free(g);
	return teardown(&r);
}

/* One request to a LID; the status of its answer, NONE if none came. `data` may be NULL. */
static int
ask_cc(struct gmps *g, uint16_t lid, uint8_t method, uint16_t attr, uint32_t mod,
       const uint8_t *data)
{
	struct model_mad out = { .lid = lid, .qp = 1 };
	unsigned before = g->n;

	mad_set_field(out.mad, 0, IB_MAD_BASEVER_F, 1);
	mad_set_field(out.mad, 0, IB_MAD_MGMTCLASS_F, IB_CC_CLASS);
	mad_set_field(out.mad, 0, IB_MAD_CLASSVER_F, 2);
	mad_set_field(out.mad, 0, IB_MAD_METHOD_F, method);
	mad_set_field(out.mad, 0, IB_MAD_ATTRID_F, attr);
	mad_set_field(out.mad, 0, IB_MAD_ATTRMOD_F, mod);
	mad_set_field64(out.mad, 0, IB_MAD_TRID_F, ++g->tid);
	mad_set_field64(out.mad, 0, IB_CC_CCKEY_F, g->key);
	if (data)
		memcpy(out.mad + DATA, data, IB_CC_DATA_SZ);
	model_send(g->r->c1, &out);
	run(g->r, USEC(50));
	if (g->n == before)
		return NONE;
	assert_int_equal(mad_get_field(g->mad, 0, IB_MAD_RESPONSE_F), 1);
	assert_true(mad_get_field64(g->mad, 0, IB_MAD_TRID_F) == g->tid);
	return (int)mad_get_field(g->mad, 0, IB_MAD_STATUS_F);
}

static int
get(struct gmps *g, uint16_t lid, uint16_t attr, uint32_t mod)
{
	return ask_cc(g, lid, MAD_GET, attr, mod, NULL);
}

static uint32_t
field(struct gmps *g, unsigned at, enum MAD_FIELDS f)
{
	return mad_get_field(g->mad + DATA + at, 0, f);
}

/* Hosts have tables, switches mark; each knows what is its own. */
static void
test_what_it_is(void **state)
{
	struct gmps *g = *state;

	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_INFO, 0), 0);
	assert_int_equal(field(g, 0, IB_CC_CONGESTION_INFO_CONTROL_TABLE_CAP_F), 2);
	assert_int_equal(get(g, 3, IB_CC_ATTR_CONGESTION_INFO, 0), 0);
	assert_int_equal(field(g, 0, IB_CC_CONGESTION_INFO_F), 1);
	assert_int_equal(get(g, 3, IB_CC_ATTR_CA_CONGESTION_SETTING, 0), 0x0c);
	assert_int_equal(get(g, 3, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 0), 0x0c);
	assert_int_equal(get(g, 2, IB_CC_ATTR_SWITCH_CONGESTION_SETTING, 0), 0x0c);
	assert_int_equal(get(g, 2, IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING, 0), 0x0c);
	assert_int_equal(get(g, 2, 0x19, 0), 0x0c);
	assert_int_equal(get(g, 2, 1, 0), 0);
	assert_int_equal(field(g, 0, IB_CPI_CLASSVER_F), 2);
	assert_int_equal(get(g, 3, IB_CC_ATTR_CONGESTION_LOG, 0), 0);
	assert_int_equal(mad_get_field(g->mad, IB_CC_LOG_DATA_OFFS,
				       IB_CC_CONGESTION_LOG_LOGTYPE_F), 1);
	assert_int_equal(model_count(g->r->m, H2, MAD_GET, MODEL_CC(CC_INFO)), 1);
	assert_int_equal(model_count(g->r->m, MODEL_ALL, MAD_GET, MODEL_CC(CC_INFO)), 2);
}

static void
put_switch(uint8_t *data, uint32_t map, uint8_t mask, unsigned value)
{
	memset(data, 0, IB_CC_DATA_SZ);
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_CONTROL_MAP_F, map);
	data[35] = data[67] = mask;
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_THRESHOLD_F, value);
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_PACKET_SIZE_F, value);
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_CS_THRESHOLD_F, value);
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_CS_RETURN_DELAY_F, value);
	mad_set_field(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_MARKING_RATE_F, value);
}

/* What the map does not name stays. */
static void
test_switch(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ];

	put_switch(data, 0x1f, 0x0e, 9);
	assert_int_equal(ask_cc(g, 4, MAD_SET, IB_CC_ATTR_SWITCH_CONGESTION_SETTING, 0, data), 0);
	put_switch(data, 4, 0xff, 5);
	assert_int_equal(ask_cc(g, 4, MAD_SET, IB_CC_ATTR_SWITCH_CONGESTION_SETTING, 0, data), 0);
	assert_int_equal(get(g, 4, IB_CC_ATTR_SWITCH_CONGESTION_SETTING, 0), 0);
	assert_int_equal(g->mad[DATA + 35], 0x0e);
	assert_int_equal(g->mad[DATA + 67], 0x0e);
	assert_int_equal(field(g, 0, IB_CC_SWITCH_CONGESTION_SETTING_THRESHOLD_F), 5);
	assert_int_equal(field(g, 0, IB_CC_SWITCH_CONGESTION_SETTING_PACKET_SIZE_F), 5);
	assert_int_equal(field(g, 0, IB_CC_SWITCH_CONGESTION_SETTING_CS_THRESHOLD_F), 9);
	assert_int_equal(field(g, 0, IB_CC_SWITCH_CONGESTION_SETTING_MARKING_RATE_F), 9);
	model_reboot(g->r->m, B);
	run(g->r, MSEC(10));
	take_smps(g, true);
	activate(g->r, 2);
	take_smps(g, false);
	assert_int_equal(get(g, 4, IB_CC_ATTR_SWITCH_CONGESTION_SETTING, 0), 0);
	assert_int_equal(field(g, 0, IB_CC_SWITCH_CONGESTION_SETTING_THRESHOLD_F), 0);
}

/* Elements that are not valid leave a port as it is, and there are no blocks past the last. */
static void
test_switch_ports(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	data[4 * 2] = 0x80 | 7;
	data[4 * 3] = 6;
	assert_int_equal(ask_cc(g, 4, MAD_SET, IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING, 0,
				data), 0);
	memset(data, 0, sizeof(data));
	assert_int_equal(ask_cc(g, 4, MAD_SET, IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING, 0,
				data), 0);
	assert_int_equal(get(g, 4, IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING, 0), 0);
	assert_int_equal(field(g, 8, IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_VALID_F), 1);
	assert_int_equal(field(g, 8, IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_THRESHOLD_F), 7);
	assert_int_equal(field(g, 12, IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_THRESHOLD_F), 0);
	assert_int_equal(get(g, 4, IB_CC_ATTR_SWITCH_PORT_CONGESTION_SETTING, 1), 0x1c);
}

static void
test_host(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	mad_set_field(data, 0, IB_CC_CA_CONGESTION_SETTING_CONTROL_MAP_F, 4);
	for (unsigned sl = 1; sl < 3; sl++)
		mad_set_field(data, (int)(4 + 8 * sl), IB_CC_CA_CONGESTION_ENTRY_CCTI_TIMER_F, 77);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CA_CONGESTION_SETTING, 0, data), 0);
	assert_int_equal(field(g, 4 + 8, IB_CC_CA_CONGESTION_ENTRY_CCTI_TIMER_F), 0);
	assert_int_equal(field(g, 4 + 16, IB_CC_CA_CONGESTION_ENTRY_CCTI_TIMER_F), 77);
	memset(data, 0, sizeof(data));
	mad_set_field(data, 0, IB_CC_CONGESTION_CONTROL_TABLE_CCTI_LIMIT_F, 127);
	mad_set_field(data + 4 + 2 * 63, 0, IB_CC_CONGESTION_CONTROL_TABLE_ENTRY_CCT_SHIFT_F, 3);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 1, data), 0);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 0), 0);
	assert_int_equal(field(g, 0, IB_CC_CONGESTION_CONTROL_TABLE_CCTI_LIMIT_F), 127);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 1), 0);
	assert_int_equal(field(g, 4 + 2 * 63, IB_CC_CONGESTION_CONTROL_TABLE_ENTRY_CCT_SHIFT_F),
			 3);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 2), 0x1c);
	mad_set_field(data, 0, IB_CC_CONGESTION_CONTROL_TABLE_CCTI_LIMIT_F, 128);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 0, data), 0x1c);
}

static void
set_key(struct gmps *g, uint64_t key, unsigned lease)
{
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	mad_set_field64(data, 0, IB_CC_CONGESTION_KEY_INFO_CC_KEY_F, key);
	mad_set_field(data, 0, IB_CC_CONGESTION_KEY_INFO_CC_KEY_PROTECT_BIT_F, 1);
	mad_set_field(data, 0, IB_CC_CONGESTION_KEY_INFO_CC_KEY_LEASE_PERIOD_F, lease);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CONGESTION_KEY_INFO, 0, data), 0);
}

static uint64_t
shown_key(struct gmps *g)
{
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_KEY_INFO, 0), 0);
	return mad_get_field64(g->mad, DATA, IB_CC_CONGESTION_KEY_INFO_CC_KEY_F);
}

static void
test_key(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	set_key(g, 99, 0);
	assert_true(shown_key(g) == 0);
	g->key = 98;
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CA_CONGESTION_SETTING, 0, data), NONE);
	assert_true(shown_key(g) == 0);
	assert_int_equal(field(g, 0, IB_CC_CONGESTION_KEY_INFO_CC_KEY_VIOLATIONS_F), 1);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CA_CONGESTION_SETTING, 0), 0);
	g->key = 99;
	assert_true(shown_key(g) == 99);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CA_CONGESTION_SETTING, 0, data), 0);
}

/* A wrong key starts the lease; when it has run out, the key is shown to everybody. */
static void
test_lease(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	set_key(g, 99, 1);
	g->key = 1;
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CA_CONGESTION_SETTING, 0, data), NONE);
	run(g->r, MSEC(900));
	assert_true(shown_key(g) == 0);
	run(g->r, MSEC(200));
	assert_true(shown_key(g) == 99);
}

static void
test_faults(void **state)
{
	struct gmps *g = *state;
	uint8_t data[IB_CC_DATA_SZ] = { 0 };

	model_refuse(g->r->m, H2, MODEL_CC(CC_CA_SETTING), 0x1c);
	assert_int_equal(ask_cc(g, 2, MAD_SET, IB_CC_ATTR_CA_CONGESTION_SETTING, 0, data), 0x1c);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CA_CONGESTION_SETTING, 0), 0);
	model_fail_get(g->r->m, H2, MODEL_CC(CC_INFO), 0x0c);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_INFO, 0), 0x0c);
	model_mute(g->r->m, H2, MODEL_CC(CC_TABLE), true);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 0), NONE);
	model_heal(g->r->m, H2);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_CONTROL_TABLE, 0), 0);
	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_INFO, 0), 0);
}

static void
test_without(void **state)
{
	struct gmps *g = *state;

	assert_int_equal(get(g, 2, IB_CC_ATTR_CONGESTION_INFO, 0), NONE);
	assert_int_equal(get(g, 3, 1, 0), NONE);
}

#define CC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CC_TEST(test_what_it_is),
		CC_TEST(test_switch),
		CC_TEST(test_switch_ports),
		CC_TEST(test_host),
		CC_TEST(test_key),
		CC_TEST(test_lease),
		CC_TEST(test_faults),
		cmocka_unit_test_setup_teardown(test_without, set_up_without, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
