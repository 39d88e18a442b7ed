/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "sm/ctl/listing.h"

/*
 * show nodes, switches, ports, links: four listings over the published plan and its snapshot.
 * Worth a look are: nodes that do not answer; links that are not active, that run slower than
 * most of their kind (to hosts, between switches), whose ends refuse what is set, or that traffic
 * is kept off; and links that are lost: a port without a peer was cabled earlier. A drained cable
 * is a cable as any other: it is up, counted and shown with its state.
 */
enum {
	COUNT_SILENT,
	COUNT_SLOW,
	COUNT_REFUSED,
	COUNT_CABLED,
	COUNT_LOST,
	COUNT_DRAINED,
};

static const char *const node_types[] = { "ca", "switch", "router", NULL };

static const struct ctl_arg node_args[] = {
	{ .name = "filter" },
	{ .name = "type", .words = node_types },
	{ .name = "silent", .kind = ARG_FLAG },
	{ .name = "all", .kind = ARG_FLAG },
	{ 0 },
};

static const struct ctl_arg port_args[] = {
	{ .name = "filter" },
	{ .name = "type", .words = node_types },
	{ .name = "down", .kind = ARG_FLAG },
	{ .name = "slow", .kind = ARG_FLAG },
	{ .name = "all", .kind = ARG_FLAG },
	{ 0 },
};

static uint32_t
nodes_count(const struct plan *p)
{
	return p->fabric->nnodes;
}

static enum listing_pick
nodes_pick(struct listing *l, uint32_t i)
{
	const struct fabric_node *n = &l->plan->fabric->nodes[i];
	bool silent = (n->flags & FABRIC_NODE_SILENT) != 0;

	if ((l->silent && !silent) || !listing_takes(l, i))
		return PICK_NO;
	l->states[n->type & 7]++;
	l->counts[COUNT_SILENT] += silent;
	return silent ? PICK_NOTABLE : PICK_PLAIN;
}

static void
nodes_head(struct listing *l, struct json *j)
{
	jw_object(j, "summary");
	jw_uint(j, "nodes", l->matched);
	jw_uint(j, "switches", l->states[NODE_SWITCH]);
	jw_uint(j, "hosts", l->states[NODE_CA]);
	jw_uint(j, "routers", l->states[NODE_ROUTER]);
	jw_uint(j, "silent", l->counts[COUNT_SILENT]);
	jw_end(j);
}

/* What hangs on a node's ports. */
static void
put_cabling(struct json *j, const struct fabric *f, uint32_t node)
{
	uint32_t active = 0, cabled = 0, drained = 0, hosts = 0;

	for (unsigned i = 1; i <= f->nodes[node].nports; i++) {
		uint32_t port = f->nodes[node].first_port + i, end = fabric_cable_end(f, port);

		active += f->ports[port].state == PORT_ACTIVE;
		cabled += end != FABRIC_NONE;
		drained += link_drained(f, port);
		hosts += end != FABRIC_NONE &&
			 f->nodes[f->ports[end].node].type != NODE_SWITCH;
	}
	jw_uint(j, "ports", f->nodes[node].nports);
	jw_uint(j, "cabled", cabled);
	jw_uint(j, "active", active);
	jw_uint(j, "drained", drained);
	jw_uint(j, "hosts", hosts);
}

static void
nodes_row(struct listing *l, struct json *j, uint32_t i)
{
	const struct fabric *f = l->plan->fabric;
	const struct fabric_node *n = &f->nodes[i];

	jw_object(j, NULL);
	jw_str(j, "name", n->name);
	jw_guid(j, "guid", n->guid);
	jw_str(j, "type", node_type_name(n->type));
	jw_uint(j, "lid", node_lid(l->plan, i));
	put_cabling(j, f, i);
	if (n->type == NODE_SWITCH && l->plan->ranks)
		jw_uint(j, "rank", l->plan->ranks[n->sw]);
	jw_uint(j, "hops", n->hops);
	jw_bool(j, "silent", n->flags & FABRIC_NODE_SILENT);
	jw_uint(j, "vendor_id", n->vendor_id);
	jw_uint(j, "device_id", n->device_id);
	jw_str(j, "description", n->desc);
	jw_end(j);
}

static const struct listing_ops nodes_ops = {
	.array = "nodes",
	.count = nodes_count,
	.pick = nodes_pick,
	.head = nodes_head,
	.row = nodes_row,
};

static void
show_nodes(struct ctl_req *r)
{
	listing_run(r, &nodes_ops);
}

static uint32_t
switches_count(const struct plan *p)
{
	return p->fabric->nswitches;
}

static enum listing_pick
switches_pick(struct listing *l, uint32_t i)
{
	return nodes_pick(l, l->plan->fabric->switches[i]);
}

static void
switches_row(struct listing *l, struct json *j, uint32_t i)
{
	nodes_row(l, j, l->plan->fabric->switches[i]);
}

static const struct listing_ops switches_ops = {
	.array = "switches",
	.count = switches_count,
	.pick = switches_pick,
	.head = nodes_head,
	.row = switches_row,
};

static const struct ctl_arg switch_args[] = {
	{ .name = "filter" },
	{ .name = "silent", .kind = ARG_FLAG },
	{ .name = "all", .kind = ARG_FLAG },
	{ 0 },
};

static void
show_switches(struct ctl_req *r)
{
	listing_run(r, &switches_ops);
}

static uint32_t
ports_count(const struct plan *p)
{
	return p->fabric->nports;
}

/* Count a port (or a link, by one of its ends) and judge it. */
static enum listing_pick
pick_port(struct listing *l, const struct fabric_port *p, unsigned state)
{
	bool slow = listing_is_slow(l, p);
	bool refused = (p->flags & FABRIC_PORT_REFUSED) != 0;
	uint32_t port = (uint32_t)(p - l->plan->fabric->ports);
	bool cabled = fabric_cable_end(l->plan->fabric, port) != FABRIC_NONE;
	bool drained = link_drained(l->plan->fabric, port);

	if ((l->down && state == PORT_ACTIVE) || (l->slow && !slow))
		return PICK_NO;
	l->states[state & 7]++;
	l->counts[COUNT_SLOW] += slow;
	l->counts[COUNT_REFUSED] += refused;
	l->counts[COUNT_CABLED] += cabled;
	l->counts[COUNT_DRAINED] += drained;
	if (p->rate_mbps)
		listing_count_speed(l, p);
	return slow || refused || drained || (cabled && state != PORT_ACTIVE) ? PICK_NOTABLE :
	       PICK_PLAIN;
}

/* Port 0 is a switch's management port, and no port at all elsewhere. */
static enum listing_pick
ports_pick(struct listing *l, uint32_t i)
{
	const struct fabric_port *p = &l->plan->fabric->ports[i];

	if (p->number == 0 || !listing_takes_port(l, p))
		return PICK_NO;
	return pick_port(l, p, p->state);
}

static void
put_states(struct listing *l, struct json *j)
{
	jw_object(j, "by_state");
	for (unsigned state = PORT_ACTIVE; state >= PORT_DOWN; state--)
		jw_uint(j, port_state_name(state), l->states[state]);
	jw_end(j);
	listing_speeds(l, j, "by_speed");
	jw_uint(j, "slow", l->counts[COUNT_SLOW]);
	jw_uint(j, "refusing", l->counts[COUNT_REFUSED]);
	jw_uint(j, "drained", l->counts[COUNT_DRAINED]);
}

static void
ports_head(struct listing *l, struct json *j)
{
	jw_object(j, "summary");
	jw_uint(j, "ports", l->matched);
	jw_uint(j, "cabled", l->counts[COUNT_CABLED]);
	put_states(l, j);
	jw_end(j);
}

static void
put_link_state(struct listing *l, struct json *j, const struct fabric_port *p, unsigned state)
{
	char text[LINK_TEXT_SIZE];

	jw_str(j, "state", port_state_name(state));
	jw_str(j, "link", p->rate_mbps ? link_text(text, (enum link_width)p->width,
						     (enum link_speed)p->speed) : NULL);
	jw_uint(j, "rate_mbps", p->rate_mbps);
	jw_uint(j, "mtu", mtu_bytes(p->neighbor_mtu));
	jw_uint(j, "vls", p->op_vls == 5 ? 15 : p->op_vls ? 1u << (p->op_vls - 1) : 0);
	jw_bool(j, "slow", listing_is_slow(l, p));
	jw_bool(j, "refusing", p->flags & FABRIC_PORT_REFUSED);
}

static void
ports_row(struct listing *l, struct json *j, uint32_t i)
{
	const struct fabric *f = l->plan->fabric;
	const struct fabric_port *p = &f->ports[i];

	jw_object(j, NULL);
	jw_str(j, "node", f->nodes[p->node].name);
	jw_guid(j, "guid", f->nodes[p->node].guid);
	jw_uint(j, "port", p->number);
	if (p->guid)
		jw_guid(j, "port_guid", p->guid);
	jw_uint(j, "lid", port_lid(l->plan, i));
	put_link_state(l, j, p, p->state);
	jw_bool(j, "drained", link_drained(f, i));
	put_port(j, "peer", f, fabric_cable_end(f, i));
	jw_end(j);
}

static const struct listing_ops ports_ops = {
	.array = "ports",
	.ports = true,
	.count = ports_count,
	.start = listing_rates,
	.pick = ports_pick,
	.head = ports_head,
	.row = ports_row,
};

static void
show_ports(struct ctl_req *r)
{
	listing_run(r, &ports_ops);
}

/* A link is in the worse of its ends' states: an unreadable end is not held against it. */
static unsigned
link_state(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];
	unsigned other = f->ports[fabric_cable_end(f, port)].state;

	return other && other < p->state ? other : p->state;
}

/* The far end of a lost link, if its node is still there; else NULL. */
static const struct fabric_port *
lost_end(const struct fabric *f, const struct fabric_port *p)
{
	uint32_t node = fabric_node_by_guid(f, p->lost_peer);

	return node == FABRIC_NONE || p->lost_number > f->nodes[node].nports ? NULL
		: fabric_port_at(f, node, p->lost_number);
}

static enum listing_pick
pick_lost(struct listing *l, const struct fabric_port *p)
{
	const struct fabric_port *far = lost_end(l->plan->fabric, p);

	if (l->slow || !(listing_takes_port(l, p) || (far && listing_takes_port(l, far))))
		return PICK_NO;
	l->counts[COUNT_LOST]++;
	return PICK_NOTABLE;
}

/* Candidates are ports; a link is shown by its lower end. */
static enum listing_pick
links_pick(struct listing *l, uint32_t i)
{
	const struct fabric *f = l->plan->fabric;
	const struct fabric_port *p = &f->ports[i];
	uint32_t end = fabric_cable_end(f, i);
	bool takes;

	if (link_lost(f, i))
		return pick_lost(l, p);
	if (end == FABRIC_NONE || end < i)
		return PICK_NO;
	takes = listing_takes_port(l, p) || listing_takes_port(l, &f->ports[end]);
	return takes ? pick_port(l, p, link_state(f, i)) : PICK_NO;
}

static void
links_head(struct listing *l, struct json *j)
{
	jw_object(j, "summary");
	jw_uint(j, "links", l->matched - l->counts[COUNT_LOST]);
	jw_uint(j, "lost", l->counts[COUNT_LOST]);
	put_states(l, j);
	jw_end(j);
}

static void
put_lost_end(struct json *j, const struct fabric *f, const struct fabric_port *p)
{
	uint32_t node = fabric_node_by_guid(f, p->lost_peer);
	char guid[GUID_TEXT_SIZE];

	jw_object(j, "b");
	jw_str(j, "node", node == FABRIC_NONE ? guid_text(guid, p->lost_peer)
					      : f->nodes[node].name);
	jw_guid(j, "guid", p->lost_peer);
	jw_uint(j, "port", p->lost_number);
	jw_end(j);
}

static void
links_row(struct listing *l, struct json *j, uint32_t i)
{
	const struct fabric *f = l->plan->fabric;
	const struct fabric_port *p = &f->ports[i];
	uint32_t end = fabric_cable_end(f, i);
	bool lost = end == FABRIC_NONE;
	struct fabric_port gone = *p;

	jw_object(j, NULL);
	put_port(j, "a", f, i);
	if (lost)
		put_lost_end(j, f, p);
	else
		put_port(j, "b", f, end);
	/* What a port without a cable keeps of its last link is nothing of this one. */
	gone.rate_mbps = 0;
	gone.neighbor_mtu = gone.op_vls = 0;
	put_link_state(l, j, lost ? &gone : p, lost ? PORT_DOWN : link_state(f, i));
	jw_bool(j, "lost", lost);
	jw_bool(j, "drained", link_drained(f, i));
	jw_end(j);
}

static const struct listing_ops links_ops = {
	.array = "links",
	.ports = true,
	.count = ports_count,
	.start = listing_rates,
	.pick = links_pick,
	.head = links_head,
	.row = links_row,
};

static void
show_links(struct ctl_req *r)
{
	listing_run(r, &links_ops);
}

const struct ctl_command ctl_cmd_show[] = {
	{ .name = "show nodes", .args = node_args, .scope = SCOPE_PLAN, .run = show_nodes },
	{ .name = "show switches", .args = switch_args, .scope = SCOPE_PLAN, .run = show_switches },
	{ .name = "show ports", .args = port_args, .scope = SCOPE_PLAN, .run = show_ports },
	{ .name = "show links", .args = port_args, .scope = SCOPE_PLAN, .run = show_links },
	{ 0 },
};
