/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/model/ar.h"
#include "sim/model/model_impl.h"

/* Commands on adaptive switches: what they are, what they hold, and which switch is one. */

static const char *
on_off(bool on)
{
	return on ? "on" : "off";
}

static void
print_ports(struct buf *out, const struct ar_ports *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 256; i++)
		if (ar_ports_has(p, i))
			buf_printf(out, "%s%u", n++ ? " " : "", i);
	if (!n)
		buf_str(out, "none");
}

static void
print_transports(struct buf *out, unsigned disabled)
{
	static const char *const names[] = { "UD", "RC", "UC", "DC" };

	for (unsigned i = 0; i < 4; i++)
		if (!(disabled >> i & 1))
			buf_printf(out, " %s", names[i]);
	buf_str(out, "\n");
}

static void
show_switch(const struct call *c, uint32_t node, const struct ar_info *i)
{
	const struct model *m = c->s->model;
	struct ar_plft_info plft;

	buf_printf(c->out, "adaptive   %s, fast recovery %s, notifications %s\n",
		   on_off(i->enable), on_off(i->fr_en), on_off(i->rn_xmit_en));
	buf_printf(c->out, "groups     up to %u of %u, SubGrpsActive %u\n", i->group_top,
		   i->group_cap, i->sub_grps_active);
	if (i->by_sl_en)
		buf_printf(c->out, "SLs        mask 0x%04x\n", i->sl_mask);
	buf_str(c->out, "transports");
	print_transports(c->out, i->transport_disable);
	if (model_ar_plft_info(m, node, &plft) && plft.active_mode)
		buf_printf(c->out, "pLFTs      mode %u: %u banks of %uK LIDs\n", plft.active_mode,
			   plft.mode[plft.active_mode - 1].banks,
			   plft.mode[plft.active_mode - 1].size);
	buf_printf(c->out, "memory     %zu bytes of tables\nsupport    ",
		   model_ar_memory(m, node));
	ar_support_print(c->out, model_ar_supported(m, node));
	buf_str(c->out, "\n");
}

static void
show_group(const struct call *c, uint32_t node, const struct ar_mod *table, unsigned group)
{
	for (unsigned sub = 0; sub < model_ar_sub_groups(c->s->model, node); sub++) {
		struct ar_ports p = model_ar_group(c->s->model, node, table, group, sub);

		buf_printf(c->out, "group %u.%u: ", group, sub);
		print_ports(c->out, &p);
		buf_str(c->out, "\n");
	}
}

static void
show_lid(const struct call *c, uint32_t node, unsigned plft, uint16_t lid)
{
	static const char *const states[] = { "bounded", "free", "static", "hashed" };
	struct ar_lft_entry e = model_ar_lft(c->s->model, node, plft, lid);
	const struct ar_mod table = { .table = e.table, .plft = (uint8_t)plft };

	buf_printf(c->out, "LID %u: %s, static port ", lid, states[e.state]);
	if (e.port == LFT_NO_PORT)
		buf_str(c->out, "none");
	else
		buf_printf(c->out, "%u", e.port);
	buf_printf(c->out, ", group %u\n", e.group);
	show_group(c, node, &table, e.group);
}

/* NODE [lid|group N [PLFT]] */
static int
run_ar(const struct call *c)
{
	static const char *const words[] = { "lid", "group", NULL };
	struct ar_mod table = { .table = 0 };
	uint64_t number = 0, plft = 0;
	struct ar_info i;
	unsigned which = 0;
	uint32_t node;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0 ||
	    (c->nargs > 1 && (rc = arg_word(c, 1, words, &which)) < 0))
		return rc;
	if (c->nargs == 2)
		return error_set(c->e, ERR_INVALID, "ar NODE %s needs a number", words[which]);
	if (c->nargs > 2 && (rc = arg_number(c, 2, which ? "a group" : "a LID", which ? 0 : 1,
					     which ? 4095 : LID_UNICAST_MAX, &number)) < 0)
		return rc;
	if (c->nargs > 3 && (rc = arg_number(c, 3, "a private LFT", 0, 35, &plft)) < 0)
		return rc;
	if (c->check)
		return 0;
	if (!model_ar_info(c->s->model, node, &i))
		return error_set(c->e, ERR_NOT_FOUND, "%s does not route adaptively; "
				 "\"ar-support\" makes it do so", c->args[0]);
	table.plft = (uint8_t)plft;
	if (c->nargs == 1)
		show_switch(c, node, &i);
	else if (which)
		show_group(c, node, &table, (unsigned)number);
	else
		show_lid(c, node, (unsigned)plft, (uint16_t)number);
	return 0;
}

/* NODE off|WHAT */
static int
run_support(const struct call *c)
{
	bool off = !strcmp(c->args[1], "off");
	struct ar_options o = ar_options_default;
	uint32_t node;
	int rc;

	if ((rc = arg_node(c, 0, &node)) < 0)
		return rc;
	if (!off && strcmp(c->args[1], "on") &&
	    (rc = ar_options_parse(&o, c->args[1], c->e)) < 0)
		return rc;
	if (memcmp(&o.layout, &ar_layout_default, sizeof(o.layout)))
		return error_set(c->e, ERR_INVALID, "the layout of attributes is one for the whole "
				 "fabric, chosen when it starts");
	if (c->s->net->nodes[node].type != IBNET_SWITCH)
		return error_set(c->e, ERR_INVALID, "%s is no switch", c->args[0]);
	if (c->check)
		return 0;
	return model_ar_support(c->s->model, node, off ? NULL : &o.support, c->e);
}

const struct command command_ar[] = {
	{ "ar", "NODE [lid LID|group N [PLFT]]", "what an adaptive switch does and holds", 1, 4,
	  run_ar },
	{ "ar-support", "NODE on|off|NAME=VALUE,...",
	  "another switch in its place, that routes adaptively or not", 2, 2, run_support },
	{ 0 },
};
