/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions: windows, turns, time-outs and silent devices, on a virtual loop (transact_bed.h).
 * Times are those of the model: each device answers 100 us after a request unless a test says more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/unit/transact_bed.h"

static void
check_silent(bool reports)
{
	struct bed *b = bed_new(210, 20);
	monotime took;

	b->reports = reports;
	for (unsigned i = 0; i < 10; i++)
		b->devices[21 * i].silent_after = 0;
	bed_start(b);
	took = bed_run(b);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(b->devices[21 * i].timed_out, 20);
	/* 4,000 requests in windows of 64 every 100 us take 6.3 ms; the dead hold nobody up for
	 * longer than their first time-out. */
	assert_true(b->healthy_at < MSEC(60));
	/* A silent device is asked one request at a time once it has lost one: but its first four
	 * go out at once, so 17 rounds of four tries, each of an eighth above 200 ms. */
	assert_true(took < 17 * 4 * MSEC(228));
	assert_int_equal(b->tries_max, 4);
	assert_int_equal(b->window_min, 64);
	bed_free(b);
}

/* Silent devices: healthy ones do not notice. */
static void
test_silent(void **state)
{
	(void)state;
	check_silent(false);
	check_silent(true);
}

/* One request to each of many silent devices costs one device's time-outs. */
static void
test_silent_in_parallel(void **state)
{
	struct bed *b = bed_new(300, 1);
	monotime took;

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].silent_after = i % 2 ? UINT32_MAX : 0;
	bed_start(b);
	took = bed_run(b);
	/* All first tries fit into two windows; those that wait do so for one first time-out. */
	assert_true(took < 6 * MSEC(228));
	for (unsigned i = 0; i < b->len; i++)
		assert_int_equal(b->devices[i].timed_out, 1 - i % 2);
	bed_free(b);
}

/* A device that answered and then falls silent does not shrink the total window; nor do two. */
static void
test_one_device_lost(void **state)
{
	struct bed *b = bed_new(100, 200);

	(void)state;
	b->devices[10].silent_after = 50;
	b->devices[20].silent_after = 60;
	bed_start(b);
	loop_run_until(b->loop, SEC(10), NULL);
	assert_int_equal(b->window_min, 64);
	assert_int_equal(b->devices[11].done, 200);
	assert_true(b->devices[10].timed_out > 0);
	assert_true(b->devices[10].target.silent > 0);
	assert_int_equal(b->devices[10].target.window, 1);
	bed_free(b);
}

/* Nor do they when hardly anybody else answers meanwhile. */
static void
test_two_devices_alone(void **state)
{
	struct bed *b = bed_new(2, 300);

	(void)state;
	b->devices[0].silent_after = 100;
	b->devices[1].silent_after = 120;
	bed_start(b);
	loop_run_until(b->loop, SEC(2), NULL);
	assert_true(transact_counters(b->transact)->retried > 30);
	assert_int_equal(b->devices[0].target.window, 1);
	assert_int_equal(transact_window(b->transact), 64);
	bed_free(b);
}

/* One answer in a hundred lost anywhere is a bad cable or two, no overload. */
static void
test_light_loss(void **state)
{
	struct bed *b = bed_new(200, 200);

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 1;
	bed_start(b);
	bed_run(b);
	assert_true(transact_counters(b->transact)->retried > 200);
	assert_int_equal(b->window_min, 64);
	bed_free(b);
}

/* Loss all over the fabric does, down to the lower bound at worst; and it comes back. */
static void
test_overload(void **state)
{
	struct bed *b = bed_new(200, 400);
	unsigned low;

	(void)state;
	b->reports = true;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 20;
	bed_start(b);
	loop_run_until(b->loop, MSEC(800), NULL);
	low = transact_window(b->transact);
	assert_in_range(b->window_min, 4, 32);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 0;
	bed_run(b);
	assert_true(transact_window(b->transact) > low);
	bed_free(b);
}

/* The window halves at most once in a time-out (50 ms here), however many requests are lost. */
static void
test_halves_once(void **state)
{
	struct bed *b = bed_new(200, 4000);
	unsigned last = 0, drops = 0;
	monotime dropped = 0;

	(void)state;
	b->reports = true;
	bed_start(b);
	loop_run_until(b->loop, MSEC(10), NULL);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 30;
	for (monotime at = MSEC(11); at < MSEC(600); at += MSEC(1)) {
		unsigned now;

		loop_run_until(b->loop, at, NULL);
		now = transact_window(b->transact);
		if (now < last) {
			assert_true(now >= last / 2);
			assert_true(at - dropped >= MSEC(49));
			dropped = at;
			drops++;
		}
		last = now;
	}
	assert_true(drops >= 3);
	bed_free(b);
}

static void
test_fair(void **state)
{
	struct bed *b = bed_new(40, 100);

	(void)state;
	b->fair = true;
	b->o.window_start = b->o.window_max = 60;
	bed_start(b);
	bed_run(b);
	assert_int_equal(b->in_flight_max, 60);
	bed_free(b);
}

/* A device at the limit of its window is left out until it answers; others go on. */
static void
test_target_window(void **state)
{
	struct bed *b = bed_new(10, 300);

	(void)state;
	b->devices[0].delay = MSEC(20);
	bed_start(b);
	loop_run_until(b->loop, MSEC(19), NULL);
	assert_int_equal(b->devices[0].target.outstanding, 4);
	assert_int_equal(b->devices[0].asked, 4);
	assert_int_equal(b->devices[1].done, 300);
	assert_int_equal(b->devices[1].target.window, 16);
	bed_run(b);
	assert_int_equal(b->done_total, 3000);
	bed_free(b);
}

/* A device slower than the time-out is heard all the same, and next time given the time. */
static void
test_slow_device(void **state)
{
	struct bed *b = bed_new(50, 1000);
	struct device *slow = &b->devices[0];

	(void)state;
	for (unsigned i = 1; i < b->len; i++)
		b->devices[i].delay = MSEC(5);
	slow->delay = MSEC(300);
	slow->left = 10;
	bed_start(b);
	bed_run(b);
	assert_int_equal(slow->timed_out, 0);
	assert_int_equal(slow->done, 10);
	assert_true(transact_rtt(b->transact) > 0);
	/* Its first four requests are repeated (after 50 ms and after 250), the others not. */
	assert_in_range(slow->heard, 14, 18);
	bed_free(b);
}

struct ticker {
	struct bed *bed;	/* watched */
	unsigned turns;		/* of the loop */
	unsigned most;		/* sends in one turn */
	uint64_t sends;		/* at the last turn */
};

static void
tick(void *arg)
{
	struct ticker *k = arg;
	unsigned now = (unsigned)(k->bed->sends - k->sends);

	k->most = now > k->most ? now : k->most;
	k->sends = k->bed->sends;
	if (k->turns++ < 100)
		loop_post(k->bed->loop, tick, k);
}

/* The whole fabric stands still for longer than a time-out, as a simulator does that is stopped:
 * answers are late, not lost, and repeats must not overfill its queues. */
static void
test_standstill(void **state)
{
	struct bed *b = bed_new(200, 300);

	(void)state;
	b->o.window_start = b->o.window_max = 200;
	bed_start(b);
	loop_run_until(b->loop, MSEC(10), NULL);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = MSEC(1200);
	loop_run_until(b->loop, MSEC(400), NULL);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = USEC(100);
	assert_in_range(b->air_max, 201, 256);
	bed_run(b);
	assert_in_range(b->air_max, 201, 256);
	assert_int_equal(transact_counters(b->transact)->timed_out, 0);
	assert_int_equal(b->done_total, 60000);
	bed_free(b);
}

/* Filling a large window does not keep the loop from other work. */
static void
test_pump_yields(void **state)
{
	struct bed *b = bed_new(300, 1);
	struct ticker k = { .bed = b };

	(void)state;
	b->o.window_start = 256;
	bed_start(b);
	loop_post(b->loop, tick, &k);
	bed_run(b);
	assert_true(k.sends + k.most >= 256);
	assert_in_range(k.most, 1, 64);
	bed_free(b);
}

/* More outstanding requests pay where the fabric is parallel, and only there. */
static void
test_growth(void **state)
{
	struct bed *b = bed_new(400, 500);

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = USEC(500);
	bed_start(b);
	bed_run(b);
	assert_int_equal(b->in_flight_max, 256);
	assert_in_range(transact_window(b->transact), 192, 256);
	bed_free(b);

	b = bed_new(400, 500);
	b->service = USEC(5);
	bed_start(b);
	bed_run(b);
	assert_in_range(transact_window(b->transact), 64, 80);
	assert_true(b->in_flight_max <= 80);
	bed_free(b);
}

/* 256 at most, whatever is asked for; and at least one. */
static void
test_bounds(void **state)
{
	struct bed *b = bed_new(400, 50);

	(void)state;
	b->o.window_start = b->o.window_max = 100000;
	b->o.target_max = 500;
	bed_start(b);
	b->o.window_max = 256;
	b->o.target_max = 64;
	bed_run(b);
	assert_int_equal(b->in_flight_max, 256);
	bed_free(b);

	b = bed_new(4, 5);
	b->o.window_start = b->o.window_max = b->o.target_max = 0;
	bed_start(b);
	b->o.window_max = b->o.target_max = 1;
	bed_run(b);
	assert_int_equal(b->in_flight_max, 1);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_silent_in_parallel),
		cmocka_unit_test(test_one_device_lost),
		cmocka_unit_test(test_two_devices_alone),
		cmocka_unit_test(test_light_loss),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_halves_once),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_target_window),
		cmocka_unit_test(test_slow_device),
		cmocka_unit_test(test_standstill),
		cmocka_unit_test(test_pump_yields),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
