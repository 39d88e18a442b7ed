/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/event.h"

#include <ctype.h>
#include <stdio.h>
#include "sm/base/list.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * The ring of recent events. It owns copies; the core adds, the control socket reads, sinks
 * (the store, plugins) see each one as it happens. One thread. The log gets every event, at most
 * ten of a type in ten seconds, because much of what happens is what peers make happen.
 */
struct event_ring {
	struct event *events;		/* slot = sequence % len */
	unsigned len;			/* slots */
	uint64_t first;			/* sequence of the first event ever added here */
	uint64_t next;			/* sequence of the next event */
	struct list sinks;		/* of struct event_sink */
	struct log_limit limits[EVENT_TYPES];	/* of the log, by type */
};

struct event_sink {
	struct list list;		/* in event_ring.sinks */
	void (*fn)(void *arg, const struct event *ev);
	void *arg;			/* handed to fn() */
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
	[EVENT_REPAIRED] = "repaired",
	[EVENT_FALLBACK] = "fallback",
	[EVENT_UNROUTED] = "unrouted",
	[EVENT_TRAP] = "trap",
	[EVENT_CONFIG] = "config",
	[EVENT_HEALTH] = "health",
	[EVENT_QUARANTINED] = "quarantined",
	[EVENT_RELEASED] = "released",
	[EVENT_OVERDUE] = "overdue",
	[EVENT_STATE] = "state",
	[EVENT_ADAPTIVE] = "adaptive",
	[EVENT_PLUGIN] = "plugin",
};

static const char *const figure_names[EVENT_FIGURES] = {
	[EVENT_TOOK_US] = "took_us",
	[EVENT_ENTRIES] = "entries",
	[EVENT_BLOCKS] = "blocks",
	[EVENT_LINKS_LOST] = "links_lost",
	[EVENT_LINKS_BACK] = "links_back",
	[EVENT_NODES_LOST] = "nodes_lost",
	[EVENT_NODES_BACK] = "nodes_back",
	[EVENT_CUT_OFF] = "cut_off",
};

struct event_ring *
event_ring_new(unsigned len, uint64_t first_sequence)
{
	struct event_ring *r = mem_zalloc(sizeof(*r));

	r->len = len ? len : 1;
	r->events = mem_array(r->len, sizeof(*r->events));
	r->first = r->next = first_sequence ? first_sequence : 1;
	list_init(&r->sinks);
	return r;
}

void
event_ring_free(struct event_ring *r)
{
	struct list *it;

	if (!r)
		return;
	while ((it = list_pop(&r->sinks)))
		mem_free(list_entry(it, struct event_sink, list));
	mem_free(r->events);
	mem_free(r);
}

unsigned
event_ring_len(const struct event_ring *r)
{
	return r->len;
}

struct event_sink *
event_ring_sink(struct event_ring *r, void (*fn)(void *arg, const struct event *ev), void *arg)
{
	struct event_sink *s = mem_zalloc(sizeof(*s));

	s->fn = fn;
	s->arg = arg;
	list_append(&r->sinks, &s->list);
	return s;
}

void
event_sink_free(struct event_sink *s)
{
	if (!s)
		return;
	list_remove(&s->list);
	mem_free(s);
}

void
event_ring_restore(struct event_ring *r, const struct event *ev)
{
	if (ev->sequence < r->next)
		return;
	if (r->first == r->next)
		r->first = ev->sequence;
	r->next = ev->sequence + 1;
	r->events[ev->sequence % r->len] = *ev;
}

void
event_ring_skip(struct event_ring *r, uint64_t sequence)
{
	if (sequence <= r->next)
		return;
	if (r->first == r->next)
		r->first = sequence;
	r->next = sequence;
}

/* What the journal is given beside the text. */
#define FIELDS_MAX (7 + EVENT_FIGURES + 1)
struct fields {
	struct log_field list[FIELDS_MAX];	/* ends where there is no name */
	char names[EVENT_FIGURES][32];		/* of figures */
	char values[FIELDS_MAX][GUID_TEXT_SIZE + 2];	/* of those that are numbers */
	unsigned len;				/* of them in use */
};

static void
add_text(struct fields *f, const char *name, const char *value)
{
	if (value[0])
		f->list[f->len++] = (struct log_field){ name, value };
}

static void
add_number(struct fields *f, const char *name, uint64_t value)
{
	char *text = f->values[f->len];

	snprintf(text, sizeof(f->values[0]), "%llu", (unsigned long long)value);
	add_text(f, name, text);
}

static void
add_guid(struct fields *f, const char *name, uint64_t guid)
{
	if (guid)
		add_text(f, name, guid_text(f->values[f->len], guid));
}

/* "took_us" is WEFT_TOOK_US there. */
static const char *
field_name(char to[32], const char *name)
{
	size_t len = (size_t)snprintf(to, 32, "WEFT_%s", name);

	for (size_t i = 0; i < len && i < 31; i++)
		to[i] = (char)toupper((unsigned char)to[i]);
	return to;
}

static void
make_fields(struct fields *f, const struct event *e)
{
	add_text(f, "WEFT_EVENT", event_type_name(e->type));
	add_number(f, "WEFT_SEQUENCE", e->sequence);
	add_text(f, "WEFT_SUBNET", e->subnet);
	add_guid(f, "WEFT_GUID", e->guid);
	if (e->port)
		add_number(f, "WEFT_PORT", e->port);
	add_guid(f, "WEFT_PEER_GUID", e->peer_guid);
	if (e->lid)
		add_number(f, "WEFT_LID", e->lid);
	for (unsigned i = 0; i < EVENT_FIGURES; i++)
		if (e->has >> i & 1)
			add_number(f, field_name(f->names[i], figure_names[i]), e->figure[i]);
}

/* `journalctl WEFT_EVENT=link-down` finds them: systemd.journal-fields(7). */
static void
tell_log(struct log_limit *limit, const struct event *e)
{
	struct fields f = { 0 };

	make_fields(&f, e);
	log_fields(limit, e->level, f.list, "%s%s%s: %s", e->subnet, e->subnet[0] ? " " : "",
		   event_type_name(e->type), e->text);
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
	tell_log(&r->limits[type], e);
	list_each(it, &r->sinks) {
		struct event_sink *s = list_entry(it, struct event_sink, list);

		s->fn(s->arg, e);
	}
}

const struct event *
event_get(const struct event_ring *r, uint64_t sequence)
{
	const struct event *ev = &r->events[sequence % r->len];

	/* Of what an earlier run left, some may be missing. */
	return sequence && ev->sequence == sequence ? ev : NULL;
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
event_figure_name(enum event_figure f)
{
	return (unsigned)f < EVENT_FIGURES ? figure_names[f] : "?";
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
	if (ev->peer_guid)
		jw_guid(j, "peer_guid", ev->peer_guid);
	if (ev->peer_port)
		jw_uint(j, "peer_port", ev->peer_port);
	for (unsigned i = 0; i < EVENT_FIGURES; i++)
		if (ev->has >> i & 1)
			jw_uint(j, figure_names[i], ev->figure[i]);
	jw_str(j, "text", ev->text);
	jw_end(j);
}
