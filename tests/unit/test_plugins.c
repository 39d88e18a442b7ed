/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include "plugins/plugin.h"
#include "plugins/plugins.h"
#include "routing/engine.h"
#include "tests/unit/route_help.h"

/*
 * Plugins as the daemon runs them: what a bad one does costs its run and says why, what it reaches
 * for it does not get, and engines that are built in make the same tables as plugins.
 */
static char folder[PATH_MAX - 64];	/* of shared objects */

static struct plugin_source
source(const char *file)
{
	static char path[PATH_MAX];
	struct plugin_source s = { .path = path, .limits = { .memory = 64u << 20,
							    .time_ms = 20000 } };

	snprintf(path, sizeof(path), "%s/%s.so", folder, file);
	return s;
}

static struct plugin *
load(const char *file)
{
	struct plugin_source s = source(file);
	struct error e = { 0 };
	struct plugin *p = NULL;

	if (plugin_load(&s, &p, &e))
		fail_msg("%s", e.text);
	return p;
}

static unsigned
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- Loading ---- */

static void
refused(const char *file, const char *why)
{
	struct plugin_source s = source(file);
	struct error e = { 0 };
	struct plugin *p = NULL;

	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_null(p);
	if (!strstr(e.text, why))
		fail_msg("%s: %s", file, e.text);
	assert_non_null(strstr(e.text, file));
}

static void
test_load(void **state)
{
	struct plugin *p = load("hostile"), *q = load("hostile"), *r = load("odd-none");
	const struct plugin_about *a = plugin_about(p);

	(void)state;
	assert_string_equal(a->name, "hostile");
	assert_string_equal(a->version, "1.2");
	assert_int_equal(a->abi, 0x10000);
	assert_true(a->is_engine);
	assert_int_equal(a->noptions, 4);
	assert_string_equal(a->options[1].name, "number");
	assert_int_equal(a->options[1].max, UINT64_MAX);
	assert_string_equal(a->options[0].words[1], "segv");
	assert_non_null(plugin_engine(p));
	assert_true(plugin_same(p, q));
	assert_false(plugin_same(p, r));
	plugin_unref(p);
	plugin_unref(q);
	plugin_unref(r);
}

static void
test_refused(void **state)
{
	unsigned fds = count_fds();

	(void)state;
	refused("odd-major", "version 2.0 of the plugin interface, this Weft has 1.0");
	refused("odd-minor", "version 1.1 of the plugin interface, this Weft has only 1.0");
	refused("odd-brief", "struct weft_plugin of 16 bytes");
	refused("odd-both", "an engine and a consumer at once");
	refused("odd-neither", "neither an engine nor a consumer");
	refused("odd-noroute", "without a function route");
	refused("odd-name", "calls itself \"Odd\"");
	refused("odd-option", "an option \"No Name\"");
	refused("odd-twice", "declares option one twice");
	refused("odd-initial", "option one with the initial value \"11\"");
	refused("odd-crash", "was ended by SIGSEGV while it was being loaded");
	refused("odd-leave", "ended with status 0 while it was being loaded");
	refused("odd-nameless", "has no name");
	refused("odd-manyoptions", "declares 1000 options");
	refused("odd-wildtext", "was ended by SIGSEGV while it said what it is");
	refused("odd-shortoption", "struct weft_option of 8 bytes");
	refused("odd-level", "events of level 99");
	refused("odd-missing", "undefined symbol: missing_function");
	refused("odd-nosymbol", "does not export weft_plugin");
	refused("nothing-there", "No such file");
	assert_int_equal(count_fds(), fds);
}

/* A file of `text`, or a copy of the plugin cut off, in a folder of ours. */
static void
test_files(void **state)
{
	struct plugin_source s = source("odd-none");
	char dir[] = "/tmp/weft-plugins-XXXXXX", path[64], command[PATH_MAX * 2];
	struct error e = { 0 };
	struct plugin *p = NULL;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.so", dir);
	snprintf(command, sizeof(command), "cp '%s' '%s'", s.path, path);
	assert_int_equal(system(command), 0);
	s.path = path;
	s.trusted = true;
	s.name = "odd";
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(plugin_load(&s, &p, &e), 0);
	plugin_unref(p);
	s.name = "even";
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "is plugin odd by its own account"));
	s.name = "odd";
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "can be written by others"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "its folder can be written by others"));
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(truncate(path, 5000), 0);
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	f = fopen(path, "w");
	fprintf(f, "%0200d", 0);
	fclose(f);
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "is no shared object"));
	s.path = dir;
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "is no file"));
	unlink(path);
	rmdir(dir);
}

static void
test_user(void **state)
{
	struct plugin_source s = source("odd-none");
	struct error e = { 0 };
	struct plugin *p = NULL;

	(void)state;
	if (geteuid())
		skip();
	s.limits.user = "no-such-user";
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "no-such-user"));
	s.limits.user = "root";
	assert_int_not_equal(plugin_load(&s, &p, &e), 0);
	assert_non_null(strstr(e.text, "may do everything"));
}

/* ---- Runs ---- */

struct run {
	struct plan *plan;
	struct error e;
	int rc;
};

static void
route(struct run *r, const struct fabric *f, const struct plugin *p, const struct plan *previous)
{
	const struct engine *more[] = { plugin_engine(p), NULL };
	const char *const names[] = { plugin_about(p)->name, NULL };
	const struct chain_options o = { .engines = names, .more = more,
					 .engine = { .threads = 2, .lanes = 4 } };

	*r = (struct run){ .plan = plan_new(f) };
	r->plan->lids = help_lids(f, 0);
	r->rc = engine_chain(r->plan, NULL, previous, &o, &r->e);
}

/* The hostile one, told what to do, with so much time and memory. */
static struct plugin *
told(const struct plugin *p, const char *act, unsigned time_ms, unsigned mib)
{
	const char *const values[] = { act, NULL, NULL, NULL };

	return plugin_with(p, values, &(struct plugin_limits){
		.time_ms = time_ms, .memory = (uint64_t)mib << 20,
	}, NULL);
}

static void
fails(const struct plugin *p, const struct fabric *f, const char *act, const char *why)
{
	struct plugin *q = told(p, act, !strcmp(act, "hang") ? 300 : 20000, 64);
	struct plugin_figures before, after;
	struct run r;

	plugin_figures(q, &before);
	route(&r, f, q, NULL);
	plugin_figures(q, &after);
	if (r.rc != ERR_REFUSED || !strstr(r.e.text, why))
		fail_msg("%s: %s", act, r.e.text);
	for (const char *c = r.e.text; *c; c++)
		assert_true(*c >= ' ');
	assert_int_equal(after.runs, before.runs + 1);
	plan_unref(r.plan);
	plugin_unref(q);
}

static void
succeeds(const struct plugin *p, const struct fabric *f, const char *act, const char *note)
{
	struct plugin *q = told(p, act, 10000, 64);
	struct run r;

	route(&r, f, q, NULL);
	if (r.rc)
		fail_msg("%s: %s", act, r.e.text);
	assert_string_equal(r.plan->note, note);
	assert_string_equal(r.plan->engine_running, "hostile");
	plan_unref(r.plan);
	plugin_unref(q);
}

static void
test_breaks(void **state)
{
	struct fabric *f = help_generate("ft2 3 1 4", false, 1);
	struct plugin *p = load("hostile");
	struct plugin_figures figures;
	unsigned fds = count_fds();

	(void)state;
	fails(p, f, "segv", "hostile is refused: the plugin was ended by SIGSEGV while it routed");
	fails(p, f, "abort", "was ended by SIGABRT");
	fails(p, f, "exit", "ended with status 0 while it routed");
	fails(p, f, "exit3", "ended with status 3");
	fails(p, f, "raise", "was ended by SIGTERM");
	fails(p, f, "stack", "was ended by SIGSEGV");
	fails(p, f, "wild", "while it routed");
	fails(p, f, "hang", "took longer than 300 ms while it routed");
	fails(p, f, "mute", "does not say why it refuses");
	fails(p, f, "value", "the plugin returned 77");
	fails(p, f, "refuse", "the plugin says: switch \"?[1m\" has ? links");
	fails(p, f, "garbage", "its tables are not sound");
	fails(p, f, "ranks", "rank 254");
	fails(p, f, "lanes", "lanes: there can be 16 and");
	fails(p, f, "classes", "takes 200 classes");
	fails(p, f, "sets", "60000 sets of ports");
	fails(p, f, "noset", "names set 1 of 0");
	fails(p, f, "trees", "1000 multicast trees");
	fails(p, f, "ring", "goes round above");
	fails(p, f, "other", "not one of");
	plugin_figures(p, &figures);
	assert_int_equal(figures.runs, 20);
	/* Not those that refuse, and not one whose tables the proof refuses. */
	assert_int_equal(figures.failures, 17);
	assert_non_null(strstr(figures.failure, "not one of"));
	assert_true(figures.failed > 0 && figures.loaded > 0 && figures.most_us > 0);
	assert_int_equal(count_fds(), fds);
	plugin_unref(p);
	fabric_unref(f);
}

/* Sanitised processes have no limit of memory: their shadow counts, too. And what is built in is
 * sanitised, which no shared object by itself can be. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLAIN false
#else
#define PLAIN true
#endif

static void
test_memory(void **state)
{
	struct fabric *f = help_generate("ft2 3 1 4", false, 1);
	struct plugin *p = load("hostile");

	(void)state;
	if (PLAIN)
		fails(p, f, "hog", "as good as out of its 64 MiB of memory");
	plugin_unref(p);
	fabric_unref(f);
}

static void
test_reach(void **state)
{
	struct fabric *f = help_generate("ft2 3 1 4", false, 1);
	struct plugin *p = load("hostile");
	unsigned fds = count_fds();

	(void)state;
	succeeds(p, f, "route", "as it should be");
	succeeds(p, f, "reach", "nothing");
	succeeds(p, f, "threads", "as it should be");
	succeeds(p, f, "bomb", "as it should be");
	succeeds(p, f, "close", "as it should be");
	succeeds(p, f, "print", "as it should be");
	succeeds(p, f, "flood", "as it should be");
	succeeds(p, f, "time", "1");
	succeeds(p, f, "options", "5 1 t|0 ");
	assert_int_equal(count_fds(), fds);
	plugin_unref(p);
	fabric_unref(f);
}

/* Rows that are as before are the same rows. */
static void
test_again(void **state)
{
	struct fabric *f = help_generate("ft2 3 1 4", false, 1);
	struct plugin *p = load("hostile");
	struct run first, again;

	(void)state;
	route(&first, f, p, NULL);
	assert_int_equal(first.rc, 0);
	route(&again, f, p, first.plan);
	assert_int_equal(again.rc, 0);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		assert_ptr_equal(first.plan->rows[sw], again.plan->rows[sw]);
	plan_unref(first.plan);
	plan_unref(again.plan);
	plugin_unref(p);
	fabric_unref(f);
}

/* Four spines above two leaves: each leaf may take any of them, but the spines only one port. */
static void
test_offer(void **state)
{
	struct fabric *f = help_generate("ft2 2 4 2", false, 1);
	struct plugin *p = load("hostile"), *q = told(p, "offer", 10000, 64);
	struct plan_ar_switch **sets = mem_array(f->nswitches, sizeof(*sets));
	bool *wanted = mem_array(f->nswitches, sizeof(*wanted));
	unsigned tops = 0, leaves = 0;
	struct run r;

	(void)state;
	route(&r, f, q, NULL);
	assert_int_equal(r.rc, 0);
	memset(wanted, 1, f->nswitches);
	alternatives_offered(r.plan, wanted, 1, sets);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t parent = r.plan->trees->parent[sw];

		leaves += sets[sw]->used == 1 && ar_ports_count(&sets[sw]->ports[1]) == 4;
		assert_int_equal(r.plan->trees->root[sw], 0);
		tops += parent == FABRIC_NONE;
		if (parent != FABRIC_NONE)
			assert_int_equal(f->edges[parent].to, sw);
		plan_ar_switch_unref(sets[sw]);
	}
	assert_int_equal(leaves, 2);
	assert_int_equal(tops, 1);
	mem_free(sets);
	mem_free(wanted);
	plan_unref(r.plan);
	plugin_unref(q);
	plugin_unref(p);
	fabric_unref(f);
}

/* ---- Both ways ---- */

static unsigned lanes;		/* plans that take several */

static void
same_lanes(const struct fabric *f, const struct plan_lanes *a, const struct plan_lanes *b)
{
	assert_true(a->lanes > 1);
	assert_int_equal(a->lanes, b->lanes);
	assert_int_equal(a->classes, b->classes);
	for (uint32_t s = 0; s < f->nswitches; s++) {
		for (uint32_t t = 0; t < f->nswitches; t++)
			assert_int_equal(a->path_class(a, s, t), b->path_class(b, s, t));
		for (uint32_t l = f->edge_first[s]; l < f->edge_first[s + 1]; l++)
			for (uint8_t c = 0; c < a->classes; c++)
				for (uint8_t in = 0; in <= fabric_switch_node(f, s)->nports; in++)
					assert_int_equal(a->lane(a, s, in, f->edges[l].out, c),
							 b->lane(b, s, in, f->edges[l].out, c));
	}
}

static void
same_tables(const char *engine, const char *recipe)
{
	const char *const names[] = { engine, NULL };
	const struct chain_options o = { .engines = names, .engine = { .threads = 2, .lanes = 4 } };
	struct fabric *f = help_generate(recipe, true, 7);
	struct plan *plan = plan_new(f);
	struct plugin *p;
	struct error e = { 0 };
	struct run r;
	char file[64];
	int rc;

	snprintf(file, sizeof(file), "builtin-%s", engine);
	p = load(file);
	plan->lids = help_lids(f, 0);
	rc = engine_chain(plan, NULL, NULL, &o, &e);
	route(&r, f, p, NULL);
	if (rc || r.rc)
		fail_msg("%s %s: %s; %s", engine, recipe, e.text, r.e.text);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (!plan_row_equal(plan->rows[sw], r.plan->rows[sw]))
			fail_msg("%s %s: switch %u differs", engine, recipe, sw);
	assert_int_equal(plan->lanes && plan->lanes->lanes > 1, r.plan->lanes != NULL);
	if (r.plan->lanes)
		same_lanes(f, plan->lanes, r.plan->lanes);
	lanes += r.plan->lanes != NULL;
	assert_int_equal(!plan->ranks, !r.plan->ranks);
	if (plan->ranks)
		assert_memory_equal(plan->ranks, r.plan->ranks, f->nswitches);
	assert_string_equal(plan->note, r.plan->note);
	plan_unref(plan);
	plan_unref(r.plan);
	plugin_unref(p);
	fabric_unref(f);
}

static void
test_builtin(void **state)
{
	static const char *const recipes[] = {
		"ft3 4", "ft2 4 4 3", "torus 3 3 2", "random 12 5 3 5", "dragonfly 2 2 1 3",
		"ft2 2 1 2", "hyperx 2 3",
	};

	(void)state;
	if (!PLAIN)
		skip();
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
		same_tables("updn", recipes[i]);
	same_tables("minhop", "ft3 4");
	same_tables("minhop", "ft2 3 1 4");
	same_tables("nue", "torus 4 4 4 2");
	assert_int_equal(lanes, 1);
	same_tables("nue", "random 12 5 3 5");
	same_tables("torus", "torus 5 5 1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_files), cmocka_unit_test(test_user),
		cmocka_unit_test(test_breaks), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_reach), cmocka_unit_test(test_again),
		cmocka_unit_test(test_offer), cmocka_unit_test(test_builtin),
	};
	ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 16);

	while (len > 0 && folder[len - 1] != '/')
		len--;
	snprintf(folder + len, 16, "plugins");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
