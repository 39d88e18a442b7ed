/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/control/script.h"
#include "sim/control/words.h"
#include "sim/model/model_impl.h"

/*
 * Commands that look: at the fabric as it is, at what is wrong with it, and at who is attached.
 */
#define WRONG_LINES 10u		/* of a kind, unless all are asked for */

static const char *
state_of(const struct sim_port *p)
{
	if (p->peer == IBNET_NONE)
		return "no cable";
	return p->cut ? "cut" : port_state_name(p->info.state);
}

struct totals {
	unsigned hosts, switches, routers;	/* nodes by type */
	unsigned links, down, active;		/* cables; those without a link; those in use */
	unsigned sms;				/* end ports with IsSM */
};

static void
count_port(const struct model *m, uint32_t i, unsigned k, struct totals *t)
{
	const struct sim_port *p = &m->nodes[i].ports[k], *q;

	if (is_end_port(&m->nodes[i], k) && p->info.cap_mask & CAP_IS_SM)
		t->sms++;
	if (!k || !is_first_end(p, i, k))
		return;
	q = &m->nodes[p->peer].ports[p->peer_port];
	t->links++;
	t->down += !port_is_up(p);
	t->active += p->info.state == PORT_ACTIVE && q->info.state == PORT_ACTIVE;
}

static void
count_all(const struct model *m, struct totals *t)
{
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		const struct sim_node *n = &m->nodes[i];

		t->hosts += n->type == NODE_CA;
		t->switches += n->type == NODE_SWITCH;
		t->routers += n->type == NODE_ROUTER;
		for (unsigned k = n->type != NODE_SWITCH; k <= n->nports; k++)
			count_port(m, i, k, t);
	}
}

static int
run_status(const struct call *c)
{
	const struct sim *s = c->s;
	unsigned waiting = script_waiting(s->script);
	struct totals t = { 0 };
	char text[DURATION_TEXT_SIZE];

	if (c->check)
		return 0;
	count_all(s->model, &t);
	buf_printf(c->out, "fabric    %u host%s, %u switch%s", t.hosts, t.hosts == 1 ? "" : "s",
		   t.switches, t.switches == 1 ? "" : "es");
	if (t.routers)
		buf_printf(c->out, ", %u routers", t.routers);
	buf_printf(c->out, "\nlinks     %u: %u active, %u down, %u on the way up\n", t.links,
		   t.active, t.down, t.links - t.active - t.down);
	buf_printf(c->out, "managers  %u port%s with IsSM\n", t.sms, t.sms == 1 ? "" : "s");
	if (s->host.attached)
		buf_printf(c->out, "programs  %u attached\n",
			   s->host.attached(s->host.programs_arg));
	buf_printf(c->out, "MADs      %" PRIu64 " sent by programs, %" PRIu64 " lost of all\n",
		   model_sent(s->model), model_lost(s->model));
	buf_printf(c->out, "faults    %u in effect\n", faults_list(s, NULL, 0));
	buf_printf(c->out, "script    %u event%s to come\n", waiting, waiting == 1 ? "" : "s");
	buf_printf(c->out, "time      %s since the start\n", duration_text(text, sim_time(s)));
	return 0;
}

static int
run_wrong(const struct call *c)
{
	static const char *const words[] = { "all", NULL };
	unsigned which;
	int rc = c->nargs ? arg_word(c, 0, words, &which) : 0;

	if (!rc && !c->check)
		wrong_list(c->s, c->out, c->nargs ? UINT32_MAX : WRONG_LINES);
	return rc;
}

/* ---- show ---- */

static void
print_port(const struct call *c, uint32_t i, unsigned k)
{
	const struct sim_node *n = &c->s->model->nodes[i];
	const struct sim_port *p = &n->ports[k];
	char rate[LINK_TEXT_SIZE] = "-", end[24] = "", guid[GUID_TEXT_SIZE];

	if (k && port_is_up(p))
		link_text(rate, p->info.width_active, portinfo_speed(&p->info));
	if (is_end_port(n, k))
		snprintf(end, sizeof(end), " lid %u", p->info.lid);
	buf_printf(c->out, "%s/%u  %s  %s  mtu %u  vls %u%s", names_text(c->s->names, i), k,
		   k ? state_of(p) : port_state_name(p->info.state), rate,
		   mtu_bytes(p->info.neighbor_mtu), p->info.op_vls == 5 ? 15 :
		   1u << (p->info.op_vls ? p->info.op_vls - 1 : 0), end);
	if (is_end_port(n, k))
		buf_printf(c->out, "  guid %s%s", guid_text(guid, p->guid),
			   p->info.cap_mask & CAP_IS_SM ? "  IsSM" : "");
	if (k && p->peer != IBNET_NONE)
		buf_printf(c->out, "  to %s/%u", names_text(c->s->names, p->peer), p->peer_port);
	buf_char(c->out, '\n');
}

static void
print_ports(const struct call *c, uint32_t i)
{
	const struct sim_node *n = &c->s->model->nodes[i];

	for (unsigned k = n->type != NODE_SWITCH; k <= n->nports; k++)
		print_port(c, i, k);
}

static void
print_node(const struct call *c, uint32_t i)
{
	const struct sim_node *n = &c->s->model->nodes[i];
	char text[GUID_TEXT_SIZE];

	buf_printf(c->out, "%s \"%s\", described as \"%s\"\n", n->type == NODE_SWITCH ? "switch" :
		   n->type == NODE_CA ? "host" : "router", n->ib->name, n->desc);
	buf_printf(c->out, "guid %s, %u port%s, vendor 0x%06x, device 0x%04x\n",
		   guid_text(text, n->guid), n->nports, n->nports == 1 ? "" : "s",
		   n->ib->vendor_id, n->ib->device_id);
	if (n->type == NODE_SWITCH)
		buf_printf(c->out, "LFT up to LID %u, PortStateChange %s\n", n->sw.linear_fdb_top,
			   n->sw.port_state_change ? "set" : "clear");
	print_ports(c, i);
}

static void
print_link(const struct call *c, uint32_t i, unsigned k, bool only_bad)
{
	const struct model *m = c->s->model;
	const struct sim_port *p = &m->nodes[i].ports[k], *q;
	char rate[LINK_TEXT_SIZE] = "-";

	if (!is_first_end(p, i, k))
		return;
	q = &m->nodes[p->peer].ports[p->peer_port];
	if (only_bad && p->info.state == PORT_ACTIVE && q->info.state == PORT_ACTIVE)
		return;
	if (port_is_up(p))
		link_text(rate, p->info.width_active, portinfo_speed(&p->info));
	buf_printf(c->out, "%s/%u  %s/%u  %s", names_text(c->s->names, i), k,
		   names_text(c->s->names, p->peer), p->peer_port, state_of(p));
	if (p->info.state != q->info.state)
		buf_printf(c->out, "/%s", port_state_name(q->info.state));
	buf_printf(c->out, "  %s\n", rate);
}

enum { SHOW_NODE, SHOW_LINKS, SHOW_PORTS, SHOW_FAULTS };

static void
print_all(const struct call *c, unsigned what, bool down)
{
	const struct model *m = c->s->model;

	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		if (what == SHOW_PORTS)
			print_ports(c, i);
		else
			for (unsigned k = 1; k <= m->nodes[i].nports; k++)
				print_link(c, i, k, down);
	}
}

static int
run_show(const struct call *c)
{
	static const char *const words[] = { "node", "links", "ports", "faults", NULL };
	bool down = c->nargs == 2 && strcmp(c->args[1], "down") == 0;
	unsigned what;
	uint32_t node = IBNET_NONE;
	int rc = arg_word(c, 0, words, &what);

	if (rc < 0)
		return rc;
	if (what == SHOW_NODE && c->nargs < 2)
		return error_set(c->e, ERR_INVALID, "usage: show node NODE");
	if ((what == SHOW_FAULTS || (what == SHOW_LINKS && !down)) && c->nargs == 2)
		return error_set(c->e, ERR_INVALID, "usage: show %s", what == SHOW_FAULTS ?
				 "faults" : "links [down]");
	if (what != SHOW_LINKS && c->nargs == 2 && (rc = arg_node(c, 1, &node)) < 0)
		return rc;
	if (c->check)
		return 0;
	if (what == SHOW_FAULTS && !faults_list(c->s, c->out, UINT32_MAX))
		buf_str(c->out, "no faults are in effect\n");
	else if (what == SHOW_NODE)
		print_node(c, node);
	else if (what == SHOW_PORTS && node != IBNET_NONE)
		print_ports(c, node);
	else if (what != SHOW_FAULTS)
		print_all(c, what, down);
	return 0;
}

static int
run_programs(const struct call *c)
{
	if (c->check)
		return 0;
	if (!c->s->host.programs)
		return error_set(c->e, ERR_UNSUPPORTED,
				 "no programs can attach to this simulation: "
				 "it runs inside of one");
	c->s->host.programs(c->s->host.programs_arg, c->out);
	return 0;
}

static int
run_time(const struct call *c)
{
	char text[SECONDS_TEXT_SIZE];

	if (!c->check)
		buf_printf(c->out, "%s\n", seconds_text(text, sim_time(c->s)));
	return 0;
}

static int
run_help(const struct call *c)
{
	if (!c->check)
		sim_help(c->out);
	return 0;
}

const struct command command_shows[] = {
	{ "status", "", "counts, programs, MADs, faults, time", 0, 0, run_status },
	{ "wrong", "[all]", "what is wrong with the fabric right now", 0, 1, run_wrong },
	{ "show", "node NODE|links [down]|ports [NODE]|faults", "the fabric as it is", 1, 2,
	  run_show },
	{ "programs", "", "the programs that are attached", 0, 0, run_programs },
	{ "time", "", "seconds since the start", 0, 0, run_time },
	{ "help", "", "these lines", 0, 0, run_help },
	{ 0 },
};
