/* SPDX-License-Identifier: BSD-2-Clause */
#include <fnmatch.h>
#include <inttypes.h>
#include <regex.h>
#include <string.h>
#include "sim/command.h"
#include "sim/model_impl.h"
#include "sim/names.h"
#include "sim/script.h"
#include "sim/words.h"

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
	model_link_set(c->s->model, node, port, false);
	script_link_up(c->s->script, hold, node, port);
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
on_node(const struct call *c, void (*fn)(struct model *m, uint32_t node))
{
	uint32_t node;
	int rc = arg_node(c, 0, &node);

	if (!rc && !c->check)
		fn(c->s->model, node);
	return rc;
}

static int
run_reboot(const struct call *c)
{
	return on_node(c, model_reboot);
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
	return on_node(c, do_silence);
}

static int
run_hang(const struct call *c)
{
	return on_node(c, do_hang);
}

static int
run_answer(const struct call *c)
{
	return on_node(c, do_answer);
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

static int
run_refuse(const struct call *c)
{
	uint64_t status = MAD_STATUS_BAD_FIELD;
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
	if (status && (rc = need_slot(c, c->s->model->nodes[node].refuse, attr)) < 0)
		return rc;
	model_refuse(c->s->model, node, attr, (uint16_t)status);
	return 0;
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

static int
run_drop(const struct call *c)
{
	uint32_t node = MODEL_ALL, ppm = 0;
	int rc = 0;

	if (strcmp(c->args[0], "all") != 0)
		rc = arg_node(c, 0, &node);
	if (rc < 0 || (rc = arg_percent(c, 1, &ppm)) < 0 || c->check)
		return rc;
	model_drop(c->s->model, node, ppm);
	return 0;
}

static int
run_delay(const struct call *c)
{
	uint32_t node;
	monotime t;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 || (rc = arg_time(c, 1, &t)) < 0 || c->check)
		return rc;
	model_delay(c->s->model, node, t);
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
		return error_set(c->e, ERR_INVALID, "of a switch only port 0 has a GUID");
	if (!c->check)
		model_set_port_guid(c->s->model, node, port, guid);
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
	{ "recable", "NODE/PORT NODE/PORT", "pull the cables of both ports, join the two", 2, 2,
	  run_recable },
	{ "reboot", "NODE", "tables are lost, all links go down and up", 1, 1, run_reboot },
	{ "silence", "NODE", "its agent answers nothing; MADs pass through it", 1, 1, run_silence },
	{ "hang", "NODE", "nor do directed routes pass; tables still forward", 1, 1, run_hang },
	{ "answer", "NODE", "it answers again", 1, 1, run_answer },
	{ "mute", "NODE ATTRIBUTE [off]", "no answer to one attribute", 2, 3, run_mute },
	{ "refuse", "NODE ATTRIBUTE [STATUS|off]", "Sets of it are refused, by 0x1c", 2, 3,
	  run_refuse },
	{ "drop", "NODE|all PERCENT", "lose a share of the MADs that it sends or gets", 2, 2,
	  run_drop },
	{ "delay", "NODE TIME", "each of its answers comes so much later", 2, 2, run_delay },
	{ "lie", "NODE PORT", "it tells this LocalPortNum; 0 ends it", 2, 2, run_lie },
	{ "guid", "NODE GUID", "another node GUID, which may double another's", 2, 2, run_guid },
	{ "port-guid", "NODE/PORT GUID", "another port GUID, of a switch for port 0", 2, 2,
	  run_port_guid },
	{ "description", "NODE TEXT", "another NodeDescription, with trap 144", 2, 2,
	  run_description },
	{ "heal", "", "undo all faults that are in effect", 0, 0, run_heal },
	{ 0 },
};
