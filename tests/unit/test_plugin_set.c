/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "routing/engine.h"
#include "sm/base/buf.h"
#include "sm/conf/option.h"
#include "tests/unit/plugin_help.h"

/*
 * Sets: what a configuration names, loaded; what is refused alone and what is wrong as a whole; one
 * set after another.
 */
static int
setup(void **state)
{
	(void)state;
	folder_open();
	folder_install("onetree.so", "onetree.so");
	folder_install("trail.so", "trail.so");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	folder_close();
	return 0;
}

#define TREE "plugins:\n  - {name: onetree"
#define BOTH TREE ", options: {seed: 0x10}}\n  - {name: trail, events: [trap]}\n" \
	"subnets:\n  - routing: {engines: [onetree, updn]}\n"

static void
test_loads(void **state)
{
	struct plugin_set *s = set_ok(NULL, BOTH);
	struct error e;

	(void)state;
	assert_int_equal(plugin_set_wrong(s, &e), 0);
	assert_int_equal(s->len, 2);
	assert_string_equal(plugin_about(s->entries[0].plugin)->version, "1");
	assert_string_equal(s->entries[0].values[2], "16");
	assert_null(s->entries[0].values[0]);
	assert_ptr_equal(s->engines[0], s->entries[0].engine);
	assert_string_equal(s->engines[0]->name, "onetree");
	assert_null(s->engines[1]);
	assert_null(s->entries[1].engine);
	assert_false(plugin_about(s->entries[1].plugin)->is_engine);
	assert_ptr_equal(plugin_set_find(s, "trail"), &s->entries[1]);
	assert_null(plugin_set_find(s, "rsp"));
	assert_null(plugin_set_find(NULL, "rsp"));
	assert_ptr_equal(plugin_set_engine(s, "onetree"), s->engines[0]);
	plugin_set_unref(plugin_set_ref(s));
	plugin_set_unref(s);
}

/* It is refused alone, and stands in chains as an engine that says why. */
static void
test_refused(void **state)
{
	static const char elf[128] = "\177ELF", text[] = "no shared object at all, but long enough "
		"to be one as far as its length goes";
	static const struct {
		const char *name;	/* of the plugin */
		const char *says;	/* of its file */
	} rows[] = {
		{ "gone", "cannot be read: No such file" }, { "text", "no shared object" },
		{ "open", "can be written by others than root" }, { "short", "no shared object" },
		{ "other", "is plugin onetree by its own account" }, { "elf", "" },
	};
	char conf[512];

	(void)state;
	folder_write("text.so", text, sizeof(text), 0644);
	folder_write("open.so", text, sizeof(text), 0666);
	folder_write("short.so", text, 3, 0644);
	folder_write("elf.so", elf, sizeof(elf), 0644);
	folder_install("onetree.so", "other.so");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plugin_set *s;
		struct engine_input in = { 0 };
		struct engine_output out = { 0 };
		struct error e = { 0 };

		if (geteuid() && !strcmp(rows[i].name, "open"))
			continue;
		snprintf(conf, sizeof(conf), TREE "}\n  - {name: %s}\nsubnets:\n  - routing: "
			 "{engines: [%s, onetree]}\n", rows[i].name, rows[i].name);
		s = set_of(NULL, conf);
		assert_int_equal(plugin_set_wrong(s, &e), 0);
		assert_non_null(s->entries[0].plugin);
		assert_null(s->entries[1].plugin);
		assert_non_null(strstr(s->entries[1].why.text, rows[i].name));
		if (!strstr(s->entries[1].why.text, rows[i].says))
			fail_msg("%s", s->entries[1].why.text);
		in.engine = plugin_set_engine(s, rows[i].name);
		assert_int_equal(in.engine->route(&in, &out, &e), ERR_REFUSED);
		assert_string_equal(e.text, s->entries[1].why.text);
		plugin_set_unref(s);
	}
}

/* What the configuration says wrongly of one that is there. */
static void
test_wrong(void **state)
{
	static const char *const rows[][2] = {
		{ TREE ", options: {sed: 1}}\n", "t.yaml:3:31: unknown option \"sed\" in "
		  "plugins[onetree].options; did you mean \"seed\"?" },
		{ TREE ", options: {seed: 1001}}\n", "t.yaml:3:37: plugins[onetree].options.seed: "
		  "expected a whole number from 0 to 1000, found \"1001\"" },
		{ TREE ", events: [trap]}\n", "t.yaml:3:12: plugins[onetree].events: onetree is an "
		  "engine, and no consumer of events" },
		{ "plugins: [{name: trail}]\nsubnets:\n  - routing: {engines: [updn, trail]}\n",
		  "t.yaml:4:31: routing.engines: trail is a consumer of events, and no engine" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct plugin_set *s = set_of(NULL, rows[i][0]);
		struct error e = { 0 };

		assert_int_equal(plugin_set_wrong(s, &e), ERR_INVALID);
		assert_string_equal(e.text, rows[i][1]);
		plugin_set_unref(s);
	}
}

static void
collect(void *arg, const char *option, const char *old_value, const char *new_value,
	enum config_stage stage)
{
	buf_printf(arg, "%s %s -> %s (%s)\n", option, old_value, new_value, option_stage(stage));
}

static void
expect_change(const struct plugin_set *a, const struct plugin_set *b, const char *report)
{
	struct buf got = { 0 };

	plugin_set_diff(a, b, collect, &got);
	assert_string_equal(got.data ? got.data : "", report);
	buf_free(&got);
}

/* New code is another plugin; the same goes on with its figures; a bad file changes nothing. */
static void
test_again(void **state)
{
	struct plugin_set *a = set_ok(NULL, BOTH), *b, *c, *d, *only;
	struct plugin_figures before, after;
	char text[600];

	(void)state;
	b = set_ok(a, BOTH);
	expect_change(a, b, "");
	assert_true(plugin_entry_same(&a->entries[0], &b->entries[0]));
	plugin_figures(a->entries[0].plugin, &before);
	plugin_figures(b->entries[0].plugin, &after);
	assert_int_equal(before.loaded, after.loaded);
	folder_install("onetree-2.so", "onetree.so");
	folder_install("trail-2.so", "trail.so");
	only = plugin_set_load(b->conf, b, "trail");
	expect_change(b, only, "plugins[trail].file version 1 -> version 2 (live)\n");
	c = set_ok(b, BOTH);
	expect_change(b, c, "plugins[onetree].file version 1 -> version 2 (routing)\n"
		      "plugins[trail].file version 1 -> version 2 (live)\n");
	assert_false(plugin_entry_same(&b->entries[0], &c->entries[0]));
	folder_write("onetree.so", "x", 1, 0644);
	d = set_of(c, BOTH);
	assert_string_equal(plugin_about(d->entries[0].plugin)->version, "2");
	assert_true(d->entries[0].why.code);
	assert_true(plugin_entry_same(&c->entries[0], &d->entries[0]));
	snprintf(text, sizeof(text), "plugins[onetree].file version 2 -> stays, for the file is "
		 "refused: %s (live)\n", d->entries[0].why.text);
	expect_change(c, d, text);
	expect_change(d, d, "");
	plugin_set_unref(a);
	a = set_of(NULL, BOTH);
	assert_null(a->entries[0].plugin);
	snprintf(text, sizeof(text), "plugins[onetree].file version 2 -> refused: %s (routing)\n",
		 a->entries[0].why.text);
	expect_change(c, a, text);
	plugin_set_unref(a);
	plugin_set_unref(b);
	plugin_set_unref(c);
	plugin_set_unref(d);
	plugin_set_unref(only);
}

/* One whose process could only be root's is not run, whatever it was before. */
static void
test_user(void **state)
{
	static const char *const users[] = { "no-such-user", "root" };
	struct plugin_set *a, *b;
	char conf[128];

	(void)state;
	if (geteuid())
		skip();
	a = set_ok(NULL, TREE "}\n");
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		snprintf(conf, sizeof(conf), TREE ", user: %s}\n", users[i]);
		b = set_of(a, conf);
		assert_null(b->entries[0].plugin);
		assert_non_null(strstr(b->entries[0].why.text, users[i]));
		assert_string_equal(b->engines[0]->help, "not loaded");
		plugin_set_unref(b);
	}
	plugin_set_unref(a);
}

/* Other values, and other limits, are another plugin to run, of the same code. */
static void
test_values(void **state)
{
	struct plugin_set *a = set_ok(NULL, TREE "}\n");
	struct plugin_set *b = set_ok(a, TREE ", options: {seed: 8}}\n");
	struct plugin_set *c = set_ok(a, TREE ", memory: 99}\n");

	(void)state;
	assert_true(plugin_same(a->entries[0].plugin, b->entries[0].plugin));
	assert_false(plugin_entry_same(&a->entries[0], &b->entries[0]));
	assert_false(plugin_entry_same(&a->entries[0], &c->entries[0]));
	plugin_set_unref(a);
	plugin_set_unref(b);
	plugin_set_unref(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_user, setup, teardown),
	};

	alarm(110);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
