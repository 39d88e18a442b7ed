/* SPDX-License-Identifier: BSD-2-Clause */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sm/core/history.h"
#include "tests/unit/core_bed.h"

/*
 * Hours of flapping: bad cables between switches, those of hosts, now and then a switch that
 * reboots, under a manager that drains cables which flap. Nothing grows: each hour, when all is
 * well again, memory is what it was after the first hours, the store has no more rows than its
 * limits allow, and what there is to log goes by what happened.
 *
 * usage: test_core_flapping [HOURS [RECIPE [SEED]]]
 */
#define BOUND SEC(60)
#define MINUTE SEC(60)
#define BAD 12u			/* cables that flap, half of them between switches */
#define SICK 4u			/* switches that reboot, one each hour */
#define KEEP 500u		/* events */
#define WARM (SICK + 1)		/* hours after which memory has its level */
#define GROWTH 400000u		/* bytes above it */
#define LINES 8u		/* of the log for each fall of a cable and what follows it */
#define CALM 45u		/* the minute of an hour from which on nothing falls */

#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static unsigned hours = 8, seed = 1;
static const char *recipe = "ft3 8";

struct flapping {
	struct bed_sm *sm;
	struct history *history;	/* has the ring of events and writes them to the store */
	uint32_t node[BAD];		/* bad cables: of a switch, */
	unsigned port[BAD];		/* and its port */
	uint32_t sick[SICK];		/* switches */
	unsigned falls;			/* so far */
	unsigned lines;			/* of the log */
	unsigned nevents[EVENT_TYPES];
	size_t level;			/* of memory, in bytes */
	unsigned rows[STORE_TABLES];	/* when it was up */
};

static void
on_event(void *arg, const struct event *ev)
{
	struct flapping *f = arg;

	f->nevents[ev->type]++;
	f->lines += ev->level <= LOG_L_NOTICE;
}

static void
count_row(void *arg, const char *key, const char *value)
{
	(void)key;
	(void)value;
	++*(unsigned *)arg;
}

static unsigned
rows(const struct flapping *f, enum store_table t)
{
	unsigned n = 0;

	assert_int_equal(store_scan(f->sm->store, t, count_row, &n, NULL), 0);
	return n;
}

static size_t
held(void)
{
	return IS_SANITIZED ? 0 : mallinfo2().uordblks;
}

/* A cable of some switch, not that of the manager. */
static void
draw_cable(struct flapping *f, unsigned i, bool host)
{
	const struct bed *b = f->sm->bed;

	for (;;) {
		uint32_t n = (uint32_t)(loop_random(b->loop) % b->net->nnodes), peer;
		unsigned p = 1 + (unsigned)(loop_random(b->loop) % b->net->nodes[n].nports);

		if (b->net->nodes[n].type != IBNET_SWITCH)
			continue;
		peer = b->net->nodes[n].ports[p].peer;
		if (peer == IBNET_NONE || peer == f->sm->node ||
		    (b->net->nodes[peer].type == IBNET_SWITCH) == host)
			continue;
		f->node[i] = n;
		f->port[i] = p;
		return;
	}
}

static uint32_t
draw_switch(const struct flapping *f)
{
	const struct bed *b = f->sm->bed;
	uint32_t own = b->net->nodes[f->sm->node].ports[1].peer, n;

	do
		n = (uint32_t)(loop_random(b->loop) % b->net->nnodes);
	while (b->net->nodes[n].type != IBNET_SWITCH || n == own);
	return n;
}

static void
begin(struct flapping *f)
{
	struct bed *b = bed_new(recipe, seed);

	memset(f, 0, sizeof(*f));
	f->sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	event_ring_free(f->sm->events);
	f->history = history_new(b->loop, f->sm->store, KEEP, 0);
	f->sm->events = history_events(f->history);
	event_ring_sink(f->sm->events, on_event, f);
	f->sm->conf.health.flapping = ACTION_DRAIN;
	for (unsigned i = 0; i < BAD; i++)
		draw_cable(f, i, i % 2);
	for (unsigned i = 0; i < SICK; i++)
		f->sick[i] = draw_switch(f);
	bed_start(f->sm);
	assert_int_equal(bed_run(f->sm, BOUND), 1);
	assert_true(bed_quiet(f->sm, BOUND));
	for (unsigned t = 0; t < STORE_TABLES; t++)
		f->rows[t] = rows(f, t);
}

static void
finish(struct flapping *f)
{
	bed_stop(f->sm);
	history_free(f->history);
	f->sm->events = NULL;
	bed_free(f->sm->bed);
}

/* A minute in which one of the bad cables is down now and then. */
static void
flap(struct flapping *f)
{
	struct bed *b = f->sm->bed;
	unsigned i = (unsigned)(loop_random(b->loop) % BAD);
	monotime end = loop_now(b->loop) + MINUTE;

	for (unsigned n = 1 + (unsigned)(loop_random(b->loop) % 6); n > 0; n--) {
		monotime down = MSEC(1 + loop_random(b->loop) % 4000);

		model_link_flap(b->m, f->node[i], f->port[i], down);
		bed_wait(b, down + MSEC(loop_random(b->loop) % 4000));
		f->falls++;
	}
	if (loop_now(b->loop) < end)
		bed_wait(b, end - loop_now(b->loop));
}

static void
reboot(struct flapping *f, uint32_t sw)
{
	model_reboot(f->sm->bed->m, sw);
	f->falls += f->sm->bed->net->nodes[sw].nports;
}

static void
judge(struct flapping *f, unsigned hour)
{
	const struct bed_sm *sm = f->sm;
	size_t now = held();

	if (getenv("WEFT_WHY"))
		print_message("hour %u: %u falls, %u lines, %zu kB, %llu events, %u rows of "
			      "events\n", hour, f->falls, f->lines, now / 1000,
			      (unsigned long long)event_last(sm->events), rows(f, STORE_EVENTS));
	if (hour == WARM)
		f->level = now;
	else if (hour > WARM && now > f->level + GROWTH)
		fail_msg("hour %u: %zu bytes, %zu after %u hours", hour, now, f->level, WARM);
	for (unsigned t = 0; t < STORE_TABLES; t++) {
		unsigned most = t == STORE_EVENTS ? KEEP : f->rows[t] + BAD;

		if (rows(f, t) > most)
			fail_msg("hour %u: %u rows in table %u", hour, rows(f, t), t);
	}
	assert_true(event_last(sm->events) - event_oldest(sm->events) < KEEP);
	assert_true(sm->s->health.len <= sm->bed->net->nports);
	assert_true(f->lines <= LINES * f->falls + 100);
}

static void
hours_of_flapping(void **state)
{
	struct flapping f;

	(void)state;
	begin(&f);
	for (unsigned hour = 1; hour <= hours; hour++) {
		for (unsigned minute = 0; minute < CALM; minute++)
			flap(&f);
		reboot(&f, f.sick[hour % SICK]);
		bed_wait(f.sm->bed, (60 - CALM) * MINUTE);
		assert_true(bed_quiet(f.sm, BOUND));
		bed_check(f.sm);
		judge(&f, hour);
	}
	print_message("%u hours, %u falls of cables, %llu events, %u lines of log, %u times "
		      "drained\n", hours, f.falls, (unsigned long long)event_last(f.sm->events),
		      f.lines, f.nevents[EVENT_QUARANTINED]);
	assert_true(f.nevents[EVENT_QUARANTINED] > 0 && f.nevents[EVENT_RELEASED] > 0);
	assert_true(event_last(f.sm->events) > KEEP);
	finish(&f);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(hours_of_flapping) };

	if (argc > 1)
		hours = (unsigned)atoi(argv[1]);
	if (argc > 2)
		recipe = argv[2];
	if (argc > 3)
		seed = (unsigned)atoi(argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
