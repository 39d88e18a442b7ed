/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/control/command.h"
#include "sim/generate/generate.h"
#include "sim/model/model_impl.h"

/*
 * Scripts over a virtual loop: what they refuse, when lines are due, and that one seed gives one
 * event log, also of a day of a fabric of 1,024 hosts with 10,000 flaps.
 */
struct stage {
	struct loop *loop;	/* virtual */
	struct sim *s;		/* on it */
	struct buf log;		/* event log */
	struct error e;		/* of the last script */
};

static void
on_log(void *arg, const char *line)
{
	struct stage *g = arg;

	buf_printf(&g->log, "%s\n", line);
}

static void
open_stage(struct stage *g, const char *k, uint64_t seed)
{
	struct generate_options none = { 0 };
	struct model_options o = { .seed = seed, .instant = true };
	char number[8];
	char *args[] = { number };
	struct ibnet *net;

	memset(g, 0, sizeof(*g));
	snprintf(number, sizeof(number), "%s", k);
	assert_int_equal(generate(&net, "ft3", 1, args, &none, &g->e), 0);
	g->loop = loop_new_virtual(1);
	assert_int_equal(sim_new(&g->s, g->loop, net, &o, &g->e), 0);
	sim_log(g->s, on_log, g);
}

static void
close_stage(struct stage *g)
{
	sim_free(g->s);
	loop_free(g->loop);
	buf_free(&g->log);
}

static void
play(struct stage *g, const char *text, monotime time)
{
	if (sim_script(g->s, text, strlen(text), "s", &g->e) < 0)
		fail_msg("%s", g->e.text);
	loop_run_until(g->loop, loop_now(g->loop) + time, NULL);
}

static void
refused(struct stage *g, const char *text, const char *why)
{
	assert_true(sim_script(g->s, text, strlen(text), "s", &g->e) < 0);
	if (!strstr(g->e.text, why))
		fail_msg("\"%s\" has no \"%s\"", g->e.text, why);
	assert_int_equal(script_waiting(g->s->script), 0);
}

static void
test_refusals(void **state)
{
	struct stage g;

	(void)state;
	open_stage(&g, "4", 1);
	refused(&g, "at 1s heal\n\nat 2s link-down L9_9/1\n", "s:3: there is no node \"L9_9\"");
	refused(&g, "at 1s", "s:1: a command is missing at the end");
	refused(&g, "at soon heal", "s:1: \"soon\" is no time");
	refused(&g, "link-down L0_0/1", "a line begins with at, every or random");
	refused(&g, "evry 1s heal", "did you mean \"every\"?");
	refused(&g, "every 0 heal", "every 0 would never end");
	refused(&g, "every 1s from 9s until 3s heal", "it would end before it begins");
	refused(&g, "every 1s times 0 heal", "a number from 1 to");
	refused(&g, "random 5 flaps", "say in which time");
	refused(&g, "random 5 flips over 1h", "stands \"flaps\"");
	refused(&g, "random 1000001 flaps over 1h", "a number from 1 to 1000000");
	refused(&g, "random 5 flaps over 1h hold 5s..1s", "behind \"hold\"");
	refused(&g, "random 5 flaps of cores over 1h", "behind \"of\"");
	refused(&g, "random 5 flaps over 1h sed 4", "is none of");
	refused(&g, "at 1s at 2s heal", "cannot be timed itself");
	refused(&g, "at 1s \"heal", "s:1: a quotation");
	assert_int_equal(sim_script(g.s, "at 1s heal\0", 11, "s", &g.e), ERR_FORMAT);
	play(&g, "# nothing\n\n   \n", SEC(1));
	close_stage(&g);
}

static void
test_times(void **state)
{
	struct stage g;
	const struct model *m;

	(void)state;
	open_stage(&g, "4", 1);
	m = g.s->model;
	play(&g, "at 2s link-up L0_0/3\nat 1s link-down L0_0/3 # cut\n"
	     "every 10s from 5s until 25s link-down L0_0/4\nevery 10s times 2 link-up L0_0/4\n",
	     MSEC(1500));
	assert_false(model_link_is_up(m, 16, 3));
	loop_run_until(g.loop, SEC(3), NULL);
	assert_true(model_link_is_up(m, 16, 3));
	for (unsigned i = 0; i < 6; i++) {
		/* Down at 5, 15 and 25 s, up at 10 and 20 s; looked at 4.5 s, 9.5 s, ... */
		static const bool up[] = { true, false, true, false, true, false };

		loop_run_until(g.loop, SEC(4 + 5 * i) + MSEC(500), NULL);
		assert_int_equal(model_link_is_up(m, 16, 4), up[i]);
	}
	loop_run_until(g.loop, SEC(100), NULL);
	assert_false(model_link_is_up(m, 16, 4));
	assert_int_equal(script_waiting(g.s->script), 0);
	close_stage(&g);
}

static void
test_failure(void **state)
{
	struct stage g;

	(void)state;
	open_stage(&g, "4", 1);
	play(&g, "at 1s link-down C0/1\nat 2s recable C0/1 C1/1\nat 3s link-down A0_0/3\n"
	     "at 4s time\n", SEC(10));
	assert_non_null(strstr(g.log.data, "3.000000 s:3: failed: no cable is in A0_0/3\n"));
	assert_non_null(strstr(g.log.data, "4.000000   4.000000\n"));
	close_stage(&g);
}

static void
play_flaps(struct stage *g, const char *k, uint64_t seed, const char *text, monotime time)
{
	open_stage(g, k, seed);
	play(g, text, time);
}

static void
test_seeds(void **state)
{
	static const char text[] = "random 50 flaps over 10min\n"
		"random 20 flaps of hosts over 10min hold 10ms..20ms\nat 3min drop all 0.1\n";
	struct stage a, b, c;

	(void)state;
	play_flaps(&a, "4", 7, text, SEC(3600));
	play_flaps(&b, "4", 7, text, SEC(3600));
	play_flaps(&c, "4", 8, text, SEC(3600));
	assert_int_equal(a.log.len, b.log.len);
	assert_memory_equal(a.log.data, b.log.data, a.log.len);
	assert_true(c.log.len != a.log.len || memcmp(a.log.data, c.log.data, a.log.len) != 0);
	close_stage(&a);
	close_stage(&b);
	close_stage(&c);
}

static bool
all_up(const struct model *m)
{
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		for (unsigned p = 1; p <= m->nodes[i].nports; p++)
			if (m->nodes[i].ports[p].peer != IBNET_NONE && !model_link_is_up(m, i, p))
				return false;
	return true;
}

static unsigned
count_lines(const struct stage *g, const char *part)
{
	unsigned n = 0;

	for (const char *p = g->log.data; p && (p = strstr(p, part)); p++)
		n++;
	return n;
}

static void
test_day(void **state)
{
	struct stage g;
	monotime start = clock_monotonic();

	(void)state;
	play_flaps(&g, "16", 1, "random 10000 flaps over 1d\n", SEC(86400) + SEC(60));
	assert_int_equal(script_waiting(g.s->script), 0);
	assert_true(all_up(g.s->model));
	/* Now and then a link is drawn that is down already. */
	assert_in_range(count_lines(&g, " flap "), 9900, 10000);
	assert_true(clock_monotonic() - start < SEC(60));
	close_stage(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
