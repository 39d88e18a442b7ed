/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/ufm.h"

#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* UFM's calls as commands, and answers as bodies. */
static const struct ufm_call add = { .kind = UFM_ADD, .change = true };
static const struct ufm_call drop = { .kind = UFM_REMOVE, .change = true };

static void
test_guids(void **state)
{
	static const char *const bad[] = {
		"", "0x", "0", "0x0", "ffffffffffffffff", "0002c903000a1c0", "0002c903000a1c000",
		"0x0002c903000a1c000", "00:02:c9:03:00:0a:1c", "00-02-c9-03-00-0a-1c-00",
		"0x:02:c9:03:00:0a:1c:00",
		"00:02:c9:03:00:0a:1c:0x", "000:2:c9:03:00:0a:1c:00", " 0002c903000a1c00", "host",
	};
	uint64_t guid;

	(void)state;
	assert_true(ufm_guid("0002c903000a1c00", &guid));
	assert_true(guid == UINT64_C(0x0002c903000a1c00));
	assert_true(ufm_guid("00:02:C9:03:00:0a:1c:01", &guid));
	assert_true(guid == UINT64_C(0x0002c903000a1c01));
	assert_true(ufm_guid("0x2c903000a1c02", &guid));
	assert_true(guid == UINT64_C(0x0002c903000a1c02));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ufm_guid(bad[i], &guid))
			fail_msg("\"%s\" is taken", bad[i]);
}

static void
test_pkeys(void **state)
{
	static const char *const bad[] = { "", "42", "0x", "0x0", "0x8000", "0x7fff", "0xffff",
					   "0x10042", "-0x1", "0x42 ", "x42" };
	uint16_t pkey;

	(void)state;
	assert_true(ufm_pkey("0x0042", &pkey) && pkey == 0x42);
	assert_true(ufm_pkey("0X8042", &pkey) && pkey == 0x42);
	assert_true(ufm_pkey("0x7FFE", &pkey) && pkey == 0x7ffe);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ufm_pkey(bad[i], &pkey))
			fail_msg("\"%s\" is taken", bad[i]);
}

static int
route(const char *method, const char *path, struct ufm_call *call)
{
	const char *allow;
	struct error e = { 0 };

	return ufm_route(method, path, "guids_data=true", call, &allow, &e);
}

static void
test_routes(void **state)
{
	struct ufm_call call;

	(void)state;
	assert_int_equal(route("GET", "/ufmRest/app/ufm_version", &call), 0);
	assert_int_equal(call.kind, UFM_VERSION);
	assert_int_equal(route("POST", "/ufmRest/resources/pkeys", &call), 0);
	assert_true(call.kind == UFM_ADD && call.change);
	assert_int_equal(route("POST", "/ufmRest/resources/pkeys/", &call), 0);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeys/", &call), 0);
	assert_true(call.kind == UFM_LIST && !call.change && call.guids && !call.pkey);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeys/0x8042", &call), 0);
	assert_int_equal(call.pkey, 0x42);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeys/0x7fff", &call), 0);
	assert_int_equal(route("POST", "/ufmRest/actions/remove_guids_from_pkey", &call), 0);
	assert_int_equal(call.kind, UFM_REMOVE);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeys/blue", &call), 400);
	assert_int_equal(route("PUT", "/ufmRest/resources/pkeys", &call), 405);
	assert_int_equal(route("GET", "/ufmRest/actions/remove_guids_from_pkey", &call), 405);
	assert_int_equal(route("POST", "/ufmRest/resources/pkeys/0x42", &call), 405);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeysx", &call), 404);
	assert_int_equal(route("GET", "/ufmRest/resources/pkeys/0x42/x", &call), 404);
	assert_int_equal(route("GET", "/", &call), 404);
	assert_int_equal(route("GET", "/ufmRest", &call), 404);
}

static int
command(const struct ufm_call *call, const char *body, struct buf *line)
{
	struct error e = { 0 };
	int rc;

	buf_clear(line);
	rc = ufm_command(call, body, strlen(body), NULL, line, &e);
	assert_true(!rc == !e.text[0]);
	return rc;
}

static void
test_bodies(void **state)
{
	static const char *const bad[] = {
		"", "[]", "\"x\"", "{", "{\"pkey\":\"0x42\"}", "{\"guids\":[\"0x1\"]}",
		"{\"pkey\":66,\"guids\":[\"0x1\"]}", "{\"pkey\":\"0x7fff\",\"guids\":[\"0x1\"]}",
		"{\"pkey\":\"0x42\",\"guids\":[]}", "{\"pkey\":\"0x42\",\"guids\":\"0x1\"}",
		"{\"pkey\":\"0x42\",\"guids\":[1]}", "{\"pkey\":\"0x42\",\"guids\":[\"x\"]}",
		"{\"pkey\":\"0x42\",\"guids\":[\"0x1\"],\"membership\":\"both\"}",
		"{\"pkey\":\"0x42\",\"guids\":[\"0x1\"],\"index0\":1}",
		"{\"pkey\":\"0x42\",\"guids\":[\"0x1\"],\"mtu_limit\":2}",
		"{\"pkey\":\"0x42\",\"pkey\":\"0x43\",\"guids\":[\"0x1\"]}",
		"{\"pkey\":\"0x42\",\"guids\":[\"0x1\"]} x",
	};
	struct buf line = { 0 };

	(void)state;
	assert_int_equal(command(&add, "{\"pkey\": \"0x0042\", \"index0\": true, \"ip_over_ib\": "
				 "true, \"membership\": \"full\", \"guids\": [\"0002c903000a1c00\","
				 "\"00:02:c9:03:00:0a:1c:01\"]}", &line), 0);
	assert_string_equal(line.data, "{\"command\":\"partition pkey add\",\"subnet\":null,"
			    "\"args\":{\"pkey\":66,\"membership\":\"full\",\"index0\":true,"
			    "\"ipoib\":true,\"members\":[\"0x0002c903000a1c00\","
			    "\"0x0002c903000a1c01\"]}}");
	assert_int_equal(command(&drop, "{\"pkey\": \"0x0042\", \"guids\": [\"0x12\"]}", &line), 0);
	assert_string_equal(line.data, "{\"command\":\"partition pkey remove\",\"subnet\":null,"
			    "\"args\":{\"pkey\":66,\"members\":[\"0x0000000000000012\"]}}");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (command(&add, bad[i], &line) != 400)
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(command(&drop, "{\"pkey\":\"0x42\",\"guids\":[\"0x1\"],\"index0\":true}",
				 &line), 400);
	buf_free(&line);
}

/* As many GUIDs as there may be fit into what the daemon takes. */
static void
test_many(void **state)
{
	struct buf body = { 0 }, line = { 0 };

	(void)state;
	buf_str(&body, "{\"pkey\":\"0x42\",\"guids\":[\"0x1\"");
	for (unsigned i = 1; i < UFM_GUIDS_MAX; i++)
		buf_printf(&body, ",\"%016x\"", i + 1);
	buf_str(&body, "]}");
	assert_int_equal(command(&add, body.data, &line), 0);
	body.len -= 2;
	buf_str(&body, ",\"0x1\"]}");
	assert_int_equal(command(&add, body.data, &line), 413);
	buf_free(&body);
	buf_free(&line);
}

static int
answer(const struct ufm_call *call, const char *line, const char *wanted, bool wanted_busy)
{
	struct buf body = { 0 };
	struct error e = { 0 };
	bool busy;
	int status = ufm_answer(call, line, strlen(line), "0.9", &body, &busy, &e);

	if (status == 200)
		assert_string_equal(body.data, wanted);
	else
		assert_string_equal(e.text, wanted);
	assert_int_equal(busy, wanted_busy);
	buf_free(&body);
	return status;
}

#define LIST "{\"ok\":true,\"data\":{\"partitions\":[{\"name\":\"a\",\"pkey\":66," \
	     "\"ipoib\":true,\"guids\":[{\"guid\":\"0x00000000000000ab\"," \
	     "\"membership\":\"both\",\"index0\":true}," \
	     "{\"guid\":\"0xfe00000000000001\",\"membership\":\"limited\"}]}]}}"
#define ONE "{\"partition\":\"a\",\"ip_over_ib\":true,\"guids\":[{\"guid\":\"00000000000000ab\"," \
	    "\"membership\":\"full\",\"index0\":true},{\"guid\":\"fe00000000000001\"," \
	    "\"membership\":\"limited\",\"index0\":false}]}"
#define NO(reason) "{\"ok\":false,\"error\":\"why\",\"code\":1,\"reason\":\"" reason "\"}"

static void
test_answers(void **state)
{
	const struct ufm_call version = { .kind = UFM_VERSION };
	struct ufm_call list = { .kind = UFM_LIST, .guids = true };

	(void)state;
	assert_int_equal(answer(&list, LIST, "{\"0x42\":" ONE "}\n", false), 200);
	list.pkey = 0x42;
	assert_int_equal(answer(&list, LIST, ONE "\n", false), 200);
	list.guids = false;
	assert_int_equal(answer(&list, LIST, "{\"partition\":\"a\",\"ip_over_ib\":true}\n", false),
			 200);
	assert_int_equal(answer(&version, "{\"ok\":true,\"data\":{}}", "{\"ufm_release_version\":"
				"\"0.9\",\"product\":\"weft\"}\n", false), 200);
	assert_int_equal(answer(&add, NO("invalid"), "why", false), 400);
	assert_int_equal(answer(&add, NO("denied"), "why", false), 403);
	assert_int_equal(answer(&add, NO("not found"), "why", false), 404);
	assert_int_equal(answer(&add, NO("refused"), "why", false), 409);
	assert_int_equal(answer(&add, NO("full"), "why", false), 409);
	assert_int_equal(answer(&add, NO("busy"), "why", true), 503);
	assert_int_equal(answer(&add, NO("timeout"), "why", false), 504);
	assert_int_equal(answer(&add, NO("i/o error"), "why", false), 500);
	assert_int_equal(answer(&add, "{}", "what the daemon answers cannot be understood", false),
			 502);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guids), cmocka_unit_test(test_pkeys),
		cmocka_unit_test(test_routes), cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_many), cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
