/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/keep.h"

#include <stdio.h>
#include "sm/base/mem.h"

/*
 * The tables that switches hold, whoever made them. Nothing is made here: whether they are any good
 * for the fabric as it is, the proof says. Refused before it is what no proof would find: LIDs that
 * are other ones than those that the tables were made for.
 */
static int
same_lids(const struct engine_input *in, struct error *e)
{
	const struct fabric *f = in->fabric;
	const struct plan_lids *now = in->lids, *then = in->previous->lids;
	char text[GUID_TEXT_SIZE];

	for (uint32_t i = 0; i < f->nports; i++)
		if (now->base[i] && (now->base[i] != then->base[i] || now->lmc[i] != then->lmc[i]))
			return error_set(e, ERR_REFUSED, "port %s of %.80s has another LID than "
					 "before", guid_text(text, f->ports[i].guid),
					 f->nodes[f->ports[i].node].name);
	return 0;
}

static int
keep_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	const struct fabric *f = in->fabric;
	char name[FABRIC_NAME_SIZE];

	if (!in->previous || in->previous->fabric != f)
		return error_set(e, ERR_REFUSED, "there are no tables to be kept");
	if (same_lids(in, e))
		return e->code;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (engine_is_fixed(in, sw))
			continue;
		if (!in->previous->rows[sw])
			return error_set(e, ERR_REFUSED, "the table of %s is not known",
					 fabric_node_text(name, f, f->switches[sw],
							  FABRIC_NAME_LEN));
		out->rows[sw] = plan_row_resized(in->previous->rows[sw], in->lids->top);
	}
	snprintf(out->note, sizeof(out->note), "the tables that switches held are kept; what "
		 "changes from now on is routed by the engines of the configuration");
	return 0;
}

const struct engine engine_keep = {
	.name = "keep",
	.help = "the tables that switches hold",
	.topologies = "any",
	.route = keep_route,
};
