/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/history.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/json.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * Rows of the store have the sequence number of the event as key, in 20 digits, so that their order
 * is that of time. With each event that is added, those go that are too many or too old: the work
 * is spread, and nothing ever walks over all of them.
 */
#define DAY_US (INT64_C(86400) * 1000000)
#define FORGET_AT_ONCE 8u	/* rows that may go with one event that comes */
#define KEY_SIZE 24

struct history {
	struct loop *loop;		/* borrowed */
	struct store *store;		/* borrowed */
	struct event_ring *events;
	unsigned keep;			/* events at most */
	unsigned days;			/* 0: any age */
	uint64_t oldest;		/* of the file: none has a lower sequence number */
	uint64_t rows;			/* that the file had at the start */
	uint64_t surplus;		/* of them, those that are too many */
	uint64_t last;			/* highest sequence number, of rows that are no event too */
};

static void
row_key(char key[KEY_SIZE], uint64_t sequence)
{
	snprintf(key, KEY_SIZE, "%020llu", (unsigned long long)sequence);
}

static bool
too_old(const struct history *h, const struct event *ev)
{
	return h->days && ev && ev->wall < loop_wall(h->loop) - h->days * DAY_US;
}

/* What is not in the ring any more, or never was an event, is too old anyway. */
static void
forget(struct history *h)
{
	uint64_t last = event_last(h->events);
	char key[KEY_SIZE];

	for (unsigned n = 0; n < FORGET_AT_ONCE && h->oldest < last; n++, h->oldest++) {
		if (h->oldest + h->keep > last && !too_old(h, event_get(h->events, h->oldest)))
			return;
		row_key(key, h->oldest);
		store_delete(h->store, STORE_EVENTS, key);
	}
}

static void
on_event(void *arg, const struct event *ev)
{
	struct history *h = arg;
	struct buf b = { 0 };
	struct json j;
	char key[KEY_SIZE];

	jw_init(&j, &b);
	event_write(&j, NULL, ev);
	row_key(key, ev->sequence);
	store_put(h->store, STORE_EVENTS, key, b.data);
	buf_free(&b);
	forget(h);
	store_commit(h->store, NULL, NULL);
}

static bool
row_sequence(const char *key, uint64_t *sequence)
{
	/* Not ours, or damaged: it must not wrap the count. */
	return number_parse(key + strspn(key, "0"), 1, INT64_MAX / 2, sequence);
}

static void
count_row(void *arg, const char *key, const char *value)
{
	struct history *h = arg;
	uint64_t sequence;

	(void)value;
	if (!row_sequence(key, &sequence))
		return;
	if (!h->rows++)
		h->oldest = sequence;
	h->last = sequence;
}

/* Those that do not fit are passed over. */
static void
take_row(void *arg, const char *key, const char *value)
{
	struct history *h = arg;
	struct event ev;
	uint64_t sequence;

	if (!row_sequence(key, &sequence))
		return;
	if (h->surplus) {
		h->surplus--;
		h->oldest = sequence + 1;
		return;
	}
	if (event_read(value, &ev) && ev.sequence == sequence && !too_old(h, &ev))
		event_ring_restore(h->events, &ev);
}

static void
read_rows(struct history *h)
{
	struct error e;

	if (store_scan(h->store, STORE_EVENTS, count_row, h, &e)) {
		log_warning("earlier events cannot be read: %s", e.text);
		return;
	}
	h->surplus = h->rows > h->keep ? h->rows - h->keep : 0;
	if (store_scan(h->store, STORE_EVENTS, take_row, h, &e))
		log_warning("earlier events cannot be read: %s", e.text);
	if (h->rows > h->keep) {
		store_trim(h->store, STORE_EVENTS, h->keep);
		store_commit(h->store, NULL, NULL);
	}
}

struct history *
history_new(struct loop *l, struct store *s, unsigned keep, unsigned days)
{
	struct history *h = mem_zalloc(sizeof(*h));

	h->loop = l;
	h->store = s;
	h->keep = keep;
	h->days = days;
	h->events = event_ring_new(keep, 1);
	read_rows(h);
	event_ring_skip(h->events, h->last + 1);
	if (!h->oldest)
		h->oldest = 1;
	event_ring_sink(h->events, on_event, h);
	return h;
}

void
history_free(struct history *h)
{
	if (!h)
		return;
	event_ring_free(h->events);
	mem_free(h);
}

void
history_set_days(struct history *h, unsigned days)
{
	h->days = days;
}

struct event_ring *
history_events(struct history *h)
{
	return h->events;
}
