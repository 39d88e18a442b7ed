/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "sm/core/history.h"
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"

/*
 * What happened, over restarts, and stages that take too long.
 */
#define DAY INT64_C(86400000000)

static void
add(struct history *h, struct loop *l, const char *text, int64_t age)
{
	struct event ev = {
		.type = EVENT_LINK_DOWN, .level = LOG_L_DEBUG, .wall = loop_wall(l) - age,
		.guid = 0x10, .port = 3, .peer_guid = 0x20, .peer_port = 4, .lid = 7,
	};

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	snprintf(ev.subnet, sizeof(ev.subnet), "compute");
	event_set(&ev, EVENT_TOOK_US, 1234);
	event_set(&ev, EVENT_CUT_OFF, 0);
	event_ring_add(history_events(h), &ev);
}

static void
count_row(void *arg, const char *key, const char *value)
{
	(void)key;
	(void)value;
	++*(unsigned *)arg;
}

static unsigned
rows(struct store *s)
{
	unsigned n = 0;

	assert_int_equal(store_scan(s, STORE_EVENTS, count_row, &n, NULL), 0);
	return n;
}

/* An event is the same after a restart, whatever its text has in it. */
static void
test_restart(void **state)
{
	static const char odd[] = "quote \" back\\slash \xc3\xbc tab\t";
	struct loop *l = loop_new_virtual(1);
	struct store *s = store_open_memory(l);
	struct history *h = history_new(l, s, 100, 0);
	const struct event *ev;

	(void)state;
	add(h, l, odd, 0);
	add(h, l, "second", 0);
	history_free(h);
	h = history_new(l, s, 100, 0);
	assert_int_equal(event_last(history_events(h)), 2);
	assert_int_equal(event_oldest(history_events(h)), 1);
	ev = event_get(history_events(h), 1);
	assert_non_null(ev);
	assert_string_equal(ev->text, odd);
	assert_string_equal(ev->subnet, "compute");
	assert_int_equal(ev->type, EVENT_LINK_DOWN);
	assert_int_equal(ev->level, LOG_L_DEBUG);
	assert_int_equal(ev->guid, 0x10);
	assert_int_equal(ev->port, 3);
	assert_int_equal(ev->peer_guid, 0x20);
	assert_int_equal(ev->peer_port, 4);
	assert_int_equal(ev->lid, 7);
	assert_int_equal(ev->has, 1u << EVENT_TOOK_US | 1u << EVENT_CUT_OFF);
	assert_int_equal(ev->figure[EVENT_TOOK_US], 1234);
	assert_int_equal(ev->wall / 1000, loop_wall(l) / 1000);
	add(h, l, "third", 0);
	assert_int_equal(event_last(history_events(h)), 3);
	assert_int_equal(rows(s), 3);
	history_free(h);
	store_close(s);
	loop_free(l);
}

/* So many are kept and no more, in memory and in the store; a lower limit forgets the rest. */
static void
test_keep(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct store *s = store_open_memory(l);
	struct history *h = history_new(l, s, 100, 0);
	struct event_ring *r = history_events(h);

	(void)state;
	for (unsigned i = 0; i < 350; i++)
		add(h, l, "one", 0);
	assert_int_equal(event_oldest(r), 251);
	assert_int_equal(rows(s), 100);
	history_free(h);
	h = history_new(l, s, 10, 0);
	r = history_events(h);
	assert_int_equal(event_last(r), 350);
	assert_int_equal(event_oldest(r), 341);
	assert_non_null(event_get(r, 341));
	add(h, l, "one", 0);
	assert_int_equal(event_oldest(r), 342);
	assert_int_equal(rows(s), 10);
	history_free(h);
	store_close(s);
	loop_free(l);
}

/* Old ones go with what comes; those of the last days stay. */
static void
test_days(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct store *s = store_open_memory(l);
	struct history *h = history_new(l, s, 100, 0);

	(void)state;
	add(h, l, "old", 9 * DAY);
	add(h, l, "old", 8 * DAY);
	add(h, l, "young", 6 * DAY);
	assert_int_equal(rows(s), 3);
	history_set_days(h, 7);
	add(h, l, "new", 0);
	assert_int_equal(rows(s), 2);
	history_free(h);
	h = history_new(l, s, 100, 5);
	assert_null(event_get(history_events(h), 3));
	assert_non_null(event_get(history_events(h), 4));
	history_free(h);
	store_close(s);
	loop_free(l);
}

/* Rows of another version, or damaged ones, are passed over; no number is given twice. */
static void
test_damaged(void **state)
{
	static const char good[] = "{\"sequence\":3,\"time\":\"2026-01-02T03:04:05.678Z\","
		"\"type\":\"trap\",\"level\":\"notice\",\"subnet\":\"\",\"text\":\"t\"}";
	static const char later[] = "{\"sequence\":4,\"time\":\"2026-01-02T03:04:05.678Z\","
		"\"type\":\"melted\",\"level\":\"notice\",\"subnet\":\"\",\"text\":\"t\"}";
	struct loop *l = loop_new_virtual(1);
	struct store *s = store_open_memory(l);
	struct history *h;
	struct event_ring *r;

	(void)state;
	store_put(s, STORE_EVENTS, "00000000000000000001", "");
	store_put(s, STORE_EVENTS, "00000000000000000002", "[1,");
	store_put(s, STORE_EVENTS, "00000000000000000003", good);
	store_put(s, STORE_EVENTS, "00000000000000000004", later);
	store_put(s, STORE_EVENTS, "00000000000000000005", good);
	store_put(s, STORE_EVENTS, "99999999999999999999", good);
	store_put(s, STORE_EVENTS, "what", good);
	store_commit(s, NULL, NULL);
	h = history_new(l, s, 100, 0);
	r = history_events(h);
	assert_int_equal(event_last(r), 5);
	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(event_get(r, i) != NULL, i == 3);
	/* 2026-01-02 03:04:05 UTC by date(1): 1767323045. */
	assert_int_equal(event_get(r, 3)->wall, INT64_C(1767323045678000));
	add(h, l, "new", 0);
	assert_non_null(event_get(r, 6));
	history_free(h);
	store_close(s);
	loop_free(l);
}

/* Each answer takes two seconds: discovery is told of while it lasts, and when it is over. */
static void
test_overdue(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	const struct event *ev;

	(void)state;
	sm->conf.timeout = SEC(3);
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		model_delay(b->m, n, SEC(2));
	bed_start(sm);
	bed_wait(b, SEC(31));
	ev = bed_event(sm, EVENT_OVERDUE, "discovery has taken 30");
	assert_non_null(ev);
	assert_int_equal(sm->nevents[EVENT_OVERDUE], 1);
	for (uint32_t n = 0; n < b->net->nnodes; n++)
		model_delay(b->m, n, 0);
	assert_int_equal(bed_run(sm, SEC(300)), 1);
	assert_non_null(bed_event(sm, EVENT_OVERDUE, "discovery has ended after "));
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart), cmocka_unit_test(test_keep),
		cmocka_unit_test(test_days), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_overdue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
