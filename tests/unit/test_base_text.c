/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "sm/base/json.h"
#include "sm/base/text.h"

/*
 * Text of GUIDs, numbers, durations, links and words, and the JSON writer, which Jansson must read
 * back as it was meant.
 */

static void
test_utf8(void **state)
{
	static const struct {
		const char *bytes;	/* input */
		unsigned len;		/* bytes of it that make a character; 0: none */
		uint32_t cp;		/* the character */
	} cases[] = {
		{ "A", 1, 'A' },
		{ "\xc3\xbc", 2, 0xfc },
		{ "\xe7\xb6\xb2", 3, 0x7db2 },
		{ "\xf0\x9f\x98\x80", 4, 0x1f600 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		{ "\xf4\x90\x80\x80", 0, 0 },	/* beyond Unicode */
		{ "\xed\x9f\xbf", 3, 0xd7ff },
		{ "\xed\xa0\x80", 0, 0 },	/* surrogate */
		{ "\xc0\x80", 0, 0 },		/* overlong */
		{ "\xc1\xbf", 0, 0 },
		{ "\xe0\x9f\xbf", 0, 0 },
		{ "\xf0\x8f\xbf\xbf", 0, 0 },
		{ "\x80", 0, 0 },		/* continuation first */
		{ "\xff", 0, 0 },
		{ "\xc3" "A", 0, 0 },
		{ "\xe7\xb6", 0, 0 },		/* ends early */
	};
	uint32_t cp;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = utf8_decode(cases[i].bytes, strlen(cases[i].bytes), &cp);

		assert_int_equal(n, cases[i].len);
		if (n)
			assert_int_equal(cp, cases[i].cp);
	}
	assert_int_equal(utf8_decode("", 0, &cp), 0);
	assert_int_equal(utf8_decode("", 1, &cp), 1);
	assert_int_equal(cp, 0);
}

static void
test_guid(void **state)
{
	static const char *const bad[] = {
		"", "0x", "0x10000000000000000", "0x00000000000000001",
		"2c903", "0002c9030000001", "0002c90300000012 ",
		" 0x1", "0x1g", "-0x1", "0002c903000000123", "0x-1",
	};
	char text[GUID_TEXT_SIZE];
	uint64_t guid;

	(void)state;
	assert_string_equal(guid_text(text, UINT64_C(0x506b4b0300a1b2c3)), "0x506b4b0300a1b2c3");
	assert_string_equal(guid_text(text, 1), "0x0000000000000001");
	assert_true(guid_parse("0x506B4b0300a1b2c3", &guid));
	assert_true(guid == UINT64_C(0x506b4b0300a1b2c3));
	assert_true(guid_parse("0x2c903", &guid));
	assert_int_equal(guid, 0x2c903);
	assert_true(guid_parse("ffffffffffffffff", &guid));
	assert_true(guid == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		guid = 42;
		assert_false(guid_parse(bad[i], &guid));
		assert_int_equal(guid, 42);
	}
}

static void
test_number(void **state)
{
	static const char *const bad[] = {
		"", "0x", "x1", "-1", "+1", " 1", "1 ", "1.0", "0xg", "16", "0x10", "0b1",
		"18446744073709551616", "0x10000000000000000",
	};
	uint64_t v;

	(void)state;
	assert_true(number_parse("0", 0, 0, &v));
	assert_int_equal(v, 0);
	assert_true(number_parse("010", 0, 15, &v));
	assert_int_equal(v, 10);
	assert_true(number_parse("0xF", 0, 15, &v));
	assert_int_equal(v, 15);
	assert_true(number_parse("18446744073709551615", 0, UINT64_MAX, &v));
	assert_true(v == UINT64_MAX);
	assert_false(number_parse("18446744073709551616", 0, UINT64_MAX, &v));
	assert_false(number_parse("1", 2, 15, &v));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(number_parse(bad[i], 0, 15, &v));
}

static void
test_duration_parse(void **state)
{
	static const struct {
		const char *text;	/* as written */
		int64_t ns;		/* its length */
	} good[] = {
		{ "30us", 30000 }, { "200ms", 200000000 }, { "10s", INT64_C(10000000000) },
		{ "5min", INT64_C(300000000000) }, { "1h", INT64_C(3600000000000) }, { "0s", 0 },
		{ "9223372036s", INT64_C(9223372036000000000) },
	};
	static const char *const bad[] = {
		"", "10", "s", "10 s", "-1s", "1.5s", "10sec", "1m", "9223372037s", "10S",
		"99999999999999999999s",
	};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(duration_parse(good[i].text, &ns));
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(duration_parse(bad[i], &ns));
}

static void
test_link_rates(void **state)
{
	static const struct {
		enum link_width width;	/* lanes */
		enum link_speed speed;	/* of each */
		uint32_t mbps;		/* lanes * signalling rate * coding */
		const char *text;	/* as printed */
	} cases[] = {
		{ LINK_1X, SPEED_SDR, 2000, "1xSDR" },
		{ LINK_4X, SPEED_SDR, 8000, "4xSDR" },
		{ LINK_4X, SPEED_DDR, 16000, "4xDDR" },
		{ LINK_4X, SPEED_QDR, 32000, "4xQDR" },
		{ LINK_4X, SPEED_FDR10, 40000, "4xFDR10" },
		{ LINK_1X, SPEED_FDR, 13636, "1xFDR" },		/* 14062.5 * 64 / 66 */
		{ LINK_4X, SPEED_FDR, 54545, "4xFDR" },
		{ LINK_12X, SPEED_FDR, 163636, "12xFDR" },
		{ LINK_4X, SPEED_EDR, 100000, "4xEDR" },
		{ LINK_2X, SPEED_HDR, 100000, "2xHDR" },
		{ LINK_4X, SPEED_HDR, 200000, "4xHDR" },
		{ LINK_4X, SPEED_NDR, 400000, "4xNDR" },
		{ LINK_8X, SPEED_NDR, 800000, "8xNDR" },
		{ LINK_4X, SPEED_XDR, 800000, "4xXDR" },
		{ LINK_12X, SPEED_FDR10, 120000, "12xFDR10" },
	};
	char text[LINK_TEXT_SIZE];
	enum link_speed speed;
	enum link_width width;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(link_rate_mbps(cases[i].width, cases[i].speed), cases[i].mbps);
		assert_string_equal(link_text(text, cases[i].width, cases[i].speed), cases[i].text);
		assert_true(link_parse(cases[i].text, &width, &speed));
		assert_int_equal(width, cases[i].width);
		assert_int_equal(speed, cases[i].speed);
	}
}

/* Widths and speeds may come from a device that lies. */
static void
test_link_unknown(void **state)
{
	static const char *const bad[] = {
		"", "4", "4x", "xNDR", "3xNDR", "4xNDRR", "4NDR", "04 xNDR", "4x?",
		"99999999999999999999xSDR",
	};
	char text[LINK_TEXT_SIZE];
	enum link_speed speed;
	enum link_width width;

	(void)state;
	assert_int_equal(link_lanes((enum link_width)3), 0);
	assert_int_equal(link_rate_mbps((enum link_width)3, SPEED_NDR), 0);
	assert_int_equal(link_rate_mbps(LINK_4X, SPEED_NONE), 0);
	assert_int_equal(link_rate_mbps(LINK_4X, (enum link_speed)77), 0);
	assert_string_equal(link_speed_name((enum link_speed)77), "?");
	assert_string_equal(link_text(text, (enum link_width)255, (enum link_speed)77), "?x?");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(link_parse(bad[i], &width, &speed));
}

static void
test_mtu_and_state(void **state)
{
	static const unsigned bytes[] = { 0, 256, 512, 1024, 2048, 4096, 0, 0 };

	(void)state;
	for (unsigned code = 0; code < 8; code++) {
		assert_int_equal(mtu_bytes(code), bytes[code]);
		if (bytes[code])
			assert_int_equal(mtu_code(bytes[code]), code);
	}
	assert_int_equal(mtu_bytes(UINT32_MAX), 0);
	assert_int_equal(mtu_code(0), 0);
	assert_int_equal(mtu_code(1500), 0);
	assert_string_equal(port_state_name(0), "?");
	assert_string_equal(port_state_name(1), "down");
	assert_string_equal(port_state_name(2), "init");
	assert_string_equal(port_state_name(3), "armed");
	assert_string_equal(port_state_name(4), "active");
	assert_string_equal(port_state_name(5), "?");
}

static void
test_nearest_word(void **state)
{
	static const char *const words[] = {
		"routing", "sweep_interval", "lmc", "priority", "port", "prefix", NULL,
	};
	static const char *const none[] = { NULL };
	char endless[5000];

	(void)state;
	assert_string_equal(nearest_word("rotuing", words), "routing");
	assert_string_equal(nearest_word("sweepinterval", words), "sweep_interval");
	assert_string_equal(nearest_word("LMC", words), "lmc");
	assert_string_equal(nearest_word("prt", words), "port");
	assert_string_equal(nearest_word("prefixx", words), "prefix");
	assert_null(nearest_word("partitions", words));
	assert_null(nearest_word("", words));
	assert_null(nearest_word("port", none));
	memset(endless, 'p', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_null(nearest_word(endless, words));
	/* a swap of neighbours is one edit, and two letters allow one */
	assert_string_equal(nearest_word("no", (const char *const[]){ "on", NULL }), "on");
	/* the limit is 1 + length/3: three edits pass in six letters, four do not */
	assert_string_equal(nearest_word("abcdef", (const char *const[]){ "abcxyz", NULL }),
			    "abcxyz");
	assert_null(nearest_word("abcdef", (const char *const[]){ "abwxyz", NULL }));
}

static void
test_json_shape(void **state)
{
	struct buf b = { 0 };
	struct json j;

	(void)state;
	jw_init(&j, &b);
	jw_object(&j, NULL);
	jw_bool(&j, "ok", true);
	jw_array(&j, "list");
	jw_uint(&j, NULL, UINT64_MAX);
	jw_int(&j, NULL, INT64_MIN);
	jw_null(&j, NULL);
	jw_object(&j, NULL);
	jw_end(&j);
	jw_array(&j, NULL);
	jw_end(&j);
	jw_end(&j);
	jw_guid(&j, "guid", 0x2c903);
	jw_str(&j, "name", NULL);
	jw_bool(&j, "not", false);
	jw_end(&j);
	assert_string_equal(b.data,
			    "{\"ok\":true,\"list\":[18446744073709551615,-9223372036854775808,"
			    "null,{},[]],\"guid\":\"0x000000000002c903\",\"name\":null,"
			    "\"not\":false}");
	buf_free(&b);
}

static void
test_json_real(void **state)
{
	static const struct {
		double value;		/* given */
		const char *text;	/* written */
	} cases[] = {
		{ 0, "0" }, { -0.0, "0" }, { 1, "1" }, { 0.5, "0.5" }, { -2.25, "-2.25" },
		{ 100, "100" }, { 1.0 / 3, "0.333333" }, { 1e-9, "0" }, { -1e-9, "0" },
		{ 123456789.125, "123456789.125" }, { 1e300, "1e+300" }, { NAN, "null" },
		{ INFINITY, "null" }, { -INFINITY, "null" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };
		struct json j;

		jw_init(&j, &b);
		jw_real(&j, NULL, cases[i].value);
		assert_string_equal(b.data, cases[i].text);
		buf_free(&b);
	}
}

static void
test_json_escapes(void **state)
{
	struct buf b = { 0 };
	struct json j;

	(void)state;
	jw_init(&j, &b);
	jw_str(&j, NULL, "a\"\\/\n\t\r\x01\x1b\xc3\xbc\xff\xe7\xb6z\xed\xa0\x80");
	assert_string_equal(b.data, "\"a\\\"\\\\/\\n\\t\\r\\u0001\\u001b\xc3\xbc\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	buf_free(&b);
}

/* Random bytes as key and value: always valid JSON on one line, and equal where they were UTF-8. */
static void
test_json_oracle(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct buf b = { 0 };
		json_t *root, *value;
		struct json j;
		char s[24];
		bool ascii = round % 2;

		for (size_t i = 0; i < sizeof(s) - 1; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			s[i] = (char)(seed >> 40);
			if (ascii)
				s[i] &= 0x7f;
			if (!s[i])
				s[i] = 'n';
		}
		s[sizeof(s) - 1] = '\0';
		jw_init(&j, &b);
		jw_object(&j, NULL);
		jw_str(&j, s, s);
		jw_end(&j);
		assert_null(memchr(b.data, '\n', b.len));
		root = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(root);
		value = json_object_iter_value(json_object_iter(root));
		assert_string_equal(json_string_value(value),
				    json_object_iter_key(json_object_iter(root)));
		if (ascii)
			assert_string_equal(json_string_value(value), s);
		json_decref(root);
		buf_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_guid),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_duration_parse),
		cmocka_unit_test(test_link_rates),
		cmocka_unit_test(test_link_unknown),
		cmocka_unit_test(test_mtu_and_state),
		cmocka_unit_test(test_nearest_word),
		cmocka_unit_test(test_json_shape),
		cmocka_unit_test(test_json_real),
		cmocka_unit_test(test_json_escapes),
		cmocka_unit_test(test_json_oracle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
