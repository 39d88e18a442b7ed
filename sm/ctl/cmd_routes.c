/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/base/mem.h"
#include "sm/ctl/find.h"

/*
 * show routes NODE. Of a switch: how many LIDs leave by each port, and its forwarding table LID by
 * LID if "all" is set. Of any other node: where each switch sends what is for it.
 *
 * show routes with "dump": all tables. Whose LID each one is comes first, then a row a switch, two
 * hexadecimal digits a LID from 0 on, for there may be a hundred million entries.
 */
#define SLICE 512u		/* entries in one step */

struct routes {
	uint32_t node;		/* what was asked about */
	uint32_t sw;		/* its switch index; FABRIC_NONE: not a switch */
	uint16_t lid;		/* not a switch: its LID */
	uint32_t next;		/* LID, or switch, to write */
	uint32_t end;		/* one behind the last */
	bool rows;		/* dump: rows are being written, after the owners */
};

static const struct plan_dest *
dest_of(const struct plan *p, uint32_t lid)
{
	return p->lids->dest[lid].port == FABRIC_NONE ? NULL : &p->lids->dest[lid];
}

static void
put_out(struct json *j, const struct fabric *f, uint32_t node, uint8_t out)
{
	const struct fabric_node *n = &f->nodes[node];

	if (out == LFT_NO_PORT)
		jw_null(j, "out");
	else
		jw_uint(j, "out", out);
	put_port(j, "peer", f, out && out <= n->nports ? f->ports[n->first_port + out].peer
							  : FABRIC_NONE);
}

static enum ctl_step
table_step(struct ctl_req *r)
{
	struct routes *s = r->state;
	const struct plan *p = r->plan;
	struct json *j = &r->json;
	uint32_t end = s->end - s->next > SLICE ? s->next + SLICE : s->end;

	for (; s->next < end; s->next++) {
		const struct plan_dest *d = dest_of(p, s->next);

		if (!d)
			continue;
		jw_object(j, NULL);
		jw_uint(j, "lid", s->next);
		put_out(j, p->fabric, s->node, plan_row_port(p->rows[s->sw], s->next));
		put_port(j, "to", p->fabric, d->port);
		jw_end(j);
	}
	return s->next == s->end ? STEP_DONE : STEP_MORE;
}

/* LIDs by out port; the last slot is for those that have none. */
static void
put_loads(struct json *j, const struct plan *p, const struct routes *s)
{
	const struct fabric_node *n = &p->fabric->nodes[s->node];
	uint32_t loads[256] = { 0 }, total = 0;

	for (uint32_t lid = 1; p->lids && lid <= p->lids->top; lid++) {
		if (!dest_of(p, lid))
			continue;
		loads[plan_row_port(p->rows[s->sw], lid)]++;
		total++;
	}
	jw_uint(j, "lids", total);
	jw_uint(j, "dropped", loads[LFT_NO_PORT]);
	jw_bool(j, "fixed", p->fixed[s->sw]);
	jw_array(j, "ports");
	for (unsigned i = 0; i <= n->nports; i++) {
		if (!loads[i] &&
		    (i == 0 || p->fabric->ports[n->first_port + i].peer == FABRIC_NONE))
			continue;
		jw_object(j, NULL);
		jw_uint(j, "port", i);
		jw_uint(j, "lids", loads[i]);
		put_port(j, "peer", p->fabric,
			 i ? p->fabric->ports[n->first_port + i].peer : FABRIC_NONE);
		jw_end(j);
	}
	jw_end(j);
}

static void
switch_routes(struct ctl_req *r, struct routes *s)
{
	struct json *j = req_begin(r);
	const struct plan *p = r->plan;

	jw_str(j, "subnet", r->subnet->name);
	jw_str(j, "node", p->fabric->nodes[s->node].name);
	jw_guid(j, "guid", p->fabric->nodes[s->node].guid);
	jw_str(j, "type", "switch");
	jw_uint(j, "lid", node_lid(p, s->node));
	put_loads(j, p, s);
	if (!req_flag(r, "all")) {
		req_end(r);
		return;
	}
	s->next = 1;
	s->end = p->lids ? p->lids->top + 1u : 1;
	jw_array(j, "entries");
	req_stream(r, table_step);
}

static enum ctl_step
towards_step(struct ctl_req *r)
{
	struct routes *s = r->state;
	const struct plan *p = r->plan;
	struct json *j = &r->json;
	uint32_t end = s->end - s->next > SLICE ? s->next + SLICE : s->end;

	for (; s->next < end; s->next++) {
		uint32_t node = p->fabric->switches[s->next];

		jw_object(j, NULL);
		jw_str(j, "switch", p->fabric->nodes[node].name);
		jw_guid(j, "guid", p->fabric->nodes[node].guid);
		put_out(j, p->fabric, node, plan_row_port(p->rows[s->next], s->lid));
		jw_end(j);
	}
	return s->next == s->end ? STEP_DONE : STEP_MORE;
}

static void
host_routes(struct ctl_req *r, struct routes *s)
{
	struct json *j = req_begin(r);
	const struct plan *p = r->plan;
	uint32_t dropped = 0;

	s->end = p->fabric->nswitches;
	for (uint32_t i = 0; i < s->end; i++)
		dropped += plan_row_port(p->rows[i], s->lid) == LFT_NO_PORT;
	jw_str(j, "subnet", r->subnet->name);
	jw_str(j, "node", p->fabric->nodes[s->node].name);
	jw_guid(j, "guid", p->fabric->nodes[s->node].guid);
	jw_str(j, "type", node_type_name(p->fabric->nodes[s->node].type));
	jw_uint(j, "lid", s->lid);
	put_port(j, "port", p->fabric, p->lids->dest[s->lid].port);
	jw_uint(j, "switches", s->end);
	jw_uint(j, "dropped", dropped);
	jw_array(j, "entries");
	req_stream(r, towards_step);
}

static void
put_owner(struct json *j, const struct plan *p, uint32_t lid)
{
	const struct plan_dest *d = dest_of(p, lid);
	const struct fabric_port *port = d ? &p->fabric->ports[d->port] : NULL;

	if (!d || d->offset)
		return;
	jw_object(j, NULL);
	jw_uint(j, "lid", lid);
	jw_uint(j, "lids", 1u << p->lids->lmc[d->port]);
	jw_guid(j, "guid", port->guid);
	jw_str(j, "type", node_type_name(p->fabric->nodes[port->node].type));
	jw_str(j, "name", p->fabric->nodes[port->node].desc);
	jw_end(j);
}

static void
put_row(struct json *j, const struct plan *p, uint32_t sw)
{
	static const char digits[] = "0123456789abcdef";
	const struct fabric_node *n = fabric_switch_node(p->fabric, sw);
	char *text = mem_alloc((p->lids->top + 1u) * 2 + 1);

	for (uint32_t lid = 0; lid <= p->lids->top; lid++) {
		uint8_t port = plan_row_port(p->rows[sw], lid);

		text[lid * 2] = digits[port >> 4];
		text[lid * 2 + 1] = digits[port & 15];
	}
	text[(p->lids->top + 1u) * 2] = '\0';
	jw_object(j, NULL);
	jw_str(j, "switch", n->desc);
	jw_guid(j, "guid", n->guid);
	jw_uint(j, "lid", p->lids->base[n->first_port]);
	jw_str(j, "ports", text);
	jw_end(j);
	mem_free(text);
}

/* Switches that are silent and hold nothing known have no table to show. */
static enum ctl_step
rows_step(struct ctl_req *r)
{
	struct routes *s = r->state;
	const struct plan *p = r->plan;

	if (s->next < p->fabric->nswitches && p->rows[s->next])
		put_row(&r->json, p, s->next);
	return ++s->next >= p->fabric->nswitches ? STEP_DONE : STEP_MORE;
}

static enum ctl_step
dump_step(struct ctl_req *r)
{
	struct routes *s = r->state;
	uint32_t end = s->end - s->next > SLICE ? s->next + SLICE : s->end;

	if (s->rows)
		return rows_step(r);
	for (; s->next < end; s->next++)
		put_owner(&r->json, r->plan, s->next);
	if (s->next < s->end)
		return STEP_MORE;
	jw_end(&r->json);
	jw_array(&r->json, "tables");
	s->rows = true;
	s->next = 0;
	return r->plan->fabric->nswitches ? STEP_MORE : STEP_DONE;
}

static void
dump_routes(struct ctl_req *r, struct routes *s)
{
	struct json *j;

	if (req_string(r, "node")) {
		req_fail(r, EXIT_USAGE, "the tables of all switches are dumped: name no node");
		return;
	}
	if (!r->plan->lids) {
		req_fail(r, EXIT_REFUSED, "subnet %s has no LIDs yet", r->subnet->name);
		return;
	}
	s->next = 1;
	s->end = r->plan->lids->top + 1u;
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	jw_array(j, "owners");
	req_stream(r, dump_step);
}

static void
show_routes(struct ctl_req *r)
{
	struct routes *s = mem_zalloc(sizeof(*s));
	struct found found;
	struct error e = { 0 };

	r->state = s;
	r->state_free = mem_free;
	if (req_flag(r, "dump")) {
		dump_routes(r, s);
		return;
	}
	if (!req_string(r, "node")) {
		req_fail(r, EXIT_USAGE, "routes of which node?");
		return;
	}
	if (find_node(r->plan, req_string(r, "node"), true, &found, &e)) {
		req_error(r, &e);
		return;
	}
	if (find_is_inner(r->plan, &found)) {
		req_fail(r, EXIT_USAGE, "%s is a switch: its routes are those of all its ports",
			 r->plan->fabric->nodes[found.node].name);
		return;
	}
	s->node = found.node;
	s->sw = r->plan->fabric->nodes[found.node].sw;
	if (s->sw != FABRIC_NONE)
		switch_routes(r, s);
	else if (find_lid(r->plan, &found, &s->lid, &e))
		req_error(r, &e);
	else
		host_routes(r, s);
}

static const struct ctl_arg routes_args[] = {
	{ .name = "node" },
	{ .name = "all", .kind = ARG_FLAG },
	{ .name = "dump", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_routes[] = {
	{ .name = "show routes", .args = routes_args, .scope = SCOPE_PLAN, .run = show_routes },
	{ 0 },
};
