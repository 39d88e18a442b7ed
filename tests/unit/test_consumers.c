/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <time.h>

#include <cmocka.h>

#include "plugins/consumer.h"
#include "sm/base/log.h"
#include "tests/unit/plugin_help.h"

/*
 * Consumers of events in processes of their own, on a real loop: what they are told, what becomes
 * of those that are slow, hang, crash or say too much, and what a new version does.
 */
#define KEEP 200u		/* events of the ring */
#define PATIENCE SEC(60)	/* until which something surely happened */

struct rig {
	struct loop *loop;
	struct event_ring *ring;
	struct consumers *consumers;
	struct plugin_set *set;
	char path[PATH_MAX];	/* what the consumer writes */
};

static struct rig rig;

static int
setup(void **state)
{
	FILE *f;

	(void)state;
	folder_open();
	folder_install("trail.so", "trail.so");
	rig = (struct rig){ .loop = loop_new_event(), .ring = event_ring_new(KEEP, 1) };
	rig.consumers = consumers_new(rig.loop, rig.ring);
	f = fopen(folder_path(rig.path, "out"), "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(rig.path, 0666), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	consumers_free(rig.consumers);
	plugin_set_unref(rig.set);
	event_ring_free(rig.ring);
	loop_free(rig.loop);
	folder_close();
	return 0;
}

/* Its options besides `path`, and what stands beside them. */
static void
take(const char *options, const char *beside)
{
	char text[PATH_MAX + 256];
	struct plugin_set *set;

	snprintf(text, sizeof(text), "plugins:\n  - {name: trail, options: {path: %s%s}%s}\n",
		 rig.path, options, beside);
	set = set_ok(rig.set, text);
	consumers_take(rig.consumers, set);
	plugin_set_unref(rig.set);
	rig.set = set;
}

static struct consumer_state
look(void)
{
	struct consumer_state s = { 0 };

	assert_true(consumers_state(rig.consumers, "trail", &s));
	return s;
}

static void
wait_until(bool (*is)(const void *arg), const void *arg)
{
	monotime end = loop_now(rig.loop) + PATIENCE;

	while (!is(arg)) {
		if (loop_now(rig.loop) > end)
			fail_msg("state %s: %s", look().state, look().why);
		loop_run_until(rig.loop, loop_now(rig.loop) + MSEC(5), NULL);
	}
}

static bool
in_state(const void *arg)
{
	return strcmp(look().state, arg) == 0;
}

static bool
has_failed(const void *arg)
{
	(void)arg;
	return look().fails;
}

static bool
is_well(const void *arg)
{
	(void)arg;
	return !look().fails;
}

/* All that it wanted was handled, or is lost. */
static bool
is_done(const void *arg)
{
	struct consumer_state s = look();

	return s.sent + s.lost >= *(const uint64_t *)arg;
}

static bool
is_gone(const void *arg)
{
	struct consumer_state s;

	(void)arg;
	return !consumers_state(rig.consumers, "trail", &s);
}

static void
happens(enum event_type type, enum log_level level, const char *text)
{
	struct event ev = {
		.type = type, .level = level, .guid = 0x10, .port = 3, .peer_guid = 0x20,
		.peer_port = 4, .lid = 7,
	};

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	snprintf(ev.subnet, sizeof(ev.subnet), "compute");
	event_set(&ev, EVENT_TOOK_US, 1234);
	event_ring_add(rig.ring, &ev);
}

static void
wait_done(uint64_t events)
{
	wait_until(is_done, &events);
}

static void
expect_file(const char *text)
{
	size_t size;
	char *got = read_all(rig.path, &size);

	assert_string_equal(got, text);
	mem_free(got);
}

static void
end_all(void)
{
	monotime end = loop_now(rig.loop) + PATIENCE;

	while (!consumers_end(rig.consumers)) {
		assert_true(loop_now(rig.loop) < end);
		loop_run_until(rig.loop, loop_now(rig.loop) + MSEC(5), NULL);
	}
}

static const char *
last_plugin_event(void)
{
	for (uint64_t i = event_last(rig.ring); i >= event_oldest(rig.ring); i--)
		if (event_get(rig.ring, i)->type == EVENT_PLUGIN)
			return event_get(rig.ring, i)->text;
	return "";
}

/* In order, what was there before left out, and as `weft show events` has them. */
static void
test_records(void **state)
{
	static const char text[] = "open 1\n2 trap one\n3 link-down \"two\" \xc3\xbc\nclose\n";

	(void)state;
	happens(EVENT_TRAP, LOG_L_ERROR, "before");
	take("", "");
	happens(EVENT_TRAP, LOG_L_DEBUG, "one");
	happens(EVENT_LINK_DOWN, LOG_L_ERROR, "\"two\" \xc3\xbc");
	wait_done(2);
	assert_int_equal(look().sent, 2);
	assert_int_equal(look().lost, 0);
	assert_false(look().fails);
	end_all();
	expect_file(text);
}

static void
test_json(void **state)
{
	(void)state;
	take(", json: true", ", events: [trap, repaired], level: notice");
	happens(EVENT_TRAP, LOG_L_INFO, "not grave enough");
	happens(EVENT_TRAP, LOG_L_NOTICE, "a \"b\"");
	happens(EVENT_LINK_DOWN, LOG_L_ERROR, "not wanted");
	wait_done(1);
	end_all();
	expect_file("open 1\n2 trap a \"b\" {\"sequence\":2,\"time\":\"1970-01-01T00:00:00.000Z\","
		    "\"type\":\"trap\",\"level\":\"notice\",\"subnet\":\"compute\","
		    "\"guid\":\"0x0000000000000010\",\"lid\":7,\"port\":3,"
		    "\"peer_guid\":\"0x0000000000000020\",\"peer_port\":4,\"took_us\":1234,"
		    "\"text\":\"a \\\"b\\\"\"}\nclose\n");
}

/* Of the subnets that are named, and of the daemon itself. */
static void
test_subnets(void **state)
{
	struct event ev = { .type = EVENT_CONFIG, .level = LOG_L_DEBUG, .text = "of all" };

	(void)state;
	take("", ", subnets: [default]");
	happens(EVENT_TRAP, LOG_L_NOTICE, "of another");
	event_ring_add(rig.ring, &ev);
	snprintf(ev.subnet, sizeof(ev.subnet), "default");
	snprintf(ev.text, sizeof(ev.text), "its own");
	event_ring_add(rig.ring, &ev);
	wait_done(2);
	end_all();
	expect_file("open 1\n2 config of all\n3 config its own\nclose\n");
}

/* The event that it cannot bear is lost, the others are not; it is started again, and well. */
static void
test_crash(void **state)
{
	struct plugin_figures f;

	(void)state;
	take(", mode: crash, at: trap", "");
	wait_until(in_state, "running");
	happens(EVENT_CONFIG, LOG_L_NOTICE, "one");
	happens(EVENT_TRAP, LOG_L_NOTICE, "two");
	happens(EVENT_CONFIG, LOG_L_NOTICE, "three");
	wait_until(has_failed, NULL);
	assert_string_equal(look().state, "waiting");
	assert_string_equal(look().why, "was ended by SIGSEGV while it handled event 2, trap");
	assert_string_equal(last_plugin_event(), "plugin trail was ended by SIGSEGV while it "
			    "handled event 2, trap");
	plugin_figures(rig.set->entries[0].plugin, &f);
	assert_int_equal(f.runs, 1);
	assert_int_equal(f.failures, 1);
	wait_until(is_well, NULL);
	assert_string_equal(last_plugin_event(), "plugin trail works again");
	wait_done(5);
	assert_int_equal(look().lost, 1);
	end_all();
	expect_file("open 1\n1 config one\nopen 1\nlost 1\n3 config three\n"
		    "4 plugin plugin trail was ended by SIGSEGV while it handled event 2, trap\n"
		    "5 plugin plugin trail works again\nclose\n");
}

/* Of losses that it cannot bear to be told of it is told once. */
static void
test_grief(void **state)
{
	(void)state;
	take(", mode: grieve, at: trap", ", events: [config, trap]");
	wait_until(in_state, "running");
	happens(EVENT_TRAP, LOG_L_NOTICE, "one");
	happens(EVENT_CONFIG, LOG_L_NOTICE, "two");
	wait_until(has_failed, NULL);
	wait_until(is_well, NULL);
	assert_string_equal(look().why, "was ended by SIGSEGV while it was told of lost events");
	assert_int_equal(look().lost, 1);
	end_all();
	expect_file("open 1\nopen 1\nopen 1\n2 config two\nclose\n");
}

/* It cannot have itself left alone when the daemon ends, nor the daemon signalled or scheduled. */
static void
test_outlive(void **state)
{
	(void)state;
	take(", mode: outlive", ", events: [trap]");
	happens(EVENT_TRAP, LOG_L_NOTICE, "one");
	wait_done(1);
	assert_int_equal(look().lost, 0);
	end_all();
	expect_file("open 1\n1 trap one\nclose\n");
}

struct wrong {
	const char *options;	/* and what is said then */
	const char *why;
};

/* Each is ended or ends, says why in one event, and is tried again later than before. */
static void
test_wrong(void **state)
{
	static const struct wrong rows[] = {
		{ ", mode: hang", "took longer than 200 ms while it handled event" },
		{ ", mode: flood", "took longer than 200 ms while it handled event" },
		{ ", mode: exit", "ended by itself while it handled event" },
		{ ", mode: fail", "ended with status 1 while it handled event" },
		{ ", mode: chatter", "SIGKILL" },
		{ ", mode: refuse", "refused to open: it is a holiday" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i)
			setup(state);
		take(rows[i].options, ", time: 200ms");
		happens(EVENT_TRAP, LOG_L_NOTICE, "one");
		wait_until(has_failed, NULL);
		if (!strstr(look().why, rows[i].why) || !strstr(last_plugin_event(), look().why))
			fail_msg("%s: %s, %s", rows[i].options, look().why, last_plugin_event());
		assert_string_equal(look().state, "waiting");
		assert_int_equal(loop_turns(rig.loop)->slow, 0);
		if (i + 1 < sizeof(rows) / sizeof(rows[0]))
			teardown(state);
	}
}

/* Ten thousand events at once: the loop is held up by none of it, and each one is either handled or
 * told to be lost. */
static void
test_storm(void **state)
{
	unsigned long long number, told = 0, handled = 0;
	const struct loop_turns *turns = loop_turns(rig.loop);
	char line[1024];
	clock_t begin;
	FILE *f;

	(void)state;
	take(", slow_us: 200", "");
	wait_until(in_state, "running");
	begin = clock();
	for (unsigned i = 0; i < 10000; i++) {
		happens(EVENT_TRAP, LOG_L_DEBUG, "storm");
		if (i % 100 == 0)
			loop_run_until(rig.loop, loop_now(rig.loop) + MSEC(1), NULL);
	}
	wait_done(10000);
	print_message("processor time of a storm: %.1f ms\n",
		      (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC);
	happens(EVENT_TRAP, LOG_L_DEBUG, "the last");
	wait_done(10001);
	assert_int_equal(look().sent + look().lost, 10001);
	assert_true(look().sent >= KEEP);
	assert_true(look().lost > 0);
	end_all();
	f = fopen(rig.path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "lost %llu", &number) == 1)
			told += number;
		else
			handled += sscanf(line, "%llu trap", &number) == 1;
	}
	fclose(f);
	assert_int_equal(told + handled, 10001);
	print_message("handled %llu, longest turn of the loop %lld us\n", handled,
		      (long long)(turns->longest / USEC(1)));
	assert_int_equal(turns->slow, 0);
}

/* Other code, or other values, take over where the old ones were; the same go on. */
static void
test_reload(void **state)
{
	int64_t since;

	(void)state;
	take("", "");
	happens(EVENT_TRAP, LOG_L_NOTICE, "one");
	wait_done(1);
	since = look().since;
	take("", "");
	take("", ", events: [trap]");
	happens(EVENT_CONFIG, LOG_L_NOTICE, "not wanted any more");
	happens(EVENT_TRAP, LOG_L_NOTICE, "two");
	wait_done(2);
	assert_true(look().since == since);
	folder_install("trail-2.so", "trail.so");
	take("", "");
	happens(EVENT_TRAP, LOG_L_NOTICE, "three");
	happens(EVENT_TRAP, LOG_L_NOTICE, "four");
	wait_done(4);
	consumers_take(rig.consumers, NULL);
	wait_until(is_gone, NULL);
	happens(EVENT_TRAP, LOG_L_NOTICE, "nobody listens");
	expect_file("open 1\n1 trap one\n3 trap two\nclose\nopen 2\n4 trap three\n5 trap four\n"
		    "close\n");
}

/* One that does not end when it is asked to is ended. */
static void
test_stubborn(void **state)
{
	(void)state;
	take(", mode: hang", "");
	wait_until(in_state, "running");
	happens(EVENT_TRAP, LOG_L_NOTICE, "one");
	loop_run_until(rig.loop, loop_now(rig.loop) + MSEC(100), NULL);
	end_all();
	expect_file("open 1\n");
}

static unsigned
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Nothing is left of processes that came and went. */
static void
test_level(void **state)
{
	unsigned before = 0;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		take(i % 2 ? ", mode: crash" : "", "");
		wait_until(in_state, "running");
		if (i % 2) {
			happens(EVENT_TRAP, LOG_L_NOTICE, "one");
			wait_until(has_failed, NULL);
		}
		consumers_take(rig.consumers, NULL);
		wait_until(is_gone, NULL);
		if (!i)
			before = descriptors();
		assert_int_equal(descriptors(), before);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_subnets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crash, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grief, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outlive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(test_storm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reload, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stubborn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_level, setup, teardown),
	};

	alarm(110);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
