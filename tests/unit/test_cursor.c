/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_fields.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sm/wire/cursor.h"

/*
 * The cursor: byte and bit order, the sticky error at the end of the data and at misaligned
 * accesses, and that nothing is written past the end.
 */
#define ROUNDS 5000

static void
test_cursor_reads_big_endian(void **state)
{
	static const uint8_t data[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
	};
	struct cursor c;

	(void)state;
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_u8(&c), 0x01);
	assert_int_equal(cursor_u16(&c), 0x0203);
	assert_int_equal(cursor_u24(&c), 0x040506);
	assert_int_equal(cursor_u32(&c), 0x0708090a);
	assert_true(cursor_u64(&c) == 0x0b0c0d0e0f101112);
	assert_true(cursor_ok(&c));
	assert_int_equal(cursor_u8(&c), 0);
	assert_false(cursor_ok(&c));
}

static void
test_cursor_end_is_sticky(void **state)
{
	uint8_t data[3] = { 0xaa, 0xbb, 0xcc }, to[4] = { 1, 1, 1, 1 };
	struct cursor c;

	(void)state;
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_u8(&c), 0xaa);
	assert_int_equal(cursor_u32(&c), 0);	/* two bytes left */
	assert_false(cursor_ok(&c));
	assert_int_equal(cursor_u8(&c), 0);	/* would fit, but the cursor is bad */
	assert_int_equal(cursor_bits(&c, 1), 0);
	cursor_bytes(&c, to, sizeof(to));
	assert_memory_equal(to, "\0\0\0\0", 4);

	cursor_read(&c, data, sizeof(data));
	cursor_skip(&c, 3);
	assert_true(cursor_ok(&c));
	assert_int_equal(cursor_bits(&c, 0), 0);	/* no bits are there even at the end */
	assert_true(cursor_ok(&c));
	cursor_skip(&c, 1);
	assert_false(cursor_ok(&c));
	cursor_read(&c, data, sizeof(data));
	cursor_skip(&c, SIZE_MAX);
	assert_false(cursor_ok(&c));
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_bits(&c, 25), 0);
	assert_false(cursor_ok(&c));
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_bits(&c, 33), 0);
	assert_false(cursor_ok(&c));
}

static void
test_cursor_misaligned(void **state)
{
	static const uint8_t data[] = { 0xa5, 0x5a, 0xff };
	struct cursor c;

	(void)state;
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_bits(&c, 3), 5);	/* 101 00101 */
	assert_int_equal(cursor_u8(&c), 0);
	assert_false(cursor_ok(&c));
	cursor_read(&c, data, sizeof(data));
	assert_int_equal(cursor_bits(&c, 3), 5);
	assert_int_equal(cursor_bits(&c, 5), 5);
	assert_int_equal(cursor_u16(&c), 0x5aff);
	assert_true(cursor_ok(&c));
}

static void
test_cursor_writes_stay_inside(void **state)
{
	uint8_t data[8];
	struct cursor c;

	(void)state;
	memset(data, 0xee, sizeof(data));
	cursor_write(&c, data, 5);
	cursor_put_u8(&c, 1);
	cursor_put_u24(&c, 0xff020304);
	cursor_put_u16(&c, 0x0506);	/* one byte left */
	cursor_put_u8(&c, 7);
	cursor_put_bits(&c, 4, 15);
	cursor_put_zero(&c, 1);
	cursor_put_bytes(&c, "x", 1);
	assert_false(cursor_ok(&c));
	assert_memory_equal(data, "\x01\x02\x03\x04\xee\xee\xee\xee", 8);

	cursor_write(&c, data, 8);
	cursor_put_u64(&c, 0x8877665544332211);
	assert_true(cursor_ok(&c));
	assert_memory_equal(data, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
	cursor_put_bits(&c, 1, 1);
	assert_false(cursor_ok(&c));
}

static void
test_cursor_bits_against_single_bits(void **state)
{
	uint8_t data[16], copy[16];
	struct cursor r, w;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		random_bytes(data, sizeof(data));
		random_bytes(copy, sizeof(copy));
		cursor_read(&r, data, sizeof(data));
		cursor_write(&w, copy, sizeof(copy));
		for (size_t at = 0; at < 128;) {
			unsigned n = (unsigned)(test_random() >> 32) % 33;
			uint32_t want = 0, got;

			if (n > 128 - at)
				n = (unsigned)(128 - at);
			for (unsigned i = 0; i < n; i++)
				want = want << 1 | bit_at(data, at + i);
			got = cursor_bits(&r, n);
			assert_int_equal(got, want);
			cursor_put_bits(&w, n, n < 32 ? got | UINT32_MAX << n : got);
			at += n;
		}
		assert_true(cursor_ok(&r) && cursor_ok(&w));
		assert_memory_equal(copy, data, sizeof(data));
		assert_int_equal(cursor_bits(&r, 1), 0);
		assert_false(cursor_ok(&r));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor_reads_big_endian),
		cmocka_unit_test(test_cursor_end_is_sticky),
		cmocka_unit_test(test_cursor_misaligned),
		cmocka_unit_test(test_cursor_writes_stay_inside),
		cmocka_unit_test(test_cursor_bits_against_single_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
