/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"

/* Heads of requests: what is taken, what is refused and with which status, what is partial. */
#define END "\r\n\r\n"
#define HOST " HTTP/1.1\r\nHost: a\r\n"

static int
parse(const char *text, struct http_head *h)
{
	struct error e = { 0 };
	size_t used = 0;
	int rc = http_head_parse(text, strlen(text), h, &used, &e);

	if (rc != HTTP_WHOLE && rc != HTTP_PARTIAL)
		assert_true(e.text[0] != '\0');
	if (rc == HTTP_WHOLE)
		assert_true(used <= strlen(text));
	return rc;
}

static void
test_taken(void **state)
{
	struct http_head h;

	(void)state;
	assert_int_equal(parse("\r\nPOST /a%2Fb%20c?x=1&guids_data=true HTTP/1.1\r\nhOST: a\r\n"
			       "Content-Length:  12 \r\nAuthorization: Basic abc\r\n"
			       "Expect: 100-Continue" END, &h), HTTP_WHOLE);
	assert_string_equal(h.method, "POST");
	assert_string_equal(h.path, "/a/b c");
	assert_string_equal(h.query, "x=1&guids_data=true");
	assert_string_equal(h.authorization, "Basic abc");
	assert_int_equal(h.body_size, 12);
	assert_true(h.keep_alive && h.expect_continue);
	assert_int_equal(parse("GET http://host:1/x HTTP/1.1\r\nHost: a\r\nConnection: a, close"
			       END, &h), HTTP_WHOLE);
	assert_string_equal(h.path, "/x");
	assert_false(h.keep_alive);
	assert_int_equal(parse("GET / HTTP/1.0" END, &h), HTTP_WHOLE);
	assert_false(h.keep_alive);
	assert_int_equal(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive" END, &h), HTTP_WHOLE);
	assert_true(h.keep_alive);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} list[] = {
		{ "GET / HTTP/1.1" END, 400 },			/* no host */
		{ "GET /" HOST "Host: b" END, 400 },
		{ "GET /" HOST "Content-Length: 1\r\nContent-Length: 1" END, 400 },
		{ "GET /" HOST "Content-Length: +1" END, 400 },
		{ "GET /" HOST "Content-Length: 0x1" END, 400 },
		{ "GET /" HOST "Content-Length: 99999999999999999999" END, 400 },
		{ "GET /" HOST "Content-Length: 1\r\nTransfer-Encoding: x" END, 400 },
		{ "POST /" HOST "Transfer-Encoding: chunked" END, 411 },
		{ "GET /" HOST "Name : x" END, 400 },
		{ "GET /" HOST "a: b\r\n c" END, 400 },		/* folded */
		{ "GET /" HOST "a: b\nc: d" END, 400 },
		{ "GET /" HOST "a: b\rc: d" END, 400 },
		{ "GET /" HOST "a: \x01" END, 400 },
		{ "GET /" HOST "Expect: more" END, 417 },
		{ "GET /" HOST "Authorization: a\r\nAuthorization: b" END, 400 },
		{ "GET / HTTP/2.0\r\nHost: a" END, 505 },
		{ "GET / HTTP/1.1 \r\nHost: a" END, 400 },
		{ "GET  / HTTP/1.1\r\nHost: a" END, 400 },
		{ "GET /a b HTTP/1.1\r\nHost: a" END, 400 },
		{ "GET a HTTP/1.1\r\nHost: a" END, 400 },
		{ "GET /%0" HOST "\r\n", 400 },
		{ "GET /%00" HOST "\r\n", 400 },
		{ "GET\x01 /" HOST "\r\n", 400 },
		{ "VERYLONGMETHODNAME /" HOST "\r\n", 501 },
		{ "nonsense" END, 400 },
		{ "\x16\x03\x01", 400 },			/* a hello of TLS */
	};
	struct http_head h;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (parse(list[i].text, &h) != list[i].status)
			fail_msg("%zu: %d, not %d", i, parse(list[i].text, &h), list[i].status);
}

static void
test_limits(void **state)
{
	struct http_head h;
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(parse("", &h), HTTP_PARTIAL);
	assert_int_equal(parse("GET /" HOST "a: b\r\n", &h), HTTP_PARTIAL);
	buf_str(&b, "GET /");
	for (unsigned i = 0; i < HTTP_PATH_MAX; i++)
		buf_char(&b, 'x');
	buf_str(&b, HOST "\r\n");
	assert_int_equal(parse(b.data, &h), 414);
	buf_clear(&b);
	buf_str(&b, "GET /" HOST);
	for (unsigned i = 0; i < HTTP_HEADERS_MAX; i++)
		buf_str(&b, "a: b\r\n");
	buf_str(&b, "\r\n");
	assert_int_equal(parse(b.data, &h), 431);
	buf_clear(&b);
	buf_str(&b, "GET /" HOST "a: ");
	for (unsigned i = 0; i < HTTP_HEAD_MAX; i++)
		buf_char(&b, 'x');
	assert_int_equal(parse(b.data, &h), 431);
	buf_free(&b);
}

static void
test_query(void **state)
{
	(void)state;
	assert_true(http_query_true("guids_data=true", "guids_data"));
	assert_true(http_query_true("a=b&guids_data=True", "guids_data"));
	assert_false(http_query_true("guids_data=false", "guids_data"));
	assert_false(http_query_true("xguids_data=true", "guids_data"));
	assert_false(http_query_true("guids_data=truer", "guids_data"));
	assert_false(http_query_true("", "guids_data"));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_query),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
