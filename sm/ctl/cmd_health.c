/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/base/clock.h"
#include "sm/base/mem.h"

/*
 * show health: what is wrong with ports and devices, and what traffic is kept off, a slice at a
 * time; what comes or goes meanwhile may be told or not.
 */
#define SLICE 128u

static void
put_errors(struct json *j, const struct health_errors *e)
{
	if (!e->counter) {
		jw_null(j, "errors");
		return;
	}
	jw_object(j, "errors");
	jw_str(j, "counter", e->counter);
	jw_uint(j, "count", e->count);
	jw_real(j, "seconds", e->seconds);
	jw_uint(j, "value", e->value);
	jw_bool(j, "full", e->full);
	jw_bool(j, "of_cable", e->cable);
	if (e->peer_guid)
		jw_guid(j, "peer_guid", e->peer_guid);
	else
		jw_null(j, "peer_guid");
	jw_uint(j, "peer_port", e->peer_port);
	jw_str(j, "text", e->text);
	jw_end(j);
}

static void
put_row(struct json *j, const struct health_row *v)
{
	char time[CLOCK_TEXT_SIZE];

	jw_object(j, NULL);
	jw_str(j, "node", v->node);
	jw_guid(j, "guid", v->guid);
	if (v->port)
		jw_uint(j, "port", v->port);
	else
		jw_null(j, "port");
	jw_str(j, "condition", v->condition);
	jw_str(j, "action", v->action);
	jw_str(j, "since", v->since ? clock_text(time, v->since) : NULL);
	jw_uint(j, "count", v->count);
	jw_str(j, "left", v->left[0] ? v->left : NULL);
	put_errors(j, &v->errors);
	jw_end(j);
}

static enum ctl_step
health_step(struct ctl_req *r)
{
	uint32_t *next = r->state;
	struct health_row v;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->health(r->subnet->subnet, *next, &v)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		put_row(&r->json, &v);
		*next = v.next;
	}
	return STEP_MORE;
}

static void
show_health(struct ctl_req *r)
{
	r->state = mem_zalloc(sizeof(uint32_t));
	r->state_free = mem_free;
	jw_array(req_begin(r), "health");
	req_stream(r, health_step);
}

const struct ctl_command ctl_cmd_health[] = {
	{ .name = "show health", .scope = SCOPE_PLAN, .run = show_health },
	{ 0 },
};
