/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/event.h"
#include "sm/base/mem.h"

/*
 * The ring of recent events. It owns copies; the core adds, the control socket reads, the sink
 * (the store) sees each one as it happens. One thread. The log gets every event, at most ten of a
 * type in ten seconds, because much of what happens is what peers make happen.
 */
struct event_ring {
	struct event *events;		/* slot = sequence % len */
	unsigned len;			/* slots */
	uint64_t first;			/* sequence of the first event ever added here */
	uint64_t next;			/* sequence of the next event */
	void (*sink)(void *arg, const struct event *ev);	/* NULL: none */
	void *sink_arg;			/* handed to sink */
	struct log_limit limits[EVENT_TYPES];	/* of the log, by type */
};

static const char *const type_names[EVENT_TYPES] = {
	[EVENT_START] = "start",
	[EVENT_PORT] = "port",
	[EVENT_ROLE] = "role",
	[EVENT_SWEEP] = "sweep",
	[EVENT_NODE_UP] = "node-up",
	[EVENT_NODE_DOWN] = "node-down",
	[EVENT_LINK_UP] = "link-up",
	[EVENT_LINK_DOWN] = "link-down",
	[EVENT_SILENT] = "silent",
	[EVENT_DUPLICATE] = "duplicate",
	[EVENT_REFUSED] = "refused",
	[EVENT_ROUTED] = "routed",
	[EVENT_FALLBACK] = "fallback",
	[EVENT_UNROUTED] = "unrouted",
	[EVENT_TRAP] = "trap",
	[EVENT_CONFIG] = "config",
};

struct event_ring *
event_ring_new(unsigned len, uint64_t first_sequence)
{
	struct event_ring *r = mem_zalloc(sizeof(*r));

	r->len = len ? len : 1;
	r->events = mem_array(r->len, sizeof(*r->events));
	r->first = r->next = first_sequence ? first_sequence : 1;
	return r;
}

void
event_ring_free(struct event_ring *r)
{
	if (!r)
		return;
	mem_free(r->events);
	mem_free(r);
}

void
event_ring_sink(struct event_ring *r, void (*fn)(void *arg, const struct event *ev), void *arg)
{
	r->sink = fn;
	r->sink_arg = arg;
}

void
event_ring_add(struct event_ring *r, const struct event *ev)
{
	struct event *e = &r->events[r->next % r->len];
	unsigned type = ev->type < EVENT_TYPES ? ev->type : EVENT_START;

	*e = *ev;
	e->sequence = r->next++;
	e->subnet[sizeof(e->subnet) - 1] = '\0';
	e->text[sizeof(e->text) - 1] = '\0';
	log_limited(&r->limits[type], e->level, "%s%s%s: %s", e->subnet, e->subnet[0] ? " " : "",
		    type_names[type], e->text);
	if (r->sink)
		r->sink(r->sink_arg, e);
}

const struct event *
event_get(const struct event_ring *r, uint64_t sequence)
{
	if (sequence < event_oldest(r) || sequence >= r->next)
		return NULL;
	return &r->events[sequence % r->len];
}

uint64_t
event_last(const struct event_ring *r)
{
	return r->next - 1;
}

uint64_t
event_oldest(const struct event_ring *r)
{
	return r->next - r->first > r->len ? r->next - r->len : r->first;
}

const char *
event_type_name(enum event_type t)
{
	return (unsigned)t < EVENT_TYPES ? type_names[t] : "?";
}

void
event_write(struct json *j, const char *key, const struct event *ev)
{
	char time[CLOCK_TEXT_SIZE];

	jw_object(j, key);
	jw_uint(j, "sequence", ev->sequence);
	jw_str(j, "time", clock_text(time, ev->wall));
	jw_str(j, "type", event_type_name(ev->type));
	jw_str(j, "level", log_level_name(ev->level));
	jw_str(j, "subnet", ev->subnet);
	if (ev->guid)
		jw_guid(j, "guid", ev->guid);
	if (ev->lid)
		jw_uint(j, "lid", ev->lid);
	if (ev->port)
		jw_uint(j, "port", ev->port);
	jw_str(j, "text", ev->text);
	jw_end(j);
}
