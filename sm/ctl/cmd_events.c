/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * show events: the newest ones of the ring, or those after a sequence number; with "wait_ms" the
 * answer comes when there is one, or empty when the time is over. A client that follows asks again
 * and again with the "last" of the answer before: it never misses one, however slowly it reads.
 */
#define LAST_DEFAULT 100
#define LAST_MAX 100000
#define WAIT_INTERVAL MSEC(100)
#define SLICE 64u		/* events looked at in one step */

static const char *const levels[] = { "error", "warning", "notice", "info", "debug", NULL };

/* The answer's part that has been written is known by the sequence of the next one. */
struct cursor {
	uint64_t next;		/* sequence to look at */
	uint64_t last;		/* last one to look at */
	uint64_t lost;		/* asked for and not held any more */
};

static bool
wanted(const struct ctl_req *r, const struct event *ev)
{
	const char *type = req_string(r, "type"), *level = req_string(r, "level");

	if (r->subnet && ev->subnet[0] && strcmp(ev->subnet, r->subnet->name) != 0)
		return false;
	if (type && strcmp(type, event_type_name(ev->type)) != 0)
		return false;
	return !level || (int)ev->level <= log_level_parse(level);
}

static enum ctl_step
events_step(struct ctl_req *r)
{
	struct cursor *c = r->state;

	for (unsigned i = 0; i < SLICE && c->next <= c->last; i++, c->next++) {
		const struct event *ev = event_get(r->host->events, c->next);

		/* Overwritten while a slow reader took the ones before it. */
		if (!ev)
			c->lost++;
		else if (wanted(r, ev))
			event_write(&r->json, NULL, ev);
	}
	if (c->next <= c->last)
		return STEP_MORE;
	jw_end(&r->json);
	jw_uint(&r->json, "last", c->last);
	jw_uint(&r->json, "lost", c->lost);
	return STEP_DONE;
}

static void
events_begin(struct ctl_req *r)
{
	jw_array(req_begin(r), "events");
	req_stream(r, events_step);
}

/* The sequence from which on the newest `len` wanted events lie. */
static uint64_t
newest(const struct ctl_req *r, uint64_t len)
{
	uint64_t oldest = event_oldest(r->host->events), s = event_last(r->host->events) + 1;

	while (s > oldest && len) {
		const struct event *ev = event_get(r->host->events, --s);

		len -= ev && wanted(r, ev);
	}
	return s;
}

static bool
any_wanted(const struct ctl_req *r, const struct cursor *c)
{
	for (uint64_t s = c->next; s <= c->last; s++) {
		const struct event *ev = event_get(r->host->events, s);

		if (ev && wanted(r, ev))
			return true;
	}
	return false;
}

static void
events_look(struct ctl_req *r)
{
	struct cursor *c = r->state;
	uint64_t wait = req_number(r, "wait_ms", 0);

	c->last = event_last(r->host->events);
	if (any_wanted(r, c) || loop_now(r->loop) - r->started >= MSEC(wait))
		events_begin(r);
}

static bool
type_known(struct ctl_req *r)
{
	const char *type = req_string(r, "type");
	struct buf words = { 0 };

	for (unsigned i = 0; i < EVENT_TYPES; i++) {
		const char *name = event_type_name((enum event_type)i);

		if (!type || strcmp(type, name) == 0) {
			buf_free(&words);
			return true;
		}
		buf_printf(&words, "%s%s", i == 0 ? "" : i + 1 < EVENT_TYPES ? ", " : " or ", name);
	}
	req_fail(r, EXIT_USAGE, "there is no event type \"%.100s\": it is %.400s", type,
		 words.data);
	buf_free(&words);
	return false;
}

static void
show_events(struct ctl_req *r)
{
	struct cursor *c;
	uint64_t after = req_number(r, "after", UINT64_MAX), oldest;

	if (!type_known(r))
		return;
	if (after != UINT64_MAX && req_number(r, "last", UINT64_MAX) != UINT64_MAX) {
		req_fail(r, EXIT_USAGE, "--last and --after exclude each other");
		return;
	}
	if (!r->host->events) {
		req_fail(r, EXIT_REFUSED, "this daemon keeps no events");
		return;
	}
	c = mem_zalloc(sizeof(*c));
	r->state = c;
	r->state_free = mem_free;
	c->last = event_last(r->host->events);
	oldest = event_oldest(r->host->events);
	if (after == UINT64_MAX) {
		c->next = newest(r, req_number(r, "last", LAST_DEFAULT));
		events_begin(r);
		return;
	}
	c->lost = after + 1 < oldest ? oldest - after - 1 : 0;
	c->next = after + 1 < oldest ? oldest : after + 1;
	events_look(r);
	if (!r->step)
		req_poll(r, events_look, WAIT_INTERVAL);
}

static const struct ctl_arg events_args[] = {
	{ .name = "last", .kind = ARG_NUMBER, .max = LAST_MAX },
	{ .name = "after", .kind = ARG_NUMBER, .max = INT64_MAX },
	{ .name = "wait_ms", .kind = ARG_NUMBER, .max = 60000 },
	{ .name = "type" },
	{ .name = "level", .words = levels },
	{ 0 },
};

const struct ctl_command ctl_cmd_events[] = {
	{ .name = "show events", .args = events_args, .scope = SCOPE_ALL, .run = show_events },
	{ 0 },
};
