/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "sm/core/reload.h"

/*
 * The configuration read again by a worker: what is taken on and what is not, several at once,
 * beside long work, at the end; on a virtual loop, and on a real one with threads.
 */
#define LONG SEC(60)	/* until which something surely happened */

struct rig {
	struct loop *loop;
	struct reload *r;
	struct reloaded now;		/* in force */
	unsigned taken;			/* so often */
	enum config_stage stage;	/* of the last that was */
	unsigned events;		/* told */
	int refuse;			/* what take() answers */
	unsigned answers;		/* calls of done() */
	unsigned awaited;		/* so many are all */
	bool all;			/* they came */
	int error;			/* of the last */
	char text[500];	/* its sentence */
	char report[400];		/* its report */
	char file[64];			/* that is read */
};

static void
write_file(const struct rig *g, const char *text)
{
	FILE *f = fopen(g->file, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
running(void *arg, struct reloaded *now)
{
	const struct rig *g = arg;

	*now = g->now;
}

static int
take(void *arg, const struct reloaded *fresh, enum config_stage stage, struct error *e)
{
	struct rig *g = arg;

	if (g->refuse)
		return error_set(e, g->refuse, "no");
	if (fresh->conf) {
		reload_discard(g->r, &g->now);
		g->now = *fresh;
	} else {
		reload_discard(g->r, &(struct reloaded){ .plugins = g->now.plugins });
		g->now.plugins = fresh->plugins;
	}
	g->stage = stage;
	g->taken++;
	return 0;
}

static void
tell(void *arg, enum log_level level, const char *text)
{
	(void)level;
	(void)text;
	((struct rig *)arg)->events++;
}

static void
answered(void *arg, int error, const char *text, const char *report)
{
	struct rig *g = arg;

	g->error = error;
	snprintf(g->text, sizeof(g->text), "%s", text);
	snprintf(g->report, sizeof(g->report), "%s", report ? report : "");
	g->all = ++g->answers == g->awaited;
}

static void
rig_open(struct rig *g, struct loop *loop, const char *text)
{
	struct error e;

	*g = (struct rig){ .loop = loop, .awaited = 1 };
	snprintf(g->file, sizeof(g->file), "/tmp/weft-reload-%ld.yaml", (long)getpid());
	write_file(g, text);
	g->now.conf = config_load(g->file, &e);
	assert_non_null(g->now.conf);
	g->now.named = named_load(g->now.conf, &e);
	g->r = reload_new(&(struct reload_host){ .loop = loop, .file = g->file,
			  .running = running, .take = take, .tell = tell, .arg = g });
}

static void
rig_close(struct rig *g)
{
	reload_end(g->r);
	loop_free(g->loop);
	reload_free(g->r);
	reloaded_free(&g->now);
	unlink(g->file);
}

static int
order(struct rig *g, bool dry_run, bool signalled, struct error *e)
{
	const struct reload_order o = { .dry_run = dry_run, .signalled = signalled,
					.done = answered, .arg = g };

	return reload_start(g->r, &o, e);
}

static void
wait_all(struct rig *g)
{
	assert_true(loop_run_until(g->loop, loop_now(g->loop) + LONG, &g->all));
	g->answers = 0;
	g->all = false;
}

static void
try_it(struct rig *g, bool dry_run, const char *text)
{
	struct error e;

	write_file(g, text);
	assert_int_equal(order(g, dry_run, false, &e), 0);
	assert_int_equal(g->answers, 0);	/* never inside the call */
	wait_all(g);
}

/* What an administrator meets, step by step. */
static void
story(struct loop *loop)
{
	struct rig g;

	rig_open(&g, loop, "subnets: [{name: a, sweep_interval: 5s}]\n");
	try_it(&g, true, "subnets: [{name: a, sweep_interval: 6s}]\n");
	assert_int_equal(g.error, 0);
	assert_non_null(strstr(g.report, "sweep_interval: 5s -> 6s"));
	assert_int_equal(g.taken + g.events, 0);
	try_it(&g, false, "subnets: [{name: a, sweep_interval: 6s}]\n");
	assert_int_equal(g.error, 0);
	assert_int_equal(g.taken, 1);
	assert_int_equal(g.stage, STAGE_LIVE);
	assert_true(g.now.conf->subnets[0].sweep_interval == SEC(6));
	try_it(&g, false, "subnets: [{name: a, sweep_interval: 6s}]\n");
	assert_string_equal(g.report, "");
	assert_int_equal(g.taken, 2);
	try_it(&g, false, "subnets: [{name: a, sweep_intervall: 6s}]\n");
	assert_int_not_equal(g.error, 0);
	assert_non_null(strstr(g.text, "did you mean \"sweep_interval\""));
	try_it(&g, false, "subnets: [{name: b}]\n");
	assert_int_equal(g.error, ERR_REFUSED);
	assert_non_null(strstr(g.text, "needs a restart"));
	g.refuse = ERR_IO;
	try_it(&g, false, "subnets: [{name: a, lmc: 1}]\n");
	assert_int_equal(g.error, ERR_IO);
	assert_int_equal(g.taken, 2);
	assert_true(g.now.conf->subnets[0].sweep_interval == SEC(6));
	rig_close(&g);
}

static void
test_story(void **state)
{
	(void)state;
	story(loop_new_virtual(1));
	story(loop_new_event());
}

static void
order_plugins(struct rig *g, const char *name)
{
	struct reload_order o = { .plugins = true, .done = answered, .arg = g };
	struct error e;

	snprintf(o.plugin, sizeof(o.plugin), "%s", name);
	assert_int_equal(reload_start(g->r, &o, &e), 0);
	wait_all(g);
}

/* Files of plugins alone, by the configuration in force. What cannot be loaded keeps nothing else
 * from being taken on, and is the answer to who asks for it by name. */
static void
test_plugins(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, loop_new_virtual(1), "");
	try_it(&g, false, "plugin_folder: /tmp/weft-nowhere\nplugins: [{name: rsp}]\n"
	       "subnets: [{routing: {engines: [rsp, updn]}}]\n");
	assert_int_equal(g.error, 0);
	assert_int_equal(g.stage, STAGE_ROUTING);
	assert_non_null(strstr(g.report, "plugins[rsp].file: absent -> refused: plugin rsp: "
			       "/tmp/weft-nowhere/rsp.so"));
	assert_int_equal(g.now.plugins->len, 1);
	assert_ptr_equal(g.now.plugins->conf, g.now.conf);
	order_plugins(&g, "spr");
	assert_int_equal(g.error, ERR_NOT_FOUND);
	assert_string_equal(g.text, "the configuration has no plugin spr");
	order_plugins(&g, "rsp");
	assert_int_equal(g.error, ERR_REFUSED);
	assert_non_null(strstr(g.text, "/tmp/weft-nowhere/rsp.so"));
	assert_int_equal(g.taken, 1);
	order_plugins(&g, "");
	assert_int_equal(g.error, 0);
	assert_string_equal(g.report, "");
	assert_int_equal(g.taken, 2);
	assert_non_null(g.now.named);
	rig_close(&g);
}

/* Each command reads the file when its turn comes; signals that wait are one; there is a bound. */
static void
test_several(void **state)
{
	struct error e;
	struct rig g;
	unsigned n = 0;

	(void)state;
	rig_open(&g, loop_new_virtual(1), "subnets: [{name: a, lmc: 0}]\n");
	assert_int_equal(order(&g, false, false, &e), 0);
	assert_int_equal(order(&g, false, true, &e), 0);
	assert_int_equal(order(&g, false, true, &e), 0);
	while (!order(&g, false, false, &e) && n < 1000)
		n++;
	assert_int_equal(e.code, ERR_BUSY);
	assert_in_range(n, 4, 100);
	write_file(&g, "subnets: [{name: a, lmc: 1}]\n");
	g.awaited = n + 2;
	wait_all(&g);
	assert_int_equal(g.taken, n + 2);
	assert_int_equal(g.now.conf->subnets[0].lmc, 1);
	assert_int_equal(order(&g, false, false, &e), 0);
	rig_close(&g);
	assert_int_equal(g.error, ERR_REFUSED);		/* of the one that was under way */
}

/* Work that lasts until it is let go. */
static void
labour(void *arg)
{
	atomic_bool *go = arg;

	while (!atomic_load(go))
		usleep(100);
}

static void
test_beside_routing(void **state)
{
	atomic_bool go = false;
	struct rig g;

	(void)state;
	rig_open(&g, loop_new_event(), "subnets: [{name: a}]\n");
	loop_work(g.loop, labour, NULL, &go, 0);
	try_it(&g, false, "subnets: [{name: a, lmc: 2}]\n");
	assert_int_equal(g.taken, 1);
	atomic_store(&go, true);
	rig_close(&g);
}

/* Whoever waits when the daemon ends is told; nothing is taken on, at whatever point it is. */
static void
test_end(void **state)
{
	struct error e;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		struct rig g;
		bool never = false;

		rig_open(&g, loop_new_event(), "subnets: [{name: a}]\n");
		assert_int_equal(order(&g, false, false, &e), 0);
		assert_int_equal(order(&g, false, true, &e), 0);
		if (i % 3)
			loop_run_until(g.loop, loop_now(g.loop) + USEC(20) * i, &never);
		reload_end(g.r);
		assert_int_equal(g.answers, 2);
		assert_int_equal(order(&g, false, false, &e), ERR_REFUSED);
		if (i % 2) {
			unsigned taken = g.taken;

			loop_run_until(g.loop, loop_now(g.loop) + MSEC(2), &never);
			assert_int_equal(g.taken, taken);
		}
		rig_close(&g);
	}
}

/* A pipe would be read empty, as a file that says nothing, or hold the worker for ever. */
static void
test_pipe(void **state)
{
	struct error e;
	struct rig g;

	(void)state;
	rig_open(&g, loop_new_event(), "subnets: [{name: a, lmc: 2}]\n");
	unlink(g.file);
	assert_int_equal(mkfifo(g.file, 0600), 0);
	assert_int_equal(order(&g, false, false, &e), 0);
	wait_all(&g);
	assert_int_equal(g.error, ERR_REFUSED);
	assert_non_null(strstr(g.text, "is a pipe"));
	assert_int_equal(g.taken, 0);
	rig_close(&g);
}

struct writer {
	const char *file;	/* that grows */
	atomic_bool stop;	/* growing */
};

static void *
grow(void *arg)
{
	struct writer *w = arg;
	FILE *f = fopen(w->file, "a");

	while (f && !atomic_load(&w->stop)) {
		fputs("# more\n", f);
		fflush(f);
	}
	fclose(f);
	return NULL;
}

/* What is being written is not taken for what it will be. */
static void
test_growing(void **state)
{
	struct writer w = { 0 };
	pthread_t thread;
	struct rig g;
	bool seen = false;

	(void)state;
	rig_open(&g, loop_new_event(), "subnets: [{name: a}]\n");
	w.file = g.file;
	assert_int_equal(truncate(g.file, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, grow, &w), 0);
	for (unsigned i = 0; i < 3000 && !seen; i++) {
		struct error e;

		assert_int_equal(order(&g, true, false, &e), 0);
		wait_all(&g);
		seen = g.error == ERR_BUSY && strstr(g.text, "changed while it was read");
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	assert_true(seen);
	rig_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_story), cmocka_unit_test(test_several),
		cmocka_unit_test(test_plugins),
		cmocka_unit_test(test_beside_routing), cmocka_unit_test(test_end),
		cmocka_unit_test(test_pipe), cmocka_unit_test(test_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
