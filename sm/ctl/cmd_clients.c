/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <inttypes.h>
#include <stdio.h>
#include "sm/base/mem.h"

/*
 * show services and show subscriptions: what programs on hosts have left with the subnet
 * administrator, a slice at a time; what comes or goes meanwhile may be told or not.
 */
#define SLICE 256u

/* The port that has a GUID, as "port": {node, guid, port}; node null: it is not there. */
static void
put_port(struct json *j, const struct plan *p, uint64_t guid)
{
	uint32_t port = p ? fabric_port_by_guid(p->fabric, guid) : FABRIC_NONE;
	const struct fabric_port *at = port == FABRIC_NONE ? NULL : &p->fabric->ports[port];

	jw_object(j, "port");
	jw_str(j, "node", at ? p->fabric->nodes[at->node].name : NULL);
	jw_guid(j, "guid", guid);
	if (at)
		jw_uint(j, "port", at->number);
	else
		jw_null(j, "port");
	jw_end(j);
}

static void
put_gid(struct json *j, const char *key, const uint64_t gid[2])
{
	char text[40];

	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, gid[0], gid[1]);
	jw_str(j, key, text);
}

static void
put_service(struct json *j, const struct plan *p, const struct service_row *v)
{
	char id[20];

	snprintf(id, sizeof(id), "0x%016" PRIx64, v->id);
	jw_object(j, NULL);
	jw_str(j, "id", id);
	jw_str(j, "name", v->name);
	put_port(j, p, v->port_guid);
	put_gid(j, "gid", v->gid);
	jw_uint(j, "pkey", v->pkey);
	if (v->lease == UINT32_MAX)
		jw_null(j, "lease_s");
	else
		jw_uint(j, "lease_s", v->lease);
	jw_end(j);
}

static enum ctl_step
services_step(struct ctl_req *r)
{
	uint64_t *next = r->state;
	struct service_row v;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->service(r->subnet->subnet, *next, &v)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		put_service(&r->json, r->plan, &v);
		*next = v.next;
	}
	return STEP_MORE;
}

/* A number, or null where it stands for all. */
static void
put_choice(struct json *j, const char *key, uint64_t value, uint64_t all)
{
	if (value == all)
		jw_null(j, key);
	else
		jw_uint(j, key, value);
}

static void
put_subscription(struct json *j, const struct plan *p, const struct subscription_row *v)
{
	bool by_gid = v->gid[0] || v->gid[1];

	jw_object(j, NULL);
	put_port(j, p, v->guid);
	jw_uint(j, "qp", v->qp);
	jw_bool(j, "generic", v->generic);
	put_choice(j, "type", v->type, 0xffff);
	put_choice(j, "trap", v->trap, 0xffff);
	put_choice(j, "producer", v->producer, 0xffffff);
	if (by_gid)
		put_gid(j, "gid", v->gid);
	else
		jw_null(j, "gid");
	if (by_gid || v->lid_first == 0xffff) {
		jw_null(j, "lids");
	} else {
		jw_array(j, "lids");
		jw_uint(j, NULL, v->lid_first);
		jw_uint(j, NULL, v->lid_last ? v->lid_last : v->lid_first);
		jw_end(j);
	}
	jw_bool(j, "trusted", v->trusted);
	jw_object(j, "reports");
	jw_uint(j, "sent", v->sent);
	jw_uint(j, "answered", v->answered);
	jw_uint(j, "lost", v->lost);
	jw_uint(j, "waiting", v->waiting);
	jw_end(j);
	jw_end(j);
}

static enum ctl_step
subscriptions_step(struct ctl_req *r)
{
	uint64_t *next = r->state;
	struct subscription_row v;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->subscription(r->subnet->subnet, *next, &v)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		put_subscription(&r->json, r->plan, &v);
		*next = v.next;
	}
	return STEP_MORE;
}

static void
begin(struct ctl_req *r, const char *array, ctl_step_fn step)
{
	struct json *j;

	r->state = mem_zalloc(sizeof(uint64_t));
	r->state_free = mem_free;
	j = req_begin(r);
	jw_array(j, array);
	req_stream(r, step);
}

static void
show_services(struct ctl_req *r)
{
	begin(r, "services", services_step);
}

static void
show_subscriptions(struct ctl_req *r)
{
	begin(r, "subscriptions", subscriptions_step);
}

const struct ctl_command ctl_cmd_clients[] = {
	{ .name = "show services", .scope = SCOPE_PLAN, .run = show_services },
	{ .name = "show subscriptions", .scope = SCOPE_PLAN, .run = show_subscriptions },
	{ 0 },
};
