/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <limits.h>
#include "plugins/plugins.h"
#include "routing/engine.h"
#include "tests/unit/route_help.h"

/*
 * The ABI as it grows: a plugin of its first version routes, in the host of today and in one with
 * the next minor version, each of whose structs is larger. The program finds its host beside
 * itself, so it runs once more from a folder where the other one is.
 */
static char folder[PATH_MAX - 64];	/* of this program, with its slash */
static bool grown;			/* the host beside it has grown */

static int
load(const char *file, struct plugin **p, struct error *e)
{
	char path[PATH_MAX];
	struct plugin_source s = { .path = path, .limits = { .memory = 64u << 20,
							    .time_ms = 20000 } };

	snprintf(path, sizeof(path), "%s%splugins/%s.so", folder, grown ? "../" : "", file);
	return plugin_load(&s, p, e);
}

static void
route(const struct fabric *f, const struct plugin *p, const struct plan *previous,
      struct plan **plan)
{
	const struct engine *more[] = { plugin_engine(p), NULL };
	const char *const names[] = { "frozen", NULL };
	const struct chain_options o = { .engines = names, .more = more,
					 .engine = { .threads = 2 } };
	struct error e = { 0 };

	*plan = plan_new(f);
	(*plan)->lids = help_lids(f, 0);
	if (engine_chain(*plan, NULL, previous, &o, &e))
		fail_msg("%s", e.text);
}

static void
test_frozen(void **state)
{
	struct fabric *f = help_generate("ft2 3 1 4", false, 1);
	struct plan *first, *again;
	struct plugin *p = NULL;
	struct error e = { 0 };

	(void)state;
	if (load("frozen", &p, &e))
		fail_msg("%s", e.text);
	assert_int_equal(plugin_about(p)->noptions, 2);
	assert_string_equal(plugin_about(p)->options[1].name, "seed");
	route(f, p, NULL, &first);
	assert_string_equal(first->note, "first");
	route(f, p, first, &again);
	assert_string_equal(again->note, "again");
	plan_unref(first);
	plan_unref(again);
	plugin_unref(p);
	fabric_unref(f);
}

static void
test_newer(void **state)
{
	struct plugin *p = NULL;
	struct error e = { 0 };
	int rc = load("odd-minor", &p, &e);

	(void)state;
	if (grown)
		assert_int_equal(rc, 0);
	else
		assert_non_null(strstr(e.text, "it needs a newer Weft"));
	plugin_unref(p);
}

static void
test_grown(void **state)
{
	char command[PATH_MAX * 3];

	(void)state;
	if (grown)
		skip();
	snprintf(command, sizeof(command), "cp '%stest_plugin_abi' '%sgrown/' && "
		 "'%sgrown/test_plugin_abi'", folder, folder, folder);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen), cmocka_unit_test(test_newer),
		cmocka_unit_test(test_grown),
	};
	ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	while (len > 0 && folder[len - 1] != '/')
		len--;
	folder[len] = '\0';
	grown = len > 7 && !strcmp(folder + len - 7, "/grown/");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
