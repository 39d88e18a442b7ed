/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sm/base/mem.h"
#include "sm/conf/config.h"
#include "tests/unit/conf_help.h"

/*
 * Plugins in the configuration: their entries, chains of engines that name them, and their own
 * options once it is known what these are.
 */
#define P "plugins:\n  - "
#define ENGINES "auto, dfsssp, dragonfly, fatpaths, fattree, file, hyperx, minhop, nue, torus"

static void
test_messages(void **state)
{
	static const char *const texts[][2] = {
		{ P "{file: a.so}\n", "t.yaml:2:5: plugins: a plugin needs name" },
		{ P "{name: -a}\n", "t.yaml:2:12: name: expected 1 to 31 of a-z, 0-9, _ and -, not "
		  "starting with -, found \"-a\"" },
		{ P "{name: minhop}\n", "t.yaml:2:12: plugins.name: minhop is an engine of Weft's "
		  "own: the plugin needs another name" },
		{ P "{name: a}\n  - {file: b.so, name: a}\n",
		  "t.yaml:3:24: plugins.name: two plugins are called a" },
		{ P "{name: a, file: ../a.so}\n", "t.yaml:2:21: file: expected the name of a file "
		  "in plugin_folder, without /, or null, found \"../a.so\"" },
		{ P "{name: a, file: ..}\n", "t.yaml:2:21: file: expected the name of a file "
		  "in plugin_folder, without /, or null, found \"..\"" },
		{ P "{name: a, time: 2h}\n", "t.yaml:2:21: time: expected a time with a unit (us, "
		  "ms, s, min, h) from 100ms to 1h, found \"2h\"" },
		{ P "{name: a, memory: 1}\n", "t.yaml:2:23: memory: expected a whole number from "
		  "16 to 1048576, found \"1\"" },
		{ P "{name: a, user: \"a b\"}\n", "t.yaml:2:21: user: expected the name of a user, "
		  "found \"a b\"" },
		{ P "{name: a, options: 7}\n", "t.yaml:2:24: options: expected a map of options, "
		  "each with one value, found \"7\"" },
		{ P "{name: a, options: {x: [1]}}\n", "t.yaml:2:28: options.x: expected a number, "
		  "true, false or a text, found a list" },
		{ P "{name: a, options: {x: }}\n", "t.yaml:2:28: options.x: expected a number, "
		  "true, false or a text, found nothing" },
		{ P "{name: a, options: {x: 1, x: 2}}\n",
		  "t.yaml:2:31: \"x\" is set twice; it was set in line 2 already" },
		{ P "{name: a, events: []}\n", "t.yaml:2:23: events: expected a list of at least "
		  "one of start, port, role, sweep, node-up, node-down, link-up, link-down, "
		  "silent, duplicate, refused, routed, repaired, fallback, unrouted, trap, config, "
		  "health, quarantined, released, overdue, state, adaptive or plugin, or null, "
		  "found an empty list" },
		{ P "{name: a, level: loud}\n", "t.yaml:2:22: level: expected error, warning, "
		  "notice, info or debug, found \"loud\"" },
		{ P "{name: a, subnets: [defualt]}\n", "t.yaml:2:25: subnets: there is no subnet "
		  "defualt; did you mean \"default\"?" },
		{ P "{name: a, event: [trap]}\n", "t.yaml:2:15: unknown option \"event\" in "
		  "a plugin; did you mean \"events\"?" },
		{ "plugin_folder: plugins\n", "t.yaml:1:16: plugin_folder: expected a path with a "
		  "/ in it, found \"plugins\"" },
		{ P "{name: rsp}\nsubnets:\n  - routing: {engines: [rps]}\n",
		  "t.yaml:4:25: routing.engines: expected a list of at least one of " ENGINES
		  ", updn or rsp, found \"rps\"; did you mean \"rsp\"?" },
		{ "subnets:\n  - routing: {engines: [rsp, rsp]}\n" P "{name: rsp}\n",
		  "t.yaml:2:30: routing.engines: \"rsp\" is in the list twice" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_error(texts[i][0], texts[i][1]);
}

static const char full[] =
	"subnets:\n"
	"  - routing: {engines: [updn, rsp, dor]}\n"
	"plugin_folder: /opt/plugins\n"
	"plugins:\n"
	"  - {name: rsp, file: random.so, time: 500ms, memory: 64, user: weft-plugin,\n"
	"     options: {seed: 0x10, fast: yes, mode: wide, title: \"a: b\", empty: \"\"}}\n"
	"  - {name: dor}\n"
	"  - {name: trail, events: [link-down, trap], level: info, subnets: default}\n";

static void
check_full(const struct config *c)
{
	const struct config_plugin *p = c->plugins;

	assert_string_equal(c->plugin_folder, "/opt/plugins");
	assert_int_equal(c->nplugins, 3);
	assert_string_equal(p[0].name, "rsp");
	assert_string_equal(p[0].file, "random.so");
	assert_int_equal(p[0].time, MSEC(500));
	assert_int_equal(p[0].memory, 64);
	assert_string_equal(p[0].user, "weft-plugin");
	assert_int_equal(p[0].noptions, 5);
	assert_string_equal(p[0].options[0].name, "seed");
	assert_string_equal(p[0].options[0].text, "0x10");
	assert_string_equal(p[0].options[3].text, "a: b");
	assert_string_equal(p[0].options[4].text, "");
	assert_null(p[0].events);
	assert_null(p[1].file);
	assert_int_equal(p[1].time, SEC(30));
	assert_int_equal(p[1].memory, 1024);
	assert_string_equal(p[1].user, "nobody");
	assert_int_equal(p[1].noptions, 0);
	assert_string_equal(p[2].events[1], "trap");
	assert_null(p[2].events[2]);
	assert_int_equal(p[2].level, LOG_L_INFO);
	assert_string_equal(p[2].subnets[0], "default");
	assert_int_equal(p[1].level, LOG_L_DEBUG);
	assert_null(p[1].subnets);
	assert_true(p[0].routes.line && p[1].routes.line);
	assert_int_equal(p[2].routes.line, 0);
	assert_string_equal(c->subnets[0].routing.engines[1], "rsp");
	assert_string_equal(c->subnets[0].routing.engines[2], "dor");
	assert_null(c->subnets[0].routing.engines[3]);
}

/* A plugin may be called as an engine of a version to come is. */
static void
test_entries(void **state)
{
	struct config *c = parse_ok(full), *again;
	struct buf text = { 0 };

	(void)state;
	check_full(c);
	assert_int_equal(c->plugins[0].at.line, 5);
	assert_int_equal(c->plugins[0].at.column, 12);
	assert_int_equal(c->plugins[0].routes.line, 2);
	assert_int_equal(c->plugins[0].routes.column, 31);
	assert_int_equal(c->plugins[0].options[1].name_at.line, 6);
	assert_int_equal(c->plugins[0].options[1].name_at.column, 28);
	assert_int_equal(c->plugins[0].options[1].text_at.column, 34);
	config_print(c, &text);
	again = parse_ok(text.data);
	check_full(again);
	assert_int_equal(config_diff(c, again, NULL, NULL), STAGE_NONE);
	config_free(again);
	buf_clear(&text);
	config_print_changed(c, &text);
	again = parse_ok(text.data);
	check_full(again);
	config_free(again);
	buf_free(&text);
	config_free(c);
}

/* What no subnet routes by is taken on without a routing. */
static void
test_diff(void **state)
{
	static const char used[] = "subnets:\n  - routing: {engines: [a, updn]}\n";
	char before[256], after[256];

	(void)state;
	expect_diff("", P "{name: a, options: {x: 1}}\n", STAGE_LIVE,
		    "plugins[a] absent -> {name: a, options: {x: 1}} (live)\n");
	expect_diff(P "{name: a}\n", P "{name: a, options: {x: 1}, file: b.so}\n", STAGE_LIVE,
		    "plugins[a] {file: null, options: {}} -> {file: b.so, options: {x: 1}} "
		    "(live)\n");
	snprintf(before, sizeof(before), "%s%s", used, P "{name: a}\n  - {name: b}\n");
	snprintf(after, sizeof(after), "%s%s", used,
		 P "{name: a, options: {x: 1}}\n  - {name: b, options: {x: 1}}\n");
	expect_diff(before, after, STAGE_ROUTING,
		    "plugins[a] {options: {}} -> {options: {x: 1}} (routing)\n"
		    "plugins[b] {options: {}} -> {options: {x: 1}} (live)\n");
	snprintf(after, sizeof(after), "%s%s", used, P "{name: a, time: 5s, memory: 16}\n"
		 "  - {name: b}\n");
	expect_diff(before, after, STAGE_LIVE,
		    "plugins[a] {time: 30s, memory: 1024} -> {time: 5s, memory: 16} (live)\n");
	snprintf(after, sizeof(after), "%s%s", used, P "{name: b}\n  - {name: a}\n");
	expect_diff(before, after, STAGE_LIVE, "plugins their order -> another order (live)\n");
	expect_diff(P "{name: a, options: {x: 1}}\n", P "{name: a, options: {x: \"1\"}}\n",
		    STAGE_NONE, "");
}

static const char *const modes[] = { "narrow", "wide", NULL };
static const struct config_declared declared[] = {
	{ .name = "seed", .kind = CONFIG_KIND_NUMBER, .min = 1, .max = UINT64_MAX },
	{ .name = "fast", .kind = CONFIG_KIND_FLAG },
	{ .name = "mode", .kind = CONFIG_KIND_WORD, .words = modes },
	{ .name = "title", .kind = CONFIG_KIND_TEXT, .max = 4 },
	{ .name = "empty", .kind = CONFIG_KIND_TEXT, .max = 4 },
	{ .name = "other", .kind = CONFIG_KIND_NUMBER, .max = 5 },
};
#define DECLARED (sizeof(declared) / sizeof(declared[0]))

static void
test_values(void **state)
{
	struct region *r = region_new();
	struct config *c = parse_ok(full);
	const char *values[DECLARED];
	struct error e;

	(void)state;
	assert_int_equal(config_plugin_values(c, &c->plugins[0], declared, DECLARED, r, values,
					      &e), 0);
	assert_string_equal(values[0], "16");
	assert_string_equal(values[1], "true");
	assert_string_equal(values[2], "wide");
	assert_string_equal(values[3], "a: b");
	assert_string_equal(values[4], "");
	assert_null(values[5]);
	config_free(c);
	region_free(r);
}

static void
test_wrong_values(void **state)
{
	static const char *const texts[][2] = {
		{ "{sed: 7}", "t.yaml:3:15: unknown option \"sed\" in plugins[rsp].options; did "
		  "you mean \"seed\"?" },
		{ "{zzzzzzz: 7}", "t.yaml:3:15: unknown option \"zzzzzzz\" in "
		  "plugins[rsp].options" },
		{ "{seed: 0}", "t.yaml:3:21: plugins[rsp].options.seed: expected a whole number "
		  "from 1 to 18446744073709551615, found \"0\"" },
		{ "{seed: 010}", "t.yaml:3:21: plugins[rsp].options.seed: expected a whole number "
		  "from 1 to 18446744073709551615, found \"010\"" },
		{ "{other: 6}", "t.yaml:3:22: plugins[rsp].options.other: expected a whole number "
		  "from 0 to 5, found \"6\"" },
		{ "{fast: 1}", "t.yaml:3:21: plugins[rsp].options.fast: expected true or false, "
		  "found \"1\"" },
		{ "{mode: wdie}", "t.yaml:3:21: plugins[rsp].options.mode: expected narrow or "
		  "wide, found \"wdie\"; did you mean \"wide\"?" },
		{ "{title: abcde}", "t.yaml:3:22: plugins[rsp].options.title: expected a text of "
		  "at most 4 bytes, found \"abcde\"" },
	};
	const char *values[DECLARED];
	char text[128];
	struct error e;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct region *r = region_new();
		struct config *c;

		snprintf(text, sizeof(text), P "name: rsp\n    options: %s\n", texts[i][0]);
		text[strlen(text) - 1] = '\n';
		c = parse_ok(text);
		assert_int_not_equal(config_plugin_values(c, c->plugins, declared, DECLARED, r,
							  values, &e), 0);
		assert_string_equal(e.text, texts[i][1]);
		assert_int_equal(config_wrong(c, c->plugins->at, &e, "%s %d", "no", 1),
				 ERR_INVALID);
		assert_string_equal(e.text, "t.yaml:2:11: no 1");
		config_free(c);
		region_free(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_wrong_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
