/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/mad.h>

#include "sm/wire/perf.h"

/*
 * The codecs of performance management against libibmad, of which perfquery and ibqueryerrors are
 * made, on random bytes; and what is written, byte by byte as the specification has it.
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

static void
test_class_info(void **state)
{
	uint8_t data[PERF_DATA_SIZE], again[PERF_DATA_SIZE];
	struct perf_class_info a;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		perf_class_info_decode(&a, data);
		assert_int_equal(a.base_version, mad_get_field(data, 0, IB_CPI_BASEVER_F));
		assert_int_equal(a.class_version, mad_get_field(data, 0, IB_CPI_CLASSVER_F));
		assert_int_equal(a.cap_mask, mad_get_field(data, 0, IB_CPI_CAPMASK_F));
		assert_int_equal(a.cap_mask2, mad_get_field(data, 0, IB_CPI_CAPMASK2_F));
		assert_int_equal(a.resp_time, mad_get_field(data, 0, IB_CPI_RESP_TIME_VALUE_F));
		assert_int_equal(a.sl, mad_get_field(data, 0, IB_CPI_REDIRECT_SL_F));
		assert_int_equal(a.lid, mad_get_field(data, 0, IB_CPI_REDIRECT_LID_F));
		assert_int_equal(a.pkey, mad_get_field(data, 0, IB_CPI_REDIRECT_PKEY_F));
		assert_int_equal(a.qp, mad_get_field(data, 0, IB_CPI_REDIRECT_QP_F));
		assert_int_equal(a.q_key, mad_get_field(data, 0, IB_CPI_REDIRECT_QKEY_F));
		random_bytes(again, sizeof(again));
		perf_class_info_encode(&a, again);
		assert_memory_equal(again, data, 8);
		assert_int_equal(again[25], data[25] & 0xf0);
		assert_memory_equal(again + 28, data + 28, 4);
		assert_memory_equal(again + 33, data + 33, 7);
	}
}

static const enum MAD_FIELDS plain[PERF_ERRORS] = {
	IB_PC_ERR_SYM_F, IB_PC_LINK_RECOVERS_F, IB_PC_LINK_DOWNED_F, IB_PC_ERR_RCV_F,
	IB_PC_ERR_PHYSRCV_F, IB_PC_ERR_SWITCH_REL_F, IB_PC_XMT_DISCARDS_F,
	IB_PC_ERR_XMTCONSTR_F, IB_PC_ERR_RCVCONSTR_F, IB_PC_ERR_LOCALINTEG_F,
	IB_PC_ERR_EXCESS_OVR_F, IB_PC_VL15_DROPPED_F,
};
static const enum MAD_FIELDS extended[PERF_ERRORS] = {
	IB_PC_EXT_ERR_SYM_F, IB_PC_EXT_LINK_RECOVERS_F, IB_PC_EXT_LINK_DOWNED_F,
	IB_PC_EXT_ERR_RCV_F, IB_PC_EXT_ERR_PHYSRCV_F, IB_PC_EXT_ERR_SWITCH_REL_F,
	IB_PC_EXT_XMT_DISCARDS_F, IB_PC_EXT_ERR_XMTCONSTR_F, IB_PC_EXT_ERR_RCVCONSTR_F,
	IB_PC_EXT_ERR_LOCALINTEG_F, IB_PC_EXT_ERR_EXCESS_OVR_F, IB_PC_EXT_VL15_DROPPED_F,
};

static void
same(const struct perf_counters *a, const struct perf_counters *b)
{
	assert_int_equal(a->port, b->port);
	assert_memory_equal(a->errors, b->errors, sizeof(a->errors));
}

static void
test_counters(void **state)
{
	uint8_t data[PERF_DATA_SIZE], again[PERF_DATA_SIZE];
	struct perf_counters a, b;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		random_bytes(data, sizeof(data));
		perf_counters_decode(&a, data);
		assert_int_equal(a.port, mad_get_field(data, 0, IB_PC_PORT_SELECT_F));
		for (unsigned e = 0; e < PERF_ERRORS; e++) {
			assert_int_equal(a.errors[e], mad_get_field(data, 0, plain[e]));
			assert_true(a.errors[e] <= perf_error_max(e));
		}
		random_bytes(again, sizeof(again));
		perf_counters_encode(&a, again);
		perf_counters_decode(&b, again);
		same(&a, &b);
		for (unsigned at = 24; at < sizeof(again); at++)
			assert_int_equal(again[at], 0);
		perf_extended_decode(&a, data);
		assert_int_equal(a.port, mad_get_field(data, 0, IB_PC_EXT_PORT_SELECT_F));
		for (unsigned e = 0; e < PERF_ERRORS; e++)
			assert_true(a.errors[e] == mad_get_field64(data, 0, extended[e]));
		random_bytes(again, sizeof(again));
		perf_extended_encode(&a, again);
		assert_memory_equal(again + 72, data + 72, 8 * PERF_ERRORS);
		perf_extended_decode(&b, again);
		same(&a, &b);
	}
}

/* A field that is full is so in all of its bits, and in no other. */
static void
test_full(void **state)
{
	uint8_t data[PERF_DATA_SIZE];
	struct perf_counters a;

	(void)state;
	memset(data, 0xff, sizeof(data));
	perf_counters_decode(&a, data);
	for (unsigned e = 0; e < PERF_ERRORS; e++)
		assert_int_equal(a.errors[e], perf_error_max(e));
	assert_string_equal(perf_error_name(PERF_SYMBOL), "symbol_errors");
	assert_string_equal(perf_error_name(PERF_VL15_DROPPED), "vl15_dropped");
}

/* 16.1.3.5: PortSelect in byte 1, CounterSelect in bytes 2 and 3, whose bit 0 is that of
 * SymbolErrorCounter, 9 and 10 those of the two halves of byte 19. */
static void
test_requests(void **state)
{
	uint8_t data[PERF_DATA_SIZE], want[PERF_DATA_SIZE] = { 0 };

	(void)state;
	random_bytes(data, sizeof(data));
	want[1] = 36;
	perf_read_encode(36, data);
	assert_memory_equal(data, want, sizeof(want));
	want[2] = 0x02;
	want[3] = 0x05;
	perf_clear_encode(36, 1u << PERF_SYMBOL | 1u << PERF_DOWNED | 1u << PERF_LOCAL_INTEGRITY,
			  data);
	assert_memory_equal(data, want, sizeof(want));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class_info),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
