/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/base/mem.h"

/*
 * show counters: how the error counters of ports are read, and each port at which they are not all
 * 0, a slice at a time.
 */
#define SLICE 256u

static void
put_view(struct json *j, const struct counters_view *v)
{
	jw_real(j, "interval_s", v->interval_s);
	jw_object(j, "last_sweep");
	jw_uint(j, "number", v->sweeps);
	jw_real(j, "took_s", v->took_s);
	jw_uint(j, "ports", v->ports);
	jw_uint(j, "unread", v->unread);
	jw_uint(j, "mads", v->mads);
	jw_end(j);
}

static void
put_node(struct json *j, const struct plan *p, const char *name_key, const char *guid_key,
	 uint64_t guid)
{
	uint32_t node = p && guid ? fabric_node_by_guid(p->fabric, guid) : FABRIC_NONE;

	jw_str(j, name_key, node == FABRIC_NONE ? NULL : p->fabric->nodes[node].name);
	if (guid)
		jw_guid(j, guid_key, guid);
	else
		jw_null(j, guid_key);
}

static void
put_port(struct json *j, const char *key, unsigned port)
{
	if (port)
		jw_uint(j, key, port);
	else
		jw_null(j, key);
}

static void
put_row(struct json *j, const struct plan *p, const struct counters_row *row)
{
	jw_object(j, NULL);
	put_node(j, p, "node", "guid", row->guid);
	put_port(j, "port", row->port);
	put_node(j, p, "peer", "peer_guid", row->peer_guid);
	put_port(j, "peer_port", row->peer_port);
	jw_str(j, "state", row->state);
	jw_uint(j, "bits", row->extended ? 64 : 16);
	jw_object(j, "errors");
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		jw_uint(j, perf_error_name(i), row->errors[i]);
	jw_end(j);
	jw_end(j);
}

static enum ctl_step
rows_step(struct ctl_req *r)
{
	uint64_t *next = r->state;
	struct counters_row row;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->counters_row(r->subnet->subnet, *next, &row)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		*next = row.next;
		if (!row.state)
			return STEP_MORE;
		put_row(&r->json, r->plan, &row);
	}
	return STEP_MORE;
}

static void
show_counters(struct ctl_req *r)
{
	struct counters_view v;
	struct json *j;

	r->state = mem_zalloc(sizeof(uint64_t));
	r->state_free = mem_free;
	j = req_begin(r);
	r->subnet->counters(r->subnet->subnet, &v);
	jw_str(j, "subnet", r->subnet->name);
	put_view(j, &v);
	jw_array(j, "ports");
	req_stream(r, rows_step);
}

const struct ctl_command ctl_cmd_counters[] = {
	{ .name = "show counters", .scope = SCOPE_PLAN, .run = show_counters },
	{ 0 },
};
