/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include "plugins/plugin.h"
#include "routing/engine.h"
#include "sm/base/mem.h"

/*
 * An engine that is built in, as a plugin: the fabric of the ABI becomes a snapshot again, and what
 * the engine makes goes back through the ABI. That its tables are the same proves that the ABI
 * carries all that an engine needs.
 */
#define QUOTE(x) #x
#define NAME(x) QUOTE(x)

static uint32_t
add_switch(struct fabric_builder *b, const struct weft_fabric *f, uint32_t s)
{
	struct fabric_node node = {
		.guid = f->switch_guid[s], .name = f->switch_name[s], .desc = "",
		.type = NODE_SWITCH, .nports = f->switch_nports[s],
		.flags = f->switch_fixed[s] ? FABRIC_NODE_SILENT : 0,
	};
	uint32_t n = fabric_add_node(b, &node);

	fabric_add_port(b, n, 0, &(struct fabric_port){
		.guid = f->switch_guid[s], .state = PORT_ACTIVE,
	});
	for (uint32_t l = f->link_first[s]; l < f->link_first[s + 1]; l++)
		fabric_add_port(b, n, f->link_out[l], &(struct fabric_port){
			.state = PORT_ACTIVE, .rate_mbps = f->link_mbps[l], .op_vls = 5,
			.vl_cap = 5,
		});
	return n;
}

/* LIDs of one port of a host stand together. */
static void
add_host(struct fabric_builder *b, const struct weft_fabric *f, const uint32_t *node, uint32_t lid)
{
	uint32_t n = fabric_add_node(b, &(struct fabric_node){
		.guid = f->lid_guid[lid], .name = "", .desc = "", .type = NODE_CA, .nports = 1,
	});

	fabric_add_port(b, n, 1, &(struct fabric_port){
		.guid = f->lid_guid[lid], .state = PORT_ACTIVE, .rate_mbps = 1,
	});
	if (f->lid_switch[lid] == WEFT_NONE)
		return;
	fabric_add_port(b, node[f->lid_switch[lid]], f->lid_port[lid],
			&(struct fabric_port){ .state = PORT_ACTIVE, .rate_mbps = 1 });
	fabric_add_link(b, n, 1, node[f->lid_switch[lid]], f->lid_port[lid]);
}

static struct fabric *
make_snapshot(const struct weft_fabric *f)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t *node = mem_array(f->nswitches, sizeof(*node));

	for (uint32_t s = 0; s < f->nswitches; s++)
		node[s] = add_switch(b, f, s);
	for (uint32_t s = 0; s < f->nswitches; s++)
		for (uint32_t l = f->link_first[s]; l < f->link_first[s + 1]; l++)
			if (f->link_back[l] >= l)
				fabric_add_link(b, node[s], f->link_out[l], node[f->link_to[l]],
						f->link_in[l]);
	for (uint32_t lid = 1; lid <= f->top_lid; lid++)
		if (f->lid_guid[lid] && !f->lid_offset[lid] &&
		    (f->lid_switch[lid] == WEFT_NONE || f->lid_port[lid]))
			add_host(b, f, node, lid);
	mem_free(node);
	return fabric_build(b, 1);
}

static struct plan_lids *
make_lids(const struct weft_fabric *f, const struct fabric *s, uint8_t *node_class)
{
	struct plan_lids *l = plan_lids_new(s);
	uint32_t port;

	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		port = f->lid_guid[lid] ? fabric_port_by_guid(s, f->lid_guid[lid]) : FABRIC_NONE;
		if (port == FABRIC_NONE)
			continue;
		if (!f->lid_offset[lid])
			l->base[port] = (uint16_t)lid;
		while (f->lid_offset[lid] >> l->lmc[port])
			l->lmc[port]++;
		node_class[s->ports[port].node] = f->lid_class[lid];
	}
	plan_lids_index(l, s);
	return l;
}

static struct plan_row **
make_fixed(const struct weft_fabric *f)
{
	struct plan_row **fixed = mem_array(f->nswitches, sizeof(struct plan_row *));

	for (uint32_t s = 0; s < f->nswitches; s++) {
		if (!f->switch_fixed[s])
			continue;
		fixed[s] = plan_row_new((uint16_t)f->top_lid);
		memcpy(plan_row_entries(fixed[s]), f->switch_fixed[s], f->row_len);
	}
	return fixed;
}

static void
give_lanes(const struct weft_fabric *f, const struct plan_lanes *l, struct weft_result *r)
{
	uint8_t *to = r->lane;

	r->classes = l->classes;
	r->lanes = l->lanes;
	for (uint32_t a = 0; a < f->nswitches; a++)
		for (uint32_t b = 0; b < f->nswitches; b++)
			r->path_class[(size_t)a * f->nswitches + b] =
				l->path_class ? l->path_class(l, a, b) : 0;
	for (uint32_t s = 0; s < f->nswitches; s++)
		for (uint32_t k = f->link_first[s]; k < f->link_first[s + 1]; k++)
			for (unsigned c = 0; c < l->classes; c++)
				for (unsigned in = 0; in < f->ports; in++)
					*to++ = l->lane(l, s, (uint8_t)in, f->link_out[k],
							(uint8_t)c);
}

static void
give(const struct weft_host *host, const struct weft_fabric *f, const struct engine_output *out,
     struct weft_result *r)
{
	for (uint32_t s = 0; s < f->nswitches; s++)
		if (out->rows[s])
			plan_row_read(out->rows[s], r->lft + (size_t)s * f->row_len, f->row_len);
	if (out->ranks)
		memcpy(r->rank, out->ranks, f->nswitches);
	r->has_rank = out->ranks != NULL;
	if (out->lanes && out->lanes->lanes > 1)
		give_lanes(f, out->lanes, r);
	host->note(host, out->note);
}

static int
builtin_route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	struct fabric *s = make_snapshot(f);
	uint8_t *node_class = mem_array(s->nnodes, 1);
	const struct engine *engine = engine_find(NAME(ENGINE));
	const struct engine_options options = {
		.roots = f->root_guid, .nroots = f->nroots, .threads = host->threads,
		.max_vls = f->max_lanes, .lanes = f->max_lanes, .node_class = node_class,
	};
	const struct engine_input in = {
		.fabric = s, .lids = make_lids(f, s, node_class), .fixed = make_fixed(f),
		.options = &options, .engine = engine,
	};
	struct engine_output out = {
		.rows = mem_array(f->nswitches, sizeof(struct plan_row *)),
	};
	struct error e = { 0 };
	int rc = engine->route(&in, &out, &e);

	if (rc)
		host->refuse(host, e.text);
	else
		give(host, f, &out, r);
	return rc ? WEFT_REFUSED : WEFT_OK;
}

static const struct weft_engine builtin = {
	.size = sizeof(builtin), .topologies = "as the one that is built in",
	.route = builtin_route,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "as-" NAME(ENGINE),
	.version = "1", .help = "an engine that is built in", .engine = &builtin,
};
