/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/mad.h>

#include "sm/wire/congestion.h"

/*
 * The codecs of congestion control against libibmad, of which ibccquery and ibccconfig are made:
 * each row says where it finds a field, by its own number and the byte at which its struct begins.
 * Random bytes are decoded and must read as it reads them, and what is then encoded must be the
 * same bytes but for those bits that no field has.
 */
#define ROUNDS 4000

static uint32_t seed = 1;

static void
random_bytes(uint8_t *to, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525u + 1013904223u;
		to[i] = (uint8_t)(seed >> 24);
	}
}

static uint32_t
theirs(uint8_t *at, enum MAD_FIELDS field)
{
	return mad_get_field(at, 0, field);
}

static void
test_information(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE];
	struct cc_key_info key;
	struct cc_info info;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		cc_info_decode(&info, data);
		assert_int_equal(info.info, theirs(data, IB_CC_CONGESTION_INFO_F));
		assert_int_equal(info.table_cap,
				 theirs(data, IB_CC_CONGESTION_INFO_CONTROL_TABLE_CAP_F));
		random_bytes(again, sizeof(again));
		cc_info_encode(&info, again);
		assert_memory_equal(again, data, 3);
		cc_key_info_decode(&key, data);
		assert_true(key.key == mad_get_field64(data, 0,
						       IB_CC_CONGESTION_KEY_INFO_CC_KEY_F));
		assert_int_equal(key.protect,
				 theirs(data, IB_CC_CONGESTION_KEY_INFO_CC_KEY_PROTECT_BIT_F));
		assert_int_equal(key.lease,
				 theirs(data, IB_CC_CONGESTION_KEY_INFO_CC_KEY_LEASE_PERIOD_F));
		assert_int_equal(key.violations,
				 theirs(data, IB_CC_CONGESTION_KEY_INFO_CC_KEY_VIOLATIONS_F));
		cc_key_info_encode(&key, again);
		assert_memory_equal(again, data, 8);
		assert_int_equal(again[8], data[8] & 0x80);
		assert_int_equal(again[9], 0);
		assert_memory_equal(again + 10, data + 10, 4);
		assert_int_equal(cc_timestamp_decode(data), theirs(data, IB_CC_TIMESTAMP_F));
	}
}

static void
test_switch(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE], mask[32];
	struct cc_switch_setting a;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		cc_switch_setting_decode(&a, data);
		assert_true(a.map == theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_CONTROL_MAP_F));
		mad_get_array(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_VICTIM_MASK_F, mask);
		assert_memory_equal(a.victim.bytes, mask, sizeof(mask));
		mad_get_array(data, 0, IB_CC_SWITCH_CONGESTION_SETTING_CREDIT_MASK_F, mask);
		assert_memory_equal(a.credit.bytes, mask, sizeof(mask));
		assert_int_equal(a.threshold,
				 theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_THRESHOLD_F));
		assert_int_equal(a.packet_size,
				 theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_PACKET_SIZE_F));
		assert_int_equal(a.starvation,
				 theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_CS_THRESHOLD_F));
		assert_int_equal(a.return_delay.shift << 14 | a.return_delay.multiplier,
				 theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_CS_RETURN_DELAY_F));
		assert_int_equal(a.marking_rate,
				 theirs(data, IB_CC_SWITCH_CONGESTION_SETTING_MARKING_RATE_F));
		cc_switch_setting_encode(&a, again);
		data[68] &= 0xf0;
		data[70] &= 0xf0;
		data[71] = 0;
		assert_memory_equal(again, data, 76);
	}
}

/* A port's bit is where the annex numbers it, from the right; ibccconfig's example sets 0 to 36. */
static void
test_ports(void **state)
{
	struct cc_ports p = { { 0 } };
	const uint8_t expected[32] = { [27] = 0x1f, 0xff, 0xff, 0xff, 0xff };

	(void)state;
	for (unsigned port = 0; port <= 36; port++)
		cc_ports_add(&p, port);
	assert_memory_equal(p.bytes, expected, sizeof(expected));
	assert_true(cc_ports_has(&p, 36));
	assert_false(cc_ports_has(&p, 37));
	cc_ports_add(&p, 254);
	assert_int_equal(p.bytes[0], 0x40);
}

static void
test_switch_ports(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE];
	struct cc_port_setting a[CC_PORTS_BLOCK];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		cc_port_settings_decode(a, data);
		cc_port_settings_encode(a, again);
		for (unsigned k = 0; k < CC_PORTS_BLOCK; k++) {
			uint8_t *at = data + 4 * k;

			assert_int_equal(a[k].valid, theirs(at,
				IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_VALID_F));
			assert_int_equal(a[k].starvation, theirs(at,
				IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_CONTROL_TYPE_F));
			assert_int_equal(a[k].threshold, theirs(at,
				IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_THRESHOLD_F));
			assert_int_equal(a[k].packet_size, theirs(at,
				IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_PACKET_SIZE_F));
			assert_int_equal(a[k].marking_rate, theirs(at,
			    IB_CC_SWITCH_PORT_CONGESTION_SETTING_ELEMENT_CONG_PARM_MARKING_RATE_F));
			at[0] &= 0xcf;
		}
		assert_memory_equal(again, data, 4 * CC_PORTS_BLOCK);
	}
}

static void
test_ca(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE];
	struct cc_ca_setting a;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		cc_ca_setting_decode(&a, data);
		assert_int_equal(a.port_control,
				 theirs(data, IB_CC_CA_CONGESTION_SETTING_PORT_CONTROL_F));
		assert_int_equal(a.map, theirs(data, IB_CC_CA_CONGESTION_SETTING_CONTROL_MAP_F));
		for (unsigned k = 0; k < CC_LEVELS; k++) {
			uint8_t *at = data + 4 + 8 * k;

			assert_int_equal(a.entries[k].timer,
					 theirs(at, IB_CC_CA_CONGESTION_ENTRY_CCTI_TIMER_F));
			assert_int_equal(a.entries[k].increase,
					 theirs(at, IB_CC_CA_CONGESTION_ENTRY_CCTI_INCREASE_F));
			assert_int_equal(a.entries[k].trigger,
					 theirs(at, IB_CC_CA_CONGESTION_ENTRY_TRIGGER_THRESHOLD_F));
			assert_int_equal(a.entries[k].least,
					 theirs(at, IB_CC_CA_CONGESTION_ENTRY_CCTI_MIN_F));
			memset(at + 5, 0, 3);
		}
		cc_ca_setting_encode(&a, again);
		assert_memory_equal(again, data, 4 + 8 * CC_LEVELS);
	}
}

static void
test_table(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE];
	struct cc_table a;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		cc_table_decode(&a, data);
		assert_int_equal(a.limit,
				 theirs(data, IB_CC_CONGESTION_CONTROL_TABLE_CCTI_LIMIT_F));
		for (unsigned k = 0; k < CC_TABLE_BLOCK; k++)
			assert_int_equal(a.entries[k].shift, theirs(data + 4 + 2 * k,
				IB_CC_CONGESTION_CONTROL_TABLE_ENTRY_CCT_SHIFT_F));
		memset(data + 2, 0, 2);
		cc_table_encode(&a, again);
		assert_memory_equal(again, data, 4 + 2 * CC_TABLE_BLOCK);
	}
}

static void
agree_log(const struct cc_log *a, uint8_t *data)
{
	for (unsigned k = 0; k < CC_LOG_SWITCH_EVENTS && a->type == CC_LOG_SWITCH; k++) {
		uint8_t *at = data + 40 + 12 * k;

		assert_int_equal(a->switches[k].slid,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_SWITCH_SLID_F));
		assert_int_equal(a->switches[k].dlid,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_SWITCH_DLID_F));
		assert_int_equal(a->switches[k].sl,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_SWITCH_SL_F));
		assert_true(a->switches[k].time ==
			    theirs(at, IB_CC_CONGESTION_LOG_ENTRY_SWITCH_TIMESTAMP_F));
	}
	for (unsigned k = 0; k < CC_LOG_CA_EVENTS && a->type == CC_LOG_CA; k++) {
		uint8_t *at = data + 12 + 16 * k;
		const struct cc_log_ca_event *e = &a->cas[k];

		assert_int_equal(e->local_qp,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_LOCAL_QP_CN_ENTRY_F));
		assert_int_equal(e->sl, theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_SL_CN_ENTRY_F));
		assert_int_equal(e->service,
			theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_SERVICE_TYPE_CN_ENTRY_F));
		assert_int_equal(e->remote_qp,
			theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_REMOTE_QP_NUMBER_CN_ENTRY_F));
		assert_int_equal(e->local_lid,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_LOCAL_LID_CN_F));
		assert_int_equal(e->remote_lid,
				 theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_REMOTE_LID_CN_ENTRY_F));
		assert_true(e->time ==
			    theirs(at, IB_CC_CONGESTION_LOG_ENTRY_CA_TIMESTAMP_CN_ENTRY_F));
	}
}

static void
test_log(void **state)
{
	uint8_t data[CC_LOG_SIZE], once[CC_LOG_SIZE], twice[CC_LOG_SIZE];
	struct cc_log a;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		data[0] = (uint8_t)(i % 3);
		cc_log_decode(&a, data);
		assert_int_equal(a.type, theirs(data, IB_CC_CONGESTION_LOG_LOGTYPE_F));
		assert_int_equal(a.flags, theirs(data, IB_CC_CONGESTION_LOG_CONGESTION_FLAGS_F));
		assert_int_equal(a.count,
				 theirs(data, IB_CC_CONGESTION_LOG_SWITCH_LOG_EVENTS_COUNTER_F));
		if (a.type == CC_LOG_CA)
			assert_int_equal(a.levels, theirs(data,
				IB_CC_CONGESTION_LOG_CA_THRESHOLD_CONGESTION_EVENT_MAP_F));
		agree_log(&a, data);
		cc_log_encode(&a, once);
		cc_log_decode(&a, once);
		cc_log_encode(&a, twice);
		assert_memory_equal(once, twice, sizeof(once));
		for (size_t k = 0; k < sizeof(once); k++)
			assert_int_equal(once[k] & ~data[k], 0);
	}
}

static void
test_mad(void **state)
{
	const struct mad_header h = {
		.base_version = 1, .mgmt_class = MAD_CLASS_CONGESTION,
		.class_version = CC_CLASS_VERSION, .method = MAD_SET, .attr_id = CC_TABLE,
		.attr_mod = 3, .tid = 7,
	};
	uint8_t mad[MAD_SIZE], data[CC_DATA_SIZE];

	(void)state;
	random_bytes(mad, sizeof(mad));
	random_bytes(data, sizeof(data));
	cc_mad_encode(&h, 0x0123456789abcdef, data, mad);
	assert_true(mad_get_field64(mad, 0, IB_CC_CCKEY_F) == 0x0123456789abcdef);
	assert_true(cc_mad_key(mad) == 0x0123456789abcdef);
	assert_int_equal(theirs(mad, IB_MAD_MGMTCLASS_F), IB_CC_CLASS);
	assert_int_equal(theirs(mad, IB_MAD_ATTRID_F), IB_CC_ATTR_CONGESTION_CONTROL_TABLE);
	assert_memory_equal(mad + IB_CC_DATA_OFFS, data, IB_CC_DATA_SZ);
	assert_int_equal(CC_LOG_AT, IB_CC_LOG_DATA_OFFS);
	assert_string_equal(cc_attr_name(CC_SWITCH_SETTING), "SwitchCongestionSetting");
	assert_null(cc_attr_name(0x19));
}

static void
test_class_info(void **state)
{
	uint8_t data[CC_DATA_SIZE], again[CC_DATA_SIZE];
	struct cc_class_info a;

	(void)state;
	random_bytes(data, sizeof(data));
	cc_class_info_decode(&a, data);
	assert_int_equal(a.resp_time, theirs(data, IB_CPI_RESP_TIME_VALUE_F));
	assert_int_equal(a.class_version, theirs(data, IB_CPI_CLASSVER_F));
	assert_int_equal(a.cap_mask, theirs(data, IB_CPI_CAPMASK_F));
	cc_class_info_encode(&a, again);
	assert_memory_equal(again, data, 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_information),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_switch_ports),
		cmocka_unit_test(test_ca),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_mad),
		cmocka_unit_test(test_class_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
