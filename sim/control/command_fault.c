/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/control/select.h"
#include "sim/control/words.h"
#include "sim/model/model_impl.h"

/*
 * Commands that change the fabric: cables, devices, and what devices do wrong. The event log gets
 * its lines from the model.
 */
#define MILLION 1e6

static int
need_cable(const struct call *c, uint32_t node, unsigned port)
{
	if (c->s->model->nodes[node].ports[port].peer != IBNET_NONE)
		return 0;
	return error_set(c->e, ERR_NOT_FOUND, "no cable is in %s/%u",
			 names_text(c->s->names, node), port);
}

static int
set_link(const struct call *c, bool up)
{
	uint32_t node;
	unsigned port;
	int rc;

	if ((rc = arg_port(c, 0, &node, &port)) < 0 || c->check)
		return rc;
	if ((rc = need_cable(c, node, port)) < 0)
		return rc;
	model_link_set(c->s->model, node, port, up);
	return 0;
}

static int
run_link_down(const struct call *c)
{
	return set_link(c, false);
}

static int
run_link_up(const struct call *c)
{
	return set_link(c, true);
}

static int
run_flap(const struct call *c)
{
	uint32_t node;
	unsigned port;
	monotime hold;
	int rc;

	if ((rc = arg_port(c, 0, &node, &port)) < 0 || (rc = arg_time(c, 1, &hold)) < 0 ||
	    c->check)
		return rc;
	if ((rc = need_cable(c, node, port)) < 0)
		return rc;
	model_link_flap(c->s->model, node, port, hold);
	return 0;
}

static int
run_recable(const struct call *c)
{
	uint32_t a, b;
	unsigned aport, bport;
	int rc;

	if ((rc = arg_port(c, 0, &a, &aport)) < 0 || (rc = arg_port(c, 1, &b, &bport)) < 0 ||
	    c->check)
		return rc;
	model_recable(c->s->model, a, aport, b, bport);
	return 0;
}

static int
run_link_rate(const struct call *c)
{
	enum link_width width = 0;
	enum link_speed speed = SPEED_NONE;
	uint32_t node;
	unsigned port;
	int rc;

	if ((rc = arg_port(c, 0, &node, &port)) < 0)
		return rc;
	if (strcmp(c->args[1], "full") != 0 && !link_parse(c->args[1], &width, &speed))
		return error_set(c->e, ERR_INVALID, "\"%.60s\" is no rate: name one as in 4xHDR, "
				 "or full", c->args[1]);
	if (c->check)
		return 0;
	if ((rc = need_cable(c, node, port)) < 0)
		return rc;
	model_link_limit(c->s->model, node, port, width, speed);
	return 0;
}

/* ---- Devices, one or a selection ---- */

static int
on_nodes(const struct call *c, bool switches, void (*fn)(struct model *m, uint32_t node))
{
	struct selection nodes;
	int rc = select_nodes(&nodes, c->s, c->args[0], switches, c->e);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < nodes.len && !c->check; i++)
		fn(c->s->model, nodes.nodes[i]);
	if (nodes.len > 1 && !c->check)
		buf_printf(c->out, "%u nodes\n", nodes.len);
	select_free(&nodes);
	return 0;
}

static void
do_power_off(struct model *m, uint32_t node)
{
	model_power(m, node, false);
}

static void
do_power_on(struct model *m, uint32_t node)
{
	model_power(m, node, true);
}

static int
run_node_down(const struct call *c)
{
	return on_nodes(c, false, do_power_off);
}

static int
run_node_up(const struct call *c)
{
	return on_nodes(c, false, do_power_on);
}

static int
run_plane_down(const struct call *c)
{
	return on_nodes(c, true, do_power_off);
}

static int
run_plane_up(const struct call *c)
{
	return on_nodes(c, true, do_power_on);
}

static int
run_reboot(const struct call *c)
{
	return on_nodes(c, false, model_reboot);
}

static void
do_silence(struct model *m, uint32_t node)
{
	model_silence(m, node, MODEL_SILENT);
}

static void
do_hang(struct model *m, uint32_t node)
{
	model_silence(m, node, MODEL_HUNG);
}

static void
do_answer(struct model *m, uint32_t node)
{
	model_silence(m, node, MODEL_ANSWERS);
}

static int
run_silence(const struct call *c)
{
	return on_nodes(c, false, do_silence);
}

static int
run_hang(const struct call *c)
{
	return on_nodes(c, false, do_hang);
}

static int
run_answer(const struct call *c)
{
	return on_nodes(c, false, do_answer);
}

static int
arg_off(const struct call *c, unsigned i, bool *off)
{
	static const char *const words[] = { "off", NULL };
	unsigned which;

	*off = c->nargs > i;
	return *off ? arg_word(c, i, words, &which) : 0;
}

/* A node remembers so many attributes of a kind and no more. */
static int
need_slot(const struct call *c, const uint16_t list[MUTES], uint16_t attr)
{
	for (unsigned i = 0; i < MUTES; i++)
		if (!list[i] || list[i] == attr)
			return 0;
	return error_set(c->e, ERR_FULL, "%u attributes of that node are treated so already, which "
			 "is the most", MUTES);
}

static int
run_mute(const struct call *c)
{
	uint32_t node;
	uint16_t attr;
	bool off;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 || (rc = arg_attr(c, 1, &attr)) < 0 ||
	    (rc = arg_off(c, 2, &off)) < 0 || c->check)
		return rc;
	if (!off && (rc = need_slot(c, c->s->model->nodes[node].mute, attr)) < 0)
		return rc;
	model_mute(c->s->model, node, attr, !off);
	return 0;
}

/* refuse and fail: what Sets of an attribute get for an answer, and what Gets. */
static int
set_status(const struct call *c, bool get)
{
	uint64_t status = MAD_STATUS_BAD_FIELD;
	struct sim_node *n;
	uint32_t node;
	uint16_t attr;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 || (rc = arg_attr(c, 1, &attr)) < 0)
		return rc;
	if (c->nargs == 3 && strcmp(c->args[2], "off") == 0)
		status = 0;
	else if (c->nargs == 3 &&
		 (rc = arg_number(c, 2, "a MAD status", 1, 0x7fff, &status)) < 0)
		return rc;
	if (c->check)
		return 0;
	n = &c->s->model->nodes[node];
	if (status && (rc = need_slot(c, get ? n->fail : n->refuse, attr)) < 0)
		return rc;
	if (get)
		model_fail_get(c->s->model, node, attr, (uint16_t)status);
	else
		model_refuse(c->s->model, node, attr, (uint16_t)status);
	return 0;
}

static int
run_refuse(const struct call *c)
{
	return set_status(c, false);
}

static int
run_fail(const struct call *c)
{
	return set_status(c, true);
}

static int
arg_percent(const struct call *c, unsigned i, uint32_t *ppm)
{
	double percent;

	if (!decimal_parse(c->args[i], 0, 100, &percent))
		return error_set(c->e, ERR_INVALID,
				 "\"%.60s\" is no share: a number from 0 to 100, "
				 "in percent", c->args[i]);
	*ppm = (uint32_t)(percent / 100 * MILLION + 0.5);
	return 0;
}

/* NODE, NODE/PORT or "all" (MODEL_ALL); a way that MADs take over a port's cable may follow the
 * value. */
static int
arg_place(const struct call *c, uint32_t *node, unsigned *port, enum model_way *way)
{
	static const char *const words[] = { "out", "in", "both", NULL };
	unsigned which = 2;
	int rc = 0;

	*port = 0;
	*node = MODEL_ALL;
	if (strcmp(c->args[0], "all") != 0)
		rc = names_either(c->s->names, c->args[0], node, port, c->e);
	if (!rc && c->nargs > 2 && !*port)
		return error_set(c->e, ERR_INVALID, "\"%.60s\" goes with a port alone", c->args[2]);
	if (!rc && c->nargs > 2)
		rc = arg_word(c, 2, words, &which);
	*way = (enum model_way)(which + 1);
	return rc;
}

static int
run_drop(const struct call *c)
{
	uint32_t node, ppm = 0;
	enum model_way way;
	unsigned port;
	int rc;

	if ((rc = arg_place(c, &node, &port, &way)) < 0 || (rc = arg_percent(c, 1, &ppm)) < 0 ||
	    c->check)
		return rc;
	if (!port)
		model_drop(c->s->model, node, ppm);
	else if ((rc = need_cable(c, node, port)) == 0)
		model_link_drop(c->s->model, node, port, way, ppm);
	return rc;
}

static int
run_delay(const struct call *c)
{
	enum model_way way;
	unsigned port;
	uint32_t node;
	monotime t;
	int rc;

	if ((rc = arg_place(c, &node, &port, &way)) < 0 || (rc = arg_time(c, 1, &t)) < 0)
		return rc;
	if (node == MODEL_ALL)
		return error_set(c->e, ERR_INVALID, "all nodes cannot be late at once: name one");
	if (c->check)
		return 0;
	if (!port)
		model_delay(c->s->model, node, t);
	else if ((rc = need_cable(c, node, port)) == 0)
		model_link_delay(c->s->model, node, port, way, t);
	return rc;
}

static int
run_slow(const struct call *c)
{
	uint64_t rate, queue = 0;
	uint32_t node;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 ||
	    (rc = arg_number(c, 1, "MADs a second", 0, 10000000, &rate)) < 0 ||
	    (c->nargs > 2 && (rc = arg_number(c, 2, "a queue", 1, 1000000, &queue)) < 0) ||
	    c->check)
		return rc;
	model_slow(c->s->model, node, (uint32_t)rate, (uint32_t)queue);
	return 0;
}

static int
run_lie(const struct call *c)
{
	uint32_t node;
	uint64_t port;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 ||
	    (rc = arg_number(c, 1, "a port", 0, 255, &port)) < 0 || c->check)
		return rc;
	model_lie_local_port(c->s->model, node, (uint8_t)port);
	return 0;
}

static int
run_guid(const struct call *c)
{
	uint32_t node;
	uint64_t guid;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 || (rc = arg_guid(c, 1, &guid)) < 0 || c->check)
		return rc;
	model_set_node_guid(c->s->model, node, guid);
	return 0;
}

static int
run_system_guid(const struct call *c)
{
	uint32_t node;
	uint64_t guid;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 || (rc = arg_guid(c, 1, &guid)) < 0 || c->check)
		return rc;
	model_set_system_guid(c->s->model, node, guid);
	return 0;
}

static int
run_port_guid(const struct call *c)
{
	uint32_t node;
	unsigned port;
	uint64_t guid;
	int rc;

	if ((rc = names_port(c->s->names, c->args[0], true, &node, &port, c->e)) < 0 ||
	    (rc = arg_guid(c, 1, &guid)) < 0)
		return rc;
	if (!is_end_port(&c->s->model->nodes[node], port))
		return error_set(c->e, ERR_INVALID, "%s has no GUID: of a switch only port 0 has "
				 "one", c->args[0]);
	if (!c->check)
		model_set_port_guid(c->s->model, node, port, guid);
	return 0;
}

static int
run_lid(const struct call *c)
{
	uint32_t node;
	unsigned port;
	uint64_t lid;
	int rc;

	if ((rc = names_port(c->s->names, c->args[0], true, &node, &port, c->e)) < 0)
		return rc;
	if (!is_end_port(&c->s->model->nodes[node], port))
		return error_set(c->e, ERR_INVALID, "%s has no LID: of a switch only port 0 has "
				 "one", c->args[0]);
	if (!number_parse(c->args[1], 0, LID_UNICAST_MAX, &lid))
		return error_set(c->e, ERR_INVALID, "a LID is a number of 0 to %u, not \"%s\"",
				 LID_UNICAST_MAX, c->args[1]);
	if (!c->check)
		model_set_lid(c->s->model, node, port, (uint16_t)lid);
	return 0;
}

static int
run_description(const struct call *c)
{
	uint32_t node;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0)
		return rc;
	if (strlen(c->args[1]) > NODEDESC_SIZE - 1)
		return error_set(c->e, ERR_INVALID, "a description has at most %u bytes",
				 NODEDESC_SIZE - 1);
	if (!c->check)
		model_set_description(c->s->model, node, c->args[1]);
	return 0;
}

/* As if somebody at LID 1 had used a key that is not the device's. */
static int
trap_of_key(const struct call *c, uint32_t node, unsigned port, uint16_t trap)
{
	const struct smp smp = {
		.h = { .method = MAD_GET, .attr_id = ATTR_PORT_INFO,
		       .mgmt_class = MAD_CLASS_SUBN_LID },
		.m_key = 1,
	};
	bool is_switch = c->s->model->nodes[node].type == NODE_SWITCH;

	if (trap == TRAP_SWITCH_BAD_P_KEY ? !is_switch || !port :
	    !is_end_port(&c->s->model->nodes[node], port))
		return error_set(c->e, ERR_INVALID, "%s does not send trap %u: %s does", c->args[0],
				 trap, trap == TRAP_SWITCH_BAD_P_KEY ?
				 "a port of a switch, not 0," :
				 "a port of a host, or 0 of a switch,");
	if (c->check)
		return 0;
	if (trap == TRAP_BAD_M_KEY)
		trap_bad_mkey(c->s->model, node, port, 1, &smp);
	else
		model_bad_key(c->s->model, node, port, (enum trap_number)trap, 0x8001, 1);
	return 0;
}

/* Traps that a device sends by itself are those of faults; these are sent because somebody says
 * so. */
static int
run_trap(const struct call *c)
{
	static const char *const words[] = {
		"128", "129", "130", "131", "144", "256", "257", "258", "259", NULL,
	};
	static const uint16_t traps[] = { 128, 129, 130, 131, 144, 256, 257, 258, 259 };
	unsigned which, port;
	uint32_t node;
	int rc;

	if ((rc = names_port(c->s->names, c->args[0], true, &node, &port, c->e)) < 0 ||
	    (rc = arg_word(c, 1, words, &which)) < 0)
		return rc;
	if (which == 0 && (port || c->s->model->nodes[node].type != NODE_SWITCH))
		return error_set(c->e, ERR_INVALID, "%s does not send trap 128: port 0 of a switch "
				 "does", c->args[0]);
	if (which == 4 && !is_end_port(&c->s->model->nodes[node], port))
		return error_set(c->e, ERR_INVALID, "%s does not send trap 144: of a switch port 0 "
				 "does", c->args[0]);
	if (traps[which] >= 256)
		return trap_of_key(c, node, port, traps[which]);
	if (which && which != 4 && !port)
		return error_set(c->e, ERR_INVALID, "%s has no link that could have errors",
				 c->args[0]);
	if (c->check)
		return 0;
	if (which == 0)
		trap_128(c->s->model, node);
	else if (which == 4)
		model_local_change(c->s->model, node, port, 0);
	else
		model_port_errors(c->s->model, node, port,
				  (enum trap_number)(TRAP_LINK_STATE + which));
	return 0;
}

static int
run_heal(const struct call *c)
{
	unsigned n;

	if (c->check)
		return 0;
	n = faults_heal(c->s);
	buf_printf(c->out, "%u fault%s undone\n", n, n == 1 ? "" : "s");
	return 0;
}

const struct command command_faults[] = {
	{ "link-down", "NODE/PORT", "cut a cable", 1, 1, run_link_down },
	{ "link-up", "NODE/PORT", "mend it", 1, 1, run_link_up },
	{ "flap", "NODE/PORT TIME", "cut a cable and mend it after a time", 2, 2, run_flap },
	{ "link-rate", "NODE/PORT RATE|full", "the link trains at most at this rate", 2, 2,
	  run_link_rate },
	{ "recable", "NODE/PORT NODE/PORT", "pull the cables of both ports, join the two", 2, 2,
	  run_recable },
	{ "node-down", "NODES", "no power: no links, and tables are lost", 1, 1, run_node_down },
	{ "node-up", "NODES", "power again", 1, 1, run_node_up },
	{ "reboot", "NODES", "both at once", 1, 1, run_reboot },
	{ "plane-down", "SWITCHES", "no power for a whole plane", 1, 1, run_plane_down },
	{ "plane-up", "SWITCHES", "power again", 1, 1, run_plane_up },
	{ "silence", "NODES", "agents answer nothing; MADs pass through", 1, 1, run_silence },
	{ "hang", "NODES", "nor do directed routes pass; tables still forward", 1, 1, run_hang },
	{ "answer", "NODES", "they answer again", 1, 1, run_answer },
	{ "mute", "NODE ATTRIBUTE [off]", "no answer to one attribute", 2, 3, run_mute },
	{ "refuse", "NODE ATTRIBUTE [STATUS|off]", "Sets of it are refused, by 0x1c", 2, 3,
	  run_refuse },
	{ "fail", "NODE ATTRIBUTE [STATUS|off]", "Gets of it are", 2, 3, run_fail },
	{ "drop", "NODE|NODE/PORT|all PERCENT [in|out]", "lose a share of the MADs there", 2, 3,
	  run_drop },
	{ "delay", "NODE|NODE/PORT TIME [in|out]", "answers, or MADs on a cable, come later", 2, 3,
	  run_delay },
	{ "slow", "NODE MADS_A_SECOND [QUEUE]", "its agent does no more; 0 ends it", 2, 3,
	  run_slow },
	{ "lie", "NODE PORT", "it tells this LocalPortNum; 0 ends it", 2, 2, run_lie },
	{ "guid", "NODE GUID", "another node GUID, which may double another's", 2, 2, run_guid },
	{ "port-guid", "NODE/PORT GUID", "another port GUID; port 0 of a switch", 2, 2,
	  run_port_guid },
	{ "lid", "NODE/PORT LID", "another LID, which may double another's", 2, 2, run_lid },
	{ "system-guid", "NODE GUID", "another SystemImageGUID, with trap 145", 2, 2,
	  run_system_guid },
	{ "description", "NODE TEXT", "another NodeDescription, with trap 144", 2, 2,
	  run_description },
	{ "trap", "NODE/PORT 128|...|131|144|256|...|259", "send this trap", 2, 2, run_trap },
	{ "heal", "", "undo all faults that are in effect", 0, 0, run_heal },
	{ 0 },
};
