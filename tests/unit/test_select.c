/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/base/log.h"
#include "sm/conf/config.h"

/* Node-name maps and node selections: what they take, what they refuse and where. */

static struct name_map *
names(const char *text, struct error *e)
{
	e->text[0] = '\0';
	return name_map_parse(text, strlen(text), "n", e);
}

static void
test_names(void **state)
{
	struct error e;
	struct name_map *m = names("# a comment\n\n0x0002c903000a1b2c \"leaf 1\"\n"
				   "\t0002c903000a1b2d\t\"spine # 2\" # top\r\n0x1 "
				   "\"\xc3\xbc\"", &e);

	(void)state;
	assert_non_null(m);
	assert_string_equal(name_map_get(m, 0x0002c903000a1b2c), "leaf 1");
	assert_string_equal(name_map_get(m, 0x0002c903000a1b2d), "spine # 2");
	assert_string_equal(name_map_get(m, 1), "\xc3\xbc");
	assert_null(name_map_get(m, 2));
	assert_null(name_map_get(NULL, 1));
	name_map_free(m);
	name_map_free(NULL);
	m = names("", &e);
	assert_non_null(m);
	assert_null(name_map_get(m, 0));
	name_map_free(m);
	m = names("0x1 \"a\"\n0x1 \"a\"\n", &e);
	assert_string_equal(name_map_get(m, 1), "a");
	name_map_free(m);
}

static void
test_names_wrong(void **state)
{
	static const char *const cases[][2] = {
		{ "leaf 0x1\n", "n:1:1: expected a GUID such as 0x0002c903000a1b2c" },
		{ "\n  1 \"a\"\n", "n:2:3: expected a GUID such as 0x0002c903000a1b2c" },
		{ "0x0 \"a\"\n", "n:1:1: expected a GUID such as 0x0002c903000a1b2c" },
		{ "0x10002c903000a1b2c0 \"a\"\n",
		  "n:1:1: expected a GUID such as 0x0002c903000a1b2c" },
		{ "0x1 leaf\n", "n:1:5: expected a name in double quotes" },
		{ "0x1\n", "n:1:4: expected a name in double quotes" },
		{ "0x1 # \"a\"\n", "n:1:5: expected a name in double quotes" },
		{ "0x1 \"leaf\n\"", "n:1:6: the closing quote of this name is missing" },
		{ "0x1 \"\"\n", "n:1:6: expected a name of 1 to 127 bytes" },
		{ "0x1 \"\x1b[2J\"\n", "n:1:6: the name is not printable UTF-8" },
		{ "0x1 \"\xff\"\n", "n:1:6: the name is not printable UTF-8" },
		{ "0x1 \"\xc3\xbc\" b\n", "n:1:9: expected the end of the line" },
		{ "0x1 \"a\"\n0x01 \"b\"\n", "n:2:1: this GUID has another name already" },
	};
	struct error e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_null(names(cases[i][0], &e));
		assert_string_equal(e.text, cases[i][1]);
	}
	assert_null(name_map_load("/nonexistent/names", &e));
	assert_int_equal(e.code, ERR_NOT_FOUND);
	assert_null(name_map_parse("0x1 \"a\0b\"\n", 10, "n", &e));
	assert_string_equal(e.text, "n:1:6: the name is not printable UTF-8");
}

static void
test_names_many(void **state)
{
	struct buf b = { 0 };
	struct name_map *m;
	struct error e;
	char want[16];

	(void)state;
	for (int i = 1; i <= 20000; i++)
		buf_printf(&b, "0x%x \"n%d\"\n", (unsigned)i, i);
	m = names(b.data, &e);
	assert_non_null(m);
	for (int i = 1; i <= 20000; i++) {
		snprintf(want, sizeof(want), "n%d", i);
		assert_string_equal(name_map_get(m, (uint64_t)i), want);
	}
	name_map_free(m);
	buf_free(&b);
}

static void
test_selection(void **state)
{
	static const struct {
		const char *text;	/* the selection */
		const char *name;	/* of the node */
		uint64_t guid;		/* of the node */
		bool match;		/* expected */
	} cases[] = {
		{ "leaf 1", "leaf 1", 1, true },
		{ "leaf 1", "leaf 10", 1, false },
		{ "leaf", "LEAF", 1, false },
		{ "0x10", "x", 16, true },
		{ "0x0000000000000010", "x", 16, true },
		{ "0000000000000010", "x", 16, true },
		{ "10", "x", 16, false },
		{ "10", "10", 1, true },
		{ "0x10", "0x10", 1, true },
		{ "/^gpu-0[0-9]+ /", "gpu-07 mlx5_0", 1, true },
		{ "/^gpu-0[0-9]+ /", "gpu-17 mlx5_0", 1, false },
		{ "/eaf/", "leaf", 1, true },
		{ "/a/b/", "xa/by", 1, true },
		{ "/^.$/", "\xc3\xbc", 1, true },	/* one character, two bytes */
		{ "/leaf/", "\xff leaf", 1, true },	/* a device may call itself anything */
		{ "/0x10/", "x", 16, false },
		{ "/(?i)LEAF/", "leaf", 1, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = { 0 };
		struct selection *s = selection_new(cases[i].text, &e);

		if (!s)
			fail_msg("%s: %s", cases[i].text, e.text);
		if (selection_match(s, cases[i].name, cases[i].guid) != cases[i].match)
			fail_msg("%s on %s", cases[i].text, cases[i].name);
		selection_free(s);
	}
	selection_free(NULL);
}

static void
test_selection_wrong(void **state)
{
	static const char *const texts[] = {
		"", "/", "//", "/abc", "/(/", "/[/", "/a**b{/)/", "/\\C/", "/\xff/",
		"/(((((a{1,1000}){1,1000}){1,1000}){1,1000}){1,1000})/",
	};
	struct error e;
	char big[1100];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		e.text[0] = '\0';
		if (selection_new(texts[i], &e))
			fail_msg("accepted: %s", texts[i]);
		assert_true(e.text[0]);
	}
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_null(selection_new(big, &e));
	assert_string_equal(e.text, "a selection may have 1000 bytes at most");
	assert_null(selection_new("/a(b/", &e));
	assert_string_equal(e.text, "the regular expression is wrong at character 4: "
			    "missing closing parenthesis");
}

/* (a+)+$ on a row of a and one b takes 2^64 steps without a limit: this test would not end. */
static void
test_selection_limits(void **state)
{
	static const char *const texts[] = { "/^(a+)+$/", "/^(a|a)*$/", "/^(.*)*\\1\\1x$/" };
	const char *name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
	struct error e;

	(void)state;
	assert_int_equal(log_open("stderr", LOG_L_ERROR, &e), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct selection *s = selection_new(texts[i], &e);

		assert_non_null(s);
		for (int n = 0; n < 20; n++)
			assert_false(selection_match(s, name, 1));
		selection_free(s);
	}
	assert_int_equal(log_open("stderr", LOG_L_NOTICE, &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_wrong),
		cmocka_unit_test(test_names_many),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_selection_wrong),
		cmocka_unit_test(test_selection_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
