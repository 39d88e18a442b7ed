/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/event.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/clock.h"
#include "sm/base/text.h"

/*
 * Events read back from the state file, for `weft show events` after a restart. A row that another
 * version wrote, or that is damaged, is no event: the others are still worth having.
 */
static bool
read_type(const json_t *o, struct event *ev)
{
	const char *type = json_string_value(json_object_get(o, "type"));

	for (unsigned i = 0; type && i < EVENT_TYPES; i++) {
		ev->type = (enum event_type)i;
		if (strcmp(type, event_type_name(ev->type)) == 0)
			return true;
	}
	return false;
}

static bool
read_level(const json_t *o, struct event *ev)
{
	const char *level = json_string_value(json_object_get(o, "level"));
	int known = level ? log_level_parse(level) : -1;

	ev->level = known < 0 ? LOG_L_DEBUG : (enum log_level)known;
	return known >= 0;
}

static bool
read_text(const json_t *o, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (text)
		snprintf(to, size, "%s", text);
	return text != NULL;
}

/* A number up to `max`; 0 where there is none. */
static uint64_t
read_number(const json_t *o, const char *key, uint64_t max)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 && (uint64_t)v <= max ? (uint64_t)v : 0;
}

static uint64_t
read_guid(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	uint64_t guid;

	return text && guid_parse(text, &guid) ? guid : 0;
}

static void
read_figures(const json_t *o, struct event *ev)
{
	for (unsigned i = 0; i < EVENT_FIGURES; i++) {
		const char *name = event_figure_name((enum event_figure)i);

		if (json_is_integer(json_object_get(o, name)))
			event_set(ev, (enum event_figure)i, read_number(o, name, INT64_MAX));
	}
}

static bool
read_object(const json_t *o, struct event *ev)
{
	const char *time = json_string_value(json_object_get(o, "time"));

	*ev = (struct event){ .sequence = read_number(o, "sequence", INT64_MAX) };
	if (!ev->sequence || !time || !clock_parse(time, &ev->wall) || !read_type(o, ev) ||
	    !read_level(o, ev) || !read_text(o, "subnet", ev->subnet, sizeof(ev->subnet)) ||
	    !read_text(o, "text", ev->text, sizeof(ev->text)))
		return false;
	ev->guid = read_guid(o, "guid");
	ev->lid = (uint16_t)read_number(o, "lid", UINT16_MAX);
	ev->port = (uint8_t)read_number(o, "port", UINT8_MAX);
	ev->peer_guid = read_guid(o, "peer_guid");
	ev->peer_port = (uint8_t)read_number(o, "peer_port", UINT8_MAX);
	read_figures(o, ev);
	return true;
}

bool
event_read(const char *text, struct event *ev)
{
	json_t *o = json_loads(text, 0, NULL);
	bool read = json_is_object(o) && read_object(o, ev);

	json_decref(o);
	return read;
}
