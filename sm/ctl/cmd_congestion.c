/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/base/mem.h"

/*
 * show congestion: what the configuration wants of congestion control, and what each end port that
 * was asked has told of itself, a slice at a time.
 */
#define SLICE 256u

static void
put_levels(struct json *j, const char *key, uint16_t levels)
{
	jw_array(j, key);
	for (unsigned sl = 0; sl < CC_LEVELS; sl++)
		if (levels >> sl & 1)
			jw_uint(j, NULL, sl);
	jw_end(j);
}

static void
put_entry(struct json *j, const struct cc_ca_entry *e)
{
	jw_uint(j, "timer", e->timer);
	jw_uint(j, "increase", e->increase);
	jw_uint(j, "trigger", e->trigger);
	jw_uint(j, "least", e->least);
}

static void
put_wanted(struct json *j, const struct congestion_view *v)
{
	jw_bool(j, "enabled", v->enabled);
	jw_bool(j, "undoing", v->undoing);
	jw_object(j, "wanted");
	jw_bool(j, "key", v->keyed);
	jw_uint(j, "threshold", v->threshold);
	jw_uint(j, "packet_size", v->packet_size);
	jw_uint(j, "marking_rate", v->marking_rate);
	jw_bool(j, "credit_starvation", v->starvation);
	put_entry(j, &v->host);
	put_levels(j, "levels_off", v->levels_off);
	jw_uint(j, "steps", v->steps);
	jw_end(j);
	jw_object(j, "ports");
	jw_uint(j, "held", v->held);
	jw_uint(j, "unread", v->unread);
	jw_uint(j, "refused", v->refused);
	jw_uint(j, "locked", v->locked);
	jw_uint(j, "absent", v->absent);
	jw_end(j);
}

/* Ports as ranges would be shorter, but this is what they are on the device. */
static void
put_ports(struct json *j, const char *key, const struct cc_ports *p)
{
	jw_array(j, key);
	for (unsigned i = 0; i < 255; i++)
		if (cc_ports_has(p, i))
			jw_uint(j, NULL, i);
	jw_end(j);
}

static void
put_switch(struct json *j, const struct congestion_row *row)
{
	jw_object(j, "switch");
	jw_uint(j, "threshold", row->sw.threshold);
	jw_uint(j, "packet_size", row->sw.packet_size);
	jw_uint(j, "marking_rate", row->sw.marking_rate);
	put_ports(j, "victim_ports", &row->sw.victim);
	put_ports(j, "credit_ports", &row->sw.credit);
	jw_uint(j, "credit_threshold", row->sw.starvation);
	jw_uint(j, "overridden", row->overridden);
	jw_end(j);
}

/* Levels that are alike are told together. */
static void
put_host(struct json *j, const struct congestion_row *row)
{
	uint16_t told = 0;

	jw_object(j, "host");
	jw_bool(j, "by_level", row->ca.port_control & CC_PORT_BY_LEVEL);
	jw_array(j, "levels");
	for (unsigned sl = 0; sl < CC_LEVELS; sl++) {
		const struct cc_ca_entry *e = &row->ca.entries[sl], *o = row->ca.entries;
		uint16_t same = 0;

		for (unsigned i = sl; i < CC_LEVELS; i++)
			if (o[i].timer == e->timer && o[i].increase == e->increase &&
			    o[i].trigger == e->trigger && o[i].least == e->least)
				same |= (uint16_t)(1u << i);
		if (told >> sl & 1)
			continue;
		told |= same;
		jw_object(j, NULL);
		put_levels(j, "sls", same);
		put_entry(j, e);
		jw_end(j);
	}
	jw_end(j);
	jw_uint(j, "steps", row->steps);
	jw_uint(j, "room", row->room);
	jw_end(j);
}

static void
put_row(struct json *j, const struct plan *p, const struct congestion_row *row)
{
	uint32_t node = p ? fabric_node_by_guid(p->fabric, row->guid) : FABRIC_NONE;

	jw_object(j, NULL);
	jw_str(j, "node", node == FABRIC_NONE ? NULL : p->fabric->nodes[node].name);
	jw_guid(j, "guid", row->guid);
	jw_uint(j, "port", row->port);
	jw_str(j, "state", row->state);
	jw_str(j, "why", row->why);
	jw_str(j, "key", row->key);
	jw_uint(j, "key_violations", row->violations);
	if (row->known && row->is_switch)
		put_switch(j, row);
	else
		jw_null(j, "switch");
	if (row->known && !row->is_switch)
		put_host(j, row);
	else
		jw_null(j, "host");
	jw_end(j);
}

static enum ctl_step
rows_step(struct ctl_req *r)
{
	uint64_t *next = r->state;
	struct congestion_row row;

	for (unsigned i = 0; i < SLICE; i++) {
		if (!r->subnet->congestion_row(r->subnet->subnet, *next, &row)) {
			jw_end(&r->json);
			return STEP_DONE;
		}
		put_row(&r->json, r->plan, &row);
		*next = row.next;
	}
	return STEP_MORE;
}

static void
show_congestion(struct ctl_req *r)
{
	struct congestion_view v;
	struct json *j;

	r->state = mem_zalloc(sizeof(uint64_t));
	r->state_free = mem_free;
	j = req_begin(r);
	r->subnet->congestion(r->subnet->subnet, &v);
	jw_str(j, "subnet", r->subnet->name);
	put_wanted(j, &v);
	jw_array(j, "devices");
	req_stream(r, rows_step);
}

const struct ctl_command ctl_cmd_congestion[] = {
	{ .name = "show congestion", .scope = SCOPE_PLAN, .run = show_congestion },
	{ 0 },
};
